"""README's console blocks are run, in order, in one folder; what they print must match.

A line that starts with "$ " is a command; the lines below it are its output, where "..."
stands for anything. A block without output only has to succeed.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMAND_S = 240


@dataclass(frozen=True)
class Example:
    command: str
    expected: str


def read_examples(text: str) -> list[Example]:
    examples: list[Example] = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            text = part.replace("\\\n", " ")
            # a here-document belongs to its command
            command, _, expected = text.partition("\nEND\n" if "<<'END'" in text else "\n")
            if "<<'END'" in command:
                command += "\nEND"
            examples.append(Example(command, expected.strip()))
    return examples


@pytest.mark.timeout(1200)
def test_readme_does_what_it_says(tmp_path: Path) -> None:
    examples = read_examples((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(examples) > 10
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    failures = []
    for example in examples:
        done = subprocess.run(
            ["bash", "-c", example.command],
            check=False,
            capture_output=True,
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            text=True,
            timeout=COMMAND_S,
        )
        said = done.stdout.strip()
        fits = not example.expected or doctest.OutputChecker().check_output(example.expected, said, FLAGS)
        if not fits or "Traceback" in done.stderr or done.returncode not in (0, 1):
            failures.append(f"$ {example.command}\n{said}\n{done.stderr}\n-- expected --\n{example.expected}")
    assert not failures, "\n\n".join(failures)


def test_every_command_is_in_the_readme() -> None:
    from tests.cli.test_contract import COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [" ".join(path) for path in COMMANDS if f"kina {' '.join(path)}" not in text]
    assert missing == []


def test_every_make_target_is_described() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    for target in phony.group(1).split():
        assert re.search(rf"^{target}:.*## ", text, re.MULTILINE), target
