"""The whole flow as a user runs it: repeatable, order-free, safe to kill, clear about bad input."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kina_build.cli.main import app
from kina_build.cli.projects.demo import BUNDLED
from kina_build.release import standalone
from kina_build.rows.jsonl import read_json

pytestmark = pytest.mark.xdist_group("flow")

LINES = (
    "import pool.csv -o pool.jsonl",
    "check pool.jsonl --profile generic -o findings.jsonl",
    "dedup pool.jsonl -o duplicates.json",
    "triage responses.jsonl --pool pool.jsonl --letters-of pool.jsonl -o triage.jsonl",
    "anchors anchors.csv -o anchors.jsonl",
    "support pool.jsonl --anchors anchors.jsonl -o support.npz",
    "review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o assignments.jsonl",
    (
        "leave-out pool.jsonl --findings findings.jsonl --duplicates duplicates.json"
        " --reviewed decisions.jsonl -o left-out.json"
    ),
    "budget pool.jsonl --total 36 --exclude left-out.json -o budget.jsonl",
    (
        "select --support support.npz --anchors anchors.jsonl -k 36 --strata pool.jsonl --quota budget.jsonl"
        " --conflicts duplicates.json --exclude left-out.json --decisions decisions.jsonl -o selection.json"
    ),
    "certify selection.json -k 36 -o certificate.json",
    (
        "export pool.jsonl --selection selection.json --duplicates duplicates.json --left-out left-out.json"
        " --decisions decisions.jsonl --agreement agreement.json --name demo"
        " --title 'The kina-build demo' -o release"
    ),
    (
        "score --task multiple-choice --items pool.jsonl --letters-of pool.jsonl --responses responses.jsonl"
        " -o scores.jsonl"
    ),
    "rank --scores scores.jsonl --only release/test.jsonl -o leaderboard.json",
    "report . -o report --title 'The kina-build demo'",
)
"""The demo's flow as it is typed; settling, which posts to a ledger, is a matter of tests/review."""
FINDS = "check"
"""The command that says no: a key conflict is planted."""
SECRET = {"ledger.db", "ledger.db.key", "ledger.db.mark", "ledger.db.payees.json"}
"""Payees are known to the ledger by a hash with a key of its own, so that no two ledgers are equal."""
LEDGER_HEAD = re.compile(rb"ledger-head:\d+:[0-9a-f]{64}")


def run(folder: Path, line: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, shlex.split(line))


