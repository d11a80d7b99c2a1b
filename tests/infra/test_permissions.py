"""Each role is granted what its function needs, and no more."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.counters import known_trees
from core.domain.entry_item import entry_key
from core.domain.keys import standings_key
from core.domain.model import PeriodKind
from core.maintenance import Maintenance
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry
from core.notifications.events import Published
from core.notifications.notifier import notify, run_pass
from core.records.audit import AuditContext
from core.records.jobs import pending_jobs
from core.storage.clock import now_ms
from core.storage.database import Database
from core.stream import count_bundles, process
from core.submissions.submit import Submission, submit_score
from core.tree.shape import GROW_AT
from core.upkeep import growth
from local.stack.roles import acting_as, current_role, needed, permissions
from resolvers import publisher
from resolvers.appsync import answer
from tests.resolvers.test_appsync import READS
from tests.support.appsync_service import AppSync
from tests.support.graphql_api import Api
from tests.support.lambdas import lambda_event
from tests.support.twin import NOW, Twin, submit_to

if TYPE_CHECKING:
    from core.tree.bundle import Bundle

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
P02 = 'leaderboardId: "board", participantId: "p02"'

Used = dict[str, dict[str, set[str]]]  # role -> table or index -> actions


@pytest.fixture
def used(db: Database) -> Iterator[Used]:
    """Record what IAM would check. What a role is not granted is refused where it is asked for (conftest)."""
    found: Used = defaultdict(lambda: defaultdict(set))
    prefix = db.tables.scores.removesuffix("scores")

    def record(params: dict[str, Any], model: Any, **_: object) -> None:
        role = current_role()
        if role is not None:
            for resource, action in needed(prefix, model.name, params):
                found[role][resource].add(action)

    db.client.meta.events.register("before-parameter-build.dynamodb", record)
    yield found
    db.client.meta.events.unregister("before-parameter-build.dynamodb", record)


def fill(db: Database, board_id: str, boards: Boards, entries: int) -> None:
    board = boards.get(board_id)
    for place in range(entries):
        submit_score(db, board, Submission(f"p{place:03}", [str(10**6 + place)]), now=datetime.now(UTC))


def test_the_api_needs_all_that_it_may_do(db: Database, boards: Boards, used: Used) -> None:
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
        'forgetParticipant(id: "p02") { id }',
        'forgetParticipant(id: "p03") { id }',
        'closeLeaderboard(id: "board") { closed }',
        'reopenLeaderboard(id: "board") { closed }',
        'createLeaderboard(input: {id: "timed", periods: [DAILY]}) { id }',
        'submitScore(input: {leaderboardId: "timed", participantId: "p04", score: "1"}) { accepted }',
        'deleteLeaderboard(id: "timed") { id }',
        'forgetParticipant(id: "p04") { id }',
    ):
        assert "errors" not in appsync.ask(f"mutation {{ {mutation} }}"), mutation
    assert used["api"] == permissions()["api"] == permissions()["http"]


@pytest.mark.parametrize("role", ["stream", "bookkeeper"])
def test_what_counts_needs_all_that_it_may_do(db: Database, boards: Boards, used: Used, role: str) -> None:
    """The stream's function for quiet boards, the bookkeepers' for hot ones."""
    api = Api(db, boards)
    for board_id, mode in (("board", "STREAM"), ("pinned", "TRANSACTIONAL")):
        peak = 10 if role == "stream" else 1_000
        api.board(board_id, counterMode=mode, peakWritesPerSecond=peak)
        fill(db, board_id, boards, 2)
        board = boards.get(board_id)
        # An item that was written by a clock far ahead is written again.
        item = db.client.get_item(TableName=db.tables.scores, Key=entry_key(board, "all-time", "p000"))[
            "Item"
        ]
        item["written_at"] = {"N": str(now_ms() + 3_600_000)}
        db.client.put_item(TableName=db.tables.scores, Item={**item, "participant": {"S": "late"}})
    fill(db, "board", boards, GROW_AT + 2)
    bundles: list[Bundle] = []
    event = lambda_event(db)
    with acting_as("stream"):
        process(db, boards, event["shardId"], event["Records"], bundles.extend)
    with acting_as("bookkeeper"):
        for number, bundle in enumerate(bundles):
            count_bundles(db, boards, [(number, bundle)], wait=False)
    assert used[role] == permissions()[role]


def test_notify_needs_all_that_it_may_do(
    db: Database, boards: Boards, drain: Callable[[], int], used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.notifications.notifier._INTERVAL", 0)
    Api(db, boards).board()
    fill(db, "board", boards, 40)
    board = boards.get("board")
    standings = standings_key(board.id, "all-time", board.generation)
    drain()
    with acting_as("notify"):
        notify(db, board, standings, lambda _: Published())
    submit_score(db, board, Submission("climber", [str(10**7)]), now=datetime.now(UTC))
    drain()
    with acting_as("notify"):
        run_pass(db, boards, standings, Published)
    assert used["notify"] == permissions()["notify"]


def test_maintenance_needs_all_that_it_may_do(
    db: Database, boards: Boards, drain: Callable[[], int], used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (growth, known_trees):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 40, raising=False)
        monkeypatch.setattr(module, "CACHE_TTL", 20)
    monkeypatch.setattr("core.archives.read.INDEX_LAG", timedelta(0))
    monkeypatch.setattr("core.moderation.forget.INDEX_LAG", timedelta(0))
    api = Api(db, boards)
    for board_id, mode in (("board", "STREAM"), ("pinned", "TRANSACTIONAL")):
        api.board(board_id, counterMode=mode, peakWritesPerSecond=1)
        fill(db, board_id, boards, GROW_AT + 2)
    long_ago = AuditContext("ops", datetime(2026, 1, 1, tzinfo=UTC))
    stays, goes = (Twin.make(db, boards, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY]) for _ in range(2))
    for twin in (stays, goes):
        for number in range(3):
            submit_to(db, twin.board, f"p{number}", (number,), NOW)
        write_archive(db, begin_archive(db, twin.board, "all-time", long_ago.at, limit=3), 1e9)
    hide_entry(db, goes.board, "p0", long_ago)
    forget_participant(db, boards, "p2", long_ago)
    begin_archive(db, stays.board, "all-time", NOW, limit=1)
    boards.delete(goes.board.id, long_ago)
    drain()
    maintenance = Maintenance(db, boards)
    left = (1, 1)
    while left != (0, 0):
        with acting_as("maintenance"):
            left = maintenance.run(1e9)
        drain()
    assert pending_jobs(db) == []
    assert used["maintenance"] == permissions()["maintenance"]


def test_no_permission_is_for_everything() -> None:
    """`Resource = "*"` is only for services without resources to name."""
    text = (INFRA / "iam.tf").read_text()
    anywhere = re.findall(r'Action += (\[[^\]]*\]),?\s+Resource += "\*"', text)
    assert {action.split(":")[0] for actions in anywhere for action in json.loads(actions)} == {"ec2", "xray"}
    assert "dynamodb:*" not in text
    assert not any(
        "*" in action
        for tables in permissions().values()
        for actions in tables.values()
        for action in actions
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
