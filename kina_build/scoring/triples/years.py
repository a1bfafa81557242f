"""LM-KBC of 2025 and 2026: names and numbers in place of ids, and which year a file is of.

Written from the challenge's public scripts. Both take the mean over pairs, let numbers differ by
5 %, and give precision 1 to an empty prediction and recall 1 to an empty gold. In 2025 entries are
compared as they stand, and several predicted numbers may meet one gold; in 2026 a gold is a list of
aliases, names are normalised, and each prediction meets one gold at most.
"""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError, UsageError
from kina_build.scoring.lists.match import Quality, mean_quality, pair_up, quality
from kina_build.scoring.triples.score import NONE_OBJECTS, Mode, PairScore, TripleScores

NUMERIC = frozenset({"hasCapacity", "hasArea"})
"""Relations whose objects are numbers."""

TOLERANCE = 0.05
"""Share of the gold number that a predicted one may be off."""

LATER_RELATIONS = frozenset(
    {
        "awardWonBy",
        "companyTradesAtStockExchange",
        "countryLandBordersCountry",
        "hasArea",
        "hasCapacity",
        "personHasCityOfDeath",
        "seriesHasNumberOfEpisodes",
    }
)
"""Relations of 2024 and later; 2023 has none of them."""

YEARS: frozenset[Mode] = frozenset({"lm-kbc-2025", "lm-kbc-2026"})

Counts = tuple[int, int, int]
"""(found, predicted, gold)."""


