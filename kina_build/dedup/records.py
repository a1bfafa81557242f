"""duplicates.json and contamination.json: what was compared, what was found, what follows and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from kina_build.config import DedupRules
from kina_build.rows.jsonl import write_text

Status = Literal["duplicate", "conflict", "review", "close", "template_sibling", "same_passage", "distinct"]
"""duplicate: the same question with the same key, one of the two is dropped.
conflict: the same question with another key, both are held until a person decides.
review: evidence that a person should weigh; both are kept.
close: the encoder alone finds them alike; put to nobody, but not selected together.
template_sibling: one template, another number, name, sign or word; not a copy.
same_passage: another question about the same passage; not a copy.
distinct: looked alike, is another question; counted, not listed."""


Gold = Literal["same", "different", "unknown"]
Passage = Literal["none", "same", "different", "one_missing"]


class Record(BaseModel):
    """Base of the records here: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DuplicatePair(Record):
    """Two items that look alike, the evidence, and what it comes to."""

    item_id: str
    """The smaller of the two ids."""
    other_id: str
    cosine: float | None
    """Of the encoded texts, to 4 decimals; None where no encoder was asked."""
    stem_overlap: float
    """Jaccard overlap of the stems' character 3-grams."""
    option_overlap: float
    """Jaccard overlap of the option texts as sets."""
    gold: Gold
    """Whether the right answers read the same."""
    passage: Passage
    changed: tuple[str, ...]
    """Tokens of one stem that the other lacks, "-" of the first, "+" of the second; at most 12."""
    cross_discipline: bool
    """Whether the two are filed under different paths."""
    status: Status
    rule: str
    """The rule that decided: exact, folded, key, strong, template, passage, options, cosine,
    cross_lingual or override."""
    reason: str
    probability: float | None = None
    """Chance that the two are one question, by the evidence (`kina_build.dedup.compare.probability`): of
    pairs that are put to review, and of close ones. Not written for others."""

    @model_serializer(mode="wrap")
    def _leave_out(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = dump(self)
        if self.probability is None:
            told.pop("probability", None)
        return told


def chance_of(pair: DuplicatePair) -> float:
    """Return by what pairs are ordered for people: their chance, or, where it is not told, the cosine."""
    return (pair.cosine or 0.0) if pair.probability is None else pair.probability


class Dropped(Record):
    """An item left out, and the kept item that stands for it."""

    item_id: str
    kept_id: str
    """Empty where a person dropped the item for itself."""
    rule: str
    reason: str
    score: float | None
    """Cosine to the kept item."""


class Held(Record):
    """An item that is neither kept nor dropped until a person decides."""

    item_id: str
    other_ids: tuple[str, ...]
    """The items its key is at odds with, or copies of those."""
    reason: str


class Cluster(Record):
    """Items that hang together: copies of one another, or candidates for a person to look at."""

    item_ids: tuple[str, ...]
    status: Literal["duplicate", "conflict", "review"]
    kept: tuple[str, ...]
    lowest_cosine: float | None
    """The least cosine among all pairs of members, compared or not."""
    chain: tuple[str, ...]
    """The way between the two members farthest apart; empty where every two are linked directly."""
    cross_discipline: bool
    """Whether the same item is filed under several paths."""
    needs_decision: bool
    """Whether a person must still choose: keys at odds, or the path of a twice-filed item."""
    paths: tuple[str, ...]


class Approximation(Record):
    """What --near fast encoded, and how many close pairs that can have missed."""

    passed: int
    """Items that share enough words with another one to be encoded."""
    encoded: int
    """Items encoded, those of the sample included."""
    sampled: int
    """Items left out that were encoded to see what is missed."""
    seen: int
    """Close pairs that only the sample showed; they are in the result."""
    missed: float
    """Estimate of the close pairs that are missed still."""
    missed_most: int
    """Upper bound on them, right in 95 of 100 samples."""
    recall: float
    """Share of the close pairs that are found, by the estimate."""


class Duplicates(Record):
    """The result of `kina dedup`."""

    kept: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    held: tuple[Held, ...]
    clusters: tuple[Cluster, ...]
    pairs: tuple[DuplicatePair, ...]
    conflict_edges: tuple[tuple[str, str], ...]
    """Pairs that selection must not take together."""
    counts: dict[str, int]
    """Pairs looked at, by status; "distinct" ones are only counted."""
    unused_overrides: tuple[str, ...]
    """Overrides that name no item of this pool."""
    skipped_groups: int
    """Lexical groups too large to be compared pair by pair."""
    encoder: str
    """Empty where no encoder was asked."""
    revision: str
    dimension: int
    unknown_rate: float
    """Share of tokens the encoder does not know."""
    threshold: float
    rules: DedupRules
    groups: tuple[tuple[str, ...], ...] = ()
    """More than rules.equal_listed items of one text with equal options and key: pairs and edges name each
    only with the first, and what they say of the first holds for all. Not written where there are none."""
    fast: Approximation | None = None
    """What --near fast left out; not written where every item was encoded."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the counts that the command prints, as plain values."""
        return {
            "items": len(self.kept) + len(self.dropped) + len(self.held),
            "kept": len(self.kept),
            "dropped": len(self.dropped),
            "held": len(self.held),
            "pairs": self.counts,
            "conflict_edges": len(self.conflict_edges),
            **({"review": self._review()} if "review" in self.counts or "close" in self.counts else {}),
            "clusters": {
                status: sum(cluster.status == status for cluster in self.clusters)
                for status in ("conflict", "duplicate", "review")
            },
            "need_decision": [list(cluster.item_ids) for cluster in self.clusters if cluster.needs_decision],
            "encoder": self.encoder,
            "revision": self.revision,
            "dimension": self.dimension,
            "unknown_rate": self.unknown_rate,
            "threshold": self.threshold,
            "unused_overrides": list(self.unused_overrides),
            **({} if self.fast is None else {"fast": self.fast.model_dump(mode="json")}),
        }

    def _review(self) -> dict[str, Any]:
        """Say how many copies are put to review, and how many are not, by the chance of each pair."""
        found = {
            status: [pair.probability for pair in self.pairs if pair.status == status]
            for status in ("review", "close")
        }
        expected, left = (sum(one for one in chances if one is not None) for chances in found.values())
        return {
            "pairs": len(found["review"]),
            "expected_copies": round(expected, 1),
            "precision": round(expected / len(found["review"]), 3) if found["review"] else None,
            "recall": round(expected / (expected + left), 3) if expected + left else None,
        }

    def write(self, path: Path) -> None:
        """Write duplicates.json."""
        unused = {name for name in ("groups", "fast") if not getattr(self, name)}
        write_text(path, dump_rows(self.model_dump(mode="json", exclude=unused)))

    def __str__(self) -> str:
        """Say how many items stay, as the command does."""
        return (
            f"{len(self.kept)} of {self.report['items']} items kept: {len(self.dropped)} dropped as copies, "
            f"{len(self.held)} held for a decision"
        )


def dump_line(value: Any) -> str:
    """Write one value on one line, keys in the order of the record."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def dump_rows(document: dict[str, Any]) -> str:
    """Write a document as JSON with one line a row of each list, so that large ones stay readable."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n".join("  " + dump_line(row) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {dump_line(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
