"""What the earlier stages say about the items: selection, decisions, duplicates, take-downs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError, Refusal
from kina_build.release.admission import Decision
from kina_build.release.proof.evidence import Audited
from kina_build.release.record import AgreementFacts, AgreementFigure, AuditFacts
from kina_build.rows.jsonl import read_document
from kina_build.rows.tables import read_typed
from kina_build.shares import bound_share

if TYPE_CHECKING:
    from kina_build.selection.records import Selection


class _Loose(BaseModel):
    """A file of another stage, as far as export reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class _Selection(_Loose):
    item_ids: tuple[str, ...]
    kind: str = ""
    seal: Any = None
    certificate: Any = None
    domains: Any = None


class _Dropped(_Loose):
    item_id: str
    kept_id: str = ""
    rule: str = ""


class _Cluster(_Loose):
    item_ids: tuple[str, ...] = ()


class _Duplicates(_Loose):
    dropped: tuple[_Dropped, ...] = ()
    clusters: tuple[_Cluster | tuple[str, ...], ...] = ()
    conflict_edges: tuple[tuple[str, str], ...] = ()
    encoder: str | None = None
    revision: str | None = None
    threshold: float | None = None


class _Figure(_Loose, AgreementFigure):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class _Agreement(_Loose):
    reviews: int = Field(ge=1)
    agreement: dict[str, _Figure] = Field(min_length=1)


class _Step(_Loose):
    step: str
    items: dict[str, str]


class _LeftOut(_Loose):
    pool: int
    steps: tuple[_Step, ...]


class _Audited(_Loose):
    item_id: str
    flawed: bool


@dataclass(frozen=True)
class Selected:
    """The items a selection chose; nothing that it says of them is taken over."""

    item_ids: tuple[str, ...]
    document: Selection | None = None
    """None: a list of ids of the user's own, or a sample, without a certificate."""
    statement: str = ""
    """What a sample says of itself."""


@dataclass(frozen=True)
class Duplicates:
    """What dedup found: items dropped with the reason, and ids that belong together."""

    dropped: dict[str, str] = field(default_factory=dict)
    clusters: tuple[tuple[str, ...], ...] = ()
    facts: dict[str, Any] | None = None


def read_selection(path: Path) -> Selected:
    """Read selection.json, or any document with a list item_ids.

    Raises:
        InputError: unreadable, or it names no items.
        Refusal: a certificate that was changed after it was sealed.
    """
    from kina_build.selection.reading import read_selection as read_document_of
    from kina_build.selection.reading import seal
    from kina_build.selection.sharing.draw import STATEMENT

    found = read_document(path, _Selection)
    if not found.item_ids:
        raise InputError(f"{path}: the selection is empty")
    if found.kind == "sample" and found.seal is None and found.domains is None:
        return Selected(found.item_ids, statement=STATEMENT)
    if found.seal is None and found.certificate is None and found.domains is None:
        return Selected(found.item_ids)
    document = read_document_of(path)
    if seal(document).seal != document.seal:
        raise Refusal(
            f"{path}: was changed after it was sealed",
            hint="run `kina select` anew; a list of your own needs item_ids and nothing else",
        )
    return Selected(document.item_ids, document)


def selection_facts(selected: Selected, *, certified: bool) -> dict[str, Any]:
    """Return what a selection chose and, where it was checked, the guarantee of its method."""
    document = selected.document
    checked = document.certificate.guarantee.model_dump() if document and certified else None
    told = {"statement": selected.statement} if selected.statement else {}
    return {"items": len(selected.item_ids), "guarantee": checked} | told


def read_decisions(path: Path) -> list[Decision]:
    """Read the reviewers' decisions: JSON Lines or CSV with item_id and decision.

    Raises:
        InputError: unreadable.
        RowErrors: faulty rows.
    """
    return read_typed(path, Decision)


def gather_decisions(decisions: Path | str | Iterable[Any]) -> list[Decision]:
    """Take decisions from a file, or from any records with item_id and decision."""
    if isinstance(decisions, str | Path):
        return read_decisions(Path(decisions))
    return [
        Decision.model_validate({n: getattr(one, n) for n in Decision.model_fields if hasattr(one, n)})
        for one in decisions
    ]


def review_facts(decisions: Sequence[Decision]) -> dict[str, Any]:
    """Count decisions by kind."""
    counts = Counter(decision.decision for decision in decisions)
    return {"decisions": {kind: counts[kind] for kind in sorted(counts)}}


def read_agreement(path: Path) -> AgreementFacts:
    """Read what `kina review agreement -o` wrote: figures, no reviewer among them.

    Raises:
        InputError: unreadable, no such figures, or of no reviews.
    """
    return AgreementFacts.model_validate(read_document(path, _Agreement).model_dump())


def read_left_out(path: Path, pool: int) -> dict[str, int]:
    """Count what fell before the selection, by step, as `kina leave-out` found it.

    Args:
        path: left-out.json.
        pool: items of the pool that is released.

    Raises:
        InputError: unreadable, or of a pool of another size.
    """
    found = read_document(path, _LeftOut)
    if found.pool != pool:
        raise InputError(
            f"{path}: is of a pool of {found.pool} items, this one has {pool}",
            hint="run `kina leave-out` anew",
        )
    return {one.step: len(one.items) for one in found.steps if one.items}


def read_audit(path: Path, pool: Collection[str]) -> list[Audited]:
    """Read what an audit of accepted items found: rows of item_id and flawed.

    Args:
        path: JSON Lines or CSV.
        pool: ids of the pool; an audit of other items says nothing of this release.

    Raises:
        InputError: unreadable, an item drawn twice, or none of its items is in the pool.
    """
    rows = [row for row in read_typed(path, _Audited) if row.item_id in pool]
    if not rows:
        raise InputError(f"{path}: none of the audited items is in the pool")
    twice = next((one for one, count in Counter(row.item_id for row in rows).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{path}: item {twice!r} stands on more than one row")
    return [Audited(row.item_id, row.flawed) for row in rows]


def audit_facts(rows: Sequence[Audited]) -> AuditFacts:
    """Count what an audit found."""
    flawed = sum(row.flawed for row in rows)
    low, high = bound_share(flawed, len(rows))
    return AuditFacts(audited=len(rows), flawed=flawed, rate=flawed / len(rows), low=low, high=high)


def read_duplicates(path: Path) -> Duplicates:
    """Read duplicates.json: dropped items, clusters and conflict edges.

    Raises:
        InputError: unreadable.
    """
    return _gather(read_document(path, _Duplicates))


def gather_duplicates(duplicates: Path | str | Any) -> Duplicates:
    """Take what dedup found from its file, or from its record."""
    if isinstance(duplicates, str | Path):
        return read_duplicates(Path(duplicates))
    return _gather(_Duplicates.model_validate(duplicates.model_dump()))


def _gather(found: _Duplicates) -> Duplicates:
    clusters = [one.item_ids if isinstance(one, _Cluster) else one for one in found.clusters]
    clusters += found.conflict_edges
    return Duplicates(
        dropped={one.item_id: _why(one) for one in found.dropped},
        clusters=tuple(sorted(tuple(sorted(cluster)) for cluster in clusters)),
        facts={
            "dropped": len(found.dropped),
            "encoder": found.encoder,
            "revision": found.revision,
            "threshold": found.threshold,
        },
    )


def _why(one: _Dropped) -> str:
    if one.kept_id:
        return f"duplicate of {one.kept_id}"
    return "dropped by a person" if one.rule == "override" else f"dropped as duplicate ({one.rule})"
