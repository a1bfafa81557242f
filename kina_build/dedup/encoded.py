"""Items sorted by id, read and encoded: what every comparison starts from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kina_build.config import DedupRules
from kina_build.dedup.lexical import Common, Reading, count_common, drop_boilerplate, read_item
from kina_build.dedup.overrides import Override, resolve_overrides
from kina_build.dedup.records import Approximation
from kina_build.dedup.search.blocks import bytes_a_row
from kina_build.dedup.search.candidates import lexical_pairs
from kina_build.dedup.search.fast import Vectorise, find_known
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
    fast: Approximation | None = None
    """What was left out, where not every item was encoded."""


def read_corpus(
    items: Sequence[Item],
    encoder: Encoder | None,
    rules: DedupRules = DedupRules(),
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
        cache: file of kept vectors.
        files: folder for vectors that are too many for memory; None keeps all in memory.
        memory: tells, when the items have been read, how many bytes vectors of a dimension may take.
        on_progress: told (texts encoded, texts to encode).
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        InputError: an id stands twice.
        Refusal: the encoder does not know the items' script.
    """
    ordered, readings, common = _read(items, rules)
    if encoder is None or not ordered:
        return EncodedPool(ordered, readings, common, None, "", "", 0.0)
    texts = [item_text(item) for item in ordered]
    rate = check_known(texts, encoder, rules)
    vectors: VectorSet
    if files and len(texts) * bytes_a_row(encoder.dimension, rules) > memory(encoder.dimension):
        make_work(files)
        vectors = embed_to_files(texts, encoder, files, cache, on_progress, reuse=reuse)
    else:
        vectors = embed(texts, encoder, cache, on_progress, reuse=reuse)
    return EncodedPool(ordered, readings, common, vectors, encoder.name, encoder.revision, round(rate, 4))


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
        on_progress: told (texts encoded, texts to encode), step by step.
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        UsageError: another encoder than the packaged one.
        InputError: an id stands twice.
        Refusal: the encoder does not know the items' script.
    """
    if not isinstance(encoder, OnnxEncoder):
        raise UsageError(
            "--near fast needs the packaged encoder on ONNX Runtime",
            hint="leave --near fast or --encoder out",
        )
    ordered, readings, common = _read(items, rules)
    texts = [item_text(item) for item in ordered]
    rate = check_known(texts, encoder, rules)
    decided = resolve_overrides(overrides, readings)
    lexical, _ = lexical_pairs(readings, common, rules.group_limit)
    row_of = {item.item_id: row for row, item in enumerate(ordered)}
    named = {row_of[name] for pair in decided.same | decided.different for name in pair}

    def rows_by(some: Encoder) -> Vectorise:
        return lambda rows: embed(
            [texts[row] for row in rows.tolist()], some, cache, on_progress, reuse=reuse
        )

    known, fast = find_known(
        encoder.pieces(texts),
        rows_by(replace(encoder, small=True)),
        rows_by(encoder),
        sorted(named.union(*lexical)),
        rules,
    )
    return EncodedPool(ordered, readings, common, known, encoder.name, encoder.revision, round(rate, 4), fast)


def _read(items: Sequence[Item], rules: DedupRules) -> tuple[tuple[Item, ...], tuple[Reading, ...], Common]:
    """Sort items by id and fold them."""
    check_ids(items)
    ordered = tuple(sorted(items, key=lambda item: item.item_id))
    plain = tuple(map(read_item, ordered))
    common = count_common(plain, rules.common_limit)
    return ordered, tuple(drop_boilerplate(reading, common) for reading in plain), common


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
