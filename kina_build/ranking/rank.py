"""Rank a board: every statistic of the room, put into one leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kina_build.config import RankingRules
from kina_build.progress import Progress, silent
from kina_build.ranking.board import USED_IN_FILTER, Board
from kina_build.ranking.bootstrap import Resamples, resample
from kina_build.ranking.contrasts import Contrasts, compare_all
from kina_build.ranking.disciplines import split_disciplines
from kina_build.ranking.floors import AnswerKey, Floors, find_floors
from kina_build.ranking.intervals import (
    Floats,
    cluster_standard_error,
    percentile_interval,
    standard_error,
    two_sided_z,
    wilson,
)
from kina_build.ranking.itemanalysis import ItemFigures, analyse_items
from kina_build.ranking.leaderboard import (
    FloorFigures,
    ItemSummary,
    Leaderboard,
    Pair,
    PaperRow,
    Stability,
    Standing,
    figure,
    p_figure,
)
from kina_build.ranking.pairs import (
    detectable_difference,
    discordance,
    holm,
    mcnemar_exact,
    mcnemar_mid_p,
    paired_z,
)
from kina_build.ranking.ranks import (
    average_ranks,
    find_tiers,
    interval_ranks,
    order_models,
    rank_sets,
    top_k_probability,
)
from kina_build.ranking.stability import measure_agreement, split_half, thin

SHOWN_FLAGS = 50

NOTES = (
    (
        "rank, rank_low, rank_high: 95 % confidence set of each row alone; the columns named "
        "simultaneous hold for all rows at once. Both are paired max-t sets."
    ),
    (
        "rank_percentile_low and _high only describe how ranks move over resamples: read as sets for "
        "all models at once they cover the true ranks far less often than 95 %."
    ),
)


@dataclass(frozen=True)
class Extras:
    """What else is known about the items."""

    key: AnswerKey | None = None
    """In the order of the board's items."""
    letters: dict[str, Sequence[str]] | None = None
    """Model to its letters, in the order of the board's items."""


@dataclass(frozen=True)
class Study:
    """A board with what was drawn from it."""

    board: Board
    resamples: Resamples
    contrasts: Contrasts
    rules: RankingRules


def rank(
    board: Board,
    rules: RankingRules = RankingRules(),
    *,
    seed: int = 0,
    extras: Extras = Extras(),
    paper: bool = False,
    on_progress: Progress = silent,
) -> Leaderboard:
    """Rank the models of a board.

    Args:
        board: scores of every model on every item.
        rules: resamples, level, least discipline and so on.
        seed: of everything random.
        extras: answer key and letters, for floors.
        paper: add the KINA paper's own stability table.
        on_progress: called with resamples done.
    """
    resamples = resample(board, rules.samples, seed, on_progress)
    contrasts = compare_all(board, resamples, rules.level)
    study = Study(board, resamples, contrasts, rules)
    order = order_models(board.accuracy, board.models)
    floors = find_floors(extras.key, extras.letters) if extras.key else None
    pairs = _pairs(study, order)
    neighbours = {(board.models[a], board.models[b]) for a, b in pairwise(order)}
    gaps = [pair.mdd for pair in pairs if (pair.first, pair.second) in neighbours]
    stability = _stability(board, resamples, rules, seed) if len(order) > 1 else None
    return Leaderboard(
        standings=_standings(study, order, floors),
        pairs=tuple(pairs),
        mdd=figure(float(np.median(gaps))) if gaps else None,
        tau=stability.tau if stability else None,
        models=len(order),
        items=len(board.item_ids),
        clusters=resamples.units if board.clustered else None,
        level=rules.level,
        samples=rules.samples,
        seed=seed,
        basis="items",
        interval=_interval_method(board),
        stability=stability,
        disciplines=tuple(split_disciplines(board, order, rules.level, rules.min_discipline)),
        floors=_floor_figures(floors),
        not_ranked=board.not_ranked,
        filter_models=tuple(m.model for m in board.not_ranked if m.reason == USED_IN_FILTER),
        item_summary=summarise_items(analyse_items(board)),
        paper=_paper(board, rules, seed) if paper and len(order) > 1 else (),
        notes=NOTES,
    )


def summarise_items(figures: Sequence[ItemFigures]) -> ItemSummary:
    """Count flagged and undefined items."""
    flagged = sorted((f for f in figures if f.flag_key), key=lambda f: (f.discrimination or 0, f.item_id))
    return ItemSummary(
        flag_key=len(flagged),
        undefined=sum(f.discrimination is None for f in figures),
        flagged=tuple(f.item_id for f in flagged[:SHOWN_FLAGS]),
    )


