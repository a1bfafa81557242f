from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.threshold import choose_threshold
from kina_build.errors import Refusal


def test_the_largest_threshold_that_finds_enough_is_taken() -> None:
    cosines = [0.99, 0.95, 0.92, 0.85, 0.84, 0.60]
    labels = [True, False, True, True, False, False]
    choice = choose_threshold(cosines, labels)
    assert choice.chosen.threshold == 0.85
    assert (choice.chosen.recall, choice.chosen.precision, choice.chosen.found) == (1.0, 0.75, 4)
    assert (choice.default.threshold, choice.default.precision) == (0.80, 0.6)
    assert choose_threshold(cosines, labels, DedupRules(recall_floor=0.6)).chosen.threshold == 0.92


@given(st.lists(st.tuples(st.integers(1, 100), st.booleans()), min_size=1))
def test_no_higher_level_would_do(rows: list[tuple[int, bool]]) -> None:
    cosines, labels = [n / 100 for n, _ in rows], [label for _, label in rows]
    if not any(labels):
        with pytest.raises(Refusal, match="no labelled pair is a duplicate"):
            choose_threshold(cosines, labels)
        return
    chosen = choose_threshold(cosines, labels).chosen
    for level in {c for c in cosines if c >= chosen.threshold}:
        caught = sum(label for c, label in zip(cosines, labels, strict=True) if c >= level)
        assert (caught / sum(labels) >= 0.95) == (level == chosen.threshold)
