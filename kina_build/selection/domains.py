"""Select every domain on its own items, side by side; those that conflicts join are one problem."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kina_build.config import EngineRules, SelectionRules
from kina_build.engine import Engine, open_engine
from kina_build.errors import InputError, UsageError
from kina_build.progress import Progress, silent
from kina_build.selection.certificate import compose, describe_choice
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import budget_sizes, posed
from kina_build.selection.records import NOTHING_READ, DomainSelection, Quota, Read, Selection
from kina_build.selection.solver.bounds import bound_online, tighten
from kina_build.selection.solver.choose import Choice, choose
from kina_build.selection.solver.exact import Optimum, solve
from kina_build.selection.solver.greedy import order_picks, pick_greedily
from kina_build.selection.solver.improve import improve_set
from kina_build.selection.solver.problem import JOINT, Problem
from kina_build.selection.solver.shortage import Infeasible
from kina_build.support.matrix import SupportMatrix


@dataclass(frozen=True)
class Settled:
    """A selection, and how far its anchors carry."""

    selection: Selection
    carried: int
    """Items that gain something of the paper's objective, over all domains."""


def select(
    inputs: Inputs,
    size: int | None = None,
    rules: SelectionRules = SelectionRules(),
    **how: Any,
) -> Selection:
    """Select the items as `settle` does, with its options, and return the selection alone."""
    return settle(inputs, size, rules, **how).selection


def settle(
    inputs: Inputs,
    size: int | None = None,
    rules: SelectionRules = SelectionRules(),
    *,
    allow_shortfall: bool = False,
    improve: bool = False,
    exact: bool = False,
    seed: int = 0,
    folds: int | Mapping[str, int] | None = None,
    engine: Engine | None = None,
    on_progress: Progress = silent,
    read: Read = NOTHING_READ,
) -> Settled:
    """Select the items of all domains that the quotas name, or of the whole support.

    Args:
        inputs: scores, strata, quotas, conflicts, must and exclude.
        size: items to take (K); None where a budget gives k by domain.
        rules: settings.
        allow_shortfall: take the fullest set that can be had where the constraints cannot be met.
        improve: search on from the greedy set.
        exact: search on, and take the set that HiGHS finds where it is better.
        seed: of the search.
        folds: items that count for an anchor, or so many by domain; None: 1 until the anchors are full,
            then what it takes.
        engine: where levels on disk are read; None: in this process.
        on_progress: told of each finished domain.
        read: the files that the inputs come from.

    Raises:
        InputError: names that are not there.
        UsageError: options that contradict each other.
        Infeasible: no set meets the constraints of a domain.
    """
    if exact and inputs.matrix.on_disk:
        hint = "--memory allows more"
        raise UsageError("an exact solution needs all scores in memory, and these stay on disk", hint=hint)
    check_names(inputs)
    rules = _rules_for_all(inputs.matrix, rules)
    how: dict[str, Any] = {"allow_shortfall": allow_shortfall, "improve": improve, "exact": exact}
    how["seed"] = seed
    work = functools.partial(_choose, folds=folds, rules=rules, **how)
    # one domain after the other where levels are on disk: each is read by all workers
    side_by_side = EngineRules(workers=1 if inputs.matrix.on_disk else 0)
    choices: dict[str, Choice] = {}
    with posed(inputs, size, engine=engine, rules=rules) as problems, open_engine(side_by_side) as threads:
        chosen = threads.map(work, problems.items())
        for name, choice in zip(problems, chosen, strict=True):
            choices[name] = choice
            on_progress(len(choices), len(problems))
        settled = [describe_choice(choice) for choice in choices.values()]
    selection = compose(settled, inputs.matrix, inputs.conflict_mode, inputs.digests, read)
    return Settled(selection, sum(choice.carried for choice in choices.values()))


def _rules_for_all(matrix: SupportMatrix, rules: SelectionRules) -> SelectionRules:
    """Use compiled code in every domain where it pays over all of them: it is loaded once."""
    if len(matrix.item_ids) < rules.compiled_from_items:
        return rules
    return rules.model_copy(update={"compiled_from_items": 0})


