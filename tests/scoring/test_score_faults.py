"""The public fault cases of scoring, each through the function that has to hold it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.scoring.lists import match_names, parse_names
from kina_build.scoring.lists.score import rate_match
from kina_build.scoring.multiple_choice import score_items
from kina_build.scoring.questions import Question, chance_level
from kina_build.scoring.replies import extract_letter, labels
from kina_build.scoring.reports import Group, macro_average, majority_letter, micro_average, report_model
from kina_build.scoring.responses import Response, read_responses, sift_responses
from kina_build.scoring.triples.score import TripleRow, rate_official, rate_strict, score_triples
from tests.conftest import fault_cases

Check = Callable[[dict[str, Any], dict[str, Any], Path], None]


def letter(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    found = extract_letter(given["response"], len(given["letters"])).letter
    assert found == expected["predicted"]
    assert (found == given["gold"]) == expected["correct"]


def questions(ids: list[str]) -> dict[str, Question]:
    return {i: Question(item_id=i, question="?", choices=("x", "y"), answer="A") for i in ids}


def run_of(given: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = given["run"]
    ids = [f"i{n + 1}" for n in range(given.get("items", len(run)))]
    asked = questions(sorted({*ids, *run}))
    responses = [
        Response(
            item_id=i,
            response=None if v is None else f"Answer: {'A' if v else 'B'}",
            status="timeout" if v is None else "ok",
        )
        for i, v in run.items()
    ]
    sifted = sift_responses(responses, dict.fromkeys(asked))
    report = report_model("model", asked, score_items(asked, sifted.responses), sifted.responses)
    return {
        "score": report.score,
        "status": report.status,
        "answered": report.answered,
        "of": report.items,
        "accuracy_answered": report.accuracy_answered,
        "accuracy_all": report.accuracy_all,
        "ranked": report.status == "scored",
    }


def incomplete_run(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    found = run_of(given)
    assert {key: found[key] for key in expected} == expected


def chance(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    asked = [
        Question(item_id=str(n), question="?", choices=tuple(map(str, range(n))), answer="A")
        for n in given["option_counts"]
    ]
    assert chance_level(asked) == pytest.approx(expected["chance"], abs=1e-6)


def averages(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    groups = {name: Group(n, right / n) for name, (right, n) in given["fields"].items()}
    assert micro_average(groups) == pytest.approx(expected["micro"], abs=1e-6)
    assert macro_average(groups) == pytest.approx(expected["macro"], abs=1e-6)


def articles(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    scores = [len(match_names([said], [[gold]], "en").pairs) for gold, said in given["pairs"]]
    assert scores == expected["scores"]
    assert majority_letter(given["vote"]) == expected["vote_winner"]


def long_labels(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    found = extract_letter(given["response"], given["n_options"]).letter
    assert (found == given["gold_label"]) == expected["correct"]
    assert labels(given["n_options"]).index(str(found)) == expected["gold_index"]


def resume_file(given: dict[str, Any], expected: dict[str, Any], folder: Path) -> None:
    path = folder / "responses.jsonl"
    path.write_text(
        given["jsonl"].replace('"score":0', '"response":"B"').replace('"score":1', '"response":"A"')
    )
    file = read_responses(path)
    asked = questions(given["items"])
    sifted = sift_responses(file.responses, dict.fromkeys(asked))
    scores = score_items(asked, sifted.responses)
    assert {row.item_id: row.score for row in scores} == expected["scores"]
    report = report_model("model", asked, scores, sifted.responses)
    assert list(report.missing) == expected["missing"]
    dropped = {name: n for name, n in sifted.dropped.items() if n} | {"torn": file.torn}
    assert dropped == expected["dropped"]


def stale_prompt(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    stored = [Response.model_validate(row | {"item_id": row["id"]}) for row in given["stored"]]
    now = {row["id"]: row["prompt_sha"] for row in given["now"]}
    foreign = {one.asked for one in stored if one.prompt_sha != now[one.item_id]}
    sifted = sift_responses(stored, now, foreign)
    assert bool(sifted.responses) == expected["scored"]
    assert sifted.dropped[expected["error"]] == 1


def delimiter(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    names = parse_names(given["response"], "en", given["gold"])
    assert rate_match(match_names(names, [[gold] for gold in given["gold"]], "en")).f1 == expected["f1"]


def empty_sets(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    for rate in (rate_official, rate_strict):
        assert [rate(row["pred"], row["gold"]).f1 for row in given["rows"]] == expected["f1"]


def strict_set(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    tolerance = given.get("relative_tolerance")
    rated = rate_strict(given["pred"], given["gold"], tolerance)
    for key in ("p", "r", "f1"):
        assert getattr(rated, key) == pytest.approx(expected[key], abs=1e-6)
    row = TripleRow(subject="s", relation="r", object_ids=given["pred"])
    truth = TripleRow(subject="s", relation="r", object_ids=given["gold"])
    assert score_triples([row], [truth], "strict", tolerance).repeats == expected.get("repeats_dropped", 0)
    assert round(rated.p * len(set(given["pred"]))) == expected.get("matched", 1)


def zero_gold(given: dict[str, Any], expected: dict[str, Any], _folder: Path) -> None:
    rated = [rate_strict(row["pred"], row["gold"], given["relative_tolerance"]).f1 for row in given["rows"]]
    assert rated == expected["f1"]


def check_for(given: dict[str, Any]) -> Check:
    """Choose the check by what the input holds, so that cases of the same kind need no new line."""
    by_field: dict[str, Check] = {
        "letters": letter,
        "run": incomplete_run,
        "option_counts": chance,
        "fields": averages,
        "vote": articles,
        "label_scheme": long_labels,
        "jsonl": resume_file,
        "stored": stale_prompt,
    }
    for name, check in by_field.items():
        if name in given:
            return check
    if "response" in given:
        return delimiter
    if "rows" in given:
        return zero_gold if "relative_tolerance" in given else empty_sets
    return strict_set


@pytest.mark.parametrize("case", fault_cases("score"))
def test_public_fault(case: dict[str, Any], tmp_path: Path) -> None:
    check_for(case["input"])(case["input"], json.loads(json.dumps(case["expected"])), tmp_path)
