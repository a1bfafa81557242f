"""What house rules promise of every command, whoever adds one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from kina_build.cli.contents import CONTENTS
from kina_build.cli.main import app

HEAVY = """
babel faiss httpx jinja2 label_studio_sdk matplotlib networkx numba numpy openai pandas pyarrow pydantic
ray rich scipy sentence_transformers sklearn sympy torch yaml
"""


def walk(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(walk(get_command(app)))


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom kina_build.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(m for m in sys.modules if '.' not in m), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage: " in done.stdout
    assert set(done.stderr.split()) & set(HEAVY.split()) == set()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_command_has_help_an_example_and_json(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert f"Example: `kina {' '.join(path)}" in text
    for option in ("--json", "--config", "--quiet"):
        assert option in text
    undescribed = [
        parameter.name
        for parameter in COMMANDS[path].params
        if not getattr(parameter, "help", None) and parameter.name != "help"
    ]
    assert undescribed == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_misspelt_option_is_exit_2(path: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, [*path, "--no-such-option"]).exit_code == 2


def test_the_contents_name_every_command_once_in_an_uncut_line() -> None:
    listed: dict[tuple[str, ...], str] = {}
    for path, groups in CONTENTS.items():
        for lines in groups.values():
            for name, summary in lines.items():
                key = (*path.split()[1:], name)
                assert key not in listed
                listed[key] = summary
    known = {path[:depth] for path in COMMANDS for depth in range(1, len(path) + 1)}
    assert {path for path in listed if path[0] != "help"} == known
    assert [summary for summary in listed.values() if len(summary) > 60] == []
    shown = CliRunner().invoke(app, ["--help"], prog_name="kina").stdout
    assert all(f"  {path[0]}" in shown for path in listed)
    assert "..." not in shown.partition("\n")[2]


def test_help_of_a_command_by_its_name() -> None:
    said = [
        CliRunner().invoke(app, line, prog_name="kina").stdout
        for line in (["help", "dedup"], ["dedup", "-h"])
    ]
    assert said[0] == said[1]
    assert said[0].startswith("Usage: kina dedup")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version(flag: str) -> None:
    assert CliRunner().invoke(app, [flag]).stdout.startswith("kina-build ")


def test_an_error_is_an_object_under_json() -> None:
    for line, hint in ((["check", "no.jsonl", "--json"], True), (["check", "--json", "--nothing"], False)):
        result = CliRunner().invoke(app, line)
        told = json.loads(result.stdout)["error"]
        assert result.exit_code == told["exit_code"] == 2
        assert (len(told["lines"]), bool(told["hint"])) == (1, hint)
        assert f"rror: {told['lines'][0]}" in result.stderr


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kina_build", "-V"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("kina-build ")
