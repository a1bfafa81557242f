"""`kina build`: what is stale and nothing else, in order, safe to kill, clear about what waits."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from kina_build.manifest import Manifest, sidecar
from kina_build.project.folder import need_project
from kina_build.project.graph.plan import draw_graph, in_order, plan
from kina_build.project.walk import read_holding
from kina_build.rows.jsonl import read_document
from tests.project.conftest import INPUTS, make_project, ran, run_kina, states

pytestmark = pytest.mark.xdist_group("project")

KEYED = {"ledger.db", "ledger.db.key", "ledger.db.mark", "ledger.db.payees.json"}
"""Payees are known to a ledger by a hash with a key of its own: no two ledgers are equal."""
HEAD = re.compile(rb"ledger-head:\d+:[0-9a-f]{64}")
ORDER_ONLY = {("certify", "export")}
"""Edges that only order: nothing is released whose certificate does not hold."""


def outputs(folder: Path) -> dict[str, bytes]:
    """Return all that a build makes but the log, what no two ledgers share, and what tells of them."""
    return {
        name: HEAD.sub(b"ledger-head", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := path.relative_to(folder).as_posix()).startswith("run/")
        and name not in KEYED
        and name not in {"contests.jsonl.manifest.json", "report.manifest.json"}
    }


def test_a_second_build_runs_nothing_and_changes_no_byte(project: Path) -> None:
    before = outputs(project)
    again = run_kina(project, "build", "--json")
    assert (again.exit_code, ran(again)) == (0, [])
    assert outputs(project) == before
    assert json.loads(again.stdout)["complete"] is True


@pytest.mark.parametrize("which", ["built", "built_full"])
def test_every_edge_is_what_the_reader_s_manifest_says(
    which: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a stage declares to read is what its command digested, and what its owner wrote: no edge is
    missing a digest, and by `Job.look` a digest that changed is a stage that runs again."""
    monkeypatch.chdir(request.getfixturevalue(which))
    project = need_project()
    graph = draw_graph(plan(project, read_holding(project)))
    assert len(graph.edges) > 20
    assert {"panel", "top-up", "contamination", "overrides", "import 2"} <= set(graph) or which == "built"
    edges = [
        (owner, reader, name) for owner, reader, names in graph.edges(data="artefacts") for name in names
    ]
    for owner, reader, name in edges:
        if (owner, reader) in ORDER_ONLY or name in KEYED:
            continue
        wrote, read = (graph.nodes[one]["stage"] for one in (owner, reader))
        said = read_document(sidecar(Path(read.owns[0])), Manifest).inputs
        made = read_document(sidecar(Path(wrote.owns[0])), Manifest).outputs
        assert Path(name).name in said, (owner, reader, name)
        assert "/" in name or said[name].sha256 == made[name].sha256, (owner, reader, name)


