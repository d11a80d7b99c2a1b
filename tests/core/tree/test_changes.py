"""Malformed records and foreign items: none of them stops the others, or has them miscounted."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.boards import Boards
from core.counters.known_trees import ANNOUNCEMENT_LEAD, CACHE_TTL
from core.domain.entry_item import entry_key, written_at
from core.domain.keys import rank_shard
from core.domain.model import CounterMode
from core.domain.periods import ALL_TIME
from core.ranking.queries import top
from core.ranking.top import read_top
from core.storage.database import Database
from core.stream import process
from core.tree.changes import MalformedRecord, read_change
from core.upkeep.checks import check
from core.upkeep.growth import grow
from tests.support.growing import Grower
from tests.support.twin import NOW, Twin, submit_to

Drain = Callable[[], int]

# Malformed records

STANDINGS = "b#all-time#1"
ENTRY: dict[str, Any] = {
    "participant": {"S": "p"},
    "standings": {"S": STANDINGS},
    "rank_key": {"B": b"\x01p"},
    "rank_shard": {"S": f"{STANDINGS}#0"},
    "achieved_at": {"N": "1"},
    "written_at": {"N": "1"},
    "submissions": {"N": "1"},
    "version": {"N": "1"},
}
RECORD: dict[str, Any] = {
    "eventID": "1",
    "dynamodb": {
        "Keys": {"participant": {"S": "p"}, "standings": {"S": STANDINGS}},
        "SequenceNumber": "7",
        "ApproximateCreationDateTime": 1_800_000_000,
        "NewImage": ENTRY,
    },
}
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.sampled_from(["", "1e999", "-1", "NaN", "1.5", STANDINGS]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["S", "N", "B", "L", "M", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """Draw a sound record with something in it deleted or replaced."""

    def copied(value: Any) -> Any:
        return {name: copied(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    record = copied(RECORD)
    place = record
    while True:
        name = draw(st.sampled_from(sorted(place)))
        if isinstance(place[name], dict) and draw(st.integers(0, 3)):
            place = place[name]
            continue
        if draw(st.booleans()):
            del place[name]
        else:
            place[name] = draw(anything)
        return record


@given(broken() | anything)
def test_a_record_is_read_or_malformed(record: Any) -> None:
    try:
        change = read_change(record)
    except MalformedRecord:
        return
    for image in (change.old, change.new):
        if image is not None:
            assert written_at(image) >= 0
            assert isinstance(image["rank_key"]["B"], bytes)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(broken() | anything, max_size=4))
def test_a_batch_counts_sound_records_and_reports_malformed_ones(
    db: Database, boards: Boards, records: list[Any]
) -> None:
    refused = sum(map(is_malformed, records))
    batch = [*records[:2], RECORD, *records[2:]]
    report = process(db, boards, "shard", batch)
    assert (report.counted, report.set_aside) == (len(batch) - refused, refused)


def is_malformed(record: Any) -> bool:
    try:
        read_change(record)
    except MalformedRecord:
        return True
    return False


# Foreign items


@pytest.mark.parametrize("seed", range(3))
def test_a_leaf_with_foreign_items_grows(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """With malformed keys, other participants' ids, and sizes that no entry may have."""
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for at in range(6):
        submit_to(db, twin.board, f"p{at}", (600_000 + at,), NOW)
    foreign = items(twin)
    random.Random(seed).shuffle(foreign)
    for item in foreign[::2]:
        db.client.put_item(TableName=db.tables.scores, Item=item)
    drain()
    grow(db, twin.board, twin.standings)
    grower.clock.advance(ANNOUNCEMENT_LEAD + CACHE_TTL)
    for item in foreign[1::2]:
        db.client.put_item(TableName=db.tables.scores, Item=item)
    grower.grow(twin)
    report = check(db, twin.board, twin.standings, patience=0)
    assert report.drifts == ()
    assert report.entries == 6 + len(foreign)
    for item in foreign:
        db.client.delete_item(
            TableName=db.tables.scores, Key={name: item[name] for name in ("participant", "standings")}
        )
    drain()
    assert check(db, twin.board, twin.standings, patience=0).drifts == ()
    assert [one.participant_id for one in top(db, twin.board, ALL_TIME, 9)] == [f"p{at}" for at in range(6)][
        ::-1
    ]


