"""From names to one problem in indices: of one domain, or of several that conflicts join."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, Refusal
from kina_build.selection.inputs import Pair
from kina_build.selection.labels import code_items
from kina_build.selection.records import ConflictMode, Quota
from kina_build.selection.solver.conflicts import Indices, index_conflicts
from kina_build.selection.solver.problem import JOINT, Problem
from kina_build.selection.solver.shards import Shards
from kina_build.support.matrix import SupportMatrix
from kina_build.support.sparse import ordered, rows_of, stacked, widened


def build_problem(
    matrix: SupportMatrix,
    size: int,
    *,
    strata: Mapping[str, str] | None = None,
    quotas: Sequence[Quota] = (),
    conflicts: Sequence[Pair] = (),
    mode: ConflictMode = "clusters",
    must: Collection[str] = (),
    exclude: Collection[str] = (),
    shards: Shards | None = None,
    domain: str = "",
) -> Problem:
    """Turn names into indices.

    Args:
        matrix: the candidates' support.
        size: items to take (K).
        strata: item to stratum; None puts all items into one.
        quotas: bounds by stratum; a stratum without one is free.
        conflicts: pairs not to be taken together; items without scores only link clusters.
        mode: whether a pair binds its whole connected cluster or itself only.
        must: items fixed in advance.
        exclude: items left out.
        shards: who reads the levels, where they are on disk.
        domain: its name.

    Raises:
        InputError: an item without a stratum.
        Refusal: must-include items that break a constraint among themselves.
    """
    names, stratum = _index_strata(matrix, strata, quotas)
    bounds = {quota.stratum: quota for quota in quotas}
    uppers = [bounds[name].upper if name in bounds else None for name in names]
    barred = np.zeros(len(matrix.item_ids), dtype=bool)
    barred[matrix.rows(exclude)] = True
    problem = Problem(
        matrix=matrix,
        sizes=np.array([size], dtype=np.int64),
        strata=names,
        stratum=stratum,
        lower=np.array([bounds[name].lower if name in bounds else 0 for name in names], dtype=np.int64),
        upper=np.array([size if upper is None else min(upper, size) for upper in uppers], dtype=np.int64),
        conflicts=index_conflicts(matrix.item_ids, conflicts, mode),
        must=np.array(sorted(matrix.rows(must)), dtype=np.int64),
        barred=barred,
        shards=shards,
        domains=(domain,),
    )
    _check_must(problem)
    return problem


def join_problems(problems: Sequence[Problem], conflicts: Sequence[Pair], mode: ConflictMode) -> Problem:
    """Put domains that conflicts join into one problem: the objective is the sum over the domains.

    Args:
        problems: of the domains, sorted by name.
        conflicts: pairs of all items.
        mode: how they bind.
    """
    ids = [item_id for one in problems for item_id in one.matrix.item_ids]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    kept = [np.flatnonzero(_supported(one.matrix)) for one in problems]
    first = problems[0].matrix
    ends = np.cumsum([0, *map(len, kept)])
    columns: list[tuple[str, str]] = []
    blocks = []
    for one, own, across in zip(problems, kept, ends, strict=False):
        table = rows_of(one.matrix.levels, np.arange(len(one.matrix.item_ids)))
        blocks.append(widened(ordered(table, own), across + np.arange(len(own)), int(ends[-1])))
        columns += [(one.domains[0], first.anchor_ids[column]) for column in own.tolist()]
    starts = np.cumsum([0, *(len(one.strata) for one in problems)])
    stratum = np.concatenate([one.stratum + at for one, at in zip(problems, starts[:-1], strict=True)])
    must = np.concatenate([_mask(one.must, len(one.stratum)) for one in problems])
    matrix = replace(
        first,
        item_ids=tuple(ids[row] for row in order),
        anchor_ids=tuple(JOINT.join(column) for column in columns),
        levels=rows_of(stacked(blocks), np.array(order, dtype=np.int64)),
        on_disk=False,
        weights=np.concatenate([first.weights[own] for own in kept]),
    )
    return Problem(
        matrix=matrix,
        sizes=np.concatenate([one.sizes for one in problems]),
        strata=tuple(JOINT.join((one.domains[0], name)) for one in problems for name in one.strata),
        stratum=stratum[order],
        lower=np.concatenate([one.lower for one in problems]),
        upper=np.concatenate([one.upper for one in problems]),
        conflicts=index_conflicts(matrix.item_ids, conflicts, mode),
        must=np.flatnonzero(must[order]),
        barred=np.concatenate([one.barred for one in problems])[order],
        domains=tuple(one.domains[0] for one in problems),
        owner=np.repeat(np.arange(len(problems)), [len(one.strata) for one in problems]),
        columns=tuple(columns),
    )


def _supported(matrix: SupportMatrix) -> NDArray[np.bool_]:
    """Tell which anchors some item supports, shape (anchors,)."""
    found = np.zeros(len(matrix.anchor_ids), dtype=bool)
    for rows in matrix.slices():
        found |= (matrix.levels[rows] > 0).any(axis=0)
    return found


def _mask(items: Indices, count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, dtype=bool)
    mask[items] = True
    return mask


def _index_strata(
    matrix: SupportMatrix, strata: Mapping[str, str] | None, quotas: Sequence[Quota]
) -> tuple[tuple[str, ...], Indices]:
    found, codes = code_items(strata, matrix.item_ids)
    lacking = np.flatnonzero(codes < 0)
    if len(lacking):
        raise InputError(
            f"item {matrix.item_ids[int(lacking[0])]!r} has support scores but no stratum"
            f" ({len(lacking)} such items)",
            hint="--strata must cover every scored item",
        )
    if strata is None:
        return found, codes
    names = sorted({*found, *(quota.stratum for quota in quotas)})
    place = np.array([names.index(name) for name in found], dtype=np.int64)
    return tuple(names), place[codes]


def _check_must(problem: Problem) -> None:
    """Refuse must-include items that already break a constraint.

    Raises:
        Refusal: too many of them, too many of a stratum, or two in conflict.
    """
    must, ids = problem.must.tolist(), problem.matrix.item_ids
    if len(must) > problem.size:
        raise Refusal(f"{len(must)} must-include items but only {problem.size} to select")
    over = np.flatnonzero(problem.counts(must) > problem.upper)
    if len(over):
        name = problem.strata[over[0]]
        raise Refusal(f"the must-include items exceed the upper quota of stratum {name!r}")
    for item in must:
        clash = sorted(set(must).intersection(problem.conflicts.of(item).tolist()) - {item})
        if clash:
            raise Refusal(f"must-include items {ids[item]!r} and {ids[clash[0]]!r} are in conflict")
