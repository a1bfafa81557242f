"""Mark files of LM-KBC rows, and say what kind of mistake each wrong triple is.

A wrong triple was either not known, or known and linked to the wrong thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.errors import UsageError
from kina_build.items.text import fold_stem
from kina_build.rows.jsonl import read_records, write_records
from kina_build.scoring.options import ScoreOptions
from kina_build.scoring.triples.score import MODES, Mode, TripleRow, TripleScores, score_triples
from kina_build.scoring.triples.years import YEARS, NamedTriples, refuse_other_year, score_names

MistakeKind = Literal["disambiguation", "unlinked", "knowledge", "missed"]

QID = re.compile(r"Q[1-9]\d*")


@dataclass(frozen=True)
class MarkedTriples:
    """Scores of predicted triples, and counts of the mistakes among them."""

    scores: TripleScores
    mode: str
    mistakes: Mapping[str, Mapping[str, int]]
    """Relation, and "all", -> kind -> objects."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina score --task triples --json` prints."""
        scores = self.scores
        return {
            "task": "triples",
            "mode": self.mode,
            "macro": asdict(scores.macro),
            "relations": {name: {"n": n, **asdict(row)} for name, (n, row) in scores.relations.items()},
            "instance_macro": asdict(scores.instance_macro),
            "micro": asdict(scores.micro),
            "zero_object": asdict(scores.zero_object),
            "mistakes": dict(self.mistakes),
            "not_scored": {
                "repeats": scores.repeats,
                "gold_rows_replaced": scores.gold_repeated,
                "predictions_without_gold": scores.ignored,
            },
        }

    def write(self, path: Path) -> None:
        """Write one row a pair."""
        write_records(
            path,
            (
                {"subject": pair.subject, "relation": pair.relation, "score": min(1.0, pair.quality.f1)}
                | asdict(pair.quality)
                for pair in self.scores.pairs
            ),
        )


def mark_triples(options: ScoreOptions) -> MarkedTriples:
    """Mark the LM-KBC rows that the options name.

    Raises:
        UsageError: no such mode, or a tolerance that the mode has no use for.
        InputError, RowErrors: files that cannot be read, or a pair without a prediction.
    """
    if options.mode not in MODES:
        raise UsageError(f"--mode {options.mode}: no such mode", hint=", ".join(MODES))
    if options.relative_tolerance is not None and options.mode != "strict":
        raise UsageError("--relative-tolerance belongs to --mode strict")
    mode: Mode = options.mode  # type: ignore[assignment]
    if mode in YEARS:
        named = [read_records(path or Path(), NamedTriples) for path in (options.predictions, options.gold)]
        return MarkedTriples(score_names(named[0], named[1], mode), mode, count_mistakes([]))
    said = read_records(options.predictions or Path(), TripleRow)
    truth = read_records(options.gold or Path(), TripleRow)
    refuse_other_year((row.relation for row in truth), mode)
    scores = score_triples(said, truth, mode, options.relative_tolerance)
    return MarkedTriples(scores, mode, count_mistakes(find_mistakes(said, truth)))


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
