"""Shared factories, and the way to the public corpora that lie beside the checkout."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from typer.testing import CliRunner, Result

from kina_build.items.model import LETTERS, Item, Option

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KINA_SHARED_DATA", ROOT.parent / "shared" / "data"))

QUIET = [HealthCheck.too_slow]
"""A busy machine is no fault of a test."""
settings.register_profile(
    "kina", deadline=None, derandomize=True, print_blob=True, suppress_health_check=QUIET
)
settings.register_profile(
    "explore", deadline=None, print_blob=True, database=None, suppress_health_check=QUIET
)
PROFILE = os.environ.get("KINA_HYPOTHESIS", "kina")
"""The gate draws the same examples in every run; `make soak` draws new ones."""
settings.load_profile(PROFILE)
if PROFILE == "kina":
    # else it mixes in the literals of whatever modules the tests before have happened to load
    providers._get_local_constants = lambda: providers._local_constants


def fault_cases(*steps: str) -> list[Any]:
    """List the public fault cases of some steps as pytest parameters named by their id."""
    file = SHARED / "faults" / "cases.jsonl"
    if not file.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="shared data absent"), id="absent")]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return [pytest.param(row, id=row["id"]) for row in rows if row["step"] in steps]


@pytest.fixture
def shared() -> Path:
    """Return the folder of public corpora, or skip the test."""
    if not SHARED.is_dir():
        pytest.skip(f"the public corpora are not at {SHARED}")
    return SHARED


@pytest.fixture
def make_item() -> Callable[..., Item]:
    """Return a factory of small items: make_item("q1", "Stem?", ["a", "b"], "B", field="law")."""

    def make(
        item_id: str = "q1",
        question: str = "Which one is it?",
        options: Iterable[str] = ("red", "green", "blue", "grey"),
        correct_answer: str = "A",
        **more: Any,
    ) -> Item:
        keyed = tuple(Option(key=key, answer=text) for key, text in zip(LETTERS, options, strict=False))
        return Item(item_id=item_id, question=question, options=keyed, correct_answer=correct_answer, **more)

    return make


@pytest.fixture
def kina(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Return a way to run `kina` in an empty folder: kina("check", "pool.jsonl", "--json")."""
    from kina_build.cli.main import app

    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `kina demo` has run: once for all tests that look at what it made."""
    from kina_build.cli.main import app

    folder = tmp_path_factory.mktemp("flow") / "demo"
    with contextlib.chdir(folder.parent):
        done = CliRunner().invoke(app, ["demo", "--into", "demo"])
    assert done.exit_code == 0, done.stderr
    return folder
