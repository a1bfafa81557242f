"""Cut the inputs into one problem a domain, or one for domains that conflicts join."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
from numpy.typing import NDArray

from kina_build.config import EngineRules, SelectionRules
from kina_build.engine import Engine, open_engine
from kina_build.errors import Refusal, UsageError
from kina_build.progress import Teller
from kina_build.selection.inputs import Inputs
from kina_build.selection.labels import Labels, code_items
from kina_build.selection.records import Quota
from kina_build.selection.solver.building import build_problem, join_problems
from kina_build.selection.solver.conflicts import connect
from kina_build.selection.solver.problem import JOINT, Problem
from kina_build.selection.solver.shards import Shards
from kina_build.support.levels import Ids, encode_ids, position_of
from kina_build.support.matrix import SupportMatrix

NOWHERE = "\0"
"""Stands for the domain of items that have none; no file can name it."""


@contextmanager
def posed(
    inputs: Inputs,
    size: int | None,
    *,
    engine: Engine | None = None,
    rules: SelectionRules = SelectionRules(),
    joined: bool = True,
) -> Iterator[dict[str, Problem]]:
    """Cut the inputs into problems; where levels are on disk and no engine is given, open one for them."""
    with ExitStack() as stack:
        if inputs.matrix.on_disk and engine is None:
            engine = stack.enter_context(open_engine())
        found = split(inputs, size, engine=engine, rules=rules)
        yield join(found, inputs) if joined else found


def split(
    inputs: Inputs,
    size: int | None,
    *,
    engine: Engine | None = None,
    rules: SelectionRules = SelectionRules(),
) -> dict[str, Problem]:
    """Cut the inputs into one problem a domain, sorted by name.

    What a must-include item is in conflict with is barred in every domain.

    Args:
        inputs: scores, strata, domains, quotas, conflicts, must and exclude.
        size: items to take (K); None where a budget gives k by domain.
        engine: where levels on disk are read.
        rules: settings.

    Raises:
        UsageError: no size, two sizes, or domains without a domain of each item.
        Refusal: a must-include item lies outside the domains.
    """
    sizes = budget_sizes(inputs.quotas)
    build = functools.partial(_problem, ruled_out=_ruled_out(inputs), engine=engine, rules=rules)
    if not sizes:
        if size is None:
            raise UsageError("how many items?", hint="-k N, or --quota with the budget of `kina budget`")
        return {"": build(inputs, inputs.matrix, size, inputs.quotas)}
    if size is not None and size != sum(sizes.values()):
        raise UsageError(f"-k {size} contradicts the budget, which sums to {sum(sizes.values())}")
    names, codes = _code_domains(inputs, sizes)
    outside = [row for row in inputs.matrix.rows(sorted(inputs.must)) if names[codes[row]] not in sizes]
    if outside:
        raise Refusal(
            f"must-include item {inputs.matrix.item_ids[outside[0]]!r} is in no domain of the budget"
        )
    problems = {}
    for name in sorted(sizes):
        rows = np.flatnonzero(codes == names.index(name)) if name in names else np.zeros(0, dtype=np.int64)
        quotas = [quota for quota in inputs.quotas if quota.domain == name]
        problems[name] = build(inputs, inputs.matrix.take(rows), sizes[name], quotas, domain=name)
    return problems


def join(problems: Mapping[str, Problem], inputs: Inputs) -> dict[str, Problem]:
    """Put domains together that a conflict between open items joins; the others stay as they are.

    Only the connected ones become one problem: elsewhere the guarantee of the single domain is the
    better one.
    """
    near = {} if len(problems) == 1 else rivals(inputs)
    places = {name: one.matrix.item_ids for name, one in problems.items()}
    home: dict[str, str] = {}
    for item_id in near:
        for name, ids in places.items():
            at = position_of(ids, item_id)
            if at is not None and not problems[name].barred[at] and at not in problems[name].must:
                home[item_id] = name
    edges = [(home[i], home[j]) for i in home for j in near[i] if j in home and home[i] != home[j]]
    groups = connect(edges)
    tied = {name for group in groups for name in group}
    found = {name: one for name, one in problems.items() if name not in tied}
    for group in groups:
        parts = [problems[name] for name in group]
        found[JOINT.join(group)] = join_problems(parts, inputs.conflicts, inputs.conflict_mode)
    return dict(sorted(found.items(), key=lambda pair: pair[1].domains))


def budget_sizes(quotas: Iterable[Quota]) -> dict[str, int]:
    """Return k by domain where the quotas are a budget, else nothing."""
    return {quota.domain: quota.k for quota in quotas if quota.k is not None}


def largest_domain(inputs: Inputs) -> int:
    """Return the scores (items x anchors) of the largest domain to be selected."""
    sizes = budget_sizes(inputs.quotas)
    anchors = len(inputs.matrix.anchor_ids)
    if not sizes:
        return len(inputs.matrix.item_ids) * anchors
    names, codes = _code_domains(inputs, sizes)
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return anchors * max((n for name, n in zip(names, counts, strict=True) if name in sizes), default=0)


def _code_domains(inputs: Inputs, sizes: Mapping[str, int]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the domains and each item's position among them; the last is for items without one."""
    if inputs.domains is None and set(sizes) != {""}:
        hint = "--strata POOL --domain-by FIELD"
        raise UsageError("a budget over domains needs the domain of each item", hint=hint)
    names, codes = inputs.domain_codes
    return [*names, NOWHERE], np.where(codes < 0, len(names), codes)


