from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_review.desk.agreement import cohen_kappa, count_disagreement, gwet_ac1, krippendorff_alpha
from kina_review.desk.profiles import profile_reviewers
from kina_review.records import Review
from tests.conftest import fault_cases

SPLIT = (
    {f"i{n}": ["yes", "yes"] for n in range(90)}
    | {f"j{n}": ["yes", "no"] for n in range(5)}
    | {f"k{n}": ["no", "yes"] for n in range(5)}
)


def columns(ratings: dict[str, list[str | None]]) -> dict[str, list[str]]:
    rows = list(zip(*ratings.values(), strict=True))
    return {str(n): [value for value in row if value is not None] for n, row in enumerate(rows)}


def check_alpha(case: dict[str, Any]) -> None:
    found = krippendorff_alpha(columns(case["input"]["ratings"]))
    assert found.value == pytest.approx(case["expected"]["alpha"]) if found.value is not None else True
    assert (found.value is None) == (case["expected"]["alpha"] is None)
    assert found.reason == case["expected"].get("reason", "")
    if "pairable_values" in case["expected"]:
        assert found.values == case["expected"]["pairable_values"]
    if "percent_agreement" in case["expected"]:
        assert found.percent_agreement == case["expected"]["percent_agreement"]


def check_dissent(case: dict[str, Any]) -> None:
    found = count_disagreement(case["input"]["wrong_votes_of_3"], 3)
    expected = case["expected"]
    assert (found.n, found.any_dissent) == (expected["n"], expected["any_dissent"])
    assert (found.majority, found.unanimous) == (expected["majority"], expected["unanimous"])


def check_stamp(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    shown = given["seeded_bad"]["shown"]
    stamps = [
        Review(item_id=f"i{n}", reviewer_id="rv-31", verdict="accept", lead_time_s=given["seconds_median"])
        for n in range(given["verdicts"]["accept"])
    ]
    peers = [
        Review(
            item_id=f"i{n}", reviewer_id="rv-02", verdict="reject", lead_time_s=given["peer_seconds_median"]
        )
        for n in range(shown)
    ]
    profile = profile_reviewers([*stamps, *peers], seeded_bad=[f"i{n}" for n in range(shown)])[1]
    assert list(profile.flags) == expected["flags"]
    assert profile.catch_rate == expected["catch_rate"]
    assert profile.catch_rate_95 == pytest.approx(expected["catch_rate_95"], abs=1e-4)
    assert profile.goes_to == expected["goes_to"]


CHECKS = {
    "rev-alpha-missing": check_alpha,
    "rev-alpha-no-variation": check_alpha,
    "rev-dissent-rate": check_dissent,
    "rev-rubber-stamp": check_stamp,
}


@pytest.mark.parametrize("case", [c for c in fault_cases("review") if c.id in {*CHECKS, "absent"}])
def test_fault_case(case: dict[str, Any]) -> None:
    CHECKS[case["id"]](case)


def test_ninety_percent_agreement_with_one_category_almost_alone() -> None:
    assert krippendorff_alpha(SPLIT).value == pytest.approx(-0.0474, abs=5e-5)
    assert gwet_ac1(SPLIT).value == pytest.approx(0.8895, abs=5e-5)
    one = {item: values[0] for item, values in SPLIT.items()}
    two = {item: values[1] for item, values in SPLIT.items()}
    assert cohen_kappa(one, two).value == pytest.approx(-0.0526, abs=5e-5)


def test_no_variation_is_undefined_for_all_three() -> None:
    same = {"i1": ["ok", "ok"], "i2": ["ok", "ok"]}
    found = [krippendorff_alpha(same), gwet_ac1(same), cohen_kappa({"i1": "ok"}, {"i1": "ok"})]
    assert [(c.value, c.reason) for c in found] == [(None, "no_variation")] * 3


def test_no_item_with_two_values_is_undefined() -> None:
    assert krippendorff_alpha({"i1": ["ok"], "i2": []}).reason == "no_pairs"
    assert cohen_kappa({"i1": "a"}, {"i2": "a"}).reason == "no_pairs"


def test_levels_weigh_distance() -> None:
    near = {"a": [1, 2], "b": [4, 4], "c": [0, 1], "d": [3, 3]}
    far = {"a": [1, 4], "b": [4, 4], "c": [0, 3], "d": [3, 3]}
    assert krippendorff_alpha(near).value == pytest.approx(krippendorff_alpha(far).value, abs=0.2)
    for level in ("ordinal", "interval"):
        assert (krippendorff_alpha(near, level).value or 0) > (
            krippendorff_alpha(far, level).value or 0
        ) + 0.3


FOUR_RATERS: dict[str, list[str | float]] = {
    "1": [1, 1, 1], "2": [2, 2, 3, 2], "3": [3, 3, 3, 3], "4": [3, 3, 3, 3], "5": [2, 2, 2, 2],
    "6": [1, 2, 3, 4], "7": [4, 4, 4, 4], "8": [1, 1, 2, 1], "9": [2, 2, 2, 2], "10": [5, 5, 5],
    "11": [1, 1], "12": [3],
}  # fmt: skip
"""Four raters, twelve items, seven ratings missing; one item has a single rating."""


def test_alpha_of_krippendorffs_own_example() -> None:
    """Reproduce the worked example of his 2011 paper: nominal .743, ordinal .815, interval .849."""
    assert krippendorff_alpha(FOUR_RATERS).value == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(FOUR_RATERS, "ordinal").value == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(FOUR_RATERS, "interval").value == pytest.approx(0.849, abs=5e-4)


def test_ac1_with_missing_ratings_as_gwet_gives_it() -> None:
    """Reproduce Gwet (2014) on the same table: .7754; agreement .8182, chance .1903 with item 12 in it."""
    found = gwet_ac1(FOUR_RATERS)
    assert found.value == pytest.approx(0.77544, abs=5e-6)
    assert (found.units, found.values) == (11, 40)
    without = {item: values for item, values in FOUR_RATERS.items() if item != "12"}
    assert gwet_ac1(without).value != pytest.approx(found.value, abs=1e-4)


@settings(max_examples=15)  # each example draws two bootstraps
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=8))
def test_coefficients_stay_in_range_or_say_why(rows: list[list[str]]) -> None:
    units = {str(n): row for n, row in enumerate(rows)}
    for found in (krippendorff_alpha(units), gwet_ac1(units)):
        assert (found.value is None) == (found.reason != "")
        assert found.value is None or -1 <= found.value <= 1
