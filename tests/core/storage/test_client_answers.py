"""What DynamoDB answers, by boto3's client and by the lean one, on a real engine."""

import threading
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from core.domain.errors import InvalidInput
from core.storage.database import Budget, Database, metered
from core.storage.lean_client import OPERATIONS, LeanClient
from core.storage.parallel import run_all
from local.stack.roles import acting_as

VALUES: dict[str, Any] = {
    "text": {"S": 'Zoë 中 \u2028 "\\'},
    "no text": {"S": ""},
    "number": {"N": "-123456789012345678901234567890.12345678"},
    "binary": {"B": bytes(range(256))},
    "no binary": {"B": b""},
    "true": {"BOOL": True},
    "false": {"BOOL": False},
    "null": {"NULL": True},
    "texts": {"SS": ["a", "B"]},
    "numbers": {"NS": ["1", "2.5"]},
    "binaries": {"BS": [b"\x00", b"\xff\xfe"]},
    "no map": {"M": {}},
    "no list": {"L": []},
    # Attributes by the names of kinds.
    "B": {"M": {"B": {"B": b"b"}, "S": {"BS": [b"s"]}, "M": {"M": {"B": {"S": "AAAA"}}}}},
    "L": {"L": [{"B": b"1"}, {"L": [{"M": {"x": {"B": b"2"}}}, {"N": "3"}]}, {"SS": ["B"]}]},
}


@pytest.fixture(params=["boto3", "lean"])
def client(db: Database, request: pytest.FixtureRequest) -> Any:
    """Each client in turn, on tables of its own."""
    lean = cast("LeanClient", db.client)
    return lean if request.param == "lean" else lean.boto3_client


def key(name: str) -> dict[str, Any]:
    return {"standings": {"S": "s"}, "node": {"S": name}}


def put(client: Any, db: Database, *names: str, **values: Any) -> None:
    for name in names:
        client.put_item(TableName=db.tables.counters, Item={**key(name), **values})


def test_the_suite_runs_on_both(client: Any, request: pytest.FixtureRequest) -> None:
    assert isinstance(client, LeanClient) == ("[lean]" in request.node.name)
    assert all(callable(getattr(client, method)) for method in OPERATIONS)


def test_values_of_every_kind_come_back_as_they_were_put(client: Any, db: Database) -> None:
    put(client, db, "a", **VALUES)
    item = client.get_item(TableName=db.tables.counters, Key=key("a"), ConsistentRead=True)["Item"]
    for kind in ("texts", "numbers", "binaries"):
        (name,) = item[kind]
        item[kind][name] = sorted(item[kind][name], key=str.lower if name == "SS" else None)
    assert item == {**key("a"), **VALUES}


def test_an_item_that_is_missing_is_left_out(client: Any, db: Database) -> None:
    answer = client.get_item(TableName=db.tables.counters, Key=key("a"))
    assert "Item" not in answer
    metadata = answer["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)
    assert metadata["RequestId"] == metadata["HTTPHeaders"]["x-amzn-requestid"]


def test_updates_return_attributes(client: Any, db: Database) -> None:
    put(client, db, "a", binary={"B": b"1"}, many={"M": {"x": {"B": b"2"}}})
    answer = client.update_item(
        TableName=db.tables.counters,
        Key=key("a"),
        UpdateExpression="SET #b = :b ADD counted :one",
        ExpressionAttributeNames={"#b": "binary"},
        ExpressionAttributeValues={":b": {"B": b"new"}, ":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    expected = {"binary": {"B": b"new"}, "many": {"M": {"x": {"B": b"2"}}}, "counted": {"N": "1"}}
    assert answer["Attributes"] == {**key("a"), **expected}
    old = client.delete_item(TableName=db.tables.counters, Key=key("a"), ReturnValues="ALL_OLD")
    assert old["Attributes"] == {**key("a"), **expected}


def test_a_query_is_read_page_by_page(client: Any, db: Database) -> None:
    """The index has a binary key, which the last evaluated key holds."""
    for number in range(3):
        client.put_item(
            TableName=db.tables.scores,
            Item={
                "participant": {"S": f"p{number}"},
                "standings": {"S": "s"},
                "rank_shard": {"S": "r"},
                "rank_key": {"B": bytes([number, 255])},
            },
        )
    query: dict[str, Any] = {
        "TableName": db.tables.scores,
        "IndexName": "by_rank",
        "KeyConditionExpression": "rank_shard = :s AND rank_key >= :k",
        "ExpressionAttributeValues": {":s": {"S": "r"}, ":k": {"B": b"\x01"}},
        "Limit": 1,
    }
    first = client.query(**query)
    assert first["LastEvaluatedKey"]["rank_key"] == {"B": b"\x01\xff"}
    second = client.query(**query, ExclusiveStartKey=first["LastEvaluatedKey"])
    keys = [item["rank_key"]["B"] for item in first["Items"] + second["Items"]]
    assert keys == [b"\x01\xff", b"\x02\xff"]
    assert client.query(**query, Select="COUNT")["Count"] == 1


def test_batches_and_transactions_are_written_and_read(client: Any, db: Database) -> None:
    table = db.tables.counters
    requests = [{"PutRequest": {"Item": {**key(name), "b": {"B": name.encode()}}}} for name in "abc"]
    assert client.batch_write_item(RequestItems={table: requests})["UnprocessedItems"] == {}
    client.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key("c")}}]})
    found = client.batch_get_item(RequestItems={table: {"Keys": [key(name) for name in "abc"]}})
    assert found["UnprocessedKeys"] == {}
    items = sorted(found["Responses"][table], key=lambda item: item["node"]["S"])
    assert [item["b"] for item in items] == [{"B": b"a"}, {"B": b"b"}]
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": {**key("d"), "b": {"B": b"d"}}}},
            {"Delete": {"TableName": table, "Key": key("a")}},
        ]
    )
    gets = [{"Get": {"TableName": table, "Key": key(name)}} for name in "ad"]
    answers = client.transact_get_items(TransactItems=gets)["Responses"]
    assert [answer.get("Item", {}).get("b") for answer in answers] == [None, {"B": b"d"}]


