"""Sheets that are handed to experts and read back: anchors to write, pairs to rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kina_build.items.model import Item
from kina_build.support.anchors import KINDS, Anchor, domain_of, stratum_of

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
