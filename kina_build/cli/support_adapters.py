"""The adapters of `kina support`: each turns a choice of options into a support matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kina_build.cli.support_choice import Choice, Method, Outcome
from kina_build.cli.support_judge import by_judge
from kina_build.cli.support_vectors import load_embedder

if TYPE_CHECKING:
    from kina_build.items.model import Item
    from kina_build.support.anchors import Anchor


def by_embedding(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the cosine of texts."""
    from kina_build.support.embedding import support_by_embedding

    embed, revision = load_embedder(choice)
    matrix = support_by_embedding(items, anchors, embed, rules=choice.rules, all_domains=choice.all_domains)
    return Outcome(matrix, models={choice.encoder: revision})


def by_ratings(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by a file of scores or ratings."""
    from kina_build.errors import UsageError
    from kina_build.support.judge.agreement import support_by_ratings
    from kina_build.support.judge.ratings import matrix_of_pairs, read_pair_scores, read_ratings

    if not choice.ratings:
        raise UsageError("--method ratings needs --ratings FILE")
    scores = read_pair_scores(choice.ratings, items, anchors)
    if not choice.labels:
        return Outcome(matrix_of_pairs(items, anchors, scores, choice.rules))
    rated = support_by_ratings(
        items, anchors, read_ratings(choice.ratings), read_ratings(choice.labels), choice.rules
    )
    return Outcome(rated.matrix, rated.report)


def by_bank(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the paper's reference bank."""
    from kina_build.cli.support_bank import score_by_bank

    return score_by_bank(choice, items, anchors)


ADAPTERS: dict[Method, Callable[[Choice, Sequence[Item], Sequence[Anchor]], Outcome]] = {
    Method.embedding: by_embedding,
    Method.judge: by_judge,
    Method.ratings: by_ratings,
    Method.bank: by_bank,
}