def test_a_failed_condition_shows_the_item(client: Any, db: Database) -> None:
    put(client, db, "a", **VALUES)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName=db.tables.counters,
            Item=key("a"),
            ConditionExpression="attribute_not_exists(node)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert isinstance(failed.value, ClientError)
    assert failed.value.operation_name == "PutItem"
    response: Any = failed.value.response
    assert response["Item"]["binary"] == VALUES["binary"]
    assert response["Item"]["B"] == VALUES["B"]
    assert response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert response["Error"]["Message"] in str(failed.value)
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_cancelled_transaction_has_the_reasons(client: Any, db: Database) -> None:
    put(client, db, "a", b={"B": b"\xff"})
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": db.tables.counters, "Item": key("b")}},
                {
                    "Update": {
                        "TableName": db.tables.counters,
                        "Key": key("a"),
                        "UpdateExpression": "SET b = :b",
                        "ConditionExpression": "b = :b",
                        "ExpressionAttributeValues": {":b": {"B": b"other"}},
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        )
    response: Any = cancelled.value.response
    assert [reason["Code"] for reason in response["CancellationReasons"]] == [
        "None",
        "ConditionalCheckFailed",
    ]
    assert response["CancellationReasons"][1]["Item"]["b"] == {"B": b"\xff"}


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("ResourceNotFoundException", {"TableName": "there-is-none"}),
        ("ValidationException", {"KeyConditionExpression": "nonsense"}),
    ],
)
def test_a_refusal_has_its_code(client: Any, db: Database, code: str, change: dict[str, str]) -> None:
    query: dict[str, Any] = {
        "TableName": db.tables.counters,
        "KeyConditionExpression": "standings = :s",
        "ExpressionAttributeValues": {":s": {"S": "s"}},
    }
    with pytest.raises(ClientError) as refused:
        client.query(**{**query, **change})
    assert refused.value.response["Error"]["Code"] == code
    assert refused.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    if code == "ResourceNotFoundException":
        assert isinstance(refused.value, client.exceptions.ResourceNotFoundException)


def test_what_is_consumed_is_metered_and_limited(client: Any, db: Database) -> None:
    with metered() as meter:
        put(client, db, "a")
        client.get_item(TableName=db.tables.counters, Key=key("a"))
    assert (meter.write_units, meter.read_units, meter.requests) == (1.0, 0.5, 2)
    with metered(Budget(units=10, requests=0)), pytest.raises(InvalidInput):
        client.get_item(TableName=db.tables.counters, Key=key("a"))


def test_roles_are_held_to_what_they_are_granted(client: Any, db: Database) -> None:
    with acting_as("stream"), pytest.raises(ClientError, match="does not grant stream DeleteItem on boards"):
        client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "b"}})


def test_threads_get_their_own_answers(client: Any, db: Database) -> None:
    names = [str(number) for number in range(40)]
    put(client, db, *names)
    together = threading.Barrier(20, timeout=20)

    def read(name: str) -> str:
        if int(name) < 20:
            together.wait()
        item = client.get_item(TableName=db.tables.counters, Key=key(name))["Item"]
        found: str = item["node"]["S"]
        return found

    assert run_all([lambda name=name: read(name) for name in names]) == names  # type: ignore[misc]


def test_the_rest_of_the_interface_is_boto3s(client: Any, db: Database) -> None:
    put(client, db, "a", "b")
    assert client.describe_table(TableName=db.tables.counters)["Table"]["TableStatus"] == "ACTIVE"
    pages = client.get_paginator("scan").paginate(TableName=db.tables.counters)
    assert sum(page["Count"] for page in pages) == 2
    assert client.meta.region_name == "us-east-1"
