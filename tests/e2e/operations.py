"""A client's operations in order, run on AppSync and on the local server alike."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.support.live import FIELDS, PUBLISH, PUBLISH_TOP, TOP_FIELDS, change, top_change

_NOW = datetime.now(UTC).isoformat(timespec="seconds")

LINE = """
fragment Line on Entry {
  leaderboardId period achievedAt submissions hidden metadata
  participant { id displayName } score { value number display }
}
"""
RANKED = (
    """
fragment Ranked on Entry {
  ...Line
  rank { rank position total percentile exact lowerBound upperBound bucket { name from to topPercent } }
}
"""
    + LINE
)
BOARD = """
fragment Board on Leaderboard {
  id title components { name kind order decimals min max } policy tieBreak periods timeZone counterMode
  rankBuckets { name from to topPercent } version
}
"""
CREATE = (
    "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { ...Board } }" + BOARD
)
SUBMIT = (
    """mutation ($input: SubmitScoreInput!) { submitScore(input: $input) {
  accepted duplicate previousScore { value } entries { ...Line } } }"""
    + LINE
)


class Operation(NamedTuple):
    """A query and its variables, signed with IAM or sent with an API key."""

    name: str
    query: str
    variables: Mapping[str, Any] = MappingProxyType({})
    signed: bool = False


def _submissions() -> list[Operation]:
    found = []
    for place in range(12):
        attempt = {
            "leaderboardId": "race",
            "participantId": f"driver-{place:02}",
            "score": [str(100 - place // 2)],
            "achievedAt": f"2026-11-29T12:00:{place:02}Z",
            "displayName": f"Driver {place}",
            "metadata": f'{{"car":{place}}}',
        }
        found.append(Operation(f"submit {place}", SUBMIT, {"input": attempt}, signed=True))
    lap = {
        "leaderboardId": "laps",
        "participantId": "driver-03",
        "score": ["1:27.452", "-3"],
        "achievedAt": "2026-11-29T12:00:00+01:00",
    }
    found.append(Operation("submit a composite", SUBMIT, {"input": lap}, signed=True))
    return found


def _refused(name: str, **changes: Any) -> Operation:
    attempt = {"leaderboardId": "race", "participantId": "driver-00", "score": ["1"]} | changes
    return Operation(name, SUBMIT, {"input": attempt}, signed=True)


def _signed(name: str, mutation: str) -> Operation:
    return Operation(name, f"mutation {{ {mutation} }}", signed=True)


def _days(name: str, **changes: Any) -> Operation:
    attempt = {
        "leaderboardId": "days",
        "participantId": "driver-00",
        "score": ["3"],
        "achievedAt": _NOW,
        "submissionId": "1",
    }
    return Operation(name, SUBMIT, {"input": attempt | changes}, signed=True)


WRITES = [
    Operation("create", CREATE, {"input": {"id": "race", "title": "The race"}}, signed=True),
    Operation(
        "create a composite",
        CREATE,
        {
            "input": {
                "id": "laps",
                "components": [
                    {"name": "time", "kind": "DURATION", "order": "ASCENDING"},
                    {"name": "grip", "min": "-10", "max": "10"},
                ],
                "policy": "LATEST",
                "tieBreak": "PARTICIPANT",
                "rankBuckets": [{"name": "Podium", "to": 3}, {"name": "The rest"}],
            }
        },
        signed=True,
    ),
    Operation("create again", CREATE, {"input": {"id": "race"}}, signed=True),
    Operation("create without leave", CREATE, {"input": {"id": "mine"}}),
    *_submissions(),
    _refused("a worse score"),
    _refused("no number", score=["fast"]),
    _refused("no such board", leaderboardId="nowhere"),
    _refused("an id too long", participantId="x" * 300),
    Operation(
        "create with periods",
        CREATE,
        {
            "input": {
                "id": "days",
                "policy": "SUM",
                "periods": ["ALL_TIME", "DAILY", "WEEKLY", "MONTHLY"],
                "timeZone": "Pacific/Kiritimati",
            }
        },
        signed=True,
    ),
    _days("submit to periods"),
    _days("submit to periods again"),
    _days("another body under the same id", score=["4"]),
    _days("too late", achievedAt="2026-01-01T00:00:00Z", submissionId="2"),
    Operation(
        "update",
        "mutation ($input: UpdateLeaderboardInput!) { updateLeaderboard(input: $input) { title version } }",
        {"input": {"id": "race", "version": 1, "title": None}},
        signed=True,
    ),
    Operation(
        "update what has changed",
        "mutation ($input: UpdateLeaderboardInput!) { updateLeaderboard(input: $input) { title version } }",
        {"input": {"id": "race", "version": 1, "title": "Mine"}},
        signed=True,
    ),
    Operation(
        "update an entry",
        "mutation ($input: UpdateEntryInput!) { updateEntry(input: $input) { ...Line } }" + LINE,
        {
            "input": {
                "leaderboardId": "race",
                "participantId": "driver-05",
                "displayName": "Five",
                "metadata": None,
            }
        },
        signed=True,
    ),
    Operation(
        "remove",
        'mutation { removeEntry(leaderboardId: "race", participantId: "driver-11") { ...Ranked } }' + RANKED,
        signed=True,
    ),
    Operation(
        "remove again",
        'mutation { removeEntry(leaderboardId: "race", participantId: "driver-11") { hidden } }',
        signed=True,
    ),
    Operation("publish", PUBLISH.replace("FIELDS", FIELDS), {"input": change()}, signed=True),
    Operation(
        "publish a new entry",
        PUBLISH.replace("FIELDS", FIELDS),
        {"input": {key: value for key, value in change().items() if not key.startswith("previous")}},
        signed=True,
    ),
    Operation(
        "publish a top",
        PUBLISH_TOP.replace("FIELDS", TOP_FIELDS),
        {"input": top_change()},
        signed=True,
    ),
    _signed("hide", 'hideEntry(leaderboardId: "race", participantId: "driver-10", reason: "R") { hidden }'),
    _signed("restore", 'restoreEntry(leaderboardId: "race", participantId: "driver-10") { hidden }'),
    _signed(
        "correct",
        """correctEntry(input: {leaderboardId: "race", participantId: "driver-10", score: "1", reason: "R"})
          { period score { value } rank { rank } }""",
    ),
    _signed("hide nobody", 'hideEntry(leaderboardId: "race", participantId: "nobody") { hidden }'),
    _signed("forget nobody", 'forgetParticipant(id: "nobody") { id entriesRemoved }'),
    _signed("close", 'closeLeaderboard(id: "race") { closed }'),
    _refused("closed"),
    _signed("reopen", 'reopenLeaderboard(id: "race") { closed }'),
    _signed(
        "archive",
        """archiveLeaderboard(leaderboardId: "race", limit: 5) { period size complete
          entries(limit: 3) { items { participant { id } score { value } rank { rank position } } } }""",
    ),
    Operation("create what goes", CREATE, {"input": {"id": "gone"}}, signed=True),
    _signed("delete", 'deleteLeaderboard(id: "gone") { id }'),
    _signed("delete again", 'deleteLeaderboard(id: "gone") { id }'),
]

READS = [
    Operation("a board", 'query { leaderboard(id: "race") { ...Board size } }' + BOARD),
    Operation("no board", 'query { leaderboard(id: "nowhere") { id } }'),
    Operation(
        "boards",
        "query { leaderboards { nextToken items { ...Board size top { ...Ranked } } } }" + BOARD + RANKED,
    ),
    Operation(
        "one field with other arguments, by aliases",
        """query ($three: Int) { leaderboard(id: "race") {
          best: top(limit: 1) { ...Ranked } podium: top(limit: $three) { participant { id } rank { rank } }
          first: entry(participantId: "driver-00") { rank { rank } }
          last: entry(participantId: "driver-10") { auto: rank { rank } tree: rank(strategy: TREE) { exact } }
        } }"""
        + RANKED,
        {"three": 3},
    ),
    Operation(
        "a page with ranks",
        'query { leaderboard(id: "race") { entries(limit: 50) { nextToken items { ...Ranked } } } }' + RANKED,
    ),
    Operation(
        "an entry",
        'query { leaderboard(id: "laps") { entry(participantId: "driver-03") { ...Ranked } } }' + RANKED,
    ),
    Operation("no entry", 'query { leaderboard(id: "laps") { entry(participantId: "nobody") { hidden } } }'),
    Operation(
        "around",
        'query { leaderboard(id: "race") { around(participantId: "driver-06", radius: 2) { ...Ranked } } }'
        + RANKED,
    ),
    Operation(
        "around nobody", 'query { leaderboard(id: "race") { around(participantId: "nobody") { hidden } } }'
    ),
    Operation(
        "some entries",
        """query { leaderboard(id: "race") {
          entriesOf(participantIds: ["driver-09", "driver-01", "nobody"]) { ...Ranked } } }"""
        + RANKED,
    ),
    Operation(
        "a participant",
        'query { participant(id: "driver-03") { displayName entries { nextToken items { ...Ranked } } } }'
        + RANKED,
    ),
    Operation("no participant", 'query { participant(id: "nobody") { id } }'),
    Operation("a limit too high", 'query { leaderboard(id: "race") { id top(limit: 101) { hidden } } }'),
    Operation(
        "a token of another list",
        'query { leaderboard(id: "race") { entries(nextToken: "no") { nextToken } } }',
    ),
    Operation(
        "archives",
        """query { leaderboard(id: "race") { id archives { nextToken items { size period
          entries(limit: 2) { items { participant { id } rank { rank position } } } } } } }""",
    ),
    Operation(
        "periods",
        """query { leaderboard(id: "days") {
          day: top(period: "daily") { ...Ranked } week: size(period: "weekly")
          month: entry(participantId: "driver-00", period: "monthly") { ...Ranked } } }"""
        + RANKED,
    ),
    Operation(
        "a period that the board has not", 'query { leaderboard(id: "race") { size(period: "daily") } }'
    ),
]
