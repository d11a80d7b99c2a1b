"""Tidy the ids in files, so that one player stays one: blanks, invisible characters, Unicode's form NFC."""

import unicodedata
from collections.abc import Iterator

from core.domain.text import is_blank, is_invisible
from local.importing.fields import quoted

_SHOWN_EXAMPLES = 5


def trimmed(text: str) -> str:
    """Return a text without blanks and invisible characters at its ends."""
    if text.isascii():
        return text.strip()
    start, end = 0, len(text)
    while start < end and is_blank(text[start]):
        start += 1
    while end > start and is_blank(text[end - 1]):
        end -= 1
    return text[start:end]


class Tidy:
    """Tidies ids, counts those that it changes, and remembers the first."""

    def __init__(self) -> None:
        self._changed = 0
        self._examples: list[str] = []

    def participant_id(self, line: int, text: str) -> str:
        """Return an id as the API accepts it: no blanks around it, nothing invisible, NFC."""
        tidied = trimmed(text)
        if not tidied.isascii():
            visible = "".join(character for character in tidied if not is_invisible(character))
            tidied = trimmed(unicodedata.normalize("NFC", visible))
        if tidied != text:
            self._changed += 1
            if len(self._examples) < _SHOWN_EXAMPLES:
                self._examples.append(f"  line {line}: {_visibly(text)} became {_visibly(tidied)}")
        return tidied

    def lines(self) -> Iterator[str]:
        """Yield lines for how many ids were changed, and the first of them."""
        if self._changed:
            yield f"{self._changed:,} ids were tidied: blanks around, invisible characters, Unicode's form"
        yield from self._examples


def _visibly(text: str) -> str:
    """Return a text for a message, in which what was tidied can be seen."""
    shown = "".join(
        f"\\u{ord(character):04x}"
        if character != " " and (is_blank(character) or unicodedata.combining(character))
        else character
        for character in text[:64]
    )
    return quoted(shown).replace("\\\\", "\\")
