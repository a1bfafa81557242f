"""The evidence of a release: what anyone needs to compute its figures anew.

Ids of items that are not released, and of those in private splits, are hashes under a salt that
is made from the author's pool, questions and keys included: whoever has the pool makes it again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.jsonl import canonical, write_document, writing
from kina_build.release import standalone
from kina_build.release.admission import Decision

if TYPE_CHECKING:
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import DomainSelection, Selection

Extent = Literal["full", "released", "none"]
"""How much evidence travels: of all eligible items, of the released ones, none."""

FOLDER = "evidence"
VERIFIER = "evidence/verify.py"
LARGE_BYTES = 50_000_000
"""Size above which it must be said how much evidence shall travel."""
SCORES = 4_000_000
"""Scores looked at in one go."""
LEVEL_BYTES = 8
"""Of one level and its anchor."""
SALTED = "salted:"

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Chosen:
    """A selection that was checked against its files, and these files."""

    document: Selection
    inputs: Inputs


@dataclass(frozen=True)
class Audited:
    """One item that an audit drew."""

    item_id: str
    flawed: bool


@dataclass(frozen=True)
class Sources:
    """What a release's figures are derived from."""

    salt: bytes = b""
    chosen: Chosen | None = None
    decisions: Sequence[Decision] | None = None
    audit: Sequence[Audited] | None = None
    extent: Extent | None = None
    """None: full, and refused where that is large."""


NOTHING = Sources()
"""Of a release that states no figures."""


@dataclass(frozen=True)
class Naming:
    """Under which name an item stands in the evidence."""

    salt: bytes
    split_of: Mapping[str, str]
    """Split of each released item."""
    private: frozenset[str]

    def name(self, item_id: str) -> str:
        """Return the id of an item whose answer is in the release, a hash of any other."""
        split = self.split_of.get(item_id)
        if split is not None and split not in self.private:
            return item_id
        return SALTED + hmac.new(self.salt, item_id.encode(), hashlib.sha256).hexdigest()[:32]

    def judged(self, item_id: str, what: Any) -> list[Any]:
        """Return a judgement of an item as the evidence has it."""
        return [self.name(item_id), what, self.split_of.get(item_id)]


def make_salt(pool: Iterable[Item]) -> bytes:
    """Make the salt of a pool: nobody makes it who lacks one of its questions or keys."""
    total = hashlib.sha256(b"kina-build evidence")
    for item in sorted(pool, key=lambda item: item.item_id):
        options = [[option.key, option.answer] for option in item.options]
        told = [item.item_id, item.question, options, item.correct_answer, item.explanation]
        total.update(canonical(told).encode() + b"\n")
    return total.digest()


def write_evidence(folder: Path, sources: Sources, naming: Naming) -> None:
    """Write the evidence of a release into its folder, and the stand-alone verifier beside it.

    Raises:
        Refusal: it is large, and nobody said how much of it shall travel.
    """
    if sources.extent == "none" or not (sources.chosen or sources.decisions or sources.audit):
        return
    (folder / FOLDER).mkdir()
    if sources.chosen:
        _write_instance(folder, sources.chosen, naming, sources.extent)
    if sources.decisions is not None or sources.audit is not None:
        write_document(folder / standalone.JUDGED, _judgements(sources, naming))
    with writing(folder / VERIFIER) as out:
        out.write(verifier_source())


def verifier_source() -> bytes:
    """Return the stand-alone verifier as this version ships it."""
    return (files("kina_build.release") / "standalone.py").read_bytes()


def verifier_digest() -> str:
    """Return the sha256 of the stand-alone verifier."""
    return hashlib.sha256(verifier_source()).hexdigest()


def _judgements(sources: Sources, naming: Naming) -> dict[str, Any]:
    decided, drawn = sources.decisions, sources.audit
    kinds = None if decided is None else {one.item_id: one.decision for one in decided}
    found = None if drawn is None else {one.item_id: one.flawed for one in drawn}
    return {"decisions": _name_all(kinds, naming), "audit": _name_all(found, naming)}


def _name_all(judged: Mapping[str, Any] | None, naming: Naming) -> list[list[Any]] | None:
    if judged is None:
        return None
    return sorted((naming.judged(item_id, what) for item_id, what in judged.items()), key=_first)


def _first(row: Sequence[Any]) -> str:
    return str(row[0])


