"""`kina support -o FOLDER`: the matrix in parts, one at a time here, side by side on Ray."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli.support_adapters import Choice, Method, embedder, refuse_unknown

if TYPE_CHECKING:
    from kina_build.dedup.encoders import Encoder
    from kina_build.items.model import Item
    from kina_build.support.anchors import Anchor
    from kina_build.support.partfiles import Spread

SUFFIX = ".npz"


def is_folder(output: Path) -> bool:
    """Tell whether an output is a folder of parts: any name that does not end in .npz."""
    from kina_build.jsonl import STREAM

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
    choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor], output: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the folder of parts; return the report and the models behind it."""
    from kina_build.support.diagnose import describe_parts
    from kina_build.support.partfiles import read_parts

    with _spreading(choice) as run:
        if choice.method == Method.embedding:
            (parts, made), models = _embed_parts(choice, items, anchors, output, run)
        else:
            (parts, made), models = _lay_parts(choice, items, anchors, output, run), {}
    choice.run.console.say(f"{parts} parts in {output}, {made} of them made now")
    return {**describe_parts(read_parts(output)), "parts": parts}, models


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
    choice: Choice,
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    output: Path,
    run: Spread[Any] | None,
) -> tuple[tuple[int, int], dict[str, str]]:
    from kina_build.dedup.embedding import load_encoder
    from kina_build.support.embeddingparts import (
        make_embedding_part,
        make_embedding_part_anew,
        plan_embedding,
    )
    from kina_build.support.partfiles import make_parts, work_folder

    encoding = choice.run.settings.dedup
    encoder = load_encoder(choice.encoder, encoding)
    _check_sample(items, encoder, choice)
    plan = plan_embedding(
        items,
        anchors,
        encoder,
        name=choice.encoder,
        encoding=encoding,
        cache=choice.cache,
        folder=work_folder(output),
        rules=choice.rules,
        all_domains=choice.all_domains,
    )
    with choice.run.console.progress("embedding parts") as on_progress:
        if run is not None:
            counts = make_parts(plan, make_embedding_part_anew, output, run=run, on_progress=on_progress)
        else:
            make = partial(make_embedding_part, embed_texts=embedder(choice, encoder))
            counts = make_parts(plan, make, output, on_progress=on_progress)
    return counts, {choice.encoder: encoder.revision}


def _lay_parts(
    choice: Choice,
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    output: Path,
    run: Spread[Any] | None,
) -> tuple[int, int]:
    from kina_build.errors import UsageError
    from kina_build.support.partfiles import make_parts, work_folder
    from kina_build.support.ratingparts import make_rating_part, plan_ratings

    if choice.ratings is None:
        raise UsageError("--method ratings needs --ratings FILE")
    plan = plan_ratings(items, anchors, choice.ratings, folder=work_folder(output), rules=choice.rules)
    with choice.run.console.progress("parts") as on_progress:
        return make_parts(plan, make_rating_part, output, run=run or map, on_progress=on_progress)


def _check_sample(items: Sequence[Item], encoder: Encoder, choice: Choice) -> None:
    """Look at texts from all over the pool before the first part is made."""
    from kina_build.support.embedding import item_text

    ordered = sorted(items, key=lambda item: item.item_id)
    step = max(1, len(ordered) // choice.run.settings.dedup.unknown_sample)
    refuse_unknown([item_text(item) for item in ordered[::step]], encoder, choice)
