"""A foreign file as rows of plain values, before anyone asks what the columns mean."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError


@dataclass(frozen=True)
class RawRow:
    """One row and where it starts."""

    line: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class RawFile:
    """Rows, the ones that could not be read, and how the file was read."""

    name: str
    rows: tuple[RawRow, ...]
    rejects: tuple[Reject, ...]
    detected: Mapping[str, Any]
    """format, encoding, delimiter, header: what was found or was told."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """Values that stand once in the file and belong to every row (a canary, a licence)."""

    @cached_property
    def columns(self) -> list[str]:
        """Return the names of all columns, in order of first appearance."""
        return list(dict.fromkeys(column for row in self.rows for column in row.values))


PLATFORM_QUESTION = "GPQA_QUESTION"
"""What marks the question among the labels of a record of KINA's older platform."""

WRAPPERS = ("data", "item", "sample", "row")
"""Keys under which labelling platforms wrap a whole record."""


def unwrap(file: RawFile) -> RawFile:
    """Lift the records out of rows that only wrap them: {"id": 1, "data": {"question": ...}}."""
    for wrapper in WRAPPERS:
        if file.rows and all(isinstance(row.values.get(wrapper), Mapping) for row in file.rows):
            rows = tuple(RawRow(row.line, _lift(row.values, wrapper)) for row in file.rows)
            return replace(file, rows=rows)
    asked = [_platform_question(row.values) for row in file.rows]
    if asked and all(asked):
        lifted = (RawRow(row.line, one) for row, one in zip(file.rows, asked, strict=True) if one)
        return replace(file, rows=tuple(lifted))
    return file


def _platform_question(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Lift the question out of a record of KINA's older platform: {"labels": [{"data": {"hash": ..., ...}}]}.

    Its inner fields are looked for by their names, like any other's.
    """
    labels = values.get("labels")
    data = [one.get("data") for one in labels if isinstance(one, Mapping)] if isinstance(labels, list) else []
    asked = [one for one in data if isinstance(one, Mapping) and one.get("hash") == PLATFORM_QUESTION]
    if len(asked) != 1:
        return None
    rest = {name: value for name, value in values.items() if name != "labels"}
    return rest | {name: value for name, value in asked[0].items() if name != "hash"}


def _lift(values: Mapping[str, Any], wrapper: str) -> Mapping[str, Any]:
    return {name: value for name, value in values.items() if name != wrapper} | dict(values[wrapper])


def look_up(values: Mapping[str, Any], path: str) -> Any:
    """Return a row's value by column name or dotted path ("mc1_targets.choices"); None if absent."""
    if path in values:
        return values[path]
    found: Any = values
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found


class Reject(BaseModel):
    """One row that did not become an item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    line: int
    """1-based line of the row's first character; the row's number in Parquet and Arrow files."""
    reason: str
    """A fixed word for the kind of fault, such as json_invalid_escape."""
    message: str
    """What is wrong with this row, in one sentence."""
    item_id: str | None = None
    """The row's own id, where it has one."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """What was found: parsed keys, candidates, a suggestion that nobody applied."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}: {self.message}"


class RowRefused(Exception):
    """Say that a row cannot become an item."""

    def __init__(self, reason: str, message: str, **evidence: Any) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.evidence = evidence

    def at(self, file: str, line: int, item_id: str | None = None) -> Reject:
        """Place the fault in a file."""
        return Reject(
            file=file,
            line=line,
            reason=self.reason,
            message=self.message,
            item_id=item_id,
            evidence=self.evidence,
        )


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
        hint=f"name the encoding, for example --encoding {suggest_encoding(raw, offset)}",
    )


def suggest_encoding(raw: bytes, offset: int) -> str:
    """Name a likely encoding, from the bytes around the first one that is not UTF-8."""
    start = max(0, offset - SAMPLE_BYTES // 2)
    sample = raw[start : start + SAMPLE_BYTES]
    if sum(byte > 0x7F for byte in sample) < MOSTLY_ASCII * len(sample):
        curly = {name: _count_typographic(sample, name) for name in ("cp1252", "mac-roman")}
        return max(curly, key=curly.__getitem__)
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding.replace("_", "-") if best else "cp1252"


def _count_typographic(sample: bytes, encoding: str) -> int:
    """Count curly quotes and dashes: in text that is mostly ASCII they are what is left over."""
    return sum(char in "‘’“”–—…" for char in sample.decode(encoding, errors="ignore"))
