"""kina results: other tools' logs, each in a few literal rows of its own form."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.scoring.logs.reading import read_logs
from kina_build.scoring.options import ResultsOptions
from kina_build.scoring.results import collect_results

Kina = Callable[..., Result]
OPTIONS = ["cats", "dogs", "fish"]


def sample(item_id: str, epoch: int, value: Any, **more: Any) -> dict[str, Any]:
    """One sample of Inspect."""
    reply = f"ANSWER: {'B' if value == 'C' else 'C'}"
    return {
        "id": item_id,
        "epoch": epoch,
        "choices": OPTIONS,
        "target": "B",
        "messages": [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": reply}],
        "output": {"completion": reply, "usage": {"input_tokens": 5, "output_tokens": 2}},
        "scores": {"choice": {"value": value, "answer": "B" if value == "C" else "C"}},
        "total_time": 1.5,
    } | more


def inspect_log(samples: list[dict[str, Any]], accuracy: float | None) -> dict[str, Any]:
    """A log of Inspect."""
    metrics = {} if accuracy is None else {"accuracy": {"value": accuracy}}
    return {
        "status": "success",
        "eval": {"model": "openai/m", "task": "toy", "metadata": {"content_hash": "c0"}},
        "results": {"scores": [{"name": "choice", "metrics": metrics}]},
        "samples": samples,
    }


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pack_eval(path: Path, document: dict[str, Any], method: int) -> Path:
    """Write an .eval file, whose members Inspect packs by Zstandard (93)."""
    members = {"header.json": {k: v for k, v in document.items() if k != "samples"}} | {
        f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in document["samples"]
    }
    out = io.BytesIO()
    sizes = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            raw = json.dumps(value).encode()
            packed = pa.Codec("zstd").compress(raw, asbytes=True) if method == 93 else raw
            archive.writestr(name, packed)
            sizes.append((name, len(raw)))
    data = bytearray(out.getvalue())
    if method == 93:
        begin = 0
        for _, size in sizes:  # say in both headers what zipfile itself cannot write
            at = data.index(b"PK\x03\x04", begin)
            data[at + 8 : at + 10] = (93).to_bytes(2, "little")
            data[at + 22 : at + 26] = size.to_bytes(4, "little")
            begin = at + 4
        begin = 0
        for _, size in sizes:
            at = data.index(b"PK\x01\x02", begin)
            data[at + 10 : at + 12] = (93).to_bytes(2, "little")
            data[at + 24 : at + 28] = size.to_bytes(4, "little")
            begin = at + 4
    path.write_bytes(bytes(data))
    return path


FOUR = [sample("q1", 1, "C"), sample("q1", 2, "I"), sample("q2", 1, "C"), sample("q2", 2, "C")]


def test_inspect_grades_are_no_letters(tmp_path: Path) -> None:
    [log], _ = read_logs([write(tmp_path / "log.json", inspect_log(FOUR, 0.75))])
    first = log.trials[1]
    assert (first.item_id, first.epoch, first.score, first.letter, first.answer) == ("q1", 1, 0.0, "C", "B")
    assert (first.response, first.time_s, first.prompt_tokens, first.dataset) == ("ANSWER: C", 1.5, 5, "c0")
    assert (log.agreement.counted, log.agreement.agrees, log.model) == (0.75, True, "openai/m")


@pytest.mark.parametrize("method", [0, 93])
def test_an_eval_file_reads_as_its_json(tmp_path: Path, method: int) -> None:
    document = inspect_log(FOUR, 0.75)
    [plain], _ = read_logs([write(tmp_path / "log.json", document)])
    [packed], _ = read_logs([pack_eval(tmp_path / "log.eval", document, method)])
    assert packed == plain


def test_a_damaged_eval_file_is_one_line(tmp_path: Path) -> None:
    path = pack_eval(tmp_path / "log.eval", inspect_log(FOUR, 0.75), 93)
    data = path.read_bytes()
    at = data.index(b"samples/") + 30
    path.write_bytes(data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :])
    with pytest.raises(InputError, match=r"log\.eval"):
        read_logs([path])


def test_a_failed_sample_has_no_score(tmp_path: Path) -> None:
    bad = sample("q3", 1, None, error={"message": "boom"}, scores={}, output={})
    [log], _ = read_logs([write(tmp_path / "log.json", inspect_log([*FOUR, bad], 0.75))])
    assert log.agreement.failed == 1
    assert (log.trials[-1].score, log.trials[-1].response, log.trials[-1].error) == (None, None, "boom")


def harness_row(n: int, score: float, filter_name: str = "none") -> dict[str, Any]:
    """One sample of lm-evaluation-harness, by likelihood."""
    return {
        "doc_id": n,
        "doc": {"id": f"q{n}", "question": "Which?", "choices": OPTIONS, "answer": "B"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "Which?", "arg_1": " A"}},
        "resps": [[["-1.5", "False"]], [["-0.5" if score else "-2.5", "True"]], [["-2.0", "False"]]],
        "filter": filter_name,
        "metrics": ["acc"],
        "acc": score,
    }


def harness_results(value: float) -> dict[str, Any]:
    return {
        "results": {"toy": {"acc,none": value}},
        "configs": {"toy": {"metadata": {"content_hash": "c0"}}},
        "config": {"model": "hf", "model_args": "pretrained=org/m,dtype=float32"},
        "model_name": "org__m",
    }


def test_lm_eval_samples_take_the_model_from_the_results_beside_them(tmp_path: Path) -> None:
    samples = write_lines(tmp_path / "samples_toy_2026-01-01T00-00-00.1.jsonl",
                          [harness_row(1, 1.0), harness_row(2, 0.0)])  # fmt: skip
    with pytest.raises(InputError, match="samples name no model"):
        read_logs([samples])
    write(tmp_path / "results_2026-01-01T00-00-00.1.json", harness_results(0.5))
    [log], _ = read_logs([samples])
    assert (log.model, log.task, log.stated, log.agreement.agrees) == ("org/m", "toy", 0.5, True)
    assert [(one.letter, one.score) for one in log.trials] == [("B", 1.0), ("A", 0.0)]


def test_several_filters_must_be_chosen_between(tmp_path: Path) -> None:
    rows = [harness_row(1, 1.0, name) for name in ("strict", "flexible")]
    path = write_lines(tmp_path / "samples_toy_1.jsonl", rows)
    with pytest.raises(InputError, match="filters strict, flexible"):
        collect_results(ResultsOptions(logs=(path,), model="m"))
    assert len(collect_results(ResultsOptions(logs=(path,), model="m", filter="strict")).trials) == 1


def light_rows() -> list[dict[str, Any]]:
    query = "Which, {}?\n\nA: cats\nB: dogs\nC: fish\n\nAnswer:"
    return [
        {
            "doc": {
                "query": query.format(place + 1),
                "choices": [" A", " B", " C"],
                "gold_index": 1,
                "id": str(place),
                "task_name": "toy|0",
                "specific": None,
            },
            "metric": {"acc": right},
            "model_response": {"text": [], "logprobs": [-1.0, -0.5 if right else -2.0, -3.0]},
        }
        for place, right in ((1, 1), (0, 0))
    ]


def write_light(folder: Path) -> None:
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(light_rows()), folder / "details_toy|0_2026.parquet")
    write(
        folder / "results_2026.json",
        {"results": {"toy|0": {"acc": 0.5}}, "config_general": {"model_name": "m"}},
    )


def write_release(folder: Path, names: list[str]) -> None:
    rows = [
        {"id": name, "question": f"Which, {n}?", "choices": OPTIONS, "answer": "B", "discipline": "Law"}
        for n, name in enumerate(names, start=1)
    ]
    write_lines(folder / "test.jsonl", rows)


def test_lighteval_knows_places_and_a_release_gives_ids(tmp_path: Path) -> None:
    write_light(tmp_path / "light")
    write_release(tmp_path / "release", ["z9", "a1"])  # the split's order, which is not that of the ids
    bare = collect_results(ResultsOptions(logs=(tmp_path / "light",)))
    assert [(one.item_id, one.score) for one in bare.trials] == [("0", 0.0), ("1", 1.0)]
    known = collect_results(ResultsOptions(logs=(tmp_path / "light",), release=tmp_path / "release"))
    assert [(one.item_id, one.score, one.letter) for one in known.trials] == [
        ("a1", 1.0, "B"),
        ("z9", 0.0, "A"),
    ]
    write_release(tmp_path / "other", ["a1"])
    with pytest.raises(InputError, match="place 1 of the split holds another question"):
        collect_results(ResultsOptions(logs=(tmp_path / "light",), release=tmp_path / "other"))


def helm_stat(name: str, value: float) -> dict[str, Any]:
    return {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}


def test_helm_runs_are_read_by_folder_without_the_perturbed(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "mmlu:subject=law,model=org_m"
    spec = {"name": "mmlu:subject=law,model=org_m", "adapter_spec": {"model": "org/m"}}
    write(run / "run_spec.json", spec)
    rows = [
        {"instance_id": f"id{n}", "perturbation": typo, "train_trial_index": 0,
         "stats": [helm_stat("num_tokens", 4), helm_stat("exact_match", score)]}
        for n, score, typo in ((1, 1.0, None), (2, 0.0, None), (2, 1.0, {"name": "typos"}))
    ]  # fmt: skip
    write(run / "per_instance_stats.json", rows)
    write(run / "stats.json", [helm_stat("exact_match", 0.5)])
    [log], passed = read_logs([tmp_path / "runs"])
    assert (log.model, log.task, log.metric, log.agreement.counted) == (
        "org/m",
        "mmlu:subject=law",
        "exact_match",
        0.5,
    )
    assert log.agreement.agrees
    assert "1 perturbed instances are left out" in log.notes[0]
    assert passed == []


def test_every_eval_ever_instances_and_their_aggregate(tmp_path: Path) -> None:
    rows = [
        {"schema_version": "0.2.1", "evaluation_id": "toy/m/1", "model_id": "org/m",
         "evaluation_name": "toy", "sample_id": f"q{n}", "interaction_type": "single_turn",
         "input": {"raw": "Which?", "reference": ["B"], "choices": OPTIONS},
         "output": {"raw": ["It is B."]},
         "answer_attribution": [{"turn_idx": 0, "extracted_value": "B", "is_terminal": True}],
         "evaluation": {"score": score, "is_correct": bool(score)}}
        for n, score in ((1, 1.0), (2, 0.0))
    ]  # fmt: skip
    write_lines(tmp_path / "log" / "samples.jsonl", rows)
    aggregate = {
        "schema_version": "0.2.1", "evaluation_id": "toy/m/1",
        "evaluation_results": [{"evaluation_name": "toy", "score_details": {"score": 0.5}}],
    }  # fmt: skip
    write(tmp_path / "log" / "eval.json", aggregate)
    [log], _ = read_logs([tmp_path / "log"])
    assert (log.model, log.stated, log.agreement.agrees) == ("org/m", 0.5, True)
    assert (log.trials[0].letter, log.trials[0].response) == ("B", "It is B.")


def test_mmlu_pro_rows_never_score_a_letter_that_was_not_read(tmp_path: Path) -> None:
    rows = [
        {"question_id": n, "question": "Which?", "options": OPTIONS, "answer": "B", "category": "law",
         "pred": pred, "model_outputs": "The answer is (B)."}
        for n, pred in ((7, "B"), (8, None), (9, "C"))
    ]  # fmt: skip
    [log], _ = read_logs([write(tmp_path / "model_outputs_m_5shots.json", rows)])
    assert log.model == "m"
    assert [(one.item_id, one.score, one.discipline) for one in log.trials] == [
        ("7", 1.0, "law"),
        ("8", 0.0, "law"),
        ("9", 0.0, "law"),
    ]
    assert "1 replies without a letter count as wrong" in log.notes[0]


def test_results_of_kinas_runner_are_marked_by_our_rule(tmp_path: Path) -> None:
    metadata = {
        "question": "Which?", "category": "Law/Civil/Torts", "ground_truth": "B",
        "options": {"A": {"answer": "cats"}, "B": {"answer": "dogs"}},
    }  # fmt: skip
    replies = [{"content": "Answer: B"}, {"content": "Answer: A"}, {"content": None}]
    path = tmp_path / "m" / "run" / "KINA-899.jsonl"
    write_lines(path, [{"id": 5, "responses": replies, "metadata": metadata}])
    [log], _ = read_logs([path])
    assert (log.model, log.tool) == ("m", "kina-runner")
    assert [(one.epoch, one.score, one.letter) for one in log.trials] == [
        (0, 1.0, "B"),
        (1, 0.0, "A"),
        (2, None, None),
    ]
    assert log.trials[0].discipline == "Law"


def test_a_matrix_has_a_model_a_column(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("item_id,discipline,good,poor\nq1,law,1,0\nq2,law,1,\n")
    good, poor = read_logs([tmp_path / "m.csv"])[0]
    assert [one.score for one in good.trials] == [1.0, 1.0]
    assert [one.score for one in poor.trials] == [0.0, None]
    (tmp_path / "m.csv").write_text("item_id,good\nq1,80\n")
    with pytest.raises(RowErrors, match="m.csv:2: good: '80' is not a number"):
        read_logs([tmp_path / "m.csv"])


def test_files_of_no_kind_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", {"a": 1})
    with pytest.raises(InputError, match=r"x\.json: a log of no kind that is known"):
        read_logs([path])
    write_lines(tmp_path / "y.jsonl", [{"b": 1}])
    with pytest.raises(InputError, match="no log with scores by item"):
        read_logs([tmp_path])


def test_two_logs_of_one_model_and_item_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", inspect_log(FOUR, 0.75))
    write(tmp_path / "b.json", inspect_log(FOUR, 0.75))
    with pytest.raises(InputError, match="two logs hold a score of item 'q1'"):
        collect_results(ResultsOptions(logs=(tmp_path,)))


def test_a_model_is_renamed_but_two_are_not_made_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", inspect_log(FOUR, 0.75))
    assert {one.model for one in collect_results(ResultsOptions(logs=(path,), model="x")).trials} == {"x"}
    (tmp_path / "m.csv").write_text("item_id,good,poor\nq1,1,0\n")
    with pytest.raises(UsageError, match="--model x: the logs are of 2 models"):
        collect_results(ResultsOptions(logs=(tmp_path / "m.csv",), model="x"))


def test_command_says_when_a_log_states_another_accuracy(kina: Kina, tmp_path: Path) -> None:
    write(tmp_path / "log.json", inspect_log(FOUR, 0.5))
    told = kina("results", tmp_path / "log.json", "-o", tmp_path / "scores.jsonl")
    assert (told.exit_code, "its log states 0.5, its scores give 0.75" in told.stderr) == (1, True)
    write(tmp_path / "log.json", inspect_log(FOUR, 0.75))
    right = kina("results", tmp_path / "log.json", "-o", tmp_path / "scores.jsonl", "--json")
    assert right.exit_code == 0
    assert json.loads(right.stdout)["logs"][0]["agrees"] is True


def test_one_extractor_reads_the_replies_of_all_tools(kina: Kina, tmp_path: Path) -> None:
    """The harness read no letter in a reply of another form; ours reads the same one from every log."""
    reply = "The correct option is **B**."
    one = sample("q1", 1, "I", output={"completion": reply})
    write(tmp_path / "inspect.json", inspect_log([one], 0.0))
    row = harness_row(1, 0.0) | {"resps": [[reply]], "filtered_resps": ["[invalid]"]}
    write_lines(tmp_path / "samples_toy_1.jsonl", [row])
    write_release(tmp_path / "release", ["q1"])
    scores = {}
    for name in ("inspect.json", "samples_toy_1.jsonl"):
        read = kina("results", tmp_path / name, "-o", "s.jsonl", "--responses", "r.jsonl", "--model", "m",
                    "--overwrite")  # fmt: skip
        assert read.exit_code == 0, read.stderr
        marked = kina("score", "--task", "multiple-choice", "--release", tmp_path / "release",
                      "--responses", "r.jsonl", "--json")  # fmt: skip
        assert marked.exit_code == 0, marked.stderr
        scores[name] = json.loads(marked.stdout)["models"][0]["score"]
    assert scores == {"inspect.json": 1.0, "samples_toy_1.jsonl": 1.0}


@pytest.mark.real
def test_real_logs_agree_with_their_tools(shared: Path) -> None:
    logs, _ = read_logs([shared / "logs"])
    assert sorted({log.tool for log in logs}) == ["inspect", "lighteval", "lm-eval"]
    assert len(logs) == 7
    assert all(log.stated is not None and log.agreement.agrees for log in logs)


def test_lighteval_rows_with_ids_of_their_own_are_looked_up_by_them(tmp_path: Path) -> None:
    """The release's own task names each item; "1" is then an id and no place."""
    rows = light_rows()
    for row, name in zip(rows, ("2", "1"), strict=True):
        row["doc"]["specific"] = {"id": name}
    (tmp_path / "light").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "light" / "details_toy|0_2026.parquet")
    write_release(tmp_path / "release", ["1", "2"])
    options = ResultsOptions(logs=(tmp_path / "light",), release=tmp_path / "release", model="m")
    assert [(one.item_id, one.score) for one in collect_results(options).trials] == [("1", 0.0), ("2", 1.0)]


