"""Each pattern of the review side: a text that matches as a whole or in part, and one that must not."""

from __future__ import annotations

import re

import pytest

from kina_review import exports, instants, money, tableforms
from kina_review.desk import worksheets
from kina_review.pay import seal

PATTERNS = [
    (exports.TOOL_PREFIX, "doccano_ann", "ann"),
    (exports.FILE_ENDING, "reviews.json.gz", "anna.lena"),
    (exports.CLOCK_SESSION, "2026-03-02_09-00-12", "ann"),
    (seal.KEY, "0" * 64, "0" * 63),
    (seal.ANCHOR, f"ledger-head:12:{'a' * 64}", f"ledger-head:x:{'a' * 64}"),
    (money.AMOUNT, "2.00", "2,00"),
    (worksheets.SAFE_NAME, "ann@example.org", "../ann"),
    (instants.NUMBER, "46090.5", "2026-03-01"),
    (instants.ISO_DATE, "2026-03-01T08:00Z", "20260301"),
    (tableforms.COMMA, "14,5", "14.5"),
    (tableforms.THOUSANDS, "1,000", "0,500"),
]


@pytest.mark.parametrize(("pattern", "good", "bad"), PATTERNS, ids=[one[1][:20] for one in PATTERNS])
def test_a_pattern_takes_its_example_and_not_the_other(pattern: re.Pattern[str], good: str, bad: str) -> None:
    assert pattern.search(good)
    found = pattern.search(bad)
    assert found is None or found.group() != bad
