"""The rules that ids, names and other free text obey, so that every key round-trips."""

import json
import unicodedata

from core.domain.errors import InvalidInput
from core.domain.limits import MAX_DISPLAY_NAME_BYTES, MAX_ID_BYTES, MAX_METADATA_BYTES


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


def check_display_name(text: str) -> None:
    """Refuse a display name that is too long or no plain text.

    Raises:
        InvalidInput: naming the rule.
    """
    check_text("displayName", text, MAX_DISPLAY_NAME_BYTES)


def check_metadata(text: str) -> None:
    """Refuse metadata that is not JSON, or is too long.

    Raises:
        InvalidInput: naming the rule.
    """
    try:
        size = len(text.encode())
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidInput("metadata: must be valid JSON text") from None
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(f"metadata: must be at most {MAX_METADATA_BYTES} bytes, not {size}")


def _no_constant(name: str) -> None:
    raise ValueError(name)
