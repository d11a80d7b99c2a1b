"""Index shards, read and counted as one."""

import random
from bisect import bisect_left
from functools import partial

import pytest

from core.boards import Boards
from core.domain.rank_key import encode
from core.storage import rank_index
from core.storage.database import Database, metered, query_all
from core.storage.rank_index import count_between, every_key, every_participant, read_keys, read_run
from tests.support.twin import ALL_TIME, Twin


@pytest.fixture(params=[1, 1_000, 5_000], ids=lambda peak: f"{peak} writes a second")
def twin(request: pytest.FixtureRequest, db: Database, boards: Boards) -> Twin:
    twin = Twin.make(db, boards, peak_writes_per_second=request.param)
    rng = random.Random(request.param)
    for at in range(30):
        twin.submit(f"p{at}", rng.randint(-5, 5), at=rng.randrange(3))
    return twin


@pytest.fixture
def keys(twin: Twin) -> list[bytes]:
    standings = twin.oracle.entries.values()
    return sorted(encode(twin.board, one.score, one.achieved_at, one.participant) for one in standings)


def test_a_range_is_half_open_and_its_ends_need_not_be_keys(twin: Twin, keys: list[bytes]) -> None:
    cuts = [b"", b"\0", keys[0], keys[7][:8], keys[7], keys[7] + b"\1", keys[-1], b"\xff" * 9]
    for low in cuts:
        for high in (*cuts, None):
            expected = [key for key in keys if low <= key and (high is None or key < high)]
            assert read_keys(twin.db, twin.board, ALL_TIME, low, high) == expected
    participants = every_participant(twin.db, twin.board, ALL_TIME, keys[3], keys[9])
    assert {key: participant.encode() for participant, key in participants} == {
        key: key[16:] for key in keys[3:9]
    }


def test_all_keys_are_read_page_by_page(
    twin: Twin, keys: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a page of each shard is held, so a check of any size takes no more memory."""
    monkeypatch.setattr(rank_index, "query_all", partial(query_all, Limit=3))
    found = every_key(twin.db, twin.board, ALL_TIME)
    participants = every_participant(twin.db, twin.board, ALL_TIME, b"", None)
    with metered() as meter:
        assert next(found) == keys[0]
        assert meter.requests == twin.board.shards
        assert [keys[0], *found] == keys
        assert meter.requests >= len(keys) // 3
        before = meter.requests
        next(participants)
        assert meter.requests == before + 1
    assert len(list(participants)) == len(keys) - 1


def test_the_entries_before_rising_cuts_are_counted(twin: Twin, keys: list[bytes]) -> None:
    cuts = [b"\0", keys[0], keys[4][:8], keys[11] + b"\1", keys[-1], b"\xff" * 9]
    assert count_between(twin.db, twin.board, ALL_TIME, cuts) == [bisect_left(keys, cut) for cut in cuts]
    assert count_between(twin.db, twin.board, ALL_TIME, []) == []


@pytest.mark.parametrize("limit", [1, 4, 29, 30, 31])
def test_a_run_goes_on_from_a_key_in_either_direction(twin: Twin, keys: list[bytes], limit: int) -> None:
    def run(from_key: bytes | None, *, backward: bool) -> list[bytes]:
        items = read_run(twin.db, twin.board, ALL_TIME, limit, from_key=from_key, backward=backward)
        return [bytes(item["rank_key"]["B"]) for item in items]

    falling = keys[::-1]
    assert run(None, backward=False) == keys[:limit]
    assert run(None, backward=True) == falling[:limit]
    assert run(keys[11], backward=False) == keys[12 : 12 + limit]
    assert run(keys[11], backward=True) == falling[19 : 19 + limit]
