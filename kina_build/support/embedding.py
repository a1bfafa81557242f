"""Support by embedding: the cosine of an item's and an anchor's text. No model calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.encode.texts import item_text
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, in_scope, weigh_anchors
from kina_build.support.matrix import SupportMatrix, build_matrix

__all__ = ["Embed", "cosine_table", "item_text", "scale_cosines", "support_by_embedding"]

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to L2-normalised rows, shape (texts, dimension): `dedup.embedding.embed` with its encoder."""

COSINE_DECIMALS = 4
"""The same text in another batch differs by 6e-7 in cosine (measured); rounding hides that."""


def support_by_embedding(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    embed: Embed,
    *,
    rules: SupportRules = SupportRules(),
    all_domains: bool = False,
) -> SupportMatrix:
    """Score every item for every anchor by the cosine of their texts.

    An anchor is compared with the items of its own domain only, 0 elsewhere: what another
    field shares in wording is not support. Anchors without a domain, and all anchors with
    `all_domains`, are compared with every item.

    Raises:
        InputError: repeated ids or unusable anchor weights.
        UsageError: `rules.cosine_ceiling` is not above `rules.cosine_floor`.
    """
    ordered = sorted(items, key=lambda item: item.item_id)
    columns = sorted(anchors, key=lambda anchor: anchor.anchor_id)
    cosines = cosine_table(ordered, columns, embed)
    scores = scale_cosines(cosines, rules)
    if not all_domains:
        scores *= in_scope(ordered, columns)
    return build_matrix(
        [item.item_id for item in ordered],
        [anchor.anchor_id for anchor in columns],
        scores,
        weigh_anchors(columns, rules),
        scale=rules.scale,
    )


def cosine_table(items: Sequence[Item], anchors: Sequence[Anchor], embed: Embed) -> NDArray[np.float32]:
    """Return the cosines of items and anchors, shape (items, anchors), rounded."""
    vectors = embed([item_text(item) for item in items])
    targets = embed([anchor.statement for anchor in anchors])
    return np.asarray(np.round(vectors @ targets.T, COSINE_DECIMALS), dtype=np.float32)


def scale_cosines(cosines: NDArray[np.float32], rules: SupportRules = SupportRules()) -> NDArray[np.float32]:
    """Map cosines to [0, 1]: 0 up to the floor, 1 from the ceiling, straight between.

    Raises:
        UsageError: the ceiling is not above the floor.
    """
    span = rules.cosine_ceiling - rules.cosine_floor
    if span <= 0:
        raise UsageError("support.cosine_ceiling must be above support.cosine_floor")
    return np.asarray(np.clip((cosines - rules.cosine_floor) / span, 0, 1), dtype=np.float32)
