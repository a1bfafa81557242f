"""Rank what files say: scores or letters into a board, published accuracies, and what is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import BaseModel

from kina_build.config import RankingRules
from kina_build.dedup import Contamination
from kina_build.errors import UsageError
from kina_build.items.pool import read_item_ids
from kina_build.progress import Progress, silent
from kina_build.ranking.assembly import Extras, rank_board
from kina_build.ranking.board import Board, Missing, build_board
from kina_build.ranking.disciplines import split_exposed
from kina_build.ranking.files import itemfiles, sources
from kina_build.ranking.files.emit import emit, read_statement
from kina_build.ranking.files.itemfiles import ItemKey, read_items
from kina_build.ranking.files.letters import check_letters, letters_of, read_letters
from kina_build.ranking.files.published import rank_published, read_published
from kina_build.ranking.files.sources import ScoreTable
from kina_build.ranking.itemanalysis import ItemFigures, add_distractors, analyse_items
from kina_build.ranking.leaderboard import Dataset, Leaderboard
from kina_build.ranking.onpool import estimate_board, estimate_files
from kina_build.ranking.options import RankOptions
from kina_build.release.record import ReleaseRecord
from kina_build.rows.jsonl import read_document, write_document, write_records
from kina_build.scoring.estimator import Estimator


@runtime_checkable
class HasRows(Protocol):
    """Scores that hold one row a model and item."""

    @property
    def rows(self) -> Sequence[BaseModel]:
        """Return rows with item_id, model and score."""


@runtime_checkable
class HasIds(Protocol):
    """A selection: whatever holds ids of items."""

    @property
    def item_ids(self) -> Sequence[str]:
        """Return the ids."""


@dataclass(frozen=True)
class Ranking:
    """A leaderboard and, where it was asked for, figures of each item."""

    leaderboard: Leaderboard
    items: Sequence[ItemFigures] | None

    def write(self, options: RankOptions) -> None:
        """Write what the options name."""
        if options.output is not None:
            write_document(options.output, self.leaderboard)
        if options.item_analysis is not None and self.items is not None:
            write_records(options.item_analysis, self.items)
        if options.emit is not None:
            emit(self.leaderboard, options.emit, read_statement(options))


def rank_files(
    options: RankOptions, rules: RankingRules = RankingRules(), on_progress: Progress = silent
) -> Ranking:
    """Rank the models of the files that the options name.

    Args:
        options: checked.
        rules: resamples, level, least discipline and so on.
        on_progress: told of resamples.

    Raises:
        KinaError: as the readers of the files, and build_board.
    """
    if options.emit is not None:
        read_statement(options)  # before the work, not after it
    if options.published is not None and options.item_count is not None:
        ranked = rank_published(read_published(options.published), options.item_count, rules)
        return Ranking(ranked, None)
    board, extras = read_board(options)
    ranked = rank_board(
        board, rules, seed=options.seed, extras=extras, paper=options.paper, on_progress=on_progress
    )
    ranked = estimate_files(ranked, board, options)
    if options.contaminated is not None:
        found = read_document(options.contaminated, Contamination).contaminated
        ranked = _expose(ranked, board, found)
    return Ranking(ranked, _analyse(board, extras) if options.item_analysis else None)


def rank(
    scores: Iterable[BaseModel] | HasRows | Path,
    *,
    only: Iterable[str] | HasIds | None = None,
    clusters: Mapping[str, str] | None = None,
    missing: Missing | None = None,
    filter_models: Iterable[str] = (),
    seed: int = 0,
    rules: RankingRules = RankingRules(),
    paper: bool = False,
    estimator: Estimator | None = None,
    contaminated: Iterable[str] | None = None,
    on_progress: Progress = silent,
) -> Leaderboard:
    """Rank models by per-item scores in [0, 1].

    Args:
        scores: what `score` returns, its rows, or a file that `kina rank --scores` reads.
        only: ids of the items to rank on, or a selection of them.
        clusters: item_id to cluster: items that are drawn together; None: those on one passage.
        missing: what becomes of items that a model has no score for; None: it is not ranked.
        filter_models: models whose failures chose the items: shown, not ranked.
        seed: of everything random.
        rules: resamples, level, least discipline and so on.
        paper: add the KINA paper's own stability table.
        estimator: of a short form, as `shrink` makes it: also estimate the scores on the whole pool.
        contaminated: ids of items that stand in other corpora, to add accuracies without them.
        on_progress: told of resamples.

    Raises:
        InputError, RowErrors: a score outside [0, 1], a repeated row, an item in two disciplines.
        Refusal: fewer than two items, no model left to rank, or an estimator of other items.
    """
    if isinstance(scores, Path):
        table = sources.read_scores(scores)
    else:
        table = sources.table_of(scores.rows if isinstance(scores, HasRows) else scores)
    chosen = only.item_ids if isinstance(only, HasIds) else only
    board = build_board(
        table.models,
        table.item_ids,
        table.scores,
        table.disciplines,
        clusters=table.passages if clusters is None else clusters,
        filter_models=set(filter_models),
        only=chosen,
        known=table.known,
        missing=missing,
    )
    extras = Extras(missing=missing, stated=table.stated)
    ranked = rank_board(board, rules, seed=seed, extras=extras, paper=paper, on_progress=on_progress)
    ranked = ranked if estimator is None else estimate_board(ranked, board, estimator)
    return ranked if contaminated is None else _expose(ranked, board, contaminated)


def _expose(ranked: Leaderboard, board: Board, contaminated: Iterable[str]) -> Leaderboard:
    models = [one.model for one in ranked.standings]
    return ranked.model_copy(update={"exposed": split_exposed(board, models, frozenset(contaminated))})


def _analyse(board: Board, extras: Extras) -> list[ItemFigures]:
    figures = analyse_items(board)
    if extras.letters is None or extras.key is None:
        return figures
    rows = [extras.letters[model] for model in board.models]
    return add_distractors(figures, rows, extras.key.keys, board.accuracy)


def read_board(options: RankOptions) -> tuple[Board, Extras]:
    """Read the board that is asked for, and what else is known about its items.

    Raises:
        KinaError: as the readers of the files, and build_board.
    """
    keys = read_items(options.items) if options.items else None
    dataset, filtered = None, set(options.filter_model)
    if options.letters_of is not None:
        asked = read_items(options.letters_of)
        keys = asked if keys is None else itemfiles.rekey(asked, keys)
    table = _table(options, keys)
    if options.release is not None:
        record = _record(options.release)
        dataset, keys = _stamp(record), _release_key(options.release, record, options.split)
        # models that never ran on the release have nothing to be set aside
        filtered |= set(record.provenance.filter_models) & set(table.models)
    board = build_board(
        table.models,
        table.item_ids,
        table.scores,
        table.disciplines,
        clusters=_clusters(options, table, keys),
        filter_models=filtered,
        only=read_item_ids(options.only) if options.only else None,
        known=table.known,
        missing=options.missing,
    )
    if keys is None:
        return board, Extras(dataset=dataset, missing=options.missing, stated=table.stated)
    check_letters(table, keys)
    key = itemfiles.key_of(keys, board.item_ids)
    letters = letters_of(table, board.item_ids)
    return board, Extras(key, letters, dataset, options.missing, table.stated)


def _clusters(
    options: RankOptions, table: ScoreTable, keys: Sequence[ItemKey] | None
) -> Mapping[str, str] | None:
    """Return what is drawn together: the clusters that were given, else items on one passage."""
    if options.clusters is not None:
        return itemfiles.read_clusters(options.clusters)
    if not options.passages:
        return None
    passages = {key.item_id: key.passage for key in keys or () if key.passage is not None}
    return passages | dict(table.passages)


def _record(release: Path) -> ReleaseRecord:
    return read_document(release / "release.json", ReleaseRecord)


def _stamp(record: ReleaseRecord) -> Dataset:
    return Dataset(
        name=record.name,
        version=record.version,
        content_hash=record.content_hash,
        prompt_version=record.prompt_version,
        extractor_version=record.extractor_version,
    )


def _release_key(release: Path, record: ReleaseRecord, split: str) -> list[ItemKey] | None:
    """Read the key of a split; None where its answers are private: there are no floors then."""
    if split not in record.counts:
        raise UsageError(f"{release}: no split {split!r}", hint=f"it has {', '.join(record.counts)}")
    return None if record.counts[split].private else read_items(release / f"{split}.jsonl")


def _table(options: RankOptions, keys: Sequence[ItemKey] | None) -> ScoreTable:
    if options.answers is not None and keys is not None:
        return read_letters(options.answers, keys)
    if options.scores is None:
        raise UsageError("no scores given")
    return sources.read_scores(options.scores)
