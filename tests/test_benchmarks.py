"""Benchmarks are not run by the tests, but none may fall out of step with the code."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import benchmarks

NAMES = sorted(path.stem for path in Path(benchmarks.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_benchmark_imports_and_says_what_it_does(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__
