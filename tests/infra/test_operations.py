"""docs/operations.md can be done as it is written."""

from pathlib import Path

import pytest
from botocore.validate import ParamValidator

from core.storage.database import Database
from core.storage.tables import definitions
from tests.support.aws_cli import Command, commands, input_shape

OPERATIONS = Path(__file__).parents[2] / "docs/operations.md"


def of(operation: str) -> list[Command]:
    return [command for command in commands(OPERATIONS) if command.operation == operation]


def test_each_command_is_one_of_aws() -> None:
    for command in commands(OPERATIONS):
        shape = input_shape(command.service, command.operation)
        parameters = {
            name: {"<uuid>": "0" * 36, "<backup-arn>": "0" * 37}.get(str(value), value)
            for name, value in command.parameters.items()
        }
        assert not ParamValidator().validate(parameters, shape).has_errors(), command


def test_a_table_without_recovery_is_restored_from_a_backup() -> None:
    """The table that recovery restores to has no recovery itself."""
    names = [
        command.operation
        for command in commands(OPERATIONS)
        if command.operation in {"CreateBackup", "DeleteTable"} or command.operation.startswith("Restore")
    ]
    assert names[:4] == [
        "RestoreTableToPointInTime",
        "CreateBackup",
        "DeleteTable",
        "RestoreTableFromBackup",
    ]
    (recovered,) = of("RestoreTableToPointInTime")
    (backup,) = of("CreateBackup")
    (restored,) = of("RestoreTableFromBackup")
    assert recovered.parameters["TargetTableName"] == backup.parameters["TableName"]
    assert restored.parameters["TargetTableName"] == recovered.parameters["SourceTableName"]


@pytest.mark.parametrize("table", ["scores", "counters", "boards"])
def test_provisioned_capacity_comes_to_a_table_and_its_indexes_in_one_request(
    db: Database, table: str
) -> None:
    """DynamoDB refuses a switch that leaves an index out."""
    (command,) = [
        command
        for command in of("UpdateTable")
        if command.parameters["TableName"].endswith(table) and "BillingMode" in command.parameters
    ]
    updated = {
        update["Update"]["IndexName"]
        for update in command.parameters.get("GlobalSecondaryIndexUpdates", ())
        if update["Update"]["ProvisionedThroughput"]
    }
    (definition,) = [each for each in definitions(db) if each["TableName"].endswith(table)]
    assert updated == {index["IndexName"] for index in definition.get("GlobalSecondaryIndexes", ())}
    assert command.parameters["BillingMode"] == "PROVISIONED"
    assert command.parameters["ProvisionedThroughput"]
