"""Appendix B on a domain of MMLU-Redux, with the labels that its annotators and subjects give."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import rankdata

from kina_build.config import SupportRules
from kina_build.encode.embedding import embed
from kina_build.encode.loading import load_encoder
from kina_build.support.bank.calibrators import fit_calibrators
from kina_build.support.bank.features import lay_cards, pair_features, split_domains
from kina_build.support.bank.reference import support_by_bank
from tests.support.redux import Redux, draw_item_labels, draw_pair_labels, essence, read_redux

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]


def rank_area(truth: list[bool], scores: np.ndarray) -> float:
    """Return the chance that a true one scores above a false one."""
    yes = np.array(truth)
    ranks = rankdata(scores)
    positive = yes.sum()
    return float((ranks[yes].sum() - positive * (positive + 1) / 2) / (positive * (~yes).sum()))


@pytest.fixture(scope="module")
def redux() -> Redux:
    from tests.conftest import SHARED

    if not SHARED.is_dir():
        pytest.skip(f"the public corpora are not at {SHARED}")
    return read_redux(SHARED, most=60)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    cache = tmp_path_factory.mktemp("vectors") / "v.sqlite"
    return partial(embed, encoder=load_encoder("all-MiniLM-L6-v2"), cache=cache)


@pytest.fixture(scope="module")
def labels(redux):
    return draw_item_labels(redux, 120, seed=1), draw_pair_labels(redux, 80, seed=1)


@pytest.fixture(scope="module")
def found(redux, vectors, labels):
    singles, pairs = labels
    return support_by_bank(redux.items, redux.anchors, item_labels=singles, pair_labels=pairs, embed=vectors)


def test_bank_and_shortlist_come_out_and_every_item_is_accounted_for(redux, found):
    domain = found.report["domains"]["medicine"]
    assert domain["items"] == len(redux.items) == len(found.rows)
    assert 30 < domain["bank"] < domain["items"]
    assert domain["shortlist"] + sum(found.report["left_out"].values()) == domain["items"]
    assert domain["shortlist"] == len(found.matrix.item_ids)
    assert found.report["manual_review"] == {}


def test_sound_items_are_commoner_in_the_bank_than_in_the_pool(redux, found, labels):
    labelled = {label.item_id for label in labels[0]}
    rest = [row for row in found.rows if row.item_id not in labelled]
    in_bank = np.mean([redux.sound[row.item_id] for row in rest if row.in_bank])
    outside = np.mean([redux.sound[row.item_id] for row in rest if not row.in_bank])
    assert in_bank > outside + 0.05


def test_no_question_is_in_the_bank_twice(redux, found):
    known = {item.item_id: essence(item) for item in redux.items}
    members = [known[row.item_id] for row in found.rows if row.in_bank]
    assert len(members) == len(set(members))


def test_the_pair_calibrators_hold_on_pairs_they_never_saw(redux, vectors, labels):
    items = sorted(redux.items, key=lambda item: item.item_id)
    cards = lay_cards(items, sorted(redux.anchors, key=lambda a: a.anchor_id), {}, vectors)
    fits = fit_calibrators(cards, split_domains(cards, items), *labels, rules=SupportRules(), seed=0)
    fresh = draw_pair_labels(redux, 300, seed=99, copies=15)
    ends = np.array([[cards.number[p.item_id], cards.number[p.other_id]] for p in fresh])
    features = pair_features(cards, ends[:, 0], ends[:, 1])
    assert rank_area([p.support for p in fresh], fits.pooled.pairs.support.probability(features)) > 0.65
    assert rank_area([p.duplicate for p in fresh], fits.pooled.pairs.duplicate.probability(features)) > 0.98


def test_equal_seeds_give_the_same_result_in_any_row_order(redux, vectors, labels, found):
    singles, pairs = labels
    again = support_by_bank(
        redux.items[::-1],
        redux.anchors[::-1],
        item_labels=singles[::-1],
        pair_labels=pairs[::-1],
        embed=vectors,
    )
    assert again.rows == found.rows
    assert again.report == found.report
    assert np.array_equal(again.matrix.levels, found.matrix.levels)
    assert np.array_equal(again.matrix.weights, found.matrix.weights)


def test_a_domain_without_anchors_is_left_to_people(redux, vectors, labels):
    singles, pairs = labels
    foreign = [
        item.model_copy(update={"field": "elsewhere"}) for item in redux.items if item.subfield == "virology"
    ]
    own = [item for item in redux.items if item.subfield != "virology"]
    found = support_by_bank(
        [*own, *foreign], redux.anchors, item_labels=singles, pair_labels=pairs, embed=vectors
    )
    assert found.report["manual_review"] == {"elsewhere": "it has no anchors"}
    assert {row.reason for row in found.rows if row.domain == "elsewhere"} == {"manual_review"}
    assert found.report["calibrators"]["unused_item_labels"] > 0
