"""Standings: every model's accuracy, bounds, ranks and tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kina_build.config import RankingRules
from kina_build.ranking.board import Board
from kina_build.ranking.bootstrap import Resamples
from kina_build.ranking.files.itemfiles import Floors
from kina_build.ranking.intervals import (
    Floats,
    cluster_standard_error,
    percentile_interval,
    standard_error,
    wilson,
)
from kina_build.ranking.leaderboard import Standing, figure
from kina_build.ranking.ranks import (
    Contrasts,
    average_ranks,
    find_tiers,
    interval_ranks,
    rank_sets,
    top_k_probability,
)


@dataclass(frozen=True)
class Study:
    """A board with what was drawn from it."""

    board: Board
    resamples: Resamples
    contrasts: Contrasts
    rules: RankingRules


def build_standings(study: Study, order: list[int], floors: Floors | None) -> tuple[Standing, ...]:
    """Describe every model's place, in order of accuracy.

    Args:
        study: the board with its resamples and comparisons.
        order: row numbers, best first.
        floors: for what letter habits alone would score, where letters are known.
    """
    board, resamples, rules = study.board, study.resamples, study.rules
    accuracy, n = board.accuracy, len(board.item_ids)
    boot = percentile_interval(resamples.means, rules.level)
    exact = wilson(accuracy, n, rules.level) if board.binary else None
    bounds = exact if exact and interval_method(board) == "wilson" else boot
    arena = interval_ranks(*bounds)
    ranks = average_ranks(resamples.means)
    moves = percentile_interval(ranks, rules.level)
    sets = rank_sets(study.contrasts)
    tiers = find_tiers(order, study.contrasts.beats_simultaneous)
    plain = standard_error(board.scores)
    robust = robust_error(board)
    spread = resamples.means.std(axis=0, ddof=1)
    cases = rank_cases(accuracy, board.best)
    tops = {k: top_k_probability(ranks, k) for k in rules.top_ks if k < len(order)}
    return tuple(
        Standing(
            model=board.models[i],
            accuracy=figure(accuracy[i]),
            low=figure(bounds[0][i]),
            high=figure(bounds[1][i]),
            rank=int(sets.low[i]),
            rank_low=int(sets.low[i]),
            rank_high=int(sets.high[i]),
            rank_low_simultaneous=int(sets.low_simultaneous[i]),
            rank_high_simultaneous=int(sets.high_simultaneous[i]),
            tier=tier,
            rank_percentile_low=figure(moves[0][i]),
            rank_percentile_high=figure(moves[1][i]),
            rank_arena_low=int(arena[0][i]),
            rank_arena_high=int(arena[1][i]),
            wilson_low=figure(exact[0][i]) if exact else None,
            wilson_high=figure(exact[1][i]) if exact else None,
            bootstrap_low=figure(boot[0][i]),
            bootstrap_high=figure(boot[1][i]),
            se=figure(plain[i]),
            se_cluster=None if robust is None else figure(robust[i]),
            se_bootstrap=figure(spread[i]),
            top_k={str(k): figure(share[i]) for k, share in tops.items()},
            coverage=figure(board.coverage[i]) if board.coverage else 1.0,
            accuracy_best=figure(board.best[i]) if board.best else None,
            rank_best_case=cases[i][0] if cases else None,
            rank_worst_case=cases[i][1] if cases else None,
            letter_habit=figure(floors.habits[board.models[i]]) if floors and floors.habits else None,
        )
        for i, tier in zip(order, tiers, strict=True)
    )


def rank_cases(worst: Floats, best: Sequence[float]) -> list[tuple[int, int]]:
    """Return the first and last place by accuracy that missing scores leave open to each model.

    Args:
        worst: accuracies with missing scores counted as wrong.
        best: with missing scores counted as right; empty: nothing is missing.
    """
    return [
        (
            1 + sum(other > best[row] for place, other in enumerate(worst) if place != row),
            1 + sum(other > worst[row] for place, other in enumerate(best) if place != row),
        )
        for row in range(len(best))
    ]


def interval_method(board: Board) -> str:
    """Name the method behind the bounds of accuracies: wilson only for independent right-or-wrong answers."""
    return "wilson" if board.binary and not board.clustered else "bootstrap percentile"


def robust_error(board: Board) -> Floats | None:
    """Return cluster-robust standard errors, by the given clusters, else by discipline if there are two."""
    if board.clustered:
        return cluster_standard_error(board.scores, board.clusters)
    if len(set(board.disciplines)) > 1:
        return cluster_standard_error(board.scores, board.disciplines)
    return None
