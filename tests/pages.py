"""What pages of the docs promise: their blocks are read here, and run.

- `console`: a line that starts with "$ " is a command; the lines below it are its output, where "..."
  stands for anything, and a last line "exit 2" for the exit code. Without output it has to succeed.
  "cd FOLDER" alone holds for what follows.
- `python`: is run; the blocks of a page share their names. `pycon`: the same with ">>> ".
- `toml`: is a kina.toml. `json NAME`: each line fits the schema of the artefact of that name.
- `sh`: is not run (it needs a network, a server, a cluster); each `kina` line in it must parse.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from tests.servers import Served, said

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMAND_S = 900
SHELL = re.compile(r"[|<>;&$`*\n]")
"""Signs of a line that only a shell can run."""
EXIT = re.compile(r"(?:^|\n)exit (\d+)$")
LISTED = re.compile(r"^(\d+)\. \(\w+\)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    about: str
    """What stands behind the language."""
    text: str


@dataclass(frozen=True)
class Example:
    command: str
    expected: str


@dataclass
class Place:
    """Where a page is run by now, and the names that its Python blocks share."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})


def read_blocks(text: str) -> list[Block]:
    return [Block(found[1], found[2].strip(), found[3]) for found in BLOCK.finditer(text)]


def read_examples(text: str) -> list[Example]:
    """Read the examples of a console block."""
    examples: list[Example] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        # a here-document belongs to its command
        command, _, expected = part.replace("\\\n", " ").partition("\nEND\n" if "<<'END'" in part else "\n")
        examples.append(Example(command + ("\nEND" if "<<'END'" in command else ""), expected.strip()))
    return examples


def faults_of(block: Block, place: Place) -> list[str]:
    """Run a block, or check it; say what is not as the page says."""
    try:
        if block.language == "console":
            return [fault for one in read_examples(block.text) for fault in _run(one, place)]
        with contextlib.chdir(place.folder):
            return _CHECKS.get(block.language, _no_fault)(block, place)
    except Exception as error:
        return [f"{block.language}: {block.text}\n-- {type(error).__name__}: {error}"]


def _run(example: Example, place: Place) -> Iterator[str]:
    if example.command.startswith("cd ") and "&" not in example.command:
        place.folder = place.folder / example.command.removeprefix("cd ").strip()
        return
    code, out, err = run_line(example.command, place.folder)
    wanted = EXIT.search(example.expected)
    expected = example.expected[: wanted.start()] if wanted else example.expected
    shown = out if code in (0, 1) and not wanted else out + err
    fits = not expected.strip() or doctest.OutputChecker().check_output(
        expected.strip(), shown.strip(), FLAGS
    )
    codes = (int(wanted[1]),) if wanted else (0, 1) if expected.strip() else (0,)
    if not fits or code not in codes or "Traceback" in err:
        yield f"$ {example.command}\n{out}{err}exit {code}\n-- expected --\n{example.expected}"


def run_line(line: str, folder: Path) -> tuple[int, str, str]:
    """Run a line as a shell would; plain `kina` lines in this process, which starts faster."""
    bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line)
    if line.startswith("kina ") and not SHELL.search(bare):
        from kina_build.cli.main import app

        with contextlib.chdir(folder):
            done = CliRunner().invoke(app, shlex.split(line)[1:], prog_name="kina")
        return done.exit_code, done.stdout, done.stderr
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", line],
        check=False,
        capture_output=True,
        cwd=folder,
        env=os.environ | {"PATH": path},
        text=True,
        timeout=COMMAND_S,
    )
    return ran.returncode, ran.stdout, ran.stderr


def _python(block: Block, place: Place) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, "<page>", "exec"), place.names)
    return []


def _session(block: Block, place: Place) -> list[str]:
    test = doctest.DocTestParser().get_doctest(block.text, place.names, "page", None, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=told.append, clear_globs=False)
    place.names.update(test.globs)
    return told


def _settings(block: Block, place: Place) -> list[str]:
    from kina_build.config import parse_settings

    parse_settings(tomllib.loads(block.text))
    return []


def _rows(block: Block, place: Place) -> list[str]:
    import jsonschema

    from kina_build.schemas import artefacts, schema_of

    if not block.about:
        json.loads(block.text)
        return []
    whole = artefacts()[block.about].form != "lines"
    rows = [block.text] if whole else block.text.splitlines()
    check = jsonschema.Draft202012Validator(schema_of(block.about))
    return [f"{row}\n-- {fault.message}" for row in rows for fault in check.iter_errors(json.loads(row))]


def _parses(block: Block, place: Place) -> list[str]:
    lines = block.text.replace("\\\n", " ").splitlines()
    faults = (_unknown(line.split("#")[0].strip()) for line in lines if line.startswith("kina "))
    return [fault for fault in faults if fault]


def _unknown(line: str) -> str:
    """Say what `kina` would not understand of a line."""
    from kina_build.cli.main import app

    command, words, name = get_command(app), shlex.split(line)[1:], "kina"
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return "" if words[:1] in (["help"], ["--version"], ["--help"]) else f"{line}: no such command"
        name, command = words[0], command.commands[words.pop(0)]
    try:
        command.make_context(name, list(words))
    except Exception as error:
        return f"{line}: {error or type(error).__name__}"
    except SystemExit:
        pass
    return ""


def _no_fault(block: Block, place: Place) -> list[str]:
    return []


_CHECKS = {
    "python": _python,
    "pycon": _session,
    "toml": _settings,
    "json": _rows,
    "sh": _parses,
}


def answer(prompt: str, _: int) -> Served:
    """Play the model behind an endpoint of the docs: a judge that finds little, an examinee who says A."""
    if "<anchors>" in prompt:
        anchors = LISTED.findall(prompt)
        return said(json.dumps({number: {"evidence": "", "rating": 0} for number in anchors}))
    return said("Let me think.\nAnswer: A")
