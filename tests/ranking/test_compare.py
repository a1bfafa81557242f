"""kina compare: two models, or one under two conditions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import Result

from kina_build.ranking.board import build_board
from kina_build.ranking.compare import Comparison, Two, compare_two

Kina = Callable[..., Result]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(model: str, rights: list[float | None], **more: Any) -> list[dict[str, Any]]:
    return [
        {"item_id": f"q{n:03d}", "model": model, "score": right, "discipline": "law" if n % 2 else "art"}
        | more
        for n, right in enumerate(rights)
    ]


def compared(first: list[float], second: list[float], clusters: dict[str, str] | None = None) -> Comparison:
    items = [f"q{n:03d}" for n in range(len(first))]
    board = build_board(["a", "b"], items, np.array([first, second]), clusters=clusters)
    return compare_two(Two(board, 0, 1))


ONE = [1.0] * 60 + [0.0] * 40
OTHER = [1.0] * 50 + [0.0] * 10 + [1.0] * 4 + [0.0] * 36


def test_a_paired_difference_and_its_tests() -> None:
    found = compared(ONE, OTHER)
    assert (found.difference, found.only_first, found.only_second) == (0.06, 10, 4)
    assert found.p_exact == pytest.approx(binomtest(4, 14).pvalue, rel=1e-5)
    assert found.needed == pytest.approx(2.8 * np.sqrt((0.14 - 0.06**2) / 100), abs=1e-6)
    assert found.items_needed == int(np.ceil(100 * (found.needed / 0.06) ** 2))
    assert (found.gained, found.lost, len(found.changes)) == (10, 4, 14)
    assert str(found) == "a less b: +6.0 points (-1.3 to +13.3); 10.3 points needed"


def test_the_needed_difference_has_the_stated_power() -> None:
    """Draw pairs of models that differ by what is said to be needed: four in five are shown."""
    rng = np.random.default_rng(0)
    n, shown = 400, 0
    needed = compared([1.0] * 200 + [0.0] * 200, [1.0] * 160 + [0.0] * 80 + [1.0] * 40 + [0.0] * 120).needed
    only_first = (0.2 + needed) / 2  # disagreements on a fifth of the items, as there
    kinds = rng.choice(3, size=(500, n), p=[only_first, 0.2 - only_first, 0.8])
    for draw in kinds:
        difference = (np.sum(draw == 0) - np.sum(draw == 1)) / n
        se = np.sqrt((np.mean(draw < 2) - difference**2) / n)
        shown += difference > 1.96 * se
    assert 0.74 < shown / 500 < 0.88


def test_items_of_one_passage_show_less() -> None:
    apart = compared(ONE, OTHER)
    together = compared(ONE, OTHER, {f"q{n:03d}": f"p{n // 10}" for n in range(100)})
    assert (together.clusters, together.test) == (10, "paired-z")
    assert together.needed > apart.needed
    assert together.high - together.low > apart.high - apart.low


def test_equal_models_have_nothing_to_show_and_still_a_bound() -> None:
    same = compared(ONE, ONE)
    assert (same.difference, same.p, same.items_needed, same.changes) == (0, 1.0, None, ())
    assert same.needed > 0


def test_models_of_one_file_by_name(kina: Kina, tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", rows_of("a", ONE) + rows_of("b", OTHER))
    shown = kina("compare", "a", "b", "--scores", "s.jsonl")
    assert shown.exit_code == 0, shown.stderr
    assert "a less b on 100 items: +6.0 points" in shown.stdout
    assert "10.3 points needed, 6.0 seen" in shown.stdout
    back = json.loads(kina("compare", "b", "a", "--scores", "s.jsonl", "--json").stdout)
    assert (back["difference"], back["gained"], back["lost"]) == (-0.06, 4, 10)
    assert [one["name"] for one in back["disciplines"]] == ["art", "law"]
    unknown = kina("compare", "a", "z", "--scores", "s.jsonl")
    assert (unknown.exit_code, "no model 'z'" in unknown.stderr) == (2, True)


def test_one_model_under_two_conditions_by_reply_length(kina: Kina, tmp_path: Path) -> None:
    plain, tools = rows_of("m", ONE), rows_of("m", OTHER)
    for n, (one, other) in enumerate(zip(plain, tools, strict=True)):
        one["response"] = other["response"] = "x" * (n + 1)
    write(tmp_path / "plain.jsonl", plain)
    write(tmp_path / "tools.jsonl", tools)
    found = json.loads(kina("compare", "plain.jsonl", "tools.jsonl", "--json").stdout)
    assert (found["first"], found["second"]) == ("plain", "tools")
    assert [one["name"] for one in found["lengths"]] == [
        "1 to 25 characters", "26 to 50 characters", "51 to 75 characters", "76 to 100 characters",
    ]  # fmt: skip
    assert [one["difference"] for one in found["lengths"]] == [0, 0, 0.24, 0]
    written = kina("compare", "plain.jsonl", "tools.jsonl", "-o", "changes.jsonl")
    assert written.exit_code == 0, written.stderr
    assert len((tmp_path / "changes.jsonl").read_text().splitlines()) == 14


def test_gaps_need_a_word(kina: Kina, tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", rows_of("a", [None, *ONE[1:]]) + rows_of("b", OTHER))
    told = kina("compare", "a", "b", "--scores", "s.jsonl")
    assert (told.exit_code, "a: scores for 99 of 100 items" in told.stderr) == (2, True)
    bounds = json.loads(
        kina("compare", "a", "b", "--scores", "s.jsonl", "--missing", "bounds", "--json").stdout
    )
    assert (bounds["difference"], bounds["difference_best"], bounds["coverage_first"]) == (0.05, 0.06, 0.99)
    common = json.loads(
        kina("compare", "a", "b", "--scores", "s.jsonl", "--missing", "common", "--json").stdout
    )
    assert common["items"] == 99


def test_too_few_items_have_no_detectable_difference() -> None:
    """On 4 items the formula gives 1.21, and no two models can differ by more than 1."""
    few = compared([1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    assert (few.needed, few.items_needed, few.high) == (None, 24, 1.0)
    assert str(few).endswith("; too few items")
