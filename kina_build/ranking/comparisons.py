"""Comparisons: every pair of models as a record, with the tests and families they belong to."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from kina_build.ranking.intervals import two_sided_z
from kina_build.ranking.leaderboard import Pair, figure, p_figure
from kina_build.ranking.pairs import (
    Discordance,
    count_discordant,
    detectable_difference,
    holm,
    mcnemar_exact,
    mcnemar_mid_p,
    paired_z,
)
from kina_build.ranking.standings import Study


def compare_pairs(study: Study, order: list[int]) -> list[Pair]:
    """Compare all models two by two; Holm within "each against the next" and "each against the leader".

    Args:
        study: the board with its resamples and comparisons.
        order: row numbers, best first.
    """
    discordance = count_discordant(study.board.scores)
    places = list(combinations(range(len(order)), 2))
    found = [_compare(study, discordance, order[a], order[b]) for a, b in places]
    following = _holm_of(found, [p for p, (a, b) in enumerate(places) if b == a + 1])
    leading = _holm_of(found, [p for p, (a, _) in enumerate(places) if a == 0])
    return [
        pair.model_copy(update={"p_next_holm": following.get(p), "p_leader_holm": leading.get(p)})
        for p, pair in enumerate(found)
    ]


def _compare(study: Study, discordance: Discordance, a: int, b: int) -> Pair:
    board, contrasts, factor = study.board, study.contrasts, study.rules.power_factor
    difference, se = float(contrasts.difference[a, b]), float(contrasts.se[a, b])
    alone, all_pairs = two_sided_z(study.rules.level) * se, contrasts.critical_simultaneous * se
    squared = float(discordance.squared[a, b])
    mdd = detectable_difference(squared, difference, len(board.item_ids), factor)
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
        # where items hang together, the formula for independent ones promises too much
        mdd=figure(factor * se if board.clustered else mdd),
        **_test(study, discordance, a, b),
    )


def _test(study: Study, discordance: Discordance, a: int, b: int) -> dict[str, Any]:
    # McNemar's test takes items as independent
    if not study.board.binary or study.board.clustered:
        difference, se = float(study.contrasts.difference[a, b]), float(study.contrasts.se[a, b])
        return {"test": "paired-z", "p": p_figure(paired_z(difference, se))}
    ahead, behind = int(discordance.only_first[a, b]), int(discordance.only_first[b, a])
    return {
        "test": "mcnemar",
        "only_first": ahead,
        "only_second": behind,
        "p": p_figure(mcnemar_mid_p(ahead, behind)),
        "p_exact": p_figure(mcnemar_exact(ahead, behind)),
    }


def _holm_of(pairs: list[Pair], family: list[int]) -> dict[int, float]:
    adjusted = holm([pairs[place].p for place in family])
    return {place: p_figure(p) for place, p in zip(family, adjusted, strict=True)}
