"""Everyone who is told of rank changes, and what they must have heard in the end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.domain.model import Board
from core.domain.rank_key import participant_of, score_bytes
from core.notifications.events import Event, Published, RankChange, TopChange
from core.notifications.notifier import notify
from core.storage.database import Database
from tests.support.deliveries import Deliveries
from tests.support.interleaving import Killed, Process, World
from tests.support.oracle import Bucket, bucket_of


@dataclass
class Audience:
    """Subscribers of one board that drop, as the contract says, whatever is no newer than what they know."""

    heard: list[Event] = field(default_factory=list)
    newest: dict[str, RankChange] = field(default_factory=dict)
    doubled: list[RankChange] = field(default_factory=list)  # told the bucket that they knew
    top: TopChange | None = None

    def hear(self, events: Sequence[Event]) -> Published:
        """Take everything."""
        for event in events:
            self.heard.append(event)
            if isinstance(event, TopChange):
                if self.top is None or event.version > self.top.version:
                    self.top = event
                continue
            known = self.newest.get(event.participant_id)
            if known is None or event.version > known.version:
                told = (known.previous_bucket, known.bucket) if known else None
                if told == (event.previous_bucket, event.bucket) and event.previous_bucket is not None:
                    self.doubled.append(event)  # whoever has left comes back as new, though
                self.newest[event.participant_id] = event
        return Published(events)

    def of(self, participant: str) -> list[RankChange]:
        """Give what one participant heard."""
        return [
            event
            for event in self.heard
            if isinstance(event, RankChange) and event.participant_id == participant
        ]


def places(board: Board, keys: Sequence[bytes]) -> dict[str, tuple[int, str]]:
    """Say each participant's rank and bucket, from the plain list of all rank keys."""
    size = score_bytes(board)
    scores = sorted(key[:size] for key in keys)
    buckets = [Bucket(one.name, one.to, one.top_percent) for one in board.rank_buckets]
    found = {}
    for key in keys:
        rank = scores.index(key[:size]) + 1
        found[participant_of(board, key)] = (rank, bucket_of(buckets, rank, len(keys))[0].name)
    return found


@dataclass
class Teller:
    """NotifyQueue of one order, made when they are due, by processes that race, fail to publish and die."""

    world: World
    board: Board
    standings: str
    deliveries: Deliveries
    audience: Audience
    deaf: Callable[[], bool] = lambda: False  # whether an event fails to be published now
    later: list[tuple[int, int]] = field(default_factory=list)  # when, and after how many looks

    def ready(self) -> tuple[int, int] | None:
        """Take what is due now."""
        if self.standings in self.deliveries.due:
            self.deliveries.due.discard(self.standings)
            return 0, 0
        for one in sorted(self.later):
            if one[0] <= self.world.now:
                self.later.remove(one)
                return one
        return None

    def run(self, process: Process) -> None:
        """Tick for ever."""
        while True:
            due = self.ready()
            if due is None:
                process.sleep(0.3)
                continue
            try:
                self.tick(process.db, due[1], process)
            except Killed:
                self.later.append((self.world.now + 2_000, 0))  # the queue gives it again
                process.restart()

    def tick(self, db: Database, looks: int, process: Process | None = None) -> None:
        """Make one tick, and remember when the next is wanted."""

        def publish(events: Sequence[Event]) -> Published:
            if process is not None:
                process.stop()
                if process.fate == "before":
                    raise Killed
            lost = [event for event in events if self.deaf()]
            published = self.audience.hear([event for event in events if event not in lost])
            if process is not None and process.fate == "after":
                raise Killed
            # Of some of those that are lost only the answer is.
            unsure = [event for event in lost if self.world.random.random() < 0.5]
            self.audience.hear([event for event in unsure if self.world.random.random() < 0.5])
            return Published(published.done, unsure)

        again = notify(db, self.board, self.standings, publish, looks=looks)
        if again:
            self.later.append((self.world.now + int(again.after * 1000) + 1, again.looks))

    def finish(self, db: Database) -> None:
        """Make all ticks that are left, in peace."""
        for _ in range(400):
            due = self.ready()
            if due is not None:
                self.tick(db, due[1])
            elif self.later:
                self.world.now = min(at for at, _ in self.later)
            else:
                return
        raise AssertionError("it never comes to an end")


class LaggingIndex:
    """A client whose rank index does not show everything that was written within the last seconds."""

    def __init__(self, client: Any, world: World, scores: str, milliseconds: int = 4_000) -> None:
        self._client, self._world, self._scores, self._lag = client, world, scores, milliseconds

    def __getattr__(self, name: str) -> Any:
        return self.query if name == "query" else getattr(self._client, name)

    def query(self, **arguments: Any) -> Any:
        answer = self._client.query(**arguments)
        if "IndexName" in arguments:
            answer["Items"] = [item for item in answer["Items"] if not self._hides(item)]
        return answer

    def _hides(self, item: Any) -> bool:
        if "participant" not in item or self._world.random.random() > 0.6:
            return False
        key = {"participant": item["participant"], "standings": item["standings"]}
        entry = self._client.get_item(TableName=self._scores, Key=key).get("Item", {})
        written = int(entry.get("written_at", {"N": "0"})["N"])
        return bool(written > self._world.now - self._lag)
