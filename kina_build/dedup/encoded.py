"""Items sorted by id, read and encoded: what every comparison starts from."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kina_build.config import DedupRules
from kina_build.dedup.clusters import rank_item
from kina_build.dedup.compare.boilerplate import Common, count_common, drop_boilerplate
from kina_build.dedup.compare.lexical import Reading, read_item
from kina_build.dedup.overrides import Decided, Override, resolve_overrides
from kina_build.dedup.records import Approximation
from kina_build.dedup.search.blocks import bytes_a_row
from kina_build.dedup.search.candidates import lexical_pairs
from kina_build.dedup.search.fast import find_known
from kina_build.encode.embedding import check_known, embed, embed_to_files
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.onnx import OnnxEncoder
from kina_build.encode.texts import item_text
from kina_build.encode.vectorfiles import VectorSet
from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.progress import Progress, silent
from kina_build.rows.workfolders import make_work


@dataclass(frozen=True)
class EqualItems:
    """Items of one text with equal options and key, too many to be compared pair by pair."""

    row: int
    """Of the one that stands for them."""
    items: tuple[Item, ...]
    """The others, sorted by id."""
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class EncodedPool:
    """Items sorted by id, read and encoded: what every comparison starts from."""

    items: tuple[Item, ...]
    readings: tuple[Reading, ...]
    common: Common
    vectors: VectorSet | None
    """Shape (items, dimension), in memory or in files; None where no encoder was asked."""
    encoder: str
    revision: str
    unknown_rate: float
    decided: Decided
    """What people decided about them."""
    groups: tuple[EqualItems, ...] = ()
    """Items that are not compared, because one of the others stands for them."""
    fast: Approximation | None = None
    """What was left out, where not every item was encoded."""

    @cached_property
    def rows(self) -> dict[str, int]:
        """Return the row of each item: where another one stands for it, that one's."""
        own = {item.item_id: row for row, item in enumerate(self.items)}
        return own | {item.item_id: group.row for group in self.groups for item in group.items}

    @property
    def all_items(self) -> tuple[Item, ...]:
        """Return the items of the pool, those that another stands for included."""
        return (*self.items, *(item for group in self.groups for item in group.items))

    def reading_of(self, item_id: str) -> Reading:
        """Return the reading of an item of the pool."""
        others = (one for group in self.groups for one in group.readings if one.item_id == item_id)
        return next(others, self.readings[self.rows[item_id]])


def read_corpus(
    items: Sequence[Item],
    encoder: Encoder | None,
    rules: DedupRules = DedupRules(),
    overrides: Sequence[Override] = (),
    *,
    cache: Path | None = None,
    files: Path | None = None,
    memory: Callable[[int], float] = lambda _: math.inf,
    on_progress: Progress = silent,
    reuse: Reuse | None = None,
) -> EncodedPool:
    """Fold and encode items.

    Args:
        items: with unique ids, in any order.
        encoder: where vectors come from; None compares letters only.
        rules: limits, such as the share of tokens an encoder may not know.
        overrides: what people decided.
        cache: file of kept vectors.
        files: folder for vectors that are too many for memory; None keeps all in memory.
        memory: tells, when the items have been read, how many bytes vectors of a dimension may take.
        on_progress: told (texts encoded, texts to encode).
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        InputError: an id stands twice, or overrides contradict one another.
        Refusal: the encoder does not know the items' script.
    """
    plain = _read(items, rules, overrides)
    if encoder is None or not plain.items:
        return plain
    texts = [item_text(item) for item in plain.items]
    rate = check_known(texts, encoder, rules)
    vectors: VectorSet
    if files and len(texts) * bytes_a_row(encoder.dimension, rules) > memory(encoder.dimension):
        make_work(files)
        vectors = embed_to_files(texts, encoder, files, cache, on_progress, reuse=reuse)
    else:
        vectors = embed(texts, encoder, cache, on_progress, reuse=reuse)
    return _encoded(plain, vectors, encoder, rate)


