"""Deliver a stream as an event source does: several shards, batches split and merged, and delivered again.

Bundles of hot boards go through queues, one for each bookkeeper, as SQS keeps them: in order, and delivered
again until they are taken off.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.storage.database import Database
from core.stream import BatchReport, count_bundles, process
from core.tree.bundle import Bundle, pack, unpack
from local.stack.stream_reader import connect_streams
from tests.support.bare import BareClient
from tests.support.interleaving import Killed, Process, World

if TYPE_CHECKING:
    import random

Record = dict[str, Any]


class Records:
    """The records of the scores table's stream, from its start."""

    def __init__(self, db: Database) -> None:
        self._client = BareClient(connect_streams(db))
        arn = db.client.describe_table(TableName=db.tables.scores)["Table"]["LatestStreamArn"]
        [shard] = self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self._iterator = self._client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        self.new()

    def new(self) -> list[Record]:
        """Return those that have not been returned yet."""
        found: list[Record] = []
        while True:
            answer = self._client.get_records(ShardIterator=self._iterator)
            self._iterator = answer["NextShardIterator"]
            found += answer["Records"]
            if not answer["Records"]:
                return found


class Deliveries:
    """The stream's shards: a participant's records are in one of them, after a resharding in its child."""

    def __init__(
        self,
        world: World,
        records: Records,
        shards: int,
        reshard_at: int | None = None,
        *,
        queued: bool = False,
    ) -> None:
        self._world = world
        self._records = records
        self._shards = shards
        self._reshard_at = reshard_at
        self._seen = 0
        self.of: dict[str, list[Record]] = {f"{at}": [] for at in range(shards)}
        self.counted: dict[str, int] = {}  # the checkpoints
        self.due: set[str] = set()  # the standings whose participants may have to be notified
        self._queued = queued
        self.queues: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self.duplicates = 0  # records that were enqueued again
        self._enqueued: defaultdict[str, int] = defaultdict(int)  # by shard and queue, up to which record
        self._number = 10**19

    def read(self) -> None:
        """Read new records and assign each to a shard."""
        for record in self._records.new():
            record["dynamodb"]["ApproximateCreationDateTime"] = self._world.now // 1000
            shard = str(sum(record["dynamodb"]["Keys"]["participant"]["S"].encode()) % self._shards)
            if self._reshard_at is not None and self._seen >= self._reshard_at:
                shard += "+"
            self._seen += 1
            self.of.setdefault(shard, []).append(record)

    def ready(self) -> list[str]:
        """Return the shards with records left to count whose parent shard is counted to its end."""
        self.read()
        return [
            shard
            for shard, records in self.of.items()
            if self.counted.get(shard, 0) < len(records)
            and (parent := shard.removesuffix("+")) in self.of
            and (parent == shard or self.counted.get(parent, 0) == len(self.of[parent]))
        ]

    def consume(self, consumer: Process) -> None:
        """Count for ever, from the checkpoints on, in random batches; restart after each death."""
        world: World = consumer.world
        chance: random.Random = world.random
        own: dict[str, int] = {}  # this consumer's own checkpoints, which may lag behind another's
        while True:
            ready = [shard for shard in self.of if own.get(shard, 0) < len(self.of[shard])]
            ready = [shard for shard in self.ready() if shard in ready] or [
                shard for shard in ready if self.counted.get(shard, 0) > own.get(shard, 0)
            ]
            if not ready:
                consumer.sleep(0.5)
                continue
            shard = chance.choice(ready)
            start = own.get(shard, 0)
            end = chance.randint(start + 1, len(self.of[shard]))
            try:
                report = self._process(
                    consumer.db, consumer.boards, shard, self.of[shard][start:end], consumer
                )
            except Killed:
                consumer.restart()
                own = {name: max(0, at - chance.choice([0, 0, 3])) for name, at in self.counted.items()}
            else:
                own[shard] = end
                self.due |= report.due
                self.counted[shard] = max(end, self.counted.get(shard, 0))

    def _process(
        self, db: Database, boards: Any, shard: str, records: list[Record], consumer: Process | None = None
    ) -> BatchReport:
        def hand_on(bundles: Sequence[Bundle]) -> None:
            for each in bundles:
                for text in pack(each):
                    self._enqueue(text)
                    if consumer is not None:
                        consumer.sleep(0.01)  # where it may die

        return process(db, boards, shard, records, hand_on if self._queued else None)

    def _enqueue(self, text: str) -> None:
        bundle = unpack(text)
        queue = f"{bundle.standings}/{bundle.bookkeeper}"
        last = self._enqueued[f"{bundle.shard_id} {queue}"]
        self.duplicates += sum(change.sequence <= last for change in bundle.changes)
        self._enqueued[f"{bundle.shard_id} {queue}"] = max(last, bundle.changes[-1].sequence)
        self._number += 7
        self.queues[queue].append((self._number, text))

    def keep_books(self, bookkeeper: Process) -> None:
        """Count for ever what is in the queues; restart after each death.

        Nothing keeps two of these from taking the same bundles, as if one had been thought dead.
        """
        world: World = bookkeeper.world
        chance: random.Random = world.random
        while True:
            waiting = [name for name, queue in self.queues.items() if queue]
            if not waiting:
                bookkeeper.sleep(0.5)
                continue
            name = chance.choice(waiting)
            taken = self.queues[name][: chance.randint(1, 10)]
            try:
                self._count(bookkeeper.db, bookkeeper.boards, name, taken)
            except Killed:
                bookkeeper.restart()

    def _count(self, db: Database, boards: Any, name: str, taken: list[tuple[int, str]]) -> int:
        bundles = [(number, unpack(text)) for number, text in taken]
        self.due |= count_bundles(db, boards, bundles, wait=False).due
        last = taken[-1][0]
        self.queues[name] = [one for one in self.queues[name] if one[0] > last]
        return sum(len(bundle.changes) for _, bundle in bundles)

    def drain(self, db: Database, boards: Any) -> int:
        """Count all records that are left; return how many."""
        total = 0
        while (ready := self.ready()) or any(self.queues.values()):
            for shard in ready:
                start = self.counted.get(shard, 0)
                report = self._process(db, boards, shard, self.of[shard][start:])
                self.due |= report.due
                total += len(self.of[shard]) - start - report.handed_on
                self.counted[shard] = len(self.of[shard])
            for name, queue in list(self.queues.items()):
                if queue:
                    total += self._count(db, boards, name, queue)
        return total
