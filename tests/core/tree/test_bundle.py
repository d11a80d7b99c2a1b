"""Bundles hold what counting looks at, in order, within what a queue takes."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.domain.board import define_board
from core.domain.entry_item import PROJECTED
from core.domain.keys import standings_key
from core.domain.model import Board
from core.tree import bundle as bundles
from core.tree.bundle import Bundle, bookkeepers_of, bundle, pack, unpack
from core.tree.changes import Change

NOW = datetime(2026, 11, 30, 12, 0, 0, 123_000, UTC)


def board_of(peak: int) -> Board:
    return define_board(id="Coupe d'été #1", now=NOW, peak_writes_per_second=peak)


def image(board: Board, participant: str, score: int, **more: Any) -> dict[str, Any]:
    standings = standings_key(board.id, "all-time", board.generation)
    return {
        "participant": {"S": participant},
        "standings": {"S": standings},
        "rank_shard": {"S": f"{standings}#3"},
        "rank_key": {"B": score.to_bytes(8, "big") + b"\x00\xff"},
        "written_at": {"N": "1764504000123"},
        "achieved_at": {"N": "1764504000123456"},
        "submissions": {"N": "7"},
        "version": {"N": "9"},
        "display_name": {"S": 'Zoë "☃" </b>'},
        **more,
    }


def changes_of(board: Board, count: int, **more: Any) -> list[Change]:
    standings = standings_key(board.id, "all-time", board.generation)
    return [
        Change(
            sequence=10**24 + at,
            at=NOW,
            standings=standings,
            participant=f"p{at % 700}",
            old=None if at % 3 == 0 else image(board, f"p{at % 700}", at),
            new=None if at % 5 == 4 else image(board, f"p{at % 700}", at + 1, **more),
        )
        for at in range(count)
    ]


@pytest.mark.parametrize(("peak", "count"), [(1, 0), (99, 0), (100, 1), (1_000, 1), (4_001, 2), (40_000, 10)])
def test_a_hot_board_has_bookkeepers(peak: int, count: int) -> None:
    assert bookkeepers_of(board_of(peak)) == count


def test_what_is_packed_is_unpacked() -> None:
    board = board_of(1_000)
    changes = changes_of(board, 20)
    [made] = bundle(board, changes[0].standings, "shard-1", changes)
    [text] = pack(made)
    assert unpack(text) == made == Bundle(changes[0].standings, 0, "shard-1", tuple(changes))


def test_what_nobody_looks_at_is_left_out() -> None:
    board = board_of(1_000)
    more = {"write_id": {"S": "w" * 900}, "sources": {"M": {"file": {"N": "1"}}}, "blob": {"B": b"\xff"}}
    [with_more] = bundle(board, "s", "shard-1", changes_of(board, 3, **more))
    [without] = bundle(board, "s", "shard-1", changes_of(board, 3))
    assert pack(with_more) == pack(without)
    found = unpack(pack(with_more)[0]).changes[0].new
    assert found is not None
    assert set(PROJECTED) - {"metadata"} < set(found)


def test_a_participants_changes_stay_in_order_with_one_bookkeeper() -> None:
    board = board_of(40_000)
    changes = changes_of(board, 5_000)
    made = [unpack(text) for each in bundle(board, "s", "shard-1", changes) for text in pack(each)]
    assert {each.bookkeeper for each in made} == set(range(10))
    by_participant: dict[str, tuple[int, list[int]]] = {}
    for each in made:
        for change in each.changes:
            bookkeeper, sequences = by_participant.setdefault(change.participant, (each.bookkeeper, []))
            assert bookkeeper == each.bookkeeper
            assert sequences == sorted(sequences)
            sequences.append(change.sequence)
    assert sum(len(sequences) for _, sequences in by_participant.values()) == len(changes)
    sizes = [sum(len(each.changes) for each in made if each.bookkeeper == one) for one in range(10)]
    assert max(sizes) < 2 * min(sizes)


def test_a_bundle_is_as_large_as_the_queue_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here with texts that do not compress, so that each bundle has to be cut."""
    monkeypatch.setattr(bundles, "MAX_BYTES", 20_000)
    chance = random.Random(1)
    board = board_of(1_000)
    noise = [json.dumps(chance.getrandbits(8_000)) for _ in range(60)]
    changes = [
        replace(change, new={**(change.new or image(board, "p", 1)), "metadata": {"S": text}})
        for change, text in zip(changes_of(board, 60), noise, strict=True)
    ]
    [made] = bundle(board, changes[0].standings, "shard-1", changes)
    texts = pack(made)
    assert len(texts) > 2
    assert all(len(text) < 20_500 for text in texts)
    assert [change for text in texts for change in unpack(text).changes] == changes


def test_a_thousand_updates_pack_to_little() -> None:
    """SQS charges for each 64 KB."""
    board = board_of(1_000)
    changes = [
        replace(change, participant=f"player-{random.Random(at).getrandbits(40):x}")
        for at, change in enumerate(changes_of(board, 1_000))
    ]
    [made] = bundle(board, "s", "shard-1", changes)
    [text] = pack(made)
    assert len(text) < 65_536
