"""Queries that are too deep, too wide or too large are refused before anything is read."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_introspection_query,
    parse,
)

from core.boards import Boards
from core.storage.database import Database
from resolvers.query_limits import MAX_ALIASES, MAX_DEPTH, MAX_RECORDS, MAX_TOKENS
from tests.support.graphql_api import Api

ROOT = Path(__file__).parents[2]
# 2 fields, 5 times 3, and 3.
DEEPEST = (
    '{ leaderboard(id: "board") { top {'
    + " participant { entries(limit: 1) { items {" * 5
    + " rank { bucket { name } }"
    + " } } }" * 5
    + " } } }"
)


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board()
    api.submit("a", "1")
    return api


def refusal(api: Api, query: str, **variables: Any) -> str:
    """Return the message of a query that is refused as InvalidInput at no cost."""
    response = api.ask(query, **variables)
    assert response["data"] is None
    (error,) = response["errors"]
    assert error["errorType"] == "InvalidInput"
    assert error["path"] is None
    assert response["extensions"]["consumed"] == {"readUnits": 0.0, "writeUnits": 0.0, "requests": 0}
    message: str = error["message"]
    return message


def test_the_deepest_allowed_query_passes(api: Api) -> None:
    (entry,) = api.data(DEEPEST)["top"]
    for _ in range(5):
        (entry,) = entry["participant"]["entries"]["items"]
    assert entry["rank"]["bucket"] == {"name": "Top 1"}


def depth(document: DocumentNode) -> int:
    """Count how many fields deep a query goes, by AppSync's rule: introspection counts."""
    fragments = {
        one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)
    }

    def of(selections: SelectionSetNode | None) -> int:
        return max(map(of_one, selections.selections), default=0) if selections else 0

    def of_one(node: SelectionNode) -> int:
        if isinstance(node, FieldNode):
            return 1 + of(node.selection_set)
        if isinstance(node, FragmentSpreadNode):
            return of(fragments[node.name.value].selection_set)
        assert isinstance(node, InlineFragmentNode)
        return of(node.selection_set)

    [operation] = (one for one in document.definitions if isinstance(one, OperationDefinitionNode))
    return of(operation.selection_set)


GRAPHQL_JS = """const { getIntrospectionQuery } = require('graphql');
console.log(getIntrospectionQuery({
  descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true,
  inputValueDeprecation: true, oneOf: false,
}));"""


def introspection_queries() -> list[str]:
    """Return the standard query of graphql-core, and that of graphql-js where it is installed."""
    queries = [get_introspection_query(input_value_deprecation=True, specified_by_url=True)]
    if shutil.which("node") and (ROOT / "node_modules/graphql").exists():
        ran = subprocess.run(["node", "-e", GRAPHQL_JS], cwd=ROOT, capture_output=True, text=True, check=True)
        queries.append(ran.stdout)
    return queries


def test_the_standard_introspection_query_is_within_the_limits_of_both_services(api: Api) -> None:
    declared = (ROOT / "infra/variables_api.tf").read_text().split('variable "query_depth_limit" {')[1]
    default = re.search(r"default += (\d+)", declared)
    assert default
    on_appsync = int(default[1])
    assert on_appsync == MAX_DEPTH
    for query in introspection_queries():
        assert 10 < depth(parse(query)) <= on_appsync
        response = api.ask(query, key="public")
        assert "errors" not in response
        assert response["data"]["__schema"]["types"]


def test_introspection_counts_like_any_field(api: Api) -> None:
    deep = "ofType { " * MAX_DEPTH + "name" + " }" * MAX_DEPTH
    assert "fields deep" in refusal(api, f"{{ __schema {{ types {{ {deep} }} }} }}")


def test_a_query_that_is_too_deep_is_refused(api: Api) -> None:
    deeper = DEEPEST.replace("rank { bucket { name } }", "participant { entries { items { period } } }")
    assert refusal(api, deeper) == f"query: is {MAX_DEPTH + 1} fields deep; at most {MAX_DEPTH}"


