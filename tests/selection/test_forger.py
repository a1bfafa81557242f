"""Nothing that a forger writes passes and is false; `python -m tests.soak forger` goes on from here."""

from __future__ import annotations

from tests.selection.forger import forger

WORLDS = 24


def test_no_forged_document_passes_with_a_false_statement() -> None:
    assert [row for _, rows in forger(0, 0, WORLDS) for row in rows] == []
