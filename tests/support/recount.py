"""An independent recount of an order's counters, from a plain list of its entries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.model import Board
from core.ranking.top import TOP_KEPT
from core.storage.database import Database
from core.tree.shape import counter_shards, static_edges

Item = dict[str, Any]


@dataclass(frozen=True)
class Ranked:
    """An entry that takes a rank: where it stands and when it was last written."""

    key: bytes
    written: int


@dataclass
class Tree:
    """What an order's counters said, node by node, and all that is wrong with it."""

    wrong: list[str]
    depth: int = 0
    nodes: int = 0
    fullest: int = 0
    unsettled: int = 0


def ranked(db: Database, standings: str, participants: Sequence[str]) -> list[Ranked]:
    """Read who takes a rank, straight from the table."""
    found = []
    for start in range(0, len(participants), 100):
        keys: Any = [
            {"participant": {"S": one}, "standings": {"S": standings}}
            for one in participants[start : start + 100]
        ]
        wanted = {db.tables.scores: {"Keys": keys, "ConsistentRead": True}}
        items: list[Item] = db.client.batch_get_item(RequestItems=wanted)["Responses"][db.tables.scores]
        found += [
            Ranked(bytes(item["rank_key"]["B"]), _written(item)) for item in items if "rank_shard" in item
        ]
    return sorted(found, key=lambda one: one.key)


def recount(db: Database, board: Board, standings: str, participants: Sequence[str]) -> Tree:
    """Compare every node of the tree in use, settled or not, and the top with a count of the plain list."""
    entries = ranked(db, standings, participants)
    items = _items(db, board, standings)
    trees = items.get("trees", {"current": {"N": "0"}, "born": {"M": {"0": {"N": "0"}}}})
    number = trees["current"]["N"]
    said = Tree([])

    def look(path: tuple[int, ...], low: bytes, high: bytes | None, born: int) -> None:
        hexed = bytes(path).hex()
        edges = static_edges(board, path)
        if edges is None:
            edges = _unpacked(items[f"edges{number}:{hexed}"]["edges"]["B"])
        node = items.get(f"tree{number}:{hexed}", {})
        said.nodes += 1
        said.depth = max(said.depth, len(path) + 1)
        bounds = [low, *edges, high]
        counts = {int(name[1:], 16): int(value["N"]) for name, value in node.items() if _is(name, "c")}
        for child in range(len(edges) + 1):
            start, end = bounds[child], bounds[child + 1]
            inside = [one for one in entries if start <= one.key and (end is None or one.key < end)]
            expected = sum(one.written >= born for one in inside)
            counted = counts.pop(child, 0)
            if counted != expected:
                said.wrong.append(f"tree{number}:{hexed} child {child}: {counted}, not {expected}")
            grown = node.get(f"g{child:02x}")
            static = static_edges(board, (*path, child)) is not None
            settled = static or f"s{child:02x}" in node
            if static or grown:
                birth = max(born, int(grown["N"])) if grown else born
                late = sum(one.written < birth for one in inside)
                if settled and late:
                    said.wrong.append(f"tree{number}:{hexed} child {child}: settled without {late}")
                said.unsettled += not settled
                look((*path, child), start, end, birth)
            if not (settled and f"tree{number}:{hexed}{child:02x}" in items):
                said.fullest = max(said.fullest, len(inside))
        if any(counts.values()):
            said.wrong.append(f"tree{number}:{hexed}: counts beyond its children {counts}")

    birth = int(trees["born"]["M"][number]["N"])
    if late := sum(one.written < birth for one in entries):
        said.wrong.append(f"tree{number}: in use without {late}")
    look((), b"", None, birth)
    top = items.get("top")
    shown = [bytes(one["M"]["rank_key"]["B"]) for one in top["entries"]["L"]] if top else []
    best = [one.key for one in entries]
    if shown != best[: len(shown)] or (top and top["whole"]["BOOL"] and len(shown) < len(best)):
        said.wrong.append(f"top: {len(shown)} shown of {min(TOP_KEPT, len(best))}, not the best")
    return said


def _items(db: Database, board: Board, standings: str) -> dict[str, Item]:
    """Read an order's derived items, the counts of all counter shards added up."""
    found: dict[str, Item] = {}
    for shard in range(counter_shards(board)):
        partition = f"{standings}#{shard}" if shard else standings
        start: dict[str, Any] = {}
        while True:
            answer = db.client.query(
                TableName=db.tables.counters,
                KeyConditionExpression="standings = :standings",
                ExpressionAttributeValues={":standings": {"S": partition}},
                ConsistentRead=True,
                **start,
            )
            for item in answer["Items"]:
                node = found.setdefault(item["node"]["S"], {})
                for name, value in item.items():
                    if _is(name, "c") and name in node:
                        node[name] = {"N": str(int(node[name]["N"]) + int(value["N"]))}
                    else:
                        node.setdefault(name, value)
            if "LastEvaluatedKey" not in answer:
                break
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    return found


def _written(item: Item) -> int:
    told = item.get("written_at", {}).get("N", "").partition(".")[0]
    return int(told) if told.isdecimal() else 0


def _is(name: str, kind: str) -> bool:
    return len(name) == 3 and name[0] == kind and all(digit in "0123456789abcdef" for digit in name[1:])


def _unpacked(packed: bytes) -> list[bytes]:
    edges = []
    while packed:
        end = 2 + packed[0] * 256 + packed[1]
        edges.append(bytes(packed[2:end]))
        packed = packed[end:]
    return edges
