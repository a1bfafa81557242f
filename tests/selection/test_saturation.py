"""Past saturation: several items an anchor, spread, and what is said of random sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item, Option
from kina_build.selection.beside.saturation import draw_beside, survey
from kina_build.selection.choosing import describe_selection
from kina_build.selection.domains import find_optimum, select, settle
from kina_build.selection.inputs import Inputs
from kina_build.selection.reading import seal
from kina_build.selection.records import Quota, Selection
from kina_build.selection.verifier.verify import Expected, verify
from kina_build.support.matrix import SPREAD
from kina_build.support.spread import add_spread
from kina_build.support.weights import with_weights
from tests.selection.worlds import matrix_of

Kina = Callable[..., Result]

TOPICS = {
    "q1": {"u1": 1.0},
    "q2": {"u2": 1.0},
    "q3": {"u1": 0.9},
    "q4": {"u2": 0.8},
    "q5": {"u1": 0.7},
    "q6": {},
}
MATRIX = matrix_of(TOPICS, {"u1": 1, "u2": 1})


def test_the_paper_s_objective_stays_while_the_anchors_are_not_full() -> None:
    document = select(Inputs(MATRIX), 2)
    assert document.format == 3
    assert document.domains[0].folds == 1
    assert not {"folds", "maximised", "coverage"} & document.domains[0].model_dump().keys()
    assert "coverage" not in json.loads(document.model_dump_json())


@pytest.mark.parametrize(("size", "folds"), [(2, 1), (4, 2), (5, 3), (6, 3)])
def test_r_is_the_least_that_leaves_no_supporting_pick_without_a_gain(size: int, folds: int) -> None:
    document = select(Inputs(MATRIX), size)
    part = document.domains[0]
    assert part.folds == folds
    assert part.zero_gain_picks == (size == 6)  # q6 supports nothing
    assert verify(document, Inputs(MATRIX)).holds


def test_f_stands_beside_what_was_maximised_with_a_bound_of_its_own() -> None:
    document = select(Inputs(MATRIX), 4)
    assert document.format == 4
    assert document.domains[0].maximised.startswith("F_2: each anchor counts through the 2 best items")
    assert document.objective == pytest.approx(3.7)
    assert document.coverage is not None
    assert (document.coverage.objective, document.coverage.ratio) == (2.0, 1.0)


def test_one_item_an_anchor_is_the_fill_by_support_alone() -> None:
    document = select(Inputs(MATRIX), 4, folds=1)
    assert document.format == 3
    assert document.item_ids == ("q1", "q2", "q3", "q4")
    assert document.zero_gain_picks == 2


def test_no_more_items_count_than_a_set_holds() -> None:
    assert select(Inputs(MATRIX), 2, folds=9).domains[0].folds == 2


def edit(document: Selection, **fields: Any) -> Selection:
    part = document.domains[0].model_copy(update=fields)
    return seal(document.model_copy(update={"domains": (part,)}))


MIXED = matrix_of(
    {
        "q1": {"u1": 1.0, "u2": 0.3},
        "q2": {"u1": 0.2, "u2": 1.0},
        "q3": {"u1": 0.9, "u2": 0.2},
        "q4": {"u2": 0.8, "u1": 0.1},
        "q5": {"u1": 0.1},
    },
    {"u1": 1, "u2": 1},
)


@pytest.mark.parametrize("folds", [1, 3, 4, 5, 2**63])
def test_certify_refuses_another_r(folds: int) -> None:
    document = select(Inputs(MIXED), 4)
    assert document.domains[0].folds == 2
    told = f"F_{folds}: each anchor counts through the {folds} best items of the set, each with weight 1"
    assert verify(document, Inputs(MIXED)).holds
    assert not verify(edit(document, folds=folds), Inputs(MIXED)).holds
    assert not verify(edit(document, folds=folds, maximised=told), Inputs(MIXED)).holds


def test_another_r_passes_only_where_its_own_run_writes_the_very_same() -> None:
    told = "F_3: each anchor counts through the 3 best items of the set, each with weight 1"
    edited = edit(select(Inputs(MATRIX), 4), folds=3, maximised=told)
    assert verify(edited, Inputs(MATRIX)).holds
    assert edited == select(Inputs(MATRIX), 4, folds=3)


def test_certify_refuses_edits_of_what_is_said_beside_r() -> None:
    document = select(Inputs(MATRIX), 4)
    coverage = document.coverage
    assert coverage is not None
    wrong = coverage.model_copy(update={"steps": coverage.steps + 1})
    assert not verify(edit(document, coverage=wrong), Inputs(MATRIX)).holds
    assert not verify(seal(document.model_copy(update={"coverage": wrong})), Inputs(MATRIX)).holds
    assert not verify(seal(document.model_copy(update={"coverage": None})), Inputs(MATRIX)).holds
    assert not verify(seal(document.model_copy(update={"format": 3})), Inputs(MATRIX)).holds
    assert not verify(edit(document, maximised="F"), Inputs(MATRIX)).holds


def test_the_reader_may_state_r() -> None:
    document = select(Inputs(MATRIX), 4)
    assert verify(document, Inputs(MATRIX), Expected(folds=2)).holds
    assert verify(document, Inputs(MATRIX), Expected(folds=1)).faults == ("folds: 2, but 1 was expected",)


def test_domains_have_their_own_r_and_their_sum_is_certified() -> None:
    matrix = matrix_of(TOPICS | {"p1": {"u2": 1.0}, "p2": {"u1": 0.5}}, {"u1": 1, "u2": 1})
    domains = {item: item[0] for item in matrix.item_ids}
    quotas = (Quota(domain="p", stratum="p", k=2), Quota(domain="q", stratum="q", k=4))
    inputs = Inputs(matrix, strata=domains, domains=domains, quotas=quotas)
    document = select(inputs, None)
    assert {part.domain: part.folds for part in document.domains} == {"p": 1, "q": 2}
    assert document.coverage is not None
    assert document.coverage.objective == pytest.approx(3.5)
    assert verify(document, inputs).faults == ()
    optimum = find_optimum(document, inputs)
    assert optimum.proven
    assert optimum.steps == document.steps


def test_full_anchors_and_items_that_support_nothing_are_named() -> None:
    matrix = matrix_of({**TOPICS, "q7": {"u3": 0.4}}, {"u1": 1, "u2": 1, "u3": 1, "u4": 1})
    found = survey(matrix, ["q1", "q4", "q6", "q7"])
    assert found.full == ("u1", "u3")
    assert found.bare == ("u4",)
    assert found.silent == ("q6",)
    assert found.silent_eligible == 1
    assert survey(matrix, ["q1", "q4"], ["q2", "q7"]).full == ("u1", "u2")


def test_what_is_below_random_is_said() -> None:
    strata = {f"q{n:02}": "abcd"[n % 4] for n in range(40)}
    support = {item: {"u": 0.9 if stratum == "a" else 0.1} for item, stratum in strata.items()}
    inputs = Inputs(matrix_of(support, {"u": 1}), strata=strata)
    settled = settle(inputs, 8, folds=1)
    report = describe_selection(settled, inputs, draws=100, seed=0)
    assert report["carried"] == 1
    told = {one["measure"]: one["verdict"] for one in report["beside"]}
    assert told == {"coverage": "within", "strata reached": "worse", "redundancy": "within"}
    assert report["beside"] == describe_selection(settled, inputs, draws=100, seed=0)["beside"]


def test_random_sets_keep_the_quotas() -> None:
    strata = {f"q{n:02}": "ab"[n % 2] for n in range(20)}
    support = {item: {"u": 1.0 if stratum == "a" else 0.0} for item, stratum in strata.items()}
    quotas = (Quota(stratum="a", lower=0, upper=0), Quota(stratum="b", lower=1))
    inputs = Inputs(matrix_of(support, {"u": 1}), strata=strata, quotas=quotas)
    coverage, reached, _ = draw_beside(select(inputs, 4), inputs, draws=20, seed=0)
    assert (coverage.mean, coverage.high) == (0, 0)
    assert (reached.low, reached.high) == (1, 1)


def test_select_and_certify_print_what_was_maximised(kina: Kina, tmp_path: Path) -> None:
    rows = [(item, anchor, score) for item, row in TOPICS.items() for anchor, score in row.items()]
    Path("s.csv").write_text(
        "item_id,anchor_id,score\n" + "".join(f"{i},{a},{s}\n" for i, a, s in rows), encoding="utf-8"
    )
    Path("a.csv").write_text("anchor_id,weight\nu1,1\nu2,1\n", encoding="utf-8")
    files = ["--support", "s.csv", "--anchors", "a.csv"]
    chosen = kina("select", *files, "-k", 4, "-o", "selection.json")
    assert "these anchors carry 2 of 4 items" in chosen.output
    assert "maximised: F_2: each anchor counts through the 2 best items of the set" in chosen.output
    assert "F, each anchor by its best item alone: 2, at least 100.00 %" in chosen.output
    assert "2 anchors are full, no item would add to them: u1, u2" in chosen.output
    checked = kina("certify", "selection.json")
    assert checked.exit_code == 0, checked.output
    assert "maximised: F_2" in checked.output
    assert "folds: 2 (as the document says)" in checked.output
    assert "folds: 2 (as you state, verified)" in kina("certify", "selection.json", "--folds", 2).output
    assert kina("certify", "selection.json", "--folds", 3).exit_code == 1
    exact = kina("certify", "selection.json", "--exact", "--json")
    assert json.loads(exact.stdout)["exact"]["true_ratio"] == 1.0


def items(*topics: str) -> list[Item]:
    options = (Option(key="A", answer="yes"), Option(key="B", answer="no"))
    return [
        Item(item_id=f"q{n}", field="f", question=topic, options=options, correct_answer="A")
        for n, topic in enumerate(topics)
    ]


def embed_topics(texts: Any) -> Any:
    """Put each topic on an axis of its own, by its first letter."""
    vectors = np.zeros((len(texts), 26), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row, ord(text[0].lower()) - ord("a")] = 1
    return vectors


POOL = items("acid one", "acid two", "base one", "base two", "cell one")
NARROW = matrix_of({item.item_id: {"u": 0.5 if n < 2 else 0.4} for n, item in enumerate(POOL)}, {"u": 1})


def test_spread_takes_what_is_unlike_the_items_taken() -> None:
    wide = add_spread(NARROW, POOL, embed_topics, 0.5, 3)
    assert [anchor for anchor in wide.anchor_ids if anchor.startswith(SPREAD)] == [
        f"{SPREAD}q{n}" for n in range(5)
    ]
    assert select(Inputs(NARROW), 3, folds=1).item_ids == ("q0", "q1", "q2")
    document = select(Inputs(wide), 3)
    assert document.item_ids == ("q0", "q2", "q4")
    assert verify(document, Inputs(wide)).holds


def test_spread_has_its_share_of_all_weight_and_keeps_it_under_other_weights() -> None:
    wide = add_spread(NARROW, POOL, embed_topics, 0.2, 3)
    assert wide.weights[:-1].tolist() == [50_000] * 5
    assert with_weights(wide, {"u": 1}, "a.csv") is wide
    doubled = with_weights(wide, {"u": 1, "v": 1}, "a.csv")
    spread = np.array([anchor.startswith(SPREAD) for anchor in doubled.anchor_ids])
    assert doubled.weights[spread].sum() / doubled.weights.sum() == pytest.approx(0.2)
    assert (doubled.levels[:, spread] == wide.levels[:, :5]).all()


def test_spread_shows_an_item_by_its_nearest_only_and_by_itself() -> None:
    wide = add_spread(NARROW, POOL, embed_topics, 0.2, 1)
    assert (wide.levels[:, :5] == np.eye(5) * wide.scale).all()


def test_names_of_spread_are_its_own() -> None:
    taken = replace(NARROW, anchor_ids=(f"{SPREAD}q1",))
    with pytest.raises(InputError, match="are those of --spread"):
        add_spread(taken, POOL, embed_topics, 0.2, 1)


@pytest.mark.parametrize("share", ["0", "1"])
def test_a_share_that_leaves_one_side_nothing_is_refused(kina: Kina, share: str, tmp_path: Path) -> None:
    result = kina("support", "pool.jsonl", "--anchors", "a.jsonl", "--spread", share)
    assert result.exit_code == 2
    assert "is not between 0 and 1" in result.output


def test_refusals_are_ours() -> None:
    with pytest.raises(Refusal):
        select(Inputs(MATRIX), 7, folds=2)
