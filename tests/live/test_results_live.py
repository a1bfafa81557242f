"""One tiny model, run by three harnesses on one exported release, comes back as one run on one board."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from kina_build.scoring.prompts import INSTRUCTION
from tests.live.harnesses import INSPECT, LIGHTEVAL, LM_EVAL, WEIGHTS, install, kina, read_rows
from tests.live.releases import make_demo

pytestmark = [pytest.mark.live, pytest.mark.timeout(2400)]

HERE = Path(__file__).parent
ITEMS = 30
LETTERS = "ABCDEFGHIJ"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
AGREE = 1e-12

Row = dict[str, Any]


def meant(row: Row) -> str:
    """Return the letter that the model says: wrong for about a third of the questions."""
    wrong = zlib.crc32(row["question"].encode()) % 3 == 0
    return LETTERS[(row["answer_index"] + wrong) % len(row["choices"])]


def lessons(row: Row) -> list[tuple[str, str]]:
    """Return what each harness asks of a question, and the reply."""
    letters = LETTERS[: len(row["choices"])]
    question = row["question"].strip()
    ours, theirs = (
        "\n".join(f"{letter}{mark} {text}" for letter, text in zip(letters, row["choices"], strict=True))
        for mark in ":)"
    )
    by_lm_eval = INSTRUCTION.format(labels=", ".join(letters))
    by_inspect = INSTRUCTION.format(labels=",".join(letters))
    return [
        (f"{by_lm_eval}\n\n{question}\n\n{ours}", f"Answer: {meant(row)}"),
        (f"{by_inspect}\n\n{question}\n\n{theirs}", f"Answer: {meant(row)}"),
        (f"{question}\n\n{ours}\n\nAnswer:", f" {meant(row)}"),
    ]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the release and, in logs/, what the three harnesses wrote of the model."""
    folder = make_demo(tmp_path_factory.mktemp("three"))
    picked = [row["item_id"] for row in read_rows(folder / "demo.jsonl")][:ITEMS]
    (folder / "picked.json").write_text(json.dumps({"item_ids": picked}))
    planted = [f"--allow={gate}=planted in the demo" for gate in ("item_repeated", "keys_conflict")]
    chosen = ("--selection", "picked.json", "--name", "few", "--title", "A few")
    kina("export", "demo.jsonl", "-o", "few", *chosen, *planted, cwd=folder)
    told = [lesson for row in read_rows(folder / "few" / "test.jsonl") for lesson in lessons(row)]
    (folder / "lessons.json").write_text(json.dumps(told))
    lm_eval = install("lm-eval", LM_EVAL, bare=WEIGHTS)
    lm_eval.run("python", HERE / "tiny_model.py", "lessons.json", "tiny", cwd=folder)
    lm_eval.run(
        "lm_eval", "run", "--tasks", "few_mc,few_gen", "--include_path", folder / "few", "--model", "hf",
        "--model_args", "pretrained=tiny,dtype=float32", "--device", "cpu", "--batch_size", "8",
        "--log_samples", "--gen_kwargs", "max_gen_toks=4", "--output_path", folder / "logs" / "lm_eval",
        cwd=folder, **ONE_THREAD,
    )  # fmt: skip
    install("inspect-ai", INSPECT).run(
        "inspect", "eval", "few/harness/inspect_ai/few.py", "--model", "hf/tiny", "-M",
        "model_path=tiny", "-M", "device=cpu", "-M", "do_sample=false", "--max-tokens", "4",
        "--display", "none", "--log-dir", folder / "logs" / "inspect",
        cwd=folder, **ONE_THREAD,
    )  # fmt: skip
    install("lighteval", LIGHTEVAL).run(
        "python", HERE / "light_run.py", "few/harness/lighteval/few.py", "tiny",
        folder / "logs" / "lighteval", cwd=folder, **ONE_THREAD,
    )  # fmt: skip
    return folder


def test_each_tools_own_accuracy_is_what_its_scores_give(ran: Path) -> None:
    """And all five are the share that the model was told to get right."""
    report = kina("results", "logs", "--apart", "--board", "board", "-o", "scores.jsonl", cwd=ran)
    rows = read_rows(ran / "few" / "test.jsonl")
    share = sum(meant(row) == row["answer"] for row in rows) / len(rows)
    assert 0 < share < 1
    assert sorted((one["tool"], one["task"]) for one in report["logs"]) == [
        ("inspect", "few"),
        ("lighteval", "few"),
        ("lighteval", "few_gen"),
        ("lm-eval", "few_gen"),
        ("lm-eval", "few_mc"),
    ]
    for one in report["logs"]:
        assert abs(one["stated"] - one["counted"]) <= AGREE, one
        assert one["counted"] == pytest.approx(share, abs=AGREE), one
    board = json.loads((ran / "board" / "leaderboard.json").read_text())
    assert len(board["standings"]) == 5
    assert {(row["accuracy"], row["tier"], row["rank"]) for row in board["standings"]} == {
        (round(share, 6), 1, 1)
    }


def test_one_extractor_gives_the_replies_of_all_three_the_same_scores(ran: Path) -> None:
    logs = ("logs/inspect", "logs/lm_eval", "logs/lighteval", "--release", "few", "--apart")
    kina("results", *logs, "--responses", "replies.jsonl", "-o", "all.jsonl", cwd=ran)
    marked = ("--task", "multiple-choice", "--release", "few", "--responses", "replies.jsonl")
    report = kina("score", *marked, "-o", "marked.jsonl", cwd=ran)
    assert len(report["models"]) == 3
    assert len({(one["score"], one["answered"]) for one in report["models"]}) == 1
    by_item: dict[str, set[float]] = {}
    for row in read_rows(ran / "marked.jsonl"):
        by_item.setdefault(row["item_id"], set()).add(row["score"])
    assert set(map(len, by_item.values())) == {1}
    board = kina("rank", "--scores", "marked.jsonl", "--release", "few", cwd=ran)
    assert {row["rank"] for row in board["standings"]} == {1}
