"""What `kina dedup` does: read, encode, compare, decide, write; and its library function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import DedupRules, EncodeEngine, EngineRules
from kina_build.dedup.encoded import EncodedPool, read_corpus, read_fast
from kina_build.dedup.explain import Explanation, check_item, explain_item, render_clusters
from kina_build.dedup.find import find_copies
from kina_build.dedup.options import ContaminationOptions, DedupOptions
from kina_build.dedup.overrides import Override
from kina_build.dedup.records import Duplicates
from kina_build.dedup.search.kept import IndexFile, check_index
from kina_build.dedup.search.place import Place
from kina_build.dedup.threshold import LabelledPair, ThresholdChoice, choose_for_corpus
from kina_build.encode import loading
from kina_build.encode.encoders import Encoder, packages_of, working_bytes
from kina_build.encode.kept import Reuse, key_of
from kina_build.encode.texts import item_text
from kina_build.encode.vectorcache import default_cache, vector_key
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.progress import NOBODY, Progress, Teller, silent
from kina_build.rows.jsonl import write_text
from kina_build.rows.tables import read_typed

Items = Iterable[Item] | Path | str
"""Items with unique ids, or the file of a pool."""


@dataclass(frozen=True)
class DedupRun:
    """What a run found, and what ran."""

    result: Duplicates
    corpus: EncodedPool
    choice: ThresholdChoice | None
    """The threshold that labelled pairs chose, where there are some."""
    packages: tuple[str, ...]
    """Packages that shaped the result."""
    reuse: Reuse

    @property
    def report(self) -> dict[str, Any]:
        """Return the counts that the command prints."""
        choice = {} if self.choice is None else {"threshold_choice": self.choice.model_dump(mode="json")}
        return self.result.report | choice


def find_duplicates(
    pool: Items,
    *,
    encoder: Encoder | str | None = None,
    near: bool = True,
    overrides: Sequence[Override] = (),
    rules: DedupRules = DedupRules(),
    cache: Path | None = None,
    on_progress: Progress = silent,
) -> Duplicates:
    """Find copies in a pool and decide which items stay.

    Args:
        pool: items, or the file of a pool; the order of rows plays no part.
        encoder: where vectors come from, or its name; None takes `rules.encoder`.
        near: whether an encoder is asked at all; without, items are compared by their letters.
        overrides: what people decided.
        rules: threshold (a cosine) and limits.
        cache: file of kept vectors; None keeps nothing.
        on_progress: told (texts encoded, texts to encode).

    Raises:
        InputError: an id stands twice, or overrides contradict one another.
        Refusal: the encoder does not know the items' script, or too many pairs are close.
    """
    loaded = encoder_of(encoder, rules) if near else None
    corpus = read_corpus(_items(pool), loaded, rules, overrides, cache=cache, on_progress=on_progress)
    with Place(EngineRules(), Path()).scanning(corpus.vectors, rules) as scan:
        return find_copies(corpus, rules, scan=scan)


def run_dedup(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    *,
    engine: EncodeEngine = "auto",
    tell: Teller = NOBODY,
) -> DedupRun:
    """Do what `kina dedup` does: read the files, compare, and write the results.

    Args:
        options: its files; those that override settings are in `rules` already.
        rules: the resolved settings.
        place: where vectors lie; what a stopped run left there is gone on from.
        engine: what runs the packaged encoder.
        tell: told how far the work is, and what a user should know.

    Raises:
        InputError, RowErrors: a file cannot be read, or holds what is no item, label or decision.
        Refusal: the encoder does not know the items' script, or too many pairs are close.
        UsageError: the place for its work holds something of others.
    """
    done = _compare(options, rules, place, engine=engine, tell=tell)
    for row in done.result.unused_overrides:
        tell.warn(f"override {row!r} names no item of this pool")
    done.result.write(options.output)
    if options.page:
        write_text(options.page, render_clusters(done.result, done.corpus.all_items))
    place.clear()
    return done


def run_explain(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    *,
    engine: EncodeEngine = "auto",
    tell: Teller = NOBODY,
) -> Explanation:
    """Explain what is decided about one item; writes nothing.

    Raises:
        InputError: an unreadable file, or there is no such item.
        Refusal: the encoder does not know the items' script, or too many pairs are close.
    """
    done = _compare(options, rules, place, engine=engine, tell=tell)
    told = explain_item(options.explain or "", done.corpus, done.result, done.result.rules)
    place.clear()
    return told


def _compare(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    *,
    engine: EncodeEngine,
    tell: Teller,
) -> DedupRun:
    place.check()
    decisions = read_typed(options.overrides, Override) if options.overrides else []
    if place.reuse.forced:
        place.clear()
    items = read_pool(options.pool)
    if options.explain is not None:
        check_item(options.explain, items)
    encoder = loading.load_encoder(rules.encoder, rules, engine) if not options.no_near else None
    if encoder and place.index:
        check_index(place.index, key_of(encoder), forced=place.reuse.forced)
    with tell.progress("encoding") as progress:
        corpus = _encode(
            options, rules, place, items, encoder=encoder, progress=progress, decisions=decisions
        )
    if note := place.note(corpus.vectors):
        tell.say(note)
    choice = None
    if options.labels:
        choice = choose_for_corpus(read_typed(options.labels, LabelledPair), corpus, rules)
        if options.threshold is None:
            rules = rules.model_copy(update={"threshold": choice.chosen.threshold})
    kept = _index_file(place, corpus, encoder)
    with place.scanning(corpus.vectors, rules, kept) as scan, tell.progress("comparing") as progress:
        result = find_copies(corpus, rules, progress, scan)
    for line in place.reuse.notes:
        tell.warn(line)
    packages = [
        "numpy",
        *(["faiss-cpu"] if place.by_faiss(corpus.vectors, rules) else []),
        *packages_of(encoder),
        *(["scipy"] if corpus.fast else []),
    ]
    return DedupRun(result, corpus, choice, tuple(packages), place.reuse)


def _index_file(place: Place, corpus: EncodedPool, encoder: Encoder | None) -> IndexFile | None:
    if place.index is None or encoder is None or corpus.vectors is None:
        return None
    source = key_of(encoder)
    keys = [vector_key(source, item_text(item)) for item in corpus.items]
    return IndexFile(place.index, source, keys, place.reuse)


def _encode(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    items: list[Item],
    *,
    encoder: Encoder | None,
    progress: Progress,
    decisions: list[Override],
) -> EncodedPool:
    cache, reuse = cache_of(options), place.reuse
    if encoder and options.near == "fast":
        return read_fast(items, encoder, rules, decisions, cache=cache, on_progress=progress, reuse=reuse)
    return read_corpus(
        items,
        encoder,
        rules,
        decisions,
        cache=cache,
        files=place.folder,
        memory=lambda dimension: place.room(len(items), dimension, rules, working_bytes(encoder)),
        on_progress=progress,
        reuse=reuse,
    )


def cache_of(options: DedupOptions | ContaminationOptions) -> Path | None:
    """Return the file of kept vectors: the one that was named, the user's own, or none."""
    return None if options.no_cache else options.cache or default_cache()


def _items(pool: Items) -> list[Item]:
    return read_pool(Path(pool)) if isinstance(pool, str | Path) else list(pool)


def encoder_of(encoder: Encoder | str | None, rules: DedupRules) -> Encoder:
    """Return an encoder, loaded by its name where that is what was given."""
    if encoder is None or isinstance(encoder, str):
        return loading.load_encoder(encoder or rules.encoder, rules)
    return encoder
