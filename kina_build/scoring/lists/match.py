"""How many names of a reply stand for a gold, one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from kina_build.scoring.lists.normalise import Form, safe_tiers, tier_one

Matching = Literal["maximum", "greedy"]
MATCHINGS: tuple[str, ...] = get_args(Matching)


@dataclass(frozen=True)
class Matched:
    """The outcome for one question."""

    predicted: tuple[str, ...]
    """Distinct names, sorted."""
    golds: tuple[tuple[str, ...], ...]
    """Distinct golds, each with its names, sorted."""
    pairs: tuple[tuple[int, int], ...]
    """(predicted, gold) places."""
    repeats: int
    """Names said again."""

    @property
    def unmatched(self) -> tuple[list[int], list[int]]:
        """Return the places of predictions and of golds that found no partner."""
        said, found = {p for p, _ in self.pairs}, {g for _, g in self.pairs}
        return (
            [place for place in range(len(self.predicted)) if place not in said],
            [place for place in range(len(self.golds)) if place not in found],
        )


def match_names(
    predicted: Sequence[str],
    golds: Sequence[Sequence[str]],
    language: str = "",
    matching: Matching = "maximum",
) -> Matched:
    """Match predicted names with golds by the tiers that are safe for this question.

    The outcome does not depend on the order of names, except in greedy matching.

    Args:
        predicted: names as parsed; equal ones (tier 1) collapse.
        golds: each with its names.
        language: code of the question's language.
        matching: maximum, or greedy: each prediction, as it comes, takes the first free gold.
    """
    code = language.split("-", maxsplit=1)[0].lower()
    names = {tier_one(name, code): name for name in sorted(predicted, reverse=True)}
    truth = {_own_form(entry, code): tuple(entry) for entry in sorted(map(tuple, golds), reverse=True)}
    if matching == "greedy":
        said = list(dict.fromkeys(tier_one(name, code) for name in predicted))
    else:
        said = sorted(names)
    listed = [truth[form] for form in sorted(truth)]
    fits = _fits([names[form] for form in said], listed, code)
    paired = pair_greedily(fits) if matching == "greedy" else pair_up(fits, len(listed))
    pairs = tuple((place, gold) for place, gold in enumerate(paired) if gold >= 0)
    return Matched(tuple(names[form] for form in said), tuple(listed), pairs, len(predicted) - len(said))


def _own_form(entry: Sequence[str], code: str) -> tuple[str, tuple[str, ...]]:
    """Return what golds are told apart by: entries that share a name but not their aliases stay apart."""
    return tier_one(entry[0], code), tuple(sorted({tier_one(name, code) for name in entry}))


def _fits(said: Sequence[str], golds: Sequence[Sequence[str]], code: str) -> list[list[int]]:
    """List, for each name, the golds that share a form with it."""
    strict = _owners(golds, lambda name: tier_one(name, code))
    fits = [sorted(strict.get(tier_one(name, code), ())) for name in said]
    plain = all(len(entry) == 1 for entry in golds)
    if plain and all(fits):
        return fits  # bolder forms could add nothing
    for form in safe_tiers(golds, code)[1:]:
        table = _owners(golds, form)
        for place, name in enumerate(said):
            if not (plain and fits[place]):
                fits[place] = sorted({*fits[place], *table.get(form(name), ())})
    return fits


def _owners(golds: Sequence[Sequence[str]], form: Form) -> dict[str, set[int]]:
    """Return, for each form, the golds that have it."""
    owners: dict[str, set[int]] = {}
    for place, entry in enumerate(golds):
        for name in entry:
            owners.setdefault(form(name), set()).add(place)
    return owners


def add_judged(matched: Matched, verdicts: Mapping[int, int]) -> Matched:
    """Add a judge's verdicts on leftovers; a gold is used up by the first that takes it.

    Args:
        matched: the outcome by rules.
        verdicts: place of an unmatched prediction -> place of the unmatched gold it names.
    """
    taken = {gold for _, gold in matched.pairs}
    added: list[tuple[int, int]] = []
    for place in sorted(verdicts):
        if verdicts[place] not in taken:
            taken.add(verdicts[place])
            added.append((place, verdicts[place]))
    return Matched(matched.predicted, matched.golds, tuple(sorted((*matched.pairs, *added))), matched.repeats)


@dataclass(frozen=True)
class Quality:
    """Precision, recall and their harmonic mean."""

    p: float
    r: float
    f1: float


def quality(p: float, r: float) -> Quality:
    """Return P, R and F1 = 2PR/(P+R), which is 0 where both are 0."""
    return Quality(p, r, 2 * p * r / (p + r) if p + r > 0 else 0.0)


def mean_quality(parts: Sequence[Quality]) -> Quality:
    """Average P, R and F1 each by itself; all 0 for no parts."""
    if not parts:
        return Quality(0.0, 0.0, 0.0)
    n = len(parts)
    return Quality(sum(q.p for q in parts) / n, sum(q.r for q in parts) / n, sum(q.f1 for q in parts) / n)


def pair_up(fits: Sequence[Sequence[int]], n_gold: int) -> list[int]:
    """Pair predictions with golds so that as many as possible find one (Hopcroft-Karp).

    Args:
        fits: for each prediction, the golds it may stand for.
        n_gold: how many golds there are.

    Returns:
        For each prediction its gold, or -1.
    """
    wanted = [gold for golds in fits for gold in golds]
    if all(len(golds) <= 1 for golds in fits) and len(set(wanted)) == len(wanted):
        return [golds[0] if golds else -1 for golds in fits]  # nobody competes: the common case
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    starts = np.cumsum([0, *(len(golds) for golds in fits)])
    graph = csr_array((np.ones(len(wanted)), np.array(wanted), starts), shape=(len(fits), n_gold))
    return [int(gold) for gold in maximum_bipartite_matching(graph, perm_type="column")]


def pair_greedily(fits: Sequence[Sequence[int]]) -> list[int]:
    """Pair predictions in their order, each with the first gold still free."""
    taken: set[int] = set()
    pairs: list[int] = []
    for golds in fits:
        free = next((gold for gold in golds if gold not in taken), -1)
        taken.add(free)
        pairs.append(free)
    return pairs
