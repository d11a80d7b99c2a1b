"""The rules of what comes along with a score: names and metadata. Pure."""

import json

from core.errors import InvalidInput
from core.ids import check_text
from core.limits import MAX_DISPLAY_NAME_BYTES, MAX_METADATA_BYTES


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
