"""The text of an item that is encoded: here, so that whoever asks for its form loads nothing else."""

from __future__ import annotations

from kina_build.items.model import Item
from kina_build.items.text import squeeze

TEXT_FORM = 2
"""Counts the changes of `item_text`: results that were made from another form are out of date."""


def item_text(item: Item) -> str:
    """Write an item as the one text that is encoded of it: question, right answer, passage.

    Copies, contamination and support all start from this vector, so it is paid for once.
    Wrong options are left out: on MMLU-Redux their texts hide the same fact asked the other
    way round ("A primate city is ..."), and they cost three fifths more time. Encoders cut
    long texts at the end, so the passage comes last.
    """
    parts = (item.question, item.correct_text or "", item.question_material or "")
    return "\n".join(filter(None, map(squeeze, parts)))
