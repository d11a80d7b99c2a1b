"""What Terraform is told agrees with what the code is and does."""

import asyncio
import hashlib
import importlib.util
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
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
from core.storage.tables import RANK_INDEX, TTL_ATTRIBUTE, definitions, tables_with_ttl
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
# Parts of a transaction need the permissions of what they do.
PARTS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem"}

Used = dict[str, set[str]]


@pytest.fixture
def used(db: Database) -> Iterator[Used]:
    """By table or index, the actions that IAM would be asked for from now on."""
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
    allowed = PERMISSIONS[function]
    return {
        table: actions - set(allowed.get(table, ()))
        for table, actions in used.items()
        if actions - set(allowed.get(table, ()))
    }


def unused(used: Used, function: str) -> dict[str, set[str]]:
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
    del used["scores"]  # the local reader asks for the stream's name
    assert used["counters"] >= {"GetItem", "PutItem", "UpdateItem"}
    assert excess(used, "stream") == {}


def test_a_tick_may_do_what_it_does_and_no_more(
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
    used["scores"].discard("DescribeTable")  # the local reader asks for the stream's name
    assert excess(used, "maintenance") == {}
    grown = {"DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"}
    assert used["counters"] == grown <= set(PERMISSIONS["maintenance"]["counters"])
    assert used["scores"] == {"UpdateItem"}


def test_maintenance_does_its_chores_with_what_it_may(
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
    """`Resource = "*"` stands only where AWS has no resources to name."""
    text = (INFRA / "iam.tf").read_text()
    assert re.findall(r'Action = (\[[^\]]*\]), Resource = "\*"', text) == [
        '["xray:PutTelemetryRecords", "xray:PutTraceSegments"]'
    ]
    assert "dynamodb:*" not in text
    assert not any(
        "*" in action for tables in PERMISSIONS.values() for one in tables.values() for action in one
    )


def test_two_mutations_are_published_by_one_function_alone() -> None:
    text = (INFRA / "iam.tf").read_text()
    assert text.count('"appsync:GraphQL"') == 1
    found = re.search(r'"appsync:GraphQL"\]\s+Resource = \[for field in (\[[^]]*\]) : "([^"]*)"\]', text)
    assert found
    fields = json.loads(found[1])
    assert [f"{one}(" in (ROOT / "schema.graphql").read_text() for one in fields] == [True, True]
    assert [f"{{ {one}(" in publisher.PUBLISH_RANK + publisher.PUBLISH_TOP for one in fields] == [True, True]
    assert found[2] == "${aws_appsync_graphql_api.api.arn}/types/Mutation/fields/${field}"
    assert re.findall(r'name == "(\w+)" \? local.notify_statements', text) == ["notify"]


def test_the_tables_are_those_of_the_code(db: Database) -> None:
    """Read as text here; `make e2e` compares what Terraform makes of them."""
    text = (INFRA / "tables.tf").read_text()
    blocks = dict(re.findall(r'resource "aws_dynamodb_table" "(\w+)" \{\n(.*?)\n\}', text, re.DOTALL))
    for wanted in definitions(db):
        block = blocks[wanted["TableName"].rsplit("-", 1)[1]]
        keys = dict(re.findall(r'^  (hash_key|range_key) +?= "(\w+)"', block, re.MULTILINE))
        assert keys == _keys(wanted["KeySchema"])
        attributes = dict(re.findall(r'attribute \{\s+name = "(\w+)"\s+type = "(\w)"', block))
        assert attributes == {
            one["AttributeName"]: one["AttributeType"] for one in wanted["AttributeDefinitions"]
        }
        assert ("NEW_AND_OLD_IMAGES" in block) == ("StreamSpecification" in wanted)
        for index in wanted.get("GlobalSecondaryIndexes", ()):
            inner = re.search(r"global_secondary_index \{(.*?)\n  \}", block, re.DOTALL)
            assert inner
            found = dict(re.findall(r'(\w+) += "(\w+)"', inner[1]))
            assert found["name"] == index["IndexName"]
            assert {kind: found[kind] for kind in ("hash_key", "range_key")} == _keys(index["KeySchema"])
            assert found["projection_type"] == index["Projection"]["ProjectionType"]
            if index["IndexName"] == RANK_INDEX:
                projection = (INFRA / "rank_index.json").read_text()
                assert json.loads(projection) == index["Projection"]["NonKeyAttributes"], "run `make schema`"
                assert 'jsondecode(file("${path.module}/rank_index.json"))' in inner[1]
        expires = wanted["TableName"] in tables_with_ttl(db)
        assert (f'attribute_name = "{TTL_ATTRIBUTE}"' in block) is expires


@pytest.fixture(scope="module")
def package() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package", ROOT / "scripts/package.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_input_gives_the_same_zip(package: ModuleType, tmp_path: Path) -> None:
    """Without the libraries, which pip fetches: those come by their hashes."""
    hashes = []
    for name in ("one", "two"):
        staged = tmp_path / name
        (staged / "core").mkdir(parents=True)
        names = ["limits.py", "model.py", "errors.py"]
        for source in names if name == "one" else reversed(names):
            (staged / "core" / source).write_bytes((ROOT / "core/domain" / source).read_bytes())
        package.compile_all(staged)
        package.write_zip(staged, tmp_path / f"{name}.zip")
        hashes.append(hashlib.sha256((tmp_path / f"{name}.zip").read_bytes()).hexdigest())
    assert hashes[0] == hashes[1]
    assert len(zipfile.ZipFile(tmp_path / "one.zip").namelist()) == 2 * 3


def test_each_zip_has_the_modules_that_its_entries_import(package: ModuleType, tmp_path: Path) -> None:
    import grimp

    graph = grimp.build_graph("core", "resolvers", cache_dir=None)
    held = {}
    for name, (entries, _) in package.ZIPS.items():
        package.copy_modules(graph, entries, tmp_path / name)
        held[name] = {
            path.relative_to(tmp_path / name).as_posix()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
    submit = "core/submissions/submit.py"
    assert {"resolvers/appsync.py", "resolvers/appsync_fields.json", submit} <= held["api"]
    assert "resolvers/http.py" in held["http"] - held["api"]
    assert submit not in held["worker"]
    assert {"core/stream.py", "core/upkeep/growth.py", "resolvers/maintenance_handler.py"} <= held["worker"]
    assert {
        "resolvers/notify_handler.py",
        "resolvers/publisher.py",
        "core/notifications/notifier.py",
    } <= held["worker"]
    assert not any(name.startswith("local") for names in held.values() for name in names)


def _keys(schema: Any) -> dict[str, str]:
    names = {"HASH": "hash_key", "RANGE": "range_key"}
    return {names[one["KeyType"]]: one["AttributeName"] for one in schema}
