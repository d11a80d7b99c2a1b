"""Define a board by the rules, and write its definition as JSON for storage. Pure."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from core.domain import rank_key
from core.domain.buckets import DEFAULT_BUCKETS, check_buckets
from core.domain.errors import InvalidInput, InvalidScore
from core.domain.limits import (
    DEFAULT_CLIENT_TIME_ALLOWANCE,
    MAX_CLIENT_TIME_ALLOWANCE,
    MAX_COMPONENTS,
    MAX_ID_BYTES,
    MAX_RANK_KEY_BYTES,
    MAX_TITLE_BYTES,
    check_limit,
)
from core.domain.model import (
    Board,
    ClientAccess,
    Component,
    CounterMode,
    PeriodKind,
    PeriodStart,
    RankBucket,
    Retention,
    ScoreKind,
    ScorePolicy,
    SortOrder,
    TieBreak,
    ZoneChange,
)
from core.domain.scores import MAX_DIGITS, parse
from core.domain.text import check_id, check_name, check_text

MAX_DECIMALS = 18
MAX_PEAK_WRITES = 350_000  # 1,024 shards: more than a region gives one table
_INT64 = (-(1 << 63), (1 << 63) - 1)
_DECIMAL = (1 - 10**MAX_DIGITS, 10**MAX_DIGITS - 1)
_YEAR_1 = -62_135_596_800  # seconds from 1970 to 0001-01-01T00:00:00Z
_YEAR_10000 = 253_402_300_800
_DEFAULT_DECIMALS = {
    ScoreKind.INTEGER: 0,
    ScoreKind.DECIMAL: 2,
    ScoreKind.DURATION: 3,
    ScoreKind.TIMESTAMP: 3,
}


@dataclass(frozen=True, slots=True)
class ComponentInput:
    """A component as a client defines it; `min` and `max` are text, like its scores."""

    name: str = "score"
    kind: ScoreKind = ScoreKind.INTEGER
    order: SortOrder = SortOrder.DESCENDING
    decimals: int | None = None
    min: str | None = None
    max: str | None = None


def define_board(
    *,
    id: str,  # noqa: A002 - the field's name in the contract
    now: datetime,
    title: str | None = None,
    components: Sequence[ComponentInput] | None = None,
    policy: ScorePolicy = ScorePolicy.BEST,
    tie_break: TieBreak = TieBreak.EARLIEST,
    periods: Sequence[PeriodKind] = (PeriodKind.ALL_TIME,),
    time_zone: str = "UTC",
    counter_mode: CounterMode = CounterMode.STREAM,
    peak_writes_per_second: int = 1000,
    expected_size: int | None = None,
    rank_buckets: Sequence[RankBucket] | None = None,
    client_access: ClientAccess = ClientAccess.READ,
    client_time_allowance: int = DEFAULT_CLIENT_TIME_ALLOWANCE,
) -> Board:
    """Return a new board, of a new generation, as a client defines it.

    Raises:
        InvalidInput: naming the field and the rule that it breaks.
    """
    check_id("id", id)
    if title is not None:
        check_text("title", title, MAX_TITLE_BYTES)
    if not 1 <= peak_writes_per_second <= MAX_PEAK_WRITES:
        raise InvalidInput(
            f"peakWritesPerSecond: must be from 1 to {MAX_PEAK_WRITES}, not {peak_writes_per_second}"
        )
    if expected_size is not None and expected_size < 1:
        raise InvalidInput(f"expectedSize: must be at least 1, not {expected_size}")
    board = Board(
        id=id,
        generation=_new_generation(now),
        version=1,
        title=title,
        components=_check_components([ComponentInput()] if components is None else components, policy),
        policy=policy,
        tie_break=tie_break,
        periods=check_periods(periods),
        time_zone=check_time_zone(time_zone),
        counter_mode=counter_mode,
        peak_writes_per_second=peak_writes_per_second,
        expected_size=expected_size,
        rank_buckets=check_buckets(DEFAULT_BUCKETS if rank_buckets is None else rank_buckets),
        created_at=now,
        client_access=client_access,
        client_time_allowance=check_client_time_allowance(client_time_allowance),
    )
    size = rank_key.longest(board, MAX_ID_BYTES)
    if size > MAX_RANK_KEY_BYTES:
        raise InvalidInput(
            f"components: their rank key takes up to {size} bytes of at most {MAX_RANK_KEY_BYTES}; "
            "give components a min and max, or have fewer"
        )
    return board


def board_to_json(board: Board) -> str:
    """Return a board's definition as JSON."""
    return json.dumps(asdict(board), separators=(",", ":"), default=datetime.isoformat)


