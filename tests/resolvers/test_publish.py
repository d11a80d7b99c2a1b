"""The publish mutations: only for IAM, checked, and the same in AppSync's resolver."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    FieldDefinitionNode,
    ObjectTypeDefinitionNode,
    parse,
    value_from_ast_untyped,
)

from core.boards import Boards
from core.domain.limits import MAX_EVENT_BYTES
from core.storage.database import Database
from resolvers.schema import sdl
from tests.support.graphql_api import Api
from tests.support.live import FIELDS, PUBLISH, PUBLISH_TOP, TOP_FIELDS, change, top_change, top_row

INFRA = Path(__file__).parents[2] / "infra"
RANK = PUBLISH.replace("FIELDS", FIELDS)
TOP = PUBLISH_TOP.replace("FIELDS", TOP_FIELDS)


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


def test_the_event_is_returned(api: Api) -> None:
    assert api.data(RANK, input=change()) == change()
    new = change(previousBucket=None, previousRank=None, cause="OWN_SCORE")
    assert api.data(RANK, input=new) == new
    assert api.data(TOP, input=top_change()) == top_change()


@pytest.mark.parametrize(("query", "event"), [(RANK, change()), (TOP, top_change())])
def test_a_public_key_cannot_publish(api: Api, query: str, event: dict[str, Any]) -> None:
    kind, message = api.refusal(query, key="public", input=event)
    assert kind == "Unauthorized"
    assert message.startswith("Not Authorized to access publish")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"leaderboardId": ""}, "leaderboardId: must not be empty"),
        ({"participantId": "\x00"}, "participantId: must not hold control characters"),
        ({"period": ""}, "period: must not be empty"),
        ({"bucket": ""}, "bucket: must not be empty"),
        ({"previousBucket": "x" * 65}, "previousBucket: must be at most 64 bytes"),
        ({"version": ""}, "version: must not be empty"),
        ({"rank": 0}, "rank: must be at least 1"),
        ({"previousRank": -1}, "previousRank: must be at least 1"),
        ({"at": "noon"}, "RFC 3339"),
    ],
)
def test_an_incomplete_event_is_refused(api: Api, changes: dict[str, Any], word: str) -> None:
    kind, message = api.refusal(RANK, input=change(**changes))
    assert kind == "InvalidInput"
    assert word in message


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"entries": [top_row(displayName="ü" * (MAX_EVENT_BYTES // 2))]}, "at most 240000 bytes"),
        ({"entries": [top_row(rank=0)]}, "entries.rank: must be at least 1"),
        ({"entries": [top_row("")]}, "entries.participantId: must not be empty"),
        ({"leaderboardId": ""}, "leaderboardId: must not be empty"),
    ],
)
def test_a_top_that_cannot_be_published_is_refused(api: Api, changes: dict[str, Any], word: str) -> None:
    kind, message = api.refusal(TOP, input=top_change(**changes))
    assert kind == "InvalidInput"
    assert word in message


def fields(type_name: str) -> tuple[FieldDefinitionNode, ...]:
    for definition in parse(sdl()).definitions:
        if isinstance(definition, ObjectTypeDefinitionNode) and definition.name.value == type_name:
            return tuple(definition.fields or ())
    raise LookupError(type_name)


def test_appsync_has_a_resolver_for_each_mutation_that_fires_a_subscription() -> None:
    firing = set()
    for subscription in fields("Subscription"):
        for directive in subscription.directives or ():
            (argument,) = directive.arguments or ()
            firing |= set(value_from_ast_untyped(argument.value))
    text = (INFRA / "api.tf").read_text()
    listed = text.split('resource "aws_appsync_resolver" "publish" {')[1].split("toset(")[1].split(")")[0]
    assert set(json.loads(listed)) == firing
    assert firing == {
        field.name.value for field in fields("Mutation") if field.name.value.startswith("publish")
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="runs AppSync's resolver in node")
def test_the_resolver_returns_the_input_and_refuses_one_that_is_too_large(tmp_path: Path) -> None:
    """Run infra/publish.js with the parts of AppSync that it uses."""
    resolver = (INFRA / "publish.js").read_text()
    imported = "import { util } from '@aws-appsync/utils';"
    assert imported in resolver
    assert f"MAX_EVENT_BYTES = {MAX_EVENT_BYTES};" in resolver
    (tmp_path / "resolver.mjs").write_text(
        resolver.replace(
            imported,
            "const util = { base64Encode: (text) => Buffer.from(text).toString('base64'),"
            " error: (message, type) => { throw new Error(`${type}: ${message}`); } };",
        )
    )
    (tmp_path / "run.mjs").write_text(
        """import { request, response } from './resolver.mjs';
        const input = { entries: ['ü'.repeat(Number(process.argv[2]))] };
        const { payload } = request({ args: { input } });
        console.log(response({ result: payload }) === input);"""
    )

    def run(letters: int) -> subprocess.CompletedProcess[str]:
        command = ["node", "run.mjs", str(letters)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run(MAX_EVENT_BYTES // 2 - 20).stdout == "true\n"
    assert "InvalidInput: input: must be at most 240000 bytes" in run(MAX_EVENT_BYTES // 2).stderr
