"""What kind of mistake a wrong triple is: not known, or known and linked to the wrong thing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kina_build.items.text import fold_stem
from kina_build.scoring.triples.score import TripleRow

MistakeKind = Literal["disambiguation", "unlinked", "knowledge", "missed"]

QID = re.compile(r"Q[1-9]\d*")


@dataclass(frozen=True)
class Mistake:
    """One predicted or missed object."""

    subject: str
    relation: str
    kind: MistakeKind
    """disambiguation: right label, wrong id; unlinked: no id was found for the label;
    knowledge: another thing altogether; missed: a gold that nothing predicted named."""
    label: str
    predicted_id: str | None
    gold_id: str | None


def find_mistakes(predictions: Sequence[TripleRow], gold: Sequence[TripleRow]) -> list[Mistake]:
    """List all mistakes, sorted by relation and subject.

    A label is compared without regard to case and blanks. Where a row has as many labels as
    ids, they belong together in order; otherwise only ids can be compared.
    """
    said = {row.key: row for row in predictions}
    truth = {row.key: row for row in gold}
    found: list[Mistake] = []
    for key in sorted(truth, key=lambda pair: (pair[1], pair[0])):
        if key in said:
            found += _of_pair(said[key], truth[key])
    return found


def count_mistakes(mistakes: Sequence[Mistake]) -> dict[str, dict[str, int]]:
    """Count mistakes by kind for each relation, and for all of them under "all"."""
    table: dict[str, Counter[str]] = {"all": Counter()}
    for mistake in mistakes:
        table["all"][mistake.kind] += 1
        table.setdefault(mistake.relation, Counter())[mistake.kind] += 1
    return {relation: dict(sorted(counts.items())) for relation, counts in table.items()}


def _of_pair(said: TripleRow, truth: TripleRow) -> list[Mistake]:
    gold_by_label = {fold_stem(label): qid for qid, label in _labelled(truth).items() if label}
    gold_ids = {str(entry) for entry in truth.object_ids or [] if entry != ""}
    predicted = _labelled(said)
    found: list[Mistake] = []
    confused: set[str] = set()
    for entry, label in predicted.items():
        if entry in gold_ids:
            continue
        meant = gold_by_label.get(fold_stem(label or entry))
        if meant is not None:
            confused.add(meant)
        kind: MistakeKind = (
            "unlinked" if not QID.fullmatch(entry) else "knowledge" if meant is None else "disambiguation"
        )
        found.append(Mistake(*truth.key, kind, label or entry, entry, meant))
    labels = _labelled(truth)
    unnamed = sorted(gold_ids - set(predicted) - confused)
    return found + [
        Mistake(*truth.key, "missed", labels.get(entry) or entry, None, entry) for entry in unnamed
    ]


def _labelled(row: TripleRow) -> Mapping[str, str]:
    """Return id -> label; labels are empty where they cannot be told apart."""
    ids: list[Any] = [entry for entry in row.object_ids or [] if entry != ""]
    labels = [label for label in row.object_labels or [] if label != ""]
    aligned = labels if len(labels) == len(ids) else [""] * len(ids)
    return {str(entry): str(label) for entry, label in zip(ids, aligned, strict=True)}
