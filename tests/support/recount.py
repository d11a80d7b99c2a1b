"""Recount the counters of some standings from a plain list of the entries, independently of core.counters."""

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
    """A ranked entry: its rank key, and when it was last written."""

    key: bytes
    written: int


@dataclass
class Tree:
    """The shape of the tree in use, and everything that is wrong with its counts and the top."""

    wrong: list[str]
    depth: int = 0
    nodes: int = 0
    fullest: int = 0
    unsettled: int = 0


def ranked(db: Database, standings: str, participants: Sequence[str]) -> list[Ranked]:
    """Read the ranked entries among some participants, straight from the table."""
    found = []
    for start in range(0, len(participants), 100):
        keys: Any = [
            {"participant": {"S": participant}, "standings": {"S": standings}}
            for participant in participants[start : start + 100]
        ]
        wanted: Any = {db.tables.scores: {"Keys": keys, "ConsistentRead": True}}
        items: list[Item] = db.client.batch_get_item(RequestItems=wanted)["Responses"][db.tables.scores]
        found += [
            Ranked(bytes(item["rank_key"]["B"]), _written(item)) for item in items if "rank_shard" in item
        ]
    return sorted(found, key=lambda entry: entry.key)


def recount(db: Database, board: Board, standings: str, participants: Sequence[str]) -> Tree:
    """Compare every node of the tree in use, settled or not, and the top with counts of the plain list."""
    entries = ranked(db, standings, participants)
    items = _items(db, board, standings)
    directory = items.get("trees", {"current": {"N": "0"}, "born": {"M": {"0": {"N": "0"}}}})
    number = directory["current"]["N"]
    tree = Tree([])

    def visit(path: tuple[int, ...], low: bytes, high: bytes | None, born: int) -> None:
        hexed = bytes(path).hex()
        edges = static_edges(board, path)
        if edges is None:
            edges = _unpacked(items[f"edges{number}:{hexed}"]["edges"]["B"])
        node = items.get(f"tree{number}:{hexed}", {})
        tree.nodes += 1
        tree.depth = max(tree.depth, len(path) + 1)
        counts = {int(name[1:], 16): int(value["N"]) for name, value in node.items() if _is(name, "c")}
        for child, (start, end) in enumerate(zip([low, *edges], [*edges, high], strict=True)):
            inside = [entry for entry in entries if start <= entry.key and (end is None or entry.key < end)]
            expected = sum(entry.written >= born for entry in inside)
            counted = counts.pop(child, 0)
            if counted != expected:
                tree.wrong.append(f"tree{number}:{hexed} child {child}: {counted}, not {expected}")
            grown = node.get(f"g{child:02x}")
            static = static_edges(board, (*path, child)) is not None
            settled = static or f"s{child:02x}" in node
            if static or grown:
                birth = max(born, int(grown["N"])) if grown else born
                late = sum(entry.written < birth for entry in inside)
                if settled and late:
                    tree.wrong.append(f"tree{number}:{hexed} child {child}: settled without {late}")
                tree.unsettled += not settled
                visit((*path, child), start, end, birth)
            if not (settled and f"tree{number}:{hexed}{child:02x}" in items):
                tree.fullest = max(tree.fullest, len(inside))
        if any(counts.values()):
            tree.wrong.append(f"tree{number}:{hexed}: counts beyond its children {counts}")

    birth = int(directory["born"]["M"][number]["N"])
    if late := sum(entry.written < birth for entry in entries):
        tree.wrong.append(f"tree{number}: in use without {late}")
    visit((), b"", None, birth)
    top = items.get("top")
    shown = [bytes(entry["M"]["rank_key"]["B"]) for entry in top["entries"]["L"]] if top else []
    best = [entry.key for entry in entries]
    if shown != best[: len(shown)] or (top and top["whole"]["BOOL"] and len(shown) < len(best)):
        tree.wrong.append(f"top: {len(shown)} shown of {min(TOP_KEPT, len(best))}, not the best")
    return tree


def _items(db: Database, board: Board, standings: str) -> dict[str, Item]:
    """Read the items of some standings, with the counts of all counter shards added up."""
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
    written_at = item.get("written_at", {}).get("N", "").partition(".")[0]
    return int(written_at) if written_at.isdecimal() else 0


def _is(name: str, kind: str) -> bool:
    return len(name) == 3 and name[0] == kind and all(digit in "0123456789abcdef" for digit in name[1:])


def _unpacked(packed: bytes) -> tuple[bytes, ...]:
    edges = []
    while packed:
        end = 2 + packed[0] * 256 + packed[1]
        edges.append(bytes(packed[2:end]))
        packed = packed[end:]
    return tuple(edges)