@pytest.mark.parametrize("which", ["built", "built_full"])
def test_a_stage_reads_nothing_of_another_that_the_graph_does_not_know(
    which: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way round: all that a command digested and a stage owns is an edge, so none is missing."""
    monkeypatch.chdir(request.getfixturevalue(which))
    project = need_project()
    graph = draw_graph(plan(project, read_holding(project)))
    owners = {name: one for one, data in graph.nodes(data=True) for name in data["stage"].artefacts}
    for name, data in graph.nodes(data=True):
        if data["stage"].last:
            continue
        for read in read_document(sidecar(Path(data["stage"].owns[0])), Manifest).inputs:
            owner = owners.get(read, name)
            assert owner == name or graph.has_edge(owner, name), (owner, name, read)


def change_question(folder: Path) -> None:
    """Another text; the replies to the old one are left out, as triage asks."""
    path = folder / "questions.csv"
    text = path.read_text(encoding="utf-8")
    first = text.split("\n")[1]
    path.write_text(text.replace(first, first.replace("?", " of all?", 1), 1), encoding="utf-8")
    replies = folder / "responses.jsonl"
    kept = [
        line
        for line in replies.read_text().splitlines(True)
        if json.loads(line)["item_id"] != first.split(",")[0]
    ]
    replies.write_text("".join(kept))


def change_source(folder: Path) -> None:
    """Another source of a question: nothing that is selected by, and nothing that is scored."""
    path = folder / "questions.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("written for the kina-build demo", "written anew", 1), encoding="utf-8")


def change_rating(folder: Path) -> None:
    path = folder / "ratings.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",0.1\n", ",0.95\n"), encoding="utf-8")


def change_anchor(folder: Path) -> None:
    path = folder / "anchors.csv"
    head, first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([head, first.rstrip("\n,") + ",3\n", *rest]), encoding="utf-8")


def change_review(folder: Path) -> None:
    """A review that says no: its item is no longer accepted."""
    path = folder / "reviews.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    selected = json.loads((folder / "selection.json").read_text())["item_ids"][0]
    for row in rows:
        if row["item_id"] == selected:
            row["ratings"] = dict.fromkeys(row["ratings"], 0)
            row["verdict"] = "reject"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def change_response(folder: Path) -> None:
    path = folder / "responses.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    released = json.loads((folder / "release" / "test.jsonl").read_text().splitlines()[0])["id"]
    for row in rows:
        if row["item_id"] == released:
            row["response"] = "The answer is A."
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def change_reviewer(folder: Path) -> None:
    path = folder / "reviewers.csv"
    path.write_text(path.read_text(encoding="utf-8") + "r99,p99,South,\n", encoding="utf-8")


def change_title(folder: Path) -> None:
    path = folder / "kina.toml"
    path.write_text(path.read_text().replace('name = "small"', 'name = "small"\ntitle = "Small"'))


BEHIND = ["select", "certify", "export", "verify"]
CHANGES: dict[str, tuple[Callable[[Path], None], set[str], set[str]]] = {
    # what is changed: the stages that must run again, and those that must not
    "a question's text": (
        change_question,
        {"import", "check", "dedup", "triage", "support", "leave-out", "budget", "score", "report"},
        {"anchors", "settle", "agreement"},
    ),
    "a question's source": (
        change_source,
        {"import", "check", "dedup", "support", "leave-out"},
        {"anchors", "settle", "agreement", "rank"},
    ),
    "a rating": (
        change_rating,
        {"support", "select", "certify", "export", "verify"},
        {
            "import",
            "check",
            "dedup",
            "triage",
            "anchors",
            "settle",
            "agreement",
            "leave-out",
            "budget",
            "score",
        },
    ),
    "an anchor's weight": (
        change_anchor,
        {"anchors", "support", "select", "certify", "export"},
        {"import", "check", "dedup", "triage", "settle", "agreement", "leave-out", "budget", "score"},
    ),
    "a review": (
        change_review,
        {
            "settle",
            "agreement",
            "leave-out",
            "budget",
            "select",
            "certify",
            "export",
            "verify",
            "rank",
            "report",
        },
        {"import", "check", "dedup", "triage", "anchors", "support", "score"},
    ),
    "a reply": (
        change_response,
        {"triage", "score", "rank", "report"},
        {
            "import",
            "check",
            "dedup",
            "anchors",
            "support",
            "settle",
            "agreement",
            "leave-out",
            "budget",
            *BEHIND,
        },
    ),
    "the title": (
        change_title,
        {"export", "verify", "report"},
        {
            "import",
            "check",
            "dedup",
            "triage",
            "anchors",
            "support",
            "settle",
            "leave-out",
            "budget",
            "select",
            "score",
        },
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_runs_again_what_depends_on_it_and_nothing_else(project: Path, what: str) -> None:
    change, needed, untouched = CHANGES[what]
    change(project)
    planned = run_kina(project, "status", "--json")
    assert set(states(planned).values()) & {"stale", "waiting"}
    done = run_kina(project, "build", "--json")
    again = set(ran(done))
    assert needed <= again, done.output
    assert not again & untouched
    assert ran(run_kina(project, "build", "--json")) == []


def test_the_reason_is_the_first_thing_that_changed(project: Path) -> None:
    change_rating(project)
    stages = {one["stage"]: one for one in json.loads(run_kina(project, "status", "--json").stdout)["stages"]}
    assert stages["support"]["reason"] == "input ratings.csv changed"
    assert stages["select"]["reason"] == "after support"
    assert stages["import"]["state"] == stages["score"]["state"] == "fresh"


def test_a_setting_is_named_with_both_values(project: Path) -> None:
    with (project / "kina.toml").open("a") as out:
        out.write("[dedup]\nthreshold = 0.9\n")
    stages = {one["stage"]: one for one in json.loads(run_kina(project, "status", "--json").stdout)["stages"]}
    assert stages["dedup"]["reason"].endswith("threshold: 0.8 became 0.9")


def test_work_that_people_have_in_hand_is_not_given_out_anew(project: Path) -> None:
    before = (project / "assignments.jsonl").read_bytes()
    change_reviewer(project)
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 1
    stages = {one["stage"]: one for one in json.loads(done.stdout)["stages"]}
    assert stages["assign"]["state"] == "waiting"
    assert "--earlier assignments.jsonl" in stages["assign"]["cases"][0]["how"]
    assert (project / "assignments.jsonl").read_bytes() == before
    assert stages["report"]["state"] == "fresh"


def test_a_branch_that_cannot_go_on_stops_and_the_others_do_not(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    (folder / "reviews.jsonl").unlink()
    done = run_kina(folder, "build", "--json")
    assert done.exit_code == 2
    found = states(done)
    assert found["settle"] == found["agreement"] == "blocked"
    assert {found[one] for one in ("leave-out", "budget", "select", "export", "rank")} == {"blocked"}
    assert {found[one] for one in ("dedup", "support", "triage", "score", "report")} == {"fresh"}
    assert "reviews.jsonl" in json.loads(done.stdout)["next"]


def test_a_line_that_is_not_filled_in_is_named_and_waited_for(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    text = (folder / "kina.toml").read_text()
    text = text.replace('files = ["questions.csv"]', 'files = ["questions.csv"]\nlicense = ""').replace(
        "size = 6", ""
    )
    (folder / "kina.toml").write_text(text)
    done = run_kina(folder, "build", "--json")
    assert done.exit_code == 1
    stages = {one["stage"]: one for one in json.loads(done.stdout)["stages"]}
    assert stages["budget"]["cases"][0]["message"].startswith("project.size")
    assert stages["select"]["reason"] == "by budget"
    assert stages["settle"]["state"] == "fresh"
    (folder / "kina.toml").write_text(text.replace("near = false", "near = false\nsize = 6"))
    stages = {one["stage"]: one for one in json.loads(run_kina(folder, "build", "--json").stdout)["stages"]}
    assert stages["export"]["cases"][0]["message"] == "[[project.source]] 1: license is empty: fill it in"
    assert (stages["certify"]["state"], stages["verify"]["state"]) == ("fresh", "blocked")


def test_rows_that_cannot_be_read_stop_the_build_until_they_are_left_out(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    with (folder / "questions.csv").open("a") as out:
        out.write("q001,N,Life science,Genetics,Which one?,a,b,c,d,A,s,CC0-1.0,\n")
    done = run_kina(folder, "build", "import", "--json")
    assert done.exit_code == 1
    (one,) = json.loads(done.stdout)["stages"]
    assert one["state"] == "waiting"
    assert [case["subject"] for case in one["cases"]] == [["questions.csv:2"], ["questions.csv:26"]]
    told = run_kina(folder, "status", "--json")  # what was said is known without running it again
    assert json.loads(told.stdout)["stages"][0]["cases"] == one["cases"]
    toml = folder / "kina.toml"
    toml.write_text(
        toml.read_text().replace('files = ["questions.csv"]', 'files = ["questions.csv"]\nkeep_going = true')
    )
    done = run_kina(folder, "build", "import", "--json")
    assert (done.exit_code, ran(done)) == (0, ["import"])
    funnel = json.loads(done.stdout)["funnel"]
    assert funnel[0] == {"step": "not read", "count": 2, "lost": True}


def test_a_dry_run_prints_lines_that_work_when_typed(tmp_path: Path, built: Path) -> None:
    folder = make_project(tmp_path / "small")
    planned = run_kina(folder, "build", "--dry-run")
    assert planned.exit_code == 0
    assert {path.name for path in folder.iterdir()} == {
        path.name for path in built.iterdir() if path.name in INPUTS
    }
    lines = [line for line in planned.stdout.splitlines() if line]
    assert len(lines) == 18
    for line in lines:
        done = run_kina(folder, *shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    left = run_kina(folder, "build", "--json")
    # the document of verify is kept by the build alone, and pages name every file beside theirs
    assert ran(left) == ["verify", "report"]
    assert outputs(folder) == outputs(built)


def test_one_stage_is_built_with_those_it_needs(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    done = run_kina(folder, "build", "budget", "--json")
    assert (done.exit_code, ran(done)) == (0, ["import", "check", "dedup", "settle", "leave-out", "budget"])
    unknown = run_kina(folder, "build", "bugdet")
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("error: there is no stage 'bugdet'\nhint: they are: import, ")


KILLER = """
import os, signal, sys
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, os.PathLike)) and (args[2] or 0) & 3:
        name = os.path.basename(os.fspath(args[0]))
        if os.environ["KILL_AT"] in name and ".manifest" not in name:
            if "crew" in " ".join(sys.orig_argv) and "KILL_ALL" in os.environ:
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
if "KILL_AT" in os.environ:
    sys.addaudithook(hook)
