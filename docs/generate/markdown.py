"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """Write a text so that it stands in one cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "\\<")


def code(text: object) -> str:
    """Write a text as code, in a table or not; nothing where it is empty."""
    one = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {one} ``" if "`" in one else f"`{one}`" if one else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; the cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def slug(text: str) -> str:
    """Write a title as a file name or an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")


def page(title: str, *parts: str) -> str:
    """Put a page together."""
    return "\n".join([f"# {title}\n", *parts])
