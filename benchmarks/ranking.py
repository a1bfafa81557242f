"""Ranking against scipy.stats.bootstrap and a naive loop, and how often its sets cover.

Run `OMP_NUM_THREADS=1 python -m benchmarks.ranking`; all rows of a table are measured in
one run.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import bootstrap

from kina_build.config import RankingRules
from kina_build.ranking.assembly import rank_board
from kina_build.ranking.board import Board, build_board
from kina_build.ranking.bootstrap import resample, stratified_counts
from kina_build.ranking.intervals import percentile_interval
from kina_build.ranking.ranks import average_ranks, compare_all, rank_sets

SAMPLES = 10_000
KINA = (42, 899)
LARGE = (300, 30_000)


def draw_board(means: np.ndarray, items: int, rng: np.random.Generator) -> Board:
    """Draw answers whose models share the items' difficulty; true accuracies are `means`."""
    latent = (rng.normal(size=items) + rng.normal(size=(len(means), items))) / np.sqrt(2)
    names = [f"m{i:03d}" for i in range(len(means))]
    return build_board(
        names, [f"q{i:05d}" for i in range(items)], (latent < ndtri(means)[:, None]).astype(float)
    )


def clock(work: Callable[[], object]) -> tuple[float, object]:
    """Return CPU seconds, which other work on the machine does not lengthen, and the result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def naive(board: Board, samples: int) -> np.ndarray:
    """Draw and average, one resample after the other."""
    rng = np.random.default_rng(0)
    items = len(board.item_ids)
    return np.array([board.scores[:, rng.integers(0, items, items)].mean(axis=1) for _ in range(samples)])


def by_scipy(board: Board, samples: int) -> object:
    """Resample the same items for all models: `paired` with a vectorised statistic of the index."""

    def means(index: np.ndarray, axis: int) -> np.ndarray:
        return board.scores[:, index].mean(axis=axis if axis < 0 else axis + 1)

    items = np.arange(len(board.item_ids))
    return bootstrap(
        (items,), means, n_resamples=samples, batch=100, method="percentile", rng=np.random.default_rng(0)
    )


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare_speed() -> None:
    models, items = KINA
    board = draw_board(np.linspace(0.15, 0.55, models), items, np.random.default_rng(1))
    resample(board, 100, 0)
    ours, drawn = clock(lambda: resample(board, SAMPLES, 0))
    loop, looped = clock(lambda: naive(board, SAMPLES))
    peer, _ = clock(lambda: by_scipy(board, SAMPLES))
    whole, _ = clock(lambda: rank_board(board, RankingRules(samples=SAMPLES)))
    spread = np.abs(drawn.means.std(axis=0) / looped.std(axis=0) - 1).max()  # type: ignore[attr-defined]
    print(f"bootstrap means, {models} models x {items} items, {SAMPLES:,} resamples, CPU seconds")
    print(f"  kina              {ours:8.3f} s   goal 0.10 s")
    print(f"  naive loop        {loop:8.3f} s   {loop / ours:6.1f} times as long")
    print(f"  scipy.bootstrap   {peer:8.3f} s   {peer / ours:6.1f} times as long")
    print(f"  largest relative difference of standard errors to the loop: {spread:.3f}")
    print(f"  the whole leaderboard (rank): {whole:.2f} s")


def compare_size() -> None:
    models, items = LARGE
    board = draw_board(np.linspace(0.2, 0.8, models), items, np.random.default_rng(2))
    before = memory_mb()
    taken, _ = clock(lambda: resample(board, SAMPLES, 0))
    print(f"bootstrap means, {models} models x {items:,} items, {SAMPLES:,} resamples, CPU seconds")
    print(f"  kina              {taken:8.2f} s   goal 10 s")
    print(f"  memory beyond the board: {memory_mb() - before:.0f} MB   goal 300 MB")


def measure_coverage(boards: int = 400, models: int = 20, items: int = 899) -> None:
    rng = np.random.default_rng(3)
    means = np.linspace(0.48, 0.52, models)
    truth = np.arange(models, 0, -1)
    marginal, simultaneous, percentile = [], [], []
    for number in range(boards):
        board = draw_board(means, items, rng)
        drawn = resample(board, 1000, number)
        sets = rank_sets(compare_all(board, drawn, 0.95))
        low, high = percentile_interval(average_ranks(drawn.means), 0.95)
        marginal.append((sets.low <= truth) & (truth <= sets.high))
        simultaneous.append(((sets.low_simultaneous <= truth) & (truth <= sets.high_simultaneous)).all())
        percentile.append(((low <= truth) & (truth <= high)).all())
    print(
        f"coverage of true ranks, {boards} boards of {models} models (accuracies .48 to .52), {items} items"
    )
    print(f"  marginal max-t sets, worst row         {np.mean(marginal, axis=0).min():.3f}   nominal .95")
    print(f"  simultaneous max-t sets, all rows      {np.mean(simultaneous):.3f}   nominal .95")
    print(f"  percentile intervals, all rows at once {np.mean(percentile):.3f}   claims .95")


PASSAGES, PER_PASSAGE = 112, 8
"""Some 900 items, eight on each passage."""
GAPS = 0.03
"""Share of the calls that fail, whoever makes them: they count as wrong for all alike."""


def draw_passages(means: np.ndarray, gap_rates: np.ndarray, rng: np.random.Generator) -> dict[str, Board]:
    """Draw boards of one set of answers: models are good or bad at whole passages, and calls fail.

    Args:
        means: true accuracies on what was answered.
        gap_rates: of each model.
        rng: of everything.

    Returns:
        The board with its passages as clusters, and as if items were independent; gaps count as wrong.
    """
    items, models = PASSAGES * PER_PASSAGE, len(means)
    shared = np.repeat(rng.normal(size=(models, PASSAGES)), PER_PASSAGE, axis=1)
    latent = (shared + rng.normal(size=(models, items))) / np.sqrt(2)
    scores = (latent < ndtri(means)[:, None]).astype(float)
    scores[rng.random(scores.shape) < gap_rates[:, None]] = np.nan
    names, ids = [f"m{row:03d}" for row in range(models)], [f"q{column:05d}" for column in range(items)]
    clusters = {item: f"p{column // PER_PASSAGE:04d}" for column, item in enumerate(ids)}
    return {
        "passages together": build_board(names, ids, scores, clusters=clusters, missing="wrong"),
        "items alone": build_board(names, ids, scores, missing="wrong"),
    }


def measure_coverage_with_passages(boards: int = 300, models: int = 10) -> None:
    """Show coverage with passages and gaps: equal gaps, and gaps that only the better half has."""
    means, truth = np.linspace(0.46, 0.54, models), np.arange(models, 0, -1)
    print(
        f"coverage of true ranks, {boards} boards of {models} models (accuracies .46 to .54), {PASSAGES} "
        f"passages of {PER_PASSAGE}, gaps counted as wrong: all rows at once (worst row), nominal .95"
    )
    better = np.where(np.arange(models) >= models // 2, 2 * GAPS, 0.0)
    for name, rates in (("gaps for all alike", np.full(models, GAPS)), ("for the better half", better)):
        # a gap that counts as wrong lowers what is being estimated: the truth is the order of these
        lowered = means * (1 - rates)
        ranks = 1 + (lowered[None, :] > lowered[:, None] + 1e-12).sum(axis=1)
        assert name != "gaps for all alike" or (ranks == truth).all()
        rng = np.random.default_rng(5)
        covered: dict[str, list[np.ndarray]] = {}
        rows: dict[str, list[np.ndarray]] = {}
        for number in range(boards):
            for kind, board in draw_passages(means, rates, rng).items():
                sets = rank_sets(compare_all(board, resample(board, 1000, number), 0.95))
                inside = (sets.low_simultaneous <= ranks) & (ranks <= sets.high_simultaneous)
                covered.setdefault(kind, []).append(inside.all())
                rows.setdefault(kind, []).append((sets.low <= ranks) & (ranks <= sets.high))
        for kind, found in covered.items():
            worst = np.mean(rows[kind], axis=0).min()
            print(f"  {name:20} {kind:18} {np.mean(found):.3f}  ({worst:.3f})")


def show_trap() -> None:
    rng = np.random.default_rng(4)
    strata = np.repeat(np.arange(261), [4] * 116 + [3] * 145)
    scores = (rng.random(len(strata)) < 0.4).astype(float)
    right = np.sqrt(scores.var(ddof=1) / len(scores))
    print("standard error over the right one, 899 items in 261 disciplines")
    for name, rescaled in (("plain stratified bootstrap", False), ("n_h - 1, scaled up", True)):
        weights = stratified_counts(strata, 5000, rng, rescaled=rescaled)
        print(f"  {name:28} {(weights @ scores / len(scores)).std() / right:.3f}")


def main() -> None:
    compare_speed()
    compare_size()
    show_trap()
    measure_coverage()
    measure_coverage_with_passages()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