def test_places_are_not_joined_with_ids_nor_with_places_of_another_task(tmp_path: Path) -> None:
    write_light(tmp_path / "light")
    write(tmp_path / "log.json", inspect_log(FOUR, 0.75))
    with pytest.raises(InputError, match=r"knows its items by their place in toy, beside .*log\.json"):
        collect_results(ResultsOptions(logs=(tmp_path,)))
    for subject, model in (("law", "x"), ("art", "y")):
        row = {"instance_id": "id1", "perturbation": None, "train_trial_index": 0,
               "stats": [helm_stat("exact_match", 1.0)]}  # fmt: skip
        write(tmp_path / "runs" / f"mmlu:subject={subject},model={model}" / "per_instance_stats.json", [row])
    with pytest.raises(InputError, match=r"in mmlu:subject=law, beside .* of the task mmlu:subject=art"):
        collect_results(ResultsOptions(logs=(tmp_path / "runs",)))
    both = collect_results(ResultsOptions(logs=(tmp_path / "runs",), task=("mmlu:*",)))
    assert [one.item_id for one in both.trials] == ["mmlu:subject=law:id1", "mmlu:subject=art:id1"]


def test_one_id_for_two_questions_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", inspect_log(FOUR, 0.75))
    other = inspect_log([sample("q1", 1, "C", choices=["iron", "gold", "zinc"])], 1.0)
    other["eval"]["model"] = "openai/n"
    write(tmp_path / "b.json", other)
    with pytest.raises(InputError, match="item 'q1' has other options in inspect's toy"):
        collect_results(ResultsOptions(logs=(tmp_path,)))