@dataclass(frozen=True)
class _Rows:
    """The items of the evidence, in the order of their names."""

    at: Whole
    """Position of each in the support."""
    names: list[str]
    domain: list[str]

    def place(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row of each item."""
        return {ids[at]: row for row, at in enumerate(self.at.tolist())}


def _write_instance(folder: Path, chosen: Chosen, naming: Naming, extent: Extent | None) -> None:
    matrix = chosen.inputs.matrix
    rows = _gather_rows(chosen, naming, full=extent != "released")
    indptr, indices, data = _sparse(chosen, rows, limit=LARGE_BYTES if extent is None else None)
    place = rows.place(matrix.item_ids)
    strata = _labels(chosen.inputs.strata, [matrix.item_ids[at] for at in rows.at.tolist()])
    document = {
        "format": standalone.FORMAT,
        "full": extent != "released",
        "scale": matrix.scale,
        "weight_unit": matrix.weight_unit,
        "anchors": {"ids": list(matrix.anchor_ids), "weights": matrix.weights.tolist()},
        "items": {
            "ids": rows.names,
            "split": [naming.split_of.get(matrix.item_ids[at]) for at in rows.at.tolist()],
            "stratum": strata,
            "domain": rows.domain,
        },
        "domains": [_domain(one, chosen, place, naming) for one in chosen.document.domains],
        "selection": {"seal": chosen.document.seal, "inputs": dict(chosen.document.inputs)},
    }
    write_document(folder / standalone.INSTANCE, document)
    with writing(folder / standalone.SUPPORT) as out:
        np.savez(out, indptr=indptr, indices=indices, data=data)


def _gather_rows(chosen: Chosen, naming: Naming, *, full: bool) -> _Rows:
    """Gather the items that could have been chosen: not excluded, in conflict with no must-include item."""
    inputs = chosen.inputs
    names, codes = inputs.domain_codes
    posed = {one.domain for one in chosen.document.domains}
    barred = inputs.exclude | (_rivals_of_must(inputs) - inputs.must)
    found = []
    for at, item_id in enumerate(inputs.matrix.item_ids):
        domain = names[codes[at]] if codes[at] >= 0 else None
        domain = "" if posed == {""} else domain
        kept = item_id in naming.split_of or (full and item_id not in barred)
        if kept and domain in posed and domain is not None:
            found.append((naming.name(item_id), at, domain))
    found.sort()
    places = np.array([at for _, at, _ in found], dtype=np.int64)
    return _Rows(places, [name for name, *_ in found], [domain for *_, domain in found])


def _rivals_of_must(inputs: Inputs) -> frozenset[str]:
    from kina_build.selection.verifier.evidence import rivals_of

    if not inputs.must:
        return frozenset()
    rivals = rivals_of(inputs)
    return frozenset(other for item_id in inputs.must for other in rivals.get(item_id, ()))


def _sparse(
    chosen: Chosen, rows: _Rows, *, limit: int | None
) -> tuple[Whole, NDArray[np.int32], NDArray[np.int32]]:
    """Cut the levels above 0 out of the support, item by item."""
    matrix = chosen.inputs.matrix
    levels, step = matrix.levels, max(1, SCORES // max(1, len(matrix.anchor_ids)))
    counts, columns, values, held = [], [], [], 0
    for start in range(0, len(rows.at), step):
        part = np.asarray(levels[rows.at[start : start + step]])
        at, column = np.nonzero(part)
        counts.append(np.bincount(at, minlength=len(part)))
        columns.append(column.astype(np.int32))
        values.append(part[at, column].astype(np.int32))
        held += len(column)
        if limit is not None and held * LEVEL_BYTES > limit:
            raise Refusal(
                f"the evidence of this release takes more than {limit // 1_000_000} MB",
                hint="say how much of it shall travel: --evidence full, released or none",
            )
    starts = np.concatenate([[0], *counts]).astype(np.int64).cumsum()
    return (
        starts,
        np.concatenate([[], *columns]).astype(np.int32),
        np.concatenate([[], *values]).astype(np.int32),
    )


def _labels(labels: Mapping[str, str] | None, ids: Sequence[str]) -> list[str]:
    return [(labels or {}).get(item_id, "") for item_id in ids]


def _domain(
    record: DomainSelection, chosen: Chosen, place: Mapping[str, int], naming: Naming
) -> dict[str, Any]:
    """Write what was asked of a domain, with thresholds that bound it."""
    inputs, anchors = chosen.inputs, chosen.inputs.matrix.anchor_ids
    quotas = [quota for quota in inputs.quotas if quota.k is None or quota.domain == record.domain]
    cliques = [[place[one] for one in group if one in place] for group in record.cliques]
    asked = _cover(chosen, record.item_ids)
    if record.thresholds:
        own_levels = record.thresholds.get(record.domain, {})
        asked = [own_levels.get(name, 0) for name in anchors]
    own = set(inputs.must)
    if record.domain:
        own = {one for one in own if (inputs.domains or {}).get(one) == record.domain}
    return {
        "name": record.domain,
        "k": record.k,
        "short": record.shortfall > 0 or any(row.shortfall for row in record.strata),
        "quotas": [[quota.stratum, quota.lower, quota.upper] for quota in quotas],
        "must": sorted(place[one] for one in own if one in place),
        "cliques": [sorted(group) for group in cliques if len(group) > 1],
        "thresholds": {
            "asked": asked,
            "released": _cover(chosen, [one for one in record.item_ids if one in naming.split_of]),
        },
    }


def _cover(chosen: Chosen, ids: Sequence[str]) -> list[int]:
    """Return the best level of each anchor over some items."""
    matrix = chosen.inputs.matrix
    best = np.zeros(len(matrix.anchor_ids), dtype=np.int64)
    for row in matrix.rows(ids):
        best = np.maximum(best, matrix.levels[row])
    cover: list[int] = best.tolist()
    return cover
