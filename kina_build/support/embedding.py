"""Support by embedding: the cosine of an item's and an anchor's text. No model calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules, EncodeEngine, SupportRules
from kina_build.encode.embedding import embed
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.loading import load_encoder
from kina_build.encode.texts import item_text
from kina_build.encode.vectorcache import default_cache
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, domain_of, in_scope, weigh_anchors
from kina_build.support.matrix import SupportMatrix, build_matrix
from kina_build.support.partition.files import digest_partition, partition_name, write_partition
from kina_build.support.partition.pool import ITEM_BYTES, PartitionedPool, read_partition

__all__ = ["Embed", "cosine_table", "item_text", "scale_cosines", "support_by_embedding"]

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to L2-normalised rows, shape (texts, dimension): `encode.embedding.embed` with its encoder."""

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


BASE_BYTES = 1_300_000_000
"""Resident memory with sentence-transformers and MiniLM at work on 64 long texts (1,220 MB measured)."""


@dataclass(frozen=True)
class EmbeddingPartition:
    """One part to be made, with all that shapes it."""

    path: Path
    digest: str
    pool: Path
    """Its items."""
    anchors: tuple[Anchor, ...]
    encoder: str
    """Name or folder."""
    encoding: DedupRules
    engine: EncodeEngine
    cache: Path | None
    """File of kept vectors; None: in the cache folder of whoever makes the part."""
    rules: SupportRules
    all_domains: bool
    forced: bool = False
    """Whether vectors that are kept may not be used."""


def plan_embedding(
    pool: PartitionedPool,
    anchors: Sequence[Anchor],
    encoder: Encoder,
    *,
    name: str,
    encoding: DedupRules,
    engine: EncodeEngine = "auto",
    cache: Path | None,
    rules: SupportRules = SupportRules(),
    all_domains: bool = False,
    forced: bool = False,
) -> Iterator[EmbeddingPartition]:
    """List the parts that `make_embedding_partition` makes beside the pool's parts.

    Args:
        pool: the items.
        anchors: the anchors.
        encoder: the loaded encoder, which is asked for its name and revision only.
        name: what to load it by elsewhere.
        encoding: how it is loaded.
        engine: what runs the packaged one.
        cache: as EmbeddingPartition.
        rules: floor and ceiling of cosines, weighting, scale.
        all_domains: as `support_by_embedding`.
        forced: use no kept vectors.
    """
    numbers = ("scale", "cosine_floor", "cosine_ceiling", "weighting", "stratum_mass")
    shape = [
        {number: getattr(rules, number) for number in numbers},
        [anchor.model_dump(mode="json") for anchor in anchors],
        [encoder.name, encoder.revision, all_domains],
    ]
    folder = Path(name).expanduser()
    for number, items in enumerate(pool.paths):
        yield EmbeddingPartition(
            path=items.with_name(partition_name(number)),
            digest=_digest(items, shape),
            pool=items,
            anchors=tuple(anchors),
            encoder=str(folder.absolute()) if folder.is_dir() else name,
            encoding=encoding,
            engine=engine,
            cache=cache and cache.absolute(),
            rules=rules,
            all_domains=all_domains,
            forced=forced,
        )


def embedding_item_bytes(dimension: int, anchors: int) -> int:
    """Return what one item takes while its part is made: itself, two vectors, its scores five times."""
    return ITEM_BYTES + 2 * 4 * dimension + 5 * 4 * anchors


def make_embedding_partition(part: EmbeddingPartition, embed_texts: Embed) -> None:
    """Score one part's items and write it."""
    items = read_partition(part.pool)
    matrix = support_by_embedding(
        items, part.anchors, embed_texts, rules=part.rules, all_domains=part.all_domains
    )
    write_partition(part.path, matrix, part.digest)


def make_embedding_partition_anew(part: EmbeddingPartition) -> Reuse:
    """Do the same in another process, which loads the encoder for its first part; tell what it reused."""
    encoder, reuse = _load_once(part.encoder, part.encoding, part.engine), Reuse(part.forced)
    cache = part.cache or default_cache()
    make_embedding_partition(part, lambda texts: embed(texts, encoder, cache, reuse=reuse))
    return reuse


_load_once: Callable[[str, DedupRules, EncodeEngine], Encoder] = lru_cache(maxsize=1)(load_encoder)


def _digest(pool: Path, shape: Any) -> str:
    items = read_partition(pool)
    return digest_partition(shape, ([item.item_id, item_text(item), domain_of(item)] for item in items))
