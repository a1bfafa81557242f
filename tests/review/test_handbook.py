from __future__ import annotations

from decimal import Decimal

from kina_review.handbook import show_handbook, write_handbook
from kina_review.rubric import CRITERIA, CriterionWeights, ReviewRules


def test_the_handbook_says_what_the_rules_say() -> None:
    rules = ReviewRules(
        base=Decimal("3.10"),
        bonus=Decimal("7.70"),
        bar=Decimal(11),
        tie="coin",
        open_cap=4,
        audit_rate=Decimal("0.07"),
    )
    text = write_handbook(rules)
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
    text = write_handbook(ReviewRules(weights=CriterionWeights(factuality=Decimal(3))))
    assert "### Factuality (weight 3)" in text


def test_the_page_is_whole_and_alone() -> None:
    page = show_handbook(write_handbook())
    assert page.startswith("<!doctype html>")
    assert page.count("<h3>") == len(CRITERIA)
    assert "<table>" in page
    assert "http" not in page
