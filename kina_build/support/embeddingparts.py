"""Support by embedding, in parts: the texts of one part are encoded at a time, here or on a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kina_build.config import DedupRules, SupportRules
from kina_build.dedup.embedding import embed, load_encoder
from kina_build.dedup.encoders import Encoder
from kina_build.dedup.vectorcache import default_cache
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, domain_of
from kina_build.support.embedding import Embed, item_text, support_by_embedding
from kina_build.support.partfiles import cut_items, digest_part, part_name, write_part


@dataclass(frozen=True)
class EmbeddingPart:
    """One part to be made, with all that shapes it."""

    path: Path
    digest: str
    items: tuple[Item, ...]
    anchors: tuple[Anchor, ...]
    encoder: str
    """Name or folder."""
    encoding: DedupRules
    cache: Path | None
    """File of kept vectors; None: in the cache folder of whoever makes the part."""
    rules: SupportRules
    all_domains: bool


def plan_embedding(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    encoder: Encoder,
    *,
    name: str,
    encoding: DedupRules,
    cache: Path | None,
    folder: Path,
    rules: SupportRules = SupportRules(),
    all_domains: bool = False,
) -> Iterator[EmbeddingPart]:
    """Cut a pool into the parts that `make_embedding_part` makes in a folder.

    Raises:
        InputError: two items with one id.
    """
    numbers = ("scale", "cosine_floor", "cosine_ceiling", "weighting", "stratum_mass")
    shape = [
        {number: getattr(rules, number) for number in numbers},
        [anchor.model_dump(mode="json") for anchor in anchors],
        [encoder.name, encoder.revision, all_domains],
    ]
    for number, part in enumerate(cut_items(items, rules.part_items)):
        rows = ([item.item_id, item_text(item), domain_of(item)] for item in part)
        digest = digest_part(shape, rows)
        path = folder / part_name(number)
        yield EmbeddingPart(
            path, digest, part, tuple(anchors), name, encoding, cache, rules=rules, all_domains=all_domains
        )


def make_embedding_part(part: EmbeddingPart, embed_texts: Embed) -> None:
    """Score one part's items and write it."""
    matrix = support_by_embedding(
        part.items, part.anchors, embed_texts, rules=part.rules, all_domains=part.all_domains
    )
    write_part(part.path, matrix, part.digest)


def make_embedding_part_anew(part: EmbeddingPart) -> None:
    """Do the same in another process, which loads the encoder for its first part."""
    encoder = _load_once(part.encoder, part.encoding)
    make_embedding_part(part, lambda texts: embed(texts, encoder, part.cache or default_cache()))


_load_once: Callable[[str, DedupRules], Encoder] = lru_cache(maxsize=1)(load_encoder)
