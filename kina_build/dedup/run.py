"""What the commands about copies do: read, encode, compare, decide, write; and their library functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.contamination.corpora import name_corpora, of_items, open_corpus, read_questions
from kina_build.dedup.contamination.find import find_in_corpora
from kina_build.dedup.encoded import EncodedPool, read_corpus
from kina_build.dedup.explain import Explanation, explain_item, render_clusters
from kina_build.dedup.find import find_copies
from kina_build.dedup.options import ContaminationOptions, DedupOptions
from kina_build.dedup.overrides import Override
from kina_build.dedup.records import Contamination, Duplicates
from kina_build.dedup.search.place import Place, spare_bytes
from kina_build.dedup.threshold import LabelledPair, ThresholdChoice, choose_for_corpus
from kina_build.encode import loading
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.vectorcache import default_cache
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.jsonl import write_text
from kina_build.progress import Bars, Progress, no_bars, silent, unsaid
from kina_build.tables import read_typed

Say = Callable[[str], None]
Items = Iterable[Item] | Path | str
"""Items with unique ids, or the file of a pool."""

BYTES_A_SECOND = 20e6
"""Text looked through in a second of one core (measured: 28 MB of source code)."""

TOLD_BYTES = 100e6
"""Size from which it is said beforehand how long it takes."""


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


@dataclass(frozen=True)
class ContaminationRun:
    """What a run found, and what ran."""

    result: Contamination
    items: int
    packages: tuple[str, ...]
    reuse: Reuse


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
    loaded = _encoder(encoder, rules) if near else None
    corpus = read_corpus(_items(pool), loaded, rules, cache=cache, on_progress=on_progress)
    with Place(EngineRules(), Path()).scanning(corpus.vectors, rules) as scan:
        return find_copies(corpus, rules, overrides, scan=scan)


def find_contamination(
    pool: Items,
    against: Mapping[str, Iterable[Item]] | Sequence[Path | str],
    *,
    encoder: Encoder | str | None = None,
    near: bool = True,
    rules: DedupRules = DedupRules(),
    cache: Path | None = None,
    on_progress: Progress = silent,
) -> Contamination:
    """Find items of a pool that stand in other corpora.

    Args:
        pool: items, or a file of questions or a release folder.
        against: files or folders of any form, or items by the name of their corpus.
        encoder: where vectors come from, or its name; None takes `rules.encoder`.
        near: whether near copies are looked for too, or what stands there letter for letter only.
        rules: threshold (a cosine) and limits.
        cache: file of kept vectors; None keeps nothing.
        on_progress: told (texts encoded, texts to encode), corpus by corpus.

    Raises:
        InputError: an id of the pool stands twice, a file cannot be read, or a corpus holds no text.
        Refusal: the encoder does not know the script of a side.
    """
    items = read_questions(Path(pool)) if isinstance(pool, str | Path) else list(pool)
    if isinstance(against, Mapping):
        corpora = {name: of_items(texts) for name, texts in against.items()}
    else:
        paths = name_corpora([Path(path) for path in against])
        corpora = {name: open_corpus(path) for name, path in paths.items()}
    loaded = _encoder(encoder, rules) if near else None
    return find_in_corpora(items, corpora, loaded, rules, cache=cache, on_progress=on_progress)


def run_dedup(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    *,
    bars: Bars = no_bars,
    say: Say = unsaid,
    warn: Say = unsaid,
) -> DedupRun:
    """Do what `kina dedup` does: read the files, compare, and write the results.

    Args:
        options: its files; those that override settings are in `rules` already.
        rules: the resolved settings.
        place: where vectors lie; what a stopped run left there is gone on from.
        bars: opens a progress bar.
        say: told what a user may like to know.
        warn: told what a user must know.

    Raises:
        InputError, RowErrors: a file cannot be read, or holds what is no item, label or decision.
        Refusal: the encoder does not know the items' script, or too many pairs are close.
    """
    done = _compare(options, rules, place, bars=bars, say=say, warn=warn)
    for row in done.result.unused_overrides:
        warn(f"override {row!r} names no item of this pool")
    done.result.write(options.output)
    if options.page:
        write_text(options.page, render_clusters(done.result, done.corpus.items))
    place.clear()
    return done


def run_explain(
    options: DedupOptions,
    rules: DedupRules,
    place: Place,
    *,
    bars: Bars = no_bars,
    say: Say = unsaid,
    warn: Say = unsaid,
) -> Explanation:
    """Explain what is decided about one item; writes nothing.

    Raises:
        InputError: as run_dedup, or there is no such item.
        Refusal: as run_dedup.
    """
    done = _compare(options, rules, place, bars=bars, say=say, warn=warn)
    told = explain_item(options.explain or "", done.corpus, done.result, done.result.rules)
    place.clear()
    return told


def _compare(
    options: DedupOptions, rules: DedupRules, place: Place, *, bars: Bars, say: Say, warn: Say
) -> DedupRun:
    decisions = read_typed(options.overrides, Override) if options.overrides else []
    if place.reuse.forced:
        place.clear()
    items = read_pool(options.pool)
    encoder = loading.load_encoder(rules.encoder, rules) if options.near else None
    with bars("encoding") as progress:
        corpus = read_corpus(
            items,
            encoder,
            rules,
            cache=_cache(options),
            files=place.folder,
            memory=lambda dimension: place.room(len(items), dimension, rules),
            on_progress=progress,
            reuse=place.reuse,
        )
    for line in place.reuse.notes:
        warn(line)
    if note := place.note(corpus.vectors):
        say(note)
    choice = None
    if options.labels:
        choice = choose_for_corpus(read_typed(options.labels, LabelledPair), corpus, rules)
        if options.threshold is None:
            rules = rules.model_copy(update={"threshold": choice.chosen.threshold})
    with place.scanning(corpus.vectors, rules) as scan, bars("comparing") as progress:
        result = find_copies(corpus, rules, decisions, progress, scan)
    packages = [
        "numpy",
        *(["faiss-cpu"] if place.by_faiss(corpus.vectors, rules) else []),
        *(["sentence-transformers"] if encoder else []),
    ]
    return DedupRun(result, corpus, choice, tuple(packages), place.reuse)


def run_contamination(
    options: ContaminationOptions,
    rules: DedupRules,
    engine: EngineRules,
    reuse: Reuse,
    *,
    bars: Bars = no_bars,
    say: Say = unsaid,
    warn: Say = unsaid,
) -> ContaminationRun:
    """Do what `kina contamination` does: read the files, look through the corpora, and write the result.

    Args:
        options: its files; those that override settings are in `rules` already.
        rules: the resolved settings.
        engine: memory that the corpora's questions may take.
        reuse: whether kept vectors may be used, and the count of those that were.
        bars: opens a progress bar.
        say: told what a user may like to know.
        warn: told what a user must know.

    Raises:
        InputError, RowErrors: a file cannot be read, or a corpus holds no text.
        Refusal: the encoder does not know the script of a side.
    """
    items = read_questions(options.pool)
    encoder = loading.load_encoder(rules.encoder, rules) if options.near else None
    room = spare_bytes(engine)
    corpora = {name: open_corpus(path, room) for name, path in name_corpora(options.against).items()}
    size = sum(corpus.size for corpus in corpora.values())
    if size > TOLD_BYTES:
        say(f"{size / 1e6:,.0f} MB to look through, about {size / BYTES_A_SECOND:,.0f} s of one core")
    with bars("encoding") as encoding, bars("looking through") as looking:
        result = find_in_corpora(
            items,
            corpora,
            encoder,
            rules,
            cache=_cache(options),
            on_progress=encoding,
            on_bytes=looking,
            reuse=reuse,
        )
    for line in [*_unread(result, near=options.near), *reuse.notes]:
        warn(line)
    result.write(options.output)
    vast = max(result.corpora.values(), default=0) > rules.ivf_above
    packages = ["numpy", *(["sentence-transformers", *(["faiss-cpu"] if vast else [])] if encoder else [])]
    return ContaminationRun(result, len(items), tuple(packages), reuse)


def _unread(result: Contamination, *, near: bool) -> list[str]:
    """Say what of the corpora was not compared, or by letters only."""
    near_too = ", and near copies not looked for" if near else ""
    return [
        f"{name}: {count} rows or files hold no text and are not compared"
        for name, count in result.unread.items()
    ] + [
        f"{name}: no questions, or too many for memory; looked through letter by letter only{near_too}"
        for name in result.as_text
    ]


def _cache(options: DedupOptions | ContaminationOptions) -> Path | None:
    return None if options.no_cache else options.cache or default_cache()


def _items(pool: Items) -> list[Item]:
    return read_pool(Path(pool)) if isinstance(pool, str | Path) else list(pool)


def _encoder(encoder: Encoder | str | None, rules: DedupRules) -> Encoder:
    if encoder is None or isinstance(encoder, str):
        return loading.load_encoder(encoder or rules.encoder, rules)
    return encoder
