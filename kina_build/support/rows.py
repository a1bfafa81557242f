"""Support and weights that people bring as rows of a CSV, TSV or JSON Lines file.

A pair that is not listed has support 0. A pair that is listed must have a score: a blank,
a comma decimal or a 7 is an error of its line, never a silent 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import EngineRules
from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.source import head_of, open_file
from kina_build.rows.tables import Row, need_rows
from kina_build.support.matrix import (
    FINE_SCALE,
    SCALE,
    SupportMatrix,
    build_matrix,
)
from kina_build.support.storage import open_support
from kina_build.support.weights import fit_sum, with_weights

NOISE = 2.0**-51
"""Distance between a score as written and the number nearest to it, at most."""

STORED_SUFFIX = ".npz"
ZIP = b"PK\x03\x04"
MISSING = "missing (a listed pair needs a score; leave the row out for support 0)"


@dataclass(frozen=True)
class Score:
    """The support of one item for one anchor, and the line that says so."""

    item_id: str
    anchor_id: str
    score: float
    """In [0, 1]."""
    line: int


def load_support(
    support: Path,
    anchors: Path | None = None,
    *,
    memory_mb: int = EngineRules().memory_mb,
    shared: bool = False,
) -> SupportMatrix:
    """Read support.npz, a folder of parts or score rows, with the weights of a file of anchors.

    Args:
        support: what `kina support` writes (.npz or a folder), or rows of item_id, anchor_id, score.
        anchors: rows of anchor_id, weight; may be left out for .npz, which holds weights.
        memory_mb: resident memory to keep to, in 10^6 bytes: larger levels stay on disk.
        shared: leave the levels of .npz files on disk for workers elsewhere.

    Raises:
        InputError: an unreadable file, or rows without a file of weights.
        RowErrors: faulty rows, each with file:line.
    """
    weights = read_weights(anchors) if anchors is not None else None
    if support.is_dir() or support.suffix.lower() == STORED_SUFFIX or head_of(support).startswith(ZIP):
        matrix = open_support(open_file(support), memory_mb, shared=shared)
        return matrix if weights is None else with_weights(matrix, weights, str(anchors))
    if weights is None:
        raise InputError(
            f"{support}: score rows carry no anchor weights",
            hint="give --anchors a file with the columns anchor_id and weight",
        )
    return matrix_from_scores(read_scores(support), weights, str(support))


def read_scores(paths: Path | Sequence[Path]) -> list[Score]:
    """Read rows of item_id, anchor_id, score.

    Raises:
        RowErrors: a missing, non-numeric or out-of-range score, a blank id, or a pair on two rows.
    """
    scores: list[Score] = []
    faults: list[RowFault] = []
    first: dict[tuple[str, str], Row] = {}
    for row in need_rows(paths):
        try:
            score = _score(row)
        except ValueError as error:
            faults.append(row.fault(str(error)))
            continue
        seen = first.setdefault((score.item_id, score.anchor_id), row)
        if seen is not row:
            pair = f"{score.item_id!r} and {score.anchor_id!r}"
            faults.append(row.fault(f"{pair} were scored before, on {seen.seen_from(row)}"))
        scores.append(score)
    if faults:
        raise RowErrors(faults, hint="needed columns: item_id, anchor_id, score (a number from 0 to 1)")
    return scores


def read_weights(path: Path) -> dict[str, float]:
    """Read rows of anchor_id, weight.

    Raises:
        RowErrors: a missing, negative or non-numeric weight, a blank id, or an anchor on two rows.
    """
    weights: dict[str, float] = {}
    faults: list[RowFault] = []
    for row in need_rows(path):
        try:
            anchor_id, weight = _weight(row)
        except ValueError as error:
            faults.append(RowFault(str(path), row.line, str(error)))
            continue
        if weights.setdefault(anchor_id, weight) is not weight:
            text = f"anchor_id: {anchor_id!r} stands on an earlier row too"
            faults.append(RowFault(str(path), row.line, text))
    if faults:
        raise RowErrors(faults, hint="needed columns: anchor_id, weight (a number, 0 or more)")
    return weights


def matrix_from_scores(scores: list[Score], weights: Mapping[str, float], name: str) -> SupportMatrix:
    """Lay score rows out as a matrix, as finely quantised as their digits need.

    Args:
        scores: at most one a pair.
        weights: anchor to weight; an anchor no item supports keeps its column of zeros.
        name: the score file's name, for messages.

    Raises:
        RowErrors: a score for an anchor that has no weight.
        InputError: unusable weights.
    """
    strangers = [score for score in scores if score.anchor_id not in weights]
    if strangers:
        text = "anchor_id: {!r} has no weight in the file of anchors"
        raise RowErrors([RowFault(name, one.line, text.format(one.anchor_id)) for one in strangers])
    items = {item_id: row for row, item_id in enumerate(sorted({one.item_id for one in scores}))}
    columns = {anchor_id: column for column, anchor_id in enumerate(sorted(weights))}
    table = np.zeros((len(items), len(columns)))
    for one in scores:
        table[items[one.item_id], columns[one.anchor_id]] = one.score
    masses = np.array([weights[anchor_id] for anchor_id in columns], dtype=float)
    scale = _fit_scale(table)
    matrix = build_matrix(list(items), list(columns), table, masses, scale=scale, weight_sum=fit_sum(masses))
    return replace(matrix, slack=matrix.slack + _score_slack(table, matrix))


def _score_slack(scores: NDArray[np.floating], matrix: SupportMatrix) -> int:
    """Return by how many steps, rounded up, whole levels may move an objective from the scores as given."""
    if not scores.size:
        return 0
    off = np.abs(scores * matrix.scale - np.rint(scores * matrix.scale)).max(axis=0)
    off[off < matrix.scale * NOISE] = 0.0  # the score has a level of its own: floats lie beside it
    moved = zip(off.tolist(), matrix.weights.tolist(), strict=True)
    return math.ceil(sum((Fraction(level) * weight for level, weight in moved), Fraction(0)))


def _fit_scale(scores: NDArray[np.floating]) -> int:
    exact = np.allclose(scores * SCALE, np.rint(scores * SCALE), rtol=0, atol=1e-9)
    return SCALE if exact else FINE_SCALE


def _score(row: Row) -> Score:
    item_id, anchor_id = _identifier(row, "item_id"), _identifier(row, "anchor_id")
    score = _number(row, "score", MISSING)
    if not 0 <= score <= 1:
        raise ValueError(f"score: {row.values['score']} is outside [0, 1] ({item_id}, {anchor_id})")
    return Score(item_id, anchor_id, score, row.line)


def _weight(row: Row) -> tuple[str, float]:
    weight = _number(row, "weight", "missing")
    if weight < 0:
        raise ValueError(f"weight: {row.values['weight']} is below 0")
    return _identifier(row, "anchor_id"), weight


def _identifier(row: Row, column: str) -> str:
    value: Any = row.values.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{column}: missing")
    return value


def _number(row: Row, column: str, missing: str) -> float:
    value: Any = row.values.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError(f"{column}: {missing}")
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{column}: {value!r} is not a number")
    return number
