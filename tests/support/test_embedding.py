from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.encode.embedding import embed
from kina_build.errors import UsageError
from kina_build.support.embedding import item_text, scale_cosines, support_by_embedding


def score(matrix, item_id: str, anchor_id: str) -> float:
    level = matrix.levels[matrix.item_ids.index(item_id), matrix.anchor_ids.index(anchor_id)]
    return float(level / matrix.scale)


@pytest.fixture
def story(make_item, make_anchor):
    items = [
        make_item("q1", "What is entropy?", ("disorder", "heat"), "A", field="physics"),
        make_item("q2", "Who painted Guernica?", ("Dali", "Picasso"), "B", field="art"),
    ]
    anchors = [
        make_anchor("u1", "entropy and disorder", domain="physics"),
        make_anchor("u2", "Picasso Guernica", domain="art"),
        make_anchor("u3", "what is entropy", domain="art"),
    ]
    return items, anchors


def test_an_item_supports_the_anchor_it_talks_about(story, words):
    items, anchors = story
    matrix = support_by_embedding(items, anchors, partial(embed, encoder=words))
    assert score(matrix, "q1", "u1") > 0.5
    assert score(matrix, "q2", "u2") > 0.5
    assert score(matrix, "q2", "u1") == 0


def test_an_anchor_of_another_domain_counts_only_when_asked(story, words):
    items, anchors = story
    own = support_by_embedding(items, anchors, partial(embed, encoder=words))
    every = support_by_embedding(items, anchors, partial(embed, encoder=words), all_domains=True)
    assert score(own, "q1", "u3") == 0
    assert score(every, "q1", "u3") > 0.5


def test_the_order_of_items_and_anchors_does_not_matter(story, words):
    items, anchors = story
    one = support_by_embedding(items, anchors, partial(embed, encoder=words))
    two = support_by_embedding(items[::-1], anchors[::-1], partial(embed, encoder=words))
    assert one.item_ids == two.item_ids
    assert np.array_equal(one.levels, two.levels)
    assert np.array_equal(one.weights, two.weights)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_the_map_from_cosine_to_score_is_monotone_and_stays_in_the_unit_interval(values):
    cosines = np.sort(np.array([values], dtype=np.float32))
    scores = scale_cosines(cosines)
    assert (np.diff(scores) >= 0).all()
    assert scores.min() >= 0
    assert scores.max() <= 1


def test_floor_and_ceiling_are_where_the_settings_say():
    rules = SupportRules(cosine_floor=0.2, cosine_ceiling=0.6)
    scores = scale_cosines(np.array([[0.2, 0.4, 0.6, 0.9]], dtype=np.float32), rules)
    assert scores[0] == pytest.approx([0, 0.5, 1, 1])
    with pytest.raises(UsageError, match="cosine_ceiling must be above"):
        scale_cosines(np.zeros((1, 1), dtype=np.float32), SupportRules(cosine_floor=0.6, cosine_ceiling=0.6))


def test_wrong_options_are_not_part_of_what_an_item_is_about(make_item):
    item = make_item(question="Q?", options=("yes", "no"), correct_answer="B", question_material="A passage.")
    assert item_text(item) == "Q?\nno\nA passage."
    assert item_text(make_item(question="Q?", correct_answer="Z")) == "Q?"
