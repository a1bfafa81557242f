"""Check a selection.json against the files alone, field by field.

Nothing here calls the selector: the files are read with the shared readers, every number is
computed anew (rebuild.py, recompute.py), and whatever differs is a fault.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kina_build.errors import UsageError
from kina_build.jsonl import canonical
from kina_build.selection.evidence import Domain, gather_domain
from kina_build.selection.inputs import Inputs
from kina_build.selection.rebuild import rebuild, sum_certificates
from kina_build.selection.recompute import clique_faults, greedy_faults, set_faults
from kina_build.selection.records import FORMAT, TIE_RULE, DomainSelection, Selection


@dataclass(frozen=True)
class Verdict:
    """Say whether a selection holds, and everything that does not."""

    faults: tuple[str, ...]
    checked: tuple[str, ...]
    """What was recomputed."""

    @property
    def holds(self) -> bool:
        """Tell whether nothing differed."""
        return not self.faults


def verify(document: Selection, inputs: Inputs) -> Verdict:
    """Recompute a selection from the files it names.

    Args:
        document: a parsed selection.json.
        inputs: the files it was made from, of whatever row order.

    Raises:
        UsageError: a kind of input it was made from was not given.
    """
    lacking = sorted(set(document.inputs) - set(inputs.digests))
    if lacking:
        option = {"domains": "--domain-by", "anchors": "--anchors"}.get(lacking[0], f"--{lacking[0]}")
        raise UsageError(f"the selection was made with {option}: give it here too")
    faults = _head_faults(document, inputs)
    expected: list[DomainSelection] = []
    taken: list[str] = []
    for record in document.domains:
        domain = gather_domain(record, inputs)
        found = _domain_faults(domain, record, document.conflict_mode == "pairwise", taken)
        if not found:
            rebuilt = rebuild(domain, record, document)
            found = _differences(rebuilt, record)
            expected.append(rebuilt)
        taken += record.item_ids
        prefix = f"domain {record.domain!r}: " if record.domain else ""
        faults += [prefix + fault for fault in found]
    if len(expected) == len(document.domains):
        faults += _total_faults(document, expected)
    checked = ("seal", "inputs", "constraints", "greedy order", "gains", "objective", "bounds", "guarantee")
    return Verdict(tuple(faults), checked)


def _head_faults(document: Selection, inputs: Inputs) -> list[str]:
    body = document.model_dump(mode="json", exclude={"seal"})
    faults = []
    if hashlib.sha256(canonical(body).encode()).hexdigest() != document.seal:
        faults.append("seal: the document was changed after it was sealed")
    for kind, digest in sorted(inputs.digests.items()):
        if document.inputs.get(kind) != digest:
            faults.append(f"inputs.{kind}: this is not the content that the selection was made from")
    matrix = inputs.matrix
    if (document.scale, document.weight_unit) != (matrix.scale, matrix.weight_unit):
        faults.append("scale, weight_unit: not those of the support and anchors")
    if (document.format, document.tie_rule) != (FORMAT, TIE_RULE):
        faults.append("format, tie_rule: not those of this version")
    names = [record.domain for record in document.domains]
    wanted = sorted({quota.domain for quota in inputs.quotas if quota.k is not None}) or [""]
    if names != wanted:
        faults.append(f"domains: {names}, not {wanted}")
    return faults


def _domain_faults(
    domain: Domain, record: DomainSelection, pairwise: bool, taken: Sequence[str]
) -> list[str]:
    """Check the set itself before any number about it."""
    if not 0 <= record.shortfall <= record.k or any(row.shortfall < 0 for row in record.strata):
        return ["shortfall: not a number of items"]
    faults = set_faults(domain, record.item_ids) + clique_faults(domain, record.cliques)
    across = {other for item_id in taken for other in domain.rivals.get(item_id, ())}
    clash = sorted(across.intersection(record.item_ids))
    faults += [f"item_ids: {item_id!r} is in conflict with an earlier domain's" for item_id in clash]
    if record.withheld and set(record.withheld) != {i for i in across if i in domain.position}:
        faults.append("withheld: not the items in conflict with earlier domains' picks")
    if not pairwise and record.cliques != _own_cliques(domain):
        faults.append("cliques: not the conflict clusters")
    if (record.greedy_item_ids is None) != (record.method == "greedy"):
        faults.append("greedy_item_ids: given for the methods other than greedy, and only for them")
    return faults or _order_faults(domain, record)


def _own_cliques(domain: Domain) -> tuple[tuple[str, ...], ...]:
    inside = domain.position
    groups = {
        tuple(sorted(j for j in near | {i} if j in inside))
        for i, near in domain.rivals.items()
        if i in inside
    }
    return tuple(sorted(group for group in groups if len(group) > 1))


def _order_faults(domain: Domain, record: DomainSelection) -> list[str]:
    """Check that greedy picks are greedy, and that another set is not worse than they are."""
    narrow = replace(domain, barred=domain.barred | set(record.withheld))
    if record.greedy_item_ids is None:
        return greedy_faults(narrow, record.item_ids)
    if any(item_id not in domain.position for item_id in record.greedy_item_ids):
        return ["greedy_item_ids: an item has no support scores in this domain"]
    faults = [f"greedy_{fault}" for fault in greedy_faults(narrow, record.greedy_item_ids)]
    faults += greedy_faults(domain, record.item_ids, frozenset(record.item_ids))
    short = len(record.greedy_item_ids) < domain.size
    if record.method == "repaired" and not short:
        faults.append("method: greedy did not stop short, nothing was repaired")
    if record.method == "improved" and sum(domain.gains(record.item_ids)) <= sum(
        domain.gains(record.greedy_item_ids)
    ):
        faults.append("method: the set is no better than the greedy one")
    return faults


def _differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """List the fields in which two records differ, with both values."""
    one, other = (record.model_dump(mode="json") for record in (expected, found))
    return [f"{key}: {said!r}, recomputed {value!r}" for key, value, said in _leaves(one, other, path)]


def _leaves(expected: Any, found: Any, path: str) -> Iterable[tuple[str, Any, Any]]:
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found}):
            yield from _leaves(expected.get(key), found.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from _leaves(one, other, f"{path}.{index}")
    elif expected != found:
        yield path, expected, found


def _total_faults(document: Selection, domains: Sequence[DomainSelection]) -> list[str]:
    """Check the sums over the domains at the head of the document."""
    head = {
        "item_ids": [item_id for one in domains for item_id in one.item_ids],
        "gains": [gain for one in domains for gain in one.gains],
        "objective": math.fsum(one.objective for one in domains),
        "zero_gain_picks": sum(one.zero_gain_picks for one in domains),
        "certificate": sum_certificates(domains).model_dump(mode="json"),
    }
    said = document.model_dump(mode="json", include=set(head))
    return [f"{key}: {was!r}, recomputed {now!r}" for key, now, was in _leaves(head, said, "")]
