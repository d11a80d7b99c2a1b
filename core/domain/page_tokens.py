"""Pages of lists. A token marks a place in one list and is refused for any other."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from core.domain.errors import InvalidInput
from core.domain.model import Page

_DIGEST_BYTES = 8
_MAX_DIGITS = 18
_MAX_READ = 1_000  # items at once, to find what is shown
_REFUSAL = "nextToken: must be the nextToken of an earlier page of this very list"

T = TypeVar("T")
# Reads so many items after a key; returns each key with what is shown of it or None, and whether more follow.
Read = Callable[[int, str | None], tuple[Sequence[tuple[str, T | None]], bool]]


def every_item(read_page: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Yield the items of all pages; `read_page` takes a page's token, None for the first.

    >>> pages = {None: Page(["ann", "bob"], next_token="2"), "2": Page(["eve"], next_token=None)}
    >>> list(every_item(pages.get))
    ['ann', 'bob', 'eve']
    """
    token: str | None = None
    while True:
        page = read_page(token)
        yield from page.items
        token = page.next_token
        if token is None:
            return


def fill_page(limit: int, after: str | None, read: "Read[T]") -> tuple[list[tuple[str, T]], bool]:
    """Return the first `limit` items after a key that are shown, with their keys, and whether more follow.

    Items that are not shown leave no trace: the page is as full, and ends, as if they did not exist.

    >>> fill_page(2, None, lambda ask, after: ([("a", 1), ("b", None), ("c", 3)], False))
    ([('a', 1), ('c', 3)], False)
    """
    found: list[tuple[str, T]] = []
    ask = limit + 1
    more = True
    while more and len(found) <= limit:
        items, more = read(ask, after)
        found += [(key, shown) for key, shown in items if shown is not None]
        after = items[-1][0] if items else after
        ask = min(2 * ask, _MAX_READ)
    return found[:limit], len(found) > limit


def encode_token(listing: str, after: bytes) -> str:
    """Return the token that continues a list after a key."""
    return base64.urlsafe_b64encode(_digest(listing, after) + after).rstrip(b"=").decode()


def decode_token(listing: str, token: str) -> bytes:
    """Return the key after which a list continues.

    Raises:
        InvalidInput: the token is damaged, or was made for another list.
    """
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    after = raw[_DIGEST_BYTES:]
    if encode_token(listing, after) != token:
        raise InvalidInput(_REFUSAL)
    return after


def decode_text(listing: str, token: str) -> str:
    """Return the text that a token holds; raise InvalidInput as `decode_token` does."""
    try:
        return decode_token(listing, token).decode()
    except UnicodeDecodeError:
        raise InvalidInput(_REFUSAL) from None


def decode_number(listing: str, token: str) -> int:
    """Return the number from 0 that a token holds; raise InvalidInput as `decode_token` does."""
    text = decode_text(listing, token)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise InvalidInput(_REFUSAL)
    return int(text)


def _digest(listing: str, after: bytes) -> bytes:
    return hashlib.blake2b(listing.encode() + b"\0" + after, digest_size=_DIGEST_BYTES).digest()
