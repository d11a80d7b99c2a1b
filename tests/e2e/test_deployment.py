"""The whole platform on an AWS emulator, applied and driven, in this order. test_operating.py comes after."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from core.boards import Boards
from core.storage.database import Database
from core.storage.tables import definitions
from tests.e2e.operations import READS, WRITES, Operation
from tests.e2e.stack import REGION, ROOT, GraphQL, Stack, wait_for
from tests.support.graphql_api import Api


def comparable(response: dict[str, Any]) -> dict[str, Any]:
    """Return what must be equal; `locations` and `data` of an error are AppSync's own."""
    return {
        "data": response["data"],
        "errors": [
            (error.get("path"), error.get("errorType"), error["message"])
            for error in response.get("errors") or ()
        ],
    }


def test_the_same_operations_give_the_same_answers(
    stack: Stack, db: Database, boards: Boards, drain: Callable[[], int]
) -> None:
    outputs = stack.outputs("stack")
    public = stack.client(outputs, key=outputs["api_keys"]["public"])
    signed = stack.client(outputs)
    local = Api(db, boards)

    def differing(operations: list[Operation]) -> dict[str, Any]:
        found = {}
        for operation in operations:
            client: GraphQL = signed if operation.signed else public
            role = "admin" if operation.signed else "public"
            deployed = comparable(client.ask(operation.query, **operation.variables))
            here = comparable(local.ask(operation.query, key=role, **operation.variables))
            assert not any(str(message).startswith("Validation") for *_, message in here["errors"]), here
            if deployed != here:
                found[operation.name] = {"deployed": deployed, "here": here}
        return found

    assert differing(WRITES) == {}
    drain()
    size = """query { leaderboard(id: "race") { size } other: leaderboard(id: "laps") { size }
      days: leaderboard(id: "days") { size(period: "daily") } }"""
    counted = {"leaderboard": {"size": 11}, "other": {"size": 1}, "days": {"size": 1}}
    wait_for(lambda: public.ask(size)["data"] == counted)
    assert differing(READS) == {}


def test_pages_follow_one_another(stack: Stack) -> None:
    outputs = stack.outputs("stack")
    client = stack.client(outputs, key=outputs["api_keys"]["public"])
    query = """query ($token: String) { leaderboard(id: "race") {
      entries(limit: 4, nextToken: $token) { nextToken items { rank { position } } } } }"""
    places, token = [], None
    while True:
        page = client.ask(query, token=token)["data"]["leaderboard"]["entries"]
        places += [one["rank"]["position"] for one in page["items"]]
        token = page["nextToken"]
        if token is None:
            break
    assert places == list(range(1, 12))


def test_without_a_key_nothing_is_answered(stack: Stack) -> None:
    url = f"{stack.endpoint}/v1/apis/{stack.outputs('stack')['api_id']}/graphql"
    answer = httpx.post(url, json={"query": "{ leaderboards { nextToken } }"}, timeout=30)
    assert (answer.status_code, answer.json()["errors"][0]["errorType"]) == (401, "UnauthorizedException")


def test_the_stack_beside_it_is_empty(stack: Stack) -> None:
    beside = stack.outputs("beside")
    client = stack.client(beside, key=beside["api_keys"]["web"])
    assert client.ask("query { leaderboards { items { id } } }")["data"] == {"leaderboards": {"items": []}}


def test_the_http_endpoint_reads_for_anyone(stack: Stack) -> None:
    client = stack.http_client(stack.outputs("stack"), sign=False)
    assert client.ask('{ leaderboard(id: "race") { size } }')["data"] == {"leaderboard": {"size": 11}}
    (error,) = client.ask('mutation { deleteLeaderboard(id: "race") { id } }')["errors"]
    assert error["errorType"] == "Unauthorized"


def test_the_http_endpoint_of_the_stack_beside_it_is_for_iam(stack: Stack) -> None:
    outputs = stack.outputs("beside")
    url = f"{stack.endpoint}/_aws/execute-api/{outputs['http_api_id']}/$default/graphql"
    assert httpx.post(url, json={"query": "{ leaderboards { nextToken } }"}, timeout=30).status_code == 403
    create = 'mutation { createLeaderboard(input: {id: "plain"}) { id } }'
    signed = stack.http_client(outputs, sign=True)
    assert signed.ask(create)["data"] == {"createLeaderboard": {"id": "plain"}}


def test_a_forged_event_is_refused(stack: Stack, aws: Callable[[str], Any]) -> None:
    """A direct invocation, which IAM may allow, claims to be signed by an operator."""
    event = {
        "version": "2.0",
        "rawPath": "/graphql",
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "host": "x"},
        "requestContext": {
            "http": {"method": "POST", "path": "/graphql", "sourceIp": "203.0.113.7"},
            "authorizer": {"iam": {"userArn": "arn:aws:iam::000000000000:user/operator"}},
        },
        "stageVariables": {"secret": "guess"},
        "body": json.dumps({"query": '{ leaderboard(id: "race") { size } }'}),
        "isBase64Encoded": False,
    }
    function = stack.outputs("stack")["function_names"]["http"]
    answer = aws("lambda").invoke(FunctionName=function, Payload=json.dumps(event))
    assert answer["FunctionError"]
    assert "must come through the stack's API" in json.loads(answer["Payload"].read())["errorMessage"]


