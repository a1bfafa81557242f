"""Run the flow on public corpora: `make real`, or `python -m benchmarks.real --data DIR --into DIR`.

Two projects, each of which `kina build` makes. In `redux` MMLU-Redux is the pool (5,700 questions
of 57 subjects: subject = subfield, MMLU's area = field), AGIEval is what it may be contaminated
with, and 300 items are selected by quota. In `pro` 899 items of MMLU-Pro are selected and the 26
models that answered it are ranked on them. Anchors are drawn from each pool itself by one rule:
in every subfield the items with the smallest sha256 of their id, of those that annotators found
sound. They are the bank: a decision drops them, or the selection would cover each anchor by
itself. What waits for people (held pairs, doubtful keys) is left waiting.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.project import make_ruling
from kina_build.rows.jsonl import write_records
from kina_build.rows.tables import write_csv

HUMANITIES = """formal_logic high_school_european_history high_school_us_history high_school_world_history
international_law jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory
professional_law world_religions"""
SOCIAL_SCIENCES = """econometrics high_school_geography high_school_government_and_politics
high_school_macroeconomics high_school_microeconomics high_school_psychology human_sexuality
professional_psychology public_relations security_studies sociology us_foreign_policy"""
OTHER = """anatomy business_ethics clinical_knowledge college_medicine global_facts human_aging management
marketing medical_genetics miscellaneous nutrition professional_accounting professional_medicine virology"""
AREAS = {"Humanities": HUMANITIES, "Social sciences": SOCIAL_SCIENCES, "Other": OTHER}
"""MMLU's areas (Hendrycks et al. 2021, arXiv 2009.03300); what is in none is STEM."""


KINA = (sys.executable, "-m", "kina_build.cli.main")
BANK = "stands in the bank of anchors"
DRAWN_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""Of the decisions that drop the bank: a fixed instant, so that the same data gives the same files."""
HEAD = """[project]
name = "{name}"
title = "{title}"
size = {size}
near = {near}

[project.anchors]
files = ["drawn.csv"]

[project.quota]
by = "subfield"
"""
AREA = """
[[project.source]]
files = {files}
map = {{ correct_answer = "answer" }}
set = {{ field = "{area}" }}
name_as = "subfield"
cut_prefix = "mmlu_"
encoding = "mac_roman"
license = "CC-BY-4.0"
source = "MMLU-Redux"
"""
PRO = """
[[project.source]]
files = ["items.jsonl"]
map = { item_id = "question_id", discipline = "", subfield = "category" }
set = { field = "MMLU-Pro" }
license = "Apache-2.0"
source = "MMLU-Pro"

[project.responses]
files = ["responses.jsonl"]
"""


def kina(line: str, *more: Path | str) -> None:
    """Run one command as a user would, and show it; what it finds, or what waits, is no failure."""
    arguments = [*line.split(), *map(str, more)]
    print("$ kina", line, *([f"... {len(more)} more"] if more else []), flush=True)
    done = subprocess.run([*KINA, *arguments], check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"kina {arguments[0]} ended with exit code {done.returncode}")


@contextlib.contextmanager
def project(folder: Path, data: Path) -> Iterator[None]:
    """Work in a project's folder, in which the corpora stand as `raw`."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        raw = Path("raw")
        raw.unlink(missing_ok=True)
        raw.symlink_to(data, target_is_directory=True)
        yield


def build(count: int, sound: Callable[[Item], bool]) -> None:
    """Import the pool, draw the bank from it, and build the rest."""
    if not Path("drawn.csv").exists():
        write_csv(Path("drawn.csv"), FIELDS, [])
    kina("build import")
    draw_anchors(count, sound)
    kina("build")
    if allow_gates():
        kina("build")


def allow_gates() -> list[str]:
    """Let the gates pass that stop the release: the corpora are measured as they were published."""
    told = subprocess.run([*KINA, "status", "--json"], check=False, capture_output=True)
    cases = [case for stage in json.loads(told.stdout)["stages"] for case in stage["cases"]]
    gates = sorted({case["subject"][0] for case in cases if case["kind"] == "gate"})
    for gate in gates:
        kina(f"decide gate {gate} allow --who bench --reason", "measured as it was published")
    return gates


