"""Small boards, and boards drawn from a known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kina_build.ranking.board import Board, build_board
from kina_build.ranking.intervals import Floats


def board_of(rows: Sequence[Sequence[float]], disciplines: Sequence[str] | None = None) -> Board:
    scores = np.array(rows, dtype=float)
    models = [f"m{i + 1}" for i in range(len(scores))]
    items = [f"q{i:04d}" for i in range(scores.shape[1])]
    return build_board(models, items, scores, disciplines)


def draw_board(means: Floats, items: int, rng: np.random.Generator) -> Board:
    """Draw right-or-wrong answers whose models share the items' difficulty (a one-factor probit).

    The true accuracy of each model is exactly its entry of `means`: half of the latent
    variance is the item's, so that paired differences are surer than single accuracies.
    """
    from scipy.special import ndtri

    item = rng.normal(size=items)
    noise = rng.normal(size=(len(means), items))
    latent = (item + noise) / np.sqrt(2)
    return board_of((latent < ndtri(means)[:, None]).astype(float))


def paired_board(only_first: int, only_second: int, items: int) -> Board:
    first, second = np.zeros(items), np.zeros(items)
    first[:only_first] = 1
    second[only_first : only_first + only_second] = 1
    first[items // 2 :] = second[items // 2 :] = 1
    return board_of([first, second])
