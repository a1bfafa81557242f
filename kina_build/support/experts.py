"""Several experts' lists of anchors become one, with their agreement shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.rows.jsonl import describe
from kina_build.rows.tables import NEUTRALISED, read_table
from kina_build.support.anchors import KINDS, Anchor, Kind, anchor_id_of, domain_of

Key = tuple[str, str]
"""Folded domain and folded statement: what makes two experts' rows the same anchor."""


class Proposal(BaseModel):
    """One row of an expert's list: an anchor whose id may be left to us."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    anchor_id: str | None = None
    domain: str = ""
    kind: Kind = ""
    statement: str = Field(min_length=1)
    stratum: str = ""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    expert: str | None = None
    """Who proposes it; default: the name of the file."""
    note: str | None = None
    """Read and dropped: room for remarks on a worksheet."""

    @property
    def key(self) -> Key:
        """Return what makes two rows the same anchor."""
        return fold_stem(self.domain), fold_stem(self.statement)


class Finding(BaseModel):
    """One thing that people should look at in a set of anchors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    """duplicate, id_reused, kind_conflict, empty_kind, few_experts, unknown_domain, no_anchors."""
    subject: str
    """An anchor id or a domain."""
    message: str


@dataclass(frozen=True)
class MergedAnchors:
    """The merged list, who named what, and what people should look at."""

    anchors: tuple[Anchor, ...]
    named_by: Mapping[str, tuple[str, ...]]
    """Anchor id to the experts who named it."""
    experts: tuple[str, ...]
    agreement: float | None
    """Mean Jaccard overlap of two experts' lists in the domains both cover; None: no such pair."""
    left_out: tuple[Finding, ...]
    """Anchors dropped, and why."""
    findings: tuple[Finding, ...]


def read_proposals(path: Path) -> list[Proposal]:
    """Read one list of anchors; rows whose statement is blank are unused worksheet rows.

    Raises:
        InputError: missing or empty file, no filled row, or an id used for two statements.
        RowErrors: rows that are not anchors, each with file:line and the field.
    """
    proposals: list[Proposal] = []
    faults: list[RowFault] = []
    first: dict[tuple[str, str], Key] = {}
    for row in read_table(path):
        values = {key: _plain(value) for key, value in row.values.items()}
        if not str(values.get("statement") or "").strip():
            continue
        try:
            proposal = Proposal.model_validate({"expert": path.stem} | values)
        except ValidationError as error:
            faults.extend(RowFault(str(path), row.line, text) for text in describe(error))
            continue
        name = (proposal.expert or "", proposal.anchor_id or "")
        if proposal.anchor_id and first.setdefault(name, proposal.key) != proposal.key:
            faults.append(
                RowFault(str(path), row.line, f"anchor_id: {name[1]!r} already stands for another statement")
            )
        proposals.append(proposal)
    if faults:
        raise RowErrors(
            faults, hint=f"columns: {', '.join(Proposal.model_fields)}; kinds: {', '.join(KINDS)}"
        )
    if not proposals:
        raise InputError(f"{path}: no row has a statement")
    return proposals


def merge_proposals(proposals: Sequence[Proposal], min_experts: int = 1) -> MergedAnchors:
    """Merge rows with the same domain and statement; drop what fewer than `min_experts` named.

    The merged anchor takes the smallest id, the kind most experts gave (ties: the order
    of KINDS; none if no expert gave one), and the mean of the experts' weights. An id that stands
    for different statements in different lists is told apart by the expert's name. Row
    order, file order and spelling variants do not change the result.

    Raises:
        InputError: nothing is left.
    """
    groups: dict[Key, list[Proposal]] = {}
    for proposal in sorted(proposals, key=_order):
        groups.setdefault(proposal.key, []).append(proposal)
    reused = _reused_ids(groups)
    anchors = {key: _merge(rows, reused) for key, rows in groups.items()}
    named = {key: tuple(sorted({row.expert or "" for row in rows})) for key, rows in groups.items()}
    kept = {key: anchor for key, anchor in anchors.items() if len(named[key]) >= min_experts}
    if not kept:
        raise InputError(f"no anchor was named by {min_experts} experts", hint="lower --min-experts")
    experts = tuple(sorted({row.expert or "" for row in proposals}))
    return MergedAnchors(
        anchors=tuple(sorted(kept.values(), key=lambda anchor: anchor.anchor_id)),
        named_by={kept[key].anchor_id: named[key] for key in kept},
        experts=experts,
        agreement=_agreement(proposals, experts),
        left_out=tuple(_few_experts(anchors[key], named[key]) for key in groups if key not in kept),
        findings=tuple(
            [
                finding
                for key, rows in groups.items()
                for finding in _remark(rows, anchors[key].anchor_id, reused)
            ]
            + empty_kinds(list(kept.values()))
        ),
    )


