"""Read standings: their size, their top, one entry and those around it, a participant's entries."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from core.boards import Boards
from core.counters.root import read_size
from core.domain.entry_item import entry_key, is_entry, name_age_key, read_entry
from core.domain.errors import InvalidInput
from core.domain.keys import split_standings, standings_key
from core.domain.limits import MAX_ENTRIES_OF, MAX_PAGE, MAX_RADIUS, MAX_TOP, check_limit
from core.domain.model import Board, Entry, Page, Place
from core.domain.page_tokens import decode_text, encode_token, fill_page
from core.domain.periods import is_expired
from core.domain.text import check_id
from core.ranking.top import read_top
from core.storage.database import Database, batch_get, query_all
from core.storage.parallel import run_all
from core.storage.rank_index import read_run

_log = logging.getLogger(__name__)

# Returns whether the caller may see a participant's hidden entry.
SeesHidden = Callable[[str], bool]


def sees_none(_: str) -> bool:
    """Return false: to most callers a hidden entry does not exist."""
    return False


def size(db: Database, board: Board, period: str) -> int:
    """Return the number of ranked entries, as far as the stream is counted: half a read unit."""
    return read_size(db, board, standings_key(board.id, period, board.generation))


def top(db: Database, board: Board, period: str, limit: int) -> list[Entry]:
    """Read the best entries, best first.

    Reads one item of the counters table if the top, which follows the stream, has that many. Else, and while
    nothing is counted yet, reads the rank index: half a read unit for each 4 KB, at least half a unit for
    each shard.

    Raises:
        InvalidInput: the limit.
    """
    check_limit("limit", limit, MAX_TOP)
    kept = read_top(db, standings_key(board.id, period, board.generation))
    if kept is not None and (kept.whole or len(kept.items) > limit):
        items = kept.items[: limit + 1]
    else:
        items = read_run(db, board, period, limit + 1)
    return placed(read_entries(board, period, items), limit, starts_board=True)


def entry(
    db: Database, board: Board, period: str, participant_id: str, sees_hidden: SeesHidden = sees_none
) -> Entry | None:
    """Read one participant's entry, or None: half a read unit.

    Raises:
        InvalidInput: the id.
    """
    check_id("participantId", participant_id)
    answer = db.client.get_item(TableName=db.tables.scores, Key=entry_key(board, period, participant_id))
    found = read_entries(board, period, [answer["Item"]] if "Item" in answer else [])
    return next(_visible(found, sees_hidden), None)


def around(db: Database, board: Board, period: str, participant_id: str, radius: int) -> list[Entry] | None:
    """Read the entries around a participant, best first; None where the participant takes no rank.

    The window has `2 * radius + 1` entries, or the whole board if that is smaller: near an end it slides.
    Costs the entry's own read, then both sides at once from the index; at an end one more round trip.

    Raises:
        InvalidInput: the id or the radius.
    """
    check_limit("radius", radius, MAX_RADIUS, minimum=0)
    own = entry(db, board, period, participant_id)
    if own is None:
        return None

    def side(count: int, *, backward: bool) -> list[Entry]:
        # One more, since the index may still hold the participant's earlier key.
        items = read_run(db, board, period, count + 1, from_key=own.rank_key, backward=backward)
        return [
            other for other in read_entries(board, period, items) if other.participant_id != participant_id
        ]

    reach = radius + 1  # one more than shown: it tells whether the standings, and the tie, go on
    better, worse = run_all([lambda: side(reach, backward=True), lambda: side(reach, backward=False)])
    missing_better, missing_worse = max(0, radius - len(better)), max(0, radius - len(worse))
    if missing_better and len(worse) >= reach:
        worse = side(reach + missing_better, backward=False)
    elif missing_worse and len(better) >= reach:
        better = side(reach + missing_worse, backward=True)
    shown = better[: radius + missing_worse]
    before = better[len(shown)] if len(better) > len(shown) else None
    window = [*reversed(shown), own, *worse]
    limit = len(shown) + 1 + radius + missing_better
    return placed(window, limit, starts_board=before is None, before=before)


def entries_of(
    db: Database,
    board: Board,
    period: str,
    participant_ids: Sequence[str],
    sees_hidden: SeesHidden = sees_none,
) -> list[Entry]:
    """Read the entries of some participants, best first.

    Costs half a read unit a participant, in one round trip.

    Raises:
        InvalidInput: an id, or too many of them.
    """
    wanted = list(dict.fromkeys(participant_ids))
    if len(wanted) > MAX_ENTRIES_OF:
        raise InvalidInput(f"participantIds: must have at most {MAX_ENTRIES_OF} ids, not {len(wanted)}")
    for participant_id in wanted:
        check_id("participantIds", participant_id)
    keys = [entry_key(board, period, participant_id) for participant_id in wanted]
    found = read_entries(board, period, batch_get(db, db.tables.scores, keys))
    return sorted(_visible(found, sees_hidden), key=lambda entry: entry.rank_key)


def participant_entries(
    db: Database,
    boards: Boards,
    participant_id: str,
    limit: int,
    next_token: str | None = None,
    sees_hidden: SeesHidden = sees_none,
) -> Page[Entry]:
    """Read a page of a participant's entries on every board and in every period, by their keys.

    Leaves out entries of expired periods and of deleted boards, even if the board was created again. Costs
    half a read unit for each 4 KB, and the reads of boards that are not cached.

    Raises:
        InvalidInput: the id, the limit or the token.
    """
    check_id("participantId", participant_id)
    check_limit("limit", limit, MAX_PAGE)
    listing = f"participant {participant_id}"
    now = datetime.now(UTC)

    def read(ask: int, after: str | None) -> tuple[list[tuple[str, Entry | None]], bool]:
        items, more = _participant_items(db, participant_id, ask, after)
        shown = {item["standings"]["S"]: entry for entry, item in _current(boards, items, now, sees_hidden)}
        return [(key, shown.get(key)) for key in (item["standings"]["S"] for item in items)], more

    after = None if next_token is None else decode_text(listing, next_token)
    found, more = fill_page(limit, after, read)
    return Page([entry for _, entry in found], encode_token(listing, found[-1][0].encode()) if more else None)


def newest_named(
    db: Database, boards: Boards, participant_id: str, sees_hidden: SeesHidden = sees_none
) -> Entry | None:
    """Return the entry with the display name that was given last, of a participant's; None if there are none.

    If none has a name, returns any. Costs half a read unit for each 4 KB (some 16) of the participant's
    entries, and the reads of boards that are not cached.

    Raises:
        InvalidInput: the id.
    """
    check_id("participantId", participant_id)
    items = query_all(
        db,
        TableName=db.tables.scores,
        KeyConditionExpression="participant = :participant",
        ExpressionAttributeValues={":participant": {"S": participant_id}},
    )
    found = _current(boards, list(items), datetime.now(UTC), sees_hidden)
    newest = max(found, key=lambda pair: name_age_key(pair[1]), default=None)
    return newest and newest[0]


def _current(
    boards: Boards, items: Sequence[dict[str, Any]], now: datetime, sees_hidden: SeesHidden
) -> list[tuple[Entry, dict[str, Any]]]:
    """Return the visible entries, each with its item, of boards that exist and periods not expired."""
    parts = [(item, *split_standings(item["standings"]["S"])) for item in items if _is_ours(item)]
    known = boards.get_many(board_id for _, board_id, _, _ in parts)
    found = []
    for item, board_id, period, generation in parts:
        board = known.get(board_id)
        if board and board.generation == generation and not is_expired(board, period, now):
            found += [(entry, item) for entry in _visible(read_entries(board, period, [item]), sees_hidden)]
    return found


def _is_ours(item: Mapping[str, Any]) -> bool:
    """Return whether an item's sort key is one of standings, and not what other code has put there."""
    try:
        for part in split_standings(item["standings"]["S"]):
            check_id("standings", part)
    except (ValueError, InvalidInput):
        return False
    return True


