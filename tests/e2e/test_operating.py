"""What an operator does with the stack that test_deployment.py has filled: plan, restore, change, destroy."""

import json
from collections.abc import Callable
from typing import Any

from tests.e2e.operations import SUBMIT
from tests.e2e.stack import CHANGED, PROVISIONED, ROOT, Stack, wait_for
from tests.support.aws_cli import Command, commands


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
    backup: dict[str, str] = {}
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
