from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.encode.embedding import embed
from kina_build.errors import InputError, Refusal
from kina_build.support.anchors import Anchor
from kina_build.support.bank.choice import bank_weights, nearest
from kina_build.support.bank.features import PAIR_FEATURES, lay_cards, pair_features
from kina_build.support.bank.labels import ItemLabel, PairLabel
from kina_build.support.bank.reference import support_by_bank

TOPICS = ("inertia force mass", "prism lens light", "current charge volt")
RULES = SupportRules(bootstraps=20, neighbours=5, bank_alignment=0.5, shortlist_alignment=0.3)


@pytest.fixture
def pool(make_item):
    """Sixty items of one domain on three topics, each fifth of them off the topic, two copied."""
    items = []
    for number in range(60):
        topic, words = TOPICS[number % 3], f"w{number} v{number % 7}"
        question = f"chatter{number} gossip{number} rumour{number}" if number % 5 == 0 else f"{topic} {words}"
        items.append(
            make_item(f"q{number:02}", question, (topic.split()[0], "none"), "A", field="physics",
                      subfield=topic.split()[0])
        )  # fmt: skip
    items.append(items[1].model_copy(update={"item_id": "q98"}))
    items.append(items[2].model_copy(update={"item_id": "q99"}))
    items.append(items[4].model_copy(update={"item_id": "q97"}))
    return items


@pytest.fixture
def labels(pool):
    singles = [ItemLabel(item_id=item.item_id, aligned=int(item.item_id[1:]) % 5 != 0) for item in pool[:40]]
    pairs = [
        PairLabel(item_id=f"q{a:02}", other_id=f"q{b:02}", support=a % 3 == b % 3, duplicate=False)
        for a, b in [(1, 4), (4, 7), (7, 13), (13, 16), (2, 8), (8, 11), (11, 14), (3, 6), (6, 9), (9, 12),
                     (1, 2), (4, 3), (7, 8), (13, 9), (16, 11), (14, 12), (17, 18), (19, 21), (22, 23),
                     (24, 26)]
    ]  # fmt: skip
    twins = [("q01", "q98"), ("q02", "q99"), ("q04", "q97")]
    pairs += [PairLabel(item_id=a, other_id=b, support=True, duplicate=True) for a, b in twins]
    return singles, pairs


@pytest.fixture
def references():
    return [
        Anchor(anchor_id=f"ref{n}", domain="physics", kind="item", statement=f"{topic} {topic.split()[0]}")
        for n, topic in enumerate(TOPICS)
    ]


@pytest.fixture
def build(pool, labels, references, words):
    def run(items=None, anchors=None, rules=RULES, seed=0, **more):
        singles, pairs = labels
        return support_by_bank(
            pool if items is None else items,
            references if anchors is None else anchors,
            item_labels=singles, pair_labels=pairs, embed=partial(embed, encoder=words),
            rules=rules, seed=seed, **more,
        )  # fmt: skip

    return run


def test_aligned_items_make_the_bank_and_copies_stay_out(build):
    found = build(rules=RULES.model_copy(update={"bank_duplicate": 0.4}))
    members = {row.item_id for row in found.rows if row.in_bank}
    assert len(members) > 20
    assert sum(int(name[1:]) % 5 == 0 for name in members) <= 2
    for one, two in (("q01", "q98"), ("q02", "q99"), ("q04", "q97")):
        assert len({one, two} & members) <= 1
    assert found.report["domains"]["physics"]["copies_kept_out_of_the_bank"] >= 1


def test_support_is_one_for_itself_higher_within_a_topic_and_zero_where_not_compared(build):
    matrix = build().matrix
    assert (matrix.levels > 0).sum(axis=1).max() <= RULES.neighbours
    both = sorted(set(matrix.item_ids) & set(matrix.anchor_ids))
    assert len(both) > 10
    for name in both:
        assert matrix.levels[matrix.item_ids.index(name), matrix.anchor_ids.index(name)] == matrix.scale
    row = matrix.item_ids.index("q01")
    same = [m for m, name in enumerate(matrix.anchor_ids) if int(name[1:]) % 3 == 1 and int(name[1:]) < 60]
    other = [m for m, name in enumerate(matrix.anchor_ids) if int(name[1:]) % 3 == 2 and int(name[1:]) < 60]
    assert matrix.levels[row, same].sum() > matrix.levels[row, other].sum()