"""
FILES = {"release": "README.md", "report": "index.html", "assignments.jsonl": "assignments"}
"""Artefacts whose bytes go into files of another name."""


def build_until(folder: Path, home: Path, at: str, *words: str, whole: bool = True) -> int:
    """Run `kina build` in a process that is killed when a file is about to be written."""
    (home / "sitecustomize.py").write_text(KILLER, encoding="utf-8")
    paths = os.pathsep.join([str(home), *filter(None, sys.path)])
    given = {"KILL_AT": at, "PYTHONPATH": paths} | ({"KILL_ALL": "1"} if whole else {})
    command = [sys.executable, "-m", "kina_build.cli.main", "build", "-q", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ | given, capture_output=True, check=False
    ).returncode


@pytest.mark.timeout(1800)
def test_a_build_that_is_killed_at_each_stage_in_turn_ends_with_the_same_bytes(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time at the moment when the first bytes of the stage's file are about to be written."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name in INPUTS:
        shutil.copy(built / name, folder / name)
    with monkeypatch.context() as at_built:
        at_built.chdir(built)
        project = need_project()
        order = in_order(draw_graph(plan(project, read_holding(project))))
    for stage in order:
        at = FILES.get(stage.owns[0], stage.owns[0])
        assert build_until(folder, tmp_path, at, stage.name) == -signal.SIGKILL, stage.name
    done = run_kina(folder, "build", "--json")
    assert done.exit_code == 0, done.output
    assert outputs(folder) == outputs(built)


def test_a_stage_whose_process_is_killed_stops_its_branch_alone(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    for name in INPUTS:
        shutil.copy(built / name, folder / name)
    toml = folder / "kina.toml"
    toml.write_text(toml.read_text() + "[engine]\nworkers = 3\n")
    assert build_until(folder, tmp_path, "anchors.jsonl", whole=False) == 2
    stages = {one["stage"]: one for one in json.loads(run_kina(folder, "status", "--json").stdout)["stages"]}
    assert stages["anchors"]["state"] == "stale"
    assert stages["score"]["state"] == stages["leave-out"]["state"] == "fresh"
    assert stages["select"]["reason"] == "never built"
    log = (folder / "run" / "log.jsonl").read_text()
    assert "its process was killed (signal 9)" in log
    assert run_kina(folder, "build", "-q").exit_code == 0
    toml.write_text(toml.read_text().partition("[engine]")[0])
    assert ran(run_kina(folder, "build", "--json")) == []
    assert outputs(folder) == outputs(built)


@pytest.mark.parametrize("workers", [1, 4])
def test_how_many_stages_run_side_by_side_changes_no_byte(built: Path, tmp_path: Path, workers: int) -> None:
    folder = make_project(tmp_path / "small")
    toml = folder / "kina.toml"
    toml.write_text(toml.read_text() + f"[engine]\nworkers = {workers}\n")
    done = run_kina(folder, "build")
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    begun = [line for line in lines if line.startswith("$ kina ")]
    ended = [
        line
        for line in lines
        if re.match(r"  [\w -]+: done(, with findings)?, [\d.]+ s \(because: never built\)", line)
    ]
    assert len(begun) == len(ended) == 18, "every line is whole"
    assert len(begun) + len(ended) == len(lines)
    side_by_side = any(one.startswith("$") and two.startswith("$") for one, two in pairwise(lines))
    assert side_by_side == (workers > 1)
    (folder / "kina.toml").write_text((built / "kina.toml").read_text())
    assert outputs(folder) == outputs(built)


def test_what_review_takes_out_is_refilled(built_full: Path) -> None:
    """The selection is made before the reviews count; the topped one holds accepted items only."""
    decided = [json.loads(line) for line in (built_full / "decisions.jsonl").read_text().splitlines()]
    refused = {one["item_id"] for one in decided if one["decision"] != "accept"}
    topped = json.loads((built_full / "topped.json").read_text())["item_ids"]
    assert len(topped) == 4
    assert not refused & set(topped)
    released = [
        json.loads(line)["id"] for line in (built_full / "release" / "test.jsonl").read_text().splitlines()
    ]
    assert set(released) == set(topped)
    card = (built_full / "release" / "README.md").read_text()
    assert "aspen-8b" in card, "the card names the models whose wrong answers let items in"


def test_what_came_in_for_others_waits_for_its_own_reviews(built_full: Path, tmp_path: Path) -> None:
    """Only what was selected is given out; one of it is refused, and the one that fills the hole is asked."""
    folder = Path(shutil.copytree(built_full, tmp_path / "full"))
    picks = json.loads((folder / "selection.json").read_text())["item_ids"]
    given = [json.loads(line)["item_id"] for line in (folder / "assignments.jsonl").read_text().splitlines()]
    assert set(given) == set(picks)
    rows = [json.loads(line) for line in (folder / "reviews.jsonl").read_text().splitlines()]
    for row in rows:
        row["verdict"] = "reject" if row["item_id"] == picks[0] else row["verdict"]
    kept = [json.dumps(row) + "\n" for row in rows if row["item_id"] in picks]
    (folder / "reviews.jsonl").write_text("".join(kept))
    for name in ("ledger.db", "ledger.db.key"):
        (folder / name).unlink()
    run_kina(folder, "build", "top-up")
    stages = {one["stage"]: one for one in json.loads(run_kina(folder, "status", "--json").stdout)["stages"]}
    topped = json.loads((folder / "topped.json").read_text())["item_ids"]
    (case,) = stages["top-up"]["cases"]
    assert case["subject"] == list(set(topped) - set(picks))
    printed, line = case["how"].partition(";")[0].split(" | ")
    ids = "\n".join(shlex.split(printed)[2:])
    done = run_kina(folder, *shlex.split(line)[1:], "--json", stdin=ids)
    assert (done.exit_code, json.loads(done.stdout)["added"]) == (0, 2)


def test_an_estimator_travels_with_the_release_of_a_project(project: Path) -> None:
    line = ("--given", "release/test.jsonl", "-o", "short.json", "--write-estimator", "estimator.json")
    assert run_kina(project, "shrink", "scores.jsonl", *line).exit_code == 0
    text = (project / "kina.toml").read_text()
    (project / "kina.toml").write_text(f'{text}\n[project.release]\nestimator = "estimator.json"\n')
    assert ran(run_kina(project, "build", "--json")) == ["export", "verify", "report"]
    released = project / "release" / "estimator.json"
    assert released.read_bytes() == (project / "estimator.json").read_bytes()
    assert "left out" in (project / "release" / "README.md").read_text()


def test_patches_are_applied_by_the_import_of_the_project(built_full: Path) -> None:
    told = [
        json.loads(line).get("explanation") for line in (built_full / "pool.jsonl").read_text().splitlines()
    ]
    assert told.count("Choose one.") == 1


def test_two_builds_at_once_are_one_build(project: Path) -> None:
    import fcntl

    with (project / "run" / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_kina(project, "build")
    assert (done.exit_code, done.stderr) == (2, "error: another `kina build` of this project is running\n")


def test_an_output_that_somebody_edited_is_not_replaced_unasked(project: Path) -> None:
    with (project / "budget.jsonl").open("a") as out:
        out.write("\n")
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 2
    stages = {one["stage"]: one for one in json.loads(done.stdout)["stages"]}
    assert "budget.jsonl: exists and was not written by kina" in stages["budget"]["reason"]
    assert stages["budget"]["cases"][0]["how"] == "--overwrite replaces it"
    assert run_kina(project, "build", "--overwrite", "-q").exit_code == 0


def test_from_a_folder_below_the_project_is_built_as_from_its_own(project: Path) -> None:
    (project / "notes").mkdir()
    done = run_kina(project / "notes", "build", "--json")
    assert (done.exit_code, ran(done)) == (0, [])
