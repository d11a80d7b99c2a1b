"""The rank key: bytes whose ascending order is the rank order, best first. Pure.

    component | component | ... | tie-break | participant id

A component is its distance from its best value, big-endian, in as many bytes as its bounds need. So signs,
directions and mixed composites all become one comparison of unsigned bytes, which is how DynamoDB orders a
binary sort key. The tie-break is 8 bytes of microseconds (none under PARTICIPANT). The id in UTF-8 ends the
key, so no two entries share one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from core.domain.limits import MAX_RANK_KEY_BYTES
from core.domain.model import Board, Component, SortOrder, TieBreak

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME_BYTES = 8
_TIME_BIAS = 1 << 63  # lifts every instant above zero


def encode(board: Board, score: Sequence[int], achieved_at: datetime, participant_id: str) -> bytes:
    """Return the rank key of a score, which must lie within its components' bounds."""
    return encode_score(board, score) + _encode_tie_break(board, achieved_at) + participant_id.encode()


def encode_score(board: Board, score: Sequence[int]) -> bytes:
    """Return the part of the rank key that holds the score, the same for all entries of a tie.

    >>> from core.domain.board import ComponentInput, define_board
    >>> board = define_board(id="b", now=instant(0), components=[ComponentInput(min="-100", max="100")])
    >>> [encode_score(board, [score]).hex() for score in (100, 99, 0, -100)]
    ['00', '01', '64', 'c8']
    """
    return b"".join(
        distance(component, value).to_bytes(width(component), "big")
        for component, value in zip(board.components, score, strict=True)
    )


def worst_score(board: Board) -> bytes:
    """Return the score part that sorts last."""
    return b"".join(_span(component).to_bytes(width(component), "big") for component in board.components)


def decode_score(board: Board, rank_key: bytes) -> tuple[int, ...]:
    """Return the score in a rank key."""
    score = []
    at = 0
    for component in board.components:
        end = at + width(component)
        steps = int.from_bytes(rank_key[at:end], "big")
        descending = component.order is SortOrder.DESCENDING
        score.append(component.high - steps if descending else component.low + steps)
        at = end
    return tuple(score)


def participant_of(board: Board, rank_key: bytes) -> str:
    """Return the participant id in a rank key."""
    return rank_key[longest(board, 0) :].decode()


def score_bytes(board: Board) -> int:
    """Return the length in bytes of the score part."""
    return sum(width(component) for component in board.components)


def longest(board: Board, id_bytes: int) -> int:
    """Return the length in bytes of a rank key with an id of `id_bytes`."""
    return score_bytes(board) + (0 if board.tie_break is TieBreak.PARTICIPANT else _TIME_BYTES) + id_bytes


def width(component: Component) -> int:
    """Return how many bytes hold every distance between the component's bounds."""
    return max(1, (_span(component).bit_length() + 7) // 8)


def microseconds(moment: datetime) -> int:
    """Return the microseconds from 1970-01-01T00:00:00Z to an instant."""
    return (moment - _EPOCH) // _MICROSECOND


def instant(microseconds_since_epoch: int) -> datetime:
    """Return the instant so many microseconds after 1970-01-01T00:00:00Z."""
    return _EPOCH + microseconds_since_epoch * _MICROSECOND


def just_below(cut: bytes) -> bytes | None:
    """Return the inclusive upper bound of the rank keys below `cut`; None if there can be none.

    DynamoDB's BETWEEN includes both ends: this turns an exclusive end into an inclusive one. `cut` must not
    be a whole key followed by zeros. So each key below `cut` differs from it before its trailing zeros. The
    bound ends in 0xff, which is above every key's end: keys end in UTF-8, which has no such byte.

    >>> just_below(bytes([2, 0]))[:4].hex()
    '01ffffff'
    """
    stem = cut.rstrip(b"\0")
    if not stem:
        return None
    return (stem[:-1] + bytes([stem[-1] - 1])).ljust(MAX_RANK_KEY_BYTES, b"\xff")


def just_above(score_part: bytes) -> bytes:
    """Return a cut above every key that starts with a score part; it has the same length or a byte more.

    >>> just_above(bytes([1, 255])).hex(), just_above(bytes([255])).hex()
    ('0200', 'ffff')
    """
    stem = score_part.rstrip(b"\xff")
    if not stem:
        return score_part + b"\xff"
    return stem[:-1] + bytes([stem[-1] + 1]) + b"\0" * (len(score_part) - len(stem))


def is_worst(board: Board, score: Sequence[int]) -> bool:
    """Return whether the board allows no worse score."""
    return encode_score(board, score) == worst_score(board)


def distance(component: Component, value: int) -> int:
    """Return how far a value is from the component's best."""
    return component.high - value if component.order is SortOrder.DESCENDING else value - component.low


def _span(component: Component) -> int:
    return component.high - component.low


def _encode_tie_break(board: Board, achieved_at: datetime) -> bytes:
    if board.tie_break is TieBreak.PARTICIPANT:
        return b""
    moment = microseconds(achieved_at)
    if board.tie_break is TieBreak.LATEST:
        moment = -moment
    return (moment + _TIME_BIAS).to_bytes(_TIME_BYTES, "big")
