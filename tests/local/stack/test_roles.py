"""Roles are held to what Terraform grants them, wherever their code runs."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from core.storage.database import Database
from core.storage.parallel import run_all
from local.stack.roles import acting_as, needed

Call = Callable[[Database], Any]


def put_board(db: Database) -> Any:
    return {"Put": {"TableName": db.tables.boards, "Item": {"board": {"S": "b"}}}}


CALLS: dict[str, Call] = {
    "table": lambda db: db.client.delete_item(TableName=db.tables.scores, Key={}),
    "index": lambda db: db.client.query(
        TableName=db.tables.scores, IndexName="other", KeyConditionExpression="a = :a"
    ),
    "batch": lambda db: db.client.batch_write_item(
        RequestItems={db.tables.counters: [{"DeleteRequest": {"Key": {}}}]}
    ),
    "PartiQL": lambda db: db.client.execute_statement(Statement=f'DELETE FROM "{db.tables.scores}"'),
    "transaction": lambda db: db.client.transact_write_items(TransactItems=[put_board(db)]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_a_role_is_not_granted_is_refused_before_it_is_sent(db: Database, call: Call) -> None:
    for block in (call, lambda db: run_all([lambda: call(db), lambda: call(db)])):
        with acting_as("stream"), pytest.raises(ClientError, match="does not grant stream") as refused:
            block(db)
        assert refused.value.response["Error"]["Code"] == "AccessDeniedException"


def test_without_a_role_nothing_is_refused(db: Database) -> None:
    db.client.transact_write_items(TransactItems=[put_board(db)])
    with acting_as("api"):
        db.client.get_item(
            TableName=db.tables.scores, Key={"participant": {"S": "p"}, "standings": {"S": "s"}}
        )
    with pytest.raises(KeyError), acting_as("nobody"):
        pass


def test_each_part_of_a_request_is_asked_for() -> None:
    found = list(
        needed(
            "x-",
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Update": {"TableName": "x-a"}},
                    {"ConditionCheck": {"TableName": "x-b"}},
                    {"Delete": {"TableName": "x-c"}},
                ]
            },
        )
    )
    assert found == [("a", "UpdateItem"), ("b", "ConditionCheckItem"), ("c", "DeleteItem")]
