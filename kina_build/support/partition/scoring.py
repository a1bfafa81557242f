"""`kina support -o FOLDER`: the matrix in partitions, one at a time here, side by side on Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kina_build.encode.kept import Reuse
from kina_build.engine import open_engine
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.progress import Progress
from kina_build.rows.workfolders import check_work
from kina_build.support.anchors import Anchor
from kina_build.support.diagnose import describe_partitions
from kina_build.support.embedding import BASE_BYTES as EMBEDDING_BYTES
from kina_build.support.embedding import (
    embedding_item_bytes,
    item_text,
    make_embedding_partition,
    make_embedding_partition_anew,
    plan_embedding,
)
from kina_build.support.experts import compare_domains
from kina_build.support.partition.files import (
    Spread,
    check_folder,
    make_partitions,
    read_partitions,
    work_folder,
)
from kina_build.support.partition.pool import PartitionedPool, count_lines, fit_partition, partition_pool
from kina_build.support.partition.ratings import BASE_BYTES as RATING_BYTES
from kina_build.support.partition.ratings import make_rating_partition, plan_ratings, rating_item_bytes
from kina_build.support.setup import SUFFIX, Setup, embedder, refuse_unknown


def score_in_partitions(
    setup: Setup, pool: Path, anchors: Sequence[Anchor], output: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the folder of parts; return the report and the models behind it."""
    check_folder(output)
    check_work(work_folder(output))
    with _spreading(setup) as run:
        if setup.options.method == "embedding":
            made, models = _embed(setup, pool, anchors, output, run)
        else:
            made, models = _lay_out(setup, pool, anchors, output, run), {}
    setup.tell.say(f"parts in {output}: {made.parts}, made now: {made.fresh}")
    findings = [finding.model_dump() for finding in compare_domains(anchors, made.domains)]
    report = {"method": setup.options.method, "findings": findings, "parts": made.parts}
    return report | describe_partitions(read_partitions(output)), models


@dataclass(frozen=True)
class _Made:
    """What was made of a pool."""

    parts: int
    fresh: int
    """Of them, made now."""
    domains: tuple[Item, ...]
    """An item of each domain."""


@contextmanager
def _spreading(setup: Setup) -> Iterator[Spread[Any] | None]:
    """Give the map of a cluster; None: parts are made here, one after the other."""
    if setup.engine.kind == "local":
        yield None
        return

    with open_engine(setup.engine) as engine:
        yield engine.map


def _embed(
    setup: Setup, pool: Path, anchors: Sequence[Anchor], output: Path, run: Spread[Any] | None
) -> tuple[_Made, dict[str, str]]:

    encoding = setup.dedup
    from kina_build.encode.loading import load_encoder

    encoder = load_encoder(setup.encoder, encoding, setup.encode)
    an_item = embedding_item_bytes(encoder.dimension, len(anchors))
    dealt = _deal(setup, pool, anchors, EMBEDDING_BYTES, lambda _: an_item)
    refuse_unknown([item_text(item) for item in dealt.sample], encoder, setup)
    plan = plan_embedding(
        dealt,
        anchors,
        encoder,
        name=setup.encoder,
        encoding=encoding,
        engine=setup.encode,
        cache=setup.options.cache,
        rules=setup.rules,
        all_domains=setup.options.all_domains,
        forced=setup.reuse.forced,
    )
    with setup.tell.progress("embedding") as bar:
        if run is None:
            progress = _Progress(bar, dealt.count, len(dealt.paths))
            embed = embedder(setup, encoder, progress.within)
            make = partial(make_embedding_partition, embed_texts=embed)
            parts, fresh = make_partitions(
                plan, make, output, on_progress=progress.between, reuse=setup.reuse
            )
        else:
            anew = make_embedding_partition_anew
            parts, fresh = make_partitions(
                plan,
                anew,
                output,
                run=_counted(run, setup.reuse),
                on_progress=_of(bar, dealt),
                reuse=setup.reuse,
            )
    return _Made(parts, fresh, dealt.domains), {setup.encoder: encoder.revision}


def _counted(run: Callable[..., Iterable[Any]], reuse: Reuse) -> Spread[Any]:
    """Add up what the workers of a cluster took over."""

    def spread(make: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        for taken in run(make, jobs):
            reuse.add(taken)
            yield taken

    return spread


def _lay_out(
    setup: Setup, pool: Path, anchors: Sequence[Anchor], output: Path, run: Spread[Any] | None
) -> _Made:

    if not setup.options.ratings:
        raise UsageError("--method ratings needs --ratings FILE")
    rows = sum(map(count_lines, setup.options.ratings))
    dealt = _deal(
        setup,
        pool,
        anchors,
        RATING_BYTES,
        lambda count: rating_item_bytes(rows, count, len(anchors)),
    )
    plan = plan_ratings(dealt, anchors, setup.options.ratings, rules=setup.rules)
    with setup.tell.progress("parts") as bar:
        parts, fresh = make_partitions(
            plan,
            make_rating_partition,
            output,
            run=run or map,
            on_progress=_of(bar, dealt),
            reuse=setup.reuse,
        )
    return _Made(parts, fresh, dealt.domains)


@dataclass
class _Progress:
    """One bar over the items of all parts."""

    bar: Progress
    items: int
    parts: int
    done: int = 0

    def within(self, encoded: int, _: int) -> None:
        """Take the texts that were encoded of one part."""
        self.bar(min(self.done + encoded, self.items), self.items)

    def between(self, there: int, _: int) -> None:
        """Take a finished part."""
        self.done = self.items * there // self.parts
        self.bar(self.done, self.items)


def _of(bar: Progress, dealt: PartitionedPool) -> Progress:
    return lambda there, _: bar(there, len(dealt.paths))


def _deal(
    setup: Setup, pool: Path, anchors: Sequence[Anchor], base_bytes: int, item_bytes: Callable[[int], int]
) -> PartitionedPool:
    """Cut the pool into parts of the size that the settings and the memory allow."""

    def size(count: int) -> int:
        return fit_partition(
            count,
            most=setup.rules.part_items,
            memory_mb=setup.engine.memory_mb,
            base_bytes=base_bytes,
            item_bytes=item_bytes(count),
        )

    dealt = partition_pool(
        pool, work_folder(setup.options.output), size=size, sample=setup.dedup.unknown_sample
    )
    _refuse_references(dealt, anchors)
    return dealt


def _refuse_references(pool: PartitionedPool, anchors: Sequence[Anchor]) -> None:
    """Refuse anchors that are items of the pool: rows of a folder are all to be selected from."""
    wanted = {anchor.anchor_id for anchor in anchors if anchor.kind == "item"}
    ours = next((one for ids in pool.read_ids() for one in ids if one in wanted), None) if wanted else None
    if ours is not None:
        raise UsageError(
            f"anchor {ours!r} is an item of the pool, which a folder of parts cannot leave out",
            hint=f"name an output that ends in {SUFFIX}, or import the pool without it",
        )
