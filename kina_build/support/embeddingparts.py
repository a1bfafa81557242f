"""Support by embedding, in parts: the texts of one part are encoded at a time, here or on a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kina_build.config import DedupRules, SupportRules
from kina_build.encode.embedding import embed
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.loading import load_encoder
from kina_build.encode.vectorcache import default_cache
from kina_build.support.anchors import Anchor, domain_of
from kina_build.support.embedding import Embed, item_text, support_by_embedding
from kina_build.support.partfiles import digest_part, part_name, write_part
from kina_build.support.poolparts import ITEM_BYTES, DealtPool, read_part_pool

BASE_BYTES = 1_300_000_000
"""Resident memory with sentence-transformers and MiniLM at work on 64 long texts (1,220 MB measured)."""


@dataclass(frozen=True)
class EmbeddingPart:
    """One part to be made, with all that shapes it."""

    path: Path
    digest: str
    pool: Path
    """Its items."""
    anchors: tuple[Anchor, ...]
    encoder: str
    """Name or folder."""
    encoding: DedupRules
    cache: Path | None
    """File of kept vectors; None: in the cache folder of whoever makes the part."""
    rules: SupportRules
    all_domains: bool
    forced: bool = False
    """Whether vectors that are kept may not be used."""


def plan_embedding(
    pool: DealtPool,
    anchors: Sequence[Anchor],
    encoder: Encoder,
    *,
    name: str,
    encoding: DedupRules,
    cache: Path | None,
    rules: SupportRules = SupportRules(),
    all_domains: bool = False,
    forced: bool = False,
) -> Iterator[EmbeddingPart]:
    """List the parts that `make_embedding_part` makes beside the pool's parts.

    Args:
        pool: the items.
        anchors: the anchors.
        encoder: the loaded encoder, which is asked for its name and revision only.
        name: what to load it by elsewhere.
        encoding: how it is loaded.
        cache: as EmbeddingPart.
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
        yield EmbeddingPart(
            path=items.with_name(part_name(number)),
            digest=_digest(items, shape),
            pool=items,
            anchors=tuple(anchors),
            encoder=str(folder.absolute()) if folder.is_dir() else name,
            encoding=encoding,
            cache=cache and cache.absolute(),
            rules=rules,
            all_domains=all_domains,
            forced=forced,
        )


def embedding_item_bytes(dimension: int, anchors: int) -> int:
    """Return what one item takes while its part is made: itself, two vectors, its scores five times."""
    return ITEM_BYTES + 2 * 4 * dimension + 5 * 4 * anchors


def make_embedding_part(part: EmbeddingPart, embed_texts: Embed) -> None:
    """Score one part's items and write it."""
    items = read_part_pool(part.pool)
    matrix = support_by_embedding(
        items, part.anchors, embed_texts, rules=part.rules, all_domains=part.all_domains
    )
    write_part(part.path, matrix, part.digest)


def make_embedding_part_anew(part: EmbeddingPart) -> Reuse:
    """Do the same in another process, which loads the encoder for its first part; tell what it reused."""
    encoder, reuse = _load_once(part.encoder, part.encoding), Reuse(part.forced)
    cache = part.cache or default_cache()
    make_embedding_part(part, lambda texts: embed(texts, encoder, cache, reuse=reuse))
    return reuse


_load_once: Callable[[str, DedupRules], Encoder] = lru_cache(maxsize=1)(load_encoder)


def _digest(pool: Path, shape: Any) -> str:
    items = read_part_pool(pool)
    return digest_part(shape, ([item.item_id, item_text(item), domain_of(item)] for item in items))
