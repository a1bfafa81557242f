"""Where reasoning over a universe breaks down: four conditions, three stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.errors import InputError
from kina_build.scoring.lists.stages import (
    CONDITIONS,
    ConditionScore,
    compare_conditions,
    find_stages,
    read_scores,
)

MARKS = {"question": "1000", "universe": "1100", "operations": "1010", "both": "1110"}
"""Four questions under each condition, 1 where right."""


def scored(marks: Mapping[str, str], model: str = "m") -> list[ConditionScore]:
    return [
        ConditionScore(item_id=f"k{n}", model=model, score=float(mark), condition=condition)
        for condition, row in marks.items()
        for n, mark in enumerate(row)
        if mark in "01"
    ]


def test_stages() -> None:
    stages = find_stages({"question": 0.4, "universe": 0.6, "operations": 0.5, "both": 0.9})
    assert (stages.completeness, stages.awareness, stages.application) == pytest.approx((0.2, 0.1, 0.1))


def test_models_are_compared_each_by_itself_in_any_order_of_rows() -> None:
    rows = scored(MARKS, "b") + scored(dict.fromkeys(CONDITIONS, "11"), "a")
    one, other = compare_conditions(rows)
    assert (one.model, one.items, one.stages.application) == ("a", 2, 0)
    assert (other.stages.completeness, other.stages.awareness, other.stages.application) == (0.25,) * 3
    assert compare_conditions(rows[::-1]) == [one, other]


def test_only_questions_marked_under_all_four_are_compared() -> None:
    (found,) = compare_conditions(scored(MARKS | {"both": "11-0"}))
    assert (found.items, found.left_out) == (3, 1)
    assert found.accuracy == pytest.approx(
        {"question": 1 / 3, "universe": 2 / 3, "operations": 1 / 3, "both": 2 / 3}
    )


def test_a_lacking_condition_and_a_second_score_are_errors() -> None:
    with pytest.raises(InputError, match="no question is marked under all four") as lacking:
        compare_conditions(scored(MARKS | {"both": ""}))
    assert lacking.value.hint == "needed are both=FILE"
    with pytest.raises(InputError, match="'k0' has two scores under 'both'"):
        compare_conditions(scored(MARKS) + scored({"both": "1"}))


def test_rows_name_their_condition_or_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("item_id,score\n007,1\n")
    assert [(row.item_id, row.condition) for row in read_scores(path, "both")] == [("007", "both")]
    with pytest.raises(InputError, match="item '007' names no condition"):
        read_scores(path)


def test_command(kina: Callable[..., Result], tmp_path: Path) -> None:
    given: list[str] = []
    for condition, marks in MARKS.items():
        rows = ({"item_id": f"k{n}", "model": "m", "score": float(mark)} for n, mark in enumerate(marks))
        (tmp_path / f"{condition}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given += ["--stages", f"{condition}={condition}.jsonl"]
    result = kina("score", "--task", "universe", *given, "--json")
    (model,) = json.loads(result.stdout)["stages"]
    assert (result.exit_code, model["completeness"], model["accuracy"]["both"]) == (0, 0.25, 0.75)
    assert "completeness" in kina("score", "--task", "universe", *given).stdout
    together = "".join(json.dumps(row.model_dump()) + "\n" for row in scored(MARKS))
    (tmp_path / "all.jsonl").write_text(together)
    assert kina("score", "--task", "universe", "--stages", "all.jsonl", "--json").stdout == result.stdout


def test_command_names_what_is_wrong(kina: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"item_id": "k1", "score": 2}\n')
    score = kina("score", "--task", "universe", "--stages", "both=s.jsonl")
    assert (score.exit_code, "s.jsonl:1: score" in score.stderr) == (2, True)
    condition = kina("score", "--task", "universe", "--stages", "all=s.jsonl")
    assert (condition.exit_code, "no such condition" in condition.stderr) == (2, True)
    task = kina("score", "--task", "triples", "--stages", "both=s.jsonl")
    assert (task.exit_code, "belongs to --task universe" in task.stderr) == (2, True)
