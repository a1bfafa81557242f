"""Beside the raw scores of a board: what its models would score on the whole pool."""

from __future__ import annotations

from kina_build.errors import Refusal
from kina_build.ranking.board import Board
from kina_build.ranking.leaderboard import Leaderboard, OnPool, Standing, figure
from kina_build.ranking.options import RankOptions
from kina_build.release.splits import ESTIMATOR
from kina_build.scoring.estimator import Estimate, Estimator, digest_items, estimate, read_estimator

OTHER_ITEMS = (
    f"the {ESTIMATOR} of the release is of other items than those ranked: nothing is said of the pool"
)


def estimate_files(ranked: Leaderboard, board: Board, options: RankOptions) -> Leaderboard:
    """Add the estimates of the estimator that the options name, or that travels in the release.

    Raises:
        InputError: it cannot be read.
        Refusal: the one that was named is of other items than the board's.
    """
    if options.estimate is not None:
        return estimate_board(ranked, board, read_estimator(options.estimate))
    found = None if options.release is None else options.release / ESTIMATOR
    if found is None or not found.exists():
        return ranked
    estimator = read_estimator(found)
    if not _is_of(estimator, board):
        return ranked.model_copy(update={"notes": (*ranked.notes, OTHER_ITEMS)})
    return estimate_board(ranked, board, estimator)


def estimate_board(ranked: Leaderboard, board: Board, estimator: Estimator) -> Leaderboard:
    """Add what each model would score on the whole pool, and how far raw scores lie from it.

    Args:
        ranked: the leaderboard of the board.
        board: the scores.
        estimator: of its items.

    Raises:
        Refusal: it is of other items.
    """
    if not _is_of(estimator, board):
        raise Refusal(
            f"the scores are on other items than the {estimator.items} of the estimator",
            hint="rank on the items of the form: --only short.json",
        )
    rows = {model: row for row, model in enumerate(board.models)}
    full = [one for one in ranked.standings if one.coverage == 1]
    singly = estimator.left_out[0]
    on_pool = OnPool(
        pool_items=estimator.pool_items,
        level=estimator.level,
        error=singly.error,
        error_low=singly.low,
        error_high=singly.high,
        raw_bias=estimator.raw_bias,
        raw_most=estimator.raw_most,
        estimates=tuple(_estimate(estimator, board, rows[one.model], one) for one in full),
    )
    return ranked.model_copy(update={"on_pool": on_pool})


def _estimate(estimator: Estimator, board: Board, row: int, standing: Standing) -> Estimate:
    scores = dict(zip(board.item_ids, map(float, board.scores[row]), strict=True))
    found = estimate(estimator, standing.model, scores)
    return Estimate(
        model=found.model,
        score=standing.accuracy,
        estimate=figure(found.estimate),
        low=figure(found.low),
        high=figure(found.high),
    )


def _is_of(estimator: Estimator, board: Board) -> bool:
    return digest_items(board.item_ids) == estimator.items_sha256
