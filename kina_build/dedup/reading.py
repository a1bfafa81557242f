"""A duplicates.json as other rooms read it: loosely, whatever version or tool wrote it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.rows.jsonl import read_document


class _Known(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class KnownDrop(_Known):
    """What others need of a dropped item."""

    item_id: str
    kept_id: str = ""
    rule: str = ""
    reason: str = ""


class KnownHeld(_Known):
    """What others need of a held item."""

    item_id: str
    other_ids: tuple[str, ...] = ()


class KnownCluster(_Known):
    """What others need of a cluster."""

    item_ids: tuple[str, ...]
    status: str = ""


class KnownDuplicates(_Known):
    """What others need of a duplicates.json, whatever version or tool wrote it."""

    kept: tuple[str, ...] = ()
    dropped: tuple[KnownDrop, ...] = ()
    held: tuple[KnownHeld, ...] = ()
    clusters: tuple[KnownCluster, ...] = ()
    conflict_edges: tuple[tuple[str, str], ...] = ()
    encoder: str = ""
    revision: str = ""
    threshold: float | None = None


def read_duplicates(path: Path) -> KnownDuplicates:
    """Read a duplicates.json loosely: what is there of what others need.

    Raises:
        InputError: missing, or no such document.
    """
    return read_document(path, KnownDuplicates)
