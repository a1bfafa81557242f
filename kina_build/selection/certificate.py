"""Write a choice down so that a stranger can check every number of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.figures import share
from kina_build.selection.guarantees import Bound, Certificate, Coverage
from kina_build.selection.reading import seal
from kina_build.selection.records import (
    FOLDED_FORMAT,
    FORMAT,
    NOTHING_READ,
    ConflictMode,
    DomainSelection,
    Read,
    Selection,
    StratumCount,
    maximised,
)
from kina_build.selection.solver.bounds import UpperBound, bound_online
from kina_build.selection.solver.choose import Choice
from kina_build.selection.solver.problem import Problem
from kina_build.support.matrix import SupportMatrix
from kina_build.support.sparse import SparseLevels, best_levels


def describe_choice(choice: Choice) -> DomainSelection:
    """Turn the choice of one domain, or of joined ones, into its record."""
    problem, unit = choice.problem, choice.problem.matrix.unit
    ids = problem.matrix.item_ids
    tight = choice.tight if choice.tight.value < choice.online.value else None
    lacking = zip(problem.domains, (choice.asked.sizes - problem.sizes).tolist(), strict=True)
    plain = choice.method == "greedy"
    folded: dict[str, Any] = {}
    if problem.folds > 1:
        folded = {"maximised": maximised(problem.folds), "coverage": _coverage(choice)}
    return DomainSelection(
        domain=" + ".join(problem.domains),
        k=choice.asked.size,
        sizes=dict(zip(problem.domains, choice.asked.sizes.tolist(), strict=True)),
        method=choice.method,
        item_ids=tuple(ids[item] for item in choice.picks.items),
        gains=tuple(gain / unit for gain in choice.picks.gains),
        objective=choice.picks.value / unit,
        steps=choice.picks.value,
        objective_by_anchor=_by_anchor(choice),
        zero_gain_picks=choice.picks.gains.count(0),
        certificate=_certificate(choice, tight),
        thresholds={} if tight is None else _thresholds(problem, tight),
        cliques=_cliques(problem),
        strata=_strata(choice),
        shortfall=choice.asked.size - len(choice.picks.items),
        lacking={name: count for name, count in lacking if count},
        proof=choice.proof,
        greedy_item_ids=None if plain else tuple(ids[item] for item in choice.greedy.items),
        folds=problem.folds,
        **folded,
    )


def compose(
    domains: Sequence[DomainSelection],
    matrix: SupportMatrix,
    conflict_mode: ConflictMode,
    inputs: Mapping[str, str],
    read: Read = NOTHING_READ,
) -> Selection:
    """Put the domains together, with their total on top, and seal the document.

    Args:
        domains: at least one, sorted by name.
        matrix: for its units.
        conflict_mode: how conflict pairs bound.
        inputs: kind of input to the digest of its content.
        read: the files they were read from.
    """
    folded = any(one.folds > 1 for one in domains)
    document = Selection(
        format=FOLDED_FORMAT if folded else FORMAT,
        item_ids=tuple(item_id for one in domains for item_id in one.item_ids),
        gains=tuple(gain for one in domains for gain in one.gains),
        objective=sum(one.steps for one in domains) / matrix.unit,
        steps=sum(one.steps for one in domains),
        zero_gain_picks=sum(one.zero_gain_picks for one in domains),
        certificate=domains[0].certificate if len(domains) == 1 else _total(domains, matrix),
        coverage=_total_coverage(domains, matrix) if folded else None,
        domains=tuple(domains),
        scale=matrix.scale,
        weight_unit=matrix.weight_unit,
        weight_step=matrix.weight_step,
        slack=_slack(domains, matrix),
        conflict_mode=conflict_mode,
        inputs=dict(sorted(inputs.items())),
        files=read.files,
        eligible=read.eligible,
        by=read.by,
        domain_by=read.domain_by,
    )
    return seal(document)


def _certificate(choice: Choice, tight: UpperBound | None) -> Certificate:
    matrix, value = choice.problem.matrix, choice.picks.value
    slack = matrix.slack * len(choice.problem.domains) * choice.problem.folds
    online = choice.online.value
    best = online if tight is None else tight.value
    return Certificate(
        method="online",
        upper_bound=online / matrix.unit,
        steps=online,
        ratio=share(value, online, slack),
        guarantee=choice.guarantee,
        tightest=Bound(
            method="online" if tight is None else "dual",
            upper_bound=best / matrix.unit,
            steps=best,
            ratio=share(value, best, slack),
        ),
    )


def _total(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> Certificate:
    """Add up the domains: the sum of bounds bounds the sum, the weakest factor holds for all."""
    value = sum(one.steps for one in domains)
    upper = sum(one.certificate.steps for one in domains)
    tight = sum(one.certificate.tightest.steps for one in domains)
    slack = _slack(domains, matrix)
    weakest = min((one.certificate.guarantee for one in domains), key=lambda one: one.factor)
    said = f"the weakest of {len(domains)} domains: {weakest.statement}"
    return Certificate(
        method="sum over domains",
        upper_bound=upper / matrix.unit,
        steps=upper,
        ratio=share(value, upper, slack),
        guarantee=weakest.model_copy(update={"statement": said}),
        tightest=Bound(
            method="sum over domains",
            upper_bound=tight / matrix.unit,
            steps=tight,
            ratio=share(value, tight, slack),
        ),
    )


def _slack(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> int:
    """Return by how many steps rounding may move the sum: once for each domain and fold."""
    return matrix.slack * sum(len(one.sizes) * one.folds for one in domains)


def _coverage(choice: Choice) -> Coverage:
    """Return F of the set, and the better of two bounds that need no search."""
    plain, matrix = choice.problem.folded(1), choice.problem.matrix
    value = plain.value(choice.picks.items)
    online = bound_online(plain, choice.picks.items).value
    everything = int(_reach(plain) @ matrix.weights)
    bound = min(online, everything)
    return Coverage(
        objective=value / matrix.unit,
        steps=value,
        method="online" if online < everything else "all items",
        upper_bound=bound / matrix.unit,
        upper_steps=bound,
        ratio=share(value, bound, matrix.slack * len(plain.domains)),
    )


def _reach(problem: Problem) -> NDArray[np.int64]:
    """Return the best level of each anchor over all items that may be taken, slice by slice."""
    open_items, best = ~problem.barred, np.zeros(len(problem.weights), dtype=np.int64)
    open_items[problem.must] = True
    if isinstance(problem.matrix.levels, SparseLevels):
        return best_levels(problem.matrix.levels, np.flatnonzero(open_items))
    for rows in problem.matrix.slices():
        levels = problem.matrix.levels[rows][open_items[rows]]
        best = np.maximum(best, levels.max(axis=0, initial=0))
    return best


def _total_coverage(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> Coverage | None:
    """Add up F and its bounds; of a domain with r = 1 they are the objective and its tightest bound."""
    if len(domains) == 1:
        return domains[0].coverage
    parts = [one.coverage for one in domains]
    plain = [one for one in domains if one.coverage is None]
    value = sum(one.steps for one in parts if one) + sum(one.steps for one in plain)
    bound = sum(one.upper_steps for one in parts if one) + sum(
        one.certificate.tightest.steps for one in plain
    )
    return Coverage(
        objective=value / matrix.unit,
        steps=value,
        method="sum over domains",
        upper_bound=bound / matrix.unit,
        upper_steps=bound,
        ratio=share(value, bound, matrix.slack * sum(len(one.sizes) for one in domains)),
    )


def _by_anchor(choice: Choice) -> dict[str, float]:
    """Return weight times best support by anchor (of r items, their sum); joined domains add up."""
    problem = choice.problem
    # a number divided once: sums of floats would depend on their order
    levels = problem.tops(choice.picks.items).sum(axis=0).astype(np.int64).tolist()
    found: dict[str, int] = {}
    weights = problem.matrix.weights.tolist()
    for (_, anchor), level, weight in zip(_columns(problem), levels, weights, strict=True):
        found[anchor] = found.get(anchor, 0) + level * weight
    return {anchor: steps / problem.matrix.unit for anchor, steps in sorted(found.items())}


def _columns(problem: Problem) -> Sequence[tuple[str, str]]:
    return problem.columns or [(problem.domains[0], anchor) for anchor in problem.matrix.anchor_ids]


def _thresholds(problem: Problem, bound: UpperBound) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (domain, anchor), level in zip(_columns(problem), bound.thresholds.tolist(), strict=True):
        found.setdefault(domain, {})[anchor] = level
    return found


def _cliques(problem: Problem) -> tuple[tuple[str, ...], ...]:
    groups: dict[int, list[str]] = {}
    for item in problem.conflicts.tied.tolist():
        groups.setdefault(int(problem.conflicts.clique[item]), []).append(problem.matrix.item_ids[item])
    return tuple(sorted(tuple(group) for group in groups.values() if len(group) > 1))


def _strata(choice: Choice) -> tuple[StratumCount, ...]:
    problem, asked = choice.problem, choice.asked
    counts = problem.counts(choice.picks.items).tolist()
    rows = []
    for index in range(len(problem.strata)):
        domain, name = problem.places(index)
        bounded = problem.upper[index] < problem.sizes[problem.group[index]]
        row = StratumCount(
            domain=domain,
            stratum=name,
            lower=int(asked.lower[index]),
            upper=int(problem.upper[index]) if bounded else None,
            selected=counts[index],
            shortfall=int(asked.lower[index] - problem.lower[index]),
        )
        rows.append(row)
    return tuple(row for row in rows if row.stratum and (row.selected or row.lower or row.upper is not None))
