"""Register the core's enums as GraphQL enums, with their descriptions."""

from enum import Enum

import strawberry

from core.domain import model
from core.notifications.events import RankChangeCause

# By enum: its description, and one for each of its values.
_DESCRIPTIONS: dict[type[Enum], tuple[str, dict[str, str]]] = {
    model.SortOrder: (
        "Which end of a component is best.",
        {"DESCENDING": "The highest value is best.", "ASCENDING": "The lowest value is best."},
    ),
    model.ScorePolicy: (
        "What a submission does to the standing score.",
        {
            "BEST": "Keep the better of the two scores.",
            "LATEST": "Keep the score that was achieved last.",
            "SUM": "Add the submitted score, component by component.",
        },
    ),
    model.ScoreKind: (
        "How a component is written and displayed.",
        {
            "INTEGER": 'A 64-bit integer, such as "9011".',
            "DECIMAL": 'A decimal number of up to 38 digits with a fixed number of places, such as "25.5".',
            "DURATION": 'A length of time, such as "1:27.452", "87.452" (seconds) or "87452 ms".',
            "TIMESTAMP": 'An RFC 3339 time with its offset, such as "2026-11-30T12:00:00Z".',
        },
    ),
    model.TieBreak: (
        "Which of two equal scores has the better position.",
        {
            "EARLIEST": "The one that was achieved first.",
            "LATEST": "The one that was achieved last.",
            "PARTICIPANT": "The one whose participant id sorts first.",
        },
    ),
    model.PeriodKind: (
        "A kind of period that a board keeps standings for.",
        {
            "ALL_TIME": "One period without an end.",
            "DAILY": "A day in the board's time zone.",
            "WEEKLY": "An ISO week, Monday to Sunday, in the board's time zone.",
            "MONTHLY": "A calendar month in the board's time zone.",
        },
    ),
    model.CounterMode: (
        "When the counters that ranks are read from are updated.",
        {
            "STREAM": "From the table's stream, about a second after the score. The cheapest mode.",
            "TRANSACTIONAL": "In the transaction that writes the score.",
            "INLINE": "Right after the score is written. Counts may drift; `leaderboard check` finds out.",
        },
    ),
    model.ClientAccess: (
        "What clients other than the owner may do with a board.",
        {
            "NONE": "Nothing: the board does not exist for them.",
            "READ": "Read the board and subscribe to its changes.",
            "SUBMIT": "As READ; participants who are signed in also submit their own scores.",
        },
    ),
    model.RankStrategy: (
        "How a rank is computed.",
        {
            "AUTO": "The cheapest strategy that is exact.",
            "INDEX": "Count the better entries in the index: always current; expensive deep in the board.",
            "TREE": "Sum counters and read one small range of scores: a few read units at any depth.",
            "LADDER": "As TREE, with the counters cached in the server's memory.",
            "APPROXIMATE": "Estimate from the cached counters alone; lowerBound and upperBound hold.",
        },
    ),
    RankChangeCause: (
        "Whose score changed a participant's rank.",
        {"OWN_SCORE": "The participant's own.", "OTHERS": "Other participants'."},
    ),
}

for _enum, (_description, _values) in _DESCRIPTIONS.items():
    strawberry.enum(_enum, description=_description)
    # Strawberry takes these descriptions only where an enum is defined, and the core knows no Strawberry.
    for _value in _enum.__strawberry_definition__.values:  # type: ignore[attr-defined]
        _value.description = _values[_value.name]
