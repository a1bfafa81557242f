"""LM-KBC of 2025 and 2026, by hand and against the challenge's own rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.errors import UsageError
from kina_build.scoring.lists.match import Quality
from kina_build.scoring.triples.score import Mode
from kina_build.scoring.triples.years import NamedTriples, refuse_other_year, score_names

Kina = Callable[..., Result]


def row(objects: list[Any] | None, relation: str = "awardWonBy", subject: str = "s") -> NamedTriples:
    return NamedTriples.model_validate(
        {"SubjectEntity": subject, "Relation": relation, "ObjectEntities": objects}
    )


def rate(
    predicted: list[Any] | None, gold: list[Any], mode: Mode, relation: str = "awardWonBy"
) -> tuple[float, float]:
    found: Quality = score_names([row(predicted, relation)], [row(gold, relation)], mode).macro
    return round(found.p, 3), round(found.r, 3)


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        ([], ["x"], (1, 0)),
        ([], [], (1, 1)),
        (["x"], [], (0, 1)),
        (["x", "x"], ["x"], (1, 1)),
        ([" x "], ["x"], (1, 1)),  # a prediction is stripped
        (["X"], ["x"], (0, 0)),  # and nothing else
        (None, ["x"], (0, 0)),
    ],
)
def test_names_of_2025(predicted: list[Any] | None, gold: list[Any], right: tuple[float, float]) -> None:
    assert rate(predicted, gold, "lm-kbc-2025") == right


def test_numbers_may_be_off_by_a_twentieth() -> None:
    for mode in ("lm-kbc-2025", "lm-kbc-2026"):
        assert rate(["1,050"], ["1000"], mode, "hasArea") == (1, 1)
        assert rate(["1051"], ["1000"], mode, "hasArea") == (0, 0)
        assert rate(["about 1000"], ["1000"], mode, "hasArea") == (0, 0)
    assert rate(["1000", "1001"], ["1000"], "lm-kbc-2025", "hasArea") == (1, 2)  # as the script counts
    assert rate(["1000", "1001"], ["1000"], "lm-kbc-2026", "hasArea") == (0.5, 1)


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        (["beyonce"], [["Beyoncé", "Beyoncé Knowles"]], (1, 1)),
        (["St. Louis", "ST LOUIS"], [["St. Louis"]], (1, 1)),  # one answer, twice
        (["Beyoncé", "Beyoncé Knowles"], [["Beyoncé", "Beyoncé Knowles"]], (0.5, 1)),
        (["a", "b"], [["a", "b"], ["a"]], (1, 1)),  # the greatest matching, whatever the order
        ([["a", "other"]], ["a"], (1, 1)),  # a list stands for its first, an old gold for itself
        ([3, []], [["a"]], (1, 0)),  # what is no text is nothing
    ],
)
def test_aliases_of_2026(predicted: list[Any], gold: list[Any], right: tuple[float, float]) -> None:
    assert rate(predicted, gold, "lm-kbc-2026") == right


def test_the_headline_is_the_mean_of_pairs() -> None:
    gold = [row(["x"], "awardWonBy", str(n)) for n in range(3)] + [row(["1"], "hasArea")]
    said = [row(["x"], "awardWonBy", str(n)) for n in range(3)] + [row(["9"], "hasArea")]
    scores = score_names(said, gold, "lm-kbc-2025")
    assert scores.macro.f1 == 0.75
    assert scores.relations["awardWonBy"][1].f1 == 1


def test_a_later_year_under_the_rule_of_2023_is_refused(kina: Kina, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="LM-KBC 2024 and later, as awardWonBy"):
        refuse_other_year(["awardWonBy", "hasArea"], "lm-kbc-2023")
    refuse_other_year(["awardWonBy", "CountryBordersCountry"], "lm-kbc-2023")
    refuse_other_year(["awardWonBy"], "strict")
    line = {
        "SubjectEntity": "s",
        "Relation": "awardWonBy",
        "ObjectEntities": ["x"],
        "ObjectEntitiesID": ["Q1"],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(line) + "\n")
    files = ("--predictions", "rows.jsonl", "--gold", "rows.jsonl")
    told = kina("score", "--task", "triples", *files)
    assert (told.exit_code, "by the year of the files" in told.stderr) == (2, True)
    right = kina("score", "--task", "triples", "--mode", "lm-kbc-2026", *files)
    assert right.exit_code == 0, right.stderr
    assert "all (mean of pairs)" in right.stdout
