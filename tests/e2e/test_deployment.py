"""The whole platform on an AWS emulator: applied, driven, planned again, destroyed, in this order."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import httpx
import pytest

from core.boards import Boards
from core.storage.database import Database
from core.storage.tables import definitions
from tests.e2e.operations import READS, SUBMIT, WRITES, Operation
from tests.e2e.stack import CHANGED, PROVISIONED, REGION, ROOT, GraphQL, Stack, emulated
from tests.support.aws_cli import Command, commands
from tests.support.graphql_api import Api


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    log = tmp_path_factory.mktemp("emulator") / "emulator.log"
    with emulated(log) as stack:
        stack.prepare()
        stack.terraform("apply", "-auto-approve", "-input=false")
        yield stack


@pytest.fixture(scope="module")
def aws(stack: Stack) -> Callable[[str], Any]:
    make_client: Any = boto3.client  # typed by service, which is a variable here

    def client(service: str) -> Any:
        return make_client(
            service,
            endpoint_url=stack.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    return client


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.2)


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


def test_the_http_endpoint_reads_for_anyone(stack: Stack, aws: Callable[[str], Any]) -> None:
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
            expected |= {(queue, "sqs:SendMessage") for queue in ("first-failed", "first-notify")}
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


def test_a_second_plan_is_empty(stack: Stack) -> None:
    stack.terraform("plan", "-input=false", "-detailed-exitcode")


def documented(stack: Stack, table: str, *operations: str) -> list[Command]:
    """Return the runbook's commands for a table, for the first stack."""
    name = stack.outputs("stack")["table_names"][table]
    return [
        command._replace(
            parameters={
                key: value.replace(f"race-{table}", name) if isinstance(value, str) else value
                for key, value in command.parameters.items()
            }
        )
        for command in commands(ROOT / "docs/operations.md")
        if command.operation in operations
        and (table in str(command.parameters) or "<backup-arn>" in command.parameters.values())
    ]


def test_scores_are_restored_as_the_runbook_says(stack: Stack, aws: Callable[[str], Any]) -> None:
    backup: dict[str, Any] = {}
    steps = documented(
        stack,
        "scores",
        *("RestoreTableToPointInTime", "CreateBackup", "DeleteTable", "RestoreTableFromBackup"),
    )
    assert len(steps) == 5
    for step in steps:
        filled_in = backup if step.operation == "RestoreTableFromBackup" else {}
        answer = step.call(aws("dynamodb"), **filled_in)
        if step.operation == "CreateBackup":
            backup = {"BackupArn": answer["BackupDetails"]["BackupArn"]}
    stack.terraform("apply", "-auto-approve", "-input=false")
    table = aws("dynamodb").describe_table(TableName="first-scores")["Table"]
    assert table["StreamSpecification"]["StreamEnabled"]
    outputs = stack.outputs("stack")
    client = stack.client(outputs, key=outputs["api_keys"]["public"])
    query = '{ leaderboard(id: "race") { size top(limit: 1) { participant { id } } } }'
    assert client.ask(query)["data"]["leaderboard"] == {
        "size": 11,
        "top": [{"participant": {"id": "driver-00"}}],
    }
    # The new stream is counted.
    attempt = {"leaderboardId": "race", "participantId": "restored", "score": ["1"]}
    signed = stack.client(outputs)
    assert signed.ask(SUBMIT, input=attempt)["errors"] == []
    wait_for(lambda: client.ask(query)["data"]["leaderboard"]["size"] == 12)


def test_no_variable_replaces_a_table(stack: Stack, aws: Callable[[str], Any]) -> None:
    outputs = stack.outputs("stack")

    def planned(variables: str) -> dict[str, Any]:
        stack.configure(variables)
        stack.terraform("plan", "-input=false", "-out=changes")
        plan = json.loads(stack.terraform("show", "-json", "changes"))
        tables = {
            change["address"]: change["change"]
            for change in plan["resource_changes"]
            if change["type"] == "aws_dynamodb_table"
        }
        assert len(tables) == 2 * 5
        assert tables["module.stack.aws_dynamodb_table.scores"]["actions"] == ["update"]
        assert not any("delete" in change["actions"] for change in tables.values())
        return tables

    planned(CHANGED + PROVISIONED)
    for table in ("scores", "counters", "boards"):
        for step in documented(stack, table, "UpdateTable"):
            if "BillingMode" in step.parameters:
                step.call(aws("dynamodb"))
    # After the runbook's step there is nothing left of it to do for Terraform.
    for change in planned(CHANGED + PROVISIONED).values():
        assert change["before"]["billing_mode"] == change["after"]["billing_mode"]
    planned(CHANGED)
    stack.terraform("apply", "-input=false", "changes")
    client = stack.client(outputs, key=outputs["api_keys"]["public"])
    assert client.ask('query { leaderboard(id: "race") { size } }')["data"] == {"leaderboard": {"size": 12}}


def test_destroy_leaves_nothing(stack: Stack, aws: Callable[[str], Any]) -> None:
    stack.terraform("destroy", "-auto-approve", "-input=false")
    assert aws("dynamodb").list_tables()["TableNames"] == []
    assert aws("lambda").list_functions()["Functions"] == []
    assert aws("iam").list_roles()["Roles"] == []
    assert aws("logs").describe_log_groups()["logGroups"] == []


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _by_name(attributes: Any) -> dict[str, str]:
    return {one["AttributeName"]: one["AttributeType"] for one in attributes}
