"""The chance that two items are one question, by the evidence: it orders what people look at.

A logistic model over the evidence of a pair. It decides nothing about copies and conflicts, which follow
from the letters; among pairs that are put to review it says which are likely, and those for
which next to nothing speaks but the encoder are not put there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kina_build.dedup.compare.changes import MEANING
from kina_build.dedup.compare.evidence import Evidence

CLOSE = 0.8
"""Cosine at which the cosine's share of the sum is 0; a tenth above it adds its weight once."""


def features_of(evidence: Evidence) -> dict[str, float]:
    """Return what the model weighs, by name; each is 0 where it says nothing."""
    cosine = evidence.cosine
    meaning = evidence.change in MEANING
    return {
        "always": 1.0,
        "one stem": float(evidence.stems in {"same", "form", "spelling"}),
        "a part": float(evidence.stems == "part"),
        "specific": float(evidence.specific),
        "same answer": float(evidence.gold == "same"),
        "other answer": float(evidence.gold == "different"),
        "telling answer": float(evidence.gold == "same" and evidence.telling_gold),
        "contradicting": float(evidence.contradicting),
        "options": evidence.options_alike,
        "letters": evidence.stem_overlap,
        "words": evidence.token_share,
        "meaning": float(meaning),
        "meaning, same answer": float(meaning and evidence.gold == "same"),
        "cosine": 0.0 if cosine is None else (cosine - CLOSE) / 0.1,
        "no cosine": float(cosine is None),
    }


WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "always": -2.41,
        "one stem": 5.72,
        "a part": 3.08,
        "specific": -0.19,
        "same answer": 0.96,
        "other answer": -0.96,
        "telling answer": 2.72,
        "contradicting": -0.70,
        "options": 0.23,
        "letters": 1.45,
        "words": 0.17,
        "meaning": -2.36,
        "meaning, same answer": -1.98,
        "cosine": -0.20,
        "no cosine": -0.16,
    }
)
"""Fitted by `python -m benchmarks.copies --fit` on planted copies of 27 kinds and pairs that are none
(MMLU-Redux, seeds 30 and 31, each pair with and without its cosine, ridge of 4). The cosine itself
says next to nothing."""

DOUBT = 1.0
"""Standard deviation of how far a pool's own chances lie from these, before people decided about it."""


def log_odds(evidence: Evidence) -> float:
    """Return the logarithm of the odds that two items are one question."""
    return sum(WEIGHTS[name] * value for name, value in features_of(evidence).items())


def probability(evidence: Evidence, shift: float = 0.0) -> float:
    """Return the chance that two items are one question, to 3 decimals.

    Args:
        evidence: of the two, side by side.
        shift: what people's decisions about this pool add to the log odds.
    """
    return round(_chance(log_odds(evidence) + shift), 3)


def learn_shift(odds: Sequence[float], same: Iterable[bool]) -> float:
    """Learn from pairs that people decided how far this pool's odds lie from the fitted ones.

    Args:
        odds: log odds of each pair.
        same: whether people called it one question.

    Returns:
        The likeliest shift, 0 where nothing was decided (Newton's method on one number; prior of DOUBT).
    """
    shift, said = 0.0, list(same)
    for _ in range(25):
        chances = [_chance(one + shift) for one in odds]
        slope = sum(said) - sum(chances) - shift / DOUBT**2
        bend = sum(chance * (1 - chance) for chance in chances) + 1 / DOUBT**2
        shift += slope / bend
    return shift


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-500.0, min(500.0, odds))))