def board_from_json(text: str) -> Board:
    """Return the board that `board_to_json` wrote."""
    stored = json.loads(text)
    return Board(
        **stored
        | {
            "components": tuple(
                Component(**part | {"kind": ScoreKind(part["kind"]), "order": SortOrder(part["order"])})
                for part in stored["components"]
            ),
            "policy": ScorePolicy(stored["policy"]),
            "tie_break": TieBreak(stored["tie_break"]),
            "periods": tuple(PeriodKind(kind) for kind in stored["periods"]),
            "counter_mode": CounterMode(stored["counter_mode"]),
            "rank_buckets": tuple(RankBucket(**bucket) for bucket in stored["rank_buckets"]),
            "created_at": datetime.fromisoformat(stored["created_at"]),
            "client_access": ClientAccess(stored.get("client_access", ClientAccess.READ)),
            "zone_changes": tuple(_zone_change(change) for change in stored.get("zone_changes", ())),
            "retention": Retention(**stored.get("retention", {})),
        }
    )


def check_periods(kinds: Sequence[PeriodKind]) -> tuple[PeriodKind, ...]:
    """Return the kinds of period of a board.

    Raises:
        InvalidInput: there is none, or one twice.
    """
    if not kinds or len(set(kinds)) != len(kinds):
        raise InvalidInput("periods: must name at least one period, and each once")
    return tuple(kinds)


def check_client_time_allowance(seconds: int) -> int:
    """Return how far back participants may date their own scores, in seconds.

    Raises:
        InvalidInput: it is negative or over 30 days.
    """
    check_limit("clientTimeAllowance", seconds, MAX_CLIENT_TIME_ALLOWANCE, 0)
    return seconds


def check_time_zone(name: str) -> str:
    """Return the name of a time zone.

    Raises:
        InvalidInput: it is not one of the IANA's.
    """
    if name not in _time_zones():
        raise InvalidInput(f"timeZone: must be an IANA name such as Europe/Rome, not {name[:64]!r}")
    return name


@cache
def _time_zones() -> frozenset[str]:
    from importlib.resources import files  # noqa: PLC0415 - slow, and only defining a board needs it

    # From the package: a machine's own list may lack zones, or hold names that are none.
    return frozenset(files("tzdata").joinpath("zones").read_text().split()) - {"Factory"}


def _zone_change(stored: dict[str, Any]) -> ZoneChange:
    starts = tuple(
        PeriodStart(PeriodKind(start["kind"]), datetime.fromisoformat(start["at"]), start["key"])
        for start in stored["starts"]
    )
    return ZoneChange(stored["before"], starts)


def _new_generation(now: datetime) -> str:
    """Return a name that no earlier board of the same id had: the time, and a random part."""
    return f"{int(now.astimezone(UTC).timestamp() * 1000):x}{secrets.token_hex(2)}"


def _check_components(inputs: Sequence[ComponentInput], policy: ScorePolicy) -> tuple[Component, ...]:
    if not 1 <= len(inputs) <= MAX_COMPONENTS:
        raise InvalidInput(f"components: must be from 1 to {MAX_COMPONENTS}, not {len(inputs)}")
    names = [component.name for component in inputs]
    if len(set(names)) != len(names):
        raise InvalidInput("components: names must differ from one another")
    return tuple(_check_component(f"components[{at}]", given, policy) for at, given in enumerate(inputs))


def _check_component(field: str, given: ComponentInput, policy: ScorePolicy) -> Component:
    if not given.name:
        raise InvalidInput(f"{field}.name: must not be empty")
    check_name(f"{field}.name", given.name, 64)
    kind = given.kind
    if kind is ScoreKind.TIMESTAMP and policy is ScorePolicy.SUM:
        raise InvalidInput(f"{field}.kind: a TIMESTAMP cannot be summed")
    decimals = _DEFAULT_DECIMALS[kind] if given.decimals is None else given.decimals
    if kind is ScoreKind.INTEGER and decimals != 0:
        raise InvalidInput(f"{field}.decimals: must be 0 for INTEGER, not {decimals}")
    if not 0 <= decimals <= MAX_DECIMALS:
        raise InvalidInput(f"{field}.decimals: must be from 0 to {MAX_DECIMALS}, not {decimals}")
    low, high = _widest(kind, decimals)
    widest = Component(given.name, kind, given.order, decimals, low, high)
    # Durations are rarely negative: a board that wants negative ones sets a `min`.
    default_low = 0 if kind is ScoreKind.DURATION else low
    component = replace(
        widest,
        low=default_low if given.min is None else _bound(f"{field}.min", widest, given.min),
        high=high if given.max is None else _bound(f"{field}.max", widest, given.max),
        bounded_below=given.min is not None,
        bounded_above=given.max is not None,
    )
    if component.low > component.high:
        raise InvalidInput(f"{field}.min: must not be above max")
    return component


def _widest(kind: ScoreKind, decimals: int) -> tuple[int, int]:
    if kind is ScoreKind.DECIMAL:
        return _DECIMAL
    if kind is ScoreKind.TIMESTAMP:
        return _YEAR_1 * 10**decimals, _YEAR_10000 * 10**decimals - 1
    return _INT64


def _bound(field: str, component: Component, text: str) -> int:
    try:
        return parse(component, text)
    except InvalidScore as error:
        raise InvalidInput(f"{field}: {error}") from None
