"""Pages that leave something out, and tokens that somebody made up."""

import random

import pytest

from core.domain.errors import InvalidInput
from core.domain.page_tokens import decode_number, decode_text, encode_token, fill_page


def walk(items: list[tuple[str, int | None]], limit: int) -> tuple[list[list[int]], int]:
    """Read all pages of a list; return them, and how many reads they took."""
    reads = 0

    def read(ask: int, after: str | None) -> tuple[list[tuple[str, int | None]], bool]:
        nonlocal reads
        reads += 1
        left = [item for item in items if after is None or item[0] > after]
        # As DynamoDB: the end is known only once it has been passed.
        return left[:ask], len(left) >= ask

    pages = []
    after: str | None = None
    while True:
        found, more = fill_page(limit, after, read)
        pages.append([shown for _, shown in found])
        if not more:
            return pages, reads
        after = found[-1][0]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_leaves_no_trace(seed: int) -> None:
    chance = random.Random(seed)
    keys = [f"{number:03}" for number in range(chance.randrange(60))]
    items = [(key, None if chance.random() < 0.6 else int(key)) for key in keys]
    shown = [item for item in items if item[1] is not None]
    limit = chance.randrange(1, 9)
    pages, _ = walk(items, limit)
    assert pages == walk(shown, limit)[0]
    assert all(len(page) == limit for page in pages[:-1])


def test_many_left_out_take_few_reads() -> None:
    items: list[tuple[str, int | None]] = [(f"{number:03}", None) for number in range(240)]
    assert walk(items, 1) == ([[]], 7)


@pytest.mark.parametrize("forged", [b"\xff", b"-1", b"9" * 5_000, b"", "\u0663".encode(), b"1.5"])
def test_a_forged_number_is_refused(forged: bytes) -> None:
    with pytest.raises(InvalidInput, match="nextToken: must be"):
        decode_number("list", encode_token("list", forged))


def test_a_forged_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nextToken: must be"):
        decode_text("list", encode_token("list", b"\xff"))
    assert decode_text("list", encode_token("list", "\u00e4".encode())) == "\u00e4"
