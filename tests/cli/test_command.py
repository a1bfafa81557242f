from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.errors import InputError, Refusal
from kina_build.options import Role, argument, option
from kina_build.rows.jsonl import read_text, write_text

runner = CliRunner()


def show_length(report: dict[str, Any], console: Console) -> None:
    console.line(f"length {report['length']:d}")


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    source: Path = argument("Text.")
    out: Path = option(Path("length.txt"), "-o", help="Where to write.", role=Role.output)
    most: int = option(100, help="Longest text that passes.")


def measure(run: Run, options: MeasureOptions) -> None:
    """Measure a text."""
    stage = run.start("measure", options, show=show_length)
    if stage.up_to_date():
        return
    length = len(read_text(options.source))
    write_text(options.out, str(length))
    stage.finish({"length": length}, exit_code=1 if length > options.most else 0)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("hello")
    made = typer.Typer()
    made.callback()(lambda: None)
    command(made, "measure", example="tool measure in.txt")(measure)
    return made


def test_first_run_works_and_second_is_up_to_date(app: typer.Typer) -> None:
    first = runner.invoke(app, ["measure", "in.txt"])
    assert (first.exit_code, first.stdout, first.stderr) == (0, "length 5\n", "")
    again = runner.invoke(app, ["measure", "in.txt"])
    assert (again.exit_code, again.stdout) == (0, "length 5\n")
    assert again.stderr == "length.txt: up to date (--force redoes it)\n"
    forced = runner.invoke(app, ["measure", "in.txt", "--force"])
    assert forced.stderr == ""


@pytest.mark.parametrize("report", [{}, {"length": None}, {"lengths": 5}])
def test_a_report_that_somebody_edited_is_made_anew(app: typer.Typer, report: dict[str, Any]) -> None:
    runner.invoke(app, ["measure", "in.txt"])
    sidecar = Path("length.txt.manifest.json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"report": report}))
    again = runner.invoke(app, ["measure", "in.txt"])
    assert (again.exit_code, again.stdout, again.stderr) == (0, "length 5\n", "")


def test_json_prints_one_document_either_time(app: typer.Typer) -> None:
    for _ in range(2):
        assert json.loads(runner.invoke(app, ["measure", "in.txt", "--json", "-q"]).stdout) == {"length": 5}


def test_a_gate_that_fired_fires_again_when_up_to_date(app: typer.Typer) -> None:
    for _ in range(2):
        assert runner.invoke(app, ["measure", "in.txt", "--most", "3"]).exit_code == 1


def test_streams_print_the_data_alone(app: typer.Typer) -> None:
    result = runner.invoke(app, ["measure", "-", "-o", "-"], input="four")
    assert (result.exit_code, result.stdout) == (0, "4")
    assert not list(Path().glob("*.manifest.json"))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("x.jsonl:3: no", hint="look"), 2, "error: x.jsonl:3: no\nhint: look\n"),
        (Refusal("too few"), 1, "error: too few\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch.nn"),
            2,
            "error: the package torch cannot be loaded: No module named 'torch'\nhint: pip install torch\n",
        ),
        (
            ImportError("libx.so: cannot open", name="faiss._swig"),
            2,
            "error: the package faiss cannot be loaded: libx.so: cannot open\nhint: pip install faiss-cpu\n",
        ),
        (ImportError("no name Run", name="kina_build.cli"), 2, "error: a fault in kina itself: ImportError"),
        (PermissionError(13, "Permission denied", "a.db"), 2, "error: a.db: Permission denied\nhint: "),
        (MemoryError(), 2, "error: out of memory\nhint: "),
        (RecursionError("maximum"), 2, "error: something in the input is nested too deep to be read\nhint: "),
        (InputError("a:1: \x1b[2J", "a:2: x\ny"), 2, "error: a:1: \\x1b[2J\na:2: x\\ny\n"),
        (ZeroDivisionError("oops"), 2, "error: a fault in kina itself: ZeroDivisionError: oops\n"),
    ],
)
def test_failures_are_one_line_and_a_code(error: BaseException, code: int, said: str) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)

    def fail(run: Run) -> None:
        """Fail."""
        raise error

    command(app, "fail", example="tool fail")(fail)
    result = runner.invoke(app, ["fail"])
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(said)
    assert "Traceback" not in result.stderr
    if not isinstance(error, KeyboardInterrupt):
        assert "Traceback" in runner.invoke(app, ["fail", "-v"]).stderr


def test_config_command_prints_every_section(kina: Callable[..., Any]) -> None:
    page = json.loads(kina("config", "--json").stdout)
    assert {"items", "dedup", "support", "selection", "release", "scoring", "ranking", "review"} <= set(page)


def test_unknown_key_in_kina_toml_stops_a_command(kina: Callable[..., Any]) -> None:
    Path("kina.toml").write_text("[selektion]\n")
    result = kina("config")
    assert result.exit_code == 2
    assert "selektion: unknown key" in result.stderr
    assert "did you mean selection?" in result.stderr


def test_tables_never_fold_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Console().table("wide", ["a", "b"], [["x" * 100, 1.5]])
    assert "x" * 100 in capsys.readouterr().out
    assert os.linesep == "\n"


def test_a_full_disk_is_one_line_wherever_it_is_met(tmp_path: Path) -> None:
    def fill(run: Run) -> None:
        """Write to a disk that takes no more."""
        raise OSError(28, "No space left on device", "part-00001.npz")

    full = typer.Typer()
    full.callback()(lambda: None)
    command(full, "fill", example="tool fill")(fill)
    done = runner.invoke(full, ["fill"])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: part-00001.npz: cannot write: No space left on device\nhint: ")


def test_what_is_printed_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(json=True)
    console.line("id \x1b[2J\nforged line")
    console.table("\x9b2J", ["m\x1b[2J"], [["k\u202e\n1"]])
    console.document({"id": "x\x9by\u202e"})
    console.say("\ud83d")
    console.warn("\x1b]0;gone\x07")
    out, err = capsys.readouterr()
    assert not {"\x1b", "\x9b", "\u202e", "\x07", "\ud83d"} & set(out + err)
    assert "id \\x1b[2J\\nforged line\n" in out
    assert "k\\u202e\\n1" in out
    assert json.loads(out[out.index("{") :]) == {"id": "x\x9by\u202e"}
    assert err == "\\ud83d\nwarning: \\x1b]0;gone\\x07\n"


def test_a_usage_error_repeats_the_command_line_without_its_escapes(kina: Callable[..., Any]) -> None:
    for word in ("--\x1b[2J", "--\x9bx", "\u202e", "a\udcffb"):
        result = kina(word)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Error: No such" in result.stderr
        assert not {"\x1b", "\x9b", "\u202e"} & set(result.stderr)


def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"id":"é1","response":"Answer: B","n_options":4}\n')
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for options in (["--json"], ["/no/é"]):
        done = subprocess.run(
            [sys.executable, "-m", "kina_build.cli.main", "extract", "r.jsonl", *options],
            cwd=tmp_path,
            env={**os.environ, **plain},
            capture_output=True,
            check=False,
        )
        done.stderr.decode("ascii")
        assert b"fault" not in done.stderr
        if options == ["--json"]:
            assert "é1" in str(json.loads(done.stdout.decode("ascii")))


def test_without_a_package_that_starts_it_kina_is_one_line(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['typer'] = None\nfrom kina_build.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("error: the package typer cannot be loaded: ")
    assert done.stderr.splitlines()[1:] == ["hint: pip install typer"]
