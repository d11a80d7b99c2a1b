"""The ledger of a bookkeeper: up to which record of each stream shard its standings are counted.

    standings          node      what
    race#all-time#g1   ledger0   that of bookkeeper 0

A queue delivers bundles to a bookkeeper in order, one after another, each at least once and with a number
that grows. Nodes and the top remember the number up to which they are counted (guard.py), so a bundle that
is delivered again counts once. But a batch of stream records that comes again is bundled again, perhaps in
other pieces and under later numbers: these records are found out by the ledger.

It is written after everything that a pass changes. So a pass that dies is repeated with the same bundles,
under the same numbers, with the same ledger. A bundle whose records another one repeats has been taken off
the queue, and so has been entered, before that other one is delivered.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from core.counters.guard import guard_name, guard_value, outdated
from core.counters.nodes import Item, expiry, get_node, node_key
from core.domain.model import Board
from core.storage.clock import now_ms
from core.storage.database import Database

_REMOVED_AT_ONCE = 50  # outdated guards; an expression has 4 KB at most


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a bookkeeper's item says; `written_at` is in milliseconds since 1970."""

    item: Item

    @property
    def written_at(self) -> int:
        """Return when the last pass ended; 0 before the first."""
        return int(self.item["written_at"]["N"]) if self.item else 0

    def counted(self, shard_id: str) -> int:
        """Return the sequence number up to which a shard's records are counted; -1 if none is."""
        guard = self.item.get(guard_name(shard_id))
        return int(guard["L"][0]["N"]) if guard else -1


def read_ledger(db: Database, standings: str, bookkeeper: int) -> Ledger:
    """Read a ledger consistently: a read unit for each 4 KB."""
    return Ledger(get_node(db, standings, _name(bookkeeper), consistent=True))


def enter(
    db: Database,
    board: Board,
    standings: str,
    bookkeeper: int,
    ledger: Ledger,
    number: int,
    counted: Mapping[str, int],
) -> None:
    """Enter up to which record of each shard is counted, with the bundles up to a number.

    Changes nothing if a later number is entered already: this pass has been taken for dead. Costs a write
    unit a KB: some 33 bytes for each shard of the last day.
    """
    now = now_ms()
    guards = {guard_name(shard): guard_value(sequence, now) for shard, sequence in counted.items()}
    old = [name for name in outdated(ledger.item, now) if name not in guards]
    values = {"number": {"N": str(number)}, "written_at": {"N": str(now)}, **guards}
    values |= expiry(board, standings)
    with suppress(db.client.exceptions.ConditionalCheckFailedException):
        db.client.update_item(
            TableName=db.tables.counters,
            Key=node_key(standings, _name(bookkeeper)),
            UpdateExpression="SET "
            + ", ".join(f"#{name} = :{name}" for name in values)
            + (" REMOVE " + ", ".join(old[:_REMOVED_AT_ONCE]) if old else ""),
            ConditionExpression="attribute_not_exists(#number) OR #number < :number",
            ExpressionAttributeNames={f"#{name}": name for name in values},
            ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
        )


def _name(bookkeeper: int) -> str:
    return f"ledger{bookkeeper}"