def test_fragments_that_are_too_deep_are_refused(api: Api) -> None:
    nested = "".join(
        f"fragment F{at} on Participant {{ entries {{ items {{ participant {{ ...F{at + 1} }} }} }} }} "
        for at in range(40)
    )
    query = f'{{ participant(id: "a") {{ ...F0 }} }} {nested} fragment F40 on Participant {{ id }}'
    assert "fields deep" in refusal(api, query)


def test_too_many_aliases_are_refused(api: Api) -> None:
    def query(aliases: int) -> str:
        return f'{{ leaderboard(id: "board") {{ {" ".join(f"a{at}: id" for at in range(aliases))} }} }}'

    assert len(api.data(query(MAX_ALIASES))) == MAX_ALIASES
    assert "aliases" in refusal(api, query(MAX_ALIASES + 1))


def test_aliases_in_fragments_and_introspection_count(api: Api) -> None:
    spread = " ".join(f"...F{at}" for at in range(6))
    fragments = " ".join(
        f"fragment F{at} on Leaderboard {{ {' '.join(f'a{at}x{one}: size' for one in range(10))} }}"
        for at in range(6)
    )
    assert "60 aliases" in refusal(api, f'{{ leaderboard(id: "board") {{ {spread} }} }} {fragments}')
    names = " ".join(f"a{at}: name" for at in range(60))
    assert "60 aliases" in refusal(api, f"{{ __schema {{ types {{ {names} }} }} }}")
    inline = " ".join(f"... {{ a{at}: id }}" for at in range(60))
    assert "60 aliases" in refusal(api, f'{{ leaderboard(id: "board") {{ {inline} }} }}')


@pytest.mark.parametrize(
    ("inside", "records"),
    [
        ("entries(limit: 10001) { nextToken }", 10_001),
        ("entries(limit: 1000) { items { participant { entries(limit: 9) { nextToken } } } }", 10_000),
        ("entries(limit: 1000) { items { participant { entries(limit: 10) { nextToken } } } }", 11_000),
        ("entries(limit: 1000) { items { participant { entries { nextToken } } } }", 51_000),
        ("top(limit: 100) { participant { entries(limit: 100) { nextToken } } }", 10_100),
        ('around(participantId: "a", radius: 5000) { period }', 10_001),
        ('around(participantId: "a", radius: 100) { participant { entries { nextToken } } }', 201 * 51),
        ("archives { items { entries(limit: 1000) { nextToken } } }", 20 * 1001),
        ("distribution(bins: 10001) { count }", 10_001),
        ("a: entries(limit: 6000) { nextToken } b: entries(limit: 6000) { nextToken }", 12_000),
    ],
)
def test_page_sizes_multiply(api: Api, inside: str, records: int) -> None:
    query = f'{{ leaderboard(id: "board") {{ {inside} }} }}'
    if records > MAX_RECORDS:
        message = refusal(api, query)
        assert f" {records} records" in message
        assert message.startswith("leaderboard.")
    else:
        assert "errors" not in api.ask(query)


def test_the_path_with_too_many_records_is_named(api: Api) -> None:
    query = """{ leaderboard(id: "board") {
      top { period }
      entries(limit: 1000) { items { participant { entries(limit: 100) { nextToken } } } }
    } }"""
    assert refusal(api, query).startswith("leaderboard.entries.items.participant.entries: ")


def test_variables_count_like_literals(api: Api) -> None:
    query = """query ($outer: Int!, $inner: Int = 5) { leaderboard(id: "board") {
      entries(limit: $outer) { items { participant { entries(limit: $inner) { nextToken } } } }
    } }"""
    assert " 101000 records" in refusal(api, query, outer=1000, inner=100)
    # An explicit null means the field's default of 50; an omitted variable means its own default.
    assert " 51000 records" in refusal(api, query, outer=1000, inner=None)
    assert "errors" not in api.ask(query, outer=1000)
    many = 'query ($ids: [ID!]!) { leaderboard(id: "board") { entriesOf(participantIds: $ids) { period } } }'
    assert " 10001 records" in refusal(api, many, ids=[str(at) for at in range(10_001)])
    assert api.refusal(many, ids=[str(at) for at in range(101)])[0] == "InvalidInput"


