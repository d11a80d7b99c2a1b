"""The rules of ids, names and other free text, so that every key round-trips."""

import json
import unicodedata

from core.domain.errors import InvalidInput
from core.domain.limits import MAX_ID_BYTES


def check_id(field: str, value: str) -> None:
    """Check that an id is not empty, not too long, and holds no control characters.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    if not value:
        raise InvalidInput(f"{field}: must not be empty")
    check_text(field, value, MAX_ID_BYTES)


def check_text(field: str, value: str, max_bytes: int) -> None:
    """Check that a text is not too long, is valid Unicode, and holds no control characters.

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


def check_json(field: str, text: str, max_bytes: int) -> None:
    """Check that a text is JSON and not too long.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    try:
        size = len(text.encode())
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{field}: must be valid JSON text") from None
    if size > max_bytes:
        raise InvalidInput(f"{field}: must be at most {max_bytes} bytes, not {size}")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
