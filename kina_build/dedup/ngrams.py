"""Runs of tokens that items share with other texts.

Source: Brown et al. 2020 (arXiv 2005.14165), appendix C: 13-grams of an evaluation text
that appear in another corpus are a trace of contamination; those that appear in many
texts are boilerplate and tell nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import product

from kina_build.dedup.tokens import tokens
from kina_build.items.model import Item
from kina_build.items.text import fold_stem

Gram = tuple[str, ...]
Sizes = tuple[int, int]
"""Tokens of a run, and the least that a whole stem must have to be one."""


@dataclass(frozen=True)
class Overlap:
    """What an item and one other text share."""

    share: float
    """Share of the item's telling runs that stand in the other text."""
    longest: str
    """The longest stretch of tokens the two have in common."""


def asked_tokens(item: Item) -> list[str]:
    """Cut what an item asks into tokens: passage and stem; options are compared elsewhere."""
    return tokens(fold_stem(f"{item.question_material or ''}\n{item.question}"))


def all_tokens(item: Item) -> list[str]:
    """Cut all of a text into tokens: passage, stem, options in order."""
    return asked_tokens(item) + [
        token for option in item.options for token in tokens(fold_stem(option.answer))
    ]


def find_overlaps(
    items: Sequence[Item], others: Sequence[Item], size: Sizes, common: int
) -> dict[tuple[int, int], Overlap]:
    """Find the texts that share runs of tokens with items.

    Args:
        items: the pool.
        others: the corpus.
        size: tokens of a run, and of the shortest stem that is taken as one run; still shorter
            ones cannot be found this way.
        common: runs in this many items, or in this many other texts, tell nothing.

    Returns:
        (row of the item, row of the other text) with what they share.
    """
    texts = [asked_tokens(item) for item in items]
    holders = {gram: rows for gram, rows in _holders(texts, size).items() if len(rows) < common}
    shared: dict[tuple[int, int], set[Gram]] = defaultdict(set)
    for gram, places in _places(holders.keys(), others).items():
        if len(places) < common:
            for pair in product(holders[gram], places):
                shared[pair].add(gram)
    return {
        pair: _overlap(texts[pair[0]], grams, holders.keys(), size) for pair, grams in sorted(shared.items())
    }


def _holders(texts: Sequence[Sequence[str]], size: Sizes) -> dict[Gram, set[int]]:
    holders: dict[Gram, set[int]] = defaultdict(set)
    for row, words in enumerate(texts):
        for gram in _runs(words, size):
            holders[gram].add(row)
    return holders


def _places(wanted: Set[Gram], others: Sequence[Item]) -> dict[Gram, list[int]]:
    """List the texts that hold each wanted run; memory goes with the pool, not the corpus."""
    lengths = {len(gram) for gram in wanted}
    places: dict[Gram, list[int]] = defaultdict(list)
    for row, item in enumerate(others):
        words = all_tokens(item)
        for gram in wanted & {gram for length in lengths for gram in _grams(words, length)}:
            places[gram].append(row)
    return places


def _runs(words: Sequence[str], size: Sizes) -> list[Gram]:
    """Return the runs of an item: all of full length, or a short stem whole."""
    return _grams(words, min(size[0], len(words))) if len(words) >= size[1] else []


def _grams(words: Sequence[str], length: int) -> list[Gram]:
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]


def _overlap(words: Sequence[str], shared: Set[Gram], telling: Set[Gram], size: Sizes) -> Overlap:
    runs = _runs(words, size)
    total = sum(run in telling for run in runs)
    best = start = length = 0
    for place, run in enumerate(runs):
        length = length + 1 if run in shared else 0
        if length > best:
            best, start = length, place - length + 1
    share = round(sum(run in shared for run in runs) / total, 4)
    return Overlap(share, " ".join(words[start : start + best + len(runs[0]) - 1]))
