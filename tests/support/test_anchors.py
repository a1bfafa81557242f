from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.errors import InputError, RowErrors
from kina_build.support.anchors import (
    Anchor,
    anchor_id_of,
    domain_of,
    in_scope,
    read_anchors,
    stratum_of,
    weigh_anchors,
    write_anchors,
)


def test_each_domain_and_each_stratum_in_it_gets_an_equal_share(make_anchor):
    anchors = [
        make_anchor("a", domain="law", stratum="civil"),
        make_anchor("b", domain="law", stratum="civil", weight=3),
        make_anchor("c", domain="law", stratum="penal"),
        make_anchor("d", domain="art", stratum="music"),
    ]
    assert weigh_anchors(anchors) == pytest.approx([1 / 16, 3 / 16, 1 / 4, 1 / 2])


def test_a_named_stratum_takes_the_mass_it_is_given(make_anchor):
    anchors = [make_anchor("a", stratum="civil"), make_anchor("b", stratum="penal")]
    rules = SupportRules(stratum_mass={"civil": 3})
    assert weigh_anchors(anchors, rules) == pytest.approx([3 / 4, 1 / 4])


def test_given_weights_stand_when_asked(make_anchor):
    anchors = [make_anchor("a", stratum="x", weight=1), make_anchor("b", stratum="y", weight=3)]
    assert weigh_anchors(anchors, SupportRules(weighting="given")) == pytest.approx([1 / 4, 3 / 4])


def test_an_empty_stratum_mass_goes_to_the_others(make_anchor):
    anchors = [make_anchor("a", stratum="x", weight=0), make_anchor("b", stratum="y")]
    assert weigh_anchors(anchors) == pytest.approx([0, 1])


def test_a_domain_without_weight_is_refused_by_name(make_anchor):
    with pytest.raises(InputError, match="domain 'law' have no weight"):
        weigh_anchors([make_anchor("a", domain="law", weight=0), make_anchor("b", domain="art")])
    with pytest.raises(InputError, match="all anchor weights are 0"):
        weigh_anchors([make_anchor(weight=0)], SupportRules(weighting="given"))
    with pytest.raises(InputError, match="no anchors"):
        weigh_anchors([])


@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.sampled_from("pqr"), st.floats(0.01, 100)),
        min_size=1,
        max_size=12,
    )
)
def test_mu_sums_to_one_and_weighing_it_again_changes_nothing(rows):
    anchors = [
        Anchor(anchor_id=str(i), domain=d, kind="concept", statement="s", stratum=h, weight=w)
        for i, (d, h, w) in enumerate(rows)
    ]
    mu = weigh_anchors(anchors)
    again = weigh_anchors(
        [a.model_copy(update={"weight": float(w)}) for a, w in zip(anchors, mu, strict=True)]
    )
    assert mu.sum() == pytest.approx(1)
    assert again == pytest.approx(mu)


def test_anchors_meet_the_items_of_their_domain_and_those_without_one_meet_all(make_item, make_anchor):
    items = [make_item("q1", field="Law"), make_item("q2", discipline="Art"), make_item("q3")]
    anchors = [make_anchor("a", domain=" law"), make_anchor("b", domain="Art"), make_anchor("c", domain="")]
    expected = [[True, False, True], [False, True, True], [False, False, True]]
    assert in_scope(items, anchors).tolist() == expected


def test_domain_and_stratum_fall_back_to_the_coarser_level(make_item):
    item = make_item(discipline="Science", field="Physics")
    assert (domain_of(item), stratum_of(item)) == ("Physics", "Physics")
    assert domain_of(make_item(discipline="Science")) == "Science"
    assert stratum_of(make_item(field="Physics", subfield="Optics")) == "Optics"


def test_an_id_made_from_the_statement_ignores_case_and_blanks():
    assert anchor_id_of("Law", "Good  faith") == anchor_id_of("law", "good faith")
    assert anchor_id_of("Law", "Good faith") != anchor_id_of("Art", "Good faith")


def test_anchors_come_back_as_they_were_written(tmp_path: Path, make_anchor):
    anchors = [make_anchor("b", weight=0.1), make_anchor("a", statement="=1+1", domain="x")]
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    assert read_anchors(tmp_path / "anchors.jsonl") == [anchors[1], anchors[0]]


def test_a_bad_row_and_a_repeated_id_are_named(tmp_path: Path):
    file = tmp_path / "anchors.csv"
    file.write_text("anchor_id,kind,statement,weight\na,idea,Inertia,1\nb,concept,Mass,-1\n")
    with pytest.raises(RowErrors) as caught:
        read_anchors(file)
    assert [fault.line for fault in caught.value.faults] == [2, 3]
    file.write_text("anchor_id,kind,statement\na,concept,Inertia\na,concept,Mass\n")
    with pytest.raises(InputError, match="anchor_id 'a' stands on more than one row"):
        read_anchors(file)


def test_mu_is_a_plain_array(make_anchor):
    assert weigh_anchors([make_anchor()]).dtype == np.float64