def _ruled_out(inputs: Inputs) -> frozenset[str]:
    """Return what is in conflict with a must-include item.

    Raises:
        Refusal: two must-include items are.
    """
    near = rivals(inputs) if inputs.must else {}
    for item_id in sorted(inputs.must):
        clash = sorted(inputs.must & near.get(item_id, frozenset()))
        if clash:
            raise Refusal(f"must-include items {item_id!r} and {clash[0]!r} are in conflict")
    return frozenset(other for item_id in inputs.must for other in near.get(item_id, ())) - inputs.must


def _problem(
    inputs: Inputs,
    matrix: SupportMatrix,
    size: int,
    quotas: Iterable[Quota],
    *,
    domain: str = "",
    ruled_out: frozenset[str],
    engine: Engine | None,
    rules: SelectionRules,
) -> Problem:
    shards = Shards(matrix.levels, engine, rules) if matrix.on_disk and engine is not None else None
    return build_problem(
        matrix,
        size,
        strata=inputs.strata,
        quotas=tuple(quotas),
        conflicts=inputs.conflicts,
        mode=inputs.conflict_mode,
        must=[item_id for item_id in inputs.must if matrix.rows([item_id])],
        exclude=inputs.closed | ruled_out,
        shards=shards,
        domain=domain,
    )


def rivals(inputs: Inputs) -> dict[str, frozenset[str]]:
    """Return the items that each item rules out, whatever their domain."""
    groups = connect(inputs.conflicts) if inputs.conflict_mode == "clusters" else inputs.conflicts
    found: dict[str, set[str]] = {}
    for group in groups:
        for item_id in group:
            found.setdefault(item_id, set()).update(group)
    return {item_id: frozenset(near - {item_id}) for item_id, near in found.items()}


def unmet_strata(inputs: Inputs) -> list[str]:
    """Return the strata that quotas name and no scored item has: such a bound binds nothing."""
    if inputs.strata is None:
        return []
    known = set(code_items(inputs.strata, inputs.matrix.item_ids)[0])
    return sorted({quota.stratum for quota in inputs.quotas} - known)


def unscored(inputs: Inputs) -> list[str]:
    """Return the items that have a stratum but no support row: they are no candidates."""
    if inputs.strata is None:
        return []
    scored = Ids(encode_ids(inputs.matrix.item_ids)) if isinstance(inputs.strata, Labels) else None
    if scored is not None and isinstance(inputs.strata, Labels):
        held = inputs.strata.ids.encoded
        return list(Ids(held[~np.isin(held, scored.encoded)]))
    known = set(inputs.matrix.item_ids)
    return sorted(item_id for item_id in inputs.strata if item_id not in known)


def stay_local(inputs: Inputs, engine: EngineRules, tell: Teller) -> EngineRules:
    """Leave Ray out where every domain is small: there it only adds its start and its messages."""
    if engine.kind == "ray" and largest_domain(inputs) < engine.spread_scores:
        tell.say("no domain is large enough for Ray (engine.spread_scores): selecting in this process")
        return engine.model_copy(update={"kind": "local"})
    return engine