def test_logs_of_one_model_stand_apart_on_one_board(kina: Kina, tmp_path: Path) -> None:
    """One command from logs to pages; a row without a discipline contradicts none."""
    write(tmp_path / "logs" / "a.json", inspect_log(FOUR, 0.75))
    told = [one | {"metadata": {"discipline": "Law"}} for one in FOUR]
    write(tmp_path / "logs" / "b.json", inspect_log(told, 0.75))
    done = kina("results", tmp_path / "logs", "--apart", "--board", "board", "-o", "scores.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    board = json.loads(Path("board/leaderboard.json").read_text())
    names = {"openai/m (inspect, toy, a.json)", "openai/m (inspect, toy, b.json)"}
    assert {row["model"] for row in board["standings"]} == names
    assert {row["tier"] for row in board["standings"]} == {1}
    assert "openai/m (inspect, toy, a.json)" in Path("board/leaderboard.html").read_text()
    assert json.loads(done.stdout)["board"]["standings"] == board["standings"]


def test_missing_without_a_board_is_refused(kina: Kina, tmp_path: Path) -> None:
    write(tmp_path / "a.json", inspect_log(FOUR, 0.75))
    done = kina("results", "a.json", "--missing", "wrong")
    assert (done.exit_code, "--missing belongs to --board" in done.stderr) == (2, True)


def test_scores_by_likelihood_have_no_reply_to_be_marked_anew(tmp_path: Path) -> None:
    """A call that failed stays among the replies: it is missing, where a likelihood is not."""
    samples = write_lines(tmp_path / "samples_toy_2026.jsonl", [harness_row(1, 1.0)])
    write(tmp_path / "results_2026.json", harness_results(1.0))
    bad = sample("q3", 1, None, error={"message": "boom"}, scores={}, output={})
    log = write(tmp_path / "log.json", inspect_log([sample("q1", 1, "C"), bad], 1.0))
    found = collect_results(ResultsOptions(logs=(samples, log)))
    assert found.report["notes"] == ["org/m, toy: scores without replies; there is nothing to mark anew"]
    found.write_responses(tmp_path / "replies.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text().splitlines()]
    assert [(row["item_id"], row["status"]) for row in rows] == [("q1", "ok"), ("q3", "server_error")]
