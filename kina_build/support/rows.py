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
    FINE_WEIGHT_SUM,
    SCALE,
    SPREAD,
    WEIGHT_SUM,
    SupportMatrix,
    build_matrix,
    round_weights,
    spread_step,
    weight_unit,
)
from kina_build.support.storage import open_support

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
    matrix = build_matrix(list(items), list(columns), table, masses, scale=scale, weight_sum=_fit_sum(masses))
    return replace(matrix, slack=matrix.slack + _score_slack(table, matrix))


def _score_slack(scores: NDArray[np.floating], matrix: SupportMatrix) -> int:
    """Return by how many steps, rounded up, whole levels may move an objective from the scores as given."""
    if not scores.size:
        return 0
    off = np.abs(scores * matrix.scale - np.rint(scores * matrix.scale)).max(axis=0)
    off[off < matrix.scale * NOISE] = 0.0  # the score has a level of its own: floats lie beside it
    moved = zip(off.tolist(), matrix.weights.tolist(), strict=True)
    return math.ceil(sum((Fraction(level) * weight for level, weight in moved), Fraction(0)))


def with_weights(matrix: SupportMatrix, weights: Mapping[str, float], name: str) -> SupportMatrix:
    """Replace the weights of a matrix; anchors the matrix lacks join as columns of zeros.

    Weights that the matrix was made from leave it as it is: one content, one rounding.

    Raises:
        InputError: an anchor of the matrix has no weight.
    """
    if any(anchor_id.startswith(SPREAD) and anchor_id not in weights for anchor_id in matrix.anchor_ids):
        return _with_spread(matrix, weights, name)
    lacking = [anchor_id for anchor_id in matrix.anchor_ids if anchor_id not in weights]
    if lacking:
        raise InputError(f"{name}: no weight for anchor {lacking[0]!r} ({len(lacking)} such anchors)")
    anchor_ids = tuple(sorted(weights))
    masses = np.array([weights[anchor_id] for anchor_id in anchor_ids], dtype=float)
    if anchor_ids == matrix.anchor_ids and _made_from(matrix, masses):
        return matrix
    levels = matrix.levels
    if len(anchor_ids) > len(matrix.anchor_ids):
        if matrix.on_disk:
            extra = next(anchor_id for anchor_id in anchor_ids if anchor_id not in matrix.anchor_ids)
            raise InputError(
                f"{name}: anchor {extra!r} is not in the support, whose scores stay on disk",
                hint="leave the anchor out, or give --memory enough for all scores",
            )
        at = np.searchsorted(np.array(anchor_ids), np.array(matrix.anchor_ids))
        levels = np.zeros((len(matrix.item_ids), len(anchor_ids)), dtype=matrix.levels.dtype)
        levels[:, at] = matrix.levels
    rounded = round_weights(masses, matrix.scale, _fit_sum(masses))
    return replace(
        matrix,
        anchor_ids=anchor_ids,
        levels=levels,
        weights=rounded.steps,
        weight_unit=rounded.unit,
        weight_step=rounded.step,
        slack=rounded.slack,
        faded=tuple(a for a, tiny in zip(anchor_ids, rounded.tiny.tolist(), strict=True) if tiny),
    )


def _with_spread(matrix: SupportMatrix, weights: Mapping[str, float], name: str) -> SupportMatrix:
    """Replace the experts' weights; the spread anchors keep their share of all weight."""
    spread = np.array([a.startswith(SPREAD) and a not in weights for a in matrix.anchor_ids])
    experts = tuple(a for a, own in zip(matrix.anchor_ids, (~spread).tolist(), strict=True) if own)
    part = replace(matrix, anchor_ids=experts, weights=matrix.weights[~spread])
    if experts == tuple(sorted(weights)):
        masses = np.array([weights[anchor_id] for anchor_id in experts], dtype=float)
        if _made_from(part, masses):
            return matrix
    if matrix.on_disk:
        hint = "leave --anchors out, or give --memory enough for all scores"
        raise InputError(f"{name}: other weights than the support's, whose scores stay on disk", hint=hint)
    part = with_weights(replace(part, levels=matrix.levels[:, ~spread]), weights, name)
    share = int(matrix.weights[spread].sum()) / int(matrix.weights.sum())
    step = spread_step(int(part.weights.sum()), share, int(spread.sum()))
    names = [*part.anchor_ids, *(a for a in matrix.anchor_ids if a not in experts)]
    order = sorted(range(len(names)), key=names.__getitem__)
    levels = np.concatenate([part.levels, matrix.levels[:, spread]], axis=1)
    return replace(
        part,
        anchor_ids=tuple(names[at] for at in order),
        levels=np.ascontiguousarray(levels[:, order]),
        weights=np.append(part.weights, np.full(int(spread.sum()), step, dtype=np.int64))[order],
    )


def _made_from(matrix: SupportMatrix, masses: NDArray[np.floating]) -> bool:
    """Tell whether a matrix holds just these weights, as they are or with their sum made 1."""
    weight_unit(masses)  # says what is wrong with them
    unit = matrix.weight_unit / matrix.weight_step
    found = (masses * unit, masses / masses.sum() * unit)
    least = (masses > 0).astype(float)
    return any(np.array_equal(np.maximum(np.rint(steps), least), matrix.weights) for steps in found)


def _fit_scale(scores: NDArray[np.floating]) -> int:
    exact = np.allclose(scores * SCALE, np.rint(scores * SCALE), rtol=0, atol=1e-9)
    return SCALE if exact else FINE_SCALE


def _fit_sum(masses: NDArray[np.floating]) -> int:
    try:
        steps = masses * weight_unit(masses)
    except InputError:  # build_matrix says what is wrong with them
        return WEIGHT_SUM
    return WEIGHT_SUM if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6) else FINE_WEIGHT_SUM


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
