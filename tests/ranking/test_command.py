"""kina rank as people type it."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from kina_build.config import DedupRules
from kina_build.dedup import Contamination

STANDING_KEYS = {
    "model", "accuracy", "low", "high", "rank", "rank_low", "rank_high",
    "rank_low_simultaneous", "rank_high_simultaneous", "tier",
}  # fmt: skip
FEW = ("--samples", "200", "--seed", "0")


@pytest.fixture
def scores(tmp_path):
    rows = [f"q{i:03d},{'law' if i % 2 else 'art'},{int(i % 4 > 0)},{int(i % 3 > 1)}" for i in range(120)]
    (tmp_path / "scores.csv").write_text("\n".join(["item_id,discipline,good,poor", *rows]) + "\n")
    return tmp_path / "scores.csv"


def test_the_stable_interface(kina, scores):
    out = kina("rank", "--scores", scores, *FEW, "--json")
    assert out.exit_code == 0, out.stderr
    board = json.loads(out.stdout)
    assert {"standings", "pairs", "mdd", "tau"} <= set(board)
    assert set(board["standings"][0]) >= STANDING_KEYS
    assert [s["model"] for s in board["standings"]] == ["good", "poor"]
    assert board["standings"][0]["accuracy"] == 0.75


def test_people_see_sets_not_a_false_order(kina, scores):
    out = kina("rank", "--scores", scores, *FEW)
    assert out.stdout.startswith("2 models on 120 items: 2 tiers\n")
    assert "rank set, 95% all rows" in out.stdout
    assert "neighbours told apart: 1 of 1 (mcnemar, Holm)" in out.stdout


def test_a_written_leaderboard_is_the_printed_one_and_is_not_made_twice(kina, scores, tmp_path):
    first = kina("rank", "--scores", scores, *FEW, "-o", "leaderboard.json", "--json")
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == json.loads(first.stdout)
    again = kina("rank", "--scores", scores, *FEW, "-o", "leaderboard.json", "--json")
    assert "up to date" in again.stderr
    assert again.stdout == first.stdout
    other = kina("rank", "--scores", scores, "--samples", "200", "--seed", "1", "-o", "leaderboard.json")
    assert "up to date" not in other.stderr


def test_letters_and_items_rank_with_floors_and_item_figures(kina, tmp_path):
    items = [{"question_id": i, "options": ["w", "x", "y", "z"], "answer": "AB"[i % 2]} for i in range(40)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    answers = [{"model": "all-a", "answers": "A" * 40}, {"model": "knows", "answers": "AB" * 20}]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    out = kina(
        "rank", "--answers", "answers.jsonl", "--letters-of", "items.jsonl", *FEW, "-o", "l.json",
        "--item-analysis", "figures.jsonl", "--json",
    )  # fmt: skip
    board = json.loads(out.stdout)
    assert board["floors"] == {"chance": 0.25, "constant_letter": "A", "constant_letter_accuracy": 0.5}
    assert {s["model"]: s["letter_habit"] for s in board["standings"]} == {"knows": 0.5, "all-a": 0.5}
    figures = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    assert len(figures) == 40
    assert figures[1]["picks"] == {"A": 1, "B": 1}
    shown = kina("rank", "--answers", "answers.jsonl", "--letters-of", "items.jsonl", *FEW)
    assert "not shown to beat the constant letter: all-a" in shown.stdout


def test_only_some_items(kina, scores, tmp_path):
    (tmp_path / "selection.json").write_text(json.dumps({"item_ids": [f"q{i:03d}" for i in range(50)]}))
    board = json.loads(kina("rank", "--scores", scores, "--only", "selection.json", *FEW, "--json").stdout)
    assert board["items"] == 50


def test_a_release_brings_its_key_and_its_version(kina, tmp_path):
    demo = (resources.files("kina_build") / "data" / "pool.csv").read_text().splitlines()
    (tmp_path / "pool.csv").write_text("\n".join(demo[:41]))
    assert kina("import", "pool.csv", "-o", "pool.jsonl").exit_code == 0
    out = kina("export", "pool.jsonl", "-o", "release", "--name", "demo")
    assert out.exit_code == 0, out.stderr
    ids = [json.loads(row)["id"] for row in (tmp_path / "release" / "test.jsonl").read_text().splitlines()]
    rows = [f"{item_id},,{i % 2},{i % 3 // 2}" for i, item_id in enumerate(ids)]
    (tmp_path / "scores.csv").write_text("\n".join(["item_id,discipline,a,b", *rows]))
    board = json.loads(kina("rank", "--scores", "scores.csv", "--release", "release", *FEW, "--json").stdout)
    record = json.loads((tmp_path / "release" / "release.json").read_text())
    assert {k: board["dataset"][k] for k in ("name", "version", "content_hash")} == {
        "name": "demo", "version": "1.0.0", "content_hash": record["content_hash"],
    }  # fmt: skip
    assert board["floors"]["chance"] == 0.25
    assert (
        "no split 'train'"
        in kina("rank", "--scores", "scores.csv", "--release", "release", "--split", "train").stderr
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ((), 2, "exactly one of --scores, --answers, --published"),
        (("--scores", "absent.csv"), 2, "absent.csv: no such file"),
        (("--answers", "a.jsonl"), 2, "--answers and --letters-of go together"),
        (("--published", "p.csv"), 2, "--published and --item-count go together"),
        (("--published", "p.csv", "--item-count", "9", "--paper"), 2, "--published takes only --item-count"),
        (("--scores", "empty.csv"), 2, "empty.csv: the file is empty"),
        (("--scores", "gaps.csv"), 1, "no model can be ranked: a: scores for 1 of 2 items"),
        (("--scores", "one.csv"), 1, "a ranking needs at least two items"),
    ],
)
def test_what_cannot_be_ranked_is_said_in_one_line(kina, tmp_path, arguments, exit_code, message):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "gaps.csv").write_text("item_id,discipline,a,b\nq1,x,1,\nq2,x,,1\n")
    (tmp_path / "one.csv").write_text("item_id,discipline,a\nq1,x,1\n")
    out = kina("rank", *arguments)
    assert out.exit_code == exit_code
    assert message in out.stderr
    assert "Traceback" not in out.stderr


@pytest.mark.real
def test_the_26_models_of_mmlu_pro(kina, shared):
    folder = shared / "mmlu_pro"
    out = kina(
        "rank",
        "--answers",
        folder / "answers.jsonl",
        "--items",
        folder / "items.jsonl",
        "--letters-of",
        folder / "items.jsonl",
        "--samples",
        "500",
        "--json",
    )
    board = json.loads(out.stdout)
    assert (board["models"], board["items"]) == (26, 12032)
    assert board["standings"][0]["model"] == "Meta-Llama-3_1-70B-Instruct"
    tied = [p for p in board["pairs"] if p["p_next_holm"] is not None and p["p_next_holm"] >= 0.05]
    assert ("Yi-34B", "mathstral-7B") in {(p["first"], p["second"]) for p in tied}


@pytest.fixture
def blocked(tmp_path):
    """Score two models; the better one was blocked on a few items, and items come in passages of four."""
    rows = [
        {"item_id": f"q{i:03d}", "model": model, "score": None if model == "good" and i < 3 else float(right),
         "passage": f"p{i // 4}"}
        for i in range(120)
        for model, right in (("good", i % 4 > 0), ("poor", i % 3 > 1))
    ]  # fmt: skip
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "scores.jsonl"


def test_one_blocked_answer_does_not_take_a_model_off_the_board(kina, blocked):
    strict = json.loads(kina("rank", "--scores", blocked, *FEW, "--json").stdout)
    assert [one["model"] for one in strict["not_ranked"]] == ["good"]
    fair = json.loads(kina("rank", "--scores", blocked, *FEW, "--missing", "bounds", "--json").stdout)
    first = fair["standings"][0]
    assert (first["model"], first["coverage"], first["accuracy_best"]) == ("good", 0.975, 0.758333)
    assert (first["rank_best_case"], first["rank_worst_case"], fair["missing"]) == (1, 1, "bounds")
    shown = kina("rank", "--scores", blocked, *FEW, "--missing", "bounds").stdout
    assert "places left open" in shown


def test_items_on_one_passage_are_drawn_together_unless_told_otherwise(kina, blocked):
    by_passage = json.loads(kina("rank", "--scores", blocked, *FEW, "--missing", "wrong", "--json").stdout)
    assert (by_passage["clusters"], by_passage["pairs"][0]["test"]) == (30, "paired-z")
    apart = kina("rank", "--scores", blocked, *FEW, "--missing", "wrong", "--no-passages", "--json")
    assert (json.loads(apart.stdout)["clusters"], json.loads(apart.stdout)["pairs"][0]["test"]) == (
        None,
        "mcnemar",
    )


def test_epochs_of_an_item_are_averaged(kina, tmp_path):
    rows = [
        {"item_id": f"q{i}", "model": "m", "epoch": epoch, "score": score}
        for i in range(4)
        for epoch, score in enumerate((1.0, 0.0 if i else None))
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    board = json.loads(kina("rank", "--scores", "s.jsonl", *FEW, "--json").stdout)
    assert board["standings"][0]["accuracy"] == 0.625  # q0 has one score, 1; the others 1 and 0
    wrong = json.loads(kina("rank", "--scores", "s.jsonl", *FEW, "--missing", "wrong", "--json").stdout)
    assert (wrong["standings"][0]["accuracy"], wrong["standings"][0]["coverage"]) == (0.5, 0.875)
    twice = [rows[0], rows[0]]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in twice))
    assert "a second score for item 'q0'" in kina("rank", "--scores", "s.jsonl").stderr


def test_accuracies_with_and_without_what_stands_in_other_corpora(kina, scores, tmp_path):
    failed = [f"q{i:03d}" for i in range(0, 120, 4)]  # by "good"
    found = Contamination(
        contaminated=(*failed, "of another pool"),
        review=(),
        clean=90,
        hits=(),
        corpora={"web": 1},
        unread={},
        unsearchable={},
        as_text=(),
        counts={},
        encoder="",
        revision="",
        threshold=0.8,
        recall=1,
        rules=DedupRules(),
    )
    found.write(tmp_path / "contamination.json")
    out = kina("rank", "--scores", scores, *FEW, "--contaminated", "contamination.json", "--json")
    exposed = json.loads(out.stdout)["exposed"]
    assert exposed["items"] == 30
    assert exposed["rows"][0] == {
        "model": "good", "accuracy": 0.75, "without": 1.0, "within": 0.0, "place": 1, "place_without": 1,
    }  # fmt: skip
    shown = kina("rank", "--scores", scores, *FEW, "--contaminated", "contamination.json")
    assert "30 of 120 items stand in other corpora" in shown.stdout
    assert "exposed" not in json.loads(kina("rank", "--scores", scores, *FEW, "--json").stdout)
    wrong = kina("rank", "--scores", scores, *FEW, "--contaminated", scores)
    assert wrong.exit_code == 2
