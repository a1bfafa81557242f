"""Read what selection takes beside the scores, and digest it whatever its order or format."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.dedup.reading import spread_edges
from kina_build.errors import InputError, RowErrors
from kina_build.rows.jsonl import canonical
from kina_build.rows.source import each
from kina_build.rows.tables import Row, hint_at, need_rows, read_typed
from kina_build.selection.labels import code_items
from kina_build.selection.records import ConflictMode, Quota
from kina_build.support.levels import Indices, encoded_slices
from kina_build.support.matrix import SupportMatrix

Pair = tuple[str, str]


@dataclass(frozen=True)
class Inputs:
    """Everything a selection depends on, as content."""

    matrix: SupportMatrix
    strata: Mapping[str, str] | None = None
    """Item to stratum; None: one stratum."""
    domains: Mapping[str, str] | None = None
    """Item to domain; None: one domain."""
    quotas: tuple[Quota, ...] = ()
    conflicts: tuple[Pair, ...] = ()
    """Pairs that must not be taken together, each pair and the list sorted."""
    conflict_mode: ConflictMode = "clusters"
    must: frozenset[str] = field(default_factory=frozenset)
    exclude: frozenset[str] = field(default_factory=frozenset)
    accepted: frozenset[str] | None = None
    """The only items that may be taken, by the reviewers' decisions; None: decisions do not matter."""

    @functools.cached_property
    def closed(self) -> frozenset[str]:
        """Return the items that may not be taken: excluded, or not accepted."""
        if self.accepted is None:
            return self.exclude
        return self.exclude | {i for i in self.matrix.item_ids if i not in self.accepted}

    @functools.cached_property
    def domain_codes(self) -> tuple[tuple[str, ...], Indices]:
        """Return the domains that items have, sorted, and each item's position among them; -1 for none."""
        return code_items(self.domains, self.matrix.item_ids)

    @functools.cached_property
    def digests(self) -> dict[str, str]:
        """Return the sha256 of the content of each kind of input that was given."""
        quotas = sorted(canonical(quota.model_dump()) for quota in self.quotas)
        found = {"support": _support_digest(self.matrix), "anchors": _anchor_digest(self.matrix)}
        if self.strata:
            found["strata"] = _label_digest(*code_items(self.strata, self.matrix.item_ids))
        if self.domains:
            found["domains"] = _label_digest(*self.domain_codes)
        given: dict[str, Any] = {
            "quota": quotas,
            "conflicts": self.conflicts,
            "must": sorted(self.must),
            "exclude": sorted(self.exclude),
            "decisions": None if self.accepted is None else ["accepted", *sorted(self.accepted)],
        }
        return found | {name: _sha256(canonical(value).encode()) for name, value in given.items() if value}


def read_quotas(path: Path) -> tuple[Quota, ...]:
    """Read rows of stratum, lower, upper, or a budget with domain and k as well.

    Raises:
        RowErrors: faulty rows.
        InputError: a stratum on two rows, or a domain with two values of k.
    """
    quotas = [_stripped(quota) for quota in read_typed(path, Quota)]
    seen: set[Pair] = set()
    totals: dict[str, int | None] = {}
    for quota in quotas:
        if (quota.domain, quota.stratum) in seen:
            raise InputError(f"{path}: stratum {quota.stratum!r} stands on more than one row")
        seen.add((quota.domain, quota.stratum))
        if totals.setdefault(quota.domain, quota.k) != quota.k:
            raise InputError(f"{path}: domain {quota.domain!r} has two values of k")
    return tuple(sorted(quotas, key=lambda quota: (quota.domain, quota.stratum)))


def _stripped(quota: Quota) -> Quota:
    """Return a quota named as labels are, which are read without spaces around them."""
    return quota.model_copy(
        update={"stratum": quota.stratum.strip() or quota.stratum, "domain": quota.domain.strip()}
    )


def read_conflicts(paths: Path | Sequence[Path], gone: Set[str] = frozenset()) -> tuple[Pair, ...]:
    """Read rows of item_id, other_id, or the conflict_edges of a duplicates.json; all files' pairs count.

    Args:
        paths: a file, or several.
        gone: items that are left out anyway: of many equal items, no pair is made with them.

    Raises:
        InputError: neither.
        RowErrors: faulty rows.
    """
    return sort_pairs(pair for path in each(paths) for pair in _read_pairs(path, gone))


def _read_pairs(path: Path, gone: Set[str]) -> Iterable[Pair]:
    rows = need_rows(path)
    if len(rows) == 1 and "conflict_edges" in rows[0].values:
        edges = [_pair(edge, rows[0]) for edge in _listed(rows[0], "conflict_edges")]
        groups = [_group(group, rows[0]) for group in _listed(rows[0], "groups")]
        return spread_edges(edges, groups, gone)
    faults = [
        row.fault(f"{key}: missing")
        for row in rows
        for key in ("item_id", "other_id")
        if not str(row.values.get(key) or "").strip()
    ]
    if faults:
        raise RowErrors(faults, hint=hint_at(rows, "needed columns: item_id, other_id"))
    return [(str(row.values["item_id"]), str(row.values["other_id"])) for row in rows]


