"""The rule table: every rule fires on its own example and spares the other, and the page is current."""

from __future__ import annotations

from typing import Literal

import pytest

from benchmarks.rules import PAGE, read_precision, write_page
from kina_build.items.checking.lint import check
from kina_build.items.checking.rule import Sketch
from kina_build.items.checking.rulebook import RULES


def rules_found(sketch: Sketch, profile: Literal["kina", "generic"]) -> set[str]:
    return {finding.rule for finding in check(sketch.items(), profile)}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fires_on_its_example_and_spares_the_other(name: str) -> None:
    rule = RULES[name]
    assert name in rules_found(rule.fires, "kina")
    assert name not in rules_found(rule.spares, "kina")
    assert (name in rules_found(rule.fires, "generic")) == (rule.generic is not None)


def test_the_page_of_rules_is_current() -> None:
    """After a change of the table: python -m benchmarks.rules."""
    assert PAGE.read_text(encoding="utf-8") == write_page()


def test_nine_in_ten_findings_that_were_read_are_right() -> None:
    read = read_precision()
    assert read.keys() <= RULES.keys()
    assert sum(count for _, count in read.values()) >= 100
    assert sum(right for right, _ in read.values()) >= 0.9 * sum(count for _, count in read.values())
