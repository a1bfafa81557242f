"""`kina support -o FOLDER`: the matrix in parts, one at a time here, side by side on Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli.support_choice import Choice, Method
from kina_build.cli.support_vectors import embedder, refuse_unknown

if TYPE_CHECKING:
    from kina_build.dedup.reuse import Reuse
    from kina_build.items.model import Item
    from kina_build.progress import Progress
    from kina_build.support.anchors import Anchor
    from kina_build.support.partition.files import Spread
    from kina_build.support.partition.pool import PartitionedPool

SUFFIX = ".npz"


def is_folder(output: Path) -> bool:
    """Tell whether an output is a folder of parts: any name that does not end in .npz."""
    from kina_build.rows.source import STREAM

    return output != STREAM and output.suffix.lower() != SUFFIX


def check_parts(choice: Choice, compare: Path | None) -> None:
    """Check that the options can be met a part at a time.

    Raises:
        UsageError: a method or option that needs all scores at once.
    """
    from kina_build.errors import UsageError

    whole = f"name an output that ends in {SUFFIX}"
    if choice.method not in (Method.embedding, Method.ratings):
        raise UsageError(
            f"--method {choice.method.value} does not write a folder of parts",
            hint=f"{whole}; ratings that --save-ratings keeps can go in parts by --method ratings",
        )
    if choice.labels or compare:
        raise UsageError(
            f"{'--labels' if choice.labels else '--compare'} needs all scores at once", hint=whole
        )


def tell_place(choice: Choice, output: Path) -> None:
    """Say where a run that asks for a cluster has nothing for it to do."""
    if choice.engine.kind == "ray" and not choice.judges and not is_folder(output):
        choice.run.console.say(f"{output} is made in this process; parts in a folder are made on Ray")


def score_in_parts(
    choice: Choice, pool: Path, anchors: Sequence[Anchor], output: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the folder of parts; return the report and the models behind it."""
    from kina_build.support.diagnose import describe_partitions
    from kina_build.support.experts import compare_domains
    from kina_build.support.partition.files import check_folder, read_partitions

    check_folder(output)
    with _spreading(choice) as run:
        if choice.method == Method.embedding:
            made, models = _embed_parts(choice, pool, anchors, output, run)
        else:
            made, models = _lay_parts(choice, pool, anchors, output, run), {}
    choice.run.console.say(f"parts in {output}: {made.parts}, made now: {made.fresh}")
    findings = [finding.model_dump() for finding in compare_domains(anchors, made.domains)]
    report = {"method": choice.method.value, "findings": findings, "parts": made.parts}
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
def _spreading(choice: Choice) -> Iterator[Spread[Any] | None]:
    """Give the map of a cluster; None: parts are made here, one after the other."""
    if choice.engine.kind == "local":
        yield None
        return
    from kina_build.engine import open_engine

    with open_engine(choice.engine) as engine:
        yield engine.map


def _embed_parts(
    choice: Choice, pool: Path, anchors: Sequence[Anchor], output: Path, run: Spread[Any] | None
) -> tuple[_Made, dict[str, str]]:
    from kina_build.dedup.embedding import load_encoder
    from kina_build.support import embedding as embeddingparts
    from kina_build.support.embedding import item_text
    from kina_build.support.partition.files import make_partitions

    encoding = choice.run.settings.dedup
    encoder = load_encoder(choice.encoder, encoding)
    an_item = embeddingparts.embedding_item_bytes(encoder.dimension, len(anchors))
    dealt = _deal(choice, pool, output, embeddingparts.BASE_BYTES, lambda _: an_item)
    refuse_unknown([item_text(item) for item in dealt.sample], encoder, choice)
    plan = embeddingparts.plan_embedding(
        dealt,
        anchors,
        encoder,
        name=choice.encoder,
        encoding=encoding,
        cache=choice.cache,
        rules=choice.rules,
        all_domains=choice.all_domains,
        forced=choice.reuse.forced,
    )
    with choice.run.console.progress("embedding") as bar:
        if run is None:
            progress = _Progress(bar, dealt.count, len(dealt.paths))
            embed = embedder(choice, encoder, progress.within)
            make = partial(embeddingparts.make_embedding_partition, embed_texts=embed)
            parts, fresh = make_partitions(
                plan, make, output, on_progress=progress.between, reuse=choice.reuse
            )
        else:
            anew = embeddingparts.make_embedding_partition_anew
            parts, fresh = make_partitions(
                plan,
                anew,
                output,
                run=_counted(run, choice.reuse),
                on_progress=_of(bar, dealt),
                reuse=choice.reuse,
            )
    return _Made(parts, fresh, dealt.domains), {choice.encoder: encoder.revision}


def _counted(run: Callable[..., Iterable[Any]], reuse: Reuse) -> Spread[Any]:
    """Add up what the workers of a cluster took over."""

    def spread(make: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        for taken in run(make, jobs):
            reuse.add(taken)
            yield taken

    return spread


def _lay_parts(
    choice: Choice, pool: Path, anchors: Sequence[Anchor], output: Path, run: Spread[Any] | None
) -> _Made:
    from kina_build.errors import UsageError
    from kina_build.support.partition import ratings as ratingparts
    from kina_build.support.partition.files import make_partitions
    from kina_build.support.partition.pool import count_lines

    if not choice.ratings:
        raise UsageError("--method ratings needs --ratings FILE")
    rows = sum(map(count_lines, choice.ratings))
    dealt = _deal(
        choice,
        pool,
        output,
        ratingparts.BASE_BYTES,
        lambda count: ratingparts.rating_item_bytes(rows, count, len(anchors)),
    )
    plan = ratingparts.plan_ratings(dealt, anchors, choice.ratings, rules=choice.rules)
    with choice.run.console.progress("parts") as bar:
        parts, fresh = make_partitions(
            plan,
            ratingparts.make_rating_partition,
            output,
            run=run or map,
            on_progress=_of(bar, dealt),
            reuse=choice.reuse,
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
    choice: Choice, pool: Path, output: Path, base_bytes: int, item_bytes: Callable[[int], int]
) -> PartitionedPool:
    """Cut the pool into parts of the size that the settings and the memory allow."""
    from kina_build.support.partition.files import work_folder
    from kina_build.support.partition.pool import fit_partition, partition_pool

    def size(count: int) -> int:
        return fit_partition(
            count,
            most=choice.rules.part_items,
            memory_mb=choice.engine.memory_mb,
            base_bytes=base_bytes,
            item_bytes=item_bytes(count),
        )

    return partition_pool(
        pool, work_folder(output), size=size, sample=choice.run.settings.dedup.unknown_sample
    )
