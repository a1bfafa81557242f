"""Write docs/rules.md from the rule table and the findings that were read: python -m benchmarks.rules."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from kina_build.items.checking.rulebook import rules_page

ROOT = Path(__file__).resolve().parent.parent
PRECISION = ROOT / "tests/items/precision.csv"
"""Findings on public files, drawn by seed and read by eye: rule, file, item_id, field, verdict, reason."""
PAGE = ROOT / "docs/rules.md"


def read_precision(path: Path = PRECISION) -> dict[str, tuple[int, int]]:
    """Return for each rule how many findings were right, of how many that were read."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(row["rule"], row["verdict"]) for row in csv.DictReader(file)]
    read = Counter(rule for rule, _ in rows)
    right = Counter(rule for rule, verdict in rows if verdict == "right")
    return {rule: (right[rule], count) for rule, count in read.items()}


def write_page() -> str:
    """Return the page as it should be."""
    return rules_page(read_precision())


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
