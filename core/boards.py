"""Boards in storage: create, read, change, list."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.domain.board import (
    board_from_json,
    board_to_json,
    check_client_time_allowance,
    check_periods,
    check_time_zone,
)
from core.domain.buckets import check_buckets
from core.domain.errors import LeaderboardExists, LeaderboardNotFound, Throttled, VersionConflict
from core.domain.keys import SEPARATOR
from core.domain.limits import MAX_BOARDS_PAGE, MAX_TITLE_BYTES, check_limit
from core.domain.model import UNSET, Board, ClientAccess, Page, PeriodKind, RankBucket, Retention, Unset
from core.domain.page_tokens import decode_text, encode_token, every_item, fill_page
from core.domain.periods import change_zone, next_end
from core.domain.rank_key import microseconds
from core.domain.text import check_id, check_text
from core.records.audit import AuditAction, AuditContext, check_reason, record
from core.records.jobs import Job, add_job
from core.storage.database import Database, batch_get
from core.storage.faults import failed_item, lost_race
from core.storage.tables import BOARD_INDEX

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

LISTED = "boards"  # the one partition of each index of boards, which are seldom written
_ATTEMPTS = 10
_MAX_CACHED = 2_000  # boards; beyond that all are read again

# A changed board, or None for a deleted one, and what else is written in the same transaction.
_Change = tuple[Board | None, "list[TransactWriteItemTypeDef]"]


class Boards:
    """The boards of one database, cached for a few seconds, since every request needs its board.

    What other processes change is seen within `cache_seconds`. Nothing that standings depend on can change:
    only the title, buckets and the like, and the generation once a board is deleted. `retention` is what new
    boards get.
    """

    def __init__(self, db: Database, cache_seconds: float = 5.0, retention: Retention | None = None) -> None:
        self._db = db
        self._cache_seconds = cache_seconds
        self._retention = retention
        self._cache: dict[str, tuple[float, Board]] = {}
        self._for_clients = False

    def for_clients(self) -> "Boards":
        """Return the same boards, with the same cache, whose reads leave out those closed to clients."""
        boards = copy(self)
        boards._for_clients = True
        return boards

    def create(self, board: Board) -> Board:
        """Store a new board.

        Raises:
            LeaderboardExists: the id is taken.

        Costs one conditional PutItem: a write unit a KB, and as much for the list.
        """
        if self._retention is not None:
            board = replace(board, retention=self._retention)
        try:
            self._db.client.put_item(
                TableName=self._db.tables.boards,
                Item=board_item(board),
                ConditionExpression="attribute_not_exists(board)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self._db.client.exceptions.ConditionalCheckFailedException as error:
            if _is_written(error, board):
                return self._remember(board)
            raise LeaderboardExists(f"id: there is a leaderboard {board.id!r} already") from None
        return self._remember(board)

    def get(self, board_id: str) -> Board:
        """Read a board: nothing while cached, else half a read unit.

        Raises:
            LeaderboardNotFound: no board has this id.
        """
        board = self.get_many([board_id]).get(board_id)
        if board is None:
            raise LeaderboardNotFound(f"there is no leaderboard {board_id[:256]!r}")
        return board

    def get_generation(self, board_id: str, generation: str) -> Board | None:
        """Read a board if it is of this generation: nothing while cached, else a consistent read unit.

        Raises:
            InvalidInput: the id is malformed.
        """
        board = self.get_many([board_id]).get(board_id)
        if board is None or board.generation != generation:
            # It may have been deleted and created again since it was cached.
            board = self._read_consistently(board_id)
            if board is not None:
                self._remember(board)
        return board if board and board.generation == generation and self._is_visible(board) else None

    def are_cached(self, board_ids: Iterable[str]) -> bool:
        """Return whether these boards can be read without a request."""
        now = time.monotonic()
        return all(self._cache.get(board_id, (0.0,))[0] > now for board_id in board_ids)

    def get_many(self, board_ids: Iterable[str]) -> dict[str, Board]:
        """Read boards by id, leaving out those that do not exist: half a read unit for each not cached.

        Raises:
            InvalidInput: an id is malformed.
        """
        found: dict[str, Board] = {}
        missing: list[str] = []
        now = time.monotonic()
        for board_id in dict.fromkeys(board_ids):
            check_id("id", board_id)
            until, board = self._cache.get(board_id, (0.0, None))
            if board is not None and until > now:
                found[board_id] = board
            else:
                missing.append(board_id)
        for board in self._read_all(missing):
            found[board.id] = self._remember(board)
        return {board_id: board for board_id, board in found.items() if self._is_visible(board)}

    def page(self, limit: int, next_token: str | None = None) -> Page[Board]:
        """Read a page of boards in the order of their ids: half a read unit for each 4 KB.

        Raises:
            InvalidInput: the limit or the token.
        """
        check_limit("limit", limit, MAX_BOARDS_PAGE)
        after = None if next_token is None else decode_text("boards", next_token)
        found, more = fill_page(limit, after, self._read_page)
        token = encode_token("boards", found[-1][0].encode()) if more else None
        return Page([board for _, board in found], token)

    def _read_page(self, limit: int, after: str | None) -> tuple[list[tuple[str, Board | None]], bool]:
        values: dict[str, AttributeValueTypeDef] = {":listed": {"S": LISTED}}
        condition = "listed = :listed"
        if after is not None:
            values[":after"] = {"S": after}
            condition += " AND board > :after"
        answer = self._db.client.query(
            TableName=self._db.tables.boards,
            IndexName=BOARD_INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            Limit=limit,
        )
        boards = [board_from_json(item["definition"]["S"]) for item in answer["Items"]]
        shown = [(board.id, board if self._is_visible(board) else None) for board in boards]
        return shown, "LastEvaluatedKey" in answer

    def every(self) -> Iterator[Board]:
        """Read all boards in the order of their ids: half a read unit for each 4 KB."""
        return every_item(lambda token: self.page(MAX_BOARDS_PAGE, token))

    def update(
        self,
        board_id: str,
        version: int,
        *,
        title: str | Unset | None = UNSET,
        rank_buckets: Sequence[RankBucket] | Unset = UNSET,
        client_access: ClientAccess | Unset = UNSET,
        client_time_allowance: int | Unset = UNSET,
        periods: Sequence[PeriodKind] | Unset = UNSET,
        time_zone: str | Unset = UNSET,
        now: datetime | None = None,
    ) -> Board:
        """Change a board that nobody has changed since `version`.

        A kind of period that is added counts what is submitted from then on. One that is dropped takes no
        more and cannot be queried; its entries expire as they would have. Another time zone holds from the
        next period of each kind on.

        Raises:
            LeaderboardNotFound: no board has this id.
            VersionConflict: the board has another version by now.
            InvalidInput: naming the field and the rule.

        Costs a consistent read and one conditional PutItem.
        """

        def change(current: Board) -> _Change:
            changed = replace(current, version=version + 1)
            if not isinstance(title, Unset):
                if title is not None:
                    check_text("title", title, MAX_TITLE_BYTES)
                changed = replace(changed, title=title)
            if not isinstance(rank_buckets, Unset):
                changed = replace(changed, rank_buckets=check_buckets(rank_buckets))
            if not isinstance(client_access, Unset):
                changed = replace(changed, client_access=client_access)
            if not isinstance(client_time_allowance, Unset):
                allowance = check_client_time_allowance(client_time_allowance)
                changed = replace(changed, client_time_allowance=allowance)
            if not isinstance(periods, Unset):
                changed = replace(changed, periods=check_periods(periods))
            if not isinstance(time_zone, Unset) and check_time_zone(time_zone) != current.time_zone:
                changed = change_zone(changed, time_zone, now or datetime.now(UTC))
            return changed, []

        return self._apply(board_id, change, version)

    def close(self, board_id: str, audit: AuditContext) -> Board:
        """Take no more submissions; other processes follow within `cache_seconds`.

        Raises:
            LeaderboardNotFound: no board has this id.
            InvalidInput: the id or the reason.
            Throttled: too many changes of the board at once.

        Costs a consistent read and a transaction: twice a conditional PutItem's units.
        """
        return self._set_closed(board_id, AuditAction.CLOSE, audit)

    def reopen(self, board_id: str, audit: AuditContext) -> Board:
        """Take submissions again; as `close`."""
        return self._set_closed(board_id, AuditAction.REOPEN, audit)

    def _set_closed(self, board_id: str, action: AuditAction, audit: AuditContext) -> Board:
        closed = action is AuditAction.CLOSE

        def change(current: Board) -> _Change:
            if current.closed == closed:
                return current, []
            changed = replace(current, closed=closed, version=current.version + 1)
            return changed, record(self._db, action, audit, board_id=board_id)

        check_reason(audit.reason)
        return self._apply(board_id, change)

    def delete(self, board_id: str, audit: AuditContext, *, size: int = 0) -> Board:
        """Delete a board: its id is free at once, and a job deletes its entries and all else.

        Other processes may still find it for `cache_seconds`. `size` is stored with the job, for its
        progress.

        Raises:
            LeaderboardNotFound: no board has this id.
            InvalidInput: the id or the reason.
            Throttled: too many changes of the board at once.

        Costs a consistent read and a transaction of some 8 write units and more.
        """

        def change(board: Board) -> _Change:
            details: dict[str, AttributeValueTypeDef] = {
                "definition": {"S": board_to_json(board)},
                "deleted_at": {"N": str(microseconds(audit.at))},
                "of": {"N": str(size)},
            }
            job = add_job(self._db, Job.DELETE, deletion_name(board), **details)
            return None, [job, *record(self._db, AuditAction.DELETE, audit, board_id=board_id)]

        check_reason(audit.reason)
        board = self._apply(board_id, change)
        self._cache.pop(board_id, None)
        return board

    def _apply(self, board_id: str, change: Callable[[Board], _Change], version: int | None = None) -> Board:
        """Read a board and write what `change` makes of it; if another writer was faster, read again.

        Returns the changed board, or the deleted one.

        Raises:
            InvalidInput: the id.
            LeaderboardNotFound: no board has this id.
            VersionConflict: a `version` is given, and the board has another one.
            Throttled: other writers were faster too many times.
        """
        check_id("id", board_id)
        for _ in range(_ATTEMPTS):
            current = self._read_consistently(board_id)
            if current is None:
                raise LeaderboardNotFound(f"there is no leaderboard {board_id!r}")
            changed, also = change(current)
            expected = current if version is None else replace(current, version=version)
            if changed is current or self._replace(expected, changed, also):
                return current if changed is None else self._remember(changed)
            if version is not None:
                raise VersionConflict(
                    f"version: the leaderboard has been changed since version {version}; read it again"
                )
        raise Throttled("too many changes of one leaderboard at once; try again")

    def _replace(
        self, expected: Board, changed: Board | None, also: "list[TransactWriteItemTypeDef]"
    ) -> bool:
        """Write a board and `also` if the stored board is the expected one; return whether it was."""
        client = self._db.client
        write: Any = {
            "TableName": self._db.tables.boards,
            "ConditionExpression": "version = :version AND generation = :generation",
            "ExpressionAttributeValues": {
                ":version": {"N": str(expected.version)},
                ":generation": {"S": expected.generation},
            },
            **({"Item": board_item(changed)} if changed else {"Key": board_key(expected.id)}),
        }
        item: Any = {"Put" if changed else "Delete": write}
        try:
            if also:
                client.transact_write_items(TransactItems=[item, *also])
            else:
                client.put_item(**write, ReturnValuesOnConditionCheckFailure="ALL_OLD")
        except client.exceptions.ConditionalCheckFailedException as error:
            return _is_written(error, changed)
        except client.exceptions.TransactionCanceledException as error:
            if not lost_race(error):
                raise
            return False
        return True

    def _read_consistently(self, board_id: str) -> Board | None:
        return next(iter(self._read_all([board_id], consistent=True)), None)

    def _read_all(self, board_ids: Sequence[str], *, consistent: bool = False) -> list[Board]:
        keys = [board_key(board_id) for board_id in board_ids]
        items = batch_get(self._db, self._db.tables.boards, keys, consistent=consistent)
        return [board_from_json(item["definition"]["S"]) for item in items]

    def _remember(self, board: Board) -> Board:
        if len(self._cache) > _MAX_CACHED:
            self._cache.clear()
        self._cache[board.id] = (time.monotonic() + self._cache_seconds, board)
        return board

    def _is_visible(self, board: Board) -> bool:
        return not self._for_clients or board.client_access is not ClientAccess.NONE


def board_item(board: Board) -> "dict[str, AttributeValueTypeDef]":
    """Return the item of a board that was created or changed.

    It is due at once, and whoever looks at it sets the time; boards without periods that end are never due.
    """
    due: dict[str, AttributeValueTypeDef] = (
        {} if next_end(board, board.created_at) is None else {"due_at": {"N": "0"}}
    )
    return {
        **board_key(board.id),
        "listed": {"S": LISTED},
        **due,
        "generation": {"S": board.generation},
        "version": {"N": str(board.version)},
        "definition": {"S": board_to_json(board)},
    }


def deletion_name(board: Board) -> str:
    """Return the name of the job that deletes what is left of a board."""
    return f"{board.id}{SEPARATOR}{board.generation}"


def _is_written(error: "ClientError", board: Board | None) -> bool:
    """Return whether a write failed because it is done: its answer was lost, and the SDK sent it again."""
    definition = failed_item(error).get("definition")
    return board is not None and definition == {"S": board_to_json(board)}


def board_key(board_id: str) -> "dict[str, AttributeValueTypeDef]":
    """Return the key of a board's item."""
    return {"board": {"S": board_id}}
