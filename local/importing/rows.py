"""The rows of an import: submitted, or refused with a reason."""

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
