"""What may never read our texts: functions that run them. The linter refuses them everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "line",
    [
        "from sympy import sympify",
        "from sympy.parsing.latex import parse_latex",
        "from sympy.parsing.sympy_parser import parse_expr",
        "import sympy\n\nvalue = sympy.sympify",
    ],
)
def test_the_linter_refuses_functions_that_run_texts(line: str) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "-"]
    said = subprocess.run(command, input=line + "\n", capture_output=True, text=True, cwd=ROOT, check=False)
    assert said.returncode == 1
    assert "TID251" in said.stdout
    assert "it runs its text" in said.stdout


def test_the_rule_is_among_the_ones_that_are_looked_at() -> None:
    assert '"TID251"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
