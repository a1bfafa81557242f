"""The scores of the two that a comparison names, from one file or two, put beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kina_build.config import RankingRules
from kina_build.errors import InputError, UsageError
from kina_build.items.pool import read_item_ids
from kina_build.ranking.board import build_board
from kina_build.ranking.compare import Comparison, Two, compare_two
from kina_build.ranking.files import itemfiles, sources
from kina_build.ranking.files.sources import ScoreTable
from kina_build.ranking.options import CompareOptions
from kina_build.scoring.responses import read_responses


def compare_files(options: CompareOptions, rules: RankingRules = RankingRules()) -> Comparison:
    """Compare the two models, or files of one model each, that the options name.

    Raises:
        UsageError: the same model twice.
        InputError, RowErrors: files that cannot be read, a model that has no scores, gaps that nothing
            was said about.
    """
    table, names = _read(options)
    if options.clusters is not None:
        clusters: Mapping[str, str] = itemfiles.read_clusters(options.clusters)
    else:
        clusters = table.passages if options.passages else {}
    board = build_board(
        table.models,
        table.item_ids,
        table.scores,
        table.disciplines,
        clusters=clusters,
        only=read_item_ids(options.only) if options.only else None,
        known=table.known,
        missing=options.missing,
    )
    if board.not_ranked:
        one = board.not_ranked[0]
        raise InputError(
            f"{one.model}: {one.reason}", hint="say what becomes of gaps: --missing wrong|common|bounds"
        )
    lengths = dict(table.lengths) | _lengths(options.responses)
    two = Two(board, board.models.index(names[0]), board.models.index(names[1]))
    return compare_two(two, rules, options.missing, lengths)


def _read(options: CompareOptions) -> tuple[ScoreTable, tuple[str, str]]:
    if options.scores is not None:
        table = sources.read_scores(options.scores)
        names = options.first, options.second
        if names[0] == names[1]:
            raise UsageError(f"{names[0]} against itself", hint="name two models of --scores")
        unknown = [name for name in names if name not in table.models]
        if unknown:
            raise InputError(
                f"{options.scores}: no model {unknown[0]!r}", hint=f"it has {', '.join(table.models)}"
            )
        rows = [table.models.index(name) for name in names]
        known = None if table.known is None else table.known[rows]
        return replace(table, models=names, scores=table.scores[rows], known=known), names
    paths = Path(options.first), Path(options.second)
    tables = [sources.read_scores(path) for path in paths]
    for path, one in zip(paths, tables, strict=True):
        if len(one.models) != 1:
            raise InputError(
                f"{path}: scores of {len(one.models)} models",
                hint=f"name two of them: kina compare {one.models[0]} {one.models[1]} --scores {path}",
            )
    names = tables[0].models[0], tables[1].models[0]
    if names[0] == names[1]:  # two conditions of one model
        names = paths[0].stem, paths[1].stem
    if names[0] == names[1]:
        names = str(paths[0]), str(paths[1])
    return _join(tables, names), names


def _join(tables: Sequence[ScoreTable], names: tuple[str, str]) -> ScoreTable:
    """Put two tables of one model each over each other; an item that one lacks is a gap."""
    disciplines: dict[str, str] = {}
    for one in tables:
        disciplines |= dict(zip(one.item_ids, one.disciplines, strict=True))
    ids = list(disciplines)
    scores = np.full((2, len(ids)), np.nan)
    known = np.zeros((2, len(ids)))
    place = {item_id: column for column, item_id in enumerate(ids)}
    lengths: dict[tuple[str, str], float] = {}
    for row, one in enumerate(tables):
        columns = [place[item_id] for item_id in one.item_ids]
        scores[row, columns] = one.scores[0]
        known[row, columns] = ~np.isnan(one.scores[0]) if one.known is None else one.known[0]
        lengths |= {(names[row], item_id): length for (_, item_id), length in one.lengths.items()}
    passages = {item_id: name for one in tables for item_id, name in one.passages.items()}
    values = tuple(disciplines.values())
    return ScoreTable(names, tuple(ids), scores, values, known=known, passages=passages, lengths=lengths)


def _lengths(paths: Iterable[Path]) -> dict[tuple[str, str], float]:
    """Return the mean length of the replies of each model to each item."""
    found: dict[tuple[str, str], list[int]] = {}
    for path in paths:
        for one in read_responses(path).responses:
            if one.answered:
                found.setdefault((one.model, one.item_id), []).append(len(one.response or ""))
    return {key: sum(lengths) / len(lengths) for key, lengths in found.items()}
