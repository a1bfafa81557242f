"""The doors of the rooms that read: what they name is there, and importing them loads nothing heavy."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

ROOMS = ("kina_build.rows", "kina_build.items", "kina_build.repair")


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_names_what_is_there(room: str) -> None:
    door = importlib.import_module(room)
    assert 5 <= len(door.__all__) <= 12
    for name in door.__all__:
        assert getattr(door, name).__name__ == name


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_loads_nothing_heavy(room: str) -> None:
    code = f"import sys, {room}; print(*({{'numpy', 'pydantic', 'pyarrow', 'typer'}} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ""
