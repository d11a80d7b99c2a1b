"""Opaque page tokens: each marks a place in one list and is refused for any other. Also: read all pages."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from core.domain.errors import InvalidInput
from core.domain.model import Page

_DIGEST_BYTES = 8

T = TypeVar("T")


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
        raise InvalidInput("nextToken: must be the nextToken of an earlier page of this very list")
    return after


def _digest(listing: str, after: bytes) -> bytes:
    return hashlib.blake2b(listing.encode() + b"\0" + after, digest_size=_DIGEST_BYTES).digest()
