"""Choose the threshold from pairs that people labelled."""

from __future__ import annotations

from collections.abc import Sequence

from kina_build.config import DedupRules
from kina_build.dedup.encoded import EncodedPool
from kina_build.dedup.records import Record
from kina_build.dedup.search.candidates import cosines_of
from kina_build.errors import InputError, Refusal, UsageError


class LabelledPair(Record):
    """One row of the labels file."""

    item_id: str
    other_id: str
    duplicate: bool


class ThresholdPoint(Record):
    """How one threshold does on the labelled pairs."""

    threshold: float
    found: int
    """Labelled pairs whose cosine reaches it."""
    recall: float
    """Share of the labelled duplicates among them."""
    precision: float
    """Share of them that are duplicates."""


class ThresholdChoice(Record):
    """The threshold that was chosen and what it was weighed against."""

    chosen: ThresholdPoint
    recall_floor: float
    pairs: int
    duplicates: int
    default: ThresholdPoint
    """The configured threshold on the same pairs."""
    points: tuple[ThresholdPoint, ...]
    """Every threshold at which anything changes, from high to low."""


def choose_for_corpus(
    labels: Sequence[LabelledPair], corpus: EncodedPool, rules: DedupRules = DedupRules()
) -> ThresholdChoice:
    """Choose a threshold by the cosines that labelled pairs have in a corpus.

    Raises:
        UsageError: the corpus was not encoded.
        InputError: a label names an item that is not there.
        Refusal: no pair is labelled a duplicate, or none of them has a positive cosine.
    """
    if corpus.vectors is None:
        raise UsageError("a threshold is a cosine: --labels needs an encoder")
    rows = corpus.rows
    absent = sorted({name for label in labels for name in (label.item_id, label.other_id)} - rows.keys())
    if absent:
        raise InputError(f"labelled item {absent[0]!r} is not in the pool ({len(absent)} such ids)")
    cosines = cosines_of(corpus.vectors, [(rows[label.item_id], rows[label.other_id]) for label in labels])
    return choose_threshold(cosines.tolist(), [label.duplicate for label in labels], rules)


def choose_threshold(
    cosines: Sequence[float], labels: Sequence[bool], rules: DedupRules = DedupRules()
) -> ThresholdChoice:
    """Take the largest threshold that still finds enough of the labelled duplicates.

    Args:
        cosines: of the labelled pairs, rounded to 4 decimals.
        labels: whether each pair is a duplicate.
        rules: least recall, and the configured threshold to compare with.

    Raises:
        Refusal: no pair is labelled a duplicate, or none of them has a positive cosine.
    """
    duplicates = sum(labels)
    if not duplicates:
        raise Refusal(
            "no labelled pair is a duplicate: recall has no meaning",
            hint="label some pairs that are; `kina dedup` lists candidates under pairs",
        )
    points = [_point(level, cosines, labels) for level in sorted(set(cosines), reverse=True) if level > 0]
    enough = [point for point in points if point.recall >= rules.recall_floor]
    if not enough:
        raise Refusal(f"no positive threshold reaches a recall of {rules.recall_floor}")
    return ThresholdChoice(
        chosen=enough[0],
        recall_floor=rules.recall_floor,
        pairs=len(labels),
        duplicates=duplicates,
        default=_point(rules.threshold, cosines, labels),
        points=tuple(points),
    )


def _point(level: float, cosines: Sequence[float], labels: Sequence[bool]) -> ThresholdPoint:
    found = [label for cosine, label in zip(cosines, labels, strict=True) if cosine >= level]
    return ThresholdPoint(
        threshold=level,
        found=len(found),
        recall=round(sum(found) / max(1, sum(labels)), 4),
        precision=round(sum(found) / len(found), 4) if found else 0.0,
    )
