"""The rows of an import: submitted, refused with a reason, or left out by the user's choice."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Row:
    """One submission. `number` rises within the source; `raw` is the row's text as it was read."""

    number: int
    participant_id: str
    score: tuple[str, ...]
    achieved_at: datetime
    display_name: str | None = None
    metadata: str | None = None
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that is not imported: the line it starts on, the field, and the rule that the field breaks."""

    line: int
    field: str
    rule: str
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that the user's options leave out, and by which of them."""

    option: str
