"""contamination.json: what of the items stands in other corpora, and by what it was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from kina_build.config import DedupRules
from kina_build.dedup.records import Gold, Passage, Record, dump_rows
from kina_build.rows.jsonl import write_text

Finding = Literal["contaminated", "review", "template_sibling", "same_passage"]
"""contaminated: the question stands there, with this key or another, or most of its text does.
review: evidence that a person should weigh. template_sibling, same_passage: as in a pool."""


SHOWN_HITS = 15
"""Hits that a report of contamination holds."""


class Hit(Record):
    """One item and one text of another corpus."""

    item_id: str
    corpus: str
    other_id: str
    """The item there, or the place: row N, of running text line N; in a folder FILE:N."""
    finding: Finding
    rule: str
    """exact, folded, key, strong, template, passage, options, cosine, verbatim or ngram."""
    reason: str
    cosine: float | None
    """To 4 decimals; None where no encoder was asked or the pair was found by letters only."""
    stem_overlap: float
    option_overlap: float
    gold: Gold
    passage: Passage
    ngram_share: float
    """Share of the stem's telling windows that stand in the other text."""
    shared_text: str
    """What stands there, at most 300 characters."""


class Contamination(Record):
    """The result of `kina contamination`."""

    contaminated: tuple[str, ...]
    review: tuple[str, ...]
    """Items with no worse finding than review."""
    clean: int
    """Items with neither."""
    hits: tuple[Hit, ...]
    corpora: dict[str, int]
    """Texts of each corpus: rows, and files of running text."""
    unread: dict[str, int]
    """Rows of a corpus that hold no text, and files that are no text, where there are any."""
    unsearchable: dict[str, str]
    """Items that cannot be found letter for letter, and why."""
    as_text: tuple[str, ...]
    """Corpora looked through letter by letter only: they hold no questions, or too many for memory."""
    counts: dict[str, int]
    """Hits by finding."""
    encoder: str
    revision: str
    threshold: float
    recall: float
    """Share of the near texts found: 1 where the search was exact, else the least measured of a corpus."""
    rules: DedupRules

    @property
    def report(self) -> dict[str, Any]:
        """Return what the command prints, as plain values: the first hits only."""
        document = self.model_dump(mode="json")
        items = len(self.contaminated) + len(self.review) + self.clean
        return {**document, "hits": document["hits"][:SHOWN_HITS], "items": items}

    def write(self, path: Path) -> None:
        """Write contamination.json."""
        write_text(path, dump_rows(self.model_dump(mode="json")))

    def __str__(self) -> str:
        """Say how many items stand elsewhere, as the command does."""
        items = len(self.contaminated) + len(self.review) + self.clean
        return (
            f"{len(self.contaminated)} of {items} items contaminated, "
            f"{len(self.review)} to be reviewed, {self.clean} clean"
        )
