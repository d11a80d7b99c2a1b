"""Load boards of up to millions of entries into a new DynamoDB engine, on a RAM disk if there is one.

The engine imports them as a DynamoDB export, some seven times as fast as BatchWriteItem, into a scores table
without a stream. Each item is what a submission would have stored; the counters are what the
stream and growth would have made of them.
"""

import base64
import gzip
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.distributions import Participant
from bench.growth_simulation import SimulatedNode, items, simulate
from bench.sizes import item_bytes
from core.boards import Boards
from core.counters.nodes import node_key
from core.domain import rank_key
from core.domain.entry_item import PROJECTED, entry_key
from core.domain.keys import rank_shard, shard_of, standings_key
from core.domain.model import Board
from core.domain.periods import ALL_TIME
from core.ranking.top import TOP_KEPT, TOP_NODE
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables, definitions
from local.errors import StackError
from local.stack.engine import find_engine, free_port, running_engine, temporary_folder

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_INDEXED = {"participant", "standings", "rank_shard", "rank_key", *PROJECTED}
_PAGE_BYTES = 1024 * 1024
_TABLES = Tables.with_prefix("bench")
_WRITTEN_AT = 1_600_000_100_000  # milliseconds since 1970, after every node's birth
_BATCH = 25

Item = dict[str, Any]
Progress = Callable[[str], object]


@dataclass(frozen=True)
class Filled:
    """A board, and its entries in the order of arrival."""

    board: Board
    participants: Sequence[Participant]

    @property
    def standings(self) -> str:
        """The key of its all-time standings."""
        return standings_key(self.board.id, ALL_TIME, self.board.generation)

    @cached_property
    def keys(self) -> list[bytes]:
        """The rank keys in the order of arrival."""
        return [key_of(self.board, participant) for participant in self.participants]

    @cached_property
    def order(self) -> list[bytes]:
        """The rank keys in rank order."""
        return sorted(self.keys)

    @cached_property
    def tree(self) -> list[SimulatedNode]:
        """The nodes of the counter tree."""
        return simulate(self.board, self.keys)


def key_of(board: Board, participant: Participant) -> bytes:
    """Return an entry's rank key."""
    return rank_key.encode(board, participant.score, participant.achieved_at, participant.id)


def entry_item(
    board: Board, participant: Participant, written_at: int = _WRITTEN_AT, version: int = 1
) -> Item:
    """Return an entry as an item of the scores table."""
    standings = standings_key(board.id, ALL_TIME, board.generation)
    return {
        **entry_key(board, ALL_TIME, participant.id),
        "rank_shard": {"S": rank_shard(standings, shard_of(board, participant.id))},
        "rank_key": {"B": key_of(board, participant)},
        "achieved_at": {"N": str(rank_key.microseconds(participant.achieved_at))},
        "written_at": {"N": str(written_at)},
        "write_id": {"B": participant.id[-8:].encode()},
        "display_name": {"S": participant.id.replace("player-", "Player ")},
        "submissions": {"N": str(version)},
        "version": {"N": str(version)},
    }


@contextmanager
def engine_with(filled: Sequence[Filled], progress: Progress) -> Iterator[Database]:
    """Run an engine with these boards for the length of the block, then delete its data.

    Raises:
        StackError: there is no engine for this platform, or it cannot import the entries.
    """
    with temporary_folder() as folder:
        progress("importing entries")
        _import_entries(folder, filled)
        with running_engine(folder) as engine:
            db = _connect(engine.endpoint)
            _cut_pages(db, entry_bytes(filled[0]))
            create_tables(db)
            boards = Boards(db)
            progress("writing counters")
            for board in filled:
                boards.create(board.board)
            put_all(db, _TABLES.counters, [item for board in filled for item in _derived(board)])
            yield db


def put_all(db: Database, table: str, new_items: Sequence[Item]) -> None:
    """Put items; existing ones are replaced."""
    for start in range(0, len(new_items), _BATCH):
        puts: Any = [{"PutRequest": {"Item": item}} for item in new_items[start : start + _BATCH]]
        db.client.batch_write_item(RequestItems={table: puts})


def entry_bytes(filled: Filled) -> int:
    """Return the size of an entry on the rank index, in bytes."""
    item = entry_item(filled.board, filled.participants[0])
    return item_bytes({name: item[name] for name in item if name in _INDEXED})


def _cut_pages(db: Database, size: int) -> None:
    """Limit pages of the rank index to 1 MB, as DynamoDB does.

    The engine does so too, but reads the rest of the partition first, which takes seconds a page.
    """

    def limit(params: dict[str, Any], **_: object) -> None:
        if "IndexName" in params:
            params.setdefault("Limit", _PAGE_BYTES // size)

    db.client.meta.events.register("before-parameter-build.dynamodb.Query", limit)


def _connect(endpoint: str) -> Database:
    return connect(_TABLES, region="us-east-1", endpoint_url=endpoint, access_key="local", secret_key="local")


def _import_entries(folder: Path, filled: Sequence[Filled]) -> None:
    binary = find_engine()
    if binary is None:
        raise StackError("no DynamoDB engine for this platform: `make setup` fetches it where it is built")
    definition: Any = definitions(_connect(f"http://127.0.0.1:{free_port()}"))[0]
    del definition["StreamSpecification"]
    schema = folder / "schema.json"
    schema.write_text(json.dumps([{"Table": definition}]))
    data = folder / "export" / _TABLES.scores / "data"
    data.mkdir(parents=True)
    with gzip.open(data / "entries.json.gz", "wt", compresslevel=1) as file:
        for board in filled:
            for participant in board.participants:
                item = entry_item(board.board, participant)
                file.write(json.dumps({"Item": item}, default=as_base64) + "\n")
    command = [binary, "import", "--source", folder / "export", "--schema", schema]
    done = subprocess.run(
        [*map(str, command), "--output", str(folder / "dynamodb.sqlite")],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise StackError(f"the DynamoDB engine could not import the entries: {done.stderr.strip()}")


def _derived(filled: Filled) -> Iterator[Item]:
    yield from items(filled.tree, filled.standings)
    best = set(filled.order[:TOP_KEPT])
    top = [
        entry_item(filled.board, participant)
        for participant, key in zip(filled.participants, filled.keys, strict=True)
        if key in best
    ]
    for item in top:
        del item["written_at"], item["write_id"], item["standings"]
    top.sort(key=lambda item: bytes(item["rank_key"]["B"]))
    key: dict[str, AttributeValueTypeDef] = node_key(filled.standings, TOP_NODE)
    yield {
        **key,
        "revision": {"N": "1"},
        "whole": {"BOOL": len(filled.order) <= TOP_KEPT},
        "entries": {"L": [{"M": item} for item in top]},
    }


def as_base64(value: object) -> str:
    """Return bytes in base64, as DynamoDB's JSON has them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(value)