def _choose(named: tuple[str, Problem], folds: int | Mapping[str, int] | None, **how: Any) -> Choice:
    name, problem = named
    own = max(folds.get(one, 1) for one in problem.domains) if isinstance(folds, Mapping) else folds
    try:
        return choose(problem, folds=own, **how)
    except Infeasible as error:
        if not name:
            raise
        shown = name.replace(JOINT, " + ")
        raise Infeasible(f"domain {shown!r}: {error.message}", error.shortage) from None


@dataclass(frozen=True)
class TotalOptimum:
    """The optimum over all domains."""

    value: float
    """In the units of the anchor weights."""
    steps: int
    """The same as a whole number of the document's steps."""
    proven: bool
    item_ids: tuple[str, ...]


def find_optimum(
    document: Selection,
    inputs: Inputs,
    rules: SelectionRules = SelectionRules(),
    *,
    on_progress: Progress = silent,
) -> TotalOptimum:
    """Solve every domain of a verified selection exactly.

    Args:
        document: the selection; its sets are where the solver starts.
        inputs: the files it was made from.
        rules: settings.
        on_progress: told of each finished domain.

    Raises:
        UsageError: a domain leaves too many items for an exact solution.
    """
    budget = bool(budget_sizes(inputs.quotas))
    size = None if budget else document.domains[0].k
    values, picked, proven = [], list[str](), True
    with posed(inputs, size, rules=rules) as problems:
        for done, record in enumerate(document.domains, start=1):
            problem = problems[JOINT.join(record.sizes)]
            optimum = _solve(problem, record, rules)
            values.append(optimum.value)
            picked += [problem.matrix.item_ids[item] for item in optimum.items]
            proven = proven and optimum.proven
            on_progress(done, len(document.domains))
    total = sum(values)
    return TotalOptimum(total / inputs.matrix.unit, total, proven, tuple(picked))


def _solve(problem: Problem, record: DomainSelection, rules: SelectionRules) -> Optimum:
    short = {(row.domain, row.stratum): row.shortfall for row in record.strata}
    missing = [short.get(problem.places(h), 0) for h in range(len(problem.strata))]
    sizes = problem.sizes - np.array([record.lacking.get(name, 0) for name in problem.domains], np.int64)
    problem = problem.relaxed(sizes, problem.lower - np.array(missing, dtype=np.int64))
    problem = problem.folded(record.folds)
    known = tuple(problem.matrix.rows(record.item_ids))
    upper = tighten(problem, known, bound_online(problem, known), rules)
    better = improve_set(problem, order_picks(problem, known), upper, rules)
    return solve(problem, better.items, upper, rules)


def gains_by_domain(
    inputs: Inputs, total: int, limits: Mapping[str, int], rules: SelectionRules = SelectionRules()
) -> dict[str, tuple[float, ...]]:
    """Return the gains of each domain's greedy picks, as many as it could ever be given.

    Args:
        inputs: scores, domains, conflicts and exclusions; quotas are not looked at.
        total: items to share.
        limits: domain to eligible items.
        rules: settings.
    """
    quotas = [Quota(domain=name, stratum=name, k=min(total, count)) for name, count in limits.items()]
    rules = _rules_for_all(inputs.matrix, rules)
    unit = inputs.matrix.unit
    alone = replace(inputs, strata=None, quotas=tuple(quotas))
    with posed(alone, None, rules=rules, joined=False) as problems:
        return {
            name: tuple(gain / unit for gain in pick_greedily(problem, rules).gains)
            for name, problem in problems.items()
        }


def check_names(inputs: Inputs) -> None:
    """Refuse must-include items that are not there or excluded, and quotas without strata.

    Raises:
        InputError: an id to include that has no support scores.
        UsageError: options that contradict each other.
    """
    unknown = [item_id for item_id in sorted(inputs.must) if not inputs.matrix.rows([item_id])]
    if unknown:
        count = f"{len(unknown)} such ids"
        raise InputError(f"--must names {unknown[0]!r}, which has no support scores ({count})")
    refused = [] if inputs.accepted is None else sorted(inputs.must - inputs.accepted)
    if refused:
        raise UsageError(f"{refused[0]!r} is a --must item that reviewers have not accepted")
    both = sorted(inputs.must & inputs.exclude)
    if both:
        raise UsageError(f"{both[0]!r} is both a --must and an --exclude item")
    if inputs.quotas and inputs.strata is None:
        raise UsageError("--quota needs --strata", hint="a file with the columns item_id and stratum")
