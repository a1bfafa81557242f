"""The demo's flow, run once for all tests that look at what it made."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kina_build.cli.main import app


@pytest.fixture(scope="session")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `kina demo` has run."""
    folder = tmp_path_factory.mktemp("flow") / "demo"
    with contextlib.chdir(folder.parent):
        done = CliRunner().invoke(app, ["demo", "--into", "demo"])
    assert done.exit_code == 0, done.stderr
    return folder
