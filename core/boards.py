"""Boards in storage: create, read, list, change."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.domain.board import board_from_json, board_to_json, check_periods, check_time_zone
from core.domain.buckets import check_buckets
from core.domain.errors import LeaderboardExists, LeaderboardNotFound, Throttled, VersionConflict
from core.domain.keys import SEPARATOR
from core.domain.limits import MAX_BOARDS_PAGE, MAX_TITLE_BYTES, check_limit
from core.domain.model import UNSET, Board, ClientAccess, Page, PeriodKind, RankBucket, Retention, Unset
from core.domain.pages import decode_token, encode_token, every_item
from core.domain.periods import change_zone
from core.domain.rank_key import microseconds
from core.domain.text import check_id, check_text
from core.records.audit import AuditAction, AuditContext, check_reason, record
from core.records.jobs import Job, add_job
from core.storage.database import Database, batch_get, lost_race
from core.storage.tables import BOARD_INDEX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, PutTypeDef

# All boards are listed in one index partition: creating or changing boards is the rarest of writes.
_LISTED = "boards"
_ATTEMPTS = 10
_CACHED = 2_000  # boards; beyond that all are read again


class Boards:
    """The boards of one database, remembered for a few seconds, since every request needs its own.

    What others change is seen within `cache_seconds`; nothing of a board's order can change, only its title,
    buckets and the like, and a deleted board's generation. `retention` is what new boards get.
    """

    def __init__(self, db: Database, cache_seconds: float = 5.0, retention: Retention | None = None) -> None:
        self._db = db
        self._cache_seconds = cache_seconds
        self._retention = retention
        self._cache: dict[str, tuple[float, Board]] = {}

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
                Item=_to_item(board),
                ConditionExpression="attribute_not_exists(board)",
            )
        except self._db.client.exceptions.ConditionalCheckFailedException:
            raise LeaderboardExists(f"id: there is a leaderboard {board.id!r} already") from None
        return self._remember(board)

    def get(self, board_id: str) -> Board:
        """Read a board: nothing while remembered, else half a read unit.

        Raises:
            LeaderboardNotFound: no board has this id.
        """
        board = self.get_many([board_id]).get(board_id)
        if board is None:
            raise LeaderboardNotFound(f"there is no leaderboard {board_id[:256]!r}")
        return board

    def get_generation(self, board_id: str, generation: str) -> Board | None:
        """Read a board if it is of this generation: nothing while remembered, else a consistent read unit.

        Raises:
            InvalidInput: the id is malformed.
        """
        board = self.get_many([board_id]).get(board_id)
        if board is None or board.generation != generation:
            # Deleted and made anew, perhaps, since it was remembered.
            board = next(iter(self._fetch([board_id], consistent=True)), None)
            if board is not None:
                self._remember(board)
        return board if board is not None and board.generation == generation else None

    def get_many(self, board_ids: Iterable[str]) -> dict[str, Board]:
        """Read boards by id, leaving out those that do not exist: half a read unit for each not remembered.

        Raises:
            InvalidInput: an id is malformed.
        """
        wanted = dict.fromkeys(board_ids)
        found: dict[str, Board] = {}
        missing: list[str] = []
        now = time.monotonic()
        for board_id in wanted:
            check_id("id", board_id)
            until, board = self._cache.get(board_id, (0.0, None))
            if board is not None and until > now:
                found[board_id] = board
            else:
                missing.append(board_id)
        for board in self._fetch(missing):
            found[board.id] = self._remember(board)
        return found

    def update(
        self,
        board_id: str,
        version: int,
        *,
        title: str | Unset | None = UNSET,
        rank_buckets: Sequence[RankBucket] | Unset = UNSET,
        client_access: ClientAccess | Unset = UNSET,
        periods: Sequence[PeriodKind] | Unset = UNSET,
        time_zone: str | Unset = UNSET,
        now: datetime | None = None,
    ) -> Board:
        """Change a board that nobody changed since `version`.

        A kind of period that is added counts what is submitted from then on; one that is dropped takes no
        more and cannot be asked for, and its entries go when they were to. Another time zone holds from the
        next period of each kind on.

        Raises:
            LeaderboardNotFound: no board has this id.
            VersionConflict: the board has another version by now.
            InvalidInput: naming the field and the rule.

        Costs a consistent read and one conditional PutItem.
        """
        check_id("id", board_id)
        current = next(iter(self._fetch([board_id], consistent=True)), None)
        if current is None:
            raise LeaderboardNotFound(f"there is no leaderboard {board_id!r}")
        changed = replace(current, version=version + 1)
        if not isinstance(title, Unset):
            if title is not None:
                check_text("title", title, MAX_TITLE_BYTES)
            changed = replace(changed, title=title)
        if not isinstance(rank_buckets, Unset):
            changed = replace(changed, rank_buckets=check_buckets(rank_buckets))
        if not isinstance(client_access, Unset):
            changed = replace(changed, client_access=client_access)
        if not isinstance(periods, Unset):
            changed = replace(changed, periods=check_periods(periods))
        if not isinstance(time_zone, Unset) and check_time_zone(time_zone) != current.time_zone:
            changed = change_zone(changed, time_zone, now or datetime.now(UTC))
        try:
            self._db.client.put_item(
                TableName=self._db.tables.boards,
                Item=_to_item(changed),
                ConditionExpression="version = :version AND generation = :generation",
                ExpressionAttributeValues={
                    ":version": {"N": str(version)},
                    ":generation": {"S": current.generation},
                },
            )
        except self._db.client.exceptions.ConditionalCheckFailedException:
            raise VersionConflict(
                f"version: the leaderboard has been changed since version {version}; read it again"
            ) from None
        return self._remember(changed)

    def close(self, board_id: str, audit: AuditContext) -> Board:
        """Take no more submissions; other processes follow within `cache_seconds`.

        Raises:
            LeaderboardNotFound: no board has this id.
            InvalidInput: the id or the reason.
            Throttled: too many changes of the board at once.

        Costs a consistent read and a transaction: twice a conditional PutItem's units.
        """
        return self._set_closed(board_id, audit, closed=True)

    def reopen(self, board_id: str, audit: AuditContext) -> Board:
        """Take submissions again; as `close`."""
        return self._set_closed(board_id, audit, closed=False)

    def _set_closed(self, board_id: str, audit: AuditContext, *, closed: bool) -> Board:
        check_id("id", board_id)
        check_reason(audit.reason)
        for _ in range(_ATTEMPTS):
            current = next(iter(self._fetch([board_id], consistent=True)), None)
            if current is None:
                raise LeaderboardNotFound(f"there is no leaderboard {board_id!r}")
            if current.closed == closed:
                return self._remember(current)
            changed = replace(current, closed=closed, version=current.version + 1)
            action = AuditAction.CLOSE if closed else AuditAction.REOPEN
            try:
                self._db.client.transact_write_items(
                    TransactItems=[
                        {"Put": self._replacing(current, changed)},
                        *record(self._db, action, audit, board_id=board_id),
                    ]
                )
            except self._db.client.exceptions.TransactionCanceledException as error:
                if not lost_race(error):
                    raise
                continue
            return self._remember(changed)
        raise Throttled("too many changes of one leaderboard at once; try again")

    def delete(self, board_id: str, audit: AuditContext, *, size: int = 0) -> Board:
        """Delete a board: nobody finds it any more, its id is free, and the rest is asked for.

        Other processes may find it for `cache_seconds` more. `size` is noted for whoever watches the rest go.

        Raises:
            LeaderboardNotFound: no board has this id.
            InvalidInput: the id or the reason.
            Throttled: too many changes of the board at once.

        Costs a consistent read and a transaction of some 8 write units and more.
        """
        check_id("id", board_id)
        check_reason(audit.reason)
        for _ in range(_ATTEMPTS):
            board = next(iter(self._fetch([board_id], consistent=True)), None)
            if board is None:
                raise LeaderboardNotFound(f"there is no leaderboard {board_id!r}")
            details: dict[str, AttributeValueTypeDef] = {
                "definition": {"S": board_to_json(board)},
                "deleted_at": {"N": str(microseconds(audit.at))},
                "of": {"N": str(size)},
            }
            try:
                self._db.client.transact_write_items(
                    TransactItems=[
                        {
                            "Delete": {
                                "TableName": self._db.tables.boards,
                                "Key": {"board": {"S": board_id}},
                                "ConditionExpression": "version = :version AND generation = :generation",
                                "ExpressionAttributeValues": _as_read(board),
                            }
                        },
                        add_job(self._db, Job.DELETE, deletion_name(board), **details),
                        *record(self._db, AuditAction.DELETE, audit, board_id=board_id),
                    ]
                )
            except self._db.client.exceptions.TransactionCanceledException as error:
                if not lost_race(error):
                    raise
                continue
            self._cache.pop(board_id, None)
            return board
        raise Throttled("too many changes of one leaderboard at once; try again")

    def _replacing(self, current: Board, changed: Board) -> "PutTypeDef":
        return {
            "TableName": self._db.tables.boards,
            "Item": _to_item(changed),
            "ConditionExpression": "version = :version AND generation = :generation",
            "ExpressionAttributeValues": _as_read(current),
        }

    def page(self, limit: int, next_token: str | None = None) -> Page[Board]:
        """Read a page of boards in the order of their ids: half a read unit for each 4 KB.

        Raises:
            InvalidInput: the limit or the token.
        """
        check_limit("limit", limit, MAX_BOARDS_PAGE)
        values: dict[str, AttributeValueTypeDef] = {":listed": {"S": _LISTED}}
        condition = "listed = :listed"
        if next_token is not None:
            values[":after"] = {"S": decode_token("boards", next_token).decode()}
            condition += " AND board > :after"
        answer = self._db.client.query(
            TableName=self._db.tables.boards,
            IndexName=BOARD_INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            Limit=limit,
        )
        boards = [board_from_json(item["definition"]["S"]) for item in answer["Items"]]
        more = "LastEvaluatedKey" in answer
        return Page(boards, encode_token("boards", boards[-1].id.encode()) if more else None)

    def every(self) -> Iterator[Board]:
        """Read all boards in the order of their ids: half a read unit for each 4 KB."""
        return every_item(lambda token: self.page(MAX_BOARDS_PAGE, token))

    def _fetch(self, board_ids: Sequence[str], *, consistent: bool = False) -> list[Board]:
        keys: list[dict[str, AttributeValueTypeDef]] = [{"board": {"S": board_id}} for board_id in board_ids]
        items = batch_get(self._db, self._db.tables.boards, keys, consistent=consistent)
        return [board_from_json(item["definition"]["S"]) for item in items]

    def _remember(self, board: Board) -> Board:
        if len(self._cache) > _CACHED:
            self._cache.clear()
        self._cache[board.id] = (time.monotonic() + self._cache_seconds, board)
        return board


def deletion_name(board: Board) -> str:
    """Name the job of deleting what is left of a board."""
    return f"{board.id}{SEPARATOR}{board.generation}"


def _as_read(board: Board) -> "dict[str, AttributeValueTypeDef]":
    return {":version": {"N": str(board.version)}, ":generation": {"S": board.generation}}


class OpenBoards(Boards):
    """The boards that clients may read; for them, no others exist."""

    def __init__(self, boards: Boards) -> None:
        super().__init__(boards._db, boards._cache_seconds)
        self._cache = boards._cache

    def get_many(self, board_ids: Iterable[str]) -> dict[str, Board]:
        """Read boards by id, leaving out those that do not exist."""
        return {board.id: board for board in super().get_many(board_ids).values() if _is_open(board)}

    def get_generation(self, board_id: str, generation: str) -> Board | None:
        """Read a board if it is of this generation."""
        board = super().get_generation(board_id, generation)
        return board if board is not None and _is_open(board) else None

    def page(self, limit: int, next_token: str | None = None) -> Page[Board]:
        """Read a page of boards, shorter by those that are left out."""
        page = super().page(limit, next_token)
        return replace(page, items=[board for board in page.items if _is_open(board)])


def _is_open(board: Board) -> bool:
    return board.client_access is not ClientAccess.NONE


def _to_item(board: Board) -> "dict[str, AttributeValueTypeDef]":
    return {
        "board": {"S": board.id},
        "listed": {"S": _LISTED},
        "generation": {"S": board.generation},
        "version": {"N": str(board.version)},
        "definition": {"S": board_to_json(board)},
    }
