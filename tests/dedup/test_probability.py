from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.compare.boilerplate import count_common
from kina_build.dedup.compare.evidence import Evidence, compare
from kina_build.dedup.compare.lexical import read_item
from kina_build.dedup.compare.probability import WEIGHTS, features_of, learn_shift, log_odds, probability
from kina_build.items.model import Item

Make = Callable[..., Item]
ASK = "Which gland that lies beside the stomach makes the hormone insulin?"
OPTIONS = ["the pancreas", "the thymus", "the spleen"]


def evidence(left: Item, right: Item, cosine: float | None = 0.9) -> Evidence:
    readings = [read_item(left), read_item(right)]
    return compare(*readings, cosine, count_common(readings, DedupRules().common_limit))


def test_every_feature_has_its_weight(make_item: Make) -> None:
    item = make_item("a", ASK, OPTIONS)
    assert features_of(evidence(item, item)).keys() == WEIGHTS.keys()


def test_the_chances_of_pairs_are_in_the_order_that_people_would_give_them(make_item: Make) -> None:
    item = make_item("a", ASK, OPTIONS)
    pairs = [
        make_item("b", ASK, ["the pancreas", "the lung", "the ear"]),  # other distractors
        make_item("b", "Which gland next to the stomach makes insulin?", ["the pancreas", "a lung"]),
        make_item("b", "Which hormone is made in the cortex of the kidney's gland?", ["cortisol", "insulin"]),
        make_item("b", "Which gland beside the stomach makes no hormone?", ["the spleen", "a lung"]),
    ]
    chances = [probability(evidence(item, other)) for other in pairs]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9 > 0.1 > chances[2]


@given(st.lists(st.tuples(st.floats(-8, 8), st.booleans()), max_size=30))
def test_what_people_decided_shifts_the_odds_towards_it(pairs: list[tuple[float, bool]]) -> None:
    odds, said = [one for one, _ in pairs], [same for _, same in pairs]
    shift = learn_shift(odds, said)
    assert abs(shift) <= len(pairs)
    assert shift == pytest.approx(-learn_shift([-one for one in odds], [not same for same in said]), abs=1e-6)
    if not pairs:
        assert shift == 0
    if all(said):
        assert shift >= 0


def test_a_pair_without_a_cosine_has_a_chance(make_item: Make) -> None:
    item = make_item("a", ASK, OPTIONS)
    assert 0 <= probability(evidence(item, item, None)) <= 1
    assert log_odds(evidence(item, item)) > 0
