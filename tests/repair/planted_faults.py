"""Faults of eight kinds planted in sound items; whoever judges them knows nothing of how they got in."""

from __future__ import annotations

from collections.abc import Callable

from kina_build.items.model import Item
from tests.repair.scripted_judges import Truth

TEXTS = ["oxygen", "argon", "neon", "xenon"]

FAULTS = {
    "wrong_key": Truth("C"), "several_keys": Truth("AB"), "no_key": Truth(""),
    "unclear": Truth("A", "unclear"), "missing_context": Truth("A", "missing_context"),
    "outdated": Truth("A", "outdated"), "flawed_distractor": Truth("A", "flawed_distractor"),
    "source": Truth("A"),
}  # fmt: skip
"""Kind to the truth about an item that has it; a source is what no judge sees, and `kina check` looks for."""


def plant(
    make_item: Callable[..., Item], count: int = 120
) -> tuple[list[Item], dict[str, Truth], dict[str, str]]:
    """Return items, the truth about each question, and the kinds of the faulty ones; a third is faulty."""
    items, truths, kinds = [], {}, {}
    for n in range(count):
        key = "A" if n % 3 == 0 else "BCD"[n % 3]
        kind = list(FAULTS)[n // 3 % len(FAULTS)] if n % 3 == 0 else ""
        source = None if kind == "source" else "a handbook"
        item = make_item(
            f"q{n}", f"Which of the gases is number {n}? {key}", TEXTS, key, question_source=source
        )
        truths[item.question] = FAULTS[kind] if kind else Truth(key)
        items.append(item)
        if kind:
            kinds[item.item_id] = kind
    return items, truths, kinds
