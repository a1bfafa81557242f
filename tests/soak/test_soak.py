"""A fixed sample of the long run, and what the long run stands on."""

from __future__ import annotations

import contextlib
import importlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PROFILE
from tests.soak import commands, counts, laws, mutations, trial, world

SEED = 16
SAMPLE = 400
"""Cases of the gate's sample: some 40 s on 2 cores; `make soak` runs 100,000."""
PARTS = 4


FOUND = {
    "check --profile kina": "planted repeats",
    "contamination": "the second corpus is the pool",
    "review pay reconcile provider.csv": "the provider's amounts are not the plan's",
    "review ledger audit drawn.csv": "the findings were not settled",
    "review ledger audit reviews.csv": "other reviews were settled",
    "score estimator.json": "the estimator is of a short form, and the scores are on the pool",
}
"""Words of the lines that end with 1 on undamaged files, the command first, and why that is right."""


def is_found_wanting(words: Sequence[str]) -> bool:
    """Tell whether a line is one of those."""
    return any(set(one.split()) <= set(words) and words[0] == one.split()[0] for one in FOUND)


def test_every_line_of_the_table_does_its_work_on_undamaged_files(small: Path, tmp_path: Path) -> None:
    ended: dict[str, Any] = {}
    for number, reader in enumerate(commands.readers(small)):
        case = trial.Case(reader, commands.targets(reader, small)[0], lambda raw, rng: raw, json=True)
        (tmp_path / str(number)).mkdir()
        with contextlib.chdir(tmp_path / str(number)):
            trial.lay_out(small, case, Random(0))
            stdin = Path(reader.stdin).read_bytes() if reader.stdin else b""
            done = world.invoke([*reader.words, "--json"], stdin)
        wanted = 1 if is_found_wanting(reader.words) else 0
        if done.exit_code != wanted:
            ended[reader.line] = (done.exit_code, done.stderr)
    assert ended == {}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_damage_shows_a_fault_in_kina_itself(small: Path, part: int) -> None:
    pairs = trial.plan(small)
    broken = [
        violation
        for number in range(part, SAMPLE, PARTS)
        for violation in trial.run(small, pairs, SEED, number)
    ]
    assert broken == []


def test_every_file_a_line_names_can_be_damaged(small: Path) -> None:
    for name in sorted({target for _, target in trial.plan(small)}):
        raw = (small / name).read_bytes()
        for damage in dict.fromkeys(mutations.damages(name)):
            changed = [damage(raw, Random(seed)) for seed in range(4)]
            assert changed == [damage(raw, Random(seed)) for seed in range(4)], (name, damage)
            assert any(one != raw for one in changed), (name, damage)


def test_a_seed_and_a_number_stand_for_one_case(small: Path) -> None:
    pairs = trial.plan(small)
    first = [trial.draw(pairs, 3, number)[0] for number in range(len(pairs))]
    assert first == [trial.draw(pairs, 3, number)[0] for number in range(len(pairs))]
    assert {(case.reader.line, case.target) for case in first} == {(r.line, t) for r, t in pairs}
    assert first[:9] != [trial.draw(pairs, 4, number)[0] for number in range(9)]


def test_a_fault_is_seen_and_placed(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("kina_build.ranking.files.published.read_table", broken)
    pairs = [pair for pair in trial.plan(small) if "--published" in pair[0].line]
    (found,) = trial.run(small, pairs, 0, 0)
    assert found.law == "no fault in kina itself"
    assert found.place == "ZeroDivisionError kina_build/ranking/files/published.py in read_published"
    assert (found.seed, found.case, found.target) == (0, 0, "published.csv")


def test_an_overwritten_input_is_seen(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil = lambda *_: Path("published.csv").write_text("gone")  # noqa: E731
    monkeypatch.setattr("kina_build.ranking.files.published.read_table", spoil)
    pairs = [pair for pair in trial.plan(small) if "--published" in pair[0].line]
    assert "inputs stay as they are" in {row.law for row in trial.run(small, pairs, 0, 0)}


def test_a_soak_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "STATE", tmp_path / "state")
    monkeypatch.setattr(counts, "COUNTS", tmp_path / "soak.json")
    monkeypatch.setattr(counts, "describe_commit", lambda: "c0ffee")
    asked: list[int] = []

    def soak(seed: int, first: int, last: int, jobs: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        for case in reversed(range(first, last)):
            asked.append(case)
            yield case, [{"law": "l", "place": "p", "seed": seed, "case": case}] if case % 4 == 3 else []

    assert counts.go_on("toy", soak, 7, 5, 1) == 1
    assert counts.go_on("toy", soak, 7, 8, 1) == 1
    assert sorted(asked) == list(range(8))
    assert json.loads((tmp_path / "soak.json").read_text())["runs"] == [
        {"what": "toy", "seed": 7, "commit": "c0ffee", "first": 0, "cases": 8, "faults": 1}
    ]
    monkeypatch.setattr(counts, "describe_commit", lambda: "0ff1ce")
    assert counts.go_on("toy", soak, 7, 10, 1) == 0
    assert [row["first"] for row in json.loads((tmp_path / "soak.json").read_text())["runs"]] == [0, 8]
    shutil.rmtree(tmp_path / "state")


@pytest.mark.skipif(PROFILE != "kina", reason="only the gate draws the same in every run")
def test_what_a_property_draws_does_not_hang_on_what_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    @given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    draw()
    first = list(drawn)
    drawn.clear()
    (tmp_path / "odd_numbers.py").write_text("".join(f"N{n} = {10**7 + n}\n" for n in range(1000)))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("odd_numbers")
    draw()
    monkeypatch.delitem(sys.modules, "odd_numbers")
    assert drawn == first


def test_the_laws_of_the_long_run_are_those_of_the_gate() -> None:
    files = laws.property_files()
    assert Path("tests/selection/test_laws.py") in files
    assert laws.ROUNDS * len(files) > 1000
