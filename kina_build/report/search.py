"""The search page of a static report: an index of the items and one small script, both inside the page."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from kina_build.items.model import Item
from kina_build.report.artefacts import Artefacts

TEXT_CHARACTERS = 1_000
"""Of an item's text that is searched."""
SHOWN_CHARACTERS = 180
"""Of a question in the list of what was found."""


def search_values(artefacts: Artefacts, places: Mapping[str, str]) -> dict[str, Any]:
    """Return what the search page's template is given: the index, the script and the script's digest.

    Args:
        artefacts: with a pool; no key of it is in the index.
        places: item to the address it is shown at.
    """
    stands = _stands(artefacts)
    items = sorted(artefacts.pool or (), key=lambda item: item.item_id)
    rows = [
        [
            item.item_id,
            places[item.item_id],
            _shown(item),
            _searched(item),
            _filed(item),
            stands(item.item_id),
        ]
        for item in items
    ]
    script = (files("kina_build.report") / "templates" / "search.js").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # the text is ours; of the index only "<" could end its element
    index = Markup(json.dumps(rows, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c"))  # noqa: S704
    return {
        "index": index,
        "script": Markup(script),  # noqa: S704
        "digest": digest,
        "domains": _values(rows, 4),
        "states": _values(rows, 5),
    }


def _shown(item: Item) -> str:
    line = " ".join(item.question.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def _searched(item: Item) -> str:
    """Return what is searched beside the question that is shown."""
    texts = [item.question, *(option.answer for option in item.options)]
    return " ".join("\n".join(texts).split())[:TEXT_CHARACTERS]


def _filed(item: Item) -> str:
    return " › ".join(part for part in item.path if part)


def _values(rows: list[list[str]], place: int) -> list[str]:
    return sorted({row[place] for row in rows if row[place]})


def _stands(artefacts: Artefacts) -> Callable[[str], str]:
    """Return what tells how far an item came."""
    duplicates, selection = artefacts.duplicates, artefacts.selection
    steps = (
        ("released", set(artefacts.released)),
        ("selected", set(selection.item_ids) if selection else set()),
        ("dropped as copy", {one.item_id for one in duplicates.dropped} if duplicates else set()),
        ("held", {one.item_id for one in duplicates.held} if duplicates else set()),
        ("not accepted", {one.item_id for one in artefacts.decisions or () if one.decision != "accept"}),
    )
    return lambda item_id: next((name for name, ids in steps if item_id in ids), "in the pool only")
