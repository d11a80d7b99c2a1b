"""The rules that ids and other free text obey, so that every key round-trips."""

import unicodedata

from core.errors import InvalidInput
from core.limits import MAX_ID_BYTES


def check_id(field: str, value: str) -> None:
    """Refuse an id that is empty, too long, or holds control characters; all else is kept as it is.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    if not value:
        raise InvalidInput(f"{field}: must not be empty")
    check_text(field, value, MAX_ID_BYTES)


def check_text(field: str, value: str, max_bytes: int) -> None:
    """Refuse text that is too long, is not valid Unicode, or holds control characters.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"{field}: must be valid Unicode, without lone surrogates") from None
    if size > max_bytes:
        raise InvalidInput(f"{field}: must be at most {max_bytes} bytes of UTF-8, not {size}")
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise InvalidInput(f"{field}: must not hold control characters")
