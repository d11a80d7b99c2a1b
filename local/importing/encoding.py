"""Decide a file's encoding from all of its bytes, before anything of it is imported."""

import codecs
import io
import re
from dataclasses import dataclass
from typing import BinaryIO

from local.errors import StackError
from local.importing.fields import quoted

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins like UTF-16's
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_TEXT = {
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "compressed with gzip",
    b"%PDF": "a PDF",
    b"SQLite format 3": "an SQLite database",
}
_WESTERN = "cp1252"  # Latin-1, and in the place of its C1 control characters typographic signs
_SAMPLE = 4096
_BLOCK = 1 << 20
# Windows-1252 for text that is not: signs that do not stand in words, capitals that do not end them.
_NOT_WESTERN = re.compile(
    r"[a-zß-öø-ÿ][ŽŠŒŸ]|\u0192|[\u2018\u2019\u201c\u201d\u201a\u201e\u2020\u2021\u2022\u02dc\u2122]{2}"
    r"|[^\W\d_][\u201a\u201e\u2020\u2021\u02c6\u2030\u00a4\u00a6-\u00a8\u00ac\u00af\u00b8]"
    r"|[^\W\d_][\u2013\u2014\u201c\u201d\u2022\u02dc\u2122\u2039\u203a\u20ac][^\W\d_]|[\x00-\x08]"
)
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec, what it does with bytes that are none of its text, and why it was chosen."""

    codec: str
    errors: str
    description: str


def decide_encoding(stream: BinaryIO, named: str | None = None) -> Encoding:
    """Return the encoding of a file: the named one, a byte order mark's, UTF-8, or Western European.

    In UTF-8, bytes that are none spoil only their own row: they become lone surrogates, which are refused.
    Other encodings must fit the whole file.

    Raises:
        StackError: the file is no text, does not fit the named encoding, or fits none of these.
    """
    stream.seek(0)
    start = stream.read(_SAMPLE)
    for magic, what in _NO_TEXT.items():
        if start.startswith(magic):
            raise StackError(f"the file is {what}; export it as CSV or JSON first")
    if named is not None:
        return _named(stream, named)
    for mark, codec in _BOMS.items():
        if start.startswith(mark):
            return _whole(stream, codec, f"{codec.removesuffix('-sig').upper()} by its byte order mark")
    if b"\0" in start:
        return _whole(stream, "utf-16-be" if start[:1] == b"\0" else "utf-16-le", "UTF-16 without a mark")
    return _utf_8_or_western(stream)


def _named(stream: BinaryIO, name: str) -> Encoding:
    try:
        codec = codecs.lookup(name).name
        io.TextIOWrapper(io.BytesIO(), encoding=codec)  # refuses rot13 and its like
    except LookupError:
        raise StackError(
            f"--encoding {quoted(name)} is unknown; it is a name such as utf-8 or cp1252"
        ) from None
    if codec == "utf-8":
        return Encoding("utf-8-sig", "surrogateescape", "UTF-8")
    return _whole(stream, codec, codec)


def _whole(stream: BinaryIO, codec: str, description: str) -> Encoding:
    """Return an encoding that the whole file must fit."""
    if codec == "utf-8-sig":
        return Encoding(codec, "surrogateescape", description)
    decoder = codecs.getincrementaldecoder(codec)()
    stream.seek(0)
    at = 0
    try:
        while block := stream.read(_BLOCK):
            decoder.decode(block)
            at += len(block)
        decoder.decode(b"", final=True)
    except UnicodeError:
        raise StackError(
            f"the file is not {description}: it does not decode, near byte {at:,}; --encoding names another"
        ) from None
    return Encoding(codec, "strict", description)


def _utf_8_or_western(stream: BinaryIO) -> Encoding:
    """Decide line by line: a file with any line of good, not merely ASCII, UTF-8 is UTF-8."""
    stream.seek(0)
    odd_line = 0
    odd = b""
    suspicious = False
    words = western_words = 0
    for number, line in enumerate(stream, start=1):
        if line.isascii():
            continue
        try:
            line.decode()
        except UnicodeDecodeError:
            if not odd:
                odd_line, odd = number, line
        else:
            return Encoding("utf-8-sig", "surrogateescape", "UTF-8")
        text = line.decode(_WESTERN, errors="replace")
        suspicious = suspicious or "\ufffd" in text or _NOT_WESTERN.search(text) is not None
        found = [word for word in _WORD.findall(text) if not word.isascii()]
        words += len(found)
        western_words += sum(sum(map(str.isascii, word)) * 2 >= len(word) for word in found)
    if not odd:
        return Encoding("utf-8-sig", "surrogateescape", "UTF-8")
    if suspicious or western_words < words * 0.8:  # a language of Latin letters has few others in a word
        raise StackError(
            f"line {odd_line} is not UTF-8: name the file's encoding with --encoding, such as cp1252 "
            "(Western European), cp1250 (Central European), cp1251 (Cyrillic), shift_jis, gb18030, mac_roman"
        )
    shown = quoted(_around_first_odd(odd).decode(_WESTERN))
    return Encoding(
        _WESTERN,
        "strict",
        f"Windows-1252 (Latin-1), for it is no UTF-8: line {odd_line} is {shown}; --encoding names another",
    )


def _around_first_odd(line: bytes) -> bytes:
    at = next(index for index, byte in enumerate(line) if byte > 0x7F)
    return line[max(0, at - 16) : at + 16].strip()


def open_text(stream: BinaryIO, encoding: Encoding) -> io.TextIOWrapper:
    """Return a file's text, with its line ends as they are."""
    return io.TextIOWrapper(stream, encoding=encoding.codec, errors=encoding.errors, newline="")
