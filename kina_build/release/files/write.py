"""Write a release: data files, what follows from rows and manifest, and private answers beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kina_build.items.model import Item
from kina_build.manifest import digest
from kina_build.release import standalone
from kina_build.release.build import Release
from kina_build.release.files.card import harness_files, write_card
from kina_build.release.files.croissant import describe_release
from kina_build.release.files.parquet import write_parquet
from kina_build.release.folder import files, write_sums, writing_folder
from kina_build.release.plan import Past
from kina_build.release.proof.evidence import NOTHING, Naming, Salt, Sources, place_salt, write_evidence
from kina_build.release.proof.thresholds import settle_thresholds
from kina_build.release.record import ReleaseRecord
from kina_build.release.rows import Row, columns, take_answer, to_item, to_kina, to_row
from kina_build.release.splits import (
    CARD,
    CHANGES,
    CROISSANT,
    ESTIMATOR,
    RECORD,
    kina_file,
    parquet_file,
    rows_file,
)
from kina_build.release.versions import row_map
from kina_build.rows.jsonl import dump_document, write_document, write_records, write_text, writing


def publish(
    release: Release,
    target: Path,
    past: Past | None = None,
    sources: Sources = NOTHING,
    *,
    salt: Salt | None = None,
    overwrite: bool = False,
) -> ReleaseRecord:
    """Write a release folder whole, or leave what stood there.

    Args:
        release: in memory.
        target: its folder.
        past: the release before this one.
        sources: what its figures are derived from.
        salt: of hidden ids; default: beside the folder, or beside the release before this one.
        overwrite: replace files of an earlier release that were edited since.

    Returns:
        The manifest as written, with the figures.

    Raises:
        UsageError, InputError: as writing_folder.
        Refusal: the evidence is large, and nobody said how much of it shall travel.
    """
    rows = {split: kept for split, kept in release.rows.items() if kept}
    salt = salt or place_salt(target, None, past.folder if past else None)
    with writing_folder(target, overwrite=overwrite) as folder:
        _write_data(folder, release, rows)
        write_evidence(folder, sources, _naming(release, salt))
        if sources.estimator is not None:
            sources.estimator.write(folder / ESTIMATOR)
        settle_thresholds(folder, rows, _private(release.record))
        if past and release.difference:
            rows_moved = {split: row_map(past.rows.get(split, ()), kept) for split, kept in rows.items()}
            changes = release.difference.model_dump(mode="json") | {"rows": rows_moved}
            write_document(folder / CHANGES, {"from": past.record.version, **changes})
        record, texts = _complete(folder, release.record, rows)
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / name, text)
        write_document(folder / RECORD, record)
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


def _complete(
    folder: Path, record: ReleaseRecord, rows: Mapping[str, Sequence[Row]]
) -> tuple[ReleaseRecord, dict[str, str]]:
    """Put into a manifest what only the written files tell, and seal it; return what follows from it, too."""
    written = {file.relative_to(folder).as_posix(): digest(file).sha256 for file in files(folder)}
    figures = derive_figures(folder, rows, _private(record))
    record = record.model_copy(update={"figures": figures, "files": written})
    texts = derived_files(record, rows, folder)
    return record.model_copy(update={"derived": digest_texts(texts)}).sealed(), texts


def digest_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the sha256 of texts as they are written."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(texts.items())}


def _private(record: ReleaseRecord) -> set[str]:
    return {split for split, count in record.counts.items() if count.private}


def _naming(release: Release, salt: Salt) -> Naming:
    split_of = {row.id: split for split, kept in release.rows.items() for row in kept}
    return Naming(release.record.name, salt, split_of, frozenset(_private(release.record)))


def data_files(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """List the data files of a release, sorted."""
    kinds = (rows_file, parquet_file, kina_file)
    return sorted(kind(split) for split, kept in rows.items() if kept for kind in kinds)


def derived_files(record: ReleaseRecord, rows: Mapping[str, Sequence[Row]], folder: Path) -> dict[str, str]:
    """Write the texts of card, Croissant and harness files.

    Args:
        record: with all but the digests of these texts.
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
    }


def write_rows(folder: Path, rows: Mapping[str, Sequence[Row]], names: Sequence[str]) -> None:
    """Write each split as {split}.jsonl and data/{split}.parquet, all with the same columns."""
    wanted = set(names)
    for split, kept in rows.items():
        with writing(folder / rows_file(split)) as out:
            for row in kept:
                out.write(row.model_dump_json(include=wanted).encode() + b"\n")
        write_parquet(folder / parquet_file(split), kept, names)


def write_kina(path: Path, items: Iterable[Item]) -> None:
    """Write items as KINA's own JSON."""
    with writing(path) as out:
        for part in kina_bytes(items):
            out.write(part)


def kina_bytes(items: Iterable[Item]) -> Iterator[bytes]:
    """Yield the bytes of KINA's own JSON: one list of entries, one a line."""
    encoder = json.JSONEncoder(ensure_ascii=False)
    yield b"["
    for number, item in enumerate(items):
        yield ((",\n" if number else "\n") + encoder.encode(to_kina(item))).encode()
    yield b"\n]\n"
