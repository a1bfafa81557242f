"""Bytes to text without guessing: UTF-8, or what a byte order mark or the user names."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from kina_build.errors import InputError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

SAMPLE_BYTES = 1 << 16
"""How much of a file is looked at to suggest an encoding."""


MOSTLY_ASCII = 0.1
"""Share of other bytes below which a text is taken for English with curly quotes."""


@dataclass(frozen=True)
class Decoded:
    """A file's text and the encoding it was read with."""

    text: str
    encoding: str


def decode(raw: bytes, name: str, encoding: str | None = None) -> Decoded:
    """Decode a file; the text never starts with a byte order mark.

    Args:
        raw: the whole file.
        name: its name, for messages.
        encoding: what the user says of files that are not UTF-8; by default a mark decides,
            else the file must be UTF-8. A text with other than ASCII that is valid UTF-8 is
            never anything else, so one call can read a folder with one stray file.

    Raises:
        InputError: an unknown encoding, or bytes that do not fit it (with the first one's offset).
    """
    if encoding is not None and not _is_text_encoding(encoding):
        raise InputError(
            f"{name}: unknown encoding {encoding!r}", hint="for example utf-8, mac-roman, cp1252"
        )
    marked = next((codec for mark, codec in MARKS if raw.startswith(mark)), None)
    chosen = marked or ("utf-8" if encoding is None or _is_multibyte_utf8(raw) else encoding)
    try:
        text = raw.decode(chosen)
    except UnicodeDecodeError as error:
        offset = error.start + (len(codecs.BOM_UTF8) if chosen == "utf-8-sig" else 0)
        raise _not_decodable(raw, name, chosen, offset) from None
    return Decoded(text.removeprefix("\ufeff"), chosen.lower())


def _is_multibyte_utf8(raw: bytes) -> bool:
    try:
        return not raw.isascii() and bool(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _is_text_encoding(encoding: str) -> bool:
    try:
        "".encode(encoding)
    except (LookupError, ValueError, UnicodeError):
        return False
    return True


def _not_decodable(raw: bytes, name: str, chosen: str, offset: int) -> InputError:
    if not chosen.startswith("utf-8"):
        return InputError(f"{name}: encoding_mismatch: byte {offset} is not {chosen}")
    byte = raw[offset]
    return InputError(
        f"{name}: encoding_not_utf8: byte {offset} (0x{byte:02X}) is not UTF-8",
        hint=f"name the encoding, for example --encoding {_suggest(raw, offset)}",
    )


def _suggest(raw: bytes, offset: int) -> str:
    """Name a likely encoding, from the bytes around the first one that is not UTF-8."""
    start = max(0, offset - SAMPLE_BYTES // 2)
    sample = raw[start : start + SAMPLE_BYTES]
    if sum(byte > 0x7F for byte in sample) < MOSTLY_ASCII * len(sample):
        curly = {name: _count_typographic(sample, name) for name in ("mac-roman", "cp1252")}
        return max(curly, key=curly.__getitem__)
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding.replace("_", "-") if best else "cp1252"


def _count_typographic(sample: bytes, encoding: str) -> int:
    """Count curly quotes and dashes: in text that is mostly ASCII they are what is left over."""
    return sum(char in "‘’“”–—…" for char in sample.decode(encoding, errors="ignore"))
