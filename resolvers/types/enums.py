"""The core's enums as GraphQL enums."""

from enum import Enum

import strawberry

from core.domain import model
from core.notifications.events import RankChangeCause

_VALUES: dict[type[Enum], dict[str, str]] = {
    model.SortOrder: {"DESCENDING": "The highest is best.", "ASCENDING": "The lowest is best."},
    model.ScorePolicy: {
        "BEST": "Keeps the better of the two, whole.",
        "LATEST": "Keeps the one achieved last.",
        "SUM": "Adds component by component.",
    },
    model.ScoreKind: {
        "INTEGER": 'A whole number of 64 bits: "9011".',
        "DECIMAL": 'A decimal of up to 38 digits, with a fixed number of places: "25.5".',
        "DURATION": 'A length of time: "1:27.452", "87.452" (seconds), "87452 ms".',
        "TIMESTAMP": 'An instant with its offset: "2026-11-30T12:00:00Z".',
    },
    model.TieBreak: {
        "EARLIEST": "Who achieved it first stands first.",
        "LATEST": "Who achieved it last stands first.",
        "PARTICIPANT": "By the participants' ids.",
    },
    model.PeriodKind: {
        "ALL_TIME": "For ever.",
        "DAILY": "A day in the board's time zone.",
        "WEEKLY": "An ISO week in the board's time zone.",
        "MONTHLY": "A month in the board's time zone.",
    },
    model.CounterMode: {
        "STREAM": "By the stream's consumer, a second or so later; the cheapest.",
        "TRANSACTIONAL": "In the score's own transaction.",
        "INLINE": "Right after the score; may drift, which `leaderboard check` finds.",
    },
    model.ClientAccess: {
        "NONE": "Nothing: for them, the board does not exist.",
        "READ": "Read it, and subscribe to its changes.",
        "SUBMIT": "Also submit scores, each participant their own.",
    },
    model.RankStrategy: {
        "AUTO": "The cheapest exact one.",
        "INDEX": "Counts who stands above: fresh at once, dear far down.",
        "TREE": "Sums a few counters and looks into one leaf: a few read units at any depth.",
        "LADDER": "As TREE, with the counters in the server's memory.",
        "APPROXIMATE": "Guesses from the counters in memory, with true bounds; reads nothing.",
    },
    RankChangeCause: {"OWN_SCORE": "Their own.", "OTHERS": "Others'."},
}

for _enum, _descriptions in _VALUES.items():
    strawberry.enum(_enum, description=_enum.__doc__)
    # The core's enums are plain ones: Strawberry takes descriptions with the values alone.
    for _value in _enum.__strawberry_definition__.values:  # type: ignore[attr-defined]
        _value.description = _descriptions[_value.name]
