from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.encode.embedding import embed
from kina_build.errors import InputError, Refusal
from kina_build.selection.inputs import read_conflicts
from kina_build.support.anchors import Anchor
from kina_build.support.bank.choice import bank_weights, find_neighbours, nearest
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
    def run(items=None, anchors=None, rules=RULES, seed=0, item_labels=None, **more):
        singles, pairs = labels
        return support_by_bank(
            pool if items is None else items,
            references if anchors is None else anchors,
            item_labels=item_labels or singles, pair_labels=pairs, embed=partial(embed, encoder=words),
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
    compared = (matrix.levels > 0).sum()
    assert 0 < compared <= 2 * RULES.neighbours * max(matrix.levels.shape) + len(matrix.anchor_ids)
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


def test_difficulty_counts_where_it_is_known(build):
    rules = RULES.model_copy(
        update={"difficulty_most": 0.8, "shortlist_percentile": 0.0, "shortlist_alignment": 0.0}
    )
    found = build(rules=rules, difficulty={"q01": 0.9, "q02": 0.8})
    reasons = {row.item_id: row.reason for row in found.rows}
    assert (reasons["q01"], reasons["q02"], reasons["q03"]) == ("difficulty", "", "")


def test_an_anchor_that_borrows_an_items_id_is_refused(build, references):
    with pytest.raises(InputError, match="'q01' is the id of an item and of an anchor"):
        build(anchors=[references[0].model_copy(update={"anchor_id": "q01", "kind": "concept"})])


def test_an_anchor_that_is_an_item_of_the_pool_is_compared_with_and_never_a_candidate(build, references):
    anchors = [*references, references[0].model_copy(update={"anchor_id": "q01"})]
    found = build(anchors=anchors)
    row = next(row for row in found.rows if row.item_id == "q01")
    assert (row.reason, row.in_bank, row.alignment) == ("reference", False, None)
    assert "q01" not in {*found.matrix.item_ids, *found.matrix.anchor_ids}
    assert found.report["domains"]["physics"]["references"] == 4
    assert found.report["domains"]["physics"]["items"] == 62


def test_neighbours_leave_the_item_itself_out_and_go_both_ways():
    # places on a line: three in a crowd, one apart, and the bank's second member far from all
    places = np.array([[1, 0], [0.99, 0.14], [0.98, 0.2], [0.6, 0.8], [0, 1]], dtype=np.float32)
    items, members = find_neighbours(places, np.arange(5), np.array([0, 4]), 1)
    pairs = set(zip(items.tolist(), members.tolist(), strict=True))
    assert pairs == {(0, 1), (1, 0), (2, 0), (3, 1), (4, 0)}
    assert (3, 1) in pairs, "the nearest item of the far member"
    alone = find_neighbours(places, np.array([0]), np.array([0]), 3)
    assert [len(side) for side in alone] == [0, 0]


def test_every_member_of_the_bank_is_compared_with_its_own_nearest_items(build):
    matrix = build(rules=RULES.model_copy(update={"neighbours": 1, "shortlist_percentile": 0.0})).matrix
    others = matrix.levels * (np.array(matrix.item_ids)[:, None] != np.array(matrix.anchor_ids)[None, :])
    assert (others.sum(axis=0) > 0).mean() > 0.8


def test_duplicates_of_the_shortlist_are_conflicts_and_people_have_the_last_word(build, tmp_path):
    rules = RULES.model_copy(update={"bank_duplicate": 0.3, "shortlist_percentile": 0.0})
    found = build(rules=rules)
    risks = {(one, two): risk for one, two, risk in found.conflicts.pairs}
    listed = {*found.matrix.item_ids}
    labelled = {("q01", "q98"), ("q02", "q99"), ("q04", "q97")}
    assert labelled & {pair for pair in risks if listed.issuperset(pair)} == {
        pair for pair in labelled if listed.issuperset(pair)
    }
    assert all(risk is None or risk > 0.3 for risk in risks.values())
    assert not {("q01", "q04"), ("q04", "q07")} & risks.keys(), "people said that they are none"
    found.conflicts.write(tmp_path / "conflicts.json")
    assert read_conflicts(tmp_path / "conflicts.json") == tuple(risks)


def test_a_domain_with_labels_of_its_own_has_calibrators_of_its_own(build, pool, labels, references):
    art = [
        item.model_copy(update={"item_id": f"a{item.item_id[1:]}", "field": "art"})
        for item in pool
        if item.item_id < "q60"
    ]
    singles, _ = labels
    # in art the talk is what belongs, and the topics do not
    wrong = [ItemLabel(item_id=f"a{one.item_id[1:]}", aligned=not one.aligned) for one in singles]
    anchors = [*references, *(a.model_copy(update={"anchor_id": f"art-{a.anchor_id}", "domain": "art"})
                              for a in references)]  # fmt: skip
    apart = RULES.model_copy(update={"domain_item_labels": 40, "bank_alignment": 0.3})
    found = build(items=[*pool, *art], anchors=anchors, rules=apart, item_labels=[*singles, *wrong])
    assert set(found.report["calibrators"]["by_domain"]) == {"art", "physics"}
    assert set(found.report["calibrators"]["by_domain"]["art"]) == {"alignment"}
    fit = {row.item_id: row.alignment for row in found.rows}
    assert np.mean([fit[f"a{n:02}"] > fit[f"q{n:02}"] for n in range(0, 60, 5)]) > 0.9
    assert np.mean([fit[f"a{n:02}"] < fit[f"q{n:02}"] for n in range(1, 60, 5)]) > 0.9
    low = RULES.model_copy(update={"bank_alignment": 0.3})
    pooled = build(items=[*pool, *art], anchors=anchors, rules=low, item_labels=[*singles, *wrong])
    assert "by_domain" not in pooled.report["calibrators"]


def test_uncertain_items_are_read_again_within_the_budget(build, labels):
    asked = []

    def reread(items):
        asked.extend(item.item_id for item in items)
        return {item.item_id: 1.0 for item in items[1:]}

    doubtful = [
        label.model_copy(update={"aligned": label.aligned ^ (n % 4 == 1)})
        for n, label in enumerate(labels[0])
    ]
    first = build(item_labels=doubtful)
    unsure = {row.item_id for row in first.rows if row.alignment_lower < RULES.bank_alignment}
    found = build(item_labels=doubtful, recheck=(4, reread))
    assert len(asked) == 4
    assert set(asked) <= unsure
    assert found.report["rechecked"]["asked"] == 4
    assert found.report["rechecked"]["read"] == 3, "a spoilt reply leaves the first reading"
    assert {row.item_id for row in found.rows if row.rechecked} == set(asked[1:])
    before, after = ({row.item_id: row.alignment for row in f.rows} for f in (first, found))
    assert any(before[name] != after[name] for name in asked[1:])
    assert "rechecked" not in first.report


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
