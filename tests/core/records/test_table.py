"""Pages of a record set, newest first."""

import pytest

from core.domain.errors import InvalidInput
from core.records.table import newest_page, record_key
from core.storage.database import Database


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 9])
def test_pages_follow_one_another_without_gap_or_repeat(db: Database, limit: int) -> None:
    for number in range(5):
        db.client.put_item(TableName=db.tables.records, Item=record_key("~list", f"c{number}"))
    seen: list[str] = []
    token = None
    while True:
        items, token = newest_page(db, "~list", "a list", limit, token)
        seen += [item["record_id"]["S"] for item in items]
        assert len(items) <= limit
        assert len(seen) <= 5
        if token is None:
            break
    assert seen == ["c4", "c3", "c2", "c1", "c0"]


def test_a_token_of_another_list_is_refused(db: Database) -> None:
    for number in range(2):
        db.client.put_item(TableName=db.tables.records, Item=record_key("~list", f"c{number}"))
    _, token = newest_page(db, "~list", "a list", 1, None)
    with pytest.raises(InvalidInput, match="nextToken"):
        newest_page(db, "~list", "another", 1, token)