def test_only_the_requested_operation_counts(api: Api) -> None:
    query = """
      query small { leaderboard(id: "board") { size } }
      query large { leaderboard(id: "board") { entries(limit: 20000) { nextToken } } }
    """

    def run(name: str) -> str:
        answer = api.request(
            "POST", json={"query": query, "operationName": name}, headers={"x-api-key": "admin"}
        )
        return answer.text

    assert '"size"' in run("small")
    assert "20000 records" in run("large")


def test_fragments_that_double_are_refused_at_once(api: Api) -> None:
    doubling = " ".join(f"fragment F{at} on Leaderboard {{ ...F{at + 1} ...F{at + 1} }}" for at in range(60))
    leaf = "fragment F60 on Leaderboard { x: top(limit: 1) { period } }"
    started = time.monotonic()
    assert "aliases" in refusal(api, f'{{ leaderboard(id: "board") {{ ...F0 }} }} {doubling} {leaf}')
    # Weighing each of the 2**60 spreads would never end.
    assert time.monotonic() - started < 60


def test_circular_fragments_are_refused(api: Api) -> None:
    response = api.ask(
        """{ participant(id: "a") { ...A } }
        fragment A on Participant { entries { items { participant { ...B } } } }
        fragment B on Participant { entries { items { participant { ...A } } } }"""
    )
    assert response["data"] is None
    assert all("errorType" not in error for error in response["errors"])
    assert response["extensions"]["consumed"]["requests"] == 0


def test_too_many_tokens_are_refused(api: Api) -> None:
    answer = api.request(
        "POST", json={"query": "{ " + "__typename " * MAX_TOKENS + "}"}, headers={"x-api-key": "admin"}
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["errorType"] == "MalformedHttpRequestException"
    assert str(MAX_TOKENS) in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    "field",
    [
        "top(limit: 0) { period }",
        "top(limit: -1) { period }",
        "top(limit: 101) { period }",
        "entries(limit: 0) { nextToken }",
        "entries(limit: 1001) { nextToken }",
        'around(participantId: "a", radius: -1) { period }',
        'around(participantId: "a", radius: 101) { period }',
    ],
)
def test_page_sizes_out_of_bounds_are_refused(api: Api, field: str) -> None:
    response = api.ask(f'{{ leaderboard(id: "board") {{ {field} }} }}')
    (error,) = response["errors"]
    assert error["errorType"] == "InvalidInput"
    assert error["message"].startswith(("limit: ", "radius: "))
    assert response["extensions"]["consumed"]["requests"] == 1  # the board itself


@pytest.mark.parametrize(
    "query", ["{ leaderboards(limit: 101) { nextToken } }", "{ leaderboards(limit: 0) { nextToken } }"]
)
def test_page_sizes_of_boards_out_of_bounds_are_refused(api: Api, query: str) -> None:
    assert api.refusal(query)[0] == "InvalidInput"


@pytest.mark.parametrize("limit", ['"10"', "1.5", "99999999999", "true"])
def test_limits_that_are_not_integers_are_refused(api: Api, limit: str) -> None:
    response = api.ask(f'{{ leaderboard(id: "board") {{ top(limit: {limit}) {{ period }} }} }}')
    assert response["data"] is None
    assert response["extensions"]["consumed"]["requests"] == 0


def test_one_of_several_operations_must_be_named(api: Api) -> None:
    query = "query A { leaderboards { nextToken } } query B { __typename }"
    assert "operationName" in refusal(api, query)
    named = api.request(
        "POST", json={"query": query, "operationName": "B"}, headers={"x-api-key": "admin"}
    ).json()
    assert named["data"] == {"__typename": "Query"}
