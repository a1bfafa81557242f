r"""Texts of strangers on their way out: to a terminal, into JSON on a terminal, into Markdown.

What a terminal would obey (control characters) and what turns its lines around (bidi and
format controls) is shown as Python writes it, such as `\x1b` or `\u202e`. So are halves
of surrogate pairs, which no encoding holds.
"""

from __future__ import annotations

import json
import re

OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
r"""Controls of terminals and of text direction: matches "\x1b" and "\u202e", not "é" nor "\u200d"."""
OBEYED_IN_TEXT = re.compile(f"(?!\n){OBEYED.pattern}")
"""The same, but for the newline: matches "\\r", not "\\n"."""
FOREIGN = re.compile("[^\x00-\x7f]")
"""Matches "é", not "e"."""

_SPANS = re.compile(r"[|*`\[\]~]|(?<![^\W_])_|_(?![^\W_])")
"""Starts and ends of cells, emphasis, code and links: matches "|" and the "_" of "_a", not that of "a_b"."""
_LOOSE_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~]|$)")
r"""A backslash that Markdown would take for an escape: matches that of "\|", not that of "\alpha"."""
_ENTITY = re.compile(r"&(?=#?\w+;)")
"""Matches the sign of "&lt;", not that of "R & D"."""
_OPENERS = re.compile(r"^(?:#|=+$|\+(?=\s|$)|-(?=[\s-]|$))")
"""What makes a heading, a rule or a list of a line: matches "# a" and "---", not "-3"."""
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
"""Matches "1. a", not "1.5"."""


def on_terminal(text: str) -> str:
    """Show a text on one line, with nothing in it that a terminal obeys."""
    return OBEYED.sub(_shown, text)


def on_terminal_lines(text: str) -> str:
    """Show a text whose lines are our own; otherwise as on_terminal."""
    return OBEYED_IN_TEXT.sub(_shown, text)


def in_json(document: str, encoding: str) -> str:
    """Write a JSON document with escapes for what a terminal obeys and for what an encoding lacks.

    Whoever parses it reads the same values: outside strings JSON holds no such characters.
    """
    document = OBEYED_IN_TEXT.sub(_json_escape, document)
    try:
        document.encode(encoding)
    except UnicodeEncodeError:
        return FOREIGN.sub(_json_escape, document)
    return document


def in_markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is, on one line and in one cell."""
    text = " ".join(text.split())
    text = _LOOSE_BACKSLASH.sub(r"\\\\", text)
    text = _SPANS.sub(r"\\\g<0>", text)
    text = _ENTITY.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
    text = _NUMBERED.sub(r"\1\\\2", text)
    return on_terminal(_OPENERS.sub(r"\\\g<0>", text))


def whole(text: str) -> str:
    """Put U+FFFD in the place of halves of surrogate pairs: what is left can be written anywhere."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _shown(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode("ascii")


def _json_escape(sign: re.Match[str]) -> str:
    return json.dumps(sign[0])[1:-1]
