"""A small project of the demo's questions: no encoder is asked, so that a build takes a few seconds."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kina_build.cli.main import app

DATA = files("kina_build") / "data"
PLANTED = {"q016", "q022", "q063", "q072", "q074", "q087"}
"""Items of the demo about which people are asked."""
TOML = """
[project]
name = "small"
size = 6
near = false

[[project.source]]
files = ["questions.csv"]

[project.anchors]
files = ["anchors.csv"]

[project.support]
method = "ratings"
ratings = ["ratings.csv"]

[project.quota]
by = "field"
domain_by = "discipline"

[project.responses]
files = ["responses.jsonl"]

[review.batch]
reviewers = "reviewers.csv"
reviews = ["reviews.jsonl"]
base = "2.00"
bonus = "5.00"
"""

INPUTS = {
    "kina.toml",
    "questions.csv",
    "anchors.csv",
    "ratings.csv",
    "reviewers.csv",
    "reviews.jsonl",
    "responses.jsonl",
    "kina.salt",
}
"""The salt is drawn at random where there is none: two projects would hide ids by other hashes."""


def run_kina(folder: Path, *words: str, stdin: str | None = None) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, list(words), input=stdin)


def ran(result: Result) -> list[str]:
    """Return the stages that a build with --json ran, in order."""
    return [one["stage"] for one in json.loads(result.stdout)["stages"] if one["ran"]]


def states(result: Result) -> dict[str, str]:
    return {one["stage"]: one["state"] for one in json.loads(result.stdout)["stages"]}


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def make_project(folder: Path) -> Path:
    """Write kina.toml and its files: 24 questions of two fields, their reviews and replies."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in table("pool.csv") if row["id"] not in PLANTED and row["field"] != "Physics"]
    seen: dict[str, dict[str, str]] = {}
    for row in rows:
        seen.setdefault(row["question"], row)
    pool = list(seen.values())[:24]
    ids = {row["id"] for row in pool}
    write_csv(folder / "questions.csv", pool)
    anchors = [row for row in table("anchors.csv") if row["domain"] != "Physics"][:8]
    write_csv(folder / "anchors.csv", anchors)
    ratings = [
        {"item_id": row["id"], "anchor_id": anchors[n % len(anchors)]["anchor_id"], "score": f"0.{1 + n % 9}"}
        for n, row in enumerate(pool)
    ]
    write_csv(folder / "ratings.csv", ratings)
    for name in ("reviewers.csv", "kina.salt"):
        shutil.copy(str(DATA / name), folder / name)
    for name in ("reviews.jsonl", "responses.jsonl"):
        lines = (DATA / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text(
            "".join(x for x in lines if json.loads(x)["item_id"] in ids), encoding="utf-8"
        )
    (folder / "kina.toml").write_text(TOML, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small project that was built; nobody changes it."""
    folder = make_project(tmp_path_factory.mktemp("project") / "small")
    done = run_kina(folder, "build", "--json")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """Return a copy of the built project."""
    return Path(shutil.copytree(built, tmp_path / "small"))


def make_full_project(folder: Path) -> Path:
    """Write a project with more stages: two sources, patches, other corpora, a panel, a top-up, overrides."""
    make_project(folder)
    rows = list(csv.DictReader((folder / "questions.csv").read_text(encoding="utf-8").splitlines()))
    (folder / "questions.csv").unlink()
    write_csv(folder / "one.csv", rows[:12])
    write_csv(folder / "two.csv", rows[12:])
    elsewhere = {"item_id": "x1", "question": "Where does this stand?", "options": ["here", "there"]}
    (folder / "elsewhere.jsonl").write_text(json.dumps(elsewhere | {"correct_answer": "A"}) + "\n")
    models = sorted(
        {json.loads(line)["model"] for line in (folder / "responses.jsonl").read_text().splitlines()}
    )[:2]
    text = TOML.replace(
        'files = ["questions.csv"]', 'files = ["one.csv"]\n[[project.source]]\nfiles = ["two.csv"]'
    )
    text = text.replace("near = false", 'near = false\npatches = ["patches.jsonl"]').replace(
        "size = 6", "size = 4"
    )
    text += f"""
[project.contamination]
against = ["elsewhere.jsonl"]

[project.panel]
models = {json.dumps([models[0], f"{models[1]}@2026-05"])}

[project.top_up]

[items]
difficulty_low = 0.0
difficulty_high = 1.0
"""
    (folder / "kina.toml").write_text(text, encoding="utf-8")
    for n, name in enumerate(("one", "two"), start=1):
        assert run_kina(folder, "import", f"{name}.csv", "-o", f"part-{n}.jsonl").exit_code == 0
    item = rows[0]
    why = ["--by", "ann", "--why", "a nicer word", "-o", "patches.jsonl"]
    mended = ["--item", item["id"], "--set", "explanation=Choose one."]
    done = run_kina(folder, "fix", "part-1.jsonl", *mended, *why)
    assert done.exit_code == 0, done.output
    for path in folder.glob("part-*"):
        path.unlink()
    built = run_kina(folder, "build", "import")
    assert built.exit_code == 0, built.output
    keep = ["--who", "ann", "--reason", "it is fine"]
    assert run_kina(folder, "decide", "item", rows[1]["id"], "keep", *keep).exit_code == 0
    return folder


@pytest.fixture(scope="session")
def built_full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with every stage, built; nobody changes it."""
    folder = make_full_project(tmp_path_factory.mktemp("project") / "full")
    done = run_kina(folder, "build", "--json")
    assert done.exit_code == 0, done.output
    return folder
