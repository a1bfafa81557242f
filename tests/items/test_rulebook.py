from __future__ import annotations

import pytest

from kina_build.items.lint import check_items
from kina_build.items.rule import Sketch
from kina_build.items.rulebook import RULES
from tests.items.precision import read_precision, write_page


def rules_found(sketch: Sketch, profile: str) -> set[str]:
    return {finding.rule for finding in check_items(sketch.items(), profile)}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fires_on_its_example_and_spares_the_other(name: str) -> None:
    rule = RULES[name]
    profile = "generic" if rule.generic else "kina"
    assert name in rules_found(rule.fires, profile)
    assert name not in rules_found(rule.spares, profile)


def test_rules_that_kina_does_not_ask_for_are_silent_elsewhere() -> None:
    for name, rule in RULES.items():
        assert rule.kina
        assert rule.generic or name not in rules_found(rule.fires, "generic")


def test_the_page_of_rules_is_current() -> None:
    assert write_page.__doc__
    assert write_page.PATH.read_text(encoding="utf-8") == write_page()  # type: ignore[attr-defined]


def test_of_the_findings_read_nine_in_ten_are_right() -> None:
    read = read_precision()
    assert read.keys() <= RULES.keys()
    assert sum(right for right, _ in read.values()) >= 0.9 * sum(count for _, count in read.values())
