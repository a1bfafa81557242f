"""Where commands may write: one table of all that write, and what each must refuse or survive."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kina_build.cli.main import app
from tests.kill_points import prepare

pytestmark = pytest.mark.xdist_group("flow")


@dataclass(frozen=True)
class Case:
    """A command that writes: OUT stands for its output."""

    line: str
    reads: str
    """One of the files it reads."""
    folder: bool = False
    exit_code: int = 0

    @property
    def name(self) -> str:
        return self.line.partition(" --")[0].partition(" -o")[0]


RATED = "--method ratings --ratings ratings.csv"
JOINED = "--support support.npz --anchors anchors.jsonl"
SETTLE = "review settle --reviews reviews.jsonl --bar 14 --currency USD"
EARLY = f"select {JOINED} -k 36 --strata pool.jsonl --quota budget.jsonl"
EARLY += " --conflicts duplicates.json --exclude duplicates.json -o early.json"
"""A selection that was made before review."""
CASES = (
    Case("import pool.csv -o OUT", "pool.csv"),
    Case("check pool.jsonl -o OUT", "pool.jsonl", exit_code=1),
    Case("dedup pool.jsonl --no-near -o OUT", "pool.jsonl"),
    Case("dedup pool.jsonl --no-near -o other.json --page OUT", "pool.jsonl"),
    Case("contamination pool.jsonl --against pool.csv --no-near -o OUT", "pool.csv", exit_code=1),
    Case("triage responses.jsonl --pool pool.jsonl -o OUT", "responses.jsonl"),
    Case("panel responses.jsonl --pool pool.jsonl --model m1 -o OUT", "responses.jsonl", exit_code=2),
    Case("anchors anchors.csv -o OUT", "anchors.csv"),
    Case("anchors anchors.csv --worksheet OUT", "anchors.csv"),
    Case(f"support pool.jsonl --anchors anchors.jsonl {RATED} -o OUT.npz", "ratings.csv"),
    Case(f"support pool.jsonl --anchors anchors.jsonl {RATED} -o OUT", "ratings.csv", folder=True),
    Case("budget pool.jsonl --total 30 -o OUT", "pool.jsonl"),
    Case(f"select {JOINED} -k 9 -o OUT", "anchors.jsonl"),
    Case("top-up early.json --decisions decisions.jsonl --allow-shortfall -o OUT", "decisions.jsonl"),
    Case("sample pool.jsonl -n 9 -o OUT", "pool.jsonl"),
    Case(
        f"certify early.json {JOINED} --strata pool.jsonl --quota budget.jsonl "
        "--conflicts duplicates.json --exclude duplicates.json -o OUT",
        "early.json",
    ),
    Case("review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o OUT", "reviewers.csv"),
    Case(f"{SETTLE} --decisions OUT", "reviews.jsonl"),
    Case(f"{SETTLE} --contests OUT", "reviews.jsonl"),
    Case(f"{SETTLE} --awards OUT", "reviews.jsonl"),
    Case("review agreement reviews.jsonl -o OUT", "reviews.jsonl"),
    Case("review handbook -o OUT", ""),
    Case(
        "review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder OUT", "pool.jsonl", True
    ),
    Case("review pay plan --ledger ledger.db -o OUT", "ledger.db"),
    Case("review statement --ledger ledger.db -o OUT", "ledger.db", folder=True),
    Case(
        "export pool.jsonl --selection selection.json --decisions decisions.jsonl "
        "--duplicates duplicates.json --allow selection_reduced=review -o OUT",
        "pool.jsonl",
        folder=True,
    ),
    Case(
        "score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o OUT",
        "responses.jsonl",
    ),
    Case("rank --scores scores.jsonl --samples 100 -o OUT", "scores.jsonl"),
    Case("rank --scores scores.jsonl --samples 100 --item-analysis OUT", "scores.jsonl"),
    Case("extract replies.jsonl -o OUT", "replies.jsonl"),
    Case("link named.jsonl --names names.csv -o OUT", "named.jsonl"),
    Case("score --task triples --predictions triples.jsonl --gold gold.jsonl -o OUT", "gold.jsonl"),
    Case("score --task universe --questions lists.jsonl --replies said.jsonl -o OUT", "said.jsonl"),
    Case("report . -o OUT", "", folder=True),
)
MORE = {
    "replies.jsonl": '{"id": "1", "response": "The answer is B.", "n_options": 4}\n',
    "named.jsonl": '{"SubjectEntity": "Rhine", "Relation": "sea", "ObjectEntities": ["North Sea"]}\n',
    "names.csv": "name,qid\nNorth Sea,Q1693\n",
    "triples.jsonl": '{"SubjectEntity": "Rhine", "Relation": "sea", "ObjectEntitiesID": ["Q1693"]}\n',
    "gold.jsonl": '{"SubjectEntity": "Rhine", "Relation": "sea", "ObjectEntitiesID": ["Q1693", "Q2"]}\n',
    "lists.jsonl": '{"id": "1", "gold": ["a", "b"], "language": "en", "domain": "x"}\n',
    "said.jsonl": '{"id": "1", "response": "a, b"}\n',
}


@pytest.fixture(scope="module")
def ground(flow: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo's folder with a few more inputs; nobody changes it."""
    folder = tmp_path_factory.mktemp("ground") / "demo"
    shutil.copytree(flow, folder)
    prepare(folder)
    for name, text in MORE.items():
        (folder / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        assert CliRunner().invoke(app, shlex.split(EARLY)).exit_code == 0
    return folder


@pytest.fixture
def here(ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "demo"
    shutil.copytree(ground, folder)
    monkeypatch.chdir(folder)
    return folder


def kina(case: Case, out: str, *more: str) -> Result:
    return CliRunner().invoke(
        app, [*shlex.split(case.line.replace("OUT.npz", "OUT").replace("OUT", out)), *more]
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def refused(result: Result, said: str) -> None:
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") <= 2
    assert "fault in kina" not in result.stderr


def each(cases: Iterator[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: case.line)


FILES = [case for case in CASES if not case.folder]


@each(case for case in FILES if case.reads)
def test_an_input_is_never_an_output(here: Path, case: Case) -> None:
    (here / "link").symlink_to(case.reads)
    os.link(here / case.reads, here / "hard")
    before = contents(here)
    for out in (case.reads, "link", "hard", f"../{here.name}/{case.reads}"):
        refused(kina(case, out, "--overwrite"), out)
    assert contents(here) == before


@each(iter(CASES))
def test_a_strangers_file_is_replaced_only_when_told(here: Path, case: Case) -> None:
    if case.folder:
        (here / "mine").mkdir()
        (here / "mine" / "thesis.tex").write_text("years of work")
    else:
        (here / "mine.npz").write_text("years of work")
    before = contents(here)
    result = kina(case, "mine" if case.folder else "mine.npz")
    assert result.exit_code == 2
    assert "exists and was not written by kina" in result.stderr or "something else" in result.stderr
    assert contents(here) == before


@each(case for case in CASES if case.exit_code != 2)
def test_ones_own_output_is_replaced_until_somebody_edits_it(here: Path, case: Case) -> None:
    name = "new" if case.folder else "new.npz"
    assert kina(case, name).exit_code == case.exit_code
    first = contents(here)
    again = kina(case, name, "--force")
    assert again.exit_code == case.exit_code, again.output
    if "pay plan" not in case.line:
        assert contents(here) == first
    edited = here / name if not case.folder else min(p for p in (here / name).rglob("*") if p.is_file())
    edited.write_bytes(edited.read_bytes() + b" ")
    refused(kina(case, name, "--force"), "changed")
    assert kina(case, name, "--overwrite").exit_code == case.exit_code
    assert not [path for path in here.rglob(".*") if path.name.endswith((".claim", ".part", ".old"))]


@each(iter(CASES))
def test_a_typo_in_a_folder_makes_no_tree(here: Path, case: Case) -> None:
    before = contents(here)
    refused(kina(case, "typo/new" if case.folder else "typo/new.npz"), "there is no folder typo")
    assert contents(here) == before
    assert not (here / "typo").exists()


def test_two_outputs_are_two_files(here: Path) -> None:
    for line in (
        f"{SETTLE} --decisions a.jsonl --contests a.jsonl",
        "dedup pool.jsonl --no-near -o a.json --page a.json",
        "rank --scores scores.jsonl -o a.json --item-analysis a.json.manifest.json",
    ):
        refused(CliRunner().invoke(app, shlex.split(line)), "two outputs cannot be one file")


def test_standard_input_is_an_input(here: Path) -> None:
    with (here / "pool.jsonl").open("rb") as pool:
        done = start(here, "check - -o pool.jsonl", stdin=pool.fileno())
        assert (done.returncode, b"is read by this command" in done.stderr) == (2, True)


def test_what_a_stream_made_is_ones_own(here: Path) -> None:
    text = (here / "pool.jsonl").read_text(encoding="utf-8")
    for _ in range(2):
        done = CliRunner().invoke(app, ["check", "-", "-o", "new.jsonl"], input=text)
        assert done.exit_code == 1, done.output


def start(folder: Path, line: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kina_build.cli.main", *shlex.split(line)]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


ASSIGN = "review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o new.jsonl"


def test_a_tight_umask_no_home_and_an_ascii_locale_change_no_byte(here: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "HOME"} | {"LC_ALL": "C"}
    assert start(here, ASSIGN).returncode == 0
    wanted = (here / "new.jsonl").read_bytes()
    done = start(here, f"{ASSIGN} --force", env=environment, umask=0o077)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (here / "new.jsonl").read_bytes() == wanted
    assert (here / "new.jsonl").stat().st_mode & 0o777 == 0o600


def test_two_processes_at_once_make_one_output(here: Path) -> None:
    command = [sys.executable, "-m", "kina_build.cli.main", *shlex.split(ASSIGN)]
    both = [subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    first = (here / "new.jsonl").read_bytes()
    assert start(here, f"{ASSIGN} --force").returncode == 0
    assert (here / "new.jsonl").read_bytes() == first
    assert not list(here.glob(".new.jsonl*"))


def test_a_closed_folder_is_said_before_the_work() -> None:
    # a folder of its own: pytest's are closed to other users, and root may write anywhere
    with closed_folder() as folder:
        more = {"user": 65534} if os.geteuid() == 0 else {}
        script = (
            "from pathlib import Path; from kina_build.cli.outputs import check_places; "
            "from kina_build.manifest import Job; "
            "check_places(Job('x', [], [Path('new')]), folders=[], kept=[], overwrite=False)"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", script],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                **more,
            )  # type: ignore[call-overload]
        except PermissionError:
            pytest.skip("another user cannot start this Python")
        if "UsageError" not in done.stderr and "ModuleNotFoundError" in done.stderr:
            pytest.skip("another user cannot read this checkout")
    assert "the folder . is closed to you" in done.stderr


@contextlib.contextmanager
def closed_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    try:
        yield folder
    finally:
        folder.rmdir()


def test_a_killed_command_goes_on_as_if_nothing_had_been(ground: Path) -> None:
    # in a process of its own, which has no threads and may fork
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_points", str(ground), "16", "1"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
