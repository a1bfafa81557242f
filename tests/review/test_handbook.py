from __future__ import annotations

from decimal import Decimal
from typing import get_args

from kina_review.manuals import FLAWS, show_page, write_manual
from kina_review.rubric import CRITERIA, CriterionWeights, ReviewRules
from kina_review.words import FlawKind


def test_the_handbook_says_what_the_rules_say() -> None:
    rules = ReviewRules(
        base=Decimal("3.10"),
        bonus=Decimal("7.70"),
        bar=Decimal(11),
        tie="coin",
        open_cap=4,
        audit_rate=Decimal("0.07"),
    )
    text = write_manual("reviewer", rules)
    for said in (
        "3.10 USD",
        "7.70 USD",
        "reaches 11 of",
        "a seeded coin",
        "at most 4 unfinished",
        "within 14 days",
        "7 % of accepted",
    ):
        assert said in text
    for criterion in CRITERIA:
        assert criterion.title in text
        assert criterion.asks in text
        assert criterion.grading in text


def test_weights_show_beside_their_criterion() -> None:
    text = write_manual("reviewer", ReviewRules(weights=CriterionWeights(factuality=Decimal(3))))
    assert "### Factuality (weight 3)" in text


def test_the_page_is_whole_and_alone() -> None:
    page = show_page(write_manual())
    assert page.startswith("<!doctype html>")
    assert page.count("<h3>") == len(CRITERIA)
    assert "<table>" in page
    assert "http" not in page


def test_the_handbook_says_all_that_reviewers_must_know() -> None:
    text = " ".join(
        write_manual("reviewer", ReviewRules(least_statements=7, least_drafts=2, most_drafts=4)).split()
    )
    for said in (
        "**From a source that may be used.**",
        "at least 7 statements to judge",
        "no option's statements are a subset",
        "**Self-contained.**",
        "hands in 2 to 4 questions",
        "slip of memory",
        "**Written by a person.**",
        "## When you escalate",
        "accept, revise, reject, escalate",
        "A second adjudicator",
        "What earns nothing",
        "the deadline of your batch",
        "share the bonus",
        "in a second round under the same bar",
    ):
        assert said in text


def test_every_kind_of_flaw_has_an_example_in_both_manuals() -> None:
    assert set(FLAWS) == set(get_args(FlawKind))
    for text in (write_manual("reviewer"), write_manual("author")):
        for flaw in FLAWS.values():
            assert flaw.meaning in text
            assert flaw.question in text
            assert flaw.why in text


def test_the_authors_manual_has_the_numbers_of_the_project() -> None:
    text = write_manual("author", ReviewRules(least_drafts=2, most_drafts=6, accept_at=Decimal(15)))
    assert text.startswith("# Author's manual")
    assert "Write 2 to 6 questions" in text
    assert "weighted sum of 15 of" in text
    assert "<title>Author's manual</title>" in show_page(text)
