"""The names of a release's files."""

from __future__ import annotations

from kina_build.release.splits import TEST

RECORD = "release.json"
CARD = "README.md"
CROISSANT = "croissant.json"
CHANGES = "changes.json"
SUMS = "SHA256SUMS"


def rows_file(split: str) -> str:
    """Return the name of a split's JSON Lines."""
    return f"{split}.jsonl"


def parquet_file(split: str) -> str:
    """Return the name of a split's parquet file."""
    return f"data/{split}.parquet"


def kina_file(split: str) -> str:
    """Return the name of a split in KINA's own form."""
    return "KINA.json" if split == TEST else f"KINA.{split}.json"
