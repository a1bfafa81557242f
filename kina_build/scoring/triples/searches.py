"""Searches for names that were answered before, kept in a file that a killed run leaves whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError
from kina_build.rows.source import limits
from kina_build.rows.strict import JsonFault, parse_json

Key = tuple[str, str, int, str]
"""(address, language, most hits, name)."""


@dataclass(frozen=True)
class Candidate:
    """One item that a name may mean."""

    qid: str
    label: str
    description: str = ""


class _Kept(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    language: str
    limit: int
    name: str
    hits: list[Candidate]


class SearchCache:
    """Answered searches, in memory and, where a path is given, one fsynced line each in a file.

    Raises:
        InputError: the file holds a line that is no search; a torn last line is dropped.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._known: dict[Key, list[Candidate]] = {}
        self._torn = False
        if path is not None and path.exists():
            self._load(path)

    def find(self, key: Key) -> list[Candidate] | None:
        """Return the hits of a search that was made before; None if it was not."""
        return self._known.get(key)

    def keep(self, key: Key, hits: list[Candidate]) -> None:
        """Remember the hits of a search."""
        self._known[key] = hits
        if self.path is None:
            return
        url, language, limit, name = key
        line: Mapping[str, Any] = {
            "url": url,
            "language": language,
            "limit": limit,
            "name": name,
            "hits": [asdict(hit) for hit in hits],
        }
        with self.path.open("ab") as file:
            if self._torn:
                file.write(b"\n")
                self._torn = False
            file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _load(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                kept = _Kept.model_validate(parse_json(line, limits()))
            except (JsonFault, ValueError):
                if number == len(lines):
                    self._torn = True
                    return
                raise InputError(
                    f"{path}:{number}: not a kept search", hint="give another file, or move this one away"
                ) from None
            self._known[kept.url, kept.language, kept.limit, kept.name] = kept.hits
