"""What house rules promise of every command, whoever adds one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

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
    for option in ("--json", "--config", "--quiet", "--force"):
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
