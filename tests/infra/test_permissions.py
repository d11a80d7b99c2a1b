"""Each function may do what it does, and no more."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.counters.growing import mark_growing
from core.domain.keys import standings_key
from core.maintenance import Maintenance
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry
from core.notifications.events import Published
from core.notifications.notifier import notify
from core.records.audit import AuditContext
from core.records.jobs import pending_jobs
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree.shape import GROW_AT
from core.upkeep.growth import grow_all
from resolvers import publisher
from resolvers.appsync import answer
from tests.resolvers.test_appsync import READS
from tests.support.appsync_service import AppSync
from tests.support.graphql_api import Api
from tests.support.twin import NOW, Twin, submit_to

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
PERMISSIONS: dict[str, dict[str, list[str]]] = json.loads((INFRA / "permissions.json").read_text())
P02 = 'leaderboardId: "board", participantId: "p02"'
# A transaction needs the permissions of its parts.
PARTS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem"}

Used = dict[str, set[str]]


@pytest.fixture
def used(db: Database) -> Iterator[Used]:
    """Record, by table or index, the actions that IAM would check."""
    found: Used = defaultdict(set)
    prefix = db.tables.scores.removesuffix("scores")

    def note_call(params: dict[str, Any], model: Any, **_: object) -> None:
        def table(name: str, index: str | None = None) -> str:
            return name.removeprefix(prefix) + (f"/index/{index}" if index else "")

        if "TransactItems" in params:
            for item in params["TransactItems"]:
                for kind, body in item.items():
                    found[table(body["TableName"])].add(PARTS[kind])
        elif "RequestItems" in params:
            for name in params["RequestItems"]:
                found[table(name)].add(model.name)
        elif "TableName" in params:
            found[table(params["TableName"], params.get("IndexName"))].add(model.name)

    db.client.meta.events.register("before-parameter-build.dynamodb", note_call)
    yield found
    db.client.meta.events.unregister("before-parameter-build.dynamodb", note_call)


def excess(used: Used, function: str) -> dict[str, set[str]]:
    """Return what was done without permission."""
    allowed = PERMISSIONS[function]
    return {
        table: actions - set(allowed.get(table, ()))
        for table, actions in used.items()
        if actions - set(allowed.get(table, ()))
    }


def unused(used: Used, function: str) -> dict[str, set[str]]:
    """Return what is permitted and was not done."""
    return {
        table: set(actions) - used.get(table, set())
        for table, actions in PERMISSIONS[function].items()
        if set(actions) - used.get(table, set())
    }


def fill(db: Database, board_id: str, boards: Boards, entries: int) -> None:
    board = boards.get(board_id)
    for place in range(entries):
        submit_score(db, board, Submission(f"p{place:03}", [str(10**6 + place)]), now=datetime.now(UTC))


def test_the_api_may_do_what_it_does_and_no_more(db: Database, boards: Boards, used: Used) -> None:
    def invoke(event: Any) -> Any:
        calls = event if isinstance(event, list) else [event]
        answers = asyncio.run(answer(db, boards, calls))
        return answers if isinstance(event, list) else answers[0]

    appsync = AppSync(invoke)
    create = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { version } }"
    submit = (
        "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { entries { rank { rank } } } }"
    )
    for mode in ("STREAM", "TRANSACTIONAL", "INLINE"):
        board_id = "board" if mode == "STREAM" else mode
        for policy in ("BEST", "SUM"):
            rules = {"id": f"{board_id}{policy}" if policy == "SUM" else board_id}
            assert appsync.ask(create, input=rules | {"counterMode": mode, "policy": policy})["data"]
            for score in ("1", "2"):
                attempt = {"leaderboardId": rules["id"], "participantId": "p02", "score": [score]}
                assert appsync.ask(submit, input=attempt)["data"]
    for submission in ("1", "1"):
        attempt = {
            "leaderboardId": "board",
            "participantId": "p02",
            "score": ["3"],
            "submissionId": submission,
        }
        assert appsync.ask(submit, input=attempt)["data"]
    for query in READS.values():
        appsync.ask(query)
    for strategy in ("INDEX", "TREE", "LADDER", "APPROXIMATE"):
        query = '{ leaderboard(id: "board") { entry(participantId: "p02") { rank(strategy: S) { rank } } } }'
        assert "errors" not in appsync.ask(query.replace("S)", f"{strategy})"))
    for mutation in (
        'updateLeaderboard(input: {id: "board", version: 1, title: "T"}) { version }',
        'updateEntry(input: {leaderboardId: "board", participantId: "p02", displayName: "P"}) { hidden }',
        'hideEntry(leaderboardId: "board", participantId: "p02", reason: "R") { hidden }',
        'restoreEntry(leaderboardId: "board", participantId: "p02") { hidden }',
        f'correctEntry(input: {{{P02}, score: "1", reason: "R"}}) {{ period }}',
        'removeEntry(leaderboardId: "board", participantId: "p02") { hidden }',
        'removeEntry(leaderboardId: "TRANSACTIONAL", participantId: "p02") { hidden }',
        'archiveLeaderboard(leaderboardId: "board", limit: 1) { id }',
        'forgetParticipant(id: "p03") { id }',
        'closeLeaderboard(id: "board") { closed }',
        'reopenLeaderboard(id: "board") { closed }',
        'createLeaderboard(input: {id: "timed", periods: [DAILY]}) { id }',
        'submitScore(input: {leaderboardId: "timed", participantId: "p04", score: "1"}) { accepted }',
        'deleteLeaderboard(id: "timed") { id }',
        'forgetParticipant(id: "p04") { id }',
    ):
        assert "errors" not in appsync.ask(f"mutation {{ {mutation} }}"), mutation
    assert excess(used, "api") == {}
    assert unused(used, "api") == {}
    assert PERMISSIONS["http"] == PERMISSIONS["api"]


def test_the_stream_may_do_what_it_does(
    db: Database, boards: Boards, drain: Callable[[], int], used: Used
) -> None:
    api = Api(db, boards)
    api.board()
    api.board("pinned", counterMode="TRANSACTIONAL")
    fill(db, "board", boards, GROW_AT + 2)
    fill(db, "pinned", boards, 2)
    used.clear()
    drain()
    del used["scores"]  # the local stream reader describes the table
    assert used["counters"] >= {"GetItem", "PutItem", "UpdateItem"}
    assert excess(used, "stream") == {}


def test_notify_may_do_what_it_does_and_no_more(
    db: Database, boards: Boards, drain: Callable[[], int], used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.notifications.notifier._INTERVAL", 0)
    Api(db, boards).board()
    fill(db, "board", boards, 40)
    board = boards.get("board")
    standings = standings_key(board.id, "all-time", board.generation)
    drain()
    notify(db, board, standings, lambda _: Published())
    submit_score(db, board, Submission("climber", [str(10**7)]), now=datetime.now(UTC))
    drain()
    used.clear()
    notify(db, board, standings, Published)
    boards.get_many(["board"])
    assert excess(used, "notify") == {}
    assert unused(used, "notify") == {}


def test_maintenance_may_do_what_it_does(
    db: Database, boards: Boards, drain: Callable[[], int], used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.counters import known_trees
    from core.upkeep import growth

    for module in (growth, known_trees):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 40, raising=False)
        monkeypatch.setattr(module, "CACHE_TTL", 20)
    Api(db, boards).board()
    fill(db, "board", boards, GROW_AT + 2)
    drain()
    board = boards.get("board")
    mark_growing(db, standings_key(board.id, "all-time", board.generation))
    used.clear()
    while grow_all(db, boards):
        drain()
    used["scores"].discard("DescribeTable")  # the local stream reader describes the table
    assert excess(used, "maintenance") == {}
    grown = {"DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"}
    assert used["counters"] == grown <= set(PERMISSIONS["maintenance"]["counters"])
    assert used["scores"] == {"UpdateItem"}


def test_maintenance_may_do_its_jobs(
    db: Database, boards: Boards, used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.archives.read.INDEX_LAG", timedelta(0))
    monkeypatch.setattr("core.moderation.forget.INDEX_LAG", timedelta(0))
    long_ago = AuditContext("ops", datetime(2026, 1, 1, tzinfo=UTC))
    stays, goes = (Twin.make(db, boards, periods=["ALL_TIME", "DAILY"]) for _ in range(2))
    for twin in (stays, goes):
        for number in range(3):
            submit_to(db, twin.board, f"p{number}", (number,), NOW)
        write_archive(db, begin_archive(db, twin.board, "all-time", long_ago.at, limit=3), 1e9)
    hide_entry(db, goes.board, "p0", long_ago)
    forget_participant(db, boards, "p2", long_ago)
    begin_archive(db, stays.board, "all-time", NOW, limit=1)
    boards.delete(goes.board.id, long_ago)
    used.clear()
    maintenance = Maintenance(db, boards)
    while maintenance.run(1e9)[1]:
        pass
    assert pending_jobs(db) == []
    assert excess(used, "maintenance") == {}
    assert used["records"] == set(PERMISSIONS["maintenance"]["records"])
    assert used["scores"] == {"BatchWriteItem", "Query"}


def test_no_permission_is_for_everything() -> None:
    """`Resource = "*"` is only for services without resources to name."""
    text = (INFRA / "iam.tf").read_text()
    assert re.findall(r'Action = (\[[^\]]*\]), Resource = "\*"', text) == [
        '["xray:PutTelemetryRecords", "xray:PutTraceSegments"]'
    ]
    assert "dynamodb:*" not in text
    assert not any(
        "*" in action for tables in PERMISSIONS.values() for actions in tables.values() for action in actions
    )


def test_only_notify_may_publish() -> None:
    text = (INFRA / "iam.tf").read_text()
    assert text.count('"appsync:GraphQL"') == 1
    found = re.search(r'"appsync:GraphQL"\]\s+Resource = \[for field in (\[[^]]*\]) : "([^"]*)"\]', text)
    assert found
    fields = json.loads(found[1])
    assert [f"{field}(" in (ROOT / "schema.graphql").read_text() for field in fields] == [True, True]
    assert [f"{{ {field}(" in publisher.PUBLISH_RANK + publisher.PUBLISH_TOP for field in fields] == [
        True,
        True,
    ]
    assert found[2] == "${aws_appsync_graphql_api.api.arn}/types/Mutation/fields/${field}"
    assert re.findall(r'name == "(\w+)" \? local.notify_statements', text) == ["notify"]
