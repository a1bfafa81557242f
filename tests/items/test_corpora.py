"""The facts that are known of public corpora, found again by import, check and triage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.errors import InputError
from kina_build.items.answers import build_matrix, spread_strings
from kina_build.items.checking.equality import equal_options
from kina_build.items.checking.lint import check_repeats
from kina_build.items.cues import probe_cues
from kina_build.items.importing.files import Layout, read_all, read_items
from kina_build.items.importing.keycolumns import VERDICTS
from kina_build.items.model import Item
from kina_build.items.triage import triage_keys
from tests.conftest import SHARED

pytestmark = pytest.mark.real

REDUX = Layout(
    encoding="mac-roman", columns={"correct_answer": "answer"}, name_as="subfield", cut_prefix="mmlu_"
)


@pytest.fixture(scope="module")
def mmlu_pro() -> tuple[Item, ...]:
    """Return MMLU-Pro's items in the order of their file."""
    path = SHARED / "mmlu_pro/items.jsonl"
    if not path.exists():
        pytest.skip(f"the public corpora are not at {SHARED}")
    return read_items(path).items


def test_mmlu_redux_imports_whole(shared: Path) -> None:
    result = read_all(sorted((shared / "mcq/mmlu_redux").glob("*.csv")), REDUX)
    assert (len(result.items), result.rejects) == (5700, ())
    assert {item.metadata["verdict"] for item in result.items} == set(VERDICTS)
    assert len({item.subfield for item in result.items}) == 57
    delimiters = [file["delimiter"] for file in result.detected["files"]]
    assert (delimiters.count(";"), delimiters.count(",")) == (9, 48)


def test_the_one_file_in_mac_roman(shared: Path) -> None:
    path = shared / "mcq/mmlu_redux/mmlu_moral_scenarios.csv"
    with pytest.raises(InputError, match="byte 21792 ") as caught:
        read_items(path, Layout(columns={"correct_answer": "answer"}))
    assert "mac-roman" in caught.value.hint


@pytest.mark.parametrize(
    ("pattern", "items", "rejects"),
    [("mcq/agieval/*.jsonl", 3807, 1160), ("mcq/bbh/*.json", 4757, 1754), ("mcq/jmmlu_ja/*.csv", 7097, 0)],
)
def test_other_corpora_lose_no_row(shared: Path, pattern: str, items: int, rejects: int) -> None:
    result = read_all(sorted(shared.glob(pattern)))
    assert (len(result.items), len(result.rejects)) == (items, rejects)


def test_equal_items_with_opposite_keys(shared: Path) -> None:
    for pattern, conflicts in (("mcq/bbh/*.json", 4), ("mcq/agieval/gaokao-chemistry.jsonl", 2)):
        items = read_all(sorted(shared.glob(pattern))).items
        rules = [fault.rule for _, fault in check_repeats(items)]
        assert rules.count("keys_conflict") == conflicts


def test_mmlu_pro_gives_itself_away(mmlu_pro: tuple[Item, ...]) -> None:
    probes = {probe.cue: probe for probe in probe_cues(mmlu_pro)}
    blank, longest = probes["leading_whitespace"], probes["longest"]
    assert (blank.hits, blank.n) == (473, 475)
    # 1,977 with the five items that have one option only, where the key is no choice
    assert (longest.hits, round(longest.chance * longest.n)) == (1972, 842)
    assert sum(len(item.options) == 1 for item in mmlu_pro) == 5
    groups = {item_id for item_id, fault in check_repeats(mmlu_pro) if fault.rule == "item_repeated"}
    assert len(groups) == 318


def test_triage_flags_what_strong_models_contradict(mmlu_pro: tuple[Item, ...], shared: Path) -> None:
    lines = (shared / "mmlu_pro/answers.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    result = triage_keys(mmlu_pro, build_matrix(mmlu_pro, spread_strings(rows, mmlu_pro)))
    flagged = sum("agreed_rival" in one.flags for one in result.queue)
    assert (flagged, result.items) == (529, 12032)


def test_numbers_written_twice_in_mmlu_pro(mmlu_pro: tuple[Item, ...]) -> None:
    pairs = [
        tuple(option.answer for option in item.options if option.key in group.keys)
        for item in mmlu_pro
        if item.discipline == "math"
        for group in equal_options(item)
        if item.correct_answer in group.keys and group.how == "value"
    ]
    assert ("$\\frac{1}{19}$", "$\\frac{2}{38}$") in pairs
    assert len(pairs) < 8