class NamedTriples(BaseModel):
    """One subject and relation with its objects by name, as files of 2025 and 2026 write it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    subject: str = Field(alias="SubjectEntity")
    relation: str = Field(alias="Relation")
    objects: list[Any] | None = Field(alias="ObjectEntities")
    """Names or numbers as text; in a gold of 2026 a list of aliases each."""

    @property
    def key(self) -> tuple[str, str]:
        """Return (subject label, relation)."""
        return self.subject, self.relation


def refuse_other_year(relations: Iterable[str], mode: Mode) -> None:
    """Refuse files of a later year under the rule of 2023, whose figures they would not be.

    Raises:
        UsageError: all relations are those of 2024 and later, and the mode is one of 2023.
    """
    found = set(relations)
    if found and found <= LATER_RELATIONS and mode in ("lm-kbc-2023", "lm-kbc-2023-before-fix"):
        raise UsageError(
            f"--mode {mode}: the relations are those of LM-KBC 2024 and later, as {min(found)}",
            hint="--mode lm-kbc-2024, lm-kbc-2025 or lm-kbc-2026, by the year of the files; or strict",
        )


def score_names(
    predictions: Sequence[NamedTriples], gold: Sequence[NamedTriples], mode: Mode
) -> TripleScores:
    """Score predicted objects as the challenge of 2025 or 2026 does.

    Args:
        predictions: one row a pair; of repeated pairs the last counts.
        gold: likewise.
        mode: lm-kbc-2025 or lm-kbc-2026.

    Raises:
        InputError: a pair of the gold has no prediction, which the public scripts take for an empty one.
    """
    said, truth = {row.key: row for row in predictions}, {row.key: row for row in gold}
    missing = [key for key in truth if key not in said]
    if missing:
        subject, relation = missing[0]
        raise InputError(
            f"no prediction for subject {subject!r}, relation {relation!r} ({len(missing)} such pairs)",
            hint="each pair of the gold needs a row; write an empty list where nothing is predicted",
        )
    count = _count_2025 if mode == "lm-kbc-2025" else _count_2026
    counts = {key: count(said[key], truth[key]) for key in sorted(truth)}
    pairs = tuple(
        PairScore(*key, _rate(counts[key], said[key].objects is None), _repeats(said[key])) for key in counts
    )
    relations = {
        relation: (n, mean_quality([pair.quality for pair in pairs if pair.relation == relation]))
        for relation, n in sorted(Counter(pair.relation for pair in pairs).items())
    }
    mean = mean_quality([pair.quality for pair in pairs])
    found, predicted, golds = (
        (sum(column) for column in zip(*counts.values(), strict=True)) if counts else (0, 0, 0)
    )
    return TripleScores(
        mode=mode,
        relations=relations,
        macro=mean,
        instance_macro=mean,
        micro=quality(found / predicted if predicted else 1.0, found / golds if golds else 1.0),
        zero_object=_zero_object(said, truth),
        pairs=pairs,
        repeats=sum(pair.repeats for pair in pairs),
        gold_repeated=len(gold) - len(truth),
        ignored=sum(key not in truth for key in said),
    )


def _rate(counts: Counts, unread: bool) -> Quality:
    found, predicted, golds = counts
    return quality(
        0.0 if unread else found / predicted if predicted else 1.0, found / golds if golds else 1.0
    )


def _repeats(row: NamedTriples) -> int:
    said = [one for one in row.objects or [] if isinstance(one, str)]
    return len(said) - len(set(said))


def _count_2025(said: NamedTriples, truth: NamedTriples) -> Counts:
    """Count on sets of entries as they stand; any predicted number near any gold one is found."""
    predicted = sorted({one for one in said.objects or [] if isinstance(one, str)})
    golds = sorted({one for one in truth.objects or [] if isinstance(one, str)})
    if truth.relation not in NUMERIC:
        return sum(one.strip() in golds for one in predicted), len(predicted), len(golds)
    numbers = [number for one in golds if (number := _number(one)) is not None]
    found = sum(
        any(_near(number, gold) for gold in numbers)
        for one in predicted
        if (number := _number(one)) is not None
    )
    return found, len(predicted), len(golds)


def _count_2026(said: NamedTriples, truth: NamedTriples) -> Counts:
    """Count one to one; a gold is met by any of its aliases, whatever case, accents and punctuation."""
    golds = [one if isinstance(one, list) else [one] for one in truth.objects or []]
    predicted = _distinct(said.objects or [])
    fits: list[list[int]]
    if truth.relation in NUMERIC:
        numbers = [_number(aliases[0]) if aliases else None for aliases in golds]
        return _first_fit([_number(one) for one in predicted], numbers), len(predicted), len(golds)
    names = [{_normalised(alias) for alias in aliases if isinstance(alias, str)} for aliases in golds]
    fits = [[place for place, own in enumerate(names) if _normalised(one) in own] for one in predicted]
    return sum(place >= 0 for place in pair_up(fits, len(golds))), len(predicted), len(golds)


def _distinct(objects: Sequence[Any]) -> list[str]:
    """Return predicted texts, of a list its first, each once by its normalised form."""
    firsts = [one[0] if isinstance(one, list) and one else one for one in objects]
    kept: dict[str, str] = {}
    for one in firsts:
        if isinstance(one, str):
            kept.setdefault(_normalised(one), one)
    return list(kept.values())


def _first_fit(predicted: Sequence[float | None], golds: Sequence[float | None]) -> int:
    taken: set[int] = set()
    for number in predicted:
        place = next(
            (
                place
                for place, gold in enumerate(golds)
                if number is not None and gold and place not in taken and _near(number, gold)
            ),
            None,
        )
        if place is not None:
            taken.add(place)
    return len(taken)


def _near(number: float, gold: float) -> bool:
    """Tell whether a number is within the tolerance of a gold one, which is above 0 in these files."""
    return gold > 0 and abs(number - gold) / gold <= TOLERANCE


def _number(text: Any) -> float | None:
    try:
        return float(text.replace(",", "").strip())
    except (ValueError, AttributeError):
        return None


def _normalised(name: str) -> str:
    """Return a name without case, accents and ASCII punctuation, blanks folded."""
    plain = unicodedata.normalize("NFKD", name.strip().lower())
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return " ".join(plain.translate(_BLANKS).split())


_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))


def _zero_object(
    said: Mapping[tuple[str, str], NamedTriples], truth: Mapping[tuple[str, str], NamedTriples]
) -> Quality:
    none: Callable[[NamedTriples], bool] = lambda row: (row.objects or []) in NONE_OBJECTS  # noqa: E731
    expected = {key for key, row in truth.items() if none(row)}
    predicted = {key for key in truth if none(said[key])}
    both = len(expected & predicted)
    return quality(both / len(predicted) if predicted else 0.0, both / len(expected) if expected else 0.0)