FIELDS = ["anchor_id", "domain", "kind", "statement", "stratum"]


def draw_anchors(count: int, sound: Callable[[Item], bool]) -> None:
    """Write the bank as anchors, and a decision for each of its items that drops it."""
    items = {item.item_id: item for item in read_pool(Path("pool.jsonl"))}
    by_subfield: dict[str, list[Item]] = defaultdict(list)
    for item in items.values():
        if sound(item):
            by_subfield[item.subfield].append(item)
    bank = [
        item
        for _, some in sorted(by_subfield.items())
        for item in sorted(some, key=lambda i: hashlib.sha256(i.item_id.encode()).hexdigest())[:count]
    ]
    rows = [
        (f"anchor:{i.item_id}", i.field, "item", f"{i.question} {i.correct_text}", i.subfield) for i in bank
    ]
    write_csv(Path("drawn.csv"), FIELDS, [dict(zip(FIELDS, row, strict=True)) for row in rows])
    rulings = [
        make_ruling("item", [item.item_id], "drop", who="bank", reason=BANK, at=DRAWN_AT, items=items)
        for item in bank
    ]
    Path("decisions").mkdir(exist_ok=True)
    write_records(Path("decisions/item-bank.jsonl"), rulings)


def run_redux(*, near: bool = True) -> None:
    by_area: dict[str, list[str]] = defaultdict(list)
    for file in sorted(Path("raw/mcq/mmlu_redux").glob("mmlu_*.csv")):
        subject = file.stem.removeprefix("mmlu_")
        area = next((a for a, subjects in AREAS.items() if subject in subjects.split()), "STEM")
        by_area[area].append(file.as_posix())
    head = HEAD.format(name="redux", title="300 of MMLU-Redux", size=300, near=str(near).lower())
    # `answer` is MMLU's key; what the annotators think of it stays in the metadata
    areas = [AREA.format(files=json.dumps(files), area=area) for area, files in sorted(by_area.items())]
    corpus = '\n[project.contamination]\nagainst = ["agieval.jsonl"]\n'
    Path("kina.toml").write_text(head + "".join(areas) + corpus, encoding="utf-8")
    # the packaged encoder reads English; gaokao-english is the one English file of the Chinese exams
    files = sorted(Path("raw/mcq/agieval").glob("*.jsonl"))
    agieval = [file for file in files if not file.stem.startswith("gaokao") or file.stem == "gaokao-english"]
    kina("import -q --keep-going --prefix-ids -o agieval.jsonl", *agieval)
    build(4, lambda item: item.metadata.get("verdict") == "ok")


def run_pro() -> None:
    # near copies of 12,032 items are not what this measures
    head = HEAD.format(name="pro", title="899 of MMLU-Pro", size=899, near="false")
    Path("kina.toml").write_text(head + PRO, encoding="utf-8")
    write_responses(Path("raw/mmlu_pro"))
    build(12, lambda _item: True)


def write_responses(folder: Path) -> None:
    """Write the items that have a choice, and the letters that the models gave, a row each."""
    items = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    kept = {item["question_id"] for item in items if len(item["options"]) > 1}
    with Path("items.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(item) + "\n" for item in items if item["question_id"] in kept)
    with Path("responses.jsonl").open("w", encoding="utf-8") as out:
        for line in (folder / "answers.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            for item, letter in zip(items, row["answers"], strict=True):
                if item["question_id"] in kept:
                    reply = "" if letter == "-" else f"The answer is ({letter})."
                    told = {"item_id": str(item["question_id"]), "model": row["model"], "response": reply}
                    out.write(json.dumps(told) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder of the public corpora")
    parser.add_argument("--into", type=Path, default=Path("real"), help="folder to work in")
    parser.add_argument("--only", choices=["redux", "pro"], help="one half of the run")
    parser.add_argument("--no-near", action="store_true", help="look for copies by letters only")
    given = parser.parse_args(arguments)
    data = given.data.resolve()
    if not (data / "mcq" / "mmlu_redux").is_dir():
        raise SystemExit(f"{given.data}: the public corpora are not there")
    if given.only != "pro":
        with project(given.into / "redux", data):
            run_redux(near=not given.no_near)
    if given.only != "redux":
        with project(given.into / "pro", data):
            run_pro()


if __name__ == "__main__":
    main()
