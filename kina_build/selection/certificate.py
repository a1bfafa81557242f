"""Write a choice down so that a stranger can check every number of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kina_build.selection.figures import share
from kina_build.selection.reading import seal
from kina_build.selection.records import (
    Bound,
    Certificate,
    ConflictMode,
    DomainSelection,
    Eligible,
    NamedFile,
    Selection,
    StratumCount,
)
from kina_build.selection.solver.bounds import UpperBound
from kina_build.selection.solver.choose import Choice
from kina_build.selection.solver.problem import Problem
from kina_build.support.matrix import SupportMatrix


@dataclass(frozen=True)
class Read:
    """The files that were read, and the fields of a pool that named stratum and domain."""

    files: tuple[NamedFile, ...] = ()
    eligible: Eligible = "all"
    by: str = ""
    domain_by: str = ""


NOTHING_READ = Read()


def describe_choice(choice: Choice) -> DomainSelection:
    """Turn the choice of one domain, or of joined ones, into its record."""
    problem, unit = choice.problem, choice.problem.matrix.unit
    ids = problem.matrix.item_ids
    tight = choice.tight if choice.tight.value < choice.online.value else None
    lacking = zip(problem.domains, (choice.asked.sizes - problem.sizes).tolist(), strict=True)
    plain = choice.method == "greedy"
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
    document = Selection(
        item_ids=tuple(item_id for one in domains for item_id in one.item_ids),
        gains=tuple(gain for one in domains for gain in one.gains),
        objective=sum(one.steps for one in domains) / matrix.unit,
        steps=sum(one.steps for one in domains),
        zero_gain_picks=sum(one.zero_gain_picks for one in domains),
        certificate=domains[0].certificate if len(domains) == 1 else _total(domains, matrix),
        domains=tuple(domains),
        scale=matrix.scale,
        weight_unit=matrix.weight_unit,
        weight_step=matrix.weight_step,
        slack=matrix.slack * sum(len(one.sizes) for one in domains),
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
    slack = matrix.slack * len(choice.problem.domains)
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
    slack = matrix.slack * sum(len(one.sizes) for one in domains)
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


def _by_anchor(choice: Choice) -> dict[str, float]:
    """Return weight times best support by anchor; joined domains add up."""
    problem = choice.problem
    # a number divided once: sums of floats would depend on their order
    worth = (problem.cover(choice.picks.items) * problem.weights).astype(np.int64).tolist()
    found: dict[str, int] = {}
    for (_, anchor), steps in zip(_columns(problem), worth, strict=True):
        found[anchor] = found.get(anchor, 0) + steps
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