def _listed(row: Row, name: str) -> list[Any]:
    """Return a list of a document of ours; one that is not there is empty."""
    found = row.values.get(name) or []
    if not isinstance(found, list):
        raise RowErrors([row.fault(f"{name}: not a list")])
    return found


def _pair(edge: Any, row: Row) -> Pair:
    if not isinstance(edge, list) or len(edge) != 2:
        raise RowErrors([row.fault("conflict_edges: not a list of pairs of ids")])
    return str(edge[0]), str(edge[1])


def _group(group: Any, row: Row) -> list[str]:
    if not isinstance(group, list) or not group:
        raise RowErrors([row.fault("groups: not a list of lists of ids")])
    return [str(name) for name in group]


def sort_pairs(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Order each pair and the list, and drop repetitions and pairs of an item with itself."""
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}))


def read_ids(paths: Path | Sequence[Path], option: str = "--exclude") -> frozenset[str]:
    """Read item ids from rows of item_id, a selection.json, a duplicates.json or findings of `kina check`.

    Rows of a release have an id instead, which is the same.
    Of a duplicates.json they are the items that do not stay: dropped copies, and those held
    over a disputed key; of findings, the items with an error.

    Args:
        paths: a file, or several whose ids count together.
        option: what the ids are for, for messages.

    Raises:
        InputError: a file of another kind, or decisions, whose rows say both yes and no.
        RowErrors: rows without an item_id.
    """
    return frozenset(item_id for path in each(paths) for item_id in _read_ids(path, option))


def _read_ids(path: Path, option: str) -> list[str]:
    rows = need_rows(path)
    values = rows[0].values
    if len(rows) == 1 and isinstance(values.get("item_ids"), list):
        return [str(item_id) for item_id in values["item_ids"]]
    if len(rows) == 1 and "dropped" in values:
        rows = [
            Row(row.line, one if isinstance(one, dict) else {}, row.file)
            for row in rows
            for one in [*_listed(row, "dropped"), *_listed(row, "held")]
        ]
    elif DECIDES & values.keys():
        raise InputError(
            f"{path}: holds decisions, which say yes of some items and no of others: {option} takes ids",
            hint="give the ids of the rejected items only, as rows of item_id",
        )
    elif values.keys() >= FINDS:
        rows = [row for row in rows if row.values.get("severity") == "error" and row.values.get("item_id")]
    column = "id" if "item_id" not in values and values.keys() >= RELEASED else "item_id"
    faults = [
        row.fault(f"{column}: missing") for row in rows if not str(row.values.get(column) or "").strip()
    ]
    if faults:
        raise RowErrors(faults, hint=hint_at(rows, f"needed column: {column}"))
    return [str(row.values[column]) for row in rows]


def read_decisions(path: Path) -> dict[str, str]:
    """Read the reviewers' decisions: item to accept, revise, reject or escalate.

    Raises:
        RowErrors: a row without an item or with another decision, or an item with two decisions.
    """
    found: dict[str, str] = {}
    faults = []
    rows = need_rows(path)
    for row in rows:
        item_id, decision = (str(row.values.get(key) or "").strip() for key in ("item_id", "decision"))
        if not item_id or decision not in DECISIONS:
            faults.append(row.fault(f"needs an item_id and a decision of {', '.join(DECISIONS)}"))
        elif found.setdefault(item_id, decision) != decision:
            faults.append(row.fault(f"{item_id!r} was decided otherwise before: {found[item_id]}"))
    if faults:
        raise RowErrors(faults, hint=hint_at(rows, "`kina review settle --decisions` writes them"))
    return found


DECISIONS = ("accept", "revise", "reject", "escalate")
"""What reviewers may decide of an item."""

DECIDES = frozenset({"decision", "verdict"})
"""Fields of rows that judge items."""

FINDS = frozenset({"rule", "severity"})
"""Fields of a finding of `kina check`."""

RELEASED = frozenset({"id", "question", "choices", "canary"})
"""Fields of a row of a release."""


def _support_digest(matrix: SupportMatrix) -> str:
    # slice by slice, so that no second copy is needed; ids are sorted already
    total = hashlib.sha256(canonical([len(matrix.item_ids), matrix.anchor_ids, matrix.scale]).encode())
    for ids in encoded_slices(matrix.item_ids):
        total.update(b"\0".join(ids) + b"\0")
    for rows in matrix.slices():
        total.update(matrix.levels[rows].astype("<u4").tobytes())
    return total.hexdigest()


def _label_digest(names: tuple[str, ...], codes: Indices) -> str:
    return _sha256(canonical(names).encode() + codes.astype("<i4").tobytes())


def _anchor_digest(matrix: SupportMatrix) -> str:
    units = [matrix.weight_unit] if matrix.weight_step == 1 else [matrix.weight_unit, matrix.weight_step]
    return _sha256(canonical([matrix.anchor_ids, matrix.weights.tolist(), *units]).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
