"""Anchors: what experts say a domain is made of, and how much each anchor counts.

Anchors come from people, as JSON Lines or a spreadsheet. They carry a domain (the
items' `field`), a stratum inside it (the items' `subfield`) and a relative weight.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import SupportRules
from kina_build.errors import InputError
from kina_build.items.model import ID_HEX_DIGITS, Item
from kina_build.items.text import fold_stem
from kina_build.rows.jsonl import canonical, write_records
from kina_build.rows.tables import read_typed

Kind = Literal["", "method", "problem", "theorem", "concept", "application", "item"]
"""What an anchor is; empty: its expert did not say, and nothing but a judge's prompt depends on it."""
KINDS: tuple[str, ...] = get_args(Kind)[1:]
"""Kinds of prototypes; `item` is a reference item: one with the id of an item of the pool is that item,
which is then compared with and never selected."""


class Anchor(BaseModel):
    """One prototype of a domain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    anchor_id: str = Field(min_length=1)
    domain: str = ""
    """Field it belongs to; empty: it applies to the items of every domain."""
    kind: Kind = ""
    statement: str = Field(min_length=1)
    """What the anchor is, in words that a judge can look for in an item."""
    stratum: str = ""
    """Subfield whose mass it shares; empty: the domain's one unnamed stratum."""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """Share of its stratum's mass, relative to the other anchors there."""


def anchor_id_of(domain: str, statement: str) -> str:
    """Hash a domain and a statement into an id, for anchors that experts did not name."""
    body = canonical([fold_stem(domain), fold_stem(statement)])
    return hashlib.sha256(body.encode()).hexdigest()[:ID_HEX_DIGITS]


def weigh_anchors(anchors: Sequence[Anchor], rules: SupportRules = SupportRules()) -> NDArray[np.float64]:
    """Return mu, shape (anchors,), sum 1: equal mass a domain, omega a stratum, weights inside it.

    mu(u) = omega(stratum) * weight(u) / (weights in the stratum), the paper's Appendix B
    rule when weights are equal; omega is uniform unless `rules.stratum_mass` names the
    stratum. With `rules.weighting` "given", the weights stand as they are and only their
    sum is made 1. Applying the rule to its own result changes nothing.

    Raises:
        InputError: no anchors, or a domain whose weights sum to 0.
    """
    if not anchors:
        raise InputError("there are no anchors to weigh")
    weights = np.array([anchor.weight for anchor in anchors])
    if rules.weighting == "stratum":
        weights = weights * np.array(_stratum_shares(anchors, rules))
    total = weights.sum()
    if total <= 0:
        raise InputError("all anchor weights are 0", hint="give at least one anchor a positive weight")
    return np.asarray(weights / total)


def _stratum_shares(anchors: Sequence[Anchor], rules: SupportRules) -> list[float]:
    """Return for each anchor: omega of its stratum / its domain's omega / its stratum's weights."""
    weight: dict[tuple[str, str], float] = defaultdict(float)
    for anchor in anchors:
        weight[anchor.domain, anchor.stratum] += anchor.weight
    omega: dict[str, float] = defaultdict(float)
    for (domain, stratum), mass in weight.items():
        omega[domain] += rules.stratum_mass.get(stratum, 1.0) if mass > 0 else 0.0
    empty = sorted(domain for domain in omega if omega[domain] <= 0)
    if empty:
        raise InputError(
            f"the anchors of domain {empty[0]!r} have no weight ({len(empty)} such domains)",
            hint="give at least one anchor of each domain a positive weight",
        )
    return [
        rules.stratum_mass.get(anchor.stratum, 1.0) / omega[anchor.domain] / mass if mass > 0 else 0.0
        for anchor in anchors
        for mass in [weight[anchor.domain, anchor.stratum]]
    ]


def read_anchors(path: Path | str) -> list[Anchor]:
    """Read anchors from CSV or JSON Lines, sorted by id.

    Raises:
        InputError: missing or empty file, or an id used twice.
        RowErrors: rows that are not anchors, each with file:line and the field.
    """
    anchors = sorted(read_typed(path, Anchor), key=lambda anchor: anchor.anchor_id)
    for one, two in pairwise(anchors):
        if one.anchor_id == two.anchor_id:
            raise InputError(
                f"{path}: anchor_id {one.anchor_id!r} stands on more than one row",
                hint="`kina anchors` merges lists and tells ids apart",
            )
    return anchors


def write_anchors(path: Path, anchors: Sequence[Anchor]) -> int:
    """Write anchors.jsonl, sorted by id; return how many."""
    ordered: list[Anchor] = sorted(anchors, key=lambda anchor: anchor.anchor_id)
    return write_records(path, ordered)


def domain_of(item: Item) -> str:
    """Return the item's domain: its field, or the discipline where no field is given."""
    return item.field or item.discipline


def stratum_of(item: Item) -> str:
    """Return the item's stratum: its subfield, or its domain where none is given."""
    return item.subfield or domain_of(item)


def reference_ids(items: Sequence[Item], anchors: Sequence[Anchor]) -> frozenset[str]:
    """Return the ids of items that are anchors of kind item: references only, never to be selected."""
    ours = {item.item_id for item in items}
    return frozenset(a.anchor_id for a in anchors if a.kind == "item" and a.anchor_id in ours)


def in_scope(items: Sequence[Item], anchors: Sequence[Anchor]) -> NDArray[np.bool_]:
    """Tell which anchors each item is compared with, shape (items, anchors).

    An anchor applies to the items of its own domain (names compared after folding), an
    anchor without a domain to all items.
    """
    names = {fold_stem(anchor.domain) for anchor in anchors}
    codes = {name: code for code, name in enumerate(sorted(names))}
    of_item = np.array([codes.get(fold_stem(domain_of(item)), -1) for item in items], dtype=np.int64)
    of_anchor = np.array([codes[fold_stem(anchor.domain)] for anchor in anchors], dtype=np.int64)
    everywhere = np.array([not anchor.domain.strip() for anchor in anchors], dtype=bool)
    return np.asarray((of_item[:, None] == of_anchor[None, :]) | everywhere[None, :])


COLUMNS = ("anchor_id", "domain", "kind", "statement", "stratum", "weight", "note")
"""Columns of the anchor worksheet; `experts.read_proposals` reads them back."""


def anchor_sheet(
    anchors: Sequence[Anchor], items: Sequence[Item], blanks: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield the known anchors, then blank rows to fill for each stratum of the pool and kind.

    Args:
        anchors: known anchors; experts change their weight, or clear the statement to drop one.
        items: the pool whose domains and strata need anchors; may be empty.
        blanks: blank rows for each domain, stratum and kind.
    """
    for anchor in sorted(anchors, key=lambda anchor: (anchor.domain, anchor.stratum, anchor.anchor_id)):
        yield anchor.model_dump()
    places = sorted({(domain_of(item), stratum_of(item)) for item in items})
    for domain, stratum in places or sorted({(anchor.domain, anchor.stratum) for anchor in anchors}):
        for kind in KINDS:
            for _ in range(blanks):
                yield {"domain": domain, "stratum": stratum, "kind": kind}
