"""Triples: the challenge's published figures to the last digit, and the stricter readings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from kina_build.errors import InputError
from kina_build.rows.jsonl import read_records
from kina_build.scoring.triples.marking import count_mistakes, find_mistakes
from kina_build.scoring.triples.score import TripleRow, rate_2024, rate_official, rate_strict, score_triples

EXACT = 1e-9


def row(subject: str, relation: str, ids: list[Any] | None, labels: list[str] | None = None) -> TripleRow:
    return TripleRow(subject=subject, relation=relation, object_ids=ids, object_labels=labels)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], ["Q1"], (1, 0, 0)),
        ([], [], (1, 1, 1)),
        ([], [""], (1, 1, 1)),
        ([""], [""], (1, 1, 1)),
        ([""], [], (0, 1, 0)),
        (["Q1"], [], (0, 1, 0)),
        (["Q1"], [""], (0, 1, 0)),
        (["Q1", "Q1"], ["Q1"], (1, 2, 4 / 3)),
        (["Q1", "Q1"], ["Q1", "Q2"], (1, 1, 1)),
        (["Q1"], ["", "Q1"], (1, 0.5, 2 / 3)),
        ([3], ["3"], (0, 0, 0)),
        (None, ["Q1"], (0, 0, 0)),
        (None, [""], (0, 1, 0)),
        ([["Q1"], 7], ["Q1"], (0, 0, 0)),
    ],
)
def test_edges_of_the_official_script(
    predicted: list[Any] | None, gold: list[Any], expected: tuple[float, float, float]
) -> None:
    rated = rate_official(predicted, gold)
    assert (rated.p, rated.r, rated.f1) == pytest.approx(expected)


def test_before_the_fix_an_expected_none_had_to_be_spelled_out() -> None:
    assert rate_official([], [""], fixed=False).r == 0
    assert rate_official([""], [""], fixed=False).r == 1


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], ["Q1"], (1, 0, 0)),
        ([], [], (1, 1, 1)),
        (["Q1"], [], (0, 1, 0)),
        ([], [""], (1, 0, 0)),
        ([""], [""], (1, 1, 1)),
        (["Q1", "Q1", "Q2"], ["Q1", "Q1"], (0.5, 1, 2 / 3)),
        ([3], ["3"], (0, 0, 0)),
        (None, [], (0, 1, 0)),
        (None, ["Q1"], (0, 0, 0)),
    ],
)
def test_edges_of_the_script_of_2024(
    predicted: list[Any] | None, gold: list[Any], expected: tuple[float, float, float]
) -> None:
    rated = rate_2024(predicted, gold)
    assert (rated.p, rated.r, rated.f1) == pytest.approx(expected)


def test_the_headline_of_2024_is_the_mean_over_pairs() -> None:
    truth = [row("X", "r", ["Q1"]), row("Y", "r", ["Q1"]), row("Z", "s", [])]
    said = [row("X", "r", ["Q1", "Q1"]), row("Y", "r", []), row("Z", "s", [])]
    scores = score_triples(said, truth, "lm-kbc-2024")
    assert scores.macro == scores.instance_macro
    assert (scores.macro.p, scores.macro.r, scores.macro.f1) == pytest.approx((1, 2 / 3, 2 / 3))
    assert (scores.micro.p, scores.micro.r) == (1, 0.5)
    nothing = score_triples([row("Z", "s", [])], [row("Z", "s", [])], "lm-kbc-2024")
    assert nothing.micro.f1 == 1


def test_no_answer_is_not_an_empty_list() -> None:
    assert (rate_strict(None, ["Q1"]).p, rate_strict([], ["Q1"]).p) == (0, 1)
    assert (rate_strict(None, []).f1, rate_strict([], []).f1) == (0, 1)


FILES = [
    ("llmke.predictions__test.query__official", "llmke.predictions", "test.query", "lm-kbc-2023"),
    ("bert.dev.pred__val__official", "bert.dev.pred", "val", "lm-kbc-2023"),
    ("bert.dev.pred__val__before-2023-07-25-fix", "bert.dev.pred", "val", "lm-kbc-2023-before-fix"),
]


@pytest.mark.real
@pytest.mark.parametrize(("name", "predictions", "gold", "mode"), FILES)
def test_published_figures(shared: Path, name: str, predictions: str, gold: str, mode: Any) -> None:
    folder = shared / "lmkbc"
    expected = json.loads((folder / "expected_scores.json").read_text())[name]
    scores = score_triples(
        read_records(folder / f"{predictions}.jsonl", TripleRow),
        read_records(folder / f"{gold}.jsonl", TripleRow),
        mode,
    )
    assert len(scores.pairs) == expected["unique_gold_pairs"]
    for key in ("p", "r", "f1"):
        assert getattr(scores.macro, key) == pytest.approx(expected["average"][key], abs=EXACT)
        assert getattr(scores.instance_macro, key) == pytest.approx(
            expected["instance_macro"][key], abs=EXACT
        )
        for relation, figures in expected["relations"].items():
            assert getattr(scores.relations[relation][1], key) == pytest.approx(figures[key], abs=EXACT)


@pytest.mark.real
def test_other_readings_of_the_same_file(shared: Path) -> None:
    folder = shared / "lmkbc"
    expected = json.loads((folder / "expected_scores.json").read_text())
    said = read_records(folder / "llmke.predictions.jsonl", TripleRow)
    truth = read_records(folder / "test.query.jsonl", TripleRow)
    recipe = score_triples(said, truth, "seed-recipe").macro
    pooled = expected["llmke.predictions__test.query__seed-recipe-readings"][
        "pooled_sets_empty_string_counts"
    ]
    assert (recipe.p, recipe.r, recipe.f1) == pytest.approx(
        [pooled[key] for key in ("p", "r", "f1")], abs=EXACT
    )
    official = score_triples(said, truth)
    zero = expected["llmke.predictions__test.query__zero-object"]
    assert official.zero_object.f1 == pytest.approx(zero["f1"], abs=EXACT)
    assert official.relations["FootballerPlaysPosition"][1].r == pytest.approx(0.733, abs=5e-4)
    nothing = score_triples([one.model_copy(update={"object_ids": []}) for one in truth], truth).macro
    assert (nothing.p, nothing.r, nothing.f1) == pytest.approx((1, 0.102, 0.102), abs=5e-4)
    capped: dict[str, list[float]] = {}
    for pair in official.pairs:
        capped.setdefault(pair.relation, []).append(min(1.0, pair.quality.f1))
    means = [sum(values) / len(values) for values in capped.values()]
    assert sum(means) / len(means) == pytest.approx(0.687949, abs=5e-7)


@pytest.mark.real
def test_mistakes_tell_a_wrong_link_from_a_gap_of_knowledge(shared: Path) -> None:
    folder = shared / "lmkbc"
    mistakes = find_mistakes(
        read_records(folder / "llmke.predictions.jsonl", TripleRow),
        read_records(folder / "test.query.jsonl", TripleRow),
    )
    right_label = {
        (m.subject, m.relation, m.label, m.predicted_id, m.gold_id)
        for m in mistakes
        if m.kind in ("disambiguation", "unlinked") and m.gold_id is not None
    }
    expected = {tuple(one) for one in json.loads((folder / "derived.same_label_wrong_qid.json").read_text())}
    assert len(expected) == 40
    assert expected <= right_label


def test_kinds_of_mistakes() -> None:
    said = [row("X", "r", ["Q1", "Q2", "Ann"], ["One", "two", "Ann"])]
    truth = [row("X", "r", ["Q1", "Q3", "Q4"], ["One", "Two", "Four"])]
    found = {(m.kind, m.label) for m in find_mistakes(said, truth)}
    assert found == {("disambiguation", "two"), ("unlinked", "Ann"), ("missed", "Four")}
    assert count_mistakes(find_mistakes(said, truth))["all"] == {
        "disambiguation": 1,
        "missed": 1,
        "unlinked": 1,
    }


def test_a_missing_pair_is_named() -> None:
    with pytest.raises(InputError, match="subject 'X', relation 'r'"):
        score_triples([], [row("X", "r", ["Q1"])])


def test_the_last_of_repeated_rows_counts_and_strangers_are_ignored() -> None:
    scores = score_triples(
        [row("X", "r", []), row("X", "r", ["Q1"]), row("Z", "r", ["Q9"])], [row("X", "r", ["Q1"])]
    )
    assert (scores.macro.f1, scores.ignored) == (1, 1)


def test_strict_counts_repeats_once_and_numbers_within_tolerance() -> None:
    assert rate_strict(["Q1", "Q1", "Q1"], ["Q1"]) == rate_strict(["Q1"], ["Q1"])
    near = rate_strict(["100", "101", "102"], ["100"], 0.05)
    assert (near.p, near.r, near.f1) == pytest.approx((1 / 3, 1, 0.5))
    assert rate_strict(["0"], ["0"], 0.05).f1 == 1
    assert rate_strict(["5"], ["0"], 0.05).f1 == 0


ids = st.lists(st.sampled_from(["Q1", "Q2", "Q3", "Q4"]), max_size=6)


@given(ids, ids)
def test_strict_is_bounded_and_order_free(predicted: list[str], gold: list[str]) -> None:
    rated = rate_strict(predicted, gold)
    assert 0 <= rated.f1 <= 1
    assert 0 <= rated.r <= 1
    assert rated == rate_strict(predicted[::-1], gold[::-1])


@given(ids, ids)
def test_on_sets_strict_is_official(predicted: list[str], gold: list[str]) -> None:
    assert rate_strict(predicted, gold).f1 == pytest.approx(
        rate_official(sorted(set(predicted)), sorted(set(gold))).f1
    )


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def lm_kbc(subject: str, *ids: str) -> dict[str, Any]:
    return {"SubjectEntity": subject, "Relation": "R", "ObjectEntitiesID": list(ids)}


def test_command(kina: Callable[..., Result], tmp_path: Path) -> None:
    said = write(tmp_path / "p.jsonl", lm_kbc("X", "Q1", "Q1"), lm_kbc("Y"))
    gold = write(tmp_path / "g.jsonl", lm_kbc("X", "Q1"), lm_kbc("Y", ""))
    result = kina("score", "--task", "triples", "--predictions", said, "--gold", gold, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["macro"] == pytest.approx({"p": 1, "r": 1.5, "f1": 7 / 6})
    assert report["relations"]["R"] == pytest.approx({"n": 2, "p": 1, "r": 1.5, "f1": 7 / 6})
    strict = kina(
        "score", "--task", "triples", "--predictions", said, "--gold", gold, "--mode", "strict", "--json"
    )
    assert json.loads(strict.stdout)["macro"]["f1"] == 1
    assert "repeat" in strict.stderr


def test_command_names_what_is_wrong(kina: Callable[..., Result], tmp_path: Path) -> None:
    said = write(tmp_path / "p.jsonl", {"SubjectEntity": "X", "Relation": "R"})
    gold = write(tmp_path / "g.jsonl", lm_kbc("X", "Q1"))
    field = kina("score", "--task", "triples", "--predictions", said, "--gold", gold)
    assert (field.exit_code, "p.jsonl:1: ObjectEntitiesID" in field.stderr) == (2, True)
    mode = kina("score", "--task", "triples", "--predictions", said, "--gold", gold, "--mode", "kind")
    assert (mode.exit_code, "no such mode" in mode.stderr) == (2, True)
    lacking = kina("score", "--task", "triples", "--predictions", said)
    assert (lacking.exit_code, "--gold" in lacking.stderr) == (2, True)
