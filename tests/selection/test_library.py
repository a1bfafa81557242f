"""Selection from Python: a pool of nine questions, from budget to certificate and back after review."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kina_build.selection as room
from kina_build.errors import InputError, Refusal, UsageError
from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool
from kina_build.support.library import Support
from kina_build.support.matrix import SupportMatrix, build_matrix


@dataclass(frozen=True)
class Copy:
    item_id: str


@dataclass(frozen=True)
class Copies:
    """Stands for what `find_duplicates` returns."""

    conflict_edges: tuple[tuple[str, str], ...] = (("q0", "q3"),)
    dropped: tuple[Copy, ...] = (Copy("q8"),)
    held: tuple[Copy, ...] = ()


def item(number: int, **more: Any) -> Item:
    options = [Option(key="A", answer="yes"), Option(key="B", answer="no")]
    given = {"discipline": "science", "field": "fg"[number % 2], "subfield": f"s{number % 3}"} | more
    return Item(
        item_id=f"q{number}", question=f"question {number}?", options=options, correct_answer="A", **given
    )


@pytest.fixture
def pool() -> list[Item]:
    return [item(number) for number in range(9)]


@pytest.fixture
def matrix() -> SupportMatrix:
    scores = np.random.default_rng(1).integers(0, 11, (9, 4)) / 10
    return build_matrix([f"q{n}" for n in range(9)], list("abcd"), scores, np.ones(4))


def test_a_budget_brings_strata_and_domains(pool: list[Item], matrix: SupportMatrix, tmp_path: Path) -> None:
    budget = room.share_budget(pool, 4)
    assert dict(budget.sizes) == {"f": 2, "g": 2}
    assert str(budget) == "4 items over 2 domains: f 2, g 2"
    chosen = room.select(Support(matrix, {}), budget=budget, duplicates=Copies())
    assert len(chosen.item_ids) == 4
    assert "q8" not in chosen.item_ids
    assert not {"q0", "q3"} <= set(chosen.item_ids)
    assert "4 items\nthis instance: at least " in str(chosen)
    found = room.certify(chosen, matrix, budget=budget, duplicates=Copies())
    assert found
    assert str(found) == "verified"
    assert not room.certify(chosen, matrix, k=5, budget=budget, duplicates=Copies())
    chosen.write(tmp_path / "selection.json")
    assert room.certify(tmp_path / "selection.json", matrix, budget=budget, duplicates=Copies())
    with pytest.raises(UsageError, match="--conflicts"):
        room.certify(chosen, matrix)


def test_files_say_the_same_as_records(pool: list[Item], matrix: SupportMatrix, tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl", pool)
    budget = room.share_budget(pool, 4, shares="items")
    assert room.share_budget(tmp_path / "pool.jsonl", 4, shares="items").quotas == budget.quotas
    budget.write(tmp_path / "budget.csv")
    read = room.select(matrix, budget=tmp_path / "budget.csv", strata=budget.strata, domains=budget.domains)
    assert read == room.select(matrix, budget=budget)


def test_shares_by_coverage_need_support(pool: list[Item], matrix: SupportMatrix) -> None:
    assert sum(room.share_budget(pool, 4, shares="coverage", support=matrix).sizes.values()) == 4
    with pytest.raises(UsageError, match="needs --support"):
        room.share_budget(pool, 4, shares="coverage")


def test_what_review_refused_is_refilled(matrix: SupportMatrix) -> None:
    first = room.select(matrix, 4)
    gone = first.item_ids[0]
    decided = dict.fromkeys(first.item_ids, "accept") | {gone: "reject"}
    second = room.top_up(first, matrix, decided)
    assert gone not in second.item_ids
    assert set(first.item_ids[1:]) < set(second.item_ids)
    with pytest.raises(Refusal):
        room.top_up(first, matrix, decided, accepted_only=True)
    with pytest.raises(UsageError, match="decisions"):
        room.top_up(first, matrix, None)


def test_a_sample_says_that_nothing_vouches_for_it(pool: list[Item], tmp_path: Path) -> None:
    drawn = room.sample(pool, 3, seed=7, exclude=["q1"])
    assert len(drawn.item_ids) == 3
    assert "q1" not in drawn.item_ids
    assert "no certificate" in str(drawn)
    write_pool(tmp_path / "pool.jsonl", pool)
    assert room.sample(tmp_path / "pool.jsonl", 3, seed=7, exclude=["q1"]) == drawn
    few = room.sample(pool, 1, decisions={"q4": "accept"})
    assert list(few.item_ids) == ["q4"]


def test_an_item_without_a_stratum_is_named() -> None:
    bare = item(0, discipline="", field="", subfield="")
    with pytest.raises(InputError, match="item 'q0' has no subfield or field or discipline"):
        room.sample([bare], 1)


def test_the_doors_load_no_heavy_package() -> None:
    rooms = (
        "kina_build.selection, kina_build.support, kina_build.selection.options, kina_build.support.options"
    )
    heavy = "('numpy', 'scipy', 'numba', 'pydantic')"
    code = f"import sys, {rooms}; print([name for name in {heavy} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
    assert all(getattr(room, name) for name in room.__all__)
