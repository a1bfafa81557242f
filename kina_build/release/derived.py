"""The files that follow from a release's rows and manifest: written by export, and again by verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kina_build.jsonl import dump_document
from kina_build.release.card import write_card
from kina_build.release.croissant import describe_release
from kina_build.release.harness import harness_files
from kina_build.release.names import CARD, CROISSANT, RECORD, kina_file, parquet_file, rows_file
from kina_build.release.record import ReleaseRecord
from kina_build.release.rows import Row, columns


def data_files(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """List the data files of a release, sorted."""
    kinds = (rows_file, parquet_file, kina_file)
    return sorted(kind(split) for split, kept in rows.items() if kept for kind in kinds)


def derived_files(record: ReleaseRecord, rows: Mapping[str, Sequence[Row]], folder: Path) -> dict[str, str]:
    """Write the texts of card, Croissant, harness files and manifest.

    Args:
        record: sealed.
        rows: as published, by split.
        folder: where the data files already are.

    Returns:
        Text by relative name.
    """
    names = columns([row for kept in rows.values() for row in kept])
    croissant = describe_release(record, folder, data_files(rows), names)
    return {
        CROISSANT: dump_document(croissant),
        **harness_files(record),
        CARD: write_card(record),
        RECORD: dump_document(record),
    }
