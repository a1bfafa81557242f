"""Write a release: the folder with everything in it, and private answers beside it."""

from __future__ import annotations

from pathlib import Path

from kina_build.jsonl import write_document, write_records, write_text
from kina_build.release.build import Release
from kina_build.release.card import write_card
from kina_build.release.croissant import describe_release
from kina_build.release.folder import files, write_sums, writing_folder
from kina_build.release.harness import harness_files
from kina_build.release.names import CARD, CHANGES, CROISSANT, RECORD, kina_file
from kina_build.release.plan import Past
from kina_build.release.rows import columns, take_answer, to_item, to_row
from kina_build.release.versions import row_map
from kina_build.release.writers import write_kina, write_rows


def publish(release: Release, target: Path, past: Past | None = None) -> None:
    """Write a release folder whole, or leave what stood there.

    Raises:
        UsageError, InputError: as writing_folder.
    """
    rows = {split: kept for split, kept in release.rows.items() if kept}
    names = columns([row for kept in rows.values() for row in kept])
    with writing_folder(target) as folder:
        write_rows(folder, rows, names)
        for split, kept in rows.items():
            private = release.record.counts[split].private
            items = [to_item(row) for row in kept] if private else release.items[split]
            write_kina(folder / kina_file(split), items)
        data = [file.relative_to(folder).as_posix() for file in files(folder)]
        write_document(folder / CROISSANT, describe_release(release.record, folder, data, names))
        for name, text in harness_files(release.record).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / name, text)
        if past and release.difference:
            rows_moved = {split: row_map(past.rows.get(split, ()), kept) for split, kept in rows.items()}
            changes = release.difference.model_dump(mode="json") | {"rows": rows_moved}
            write_document(folder / CHANGES, {"from": past.record.version, **changes})
        write_text(folder / CARD, write_card(release.record))
        write_document(folder / RECORD, release.record)
        write_sums(folder)


def publish_answers(release: Release, target: Path) -> None:
    """Write the answers of the private splits to one file for its owner only, outside the release folder."""
    private = [split for split, count in release.record.counts.items() if count.private]
    write_records(
        target, (take_answer(to_row(i)) for split in private for i in release.items[split]), private=True
    )