def test_a_coarser_scale_rounds_the_same_scores(build):
    fine, coarse = build().matrix, build(rules=RULES.model_copy(update={"scale": 100})).matrix
    assert (coarse.scale, coarse.levels.dtype) == (100, "uint8")
    assert abs(fine.levels / fine.scale - coarse.levels / coarse.scale).max() <= 0.0056


def test_the_shortlist_is_the_rows_and_everything_left_out_has_a_reason(build, pool):
    found = build()
    listed = {row.item_id for row in found.rows if row.shortlisted}
    assert set(found.matrix.item_ids) == listed
    assert {row.item_id for row in found.rows} == {item.item_id for item in pool}
    assert set(found.report["left_out"]) <= {"alignment", "centrality"}
    assert found.report["left_out"]["centrality"] > 0


def test_mu_is_shared_by_strata_then_by_members():
    strata = np.array(["a", "a", "a", "b"])
    assert bank_weights(strata, {}) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert bank_weights(strata, {"a": 3}) == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4])


def test_equal_seeds_and_any_row_order_give_the_same_bytes(build, pool, references):
    one = build()
    two = build(items=pool[::-1], anchors=references[::-1])
    assert one.rows == two.rows
    assert one.matrix.anchor_ids == two.matrix.anchor_ids
    assert np.array_equal(one.matrix.levels, two.matrix.levels)
    assert one.report == two.report


def test_another_seed_moves_only_the_lower_quantiles(build):
    one, two = build(seed=0), build(seed=1)
    assert [row.alignment for row in one.rows] == [row.alignment for row in two.rows]
    assert [row.alignment_lower for row in one.rows] != [row.alignment_lower for row in two.rows]


def test_domains_without_anchors_or_members_go_to_people(build, pool, make_item, references):
    foreign = make_item("x1", "What is a fugue?", field="music")
    found = build(items=[*pool, foreign])
    assert found.report["manual_review"] == {"music": "it has no anchors"}
    assert next(row for row in found.rows if row.item_id == "x1").reason == "manual_review"
    assert "x1" not in found.matrix.item_ids
    with pytest.raises(Refusal, match=r"physics: no item is surely aligned"):
        build(rules=RULES.model_copy(update={"bank_alignment": 1.0}))
    with pytest.raises(InputError, match="calibrator of alignment: 0 labels"):
        build(anchors=[references[0].model_copy(update={"domain": "music"})])


def test_difficulty_counts_where_it_is_known(build, pool):
    hard = pool[1].model_copy(update={"metadata": {"difficulty": 0.9}})
    rules = RULES.model_copy(
        update={"difficulty_most": 0.8, "shortlist_percentile": 0.0, "shortlist_alignment": 0.0}
    )
    found = build(items=[pool[0], hard, *pool[2:]], rules=rules)
    assert next(row for row in found.rows if row.item_id == "q01").reason == "difficulty"


def test_an_anchor_that_borrows_an_items_id_is_refused(build, references):
    with pytest.raises(InputError, match="'q01' is the id of an item and of an anchor"):
        build(anchors=[references[0].model_copy(update={"anchor_id": "q01"})])


def test_features_of_a_pair_do_not_depend_on_its_direction(pool, references, words):
    cards = lay_cards(pool, references, {}, partial(embed, encoder=words))
    one, two = np.array([0, 5, 60, 62]), np.array([1, 61, 3, 20])
    there, back = pair_features(cards, one, two), pair_features(cards, two, one)
    assert np.array_equal(there, back)
    copies = dict(zip(PAIR_FEATURES, pair_features(cards, np.array([1]), np.array([60]))[0], strict=True))
    assert copies["text_cosine"] == pytest.approx(1)
    assert copies["word_overlap"] == 1
    assert copies["same_source"] == 0


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 99))
def test_nearest_is_what_a_full_sort_gives(members, k, seed):
    rng = np.random.default_rng(seed)
    texts = rng.integers(-1, 2, size=(20, 4)).astype(np.float32)
    texts /= np.maximum(np.linalg.norm(texts, axis=1, keepdims=True), 1)
    bank = np.arange(members)
    found = nearest(texts, np.arange(20), bank, k)
    for row in range(20):
        steps = [round(float(texts[row] @ texts[m]) * 10_000) for m in bank]
        wanted = sorted(range(members), key=lambda m: (-steps[m], m))[:k]
        assert found[row].tolist() == wanted + [-1] * (k - len(wanted))
