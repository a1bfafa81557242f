"""What kina rank is asked for, and what it reads: options that fit together, files into a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kina_build.ranking.board import Board
    from kina_build.ranking.itemfiles import ItemKey
    from kina_build.ranking.leaderboard import Dataset
    from kina_build.ranking.rank import Extras
    from kina_build.ranking.sources import ScoreTable
    from kina_build.release.record import ReleaseRecord


@dataclass(frozen=True)
class Request:
    """The options of one run, checked against each other."""

    scores: Path | None
    answers: Path | None
    items: Path | None
    release: Path | None
    split: str
    published: Path | None
    item_count: int | None
    only: Path | None
    clusters: Path | None
    filter_models: tuple[str, ...]
    samples: int | None
    seed: int
    paper: bool
    item_analysis: Path | None
    output: Path | None
    letters_of: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """Return the files that are read."""
        given = (
            self.scores,
            self.answers,
            self.items,
            self.release,
            self.published,
            self.only,
            self.clusters,
            self.letters_of,
        )
        return list(dict.fromkeys(path for path in given if path is not None))

    @property
    def outputs(self) -> list[Path]:
        """Return the files that are written."""
        return [path for path in (self.output, self.item_analysis) if path is not None]

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: none or more than one source, or an option the source has no use for.
        """
        sources = [s for s in (self.scores, self.answers, self.published) if s is not None]
        if len(sources) != 1:
            raise UsageError(
                "give exactly one of --scores, --answers, --published",
                hint="kina rank --scores scores.jsonl",
            )
        if (self.answers is None) != (self.letters_of is None):
            raise UsageError(
                "--answers and --letters-of go together: letters mean the options of one file, in its order",
                hint="kina rank --answers answers.jsonl --letters-of pool.jsonl",
            )
        if self.items is not None and self.release is not None:
            raise UsageError("--release brings its own items: leave out --items")
        if (self.published is None) != (self.item_count is None):
            raise UsageError("--published and --item-count go together", hint="KINA: --item-count 899")
        if self.release is not None and self.answers is not None:
            raise UsageError("--answers takes no --release", hint="--letters-of release/test.jsonl")
        paired = [self.only, self.clusters, self.item_analysis, self.items, self.release, *self.filter_models]
        if self.published is not None and (self.paper or any(p is not None for p in paired)):
            raise UsageError("--published takes only --item-count: there are no item-level scores behind it")


def read_board(request: Request) -> tuple[Board, Extras]:
    """Read the board that is asked for, and what else is known about its items.

    Raises:
        KinaError: as the readers of the files, and build_board.
    """
    from kina_build.ranking import itemfiles, sources
    from kina_build.ranking.board import build_board
    from kina_build.ranking.rank import Extras

    keys = itemfiles.read_items(request.items) if request.items else None
    dataset, filtered = None, set(request.filter_models)
    if request.letters_of is not None:
        asked = itemfiles.read_items(request.letters_of)
        keys = asked if keys is None else itemfiles.rekey(asked, keys)
    table = _table(request, keys)
    if request.release is not None:
        record = _record(request.release)
        dataset, keys = _stamp(record), _release_key(request.release, record, request.split)
        # models that never ran on the release have nothing to be set aside
        filtered |= set(record.provenance.filter_models) & set(table.models)
    board = build_board(
        table.models,
        table.item_ids,
        table.scores,
        table.disciplines,
        clusters=itemfiles.read_clusters(request.clusters) if request.clusters else None,
        filter_models=filtered,
        only=itemfiles.read_item_ids(request.only) if request.only else None,
    )
    if keys is None:
        return board, Extras(dataset=dataset, stated=table.stated)
    sources.check_letters(table, keys)
    key = itemfiles.key_of(keys, board.item_ids)
    return board, Extras(key, sources.letters_of(table, board.item_ids), dataset, table.stated)


def _record(release: Path) -> ReleaseRecord:
    from kina_build.jsonl import read_document
    from kina_build.release.record import ReleaseRecord

    return read_document(release / "release.json", ReleaseRecord)


def _stamp(record: ReleaseRecord) -> Dataset:
    from kina_build.ranking.leaderboard import Dataset

    return Dataset(
        name=record.name,
        version=record.version,
        content_hash=record.content_hash,
        prompt_version=record.prompt_version,
        extractor_version=record.extractor_version,
    )


def _release_key(release: Path, record: ReleaseRecord, split: str) -> list[ItemKey] | None:
    """Read the key of a split; None where its answers are private: there are no floors then."""
    from kina_build.ranking.itemfiles import read_items

    if split not in record.counts:
        raise UsageError(f"{release}: no split {split!r}", hint=f"it has {', '.join(record.counts)}")
    return None if record.counts[split].private else read_items(release / f"{split}.jsonl")


def _table(request: Request, keys: Sequence[ItemKey] | None) -> ScoreTable:
    from kina_build.ranking import sources

    if request.answers is not None and keys is not None:
        return sources.read_letters(request.answers, keys)
    if request.scores is None:
        raise UsageError("no scores given")
    return sources.read_scores(request.scores)
