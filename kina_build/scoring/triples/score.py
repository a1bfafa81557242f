"""Knowledge-base completion scores: LM-KBC 2023 as published, and other readings.

The default reproduces the challenge's evaluation script (lm-kbc/dataset2023 after its fix
of 25 July 2023) to the last digit, oddities included: repeats each count as found, so that
recall and F1 can pass 1. The leaderboard used a private gold and cannot be reproduced.
Mode lm-kbc-2024 follows the next year's script (lm-kbc/dataset2024): sets, and a headline
that is the mean over all pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError
from kina_build.rows.jsonl import canonical
from kina_build.scoring.lists.match import Quality, mean_quality, pair_up, quality

Mode = Literal[
    "lm-kbc-2023",
    "lm-kbc-2023-before-fix",
    "lm-kbc-2024",
    "lm-kbc-2025",
    "lm-kbc-2026",
    "strict",
    "seed-recipe",
]
MODES: tuple[str, ...] = get_args(Mode)

NONE_OBJECTS: tuple[list[Any], ...] = ([], [""])
"""Object lists that say: there is none."""


class TripleRow(BaseModel):
    """One subject and relation with its objects, as LM-KBC files write it."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    subject: str = Field(alias="SubjectEntity")
    relation: str = Field(alias="Relation")
    object_ids: list[Any] | None = Field(alias="ObjectEntitiesID")
    """QIDs, numbers as text, or [""] for none."""
    object_labels: list[Any] | None = Field(None, alias="ObjectEntities")

    @property
    def key(self) -> tuple[str, str]:
        """Return (subject label, relation): what the official script matches rows by."""
        return self.subject, self.relation


@dataclass(frozen=True)
class PairScore:
    """The score of one (subject, relation) pair."""

    subject: str
    relation: str
    quality: Quality
    repeats: int
    """Predicted entries that say again what an earlier one said."""


@dataclass(frozen=True)
class TripleScores:
    """All scores of one prediction file against one gold file."""

    mode: Mode
    relations: Mapping[str, tuple[int, Quality]]
    """Relation to (number of pairs, its row), sorted by name."""
    macro: Quality
    """Mean of the relation rows, in lm-kbc-2024 of all pairs: the challenge's headline."""
    instance_macro: Quality
    """Mean over all pairs."""
    micro: Quality
    """Of the pooled counts of all pairs, on sets."""
    zero_object: Quality
    """How well "there is none" is told: P, R, F1 of predicting an empty list."""
    pairs: tuple[PairScore, ...]
    repeats: int
    """Repeated predicted entries, over all pairs."""
    gold_repeated: int
    """Gold rows that a later row with the same key replaced."""
    ignored: int
    """Prediction rows whose pair is not in the gold."""


def score_triples(
    predictions: Sequence[TripleRow],
    gold: Sequence[TripleRow],
    mode: Mode = "lm-kbc-2023",
    relative_tolerance: float | None = None,
) -> TripleScores:
    """Score predicted objects against gold objects.

    Args:
        predictions: one row a pair; of repeated pairs the last counts.
        gold: likewise.
        mode: lm-kbc-2023, lm-kbc-2023-before-fix, lm-kbc-2024 (sets, "" an entry like any
            other), strict (sets without "", each gold found once), or seed-recipe (counts
            pooled by relation on sets, "" an entry like any other).
        relative_tolerance: in strict mode, numbers within this share of the gold number fit it.

    Raises:
        InputError: a pair of the gold has no prediction.
    """
    said = {row.key: row for row in predictions}
    truth = {row.key: row for row in gold}
    missing = [key for key in truth if key not in said]
    if missing:
        subject, relation = missing[0]
        raise InputError(
            f"no prediction for subject {subject!r}, relation {relation!r} ({len(missing)} such pairs)",
            hint="each pair of the gold needs a row; write an empty list where nothing is predicted",
        )
    rate = _rater(mode, relative_tolerance)
    pairs = tuple(
        PairScore(
            *key,
            rate(said[key].object_ids, truth[key].object_ids or []),
            _repeats(said[key].object_ids or []),
        )
        for key in sorted(truth)
    )
    relations = _relation_rows(pairs, said, truth, mode)
    by_relation = mean_quality([row for _, row in relations.values()])
    by_pair = mean_quality([pair.quality for pair in pairs])
    return TripleScores(
        mode=mode,
        relations=relations,
        macro=by_pair if mode == "lm-kbc-2024" else by_relation,
        instance_macro=by_pair,
        micro=_pooled([_counts(said[key], truth[key]) for key in truth], empty=float(mode == "lm-kbc-2024")),
        zero_object=_zero_object(said, truth),
        pairs=pairs,
        repeats=sum(pair.repeats for pair in pairs),
        gold_repeated=len(gold) - len(truth),
        ignored=sum(key not in truth for key in said),
    )