def _standings(study: Study, order: list[int], floors: Floors | None) -> tuple[Standing, ...]:
    board, resamples, rules = study.board, study.resamples, study.rules
    accuracy, n = board.accuracy, len(board.item_ids)
    boot = percentile_interval(resamples.means, rules.level)
    exact = wilson(accuracy, n, rules.level) if board.binary else None
    bounds = exact if exact and _interval_method(board) == "wilson" else boot
    arena = interval_ranks(*bounds)
    ranks = average_ranks(resamples.means)
    moves = percentile_interval(ranks, rules.level)
    sets = rank_sets(study.contrasts)
    tiers = find_tiers(order, study.contrasts.beats_simultaneous)
    plain = standard_error(board.scores)
    robust = _robust_error(board)
    spread = resamples.means.std(axis=0, ddof=1)
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
            letter_habit=figure(floors.habits[board.models[i]]) if floors and floors.habits else None,
        )
        for i, tier in zip(order, tiers, strict=True)
    )


def _pairs(study: Study, order: list[int]) -> list[Pair]:
    places = [(a, b) for a in range(len(order)) for b in range(a + 1, len(order))]
    found = [_pair(study, order[a], order[b]) for a, b in places]
    following = _holm_of(found, [p for p, (a, b) in enumerate(places) if b == a + 1])
    leading = _holm_of(found, [p for p, (a, _) in enumerate(places) if a == 0])
    return [
        pair.model_copy(update={"p_next_holm": following.get(p), "p_leader_holm": leading.get(p)})
        for p, pair in enumerate(found)
    ]


def _pair(study: Study, a: int, b: int) -> Pair:
    board, contrasts, rules = study.board, study.contrasts, study.rules
    difference, se = float(contrasts.difference[a, b]), float(contrasts.se[a, b])
    alone, all_pairs = two_sided_z(rules.level) * se, contrasts.critical_simultaneous * se
    mismatch = float(np.mean((board.scores[a] - board.scores[b]) ** 2))
    counts: dict[str, Any] = {"test": "paired-z", "p": p_figure(paired_z(difference, se))}
    # McNemar's test takes items as independent
    if board.binary and not board.clustered:
        ahead, behind = discordance(board.scores[a], board.scores[b])
        counts = {"test": "mcnemar", "only_first": ahead, "only_second": behind}
        counts |= {
            "p": p_figure(mcnemar_mid_p(ahead, behind)),
            "p_exact": p_figure(mcnemar_exact(ahead, behind)),
        }
    mdd = detectable_difference(mismatch, difference, len(board.item_ids), rules.power_factor)
    return Pair(
        first=board.models[a],
        second=board.models[b],
        difference=figure(difference),
        low=figure(difference - alone),
        high=figure(difference + alone),
        low_simultaneous=figure(difference - all_pairs),
        high_simultaneous=figure(difference + all_pairs),
        distinct=bool(contrasts.beats_simultaneous[a, b]),
        win=figure(contrasts.win[a, b]),
        mdd=figure(mdd),
        **counts,
    )


def _holm_of(pairs: list[Pair], family: list[int]) -> dict[int, float]:
    adjusted = holm([pairs[place].p for place in family])
    return {place: p_figure(p) for place, p in zip(family, adjusted, strict=True)}


def _interval_method(board: Board) -> str:
    return "wilson" if board.binary and not board.clustered else "bootstrap percentile"


def _robust_error(board: Board) -> Floats | None:
    if board.clustered:
        return cluster_standard_error(board.scores, board.clusters)
    if len(set(board.disciplines)) > 1:
        return cluster_standard_error(board.scores, board.disciplines)
    return None


def _stability(board: Board, resamples: Resamples, rules: RankingRules, seed: int) -> Stability:
    agreement = measure_agreement(board, resamples)
    tau, spearman = split_half(board, rules.split_halves, seed)
    return Stability(
        tau=None if agreement.tau is None else figure(agreement.tau),
        spearman=None if agreement.spearman is None else figure(agreement.spearman),
        top10_overlap=figure(agreement.top_overlap),
        leader_kept=figure(agreement.leader_kept),
        split_half_tau=None if tau is None else figure(tau),
        split_half_spearman=None if spearman is None else figure(spearman),
    )


def _floor_figures(floors: Floors | None) -> FloorFigures | None:
    if floors is None:
        return None
    return FloorFigures(
        chance=figure(floors.chance),
        constant_letter=floors.letter,
        constant_letter_accuracy=figure(floors.letter_accuracy),
    )


def _paper(board: Board, rules: RankingRules, seed: int) -> tuple[PaperRow, ...]:
    rows = [thin(board, rate, rules.thinning_samples, seed) for rate in rules.thinning_rates]
    return tuple(
        PaperRow(
            rate=row.rate,
            items=row.items,
            top10_tau=None if row.top_tau is None else figure(row.top_tau),
            leader_kept=figure(row.leader_kept),
            variance_ratio=figure(row.variance_ratio),
        )
        for row in rows
    )
