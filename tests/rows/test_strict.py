"""Strict JSON: what Python's reader lets through is one line with a column."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.rows.strict import IntakeRules, JsonFault, lines_of, parse_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_every_ordinary_value_is_read_as_python_reads_it(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 30_000 + "]" * 30_000, "json_too_deep"),
        ("[" * 65 + "]" * 65, "json_too_deep"),
        ('{"a":' * 70 + "1" + "}" * 70, "json_too_deep"),
        ("[NaN]", "json_not_finite"),
        ("[-Infinity]", "json_not_finite"),
        ("1e999", "json_large_number"),
        ("7" * 5000, "json_large_number"),
        ("9223372036854775808", "json_large_number"),
        ('{"a":1,"a":2}', "json_repeated_key"),
        (r'"\ud83d"', "lone_surrogate"),
        ('{"a":', "json_invalid"),
        ('"a', "json_unterminated_string"),
        ("1 2", "json_extra_data"),
    ],
)
def test_what_json_does_not_allow_is_refused(text: str, reason: str) -> None:
    with pytest.raises(JsonFault) as caught:
        parse_json(text)
    assert caught.value.reason == reason


def test_depth_counts_levels_and_not_brackets_in_text() -> None:
    limits = IntakeRules(json_depth=3)
    assert parse_json('[[["' + "[" * 100 + '"]]]', limits) == [[["[" * 100]]]
    assert parse_json('{"a":[{"b":1},{"b":2},{"b":3}]}', limits)
    with pytest.raises(JsonFault):
        parse_json("[[[[1]]]]", limits)


def test_the_largest_number_is_read() -> None:
    assert parse_json("[9223372036854775807, -9223372036854775807, 1e10]") == [2**63 - 1, 1 - 2**63, 1e10]


def test_elements_of_a_list_keep_their_lines() -> None:
    text = '[\n {"a": 1},\n\n {"a": "]"}, {"a": 3}\n]'
    assert list(lines_of(text, 0, 3)) == [2, 4, 4]
