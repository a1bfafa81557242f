"""Limits of what is read, and JSON as the standard has it (RFC 8259): what is beyond it is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

BLANKS = re.compile(r"[ \t\n\r]*")

LARGE_NUMBER = re.compile(r"\d{16}|[eE]\+?\d\d")
"""A number that may be too large for what reads it: "1e99", "12345678901234567890"; never "0.25"."""

LARGEST = 2**63 - 1

OPENERS = re.compile(r"[\[{]")

REASONS = (
    ("Invalid \\", "json_invalid_escape"),
    ("Unterminated string", "json_unterminated_string"),
    ("Invalid control character", "json_control_character"),
    ("Extra data", "json_extra_data"),
)
"""Starts of the decoder's messages, and our word for the fault."""


class IntakeRules(BaseModel):
    """Limits of everything that is read: table [intake]."""

    # the docstring under a field becomes its description, which `kina config` prints
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    file_bytes: int = Field(8_000_000_000, ge=1)
    """Bytes of a file, unpacked; also what a stream may bring."""
    json_depth: int = Field(64, ge=2)
    """Lists and objects that may stand inside each other in one JSON value."""
    cell_characters: int = Field(16_777_216, ge=1)
    """Characters of one cell of a CSV file."""
    npz_bytes: int = Field(16_000_000_000, ge=1)
    """Bytes that the arrays of one .npz file may take which are read whole, however much memory is free."""
    npz_value_bytes: int = Field(16_384, ge=1)
    """Bytes of one value of an array, such as the longest id of a column: a column is as wide as that."""


class JsonFault(ValueError):
    """A text that is no JSON value of ours."""

    def __init__(self, reason: str, message: str, line: int = 1, column: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.line = line
        """1-based, within the text."""
        self.column = column


def parse_json(text: str, limits: IntakeRules = IntakeRules()) -> Any:
    """Parse one JSON value: no NaN, no repeated key, no lone surrogate, no number beyond reach.

    Raises:
        JsonFault: with the reason's word, and line and column within `text`.
    """
    options: dict[str, Any] = {"parse_constant": _refuse_constant, "object_pairs_hook": _unique}
    if LARGE_NUMBER.search(text):
        options |= {"parse_int": _whole, "parse_float": _finite}
    try:
        value = json.loads(text, **options)
    except json.JSONDecodeError as error:
        reason = next((word for start, word in REASONS if error.msg.startswith(start)), "json_invalid")
        message = f"column {error.colno}: {error.msg}"
        raise JsonFault(reason, message, error.lineno, error.colno) from None
    except RecursionError:
        raise _too_deep(limits) from None
    if len(text) > limits.json_depth and not _is_shallow(text, value, limits.json_depth):
        raise _too_deep(limits)
    if "\\u" in text and not is_encodable(value):
        raise JsonFault("lone_surrogate", "half of a surrogate pair: the text was cut inside a character")
    return value


def is_encodable(value: Any) -> bool:
    """Tell whether all text in a value can be written as UTF-8 (no lone surrogates)."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def lines_of(text: str, begin: int, count: int) -> Iterator[int]:
    """Yield the line on which each element of a list begins.

    Args:
        text: the whole document, already parsed once.
        begin: where the list's bracket stands; below 0, all elements count as of line 1.
        count: elements of the list.
    """
    if begin < 0:
        yield from [1] * count
        return
    decoder = json.JSONDecoder()
    line, seen, at = 1, 0, begin + 1
    for _ in range(count):
        at = skip_blanks(text, at)
        line += text.count("\n", seen, at)
        seen = at
        yield line
        _, at = decoder.raw_decode(text, at)
        at = skip_blanks(text, at) + 1


def skip_blanks(text: str, at: int) -> int:
    """Return the place of the first character from `at` on that is no JSON blank."""
    found = BLANKS.match(text, at)
    return found.end() if found else at


def _refuse_constant(word: str) -> Any:
    raise JsonFault("json_not_finite", f"{word} is not a JSON number")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonFault("json_repeated_key", f"the key {twice!r} stands twice in one object")
    return made


def _whole(text: str) -> int:
    digits = len(text.lstrip("-"))
    # Python refuses to read 5,000 digits, and numpy what does not fit 64 bits
    if digits > len(str(LARGEST)) or abs(int(text)) > LARGEST:
        raise JsonFault("json_large_number", f"a whole number of {digits} digits is beyond 64 bits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonFault("json_large_number", f"the number {text[:20]} is out of range")
    return value


def _too_deep(limits: IntakeRules) -> JsonFault:
    return JsonFault("json_too_deep", f"nested too deeply: more than {limits.json_depth} levels")


def _is_shallow(text: str, value: Any, most: int) -> bool:
    # a value cannot be deeper than its text has brackets, and few texts have many
    if sum(1 for _ in zip(OPENERS.finditer(text), range(most + 1), strict=False)) <= most:
        return True
    layer = [value]
    for _ in range(most):
        layer = [one for parent in layer for one in _children(parent) if isinstance(one, dict | list)]
        if not layer:
            return True
    return False


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()
