"""Write a release: the folder with everything in it, and private answers beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kina_build.jsonl import write_document, write_records, write_text
from kina_build.manifest import digest
from kina_build.release import standalone
from kina_build.release.build import Release
from kina_build.release.derived import derived_files
from kina_build.release.evidence import NOTHING, Naming, Sources, write_evidence
from kina_build.release.folder import files, write_sums, writing_folder
from kina_build.release.names import CHANGES, kina_file
from kina_build.release.plan import Past
from kina_build.release.record import ReleaseRecord
from kina_build.release.rows import Row, columns, take_answer, to_item, to_row
from kina_build.release.thresholds import settle_thresholds
from kina_build.release.versions import row_map
from kina_build.release.writers import write_kina, write_rows


def publish(
    release: Release,
    target: Path,
    past: Past | None = None,
    sources: Sources = NOTHING,
    *,
    overwrite: bool = False,
) -> ReleaseRecord:
    """Write a release folder whole, or leave what stood there.

    Args:
        release: in memory.
        target: its folder.
        past: the release before this one.
        sources: what its figures are derived from.
        overwrite: replace files of an earlier release that were edited since.

    Returns:
        The manifest as written, with the figures.

    Raises:
        UsageError, InputError: as writing_folder.
        Refusal: the evidence is large, and nobody said how much of it shall travel.
    """
    rows = {split: kept for split, kept in release.rows.items() if kept}
    with writing_folder(target, overwrite=overwrite) as folder:
        _write_data(folder, release, rows)
        write_evidence(folder, sources, _naming(release, sources))
        settle_thresholds(folder, rows, _private(release.record))
        if past and release.difference:
            rows_moved = {split: row_map(past.rows.get(split, ()), kept) for split, kept in rows.items()}
            changes = release.difference.model_dump(mode="json") | {"rows": rows_moved}
            write_document(folder / CHANGES, {"from": past.record.version, **changes})
        record = _complete(folder, release.record, rows)
        for name, text in derived_files(record, rows, folder).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / name, text)
        write_sums(folder)
    return record


def publish_answers(release: Release, target: Path) -> None:
    """Write the answers of the private splits to one file for its owner only, outside the release folder."""
    write_records(
        target,
        (
            take_answer(to_row(i))
            for split in release.record.counts
            if split in _private(release.record)
            for i in release.items[split]
        ),
        private=True,
    )


def derive_figures(folder: Path, rows: Mapping[str, Sequence[Row]], private: set[str]) -> dict[str, object]:
    """Derive the figures of a release from its rows and evidence.

    Raises:
        standalone.Unsound: the evidence is not what it has to be.
    """
    ids = {split: [{"id": row.id} for row in kept] for split, kept in rows.items()}
    return standalone.derive(folder, ids, private)


def _write_data(folder: Path, release: Release, rows: Mapping[str, Sequence[Row]]) -> None:
    write_rows(folder, rows, columns([row for kept in rows.values() for row in kept]))
    for split, kept in rows.items():
        private = split in _private(release.record)
        items = [to_item(row) for row in kept] if private else release.items[split]
        write_kina(folder / kina_file(split), items)


def _complete(folder: Path, record: ReleaseRecord, rows: Mapping[str, Sequence[Row]]) -> ReleaseRecord:
    """Put into a manifest what only the written files tell, and seal it."""
    written = {file.relative_to(folder).as_posix(): digest(file).sha256 for file in files(folder)}
    figures = derive_figures(folder, rows, _private(record))
    return record.model_copy(update={"figures": figures, "files": written}).sealed()


def _private(record: ReleaseRecord) -> set[str]:
    return {split for split, count in record.counts.items() if count.private}


def _naming(release: Release, sources: Sources) -> Naming:
    split_of = {row.id: split for split, kept in release.rows.items() for row in kept}
    return Naming(sources.salt, split_of, frozenset(_private(release.record)))
