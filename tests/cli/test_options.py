"""An operation's Options: written once, read by the command line, the manifest and the settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
import typer
from typer.testing import CliRunner

from kina_build.cli.command import command
from kina_build.cli.run import Run
from kina_build.options import Role, argument, option, overridden, parameters, paths, seed, setting, specs


@dataclass(frozen=True, kw_only=True)
class CountOptions:
    """Options of a toy command."""

    words: Path = argument("A file of words.")
    more: tuple[Path, ...] = option((), help="More of them; repeatable.", role=Role.input)
    output: Path = option(Path("out.txt"), "-o", help="Where to write.", role=Role.output)
    how: Literal["lines", "letters"] = option("lines", help="What to count.")
    threshold: float | None = setting("dedup.threshold", help="Overrides a setting.", min=0.01, max=1)
    near: bool = option(True, "--near/--no-near", help="A pair of flags.", role=Role.manner)
    seed: int = seed()


def run(folder: Path, *line: str) -> tuple[int, dict[str, object], str]:
    """Run the toy command; its report holds what it was given."""
    app = typer.Typer()

    @command(app, "count", example="count words.txt")
    def count(run: Run, options: CountOptions) -> None:
        """Count."""
        rules = run.section(options, "dedup")
        stage = run.start("count", options, show=lambda _report, _console: None)
        options.output.write_text("1")
        stage.finish({"more": [path.name for path in options.more], "threshold": rules.threshold})

    @app.callback()
    def group() -> None:
        """Keep the command a command of its own."""

    (folder / "words.txt").write_text("a\n")
    result = CliRunner().invoke(app, ["count", *line, "--json"], env={"COLUMNS": "200"})
    return result.exit_code, json.loads(result.stdout) if result.exit_code == 0 else {}, result.output


def test_fields_become_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.txt").write_text("b")
    code, report, said = run(
        tmp_path, "words.txt", "--more", "b.txt", "--threshold", ".9", "--how", "letters"
    )
    assert code == 0, said
    assert report == {"more": ["b.txt"], "threshold": 0.9}
    manifest = json.loads((tmp_path / "out.txt.manifest.json").read_text())
    assert manifest["params"] == {"how": "letters", "seed": 0}
    assert list(manifest["inputs"]) == ["words.txt", "b.txt"]
    assert list(manifest["outputs"]) == ["out.txt"]


def test_an_option_for_one_file_given_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, said = run(tmp_path, "words.txt", "-o", "a", "-o", "b")
    assert code == 2
    assert "--output is given 2 times and takes one file" in said


def test_what_is_out_of_bounds_or_unknown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, "words.txt", "--threshold", "2")[0] == 2
    assert run(tmp_path, "words.txt", "--how", "syllables")[0] == 2


def test_the_roles_sort_the_fields() -> None:
    options = CountOptions(words=Path("w"), threshold=0.5)
    assert paths(options, Role.input) == [Path("w")]
    assert paths(options, Role.output) == [Path("out.txt")]
    assert parameters(options) == {"how": "lines", "seed": 0}
    assert overridden(options, "dedup") == {"threshold": 0.5}
    assert overridden(CountOptions(words=Path("w")), "dedup") == {}


def test_a_field_that_is_no_option_is_a_mistake() -> None:
    @dataclass
    class Bare:
        count: int = 1

    with pytest.raises(TypeError, match=r"Bare\.count is not declared"):
        list(specs(Bare))
