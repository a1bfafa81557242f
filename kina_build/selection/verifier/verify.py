"""Check a selection.json against the files alone, field by field.

Nothing here calls the selector: the files are read with the shared readers, every number is
computed anew (rebuild.py, recompute.py), and whatever differs is a fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kina_build.errors import UsageError
from kina_build.rows.jsonl import canonical
from kina_build.selection.inputs import Inputs
from kina_build.selection.records import (
    FOLDED_FORMAT,
    FORMAT,
    TIE_RULE,
    ConflictMode,
    DomainSelection,
    Selection,
)
from kina_build.selection.verifier.domain import Domain
from kina_build.selection.verifier.evidence import gather_domain, parts_of, rivals_of
from kina_build.selection.verifier.rebuild import (
    rebuild,
    sum_certificates,
    sum_coverage,
    sum_slack,
    threshold_faults,
)
from kina_build.selection.verifier.recompute import clique_faults, greedy_faults, set_faults
from kina_build.selection.verifier.recount import shortfall_faults
from kina_build.support.matrix import LARGEST_SUM, SupportMatrix

EARLIER = 2
"""A file of the earlier form."""


@dataclass(frozen=True)
class Verification:
    """Whether a selection holds, and everything that does not."""

    faults: tuple[str, ...]
    checked: tuple[str, ...]
    """What was recomputed."""

    @property
    def holds(self) -> bool:
        """Tell whether nothing differed."""
        return not self.faults

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        """Say whether it holds, with every fault."""
        return "verified" if self.holds else "\n".join(("refused:", *self.faults))


@dataclass(frozen=True)
class Expected:
    """What the reader states, whatever the document says."""

    size: int | None = None
    """Items in all."""
    conflict_mode: ConflictMode | None = None
    folds: int | None = None
    """Items that count for an anchor, or all of a set that holds fewer."""


def verify(document: Selection, inputs: Inputs, expected: Expected = Expected()) -> Verification:
    """Recompute a selection from the files it names.

    Of the document only the set, its cliques, thresholds and cuts are used; K, conflict mode and
    quotas are its own word unless the reader states them.

    Args:
        document: a parsed selection.json.
        inputs: the files it was made from, of whatever row order.
        expected: what the reader states.

    Raises:
        UsageError: a kind of input it was made from was not given.
    """
    lacking = sorted(set(document.inputs) - set(inputs.digests))
    if lacking:
        option = {"domains": "--domain-by", "anchors": "--anchors"}.get(lacking[0], f"--{lacking[0]}")
        raise UsageError(f"the selection was made with {option}: give it here too")
    faults = _seal_faults(document) or _content_faults(document, inputs, expected)
    if not faults:  # what follows from other content would only hide the cause
        faults = _part_faults(document, inputs)
    checked = ("seal", "inputs", "constraints", "greedy order", "gains", "objective", "bounds", "guarantee")
    return Verification(tuple(faults), checked)


def _seal_faults(document: Selection) -> list[str]:
    body = document.model_dump(mode="json", exclude={"seal"})
    if hashlib.sha256(canonical(body).encode()).hexdigest() != document.seal:
        return ["seal: the document was changed after it was sealed"]
    return []


def _content_faults(document: Selection, inputs: Inputs, expected: Expected) -> list[str]:
    faults = [
        f"inputs.{kind}: this is not the content that the selection was made from"
        for kind, digest in sorted(inputs.digests.items())
        if document.inputs.get(kind) != digest
    ]
    matrix = inputs.matrix
    units = (document.scale, document.weight_unit, document.weight_step)
    if units != (matrix.scale, matrix.weight_unit, matrix.weight_step):
        faults.append("scale, weight_unit, weight_step: not those of the support and anchors")
    if sum(matrix.weights.tolist()) * matrix.scale > LARGEST_SUM:
        faults.append("the weights are too large for exact sums")
    if document.tie_rule != TIE_RULE:
        faults.append("tie_rule: not that of this version")
    total = sum(record.k for record in document.domains)
    if expected.size is not None and expected.size != total:
        faults.append(f"k: {total}, but {expected.size} was expected")
    if expected.conflict_mode is not None and expected.conflict_mode != document.conflict_mode:
        faults.append(f"conflict_mode: {document.conflict_mode}, but {expected.conflict_mode} was expected")
    wanted = [max(1, min(expected.folds, record.k)) for record in document.domains if expected.folds]
    folds = [record.folds for record in document.domains]
    if expected.folds is not None and wanted != folds:
        faults.append(f"folds: {max(folds)}, but {expected.folds} was expected")
    return faults


def _part_faults(document: Selection, inputs: Inputs) -> list[str]:
    matrix = inputs.matrix
    rivals = rivals_of(replace(inputs, conflict_mode=document.conflict_mode))
    parts = parts_of(inputs, rivals)
    found = [tuple(record.sizes) for record in document.domains]
    if found != parts:
        return [f"domains: {[list(one) for one in found]}, not {[list(one) for one in parts]}"]
    budget = {quota.domain: quota.k for quota in inputs.quotas if quota.k is not None}
    faults: list[str] = []
    expected: list[DomainSelection] = []
    for record in document.domains:
        asked = {name: budget.get(name, record.k) for name in record.sizes}
        told, rebuilt = _check_part(record, asked, document, inputs, rivals)
        prefix = f"domain {record.domain!r}: " if record.domain else ""
        faults += [prefix + fault for fault in told]
        expected += [] if rebuilt is None else [rebuilt]
    if len(expected) == len(document.domains):
        faults += _total_faults(document, expected, matrix)
    return faults


def _check_part(
    record: DomainSelection,
    asked: Mapping[str, int | None],
    document: Selection,
    inputs: Inputs,
    rivals: Mapping[str, frozenset[str]],
) -> tuple[list[str], DomainSelection | None]:
    """Check the set of a part before any number about it, then every number."""
    sizes = {name: size or 0 for name, size in asked.items()}
    told = {(row.domain, row.stratum) for row in record.strata}
    if not record.lacking.keys() <= sizes.keys() or len(told) != len(record.strata):
        return ["lacking, strata: not those of the domains"], None
    if any(not 0 < count <= sizes[name] for name, count in record.lacking.items()):
        return ["lacking: not a number of items"], None
    domain = gather_domain(record, sizes, inputs, rivals)
    if any(level < 0 for level in domain.lower.values()):
        return ["strata: a shortfall above the lower quota"], None
    if record.folds > max(1, sum(sizes.values())):
        return [f"folds: {record.folds}, which is more than the items"], None
    faults = set_faults(domain, record.item_ids) or _shape_faults(domain, record, document)
    if faults := faults or _order_faults(domain, record):
        return faults, None
    rebuilt, faults = rebuild(domain, record, document, inputs.matrix)
    return faults + _differences(rebuilt, record), rebuilt


def _shape_faults(domain: Domain, record: DomainSelection, document: Selection) -> list[str]:
    """Check what the bounds and the shortfall stand on."""
    faults = clique_faults(domain, record.cliques) or threshold_faults(domain, record, document.scale)
    if not faults and document.conflict_mode == "clusters" and record.cliques != _own_cliques(domain):
        faults = ["cliques: not the conflict clusters"]
    if (record.greedy_item_ids is None) != (record.method == "greedy"):
        faults.append("greedy_item_ids: given for the methods other than greedy, and only for them")
    short = domain.sizes != dict(domain.asked) or any(
        domain.lower[key] < quota.lower for key, quota in domain.quotas.items()
    )
    if short and not faults:
        return shortfall_faults(domain, record.cliques, record.proof)
    if not short and record.proof is not None:
        faults.append("proof: nothing is short")
    return faults


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
    if record.greedy_item_ids is None:
        return greedy_faults(domain, record.item_ids)
    if any(item_id not in domain.position for item_id in record.greedy_item_ids):
        return ["greedy_item_ids: an item has no support scores in this domain"]
    faults = [f"greedy_{fault}" for fault in greedy_faults(domain, record.greedy_item_ids)]
    faults += greedy_faults(domain, record.item_ids, frozenset(record.item_ids))
    short = len(record.greedy_item_ids) < domain.size
    if record.method == "repaired" and not short:
        faults.append("method: greedy did not stop short, nothing was repaired")
    better = sum(domain.gains(record.item_ids)) > sum(domain.gains(record.greedy_item_ids))
    if record.method == "improved" and not short and not better:
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


def _total_faults(
    document: Selection, domains: Sequence[DomainSelection], matrix: SupportMatrix
) -> list[str]:
    """Check the sums over the domains at the head of the document."""
    steps, total = sum(one.steps for one in domains), sum_coverage(domains, matrix)
    head = {
        "item_ids": [item_id for one in domains for item_id in one.item_ids],
        "gains": [gain for one in domains for gain in one.gains],
        "objective": steps / matrix.unit,
        "steps": steps,
        "slack": sum_slack(domains, matrix),
        "zero_gain_picks": sum(one.zero_gain_picks for one in domains),
        "certificate": sum_certificates(domains, matrix).model_dump(mode="json"),
        "coverage": None if total is None else total.model_dump(mode="json"),
        "format": FOLDED_FORMAT if total else document.format if document.format == EARLIER else FORMAT,
    }
    said = document.model_dump(mode="json", include=set(head))
    return [f"{key}: {was!r}, recomputed {now!r}" for key, now, was in _leaves(head, said, "")]
