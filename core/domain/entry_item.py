"""Entries as items of the scores table, both ways, and the declaration of their attributes. Pure.

    participant, standings   the primary key
    rank_shard, rank_key     the key in the rank index
    ATTRIBUTES               what else an entry says
    written_at               milliseconds since 1970: which nodes of a counter tree count the entry
    write_id, sources        make retries idempotent
    named_at                 microseconds: when the display name was given; not in the index
    previous                 under SUM: score and achieved_at before the last change
    removed_at, expires_at   when it was removed, and when TTL deletes it

The rank key is the only copy of the score. A hidden entry has no `rank_shard`, so it is in no index shard and
takes no rank. A removed entry leaves a tombstone, which has no rank key.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.domain import rank_key
from core.domain.keys import SEPARATOR, standings_key
from core.domain.limits import MAX_DISPLAY_NAME_BYTES, MAX_METADATA_BYTES
from core.domain.model import Board, Entry, Place
from core.domain.text import check_json, check_name, check_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    Key = dict[str, AttributeValueTypeDef]

Item = Mapping[str, Any]
Plain = int | str | None  # an attribute's value as JSON holds it

_MALFORMED = (KeyError, TypeError, ValueError, OverflowError)  # what a foreign item raises
_TIME = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field of `Entry`, kept under its own name in items, in the rank index and in the top.

    `kind` is int, datetime (kept as microseconds since 1970) or str: None, or a text of at most `max_bytes`
    that `check` accepts.

    A new text is named in five files: core/domain/model.py (a field of Entry), core/domain/entry_item.py,
    core/submissions/submit.py (a field of Submission), resolvers/inputs.py and resolvers/types/entry.py.
    `make schema` then writes schema.graphql and the index's projection, infra/rank_index.json.
    """

    name: str
    kind: type
    max_bytes: int = 0
    check: Callable[[str, str, int], None] = check_text
    in_top_change: bool = False  # a top change shows it, so a change of it alone is published
    in_archive: bool = True
    personal: bool = False  # erased from archives with the participant

    @property
    def public_name(self) -> str:
        """Return its name in GraphQL and in errors, such as displayName."""
        first, *others = self.name.split("_")
        return first + "".join(map(str.capitalize, others))


NAMED_AT = "named_at"
PREVIOUS = "previous"

# Not `written_at`: as it is not in the index, touching an entry is one write.
ATTRIBUTES = (
    Attribute("achieved_at", datetime, in_top_change=True),
    Attribute("submissions", int),
    Attribute("version", int, in_archive=False),
    Attribute("display_name", str, MAX_DISPLAY_NAME_BYTES, check_name, in_top_change=True, personal=True),
    Attribute("metadata", str, MAX_METADATA_BYTES, check_json, personal=True),
)
PROJECTED = tuple(attribute.name for attribute in ATTRIBUTES)
TEXTS = tuple(attribute for attribute in ATTRIBUTES if attribute.kind is str)
NUMBERS = tuple(attribute for attribute in ATTRIBUTES if attribute.kind is not str)
IN_ARCHIVE = tuple(attribute for attribute in ATTRIBUTES if attribute.in_archive)
_IN_TOP_CHANGE = (attribute.name for attribute in ATTRIBUTES if attribute.in_top_change)
IN_TOP_CHANGE = ("participant", "rank_key", *_IN_TOP_CHANGE)
_MAX_BYTES = {attribute.name: attribute.max_bytes for attribute in TEXTS}


