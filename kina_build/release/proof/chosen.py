"""The files that a selection was made from, found by its manifest: its figures are derived from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.errors import InputError, UsageError
from kina_build.release.sources import read_selection
from kina_build.rows.source import is_stream
from kina_build.selection.files import ROLES, Files

if TYPE_CHECKING:
    from kina_build.manifest import Manifest
    from kina_build.selection.records import Selection

COPY = re.compile(r"#\d+$")
"""What a manifest adds to a name that stands twice: matches the end of "duplicates.json#2"."""
SEVERAL = ("conflicts", "must", "exclude")
WAY_ON = "name the folder of these files with --made-from, or state no figures with --evidence none"


def find_files(selection: Path, folders: Sequence[Path]) -> Files | None:
    """Find the files that a sealed selection was made from, by the names in its manifest.

    Args:
        selection: the selection.json.
        folders: where to look beside its own folder.

    Returns:
        None where the selection is a list of ids without a certificate.

    Raises:
        UsageError: the manifest or a file is not there.
    """
    document = read_selection(selection).document
    if document is None:
        return None
    beside = Path() if is_stream(selection) else selection.parent
    manifest = _find_manifest(selection, document, [beside, *folders])
    given = manifest.params.get("given")
    if not isinstance(given, list):
        raise UsageError(f"{selection}: its manifest does not say what it was made from", hint=WAY_ON)
    names = [COPY.sub("", name) for name in manifest.inputs]
    found = iter([_find(name, [beside, *folders]) for name in names])
    slots: dict[str, Any] = {}
    for slot, count in zip(ROLES, given, strict=False):
        paths = [path for _, path in zip(range(int(count)), found, strict=False)]
        slots[slot] = paths if slot in SEVERAL and paths else next(iter(paths), None)
    slots |= {
        name: str(manifest.params[name])
        for name in ("by", "domain_by", "eligible", "balance")
        if manifest.params.get(name)
    }
    if slots.get("support") is None:
        raise UsageError(f"{selection}: its manifest names no support", hint=WAY_ON)
    return Files(**slots)


def _find_manifest(selection: Path, document: Selection, folders: Sequence[Path]) -> Manifest:
    """Find the manifest of the run that made a selection; it may have come by a pipe or another name."""
    from kina_build.manifest import sidecar

    files = [file for folder in folders for file in sorted(folder.glob("*.manifest.json"))]
    for file in (sidecar(selection), *files):
        manifest = _read_manifest(file)
        if manifest and manifest.report.get("item_ids") == list(document.item_ids):
            return manifest
    raise UsageError(
        f"{selection}: no manifest of its making lies beside it, to say what it was made from", hint=WAY_ON
    )


def _read_manifest(file: Path) -> Manifest | None:
    from kina_build.manifest import Manifest
    from kina_build.rows.jsonl import read_document

    try:
        found = read_document(file, Manifest)
    except InputError:
        return None
    return found if found.command in ("select", "top-up") else None


def _find(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / name).exists() and Path(name).name == name:
            return folder / name
    raise UsageError(f"{name}: the selection was made from it, and it is not there", hint=WAY_ON)
