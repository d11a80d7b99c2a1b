"""Pages of standings: from the best on, from any place on, and back.

A token holds the rank key at which a page ends, or begins. So an entry whose key does not change is on
exactly one page, however much the others move.
"""

from collections.abc import Sequence
from functools import partial

from core.domain.errors import InvalidInput
from core.domain.keys import standings_key
from core.domain.limits import MAX_PAGE, check_limit
from core.domain.model import Board, Entry, Page
from core.domain.page_tokens import decode_token, encode_token
from core.domain.rank_key import encode_score, just_below
from core.domain.scores import parse_score
from core.ranking.queries import next_entries, placed
from core.ranking.seek import entry_at
from core.storage.database import Database
from core.storage.parallel import run_all

_AFTER, _BEFORE = b">", b"<"  # which way a token goes from its key; an empty key is an end of the board


def entries(
    db: Database,
    board: Board,
    period: str,
    limit: int,
    token: str | None = None,
    *,
    position: int | None = None,
    score: Sequence[str] | None = None,
) -> Page[Entry]:
    """Read a page of the standings, best first.

    It begins with the best entry; or where a page's `next_token` or `previous_token` says; or with the entry
    at a position; or with the best one that has a score or a worse one.

    Costs half a read unit for each 4 KB, at least half a unit for each index shard; by position, what
    `entry_at` costs besides; by score, half a unit for each shard.

    Raises:
        InvalidInput: the limit, the position, a token of another list, or more than one place to begin.
        InvalidScore: naming the component and the rule.
    """
    check_limit("limit", limit, MAX_PAGE)
    if sum(place is not None for place in (token, position, score)) > 1:
        raise InvalidInput("nextToken, from: a page begins at one of a token, a position and a score")
    listing = f"entries {standings_key(board.id, period, board.generation)}"
    if score is not None:
        start = encode_score(board, parse_score(board.components, score))
        return _page_from(db, board, period, limit, listing, start)
    if position is not None:
        first = entry_at(db, board, period, position)
        if first is None:
            return Page([], None, encode_token(listing, _BEFORE))
        after = just_below(first.rank_key) if position > 1 else None
        return _page_after(db, board, period, limit, listing, after)
    held = _AFTER if token is None else decode_token(listing, token)
    if held.startswith(_BEFORE):
        return _page_before(db, board, period, limit, listing, held[1:] or None)
    return _page_after(db, board, period, limit, listing, held[1:] or None)


def _page_after(
    db: Database, board: Board, period: str, limit: int, listing: str, after: bytes | None
) -> Page[Entry]:
    found = next_entries(db, board, period, limit + 1, after)
    page = placed(found, limit, starts_board=after is None)
    following = encode_token(listing, _AFTER + page[-1].rank_key) if len(found) > limit else None
    if after is None:
        return Page(page, following)
    begins = page[0].rank_key if page else after + b"\0"
    return Page(page, following, encode_token(listing, _BEFORE + begins))


def _page_before(
    db: Database, board: Board, period: str, limit: int, listing: str, before: bytes | None
) -> Page[Entry]:
    found = next_entries(db, board, period, limit + 1, before, backward=True)
    more = found[limit] if len(found) > limit else None
    run = found[:limit][::-1]
    page = placed(run, limit, starts_board=more is None, before=more, ends_board=before is None)
    # Those that were before may all have left: the board goes on where it starts.
    following = (
        None if before is None else encode_token(listing, _AFTER + (page[-1].rank_key if page else b""))
    )
    return Page(page, following, encode_token(listing, _BEFORE + page[0].rank_key) if more else None)


def _page_from(
    db: Database, board: Board, period: str, limit: int, listing: str, start: bytes
) -> Page[Entry]:
    """Read a page whose first entry is the best one from a key on, and whether any stands before it."""
    read = partial(next_entries, db, board, period)
    found, better = run_all(
        [partial(read, limit + 1, just_below(start)), partial(read, 1, start, backward=True)]
    )
    before = better[0] if better else None
    page = placed(found, limit, starts_board=before is None, before=before)
    following = encode_token(listing, _AFTER + page[-1].rank_key) if len(found) > limit else None
    if before is None:
        return Page(page, following)
    return Page(page, following, encode_token(listing, _BEFORE + (page[0].rank_key if page else start)))
