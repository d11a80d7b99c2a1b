"""The rules of ids, names and other free text, so that every key round-trips and is what it looks like."""

import json
import unicodedata

from core.domain.errors import InvalidInput
from core.domain.limits import MAX_ID_BYTES

# What takes no room although its category does not tell, and signs of the category of invisible ones that do.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_VISIBLE = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")


def is_invisible(character: str) -> bool:
    """Return whether a character takes no room or steers others: zero-width, bidi controls, fillers."""
    if character in _INVISIBLE:
        return True
    return unicodedata.category(character) == "Cf" and character not in _VISIBLE


def is_blank(character: str) -> bool:
    """Return whether nothing is seen of a character: white space of any kind, or it is invisible."""
    return character.isspace() or is_invisible(character)


def check_id(field: str, value: str) -> None:
    """Check that an id is not empty, not too long, and cannot be taken for another one.

    It must have no control characters, no blanks at its ends, no zero-width or bidi control characters
    anywhere, and be in Unicode's normal form NFC. An id of another form is refused rather than normalised: it
    is a key, which the caller sends again, compares with answers and finds in tokens, and all of these would
    have to be normalised alike.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    if not value:
        raise InvalidInput(f"{field}: must not be empty")
    check_text(field, value, MAX_ID_BYTES)
    if value.isascii() and value[0] != " " != value[-1]:
        return
    hidden = next(filter(is_invisible, value), None)
    if hidden is not None:
        raise InvalidInput(f"{field}: must not hold invisible characters, such as U+{ord(hidden):04X}")
    if value[0].isspace() or value[-1].isspace():
        raise InvalidInput(f"{field}: must not begin or end with a blank")
    if not unicodedata.is_normalized("NFC", value):
        raise InvalidInput(f"{field}: must be in Unicode's normal form NFC")


def check_name(field: str, value: str, max_bytes: int) -> None:
    """Check a text as `check_text` does, and that something of it can be seen.

    Raises:
        InvalidInput: naming the field and the rule.
    """
    check_text(field, value, max_bytes)
    if all(map(is_blank, value)):
        raise InvalidInput(f"{field}: must hold a visible character")


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
    if not value.isprintable() and any(unicodedata.category(character) == "Cc" for character in value):
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
