"""The funnel: from what was imported to what is released, each step with its items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.config import CONFIG_NAME
from kina_build.errors import InputError
from kina_build.items.pool import read_pool
from kina_build.manifest import Manifest, sidecar
from kina_build.project.eligible import LeftOut
from kina_build.project.folder import Project, find_project, need_project
from kina_build.project.graph import stages
from kina_build.release.record import ReleaseRecord
from kina_build.release.splits import RECORD
from kina_build.report.rows import FunnelRow
from kina_build.rows.jsonl import read_document, read_json


class Level(BaseModel):
    """One step of the funnel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    count: int
    lost: bool
    """Whether the items fell here; false: they are what is left."""
    items: dict[str, str]
    """The items, and what there is to say of each."""


def read_funnel(project: Project) -> list[Level]:
    """Read the funnel of a project, as far as its stages have run.

    Raises:
        InputError: an artefact that cannot be read.
    """
    levels: list[Level] = []
    root, chosen = project.root, final_selection(project)
    pool = root / stages.POOL
    if not pool.exists():
        return levels
    ids = [item.item_id for item in read_pool(pool)]
    rejects = _rejects(pool)
    if rejects:
        levels.append(_level("not read", rejects, lost=True))
    levels.append(_level("imported", dict.fromkeys(ids, "")))
    if (root / stages.LEFT_OUT).exists():
        found = read_document(root / stages.LEFT_OUT, LeftOut)
        levels += [_level(step.step, step.items, lost=True) for step in found.steps if step.items]
        levels.append(_level("eligible", {one: "" for one in ids if one not in set(found.item_ids)}))
    if chosen.exists():
        picks, _ = read_selected(chosen)
        levels.append(_level("selected", {one: f"pick {n}" for n, one in enumerate(picks, start=1)}))
    if (root / stages.RELEASE / RECORD).exists():
        levels += _released(root / stages.RELEASE)
    return levels


def funnel_files(folder: Path) -> list[Path]:
    """Return what a project's funnel is read from beside its artefacts; nothing where there is none."""
    config, left_out = folder / CONFIG_NAME, folder / stages.LEFT_OUT
    if not (left_out.exists() and config.exists()) or find_project(config) is None:
        return []
    return [left_out, *(sidecar(pool) for pool in _pools(folder / stages.POOL) if sidecar(pool).exists())]


def final_selection(project: Project) -> Path:
    """Return the selection that is released: the one that was topped up, where the project asks for it."""
    return project.root / (stages.SELECTION if project.table.top_up is None else stages.TOPPED)


def funnel_rows(folder: Path) -> tuple[FunnelRow, ...]:
    """Return the funnel of the project of a folder as its report draws it.

    Raises:
        InputError: an artefact that cannot be read.
    """
    levels = read_funnel(need_project(folder / CONFIG_NAME))
    return tuple(FunnelRow(step=one.step, count=one.count, lost=one.lost) for one in levels if one.count)


def tell_funnel(levels: list[Level]) -> str:
    """Return the funnel as one line: "imported 118 → copies 5 → eligible 80 → selected 36"."""
    return " → ".join(f"{level.step} {level.count:,}" for level in levels)


def _level(step: str, items: Mapping[str, str], *, lost: bool = False) -> Level:
    return Level(step=step, count=len(items), lost=lost, items=dict(items))


def _pools(pool: Path) -> list[Path]:
    """List the pool, and those of its sources."""
    return sorted({pool, *pool.parent.glob("pool-*.jsonl")})


def _rejects(pool: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in _pools(pool):
        if sidecar(path).exists():
            report = read_document(sidecar(path), Manifest).report
            found |= {
                f"{one['file']}:{one['line']}": str(one["message"]) for one in report.get("rejects", ())
            }
    return found


def read_selected(path: Path) -> tuple[list[str], list[float]]:
    """Return the items of a selection or a sample in order, and the gains of a selection's picks.

    Raises:
        InputError: it is neither.
    """
    document = read_json(path)
    ids = document.get("item_ids") if isinstance(document, dict) else None
    if not isinstance(ids, list):
        raise InputError(f"{path}: names no item_ids", hint="kina build select makes it")
    gains = document.get("gains")
    return [str(one) for one in ids], [float(one) for one in gains] if isinstance(gains, list) else []


def _released(release: Path) -> list[Level]:
    record = read_document(release / RECORD, ReleaseRecord)
    levels = []
    if record.withheld:
        gone = {one.item_id: one.reason for one in record.withheld}
        levels.append(_level("withheld", gone, lost=True))
    splits = {split: count.items for split, count in record.counts.items() if count.items}
    ids = {one: split for split in splits for one in _ids(release / f"{split}.jsonl")}
    return [*levels, _level("released", ids)]


def _ids(path: Path) -> list[str]:
    from kina_build.rows.jsonl import iter_rows

    return [str(row["id"]) for _, row in iter_rows(path)] if path.exists() else []
