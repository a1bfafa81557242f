"""Write a choice down so that a stranger can check every number of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

from kina_build.jsonl import canonical
from kina_build.selection.bounds import UpperBound
from kina_build.selection.choose import Choice
from kina_build.selection.problem import Problem
from kina_build.selection.records import (
    Bound,
    Certificate,
    ConflictMode,
    DomainSelection,
    Guarantee,
    Selection,
    StratumCount,
)
from kina_build.support.matrix import SupportMatrix


def describe_choice(choice: Choice, domain: str = "") -> DomainSelection:
    """Turn the choice of one domain into its record.

    Args:
        choice: the set and its bounds.
        domain: its name; "" where the whole support is one domain.
    """
    problem, unit = choice.problem, choice.problem.matrix.unit
    ids = problem.matrix.item_ids
    gains = [gain / unit for gain in choice.picks.gains]
    # a number divided once: sums of floats would depend on their order
    cover = problem.cover(choice.picks.items) * problem.weights
    tight = choice.tight if choice.tight.value < choice.online.value else None
    plain = choice.method == "greedy"
    return DomainSelection(
        domain=domain,
        k=choice.asked,
        method=choice.method,
        item_ids=tuple(ids[item] for item in choice.picks.items),
        gains=tuple(gains),
        objective=choice.picks.value / unit,
        objective_by_anchor=dict(zip(problem.matrix.anchor_ids, (cover / unit).tolist(), strict=True)),
        zero_gain_picks=choice.picks.gains.count(0),
        certificate=_certificate(choice, tight),
        thresholds={} if tight is None else _thresholds(problem, tight),
        cliques=_cliques(problem),
        strata=_strata(choice),
        shortfall=choice.asked - len(choice.picks.items),
        withheld=tuple(ids[item] for item in choice.withheld),
        greedy_item_ids=None if plain else tuple(ids[item] for item in choice.greedy.items),
    )


def compose(
    domains: Sequence[DomainSelection],
    matrix: SupportMatrix,
    conflict_mode: ConflictMode,
    inputs: Mapping[str, str],
) -> Selection:
    """Put the domains together, with their total on top, and seal the document.

    Args:
        domains: at least one, sorted by name.
        matrix: for its units.
        conflict_mode: how conflict pairs bound.
        inputs: kind of input to the digest of its content.
    """
    document = Selection(
        item_ids=tuple(item_id for one in domains for item_id in one.item_ids),
        gains=tuple(gain for one in domains for gain in one.gains),
        objective=math.fsum(one.objective for one in domains),
        zero_gain_picks=sum(one.zero_gain_picks for one in domains),
        certificate=domains[0].certificate if len(domains) == 1 else _total(domains),
        domains=tuple(domains),
        scale=matrix.scale,
        weight_unit=matrix.weight_unit,
        conflict_mode=conflict_mode,
        inputs=dict(sorted(inputs.items())),
    )
    return document.model_copy(update={"seal": seal_of(document)})


def seal_of(document: Selection) -> str:
    """Return the sha256 of a document without its seal."""
    body = document.model_dump(mode="json", exclude={"seal"})
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def _certificate(choice: Choice, tight: UpperBound | None) -> Certificate:
    unit, value = choice.problem.matrix.unit, choice.picks.value
    online = choice.online.value
    best = online if tight is None else tight.value
    return Certificate(
        method="online",
        upper_bound=online / unit,
        ratio=share(value, online),
        guarantee=choice.guarantee,
        tightest=Bound(
            method="online" if tight is None else "dual", upper_bound=best / unit, ratio=share(value, best)
        ),
    )


def share(value: float, bound: float) -> float:
    """Return value / bound; 1 where both are 0, as nothing can be covered."""
    return value / bound if bound else 1.0


def _total(domains: Sequence[DomainSelection]) -> Certificate:
    """Add up the domains: the sum of bounds bounds the sum, the weakest factor holds for all."""
    value = math.fsum(one.objective for one in domains)
    upper = math.fsum(one.certificate.upper_bound for one in domains)
    tight = math.fsum(one.certificate.tightest.upper_bound for one in domains)
    weakest = min((one.certificate.guarantee for one in domains), key=lambda one: one.factor)
    return Certificate(
        method="sum over domains",
        upper_bound=upper,
        ratio=share(value, upper),
        guarantee=Guarantee(
            theorem=weakest.theorem,
            factor=weakest.factor,
            k=weakest.k,
            statement=f"the weakest of {len(domains)} domains: {weakest.statement}",
        ),
        tightest=Bound(method="sum over domains", upper_bound=tight, ratio=share(value, tight)),
    )


def _thresholds(problem: Problem, bound: UpperBound) -> dict[str, float]:
    levels = (bound.thresholds / problem.matrix.scale).tolist()
    return dict(zip(problem.matrix.anchor_ids, levels, strict=True))


def _cliques(problem: Problem) -> tuple[tuple[str, ...], ...]:
    groups: dict[int, list[str]] = {}
    for item in problem.conflicts.tied.tolist():
        groups.setdefault(int(problem.conflicts.clique[item]), []).append(problem.matrix.item_ids[item])
    return tuple(sorted(tuple(group) for group in groups.values() if len(group) > 1))


def _strata(choice: Choice) -> tuple[StratumCount, ...]:
    problem = choice.problem
    counts = problem.counts(choice.picks.items).tolist()
    lacking = {} if choice.shortage is None else choice.shortage.strata
    rows = []
    for index, name in enumerate(problem.strata):
        short = lacking.get(name, 0)
        bounded = problem.upper[index] < problem.size
        row = StratumCount(
            stratum=name,
            lower=int(problem.lower[index]) + short,
            upper=int(problem.upper[index]) if bounded else None,
            selected=counts[index],
            shortfall=short,
        )
        rows.append(row)
    return tuple(row for row in rows if row.stratum and (row.selected or row.lower or row.upper is not None))
