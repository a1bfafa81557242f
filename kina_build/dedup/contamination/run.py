"""What `kina contamination` does, and its library function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kina_build.config import DedupRules, EncodeEngine, EngineRules
from kina_build.dedup.contamination.corpora import of_items, open_corpus, read_questions
from kina_build.dedup.contamination.find import find_in_corpora
from kina_build.dedup.contamination.records import Contamination
from kina_build.dedup.options import ContaminationOptions
from kina_build.dedup.run import Items, cache_of, encoder_of
from kina_build.dedup.search.place import spare_bytes
from kina_build.encode import loading
from kina_build.encode.encoders import Encoder, packages_of, working_bytes
from kina_build.encode.kept import Reuse
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.items.questions import read_map
from kina_build.progress import NOBODY, Progress, Teller, silent
from kina_build.rows.source import STREAM

BYTES_A_SECOND = 20e6
"""Text looked through in a second of one core (measured: 28 MB of source code)."""

TOLD_BYTES = 100e6
"""Size from which it is said beforehand how long it takes."""


@dataclass(frozen=True)
class ContaminationRun:
    """What a run found, and what ran."""

    result: Contamination
    items: int
    packages: tuple[str, ...]
    reuse: Reuse


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
        corpora = {name: open_corpus(path, near=near) for name, path in paths.items()}
    loaded = encoder_of(encoder, rules) if near else None
    return find_in_corpora(items, corpora, loaded, rules, cache=cache, on_progress=on_progress)


def run_contamination(
    options: ContaminationOptions,
    rules: DedupRules,
    engine: EngineRules,
    reuse: Reuse,
    *,
    encoding: EncodeEngine = "auto",
    tell: Teller = NOBODY,
) -> ContaminationRun:
    """Do what `kina contamination` does: read the files, look through the corpora, and write the result.

    Args:
        options: its files; those that override settings are in `rules` already.
        rules: the resolved settings.
        engine: memory that the corpora's questions may take.
        reuse: whether kept vectors may be used, and the count of those that were.
        encoding: what runs the packaged encoder.
        tell: told how far the work is, and what a user should know.

    Raises:
        InputError, RowErrors: a file cannot be read, or a corpus holds no text.
        Refusal: the encoder does not know the script of a side.
    """
    items = read_questions(options.pool)
    encoder = loading.load_encoder(rules.encoder, rules, encoding) if not options.no_near else None
    room = spare_bytes(engine) - working_bytes(encoder)
    told = read_map(options.map_)
    paths = name_corpora(options.against)
    near = not options.no_near
    corpora = {name: open_corpus(path, room, told, near=near) for name, path in paths.items()}
    size = sum(corpus.size for corpus in corpora.values())
    if size > TOLD_BYTES:
        tell.say(f"{size / 1e6:,.0f} MB to look through, about {size / BYTES_A_SECOND:,.0f} s of one core")
    with tell.progress("encoding") as progress, tell.progress("looking through") as looking:
        result = find_in_corpora(
            items,
            corpora,
            encoder,
            rules,
            cache=cache_of(options),
            on_progress=progress,
            on_bytes=looking,
            reuse=reuse,
        )
    for line in [*_unread(result, near=near), *reuse.notes]:
        tell.warn(line)
    result.write(options.output)
    vast = max(result.corpora.values(), default=0) > rules.ivf_above
    packages = ["numpy", *packages_of(encoder), *(["faiss-cpu"] if vast and encoder else [])]
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


def name_corpora(paths: Sequence[Path]) -> dict[str, Path]:
    """Name each corpus by its file or folder.

    Raises:
        UsageError: two of one name.
    """
    named = {path.resolve().name if path != STREAM else path.name: path for path in paths}
    if len(named) < len(paths):
        raise UsageError(
            "two corpora have the same file name", hint="rename one: hits name their corpus by it"
        )
    return named
