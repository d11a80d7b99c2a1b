"""Formula 1 results since 1950 as boards and rows, for `leaderboard demo`. See data/f1/README.md.

A season's board sums composite scores: points, then the number of first places, second places, and so on. The
sport itself ranks drivers of equal points this way (countback).
"""

import csv
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.domain.board import ComponentInput, define_board
from core.domain.model import Board, RankBucket, ScoreKind, ScorePolicy, SortOrder
from local.importing.rows import Row

DATA = Path(__file__).resolve().parents[2] / "data" / "f1"
SOURCE = "formula-1"

_NONE = r"\N"
_UNKNOWN_START = "12:00:00"  # older races have only a date
_MAX_POINTS = "1000"
_MAX_COUNT = "255"  # of one place in a season; takes one byte of the rank key
_COUNTED_PLACES = 31  # with the points, 32 components: a board's maximum
_WRITES_PER_SECOND = 300  # one index shard: these are small boards, loaded by one process


@dataclass(frozen=True, slots=True)
class Race:
    """One grand prix."""

    id: str
    year: int
    round: int
    name: str
    start: datetime


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver; `ref` is the participant id."""

    ref: str
    name: str


@dataclass(frozen=True, slots=True)
class Result:
    """A driver's result in a race; `place` is None if the driver was not classified."""

    race: Race
    driver: Driver
    points: str
    place: int | None
    fastest_lap: str | None


@dataclass(frozen=True, slots=True)
class PitStop:
    """One pit stop."""

    race: Race
    driver: Driver
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Archive:
    """The data set; results and pit stops are in the order of the races."""

    races: Sequence[Race]
    results: Sequence[Result]
    pit_stops: Sequence[PitStop]

    def seasons(self) -> list[int]:
        """Return the years whose races all have results."""
        raced = {result.race.id for result in self.results}
        unfinished = {race.year for race in self.races if race.id not in raced}
        return sorted({race.year for race in self.races} - unfinished)

    def of(self, years: Collection[int]) -> "Archive":
        """Return the part of the data that belongs to some years."""
        return Archive(
            races=[race for race in self.races if race.year in years],
            results=[result for result in self.results if result.race.year in years],
            pit_stops=[stop for stop in self.pit_stops if stop.race.year in years],
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A board, and its submissions in the order of time."""

    board: Board
    rows: Sequence[Row]


def load(folder: Path = DATA) -> Archive:
    """Read the data set."""
    races = {
        row["raceId"]: Race(row["raceId"], int(row["year"]), int(row["round"]), row["name"], _start(row))
        for row in _read(folder / "races.csv")
    }
    drivers = {
        row["driverId"]: Driver(row["driverRef"], f"{row['forename']} {row['surname']}")
        for row in _read(folder / "drivers.csv")
    }
    results = [
        Result(
            race=races[row["raceId"]],
            driver=drivers[row["driverId"]],
            points=row["points"],
            place=None if row["position"] == _NONE else int(row["position"]),
            fastest_lap=None if row["fastestLapTime"] in ("", _NONE) else row["fastestLapTime"],
        )
        for row in _read(folder / "results.csv")
    ]
    pit_stops = [
        PitStop(races[row["raceId"]], drivers[row["driverId"]], int(row["milliseconds"]))
        for row in _read(folder / "pit_stops.csv")
    ]
    return Archive(
        races=sorted(races.values(), key=_when),
        results=sorted(results, key=lambda result: _when(result.race)),
        pit_stops=sorted(pit_stops, key=lambda stop: _when(stop.race)),
    )


def season(archive: Archive, year: int, now: datetime) -> Replay:
    """Return one year's championship. Results that add nothing are left out, but for a driver's first."""
    results = archive.of([year]).results
    first = {result.driver: result for result in reversed(results)}
    results = [
        result
        for result in results
        if result.place is not None or float(result.points) or result is first[result.driver]
    ]
    places = min(max(result.place or 0 for result in results), _COUNTED_PLACES)
    board = define_board(
        id=f"season-{year}",
        title=f"Formula 1 season {year}",
        components=[
            ComponentInput("points", ScoreKind.DECIMAL, decimals=2, min="0", max=_MAX_POINTS),
            *(ComponentInput(f"P{place}", min="0", max=_MAX_COUNT) for place in range(1, places + 1)),
        ],
        policy=ScorePolicy.SUM,
        rank_buckets=[
            RankBucket("champion", to=1),
            RankBucket("podium", to=3),
            RankBucket("top 10", to=10),
            RankBucket("field"),
        ],
        peak_writes_per_second=_WRITES_PER_SECOND,
        now=now,
    )
    rows = [
        Row(
            number=number,
            participant_id=result.driver.ref,
            score=(result.points, *("1" if result.place == place else "0" for place in range(1, places + 1))),
            achieved_at=result.race.start,
            display_name=result.driver.name,
        )
        for number, result in enumerate(results, start=1)
    ]
    return Replay(board, rows)


def fastest_laps(archive: Archive, now: datetime) -> Replay:
    """Return the board of every driver's fastest lap at every grand prix."""
    board = define_board(
        id="fastest-laps",
        title="Fastest laps, by driver and grand prix",
        components=[ComponentInput("lap", ScoreKind.DURATION, SortOrder.ASCENDING, max="1 h")],
        peak_writes_per_second=_WRITES_PER_SECOND,
        now=now,
    )
    laps = [(result, result.fastest_lap) for result in archive.results if result.fastest_lap is not None]
    rows = [
        Row(
            number=number,
            participant_id=f"{result.driver.ref}@{result.race.name}",
            score=(lap,),
            achieved_at=result.race.start,
            display_name=f"{result.driver.name}, {result.race.name}",
            metadata=_metadata(result.race),
        )
        for number, (result, lap) in enumerate(laps, start=1)
    ]
    return Replay(board, rows)


def pit_stops(archive: Archive, now: datetime) -> Replay:
    """Return the board of every driver's shortest pit stop, from the shortest of each race."""
    shortest: dict[tuple[Driver, Race], PitStop] = {}
    for stop in archive.pit_stops:
        key = stop.driver, stop.race
        shortest[key] = min(shortest.get(key, stop), stop, key=lambda pit_stop: pit_stop.milliseconds)
    board = define_board(
        id="pit-stops",
        title="Pit stops, by driver",
        components=[ComponentInput("stop", ScoreKind.DURATION, SortOrder.ASCENDING, max="1 h")],
        peak_writes_per_second=_WRITES_PER_SECOND,
        now=now,
    )
    rows = [
        Row(
            number=number,
            participant_id=stop.driver.ref,
            score=(f"{stop.milliseconds} ms",),
            achieved_at=stop.race.start,
            display_name=stop.driver.name,
            metadata=_metadata(stop.race),
        )
        for number, stop in enumerate(shortest.values(), start=1)
    ]
    return Replay(board, rows)


def _metadata(race: Race) -> str:
    return json.dumps({"race": f"{race.year} {race.name}"}, ensure_ascii=False)


def _when(race: Race) -> tuple[int, int]:
    return race.year, race.round


def _start(row: dict[str, str]) -> datetime:
    time = _UNKNOWN_START if row["time"] == _NONE else row["time"]
    return datetime.fromisoformat(f"{row['date']}T{time}").replace(tzinfo=UTC)


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
