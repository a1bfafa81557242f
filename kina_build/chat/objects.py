"""JSON inside what a model wrote: whatever stands there, reading it ends, and soon.

A reply may hold brackets by the thousand, numbers of any length, a text of megabytes.
What cannot be read is left out; nothing here fails because of a reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
"""Matches "<think>so</think>", and to the end where the reply was cut off while thinking."""
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
"""Matches ",]"."""
OBJECT_START = re.compile(r'\{\s*["}]')
r"""Where an object may start: matches '{ "a"' and "{}", not the brace of "\frac{a}{b}"."""
LONG_NUMBER = 300
"""Digits above which a whole number is read as a float: beyond all floats, and never a rating."""
MOST_FAILURES = 1_000
"""Starts tried in vain after which the rest is not looked at: each costs a pass over what is before it."""
MOST_PASSES = 20
"""Times the length of a text that is scanned in vain at most."""


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONG_NUMBER else float(digits)


DECODER = json.JSONDecoder(strict=False, parse_int=_whole_number)
"""Models put raw newlines into strings."""


def read_value(text: str) -> Any:
    """Read a text that is one JSON value; None where it is none, or is nested too deep."""
    try:
        return json.loads(text, parse_int=_whole_number)
    except (ValueError, RecursionError):
        return None


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects that can be read, objects inside a broken one included.

    Reasoning between think tags is skipped: what a model muses is not its answer. After an
    object that is nested too deep nothing more is looked for.
    """
    text = TRAILING_COMMA.sub(r"\1", THOUGHTS.sub("", text))
    scanned = failures = 0
    start = OBJECT_START.search(text)
    while start and failures < MOST_FAILURES and scanned <= MOST_PASSES * len(text):
        at = start.start()
        try:
            found, end = DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            scanned, failures, end = scanned + error.pos - at, failures + 1, at + 1
        except RecursionError:
            return
        else:
            yield found
        start = OBJECT_START.search(text, end)


def written(value: Any) -> str:
    """Write a value that was read, as Python does; a text stays as it is, what is nested too deep is ""."""
    try:
        return str(value)
    except RecursionError:
        return ""