def items(twin: Twin) -> list[dict[str, Any]]:
    """Return items that take a rank, and that this project would not write."""
    [item] = twin.db.client.batch_get_item(
        RequestItems={twin.db.tables.scores: {"Keys": [entry_key(twin.board, ALL_TIME, "p3")]}}
    )["Responses"][twin.db.tables.scores]
    key = bytes(item["rank_key"]["B"])
    odd: list[dict[str, Any]] = [
        {"rank_key": {"B": key[:9]}},
        {"rank_key": {"B": key[:3]}},
        {"rank_key": {"B": key + b"\xff\xfe"}},
        {"rank_key": {"B": key[:8] + b"\xff" * 900}},
        {"rank_key": {"B": key[:-2] + b"p1"}},  # another participant's
        {"metadata": {"S": "x" * 300_000}},
        {"display_name": {"M": {}}},
        {"written_at": {"S": "noon"}},
        {"written_at": {"N": "-1"}},
        {"written_at": {"N": "9.9E+125"}},
        {"version": {"N": "99999999999999999999999999999999999999"}},
    ]
    return [
        {**item, "participant": {"S": f"foreign{at}"}, "rank_key": {"B": key + b"%d" % at}, **change}
        for at, change in enumerate(odd)
    ]


def test_a_top_is_made_without_items_that_are_no_entries(db: Database, boards: Boards, drain: Drain) -> None:
    """They are in the index, where a top that is short of entries looks for more."""
    twin = Twin.make(db, boards)
    twin.submit("p", 2)
    drain()
    entry = db.client.get_item(TableName=db.tables.scores, Key=entry_key(twin.board, ALL_TIME, "p"))["Item"]
    for at, gone in enumerate(["version", "achieved_at", "submissions"]):
        item = {name: value for name, value in entry.items() if name != gone}
        db.client.put_item(
            TableName=db.tables.scores,
            Item={
                **item,
                "participant": {"S": f"foreign{at}"},
                "rank_key": {"B": bytes(entry["rank_key"]["B"]) + b"%d" % at},
            },
        )
    db.client.delete_item(
        TableName=db.tables.counters, Key={"standings": {"S": twin.standings}, "node": {"S": "top"}}
    )
    twin.submit("q", 1)
    drain()
    found = read_top(db, twin.standings)
    assert found is not None
    assert [one["participant"]["S"] for one in found.items] == ["p", "q"]


@pytest.mark.parametrize("mode", [CounterMode.TRANSACTIONAL, CounterMode.INLINE])
def test_writers_that_count_for_themselves_accept_a_foreign_item(
    db: Database, boards: Boards, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode)
    twin.submit("p", 1)
    for value in ({"S": "noon"}, {"N": "-1"}, {"N": "9.9E+125"}):
        db.client.update_item(
            TableName=db.tables.scores,
            Key=entry_key(twin.board, ALL_TIME, "p"),
            UpdateExpression="SET written_at = :value",
            ExpressionAttributeValues={":value": value},
        )
        twin.submit("p", twin.oracle.entries["p"].score[0] * 1_000)
        assert rank_shard(twin.standings, 0)
        report = check(db, twin.board, twin.standings, patience=0)
        assert [one for one in report.drifts if one.where != "top"] == []


@pytest.mark.parametrize(("hours", "reported"), [(1, False), (22, False), (23.5, True)])
def test_records_that_are_nearly_dropped_are_reported(
    db: Database, boards: Boards, caplog: pytest.LogCaptureFixture, hours: float, reported: bool
) -> None:
    """The stream keeps records for a day; where some are that old, others may be gone."""
    written = datetime.now(UTC) - timedelta(hours=hours)
    body = {**RECORD["dynamodb"], "ApproximateCreationDateTime": written.timestamp()}
    body["NewImage"] = {name: value for name, value in body["NewImage"].items() if name != "written_at"}
    process(db, boards, "shard", [{**RECORD, "dynamodb": body}])
    messages = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert [body["Keys"]["standings"]["S"] in message for message in messages] == [True] * reported