def check_texts(texts: Mapping[str, object]) -> None:
    """Check the texts of an entry, by attribute.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    for attribute in TEXTS:
        text = texts.get(attribute.name)
        if isinstance(text, str):
            attribute.check(attribute.public_name, text, attribute.max_bytes)


def entry_key(board: Board, period: str, participant_id: str) -> "Key":
    """Return the primary key of an entry."""
    return {
        "participant": {"S": participant_id},
        "standings": {"S": standings_key(board.id, period, board.generation)},
    }


def entry_from_item(board: Board, period: str, item: Item) -> Entry:
    """Read an entry from an item of the table, of the rank index or of the top."""
    numbers = {attribute.name: int(item[attribute.name]["N"]) for attribute in NUMBERS}
    texts = {attribute.name: item[attribute.name]["S"] for attribute in TEXTS if attribute.name in item}
    participant_id, key = item["participant"]["S"], bytes(item["rank_key"]["B"])
    return entry_from_plain(board, period, participant_id, key, numbers | texts, hidden=not is_ranked(item))


def read_entry(board: Board, period: str, item: Item) -> Entry | None:
    """Return the entry in an item that may be anyone's; None if it is no entry of these standings.

    It decodes as the stream's consumer does, so that what is shown with a rank is what is counted.
    """
    standings = standings_key(board.id, period, board.generation)
    if item.get("standings", {"S": standings}) != {"S": standings}:
        return None
    sane = without_foreign_shard(board, sanitize_item(standings, item))
    return None if sane is None else entry_from_item(board, period, sane)


def plain_values(entry: Entry, attributes: Sequence[Attribute]) -> list[Plain]:
    """Return the values of some attributes as JSON can hold them."""
    values = (getattr(entry, attribute.name) for attribute in attributes)
    return [rank_key.microseconds(value) if isinstance(value, datetime) else value for value in values]


def entry_from_plain(
    board: Board,
    period: str,
    participant_id: str,
    key: bytes,
    plain: Mapping[str, Any],
    *,
    hidden: bool = False,
    place: Place | None = None,
) -> Entry:
    """Return the entry of a rank key and of attributes' plain values; a missing one is 0 or None."""
    return Entry(
        board=board,
        period=period,
        participant_id=participant_id,
        score=rank_key.decode_score(board, key),
        hidden=hidden,
        rank_key=key,
        place=place,
        **{attribute.name: _value(attribute, plain) for attribute in ATTRIBUTES},
    )


def _value(attribute: Attribute, plain: Mapping[str, Any]) -> Any:
    value = plain.get(attribute.name, None if attribute.kind is str else 0)
    return rank_key.instant(value) if attribute.kind is datetime else value


def is_entry(item: Item) -> bool:
    """Return whether an item is an entry, and not a tombstone."""
    return "rank_key" in item


def is_ranked(item: Item | None) -> bool:
    """Return whether an item is an entry that takes a rank: it exists and is not hidden."""
    return item is not None and "rank_shard" in item


def written_at(item: Item) -> int:
    """Return when an entry was last written, in milliseconds since 1970; 0 if its item does not say."""
    return int(item["written_at"]["N"].partition(".")[0]) if "written_at" in item else 0


def name_age_key(item: Item) -> tuple[bool, int, int]:
    """Return a sort key by which the entry comes last whose display name was given last."""
    named_at = int(item[NAMED_AT]["N"]) if NAMED_AT in item else 0
    return "display_name" in item, named_at, written_at(item)


def sanitize_item(standings: str, item: Item | None) -> Item | None:
    """Return an entry's item with its rank key as bytes; None if it is no entry.

    Attributes that only foreign items have are left out: a shard of other standings, a time of writing that
    is no time, a text that is no text or too long.
    """
    if item is None:
        return None
    try:
        key = item["rank_key"]["B"]
        # A Lambda event is JSON and holds binary as base64; boto3 has decoded it.
        raw = base64.b64decode(key, validate=True) if isinstance(key, str) else bytes(key)
        for attribute in NUMBERS:
            number = int(item[attribute.name]["N"])
            if attribute.kind is datetime:
                rank_key.instant(number)
    except _MALFORMED:
        return None
    sound = {name: value for name, value in item.items() if _is_sound(standings, name, value)}
    return {**sound, "rank_key": {"B": raw}}


def _is_sound(standings: str, name: str, value: Mapping[str, Any]) -> bool:
    if name == "rank_shard":
        partition, _, shard = str(value.get("S", "")).rpartition(SEPARATOR)
        return partition == standings and shard.isdecimal()
    if name == "written_at":
        return _TIME.fullmatch(str(value.get("N", ""))) is not None
    if name in _MAX_BYTES:
        return "S" in value and len(value["S"].encode()) <= _MAX_BYTES[name]
    return True


def without_foreign_shard(board: Board, item: Item | None) -> Item | None:
    """Return an entry's item, as that of a hidden entry if it is in an index shard that its board lacks."""
    if item is None or "rank_shard" not in item:
        return item
    shard = item["rank_shard"]["S"].rpartition(SEPARATOR)[2]
    if int(shard) < board.shards and shard == str(int(shard)):
        return item
    return {name: value for name, value in item.items() if name != "rank_shard"}
