"""Why an item was selected or not, and what it shows of the anchors: all items at once, by the matrix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.dedup.reading import spread_edges
from kina_build.dedup.records import Duplicates
from kina_build.project.eligible import LeftOut
from kina_build.project.funnel import read_selected
from kina_build.project.graph import stages
from kina_build.rows.jsonl import read_document
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support

ANCHORS_SHOWN = 3
"""Anchors that an item shows most of."""


def tell_support(path: Path) -> Iterator[tuple[str, str]]:
    """Tell of each item which anchors it shows most of; of equal ones the first by id."""
    matrix = read_support(path)
    yield "", "has no scores"
    for part in matrix.slices():
        levels = np.asarray(matrix.levels[part])
        best = np.argsort(-levels.astype(np.int64), axis=1, kind="stable")[:, :ANCHORS_SHOWN]
        for item_id, row, columns in zip(matrix.item_ids[part], levels, best.tolist(), strict=True):
            told = [f"{matrix.anchor_ids[c]} {int(row[c]) / matrix.scale:.2f}" for c in columns if row[c]]
            yield item_id, f"shows most of: {', '.join(told)}" if told else "shows nothing of any anchor"


def tell_picks(path: Path) -> Iterator[tuple[str, str]]:
    """Tell of each item which pick it is, or why it is none."""
    ids, gains = read_selected(path)
    for n, item_id in enumerate(ids, start=1):
        yield item_id, f"pick {n} of {len(ids)}" + (f", gain {gains[n - 1]:.4f}" if n <= len(gains) else "")
    for item_id, why in _why_not(path.parent, ids):
        yield item_id, f"not selected: {why}"


def _why_not(root: Path, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    gone = _gone(root) - set(ids)
    yield from ((item_id, "it was left out before") for item_id in sorted(gone))
    if not (root / stages.SUPPORT).exists():
        yield "", f"the draw took {len(ids)} others"
        return
    yield "", "it has no scores"
    matrix, rivals, told = read_support(root / stages.SUPPORT), _rivals(root, ids, gone), gone | set(ids)
    for item_id, gain in _gains(matrix, ids):
        if item_id not in told:
            rival = f"near-copy of {rivals[item_id]}, which is; " if item_id in rivals else ""
            yield item_id, f"{rival}added to the {len(ids)} it would gain {gain / matrix.unit:.4f}"


def _gone(root: Path) -> set[str]:
    left = root / stages.LEFT_OUT
    return set(read_document(left, LeftOut).item_ids) if left.exists() else set()


def _gains(matrix: SupportMatrix, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield what each item would add to a selection, in integer steps of the objective."""
    chosen = np.asarray(matrix.levels[matrix.rows(ids)]).astype(np.int64)
    cover: NDArray[np.int64] = chosen.max(axis=0, initial=0)
    for part in matrix.slices():
        more = (np.asarray(matrix.levels[part]).astype(np.int64) - cover).clip(min=0) @ matrix.weights
        yield from zip(matrix.item_ids[part], more.tolist(), strict=True)


def _rivals(root: Path, ids: Sequence[str], gone: Set[str]) -> Mapping[str, str]:
    """Return of each item the first selected one that it may not stand beside; of those left out, none."""
    path, chosen = root / stages.DUPLICATES, set(ids)
    if not path.exists():
        return {}
    found = read_document(path, Duplicates)
    dropped = gone & {one.item_id for one in found.dropped}
    beside: dict[str, list[str]] = defaultdict(list)
    for pair in spread_edges(found.conflict_edges, found.groups, dropped):
        for one, other in (pair, pair[::-1]):
            if other in chosen:
                beside[one].append(other)
    return {item_id: others[0] for item_id, others in beside.items()}
