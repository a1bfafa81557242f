"""Small instances to select from, the naive greedy, and the optimum by trying every set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from kina_build.selection.inputs import Inputs, sort_pairs
from kina_build.selection.records import Quota
from kina_build.selection.solver.problem import Problem
from kina_build.support.matrix import SupportMatrix, build_matrix


def matrix_of(support: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> SupportMatrix:
    """Build a matrix from {"q1": {"u1": .7}} and {"u1": 2}."""
    scores = np.array([[row.get(anchor, 0.0) for anchor in weights] for row in support.values()])
    return build_matrix(list(support), list(weights), scores, np.array(list(weights.values()), dtype=float))


def naive_greedy(problem: Problem) -> list[int]:
    """Evaluate every open item in every pick, in plain Python."""
    levels, weights = problem.matrix.levels.astype(int).tolist(), problem.matrix.weights.tolist()

    def value(items: Sequence[int], folds: int = problem.folds) -> int:
        """Add up the largest levels of each anchor, as many as count."""
        counted = [sorted((levels[i][u] for i in items), reverse=True)[:folds] for u in range(len(weights))]
        return sum(w * sum(best) for w, best in zip(weights, counted, strict=True))

    def may_add(items: Sequence[int], new: int) -> bool:
        if new in items or problem.barred[new]:
            return False
        if any(new in problem.conflicts.of(old) for old in items):
            return False
        counts = problem.counts([*items, new])
        claimed = sum(max(c, low) for c, low in zip(counts.tolist(), problem.lower.tolist(), strict=True))
        return bool((counts <= problem.upper).all()) and claimed <= problem.size

    picked = problem.must.tolist()
    while True:
        free = [i for i in range(len(levels)) if may_add(picked, i)]
        if not free:
            return picked
        base = value(picked)
        picked.append(max(free, key=lambda i: (value([*picked, i]) - base, value([i]), -i)))


def best_sets(problem: Problem) -> int | None:
    """Return the optimum over all allowed sets, or None where there is none."""
    items = [i for i in range(len(problem.stratum)) if not problem.barred[i]]
    sets = itertools.combinations(items, problem.size)
    return max((problem.value(chosen) for chosen in sets if problem.allows(chosen)), default=None)


@st.composite
def worlds(
    draw: st.DrawFn, *, most: int = 8, quotas: bool = True, conflicts: bool = True
) -> tuple[Inputs, int]:
    """Draw a small instance with few levels, so that ties and saturation are common; and K."""
    count, anchors = draw(st.integers(2, most)), draw(st.integers(1, 4))
    step = st.sampled_from([0.0, 0.0, 0.2, 0.5, 0.5, 0.9, 1.0])
    scores = np.array([[draw(step) for _ in range(anchors)] for _ in range(count)])
    weights = np.array([draw(st.integers(1, 3)) for _ in range(anchors)], dtype=float)
    ids = [f"q{i}" for i in range(count)]
    matrix = build_matrix(ids, [f"u{u}" for u in range(anchors)], scores, weights)
    size = draw(st.integers(1, min(4, count)))
    strata = {i: draw(st.sampled_from("abc")) for i in ids} if quotas else None
    rows = []
    for name in "abc" if quotas else "":
        low = draw(st.integers(0, 2))
        rows.append(Quota(stratum=name, lower=low, upper=draw(st.none() | st.integers(low, 3))))
    pair = st.tuples(st.sampled_from(ids), st.sampled_from(ids))
    pairs = draw(st.lists(pair, max_size=5)) if conflicts else []
    mode = draw(st.sampled_from(["clusters", "pairwise"]))
    must = draw(st.sets(st.sampled_from(ids), max_size=1))
    exclude = draw(st.sets(st.sampled_from(ids), max_size=1)) - must
    inputs = Inputs(
        matrix=matrix,
        strata=strata,
        quotas=tuple(rows),
        conflicts=sort_pairs(pairs),
        conflict_mode=mode,
        must=frozenset(must),
        exclude=frozenset(exclude),
    )
    return inputs, size