def empty_kinds(anchors: Sequence[Anchor]) -> list[Finding]:
    """List the kinds that a domain has no anchor of."""
    kinds: dict[str, set[str]] = {}
    for anchor in anchors:
        kinds.setdefault(anchor.domain, set()).update({anchor.kind} - {""})
    return [
        Finding(rule="empty_kind", subject=domain, message=f"no anchor of kind {', '.join(missing)}")
        for domain in sorted(kinds)
        for missing in [[kind for kind in KINDS if kind not in kinds[domain]]]
        if missing and kinds[domain]  # where no anchor names a kind, nobody counts by them
    ]


def compare_domains(anchors: Sequence[Anchor], items: Sequence[Item]) -> list[Finding]:
    """List domains of a pool that have no anchors, and domains of anchors that no item has."""
    ours = {fold_stem(anchor.domain): anchor.domain for anchor in anchors}
    domains = sorted({domain_of(item) for item in items}, reverse=True)
    pool = {fold_stem(domain): domain for domain in domains}
    if "" in ours:
        return []
    bare = [pool[name] for name in sorted(pool) if name not in ours]
    unknown = [ours[name] for name in sorted(ours) if name not in pool]
    return [
        *(
            Finding(rule="no_anchors", subject=d, message="the pool has items of this domain, no anchors")
            for d in bare
        ),
        *(
            Finding(rule="unknown_domain", subject=d, message="no item of the pool has this domain")
            for d in unknown
        ),
    ]


def _plain(value: object) -> object:
    """Undo the quote that keeps a spreadsheet from running a cell."""
    return value[1:] if isinstance(value, str) and value[:1] == "'" and value[1:2] in NEUTRALISED else value


def _order(proposal: Proposal) -> tuple[str, str, str, str]:
    return proposal.anchor_id or "", proposal.expert or "", proposal.domain, proposal.statement


def _reused_ids(groups: Mapping[Key, Sequence[Proposal]]) -> set[str]:
    uses = Counter(i for rows in groups.values() for i in {row.anchor_id for row in rows if row.anchor_id})
    return {anchor_id for anchor_id, count in uses.items() if count > 1}


def _merge(rows: Sequence[Proposal], reused: set[str]) -> Anchor:
    head = next((row for row in rows if row.anchor_id), rows[0])
    votes = Counter(row.kind for row in rows if row.kind)
    anchor_id = head.anchor_id or anchor_id_of(head.domain, head.statement)
    return Anchor(
        anchor_id=f"{head.expert}/{anchor_id}" if anchor_id in reused else anchor_id,
        domain=head.domain.strip(),
        kind=min(votes, key=lambda kind: (-votes[kind], KINDS.index(kind)), default=""),
        statement=head.statement.strip(),
        stratum=next((row.stratum.strip() for row in rows if row.stratum.strip()), ""),
        weight=fmean(sorted(row.weight for row in rows)),
    )


def _agreement(proposals: Sequence[Proposal], experts: Sequence[str]) -> float | None:
    lists = {name: {row.key for row in proposals if row.expert == name} for name in experts}
    overlaps: list[float] = []
    for one, two in combinations(experts, 2):
        shared = {domain for domain, _ in lists[one]} & {domain for domain, _ in lists[two]}
        first = {key for key in lists[one] if key[0] in shared}
        second = {key for key in lists[two] if key[0] in shared}
        if shared:
            overlaps.append(len(first & second) / len(first | second))
    return fmean(overlaps) if overlaps else None


def _few_experts(anchor: Anchor, names: Sequence[str]) -> Finding:
    message = f"named only by {', '.join(names)}: {anchor.statement}"
    return Finding(rule="few_experts", subject=anchor.anchor_id, message=message)


def _remark(rows: Sequence[Proposal], anchor_id: str, reused: set[str]) -> list[Finding]:
    remarks: list[Finding] = []
    twice = [name for name, count in Counter(row.expert for row in rows).items() if count > 1]
    if twice:
        message = f"{twice[0]} lists this statement {len(rows)} times; merged"
        remarks.append(Finding(rule="duplicate", subject=anchor_id, message=message))
    kinds = sorted({row.kind for row in rows if row.kind})
    if len(kinds) > 1:
        message = f"experts call it {' and '.join(kinds)}"
        remarks.append(Finding(rule="kind_conflict", subject=anchor_id, message=message))
    if any(row.anchor_id in reused for row in rows):
        message = "its id stands for another statement in another list; the expert's name was put before it"
        remarks.append(Finding(rule="id_reused", subject=anchor_id, message=message))
    return remarks