def test_the_tables_are_those_of_the_code(stack: Stack, aws: Callable[[str], Any], db: Database) -> None:
    names = stack.outputs("stack")["table_names"]
    for wanted in definitions(db):
        kind = wanted["TableName"].rsplit("-", 1)[1]
        table = aws("dynamodb").describe_table(TableName=names[kind])["Table"]
        assert table["KeySchema"] == wanted["KeySchema"]
        assert _by_name(table["AttributeDefinitions"]) == _by_name(wanted["AttributeDefinitions"])
        assert table.get("StreamSpecification") == wanted.get("StreamSpecification")
        indexes = {
            one["IndexName"]: (
                one["KeySchema"],
                one["Projection"]["ProjectionType"],
                set(one["Projection"].get("NonKeyAttributes", ())),
            )
            for one in table.get("GlobalSecondaryIndexes", ())
        }
        assert indexes == {
            one["IndexName"]: (
                one["KeySchema"],
                one["Projection"]["ProjectionType"],
                set(one["Projection"].get("NonKeyAttributes", ())),
            )
            for one in wanted.get("GlobalSecondaryIndexes", ())
        }


def test_a_subscription_begins_where_there_is_a_board(stack: Stack) -> None:
    """The emulator has no WebSockets; it runs a subscription's resolver when it is posted."""
    outputs = stack.outputs("stack")
    public = stack.client(outputs, key=outputs["api_keys"]["public"])

    def begin(board: str, period: str) -> dict[str, Any]:
        query = """subscription ($board: ID!, $period: String!) {
          onTopChange(leaderboardId: $board, period: $period) { version } }"""
        return comparable(public.ask(query, board=board, period=period))

    assert begin("race", "all-time") == {"data": {"onTopChange": None}, "errors": []}
    for board, period, word in (
        ("nowhere", "all-time", "LeaderboardNotFound"),
        ("race", "some time", "InvalidInput"),
    ):
        ((path, error_type, _),) = begin(board, period)["errors"]
        assert (path, error_type) == (["onTopChange"], word)


def test_each_role_allows_what_its_function_does_and_no_more(stack: Stack, aws: Callable[[str], Any]) -> None:
    permissions = json.loads((ROOT / "infra/permissions.json").read_text())
    iam = aws("iam")
    for function, of_tables in permissions.items():
        role = f"first-{REGION}-{function}"
        (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        allowed = {
            (resource.split(":", 5)[-1], action)
            for statement in document["Statement"]
            for resource in _listed(statement["Resource"])
            for action in statement["Action"]
        }
        expected = {
            (f"table/first-{table}", f"dynamodb:{action}")
            for table, actions in of_tables.items()
            for action in actions
        }
        log = f"log-group:/aws/lambda/first-{function}:*"
        expected |= {(log, "logs:CreateLogStream"), (log, "logs:PutLogEvents")}
        if function == "stream":
            stream = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
            expected |= {("table/first-scores/stream/*", f"dynamodb:{action}") for action in stream}
            queues = ("first-bookkeeper.fifo", "first-failed", "first-notify")
            expected |= {(queue, "sqs:SendMessage") for queue in queues}
        if function == "bookkeeper":
            queue_actions = (
                "ChangeMessageVisibility",
                "DeleteMessage",
                "GetQueueAttributes",
                "ReceiveMessage",
            )
            expected |= {("first-bookkeeper.fifo", f"sqs:{action}") for action in queue_actions}
            expected |= {("first-notify", "sqs:SendMessage")}
        if function == "notify":
            queue_actions = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage", "SendMessage")
            expected |= {("first-notify", f"sqs:{action}") for action in queue_actions}
            mutations = f"apis/{stack.outputs('stack')['api_id']}/types/Mutation/fields"
            for name in ("publishRankBucketChange", "publishTopChange"):
                expected.add((f"{mutations}/{name}", "appsync:GraphQL"))
        assert allowed == expected, function
        assert not iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]


def test_maintenance_runs_by_itself(stack: Stack, aws: Callable[[str], Any]) -> None:
    """It removes the growth note of a tree whose board is gone."""
    table = stack.outputs("stack")["table_names"]["counters"]
    note = {"standings": {"S": "~growing"}, "node": {"S": "gone#all-time#0"}}
    aws("dynamodb").put_item(TableName=table, Item=note)
    wait_for(lambda: "Item" not in aws("dynamodb").get_item(TableName=table, Key=note), 90)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _by_name(attributes: Any) -> dict[str, str]:
    return {one["AttributeName"]: one["AttributeType"] for one in attributes}