def rate_official(predicted: list[Any] | None, gold: list[Any], *, fixed: bool = True) -> Quality:
    """Rate one pair as the challenge's script does.

    Args:
        predicted: entries as predicted; None rates 0.
        gold: entries of the gold.
        fixed: recall is 1 where the gold says "none" (since 25 July 2023).
    """
    none_expected = fixed and gold in NONE_OBJECTS
    if predicted is None:
        return quality(0.0, 1.0 if none_expected else 0.0)
    found = sum(entry in gold for entry in predicted)
    p = found / len(predicted) if predicted else 1.0
    r = 1.0 if none_expected else (found / len(gold) if gold else 0.0)
    return quality(p, r)


def rate_2024(predicted: list[Any] | None, gold: list[Any]) -> Quality:
    """Rate one pair as the script of 2024 does: on sets, recall 1 where the gold is empty.

    Args:
        predicted: entries as predicted; None, which that script does not know, rates 0.
        gold: entries of the gold; [""] is an entry.
    """
    said, truth = ({canonical(entry) for entry in entries} for entries in (predicted or [], gold))
    found = len(said & truth)
    r = found / len(truth) if truth else 1.0
    return quality(0.0 if predicted is None else found / len(said) if said else 1.0, r)


def rate_strict(
    predicted: list[Any] | None, gold: list[Any], relative_tolerance: float | None = None
) -> Quality:
    """Rate one pair on sets without "", each gold found at most once.

    Two empty sets rate 1; an empty prediction has precision 1, an empty gold recall 1.
    None is not an empty prediction: its precision is 0.
    """
    said, truth = _entries(predicted or []), _entries(gold)
    fits = [
        [place for place, entry in enumerate(truth) if _fits(one, entry, relative_tolerance)] for one in said
    ]
    found = sum(gold_place >= 0 for gold_place in pair_up(fits, len(truth)))
    r = found / len(truth) if truth else 1.0
    return quality(0.0 if predicted is None else found / len(said) if said else 1.0, r)


def _rater(mode: Mode, tolerance: float | None) -> Callable[[list[Any] | None, list[Any]], Quality]:
    if mode == "lm-kbc-2024":
        return rate_2024
    if mode in ("strict", "seed-recipe"):
        return lambda predicted, gold: rate_strict(predicted, gold, tolerance)
    return lambda predicted, gold: rate_official(predicted, gold, fixed=mode == "lm-kbc-2023")


def _entries(objects: list[Any]) -> list[Any]:
    """Return the distinct entries that name something."""
    return list({canonical(entry): entry for entry in objects if entry != ""}.values())


def _fits(predicted: Any, gold: Any, relative_tolerance: float | None) -> bool:
    if predicted == gold:
        return True
    if relative_tolerance is None:
        return False
    try:
        return abs(float(predicted) - float(gold)) <= relative_tolerance * abs(float(gold))
    except (TypeError, ValueError):
        return False


def _repeats(objects: list[Any]) -> int:
    return len(objects) - len({canonical(entry) for entry in objects})


def _counts(said: TripleRow, truth: TripleRow) -> tuple[int, int, int]:
    """Return (found, predicted, gold) of one pair on sets in which "" is an entry."""
    predicted = {canonical(entry) for entry in said.object_ids or []}
    gold = {canonical(entry) for entry in truth.object_ids or []}
    return len(predicted & gold), len(predicted), len(gold)


def _pooled(counts: Sequence[tuple[int, int, int]], empty: float = 0.0) -> Quality:
    """Return P and R of summed counts; `empty` is the value of either over nothing."""
    found, predicted, gold = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return quality(found / predicted if predicted else empty, found / gold if gold else empty)


def _relation_rows(
    pairs: Sequence[PairScore],
    said: Mapping[tuple[str, str], TripleRow],
    truth: Mapping[tuple[str, str], TripleRow],
    mode: Mode,
) -> dict[str, tuple[int, Quality]]:
    rows: dict[str, tuple[int, Quality]] = {}
    for relation, n in sorted(Counter(pair.relation for pair in pairs).items()):
        own = [pair for pair in pairs if pair.relation == relation]
        if mode == "seed-recipe":
            keys = [(pair.subject, pair.relation) for pair in own]
            rows[relation] = n, _pooled([_counts(said[key], truth[key]) for key in keys])
        else:
            rows[relation] = n, mean_quality([pair.quality for pair in own])
    return rows


def _zero_object(
    said: Mapping[tuple[str, str], TripleRow], truth: Mapping[tuple[str, str], TripleRow]
) -> Quality:
    expected = {key for key, row in truth.items() if (row.object_ids or []) in NONE_OBJECTS}
    predicted = {key for key in truth if (said[key].object_ids or []) in NONE_OBJECTS}
    both = len(expected & predicted)
    return quality(both / len(predicted) if predicted else 0.0, both / len(expected) if expected else 0.0)