def read_fast(
    items: Sequence[Item],
    encoder: Encoder,
    rules: DedupRules = DedupRules(),
    overrides: Sequence[Override] = (),
    *,
    cache: Path | None = None,
    on_progress: Progress = silent,
    reuse: Reuse | None = None,
) -> EncodedPool:
    """Fold items, and encode those that may have a close one.

    Args:
        items: with unique ids, in any order.
        encoder: the packaged one.
        rules: threshold, and the numbers that begin with `fast_`.
        overrides: what people decided; the items they name are encoded.
        cache: file of kept vectors.
        on_progress: told (texts encoded, texts to encode).
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        UsageError: another encoder than the packaged one.
        InputError: an id stands twice, or overrides contradict one another.
        Refusal: the encoder does not know the items' script.
    """
    if not isinstance(encoder, OnnxEncoder):
        raise UsageError(
            "--near fast needs the packaged encoder on ONNX Runtime",
            hint="leave --near fast or --encoder out",
        )
    plain = _read(items, rules, overrides)
    texts = [item_text(item) for item in plain.items]
    rate = check_known(texts, encoder, rules)
    lexical, _ = lexical_pairs(plain.readings, plain.common, rules.group_limit)
    named = {plain.rows[name] for pair in plain.decided.same | plain.decided.different for name in pair}

    known, fast = find_known(
        encoder.pieces(texts),
        lambda rows: embed([texts[row] for row in rows.tolist()], encoder, cache, on_progress, reuse=reuse),
        sorted(named.union(*lexical)),
        rules,
    )
    return replace(_encoded(plain, known, encoder, rate), fast=fast)


def _encoded(plain: EncodedPool, vectors: VectorSet, encoder: Encoder, rate: float) -> EncodedPool:
    return replace(
        plain,
        vectors=vectors,
        encoder=encoder.name,
        revision=encoder.revision,
        unknown_rate=round(rate, 4),
    )


def _read(items: Sequence[Item], rules: DedupRules, overrides: Sequence[Override]) -> EncodedPool:
    """Sort items by id, fold them, and let one stand for many that are equal."""
    check_ids(items)
    ordered = tuple(sorted(items, key=lambda item: item.item_id))
    folded = tuple(map(read_item, ordered))
    common = count_common(folded, rules.common_limit)
    readings = tuple(drop_boilerplate(reading, common) for reading in folded)
    decided = resolve_overrides(overrides, readings, ordered)
    equal = _find_equal(ordered, readings, decided, rules)
    stood_for = {row for _, rows in equal for row in rows}
    kept = [row for row in range(len(ordered)) if row not in stood_for]
    place = {row: number for number, row in enumerate(kept)}
    return EncodedPool(
        items=tuple(ordered[row] for row in kept),
        readings=tuple(readings[row] for row in kept),
        common=common,
        vectors=None,
        encoder="",
        revision="",
        unknown_rate=0.0,
        decided=decided,
        groups=tuple(
            EqualItems(
                place[first], tuple(ordered[row] for row in rows), tuple(readings[row] for row in rows)
            )
            for first, rows in equal
        ),
    )


def _find_equal(
    items: Sequence[Item], readings: Sequence[Reading], decided: Decided, rules: DedupRules
) -> list[tuple[int, list[int]]]:
    """Find groups of equal items that are too large to be listed pair by pair.

    Items that a person kept or named in a pair stay out: what was said of them holds for them alone.

    Returns:
        The row of the one to keep first and the rows of the others, group by group.
    """
    named = decided.kept.union(*decided.same, *decided.different)
    alike: dict[object, list[int]] = defaultdict(list)
    for row, (item, reading) in enumerate(zip(items, readings, strict=True)):
        if item.item_id not in named:
            shown = (item.question, item.correct_text, item.question_material, reading.options)
            fate = decided.dropped.get(item.item_id)
            alike[*shown, reading.gold, reading.language, fate].append(row)
    found = []
    for rows in alike.values():
        if len(rows) > rules.equal_listed:
            first = min(rows, key=lambda row: (rank_item(items[row], frozenset(), rules), row))
            found.append((first, [row for row in rows if row != first]))
    return found


def check_ids(items: Sequence[Item]) -> None:
    """Check that every id is used once.

    Raises:
        InputError: names the id and its rows, counted from 1.
    """
    counts = Counter(item.item_id for item in items)
    repeated = next((name for name, count in counts.items() if count > 1), None)
    if repeated is not None:
        places = [str(row) for row, item in enumerate(items, start=1) if item.item_id == repeated]
        raise InputError(
            f"item_id {repeated!r} stands on rows {', '.join(places)}",
            hint="ids must be unique: `kina import` gives every row its own",
        )
