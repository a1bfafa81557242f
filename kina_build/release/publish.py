"""Write a release: the folder with everything in it, and private answers beside it."""

from __future__ import annotations

from pathlib import Path

from kina_build.jsonl import write_document, write_text
from kina_build.release.build import Release
from kina_build.release.card import write_card
from kina_build.release.folder import RECORD, write_sums, writing_folder
from kina_build.release.splits import TEST
from kina_build.release.writers import write_answers, write_kina, write_rows


def publish(release: Release, target: Path) -> None:
    """Write a release folder whole, or leave what stood there.

    Raises:
        UsageError, InputError: as writing_folder.
    """
    record = release.record
    with writing_folder(target) as folder:
        write_rows(folder, dict(release.rows))
        for split, items in release.items.items():
            write_kina(folder / kina_name(split), items, private=record.counts[split].private)
        write_text(folder / "README.md", write_card(record))
        write_document(folder / RECORD, record)
        write_sums(folder)


def publish_answers(release: Release, target: Path) -> None:
    """Write the answers of the private splits to one file, outside the release folder."""
    private = [s for s, count in release.record.counts.items() if count.private]
    write_answers(target, [item for split in private for item in release.items[split]])


def kina_name(split: str) -> str:
    """Return the file name of a split in KINA's own form."""
    return "KINA.json" if split == TEST else f"KINA.{split}.json"
