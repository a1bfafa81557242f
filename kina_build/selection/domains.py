"""Select every domain: each on its own items, side by side, without conflicts across them."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from kina_build.config import SelectionRules
from kina_build.errors import Refusal, UsageError
from kina_build.progress import Progress, silent
from kina_build.selection.bounds import bound_online, tighten
from kina_build.selection.certificate import compose, describe_choice
from kina_build.selection.choose import Choice, choose
from kina_build.selection.conflicts import connect
from kina_build.selection.exact import solve
from kina_build.selection.greedy import order_picks, pick_greedily
from kina_build.selection.improve import improve_set
from kina_build.selection.inputs import Inputs, check_names
from kina_build.selection.problem import Problem, build_problem
from kina_build.selection.records import DomainSelection, Quota, Selection
from kina_build.selection.shortage import Infeasible
from kina_build.support.matrix import SupportMatrix


def select(
    inputs: Inputs,
    size: int | None = None,
    rules: SelectionRules = SelectionRules(),
    *,
    allow_shortfall: bool = False,
    improve: bool = False,
    seed: int = 0,
    on_progress: Progress = silent,
) -> Selection:
    """Select the items of all domains that the quotas name, or of the whole support.

    Args:
        inputs: scores, strata, quotas, conflicts, must and exclude.
        size: items to take (K); None where a budget gives k by domain.
        rules: settings.
        allow_shortfall: take the fullest set that can be had where the constraints cannot be met.
        improve: search on from the greedy set.
        seed: of the search.
        on_progress: told of each finished domain.

    Raises:
        InputError: names that are not there.
        UsageError: options that contradict each other.
        Infeasible: no set meets the constraints of a domain.
    """
    check_names(inputs)
    problems = split(inputs, size)
    rules = _rules_for_all(inputs.matrix, rules)
    work = functools.partial(choose, rules=rules, allow_shortfall=allow_shortfall, improve=improve, seed=seed)
    choices: dict[str, Choice] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = {name: pool.submit(_named, name, work, problem) for name, problem in problems.items()}
        for name, future in futures.items():
            choices[name] = future.result()
            on_progress(len(choices), len(problems))
    settled = _settle(inputs, problems, choices, work)
    return compose(settled, inputs.matrix, inputs.conflict_mode, inputs.digests)


def split(inputs: Inputs, size: int | None) -> dict[str, Problem]:
    """Cut the inputs into one problem a domain, sorted by name.

    What a must-include item is in conflict with is barred in every domain.

    Raises:
        UsageError: no size, two sizes, or domains without a domain of each item.
        Refusal: a must-include item lies outside the domains.
    """
    sizes = budget_sizes(inputs.quotas)
    if not sizes:
        if size is None:
            raise UsageError("how many items?", hint="-k N, or --quota with the budget of `kina budget`")
        return {"": _problem(inputs, inputs.matrix, size, inputs.quotas)}
    if size is not None and size != sum(sizes.values()):
        raise UsageError(f"-k {size} contradicts the budget, which sums to {sum(sizes.values())}")
    domains = _domains(inputs, sizes)
    outside = sorted(item_id for item_id in inputs.must if domains.get(item_id) not in sizes)
    if outside:
        raise Refusal(f"must-include item {outside[0]!r} is in no domain of the budget")
    problems = {}
    for name in sorted(sizes):
        rows = [i for i, item_id in enumerate(inputs.matrix.item_ids) if domains.get(item_id) == name]
        quotas = [quota for quota in inputs.quotas if quota.domain == name]
        problems[name] = _problem(inputs, take_rows(inputs.matrix, rows), sizes[name], quotas)
    return problems


def budget_sizes(quotas: Iterable[Quota]) -> dict[str, int]:
    """Return k by domain where the quotas are a budget, else nothing."""
    return {quota.domain: quota.k for quota in quotas if quota.k is not None}


def take_rows(matrix: SupportMatrix, rows: list[int]) -> SupportMatrix:
    """Return the support of some items."""
    ids = tuple(matrix.item_ids[row] for row in rows)
    return replace(matrix, item_ids=ids, levels=matrix.levels[rows])


def _domains(inputs: Inputs, sizes: Mapping[str, int]) -> Mapping[str, str]:
    if inputs.domains is not None:
        return inputs.domains
    if set(sizes) != {""}:
        hint = "--strata POOL --domain-by FIELD"
        raise UsageError("a budget over domains needs the domain of each item", hint=hint)
    return dict.fromkeys(inputs.matrix.item_ids, "")


def _problem(inputs: Inputs, matrix: SupportMatrix, size: int, quotas: Iterable[Quota]) -> Problem:
    near = rivals(inputs)
    ruled_out = {other for item_id in inputs.must for other in near.get(item_id, ())}
    return build_problem(
        matrix,
        size,
        strata=inputs.strata,
        quotas=tuple(quotas),
        conflicts=inputs.conflicts,
        mode=inputs.conflict_mode,
        must=inputs.must.intersection(matrix.item_ids) if inputs.must else frozenset(),
        exclude=inputs.exclude | (ruled_out - inputs.must),
    )


def _rules_for_all(matrix: SupportMatrix, rules: SelectionRules) -> SelectionRules:
    """Use compiled code in every domain where it pays over all of them: it is loaded once."""
    if len(matrix.item_ids) < rules.compiled_from_items:
        return rules
    return rules.model_copy(update={"compiled_from_items": 0})


def _named(name: str, work: functools.partial[Choice], problem: Problem) -> Choice:
    try:
        return work(problem)
    except Infeasible as error:
        if not name:
            raise
        raise Infeasible(f"domain {name!r}: {error.message}", error.shortage) from None


def _settle(
    inputs: Inputs,
    problems: Mapping[str, Problem],
    choices: Mapping[str, Choice],
    work: functools.partial[Choice],
) -> list[DomainSelection]:
    """Go through the domains in order; redo one that took an item in conflict with an earlier pick."""
    across = rivals(inputs)
    closed: set[str] = set()
    settled = []
    for name, choice in choices.items():
        problem = problems[name]
        ids = problem.matrix.item_ids
        final = choice
        if closed.intersection(ids[item] for item in choice.picks.items):
            withheld = [i for i, item_id in enumerate(ids) if item_id in closed]
            final = _named(name, functools.partial(work, withheld=withheld), problem)
        closed.update(*(across.get(ids[item], ()) for item in final.picks.items))
        settled.append(describe_choice(final, name))
    return settled


def rivals(inputs: Inputs) -> dict[str, frozenset[str]]:
    """Return the items that each item rules out, whatever their domain."""
    groups = connect(inputs.conflicts) if inputs.conflict_mode == "clusters" else inputs.conflicts
    found: dict[str, set[str]] = {}
    for group in groups:
        for item_id in group:
            found.setdefault(item_id, set()).update(group)
    return {item_id: frozenset(near - {item_id}) for item_id, near in found.items()}


@dataclass(frozen=True)
class TotalOptimum:
    """The optimum over all domains."""

    value: float
    """In the units of the anchor weights."""
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
    problems = split(inputs, document.domains[0].k if len(document.domains) == 1 else None)
    values, picked, proven = [], list[str](), True
    for done, record in enumerate(document.domains, start=1):
        problem = problems[record.domain]
        lacking = {row.stratum: row.shortfall for row in record.strata}
        lower = problem.lower - np.array([lacking.get(name, 0) for name in problem.strata], dtype=np.int64)
        problem = problem.relaxed(record.k - record.shortfall, lower)
        known = tuple(problem.matrix.rows(record.item_ids))
        upper = tighten(problem, known, bound_online(problem, known), rules)
        better = improve_set(problem, order_picks(problem, known), upper, rules)
        optimum = solve(problem, better.items, upper, rules)
        values.append(optimum.value)
        picked += [problem.matrix.item_ids[item] for item in optimum.items]
        proven = proven and optimum.proven
        on_progress(done, len(document.domains))
    return TotalOptimum(sum(values) / inputs.matrix.unit, proven, tuple(picked))


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
    problems = split(replace(inputs, strata=None, quotas=tuple(quotas)), None)
    rules = _rules_for_all(inputs.matrix, rules)
    unit = inputs.matrix.unit
    return {
        name: tuple(gain / unit for gain in pick_greedily(problem, rules).gains)
        for name, problem in problems.items()
    }
