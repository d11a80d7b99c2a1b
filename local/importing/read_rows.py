"""Read records as rows: which columns, which rows, and how their cells are written."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from core.domain.model import Board, Component, ScoreKind, ScorePolicy, TieBreak
from local.errors import StackError
from local.importing.fields import FieldError, metadata, optional_text, quoted, refuse, text_of, value_at
from local.importing.gaps import Gaps
from local.importing.input_file import InputFile, Record
from local.importing.instants import instant
from local.importing.rows import LeftOut, Refusal, Row
from local.importing.score_text import DecimalMark, Unclear, is_gap, plain_score, signed
from local.importing.spreadsheet import unescaped
from local.importing.tidy import Tidy, trimmed

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read. In an optional one, a blank cell is the same as no value."""

    participant: str
    score: tuple[str, ...]
    achieved_at: str | None = None
    display_name: str | None = None
    metadata: tuple[str, ...] = ()
    metadata_json: str | None = None  # its cells are stored as they are


@dataclass(frozen=True, slots=True)
class Reading:
    """How cells are written, and which rows count, as the user says."""

    decimal: DecimalMark | None = None
    time_zone: str | None = None
    add_gaps: bool = False
    gaps_by: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    skip_values: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return what changes the values of rows; two imports of one source must agree on it."""
        described = asdict(self)
        del described["skip_values"]
        return described


@dataclass(slots=True)
class DefaultTimes:
    """Times of rows without one: the source's, a microsecond apart, so that ties keep the file's order.

    The last row has the source's own time and those above it earlier ones, or, where the latest of a tie
    comes first, the first row. Under the policy LATEST times always rise, as a participant's last row counts.
    """

    board: Board
    last_time: datetime
    last_number: int = 0

    def of(self, number: int) -> datetime:
        """Return the time of a row by its number."""
        falling = self.board.tie_break is TieBreak.LATEST and self.board.policy is not ScorePolicy.LATEST
        return self.last_time - (number if falling else self.last_number - number) * _MICROSECOND


@dataclass(slots=True)
class RowReader:
    """Reads a file's records as rows for one board."""

    file: InputFile
    columns: Columns
    reading: Reading
    board: Board
    times: DefaultTimes
    tidy: Tidy = field(default_factory=Tidy)
    _gaps: Gaps = field(default_factory=Gaps)

    def survey(self) -> None:
        """Read the whole file once before anything of it is stored, for `rows` to start on.

        Raises:
            StackError: a cell can be read in two ways, and no option says which.
        """
        for row in self.rows():
            if isinstance(row, Refusal | Row):
                self.times.last_number = row.line if isinstance(row, Refusal) else row.number

    def rows(self) -> Iterator[Row | Refusal | LeftOut]:
        """Yield every row.

        Raises:
            StackError: a cell can be read in two ways, and no option says which.
        """
        self.tidy, self._gaps = Tidy(), Gaps()
        for record in self.file.records():
            if isinstance(record, Refusal):
                yield record
                continue
            try:
                yield self._row(record)
            except FieldError as error:
                yield Refusal(record.number, error.field, error.rule, record.raw)
            except Unclear as error:
                raise StackError(f"nothing was imported: line {record.number}: {error}") from None

    def _row(self, record: Record) -> Row | LeftOut:
        """Read a row. The score comes first: a leader's time counts even if the row is refused."""
        values, columns = unescaped(record.values), self.columns
        for column, wanted in self.reading.where:
            if trimmed(text_of(value_at(values, column)) or "") != wanted:
                return LeftOut("--where")
        cells = _score_cells(values, columns.score)
        for text, _ in cells:
            pattern = self._skipped_by(text)
            if pattern is not None:
                return LeftOut(f"--skip-value {pattern}")
        score = self._score(values, cells)
        participant = text_of(value_at(values, columns.participant))
        if participant is None:
            refuse(columns.participant, "must be text")
        time = optional_text(values, columns.achieved_at)
        return Row(
            number=record.number,
            participant_id=self.tidy.participant_id(record.number, participant),
            score=score,
            achieved_at=self.times.of(record.number)
            if time is None
            else instant(columns.achieved_at or "", time, self.reading.time_zone),
            display_name=_name(optional_text(values, columns.display_name)),
            metadata=optional_text(values, columns.metadata_json) or metadata(values, columns.metadata),
            raw=record.raw,
        )

    def _skipped_by(self, text: str) -> str | None:
        text = text.casefold()
        return next((each for each in self.reading.skip_values if fnmatchcase(text, each.casefold())), None)

    def _score(self, values: Mapping[str, Any], cells: list[tuple[str, bool]]) -> tuple[str, ...]:
        components = self.board.components
        if len(cells) != len(components):
            return tuple(text for text, _ in cells)  # the domain refuses it
        race = None if self.reading.gaps_by is None else text_of(value_at(values, self.reading.gaps_by))
        parts = (self._part(*each, race) for each in zip(components, cells, strict=True))
        return tuple(parts)

    def _part(self, component: Component, cell: tuple[str, bool], race: str | None) -> str:
        text, is_number = cell
        decimal = "point" if is_number else self.reading.decimal
        text = signed(text)
        gap = is_gap(component, text)
        if gap and not self.reading.add_gaps:
            raise Unclear(
                component.name,
                f"{quoted(text)} is a gap to the leader, no time: --gaps add adds gaps to the leader's time; "
                "--skip-value leaves rows out",
            )
        text = plain_score(component, text, decimal, self.reading.time_zone)
        if gap:
            return self._gaps.add(component, race, text)
        if self.reading.add_gaps and component.kind in (ScoreKind.DURATION, ScoreKind.DECIMAL):
            self._gaps.note_time(component, race, text)
        return text


def _name(text: str | None) -> str | None:
    """Return a name as it is, or None if nothing of it can be seen: its cell is as good as blank."""
    return text if text is None or trimmed(text) else None


def _score_cells(values: Mapping[str, Any], columns: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the cells of a score without blanks around, each with whether it is a number of JSON."""
    cells: list[tuple[str, bool]] = []
    for column in columns:
        value = value_at(values, column)
        for element in value if isinstance(value, list) else [value]:
            text = text_of(element)
            if text is None:
                refuse(column, "must be text, a number, or a list")
            cells.append((trimmed(text), not isinstance(element, str)))
    return cells
