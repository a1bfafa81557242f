"""What the reference bank knows of each item and anchor, and the features drawn from it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.support.anchors import Anchor, domain_of
from kina_build.support.bank.signatures import Signature, derive_anchor_signature, derive_signature
from kina_build.support.embedding import COSINE_DECIMALS, Embed, item_text, scale_cosines

ITEM_FEATURES = ("raw_alignment", "typicality", "log_words", "constraints")
PAIR_FEATURES = (
    "same_method",
    "same_answer_type",
    "constraint_overlap",
    "principle_cosine",
    "text_cosine",
    "word_overlap",
    "same_source",
)
"""All of them symmetric in the two, so that what is fitted on them is symmetric too."""

PAIRS_AT_ONCE = 65_536
"""Pairs whose vectors are multiplied at once: 200 MB of float32 at 384 dimensions."""


@dataclass(frozen=True)
class Cards:
    """Items, then reference-only anchors, as arrays of what is compared."""

    ids: tuple[str, ...]
    number: Mapping[str, int]
    """Id to row."""
    domains: NDArray[np.str_]
    methods: NDArray[np.int64]
    answers: NDArray[np.int64]
    """Codes of equal values; -1 where unknown, which equals nothing."""
    sources: NDArray[np.int64]
    constraints: tuple[frozenset[str], ...]
    words: tuple[frozenset[str], ...]
    texts: NDArray[np.float32]
    """Unit vectors, shape (rows, dimension)."""
    principles: NDArray[np.float32]
    raw: NDArray[np.float64]
    """Alignment as the signature gives it; NaN where it gives none."""


@dataclass(frozen=True)
class Place:
    """One domain among the cards."""

    domain: str
    """As the first of its items spells it."""
    rows: NDArray[np.int64]
    """Its items."""
    references: NDArray[np.int64]
    """Its reference-only anchors, those that serve every domain included."""
    own_references: NDArray[np.int64]
    """Those of them that are items of the pool."""


def lay_cards(
    items: Sequence[Item], anchors: Sequence[Anchor], signatures: Mapping[str, Signature], embed: Embed
) -> Cards:
    """Lay out items and anchors; what has no signature among the given gets a derived one.

    Args:
        items: the pool, sorted by id.
        anchors: reference-only anchors, whose ids must differ from the items'.
        signatures: by item or anchor id; may be empty.
        embed: texts to unit vectors.
    """
    signed = [signatures.get(item.item_id) or derive_signature(item) for item in items]
    signed += [signatures.get(anchor.anchor_id) or derive_anchor_signature(anchor) for anchor in anchors]
    ids = (*(item.item_id for item in items), *(anchor.anchor_id for anchor in anchors))
    bodies = [*map(item_text, items), *(anchor.statement for anchor in anchors)]
    sources = [item.question_source or "" for item in items] + [""] * len(anchors)
    domains = [*map(domain_of, items), *(anchor.domain for anchor in anchors)]
    return Cards(
        ids=ids,
        number={name: row for row, name in enumerate(ids)},
        domains=np.array([fold_stem(domain) for domain in domains]),
        methods=_codes([fold_stem(signature.method_family) for signature in signed]),
        answers=_codes([fold_stem(signature.answer_type) for signature in signed]),
        sources=_codes([fold_stem(source) for source in sources]),
        constraints=tuple(frozenset(signature.constraints) for signature in signed),
        words=tuple(frozenset(fold_stem(body).split()) for body in bodies),
        texts=embed(bodies),
        principles=embed([signature.core_principle for signature in signed]),
        raw=np.array([np.nan if s.alignment is None else s.alignment for s in signed], dtype=float),
    )


def split_domains(
    cards: Cards, items: Sequence[Item], references: Container[str] = frozenset()
) -> list[Place]:
    """Return the domains in order of name; some may have no references.

    Args:
        cards: what `lay_cards` made of these items.
        items: in the same order.
        references: ids of items that are reference-only anchors of their domain, and no candidates.
    """
    names = cards.domains[: len(items)]
    anchored = cards.domains[len(items) :]
    is_reference = np.array([item.item_id in references for item in items], dtype=bool)
    places = []
    for name in np.unique(names):
        mine = names == name
        own = np.flatnonzero(mine & is_reference)
        apart = len(items) + np.flatnonzero((anchored == name) | (anchored == ""))
        first = items[int(np.flatnonzero(mine)[0])]
        places.append(
            Place(domain_of(first), np.flatnonzero(mine & ~is_reference), np.concatenate([own, apart]), own)
        )
    return places


def item_features(cards: Cards, place: Place) -> NDArray[np.float64]:
    """Return the features of alignment of one domain's items, shape (items, ITEM_FEATURES)."""
    rows, references = place.rows, place.references
    vectors = cards.texts[rows]
    nearest = np.round((vectors @ cards.texts[references].T).max(axis=1), COSINE_DECIMALS)
    raw = np.where(np.isnan(cards.raw[rows]), scale_cosines(nearest), cards.raw[rows])
    center = vectors.mean(axis=0)
    typical = np.round(vectors @ (center / max(float(np.linalg.norm(center)), 1e-12)), COSINE_DECIMALS)
    length = np.log1p([len(cards.words[row]) for row in rows])
    limits = [len(cards.constraints[row]) for row in rows]
    return np.column_stack([raw, typical, length, limits]).astype(float)


def pair_features(cards: Cards, one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the features of pairs, shape (pairs, PAIR_FEATURES); only the pairs given are looked at."""
    table = np.empty((len(one), len(PAIR_FEATURES)))
    for start in range(0, len(one), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        table[part] = _features(cards, one[part], two[part])
    return table


def _features(cards: Cards, one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.column_stack(
        [
            _same(cards.methods, one, two),
            _same(cards.answers, one, two),
            _overlap(cards.constraints, one, two),
            _cosines(cards.principles, one, two),
            _cosines(cards.texts, one, two),
            _overlap(cards.words, one, two),
            _same(cards.sources, one, two),
        ]
    )


def _same(codes: NDArray[np.int64], one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((codes[one] == codes[two]) & (codes[one] >= 0))


def _cosines(
    vectors: NDArray[np.float32], one: NDArray[np.int64], two: NDArray[np.int64]
) -> NDArray[np.float32]:
    return np.asarray(np.round(np.einsum("pd,pd->p", vectors[one], vectors[two]), COSINE_DECIMALS))


def _overlap(
    sets: Sequence[frozenset[str]], one: NDArray[np.int64], two: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return Jaccard overlaps; 0 where both are empty."""
    shared = np.array([len(sets[a] & sets[b]) for a, b in zip(one.tolist(), two.tolist(), strict=True)])
    sizes = np.array([len(each) for each in sets])
    union = sizes[one] + sizes[two] - shared
    return np.asarray(shared / np.maximum(union, 1))


def _codes(values: Sequence[str]) -> NDArray[np.int64]:
    names = {name: code for code, name in enumerate(sorted(set(values) - {""}))}
    return np.array([names.get(value, -1) for value in values], dtype=np.int64)
