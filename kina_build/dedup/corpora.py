"""Other corpora: anything that can be imported, and plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kina_build.errors import InputError, RowErrors, RowFault, UsageError
from kina_build.items.intake import is_pool, read_items
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.jsonl import STREAM, read_text


def read_texts(path: Path) -> list[Item]:
    """Read a pool, any file of questions, or a .txt file cut at its blank lines.

    Raises:
        InputError: missing, empty or unreadable file.
        RowErrors: rows that are no questions.
    """
    if path.suffix.lower() == ".txt":
        return _paragraphs(path)
    if path == STREAM or is_pool(path):
        return read_pool(path)
    result = read_items(path)
    if result.rejects:
        faults = [RowFault(str(path), reject.line or 1, reject.message) for reject in result.rejects]
        raise RowErrors(faults, hint="`kina import --keep-going` writes the rows that can be read")
    if not result.items:
        raise InputError(f"{path}: holds no questions")
    return list(result.items)


def name_corpora(paths: Sequence[Path]) -> dict[str, Path]:
    """Name each corpus by its file.

    Raises:
        UsageError: two files of one name.
    """
    named = {path.name: path for path in paths}
    if len(named) < len(paths):
        raise UsageError(
            "two corpora have the same file name", hint="rename one: hits name their corpus by it"
        )
    return named


def _paragraphs(path: Path) -> list[Item]:
    texts = [text.strip() for text in re.split(r"\n\s*\n", read_text(path).replace("\r\n", "\n"))]
    return [
        Item(item_id=f"{path.stem}:{number}", question=text, options=(), correct_answer="")
        for number, text in enumerate(texts, start=1)
        if text
    ]