def contents(folder: Path) -> dict[str, bytes]:
    """Return every output but manifests, which name the digests of inputs."""
    return {
        path.relative_to(folder).as_posix(): LEDGER_HEAD.sub(b"ledger-head", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.endswith(".manifest.json")
        and path.name not in SECRET
        and path.parent.name != "run"
    }


@pytest.mark.parametrize("line", LINES)
def test_a_second_run_of_the_plain_command_is_up_to_date(flow: Path, line: str) -> None:
    again = run(flow, line)
    assert "up to date" in again.stderr
    assert again.exit_code == int(line.startswith(FINDS))


def test_a_second_demo_runs_nothing(flow: Path) -> None:
    before = contents(flow)
    again = run(flow.parent, "demo --into demo --json")
    assert again.exit_code == 0
    assert [one["stage"] for one in json.loads(again.stdout)["stages"] if one["ran"]] == []
    assert contents(flow) == before


def test_row_order_changes_no_byte(flow: Path, tmp_path: Path) -> None:
    other = tmp_path / "demo"
    other.mkdir()
    shutil.copy(flow / "kina.toml", other)
    inputs = set(BUNDLED) - {"kina.toml"}
    for name in sorted(inputs):
        head, *rows = (flow / name).read_text(encoding="utf-8").splitlines(keepends=True)
        if name.endswith(".jsonl"):
            rows, head = [head, *rows], ""
        random.Random(1).shuffle(rows)
        (other / name).write_text(head + "".join(rows), encoding="utf-8")
    done = run(other, "build --json")
    assert done.exit_code == 1, done.output  # people are asked about planted faults
    assert "blocked" not in {one["state"] for one in json.loads(done.stdout)["stages"]}
    before, after = contents(flow), contents(other)
    assert before.keys() == after.keys()
    differing = [name for name in before if name not in inputs and before[name] != after[name]]
    assert differing == []


def test_outputs_name_no_folder_and_no_object_of_this_machine(flow: Path) -> None:
    for path in flow.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert str(flow.parent).encode() not in content, path
            assert b" object at 0x" not in content, path


def test_card_verify_and_board_name_the_same_set(flow: Path) -> None:
    """All that were certified: only what reviewers accepted was selected."""
    release = flow / "release"
    figures, faults = standalone.faults_of(release)
    assert faults == []
    found = figures["selection"]
    assert (found["asked"], found["released"]) == (36, 36)
    card = (release / "README.md").read_text()
    assert all(line in card.split("\n") for line in standalone.card_lines(figures))
    assert "at least" in card
    tested = [json.loads(line)["id"] for line in (release / "test.jsonl").read_text().splitlines()]
    board = json.loads((flow / "leaderboard.json").read_text())
    assert board["items"] == len(tested) == found["splits"]["test"]["items"]


def test_demo_select_certify_card_verify_and_report_print_the_same_floor(flow: Path) -> None:
    selection = read_json(flow / "selection.json")
    tight, slack = selection["certificate"]["tightest"], selection["slack"]
    parts = 10_000 * (selection["steps"] - slack) // (tight["steps"] + slack)
    share = f"{parts // 100}.{parts % 100:02} %"
    assert slack > 0
    lines = [line for line in LINES if line.split()[0] in {"select", "certify"}]
    said = [run(flow.parent, "demo --into demo --force").output, run(flow, "verify release").stdout]
    said += [run(flow, f"{line} --force").stdout for line in lines]
    said += [(flow / "release" / "README.md").read_text()]
    said += [(flow / "report" / f"{page}.html").read_text() for page in ("index", "coverage", "release")]
    for text in said:
        assert share in text, text[:2000]


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[0] in {"import", "check", "export"}])
def test_a_killed_command_leaves_all_or_nothing(flow: Path, tmp_path: Path, line: str) -> None:
    for delay in (0.3, 0.8, 1.5, 2.5):
        folder = tmp_path / f"at-{delay}"
        shutil.copytree(flow, folder)
        arguments = [*shlex.split(line), "--force", "-q"]
        child = subprocess.Popen(
            [sys.executable, "-m", "kina_build.cli.main", *arguments],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        visible = {k: v for k, v in contents(folder).items() if not k.split("/")[0].startswith(".")}
        assert visible == contents(flow)


FILES = {
    "import": "import {} -o out.jsonl",
    "check": "check {} -o out.jsonl",
    "dedup": "dedup {} -o out.json --no-near",
    "anchors": "anchors {} -o out.jsonl",
    "support": "support {} --anchors anchors.jsonl -o out.npz",
    "support anchors": "support pool.jsonl --anchors {} -o out.npz",
    "select": "select --support {} --anchors anchors.jsonl -k 3 -o out.json",
    "select anchors": "select --support support.npz --anchors {} -k 3 -o out.json",
    "select strata": "select --support support.npz --anchors anchors.jsonl --strata {} -k 3 -o out.json",
    "certify": "certify {} --support support.npz --anchors anchors.jsonl",
    "assign": "review assign {} --reviewers reviewers.csv -o out.jsonl",
    "assign reviewers": "review assign pool.jsonl --reviewers {} -o out.jsonl",
    "status": "review status {}",
    "agreement": "review agreement {}",
    "settle": "review settle --reviews {} --base 2.00 --bonus 5.00 --currency USD --bar 14",
    "export": "export {} -o out",
    "export selection": "export pool.jsonl --selection {} -o out",
    "score": "score --task multiple-choice --items pool.jsonl --responses {} -o out.jsonl",
    "score items": "score --task multiple-choice --items {} --responses responses.jsonl -o out.jsonl",
    "extract": "extract {}",
    "rank": "rank --scores {} -o out.json",
    "triage": "triage {} --pool pool.jsonl -o out.jsonl",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault", ["missing", "empty", "malformed"])
def test_bad_files_are_one_clear_line(flow: Path, tmp_path: Path, name: str, fault: str) -> None:
    bad = tmp_path / ("bad.csv" if name == "import" else "bad.jsonl")
    if fault == "empty":
        bad.write_text("")
    elif fault == "malformed":
        bad.write_text('{"item_id": "q1",\n' if bad.suffix == ".jsonl" else 'a,b\n"1,2\n')
    here = tmp_path / "flow"
    shutil.copytree(flow, here)
    before = contents(here)
    done = run(here, FILES[name].format(bad))
    assert done.exit_code in ((1, 2) if name == "import" else (2,)), done.stderr
    assert bad.name in done.stderr + done.stdout
    assert done.stderr.startswith(("error: ", "warning: "))
    assert "Traceback" not in done.stderr
    assert "fault in kina itself" not in done.stderr
    if fault == "malformed":
        assert re.search(rf"{bad.name}:[12]: ", done.stderr)
    assert contents(here) == before


def test_the_certificate_of_the_demo_is_tight(flow: Path) -> None:
    assert read_json(flow / "selection.json")["certificate"]["tightest"]["ratio"] > 0.98