def _participant_items(
    db: Database, participant_id: str, limit: int, after: str | None
) -> tuple[list[dict[str, Any]], bool]:
    values: dict[str, Any] = {":participant": {"S": participant_id}}
    condition = "participant = :participant"
    if after is not None:
        condition += " AND standings > :after"
        values[":after"] = {"S": after}
    answer = db.client.query(
        TableName=db.tables.scores,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        Limit=limit,
    )
    return answer["Items"], "LastEvaluatedKey" in answer


def read_entries(board: Board, period: str, items: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Return the entries in some items. One that is malformed or of other standings is left out."""
    found = []
    for item in items:
        shown = read_entry(board, period, item)
        if shown is not None:
            found.append(shown)
        elif is_entry(item):  # and not a tombstone
            _log.warning("item of %r left out: no entry of %r", item.get("participant"), board.id)
    return found


def next_entries(
    db: Database, board: Board, period: str, count: int, after: bytes | None, *, backward: bool = False
) -> list[Entry]:
    """Read so many entries after a rank key (backward: before it), fewer at an end of the board.

    Costs half a read unit for each 4 KB, at least half a unit for each index shard.
    """
    ask = count
    while True:
        items = read_run(db, board, period, ask, from_key=after, backward=backward)
        found = read_entries(board, period, items)
        if len(found) >= count or len(items) < ask:
            return found[:count]
        ask += count  # foreign items do not count


def _visible(entries: Iterable[Entry], sees_hidden: SeesHidden) -> Iterator[Entry]:
    return (entry for entry in entries if not entry.hidden or sees_hidden(entry.participant_id))


def placed(
    run: Sequence[Entry],
    limit: int,
    *,
    starts_board: bool,
    before: Entry | None = None,
    ends_board: bool | None = None,
) -> list[Entry]:
    """Return the first `limit` entries of an unbroken run in rank order, each with its place in the run.

    Entries past the limit, and `before`, are not returned; they only show whether a tie goes on beyond the
    run. If `before` is None and the run does not start the board, the start of the first tie is unknown. The
    run ends the board if there are none past the limit, unless `ends_board` says.
    """
    if ends_board is None:
        ends_board = len(run) <= limit
    anchor = None if starts_board or not run else run[0].rank_key
    found: list[Entry] = []
    start = 0
    for score, tied in groupby(run, key=lambda entry: entry.score):
        tie = list(tied)
        end = start + len(tie)
        open_start = start == 0 and not starts_board and (before is None or before.score == score)
        open_end = end == len(run) and not ends_board
        for steps, entry in enumerate(tie, start):
            place = Place(anchor, steps, None if open_start else start, None if open_end else end)
            found.append(replace(entry, place=place))
        start = end
    return found[:limit]
