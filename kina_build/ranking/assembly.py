"""Rank a board: every statistic of the room, put into one leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kina_build.config import RankingRules
from kina_build.progress import Progress, silent
from kina_build.ranking.board import USED_IN_FILTER, Board
from kina_build.ranking.bootstrap import Resamples, resample
from kina_build.ranking.disciplines import split_disciplines
from kina_build.ranking.files.itemfiles import AnswerKey, Floors, find_floors
from kina_build.ranking.itemanalysis import ItemFigures, analyse_items
from kina_build.ranking.leaderboard import (
    Dataset,
    FloorFigures,
    ItemSummary,
    Leaderboard,
    PaperRow,
    Stability,
    figure,
)
from kina_build.ranking.pairs import compare_pairs, median_possible
from kina_build.ranking.ranks import compare_all, order_models
from kina_build.ranking.stability import measure_agreement, split_half, thin
from kina_build.ranking.standings import Study, build_standings, interval_method
from kina_build.scoring.lettering import STATED

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
    dataset: Dataset | None = None
    missing: str | None = None
    """What became of missing scores."""
    stated: bool = False
    """The letters behind the scores were read in an order that was only stated."""


def rank_board(
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
        extras: answer key and letters, for floors; the release.
        paper: add the KINA paper's own stability table.
        on_progress: called with resamples done.
    """
    resamples = resample(board, rules.samples, seed, on_progress)
    contrasts = compare_all(board, resamples, rules.level)
    study = Study(board, resamples, contrasts, rules)
    order = order_models(board.accuracy, board.models)
    floors = find_floors(extras.key, extras.letters) if extras.key else None
    pairs = compare_pairs(study, order)
    stability = _stability(board, resamples, rules, seed) if len(order) > 1 else None
    return Leaderboard(
        standings=build_standings(study, order, floors),
        pairs=tuple(pairs),
        mdd=median_possible(pairs),
        tau=stability.tau if stability else None,
        models=len(order),
        items=len(board.item_ids),
        clusters=resamples.units if board.clustered else None,
        level=rules.level,
        samples=rules.samples,
        seed=seed,
        basis="items",
        missing=extras.missing,
        interval=interval_method(board),
        dataset=extras.dataset,
        stability=stability,
        disciplines=tuple(split_disciplines(board, order, rules.level, rules.min_discipline)),
        floors=_floor_figures(floors),
        not_ranked=board.not_ranked,
        filter_models=tuple(m.model for m in board.not_ranked if m.reason == USED_IN_FILTER),
        item_summary=summarise_items(analyse_items(board)),
        paper=_paper(board, rules, seed) if paper and len(order) > 1 else (),
        notes=(*NOTES, f"letters: {STATED}") if extras.stated else NOTES,
    )


def summarise_items(figures: Sequence[ItemFigures]) -> ItemSummary:
    """Count flagged and undefined items."""
    flagged = sorted((f for f in figures if f.flag_key), key=lambda f: (f.discrimination or 0, f.item_id))
    return ItemSummary(
        flag_key=len(flagged),
        undefined=sum(f.discrimination is None for f in figures),
        flagged=tuple(f.item_id for f in flagged[:SHOWN_FLAGS]),
    )


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
