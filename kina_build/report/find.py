"""The files of a flow in a folder: found by what they hold, and what was left out with the reason."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.errors import InputError
from kina_build.rows.jsonl import read_json

FILES = {
    "pool": "pool.jsonl",
    "patches": "patches.jsonl",
    "findings": "findings.jsonl",
    "duplicates": "duplicates.json",
    "triage": "triage.jsonl",
    "anchors": "anchors.jsonl",
    "support": "support.npz",
    "selection": "selection.json",
    "certificate": "certificate.json",
    "reviews": "reviews.jsonl",
    "decisions": "decisions.jsonl",
    "contests": "contests.jsonl",
    "ledger": "ledger.db",
    "release": "release",
    "scores": "scores.jsonl",
    "leaderboard": "leaderboard.json",
    "item_figures": "item_analysis.jsonl",
}
"""Part to the name that its command gives it, in the order of the flow."""

GUESSED = ("patches", "triage", "anchors", "reviews")
"""Parts whose files may also be somebody else's: what they hold decides, whatever their name."""

ROWS: Mapping[str, frozenset[str]] = {
    "pool": frozenset({"item_id", "question", "options", "correct_answer"}),
    "patches": frozenset({"item_id", "text_sha", "result_sha", "changes", "by"}),
    "findings": frozenset({"item_id", "rule", "severity", "message"}),
    "triage": frozenset({"item_id", "rank", "key", "flags", "voters"}),
    "anchors": frozenset({"anchor_id", "statement", "kind"}),
    "reviews": frozenset({"item_id", "reviewer_id", "ratings"}),
    "decisions": frozenset({"item_id", "decision"}),
    "contests": frozenset({"item_id", "status", "scores", "winners"}),
    "scores": frozenset({"item_id", "model", "score"}),
    "item_figures": frozenset({"item_id", "discipline", "p"}),
}
"""Part to the fields that each of its rows has."""
DOCUMENTS: Mapping[str, frozenset[str]] = {
    "duplicates": frozenset({"kept", "dropped", "held", "pairs"}),
    "selection": frozenset({"item_ids", "domains", "certificate", "seal"}),
    "leaderboard": frozenset({"standings", "pairs"}),
    "certificate": frozenset({"verified", "faults"}),
}
"""Part to the fields that its document has."""
ARRAYS = frozenset({"levels.npy", "item_ids.npy", "anchor_ids.npy"})
TABLES = frozenset({"entries", "meta"})
RELEASE = frozenset({"content_hash", "counts", "canary"})
FIRST_BYTES = 1_000_000
"""Of a file of rows, to find its first row in."""
DOCUMENT_BYTES = 200_000_000
"""Of the largest document that is opened to see what it is."""


@dataclass(frozen=True)
class Found:
    """The files of a folder by what they are, and those that no page shows."""

    files: Mapping[str, Path]
    """Part to its file, in the order of the flow."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Name of a file to the reason why it is not shown."""
    releases: tuple[Path, ...] = ()
    """All folders that are releases."""
    selections: tuple[Path, ...] = ()
    """All files that are selections."""


def find_files(folder: Path) -> Found:
    """Find the files of a flow in a folder, by content; of two of a kind the one named as usual is taken.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder", hint="give the folder that holds pool.jsonl and the rest"
        )
    parts = {path: _usual(path) or look_into(path) for path in list_files(folder)}
    alike = {part: [path for path, one in parts.items() if one == part] for part in FILES}
    files = {part: taken for part, paths in alike.items() if (taken := _take(part, paths)) is not None}
    left_out = {
        path.name: _why_not(part, files.get(part or ""))
        for path, part in parts.items()
        if path.is_file() and path not in files.values()
    }
    return Found(files, left_out, tuple(alike["release"]), tuple(alike["selection"]))


def list_files(folder: Path) -> list[Path]:
    """List what may be a part of the flow, by name."""
    return sorted(path for path in folder.iterdir() if not _is_beside(path))


def look_into(path: Path) -> str | None:
    """Tell by its content which part a file or folder is; None: none that a page shows."""
    try:
        if path.is_dir():
            return "release" if _is_release(path) else None
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return "support" if set(archive.namelist()) >= ARRAYS else None
        if path.suffix in (".db", ".sqlite"):
            return "ledger" if _tables(path) >= TABLES else None
        if path.suffix == ".json" and path.stat().st_size <= DOCUMENT_BYTES:
            return _named(DOCUMENTS, read_json(path))
        return _named(ROWS, _first_row(path))
    except (InputError, OSError, ValueError, zipfile.BadZipFile, sqlite3.Error):
        return None


def _usual(path: Path) -> str | None:
    """Return the part whose usual name this is: what is wrong in such a file is for its reader to say."""
    part = next((part for part, name in FILES.items() if name == path.name), None)
    return part if part not in (None, *GUESSED) and path.is_dir() == (part == "release") else None


def _is_beside(path: Path) -> bool:
    """Tell whether a file only stands beside others: a manifest, a key, settings, what is hidden."""
    name = path.name
    return name.startswith((".", "ledger.db.")) or name.endswith((".manifest.json", ".toml"))


def _take(part: str, paths: list[Path]) -> Path | None:
    if part == "selection" and (certified := _certified(paths)):
        return certified
    usual = [path for path in paths if path.name == FILES[part]]
    return usual[0] if usual else paths[0] if len(paths) == 1 else None


def _certified(paths: list[Path]) -> Path | None:
    """Return the selection that the certificate beside it was made of: one that was topped up, say."""
    told = [path.parent / "certificate.json.manifest.json" for path in paths[:1]]
    try:
        read = read_json(told[0])["inputs"] if told and told[0].exists() else {}
    except (InputError, KeyError, TypeError):
        return None
    named = [path for path in paths if path.name in read]
    return named[0] if len(named) == 1 else None


def _why_not(part: str | None, taken: Path | None) -> str:
    if part is None:
        return "holds nothing that a page shows"
    kind = part.replace("_", " ")
    if taken is None:
        return f"one of several files of the kind {kind}; name the right one {FILES[part]}"
    return f"another file of the kind {kind}; {taken.name} is shown"


def _is_release(folder: Path) -> bool:
    file = folder / "release.json"
    return file.is_file() and _has(read_json(file), RELEASE)


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)) as base:
        return {str(name) for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _first_row(path: Path) -> Any:
    with path.open("rb") as file:
        line = next(_lines(file.read(FIRST_BYTES)), b"")
    return json.loads(line) if line.startswith(b"{") else None


def _lines(head: bytes) -> Iterator[bytes]:
    return (line.strip() for line in head.splitlines() if line.strip())


def _named(kinds: Mapping[str, frozenset[str]], value: Any) -> str | None:
    return next((part for part, fields in kinds.items() if _has(value, fields)), None)


def _has(value: Any, fields: frozenset[str]) -> bool:
    return isinstance(value, Mapping) and value.keys() >= fields
