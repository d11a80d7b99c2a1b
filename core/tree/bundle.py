"""Bundles: changes of some standings, packed for the queue to the standings' bookkeeper. Pure.

A board that takes many writes has its changes in every shard of the stream. If each shard's batches were
counted apart, every node would be written once a batch and shard, and would have to remember each shard. So
the changes of such a board go to one bookkeeper, which counts all that waits at once; those of a very hot
board to several, each with its share of the participants.
"""

import base64
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.domain.entry_item import PROJECTED, Item
from core.domain.keys import participant_hash
from core.domain.model import Board
from core.tree.changes import Change

HOT = 100  # the declared peak, in writes a second, from which a board's changes are bundled
_PER_BOOKKEEPER = 4_000  # changes a second that one keeps up with
MAX_BYTES = 200_000  # of a packed bundle; SQS takes 262,144 with what is around it
_CHANGES = 1_000  # a bundle; they rarely pack to more than a quarter of MAX_BYTES

# What counting, the top and notifications look at.
_ATTRIBUTES = frozenset({"participant", "standings", "rank_shard", "rank_key", "written_at", *PROJECTED})


@dataclass(frozen=True, slots=True)
class Bundle:
    """Changes of some standings from one shard of the stream, in its order, for one of their bookkeepers."""

    standings: str
    bookkeeper: int
    shard_id: str
    changes: tuple[Change, ...]


def bookkeepers_of(board: Board) -> int:
    """Return how many bookkeepers share a board's participants; 0 if shards of the stream are counted apart.

    That depends on the peak that the board declares, which never changes.
    """
    peak = board.peak_writes_per_second
    return 0 if peak < HOT else math.ceil(peak / _PER_BOOKKEEPER)


def bundle(board: Board, standings: str, shard_id: str, changes: Sequence[Change]) -> Iterator[Bundle]:
    """Yield the bundles of a batch's changes; all changes of a participant go to the same bookkeeper."""
    shares: defaultdict[int, list[Change]] = defaultdict(list)
    for change in changes:
        shares[participant_hash(change.participant) % bookkeepers_of(board)].append(change)
    for bookkeeper, share in shares.items():
        for start in range(0, len(share), _CHANGES):
            yield Bundle(standings, bookkeeper, shard_id, tuple(share[start : start + _CHANGES]))


def pack(of: Bundle) -> list[str]:
    """Return a bundle as one text, or as several in order if it is large."""
    rows = [
        (
            change.sequence,
            int(change.at.timestamp() * 1000),
            change.participant,
            _packed(change.old),
            _packed(change.new),
        )
        for change in of.changes
    ]
    packed = base64.b64encode(zlib.compress(json.dumps(rows, separators=(",", ":")).encode())).decode()
    if len(packed) > MAX_BYTES and len(of.changes) > 1:
        half = len(of.changes) // 2
        parts = (of.changes[:half], of.changes[half:])
        return [
            text for part in parts for text in pack(Bundle(of.standings, of.bookkeeper, of.shard_id, part))
        ]
    head = {"standings": of.standings, "bookkeeper": of.bookkeeper, "shard": of.shard_id}
    return [json.dumps({**head, "changes": packed})]


def unpack(text: str) -> Bundle:
    """Return what `pack` packed."""
    body = json.loads(text)
    standings = body["standings"]
    changes = tuple(
        Change(
            sequence,
            datetime.fromtimestamp(at / 1000, UTC),
            standings,
            participant,
            _unpacked(old),
            _unpacked(new),
        )
        for sequence, at, participant, old, new in json.loads(
            zlib.decompress(base64.b64decode(body["changes"]))
        )
    )
    return Bundle(standings, body["bookkeeper"], body["shard"], changes)


def _packed(image: Item | None) -> Mapping[str, Any] | None:
    if image is None:
        return None
    kept = {name: value for name, value in image.items() if name in _ATTRIBUTES}
    return {**kept, "rank_key": base64.b64encode(image["rank_key"]["B"]).decode()}


def _unpacked(image: dict[str, Any] | None) -> Item | None:
    return None if image is None else {**image, "rank_key": {"B": base64.b64decode(image["rank_key"])}}
