from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from kina_build.errors import InputError, RowErrors
from kina_build.support.anchors import Anchor
from kina_build.support.experts import Proposal, compare_domains, empty_kinds, merge_proposals, read_proposals


def propose(expert: str, statement: str, anchor_id: str | None = None, **more: object) -> Proposal:
    row = {
        "expert": expert,
        "statement": statement,
        "anchor_id": anchor_id,
        "kind": "concept",
        "domain": "law",
    }
    return Proposal.model_validate(row | more)


def test_two_experts_who_write_the_same_thing_make_one_anchor():
    merged = merge_proposals(
        [
            propose("ann", "Good faith", "a1", weight=1),
            propose("bob", "good  faith", "b7", weight=2),
            propose("bob", "Estoppel", "b8"),
        ]
    )
    assert [(a.anchor_id, a.statement, a.weight) for a in merged.anchors] == [
        ("a1", "Good faith", 1.5),
        ("b8", "Estoppel", 1.0),
    ]
    assert merged.named_by == {"a1": ("ann", "bob"), "b8": ("bob",)}
    assert merged.agreement == pytest.approx(1 / 2)


def test_the_order_of_lists_and_rows_does_not_matter():
    rows = [
        propose("ann", "Good faith"),
        propose("bob", "Good Faith", kind="method"),
        propose("eve", "GOOD FAITH", kind="method", weight=4),
        propose("bob", "Estoppel", "x"),
    ]
    results = [merge_proposals(order) for order in permutations(rows)]
    assert all(result == results[0] for result in results)
    good_faith = next(a for a in results[0].anchors if a.anchor_id != "x")
    assert (good_faith.kind, good_faith.weight) == ("method", 2.0)
    assert [f.rule for f in results[0].findings if f.rule != "empty_kind"] == ["kind_conflict"]


def test_an_id_that_two_experts_used_for_different_things_is_told_apart():
    merged = merge_proposals([propose("ann", "Good faith", "1"), propose("bob", "Estoppel", "1")])
    assert [anchor.anchor_id for anchor in merged.anchors] == ["ann/1", "bob/1"]
    assert [f.subject for f in merged.findings if f.rule == "id_reused"] == ["ann/1", "bob/1"]


def test_an_expert_who_lists_a_statement_twice_counts_once():
    merged = merge_proposals([propose("ann", "Estoppel"), propose("ann", "estoppel")])
    assert len(merged.anchors) == 1
    assert merged.agreement is None
    assert [f.rule for f in merged.findings if f.rule != "empty_kind"] == ["duplicate"]


def test_anchors_that_too_few_experts_named_are_left_out_by_name():
    rows = [propose("ann", "Good faith"), propose("bob", "Good faith"), propose("bob", "Estoppel", "b8")]
    merged = merge_proposals(rows, min_experts=2)
    assert len(merged.anchors) == 1
    assert [(f.rule, f.subject, f.message) for f in merged.left_out] == [
        ("few_experts", "b8", "named only by bob: Estoppel")
    ]
    with pytest.raises(InputError, match="no anchor was named by 3 experts"):
        merge_proposals(rows, min_experts=3)


def test_agreement_counts_only_domains_that_both_experts_cover():
    rows = [propose("ann", "Estoppel"), propose("bob", "Estoppel"), propose("bob", "Fugue", domain="music")]
    assert merge_proposals(rows).agreement == 1.0
    apart = [propose("ann", "Estoppel"), propose("bob", "Fugue", domain="music")]
    assert merge_proposals(apart).agreement is None


def test_kinds_a_domain_lacks_and_domains_without_partners_are_found(make_item):
    anchors = [
        Anchor(anchor_id=str(n), domain="law", kind=kind, statement="s")  # type: ignore[arg-type]
        for n, kind in enumerate(("method", "problem", "theorem", "concept", "application"))
    ]
    assert [f.message for f in empty_kinds(anchors)] == ["no anchor of kind item"]
    findings = compare_domains(anchors, [make_item(field="Art"), make_item(field="Law")])
    assert [(f.rule, f.subject) for f in findings] == [("no_anchors", "Art")]
    findings = compare_domains(anchors, [make_item(field="Art")])
    assert [(f.rule, f.subject) for f in findings] == [("no_anchors", "Art"), ("unknown_domain", "law")]
    everywhere = [*anchors, Anchor(anchor_id="g", kind="method", statement="s")]
    assert compare_domains(everywhere, [make_item(field="Art")]) == []


def test_a_list_is_read_with_its_file_as_expert_and_blank_statements_skipped(tmp_path: Path):
    file = tmp_path / "ann.csv"
    file.write_text("domain,kind,statement,note\nlaw,method,,\nlaw,method,'=x+y,why not\n")
    assert read_proposals(file) == [
        Proposal(domain="law", kind="method", statement="=x+y", note="why not", expert="ann")
    ]


def test_a_list_of_statements_alone_is_enough(tmp_path: Path):
    file = tmp_path / "ann.csv"
    file.write_text("statement\nOrbits of planets\nLife of stars\n")
    merged = merge_proposals(read_proposals(file))
    assert [(one.statement, one.kind) for one in merged.anchors] == [
        ("Orbits of planets", ""),
        ("Life of stars", ""),
    ]
    assert merged.findings == ()


def test_faulty_lists_are_refused_with_their_lines(tmp_path: Path):
    file = tmp_path / "ann.csv"
    file.write_text("anchor_id,kind,statement\n1,concept,Mass\n1,concept,Force\n2,idea,Work\n")
    with pytest.raises(RowErrors) as caught:
        read_proposals(file)
    assert [str(fault).split(": ")[0] for fault in caught.value.faults] == [f"{file}:3", f"{file}:4"]
    file.write_text("kind,statement\nconcept,\n")
    with pytest.raises(InputError, match="no row has a statement"):
        read_proposals(file)
