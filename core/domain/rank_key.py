"""The rank key: one binary string whose ascending order is the board's order, best first. Pure.

    component | component | ... | tie-break | participant id

A component takes as many bytes as its bounds need: the distance from its best value, big-endian, so that
signs, directions and mixed composites all come down to one comparison of unsigned bytes, which is how
DynamoDB orders a binary sort key. The tie-break is 8 bytes of microseconds (none under PARTICIPANT). The
id ends the key, in UTF-8, so no two entries share one.

DynamoDB can index several attributes natively; what that would spare is this one module (docs/decisions).
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
    """Build the rank key of a score that lies within its components' bounds."""
    return encode_score(board, score) + _encode_tie_break(board, achieved_at) + participant_id.encode()


def encode_score(board: Board, score: Sequence[int]) -> bytes:
    """Build the part of the rank key that all entries of equal score share."""
    return b"".join(
        _distance(component, value).to_bytes(width(component), "big")
        for component, value in zip(board.components, score, strict=True)
    )


def worst_score(board: Board) -> bytes:
    """Build the score part that no other comes after."""
    ends = (one.low if one.order is SortOrder.DESCENDING else one.high for one in board.components)
    return encode_score(board, tuple(ends))


def decode_score(board: Board, rank_key: bytes) -> tuple[int, ...]:
    """Read the score back from a rank key."""
    score = []
    at = 0
    for component in board.components:
        end = at + width(component)
        distance = int.from_bytes(rank_key[at:end], "big")
        descending = component.order is SortOrder.DESCENDING
        score.append(component.high - distance if descending else component.low + distance)
        at = end
    return tuple(score)


def participant_of(board: Board, rank_key: bytes) -> str:
    """Read the participant id back from a rank key."""
    return rank_key[longest(board, 0) :].decode()


def score_bytes(board: Board) -> int:
    """Give the length in bytes of the part that holds the score."""
    return sum(width(component) for component in board.components)


def longest(board: Board, id_bytes: int) -> int:
    """Give the length in bytes of a rank key with an id of `id_bytes`."""
    return score_bytes(board) + (0 if board.tie_break is TieBreak.PARTICIPANT else _TIME_BYTES) + id_bytes


def width(component: Component) -> int:
    """Give the bytes that hold every distance between the component's bounds."""
    return max(1, ((component.high - component.low).bit_length() + 7) // 8)


def microseconds(moment: datetime) -> int:
    """Count the microseconds from 1970-01-01T00:00:00Z to an instant."""
    return (moment - _EPOCH) // _MICROSECOND


def instant(microseconds_since_epoch: int) -> datetime:
    """Give the instant that is so many microseconds after 1970-01-01T00:00:00Z."""
    return _EPOCH + microseconds_since_epoch * _MICROSECOND


def just_below(cut: bytes) -> bytes | None:
    """Give a bound less than `cut` that no rank key less than `cut` exceeds; None: nothing is less.

    DynamoDB's range of keys includes both ends; this turns an exclusive end into an inclusive one. A key that
    is less than `cut` is less before the cut's trailing zeros, and none is all 0xff behind that: it ends in
    UTF-8, which has no such byte.
    """
    stem = cut.rstrip(b"\0")
    if not stem:
        return None
    return (stem[:-1] + bytes([stem[-1] - 1])).ljust(MAX_RANK_KEY_BYTES, b"\xff")


def just_above(score_part: bytes) -> bytes:
    """Give a cut, as long as the score part or a byte longer, above every key that starts with it."""
    stem = score_part.rstrip(b"\xff")
    if not stem:
        return score_part + b"\xff"
    return stem[:-1] + bytes([stem[-1] + 1]) + b"\0" * (len(score_part) - len(stem))


def is_worst(board: Board, score: Sequence[int]) -> bool:
    """Say whether no score that the board takes is worse."""
    return all(
        _distance(component, value) == component.high - component.low
        for component, value in zip(board.components, score, strict=True)
    )


def _distance(component: Component, value: int) -> int:
    return component.high - value if component.order is SortOrder.DESCENDING else value - component.low


def _encode_tie_break(board: Board, achieved_at: datetime) -> bytes:
    if board.tie_break is TieBreak.PARTICIPANT:
        return b""
    moment = microseconds(achieved_at)
    if board.tie_break is TieBreak.LATEST:
        moment = -moment
    return (moment + _TIME_BIAS).to_bytes(_TIME_BYTES, "big")
