"""The pages of layers and of a journey through them, made from import contracts, docstrings and imports."""

from __future__ import annotations

import importlib
import inspect
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.generate.markdown import cell, code, page, table
from kina_build.cli import main
from kina_build.cli.selecting import selection as commands
from kina_build.rows.jsonl import write_document
from kina_build.selection.certificate import compose
from kina_build.selection.choosing import select_files
from kina_build.selection.domains import settle
from kina_build.selection.files import files_to_select
from kina_build.selection.solver.greedy import pick_greedily

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = "kina_build"
REVIEW = "kina_review"
WIDTH = 100

JOURNEY: tuple[tuple[Callable[..., Any], str], ...] = (
    (main.run, "the console script: `kina select ...`"),
    (commands.select, "the command: options come as one dataclass"),
    (files_to_select, "which files the options name"),
    (select_files, "reads them, chooses, describes"),
    (settle, "the domains, joined where conflicts join them"),
    (pick_greedily, "lazy greedy, in whole numbers"),
    (compose, "bounds, guarantee, thresholds"),
    (write_document, "the file appears whole or not at all"),
)
"""Functions in the order in which a run enters them, and why."""


def steps() -> list[tuple[str, str]]:
    """Return the journey as module and function."""
    return [(function.__module__, function.__name__) for function, _ in JOURNEY]


def pages() -> dict[str, str]:
    """Make both pages."""
    return {"layers.md": _layers_page(), "journey.inc": _journey()}


def layers() -> list[str]:
    """Return the layers as the contract has them, high to low."""
    return list(_contract("Data flows one way through kina_build")["layers"])


def diagram() -> str:
    """Draw the layers in a few lines, each standing on those behind it."""
    text = " > ".join(layers()).replace(" ", "\N{NO-BREAK SPACE}").replace(">\N{NO-BREAK SPACE}", "> ")
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, subsequent_indent="  ")
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def contracts() -> list[dict[str, Any]]:
    """Return the import contracts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["tool"]["importlinter"]["contracts"])


def _contract(name: str) -> dict[str, Any]:
    return next(one for one in contracts() if one["name"] == name)


def _layers_page() -> str:
    rooms = [name for layer in layers() for name in layer.split(" | ")]
    rows = [[code(name), cell(_about(f"{PACKAGE}.{name}"))] for name in rooms]
    rows.append([code(REVIEW), cell(_about(REVIEW))])
    held = "\n".join(f"- {one['name']}" for one in contracts())
    return page(
        "Layers",
        f"A room imports only what stands behind it; rooms joined by `|` do not know each other.\n\n```text\n{diagram()}\n```\n",
        f"`{REVIEW}` stands beside them, on `items` and what is below; the rooms at the top may use it.\n",
        table(["room", "is"], rows),
        "## What `make lint` holds the imports to\n",
        held + "\n",
    )


def _journey() -> str:
    rows = [
        [str(number), code(f"{one.__module__}.{one.__name__}"), cell(why), cell(_first_line(one))]
        for number, (one, why) in enumerate(JOURNEY, start=1)
    ]
    return table(["", "function", "step", "says of itself"], rows)


def _first_line(function: Callable[..., Any]) -> str:
    return inspect.cleandoc(function.__doc__ or "").partition("\n")[0]


def _about(module: str) -> str:
    """Return the first line of a module's docstring, without running a program."""
    if module.endswith("__main__"):
        return "`python -m kina_build` is `kina`."
    return inspect.cleandoc(importlib.import_module(module).__doc__ or "").partition("\n")[0]


BEGIN, END = "<!-- layers: python -m docs.generate writes what stands here -->", "<!-- end of layers -->"


def refresh(path: Path = ROOT / "CONTRIBUTING.md") -> None:
    """Write the diagram into the page for people who work on it, between its marks."""
    text = path.read_text(encoding="utf-8")
    if (new := with_diagram(text)) != text:
        path.write_text(new, encoding="utf-8")


def with_diagram(text: str) -> str:
    """Return a page with the diagram as it is now."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n```text\n{diagram()}\n```\n{END}{rest.partition(END)[2]}"
