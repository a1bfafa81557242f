"""Property tests on new examples: python -m tests.soak laws.

The gate draws the same examples in every run, so that it finds today what it found yesterday.
Here every round of cases draws others: a case is a test file, its properties drawn by a seed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.soak.counts import ROOT, Row

ROUNDS = 20
"""Rounds of a full run: each takes every file once, with a seed of its own."""
PATIENCE_S = 1_800
SHOWN = 400
"""Characters kept of what a failing file said last."""
GIVEN = re.compile(r"^@given\(", re.MULTILINE)
"""@given(st.integers()) at the start of a line; not "from hypothesis import given"."""


def property_files() -> list[Path]:
    """List the test files that hold properties, by their path in the checkout."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [path.relative_to(ROOT) for path in paths if GIVEN.search(path.read_text(encoding="utf-8"))]


def laws(seed: int, first: int, last: int, jobs: int = 1) -> Iterator[tuple[int, list[Row]]]:
    """Run the cases from `first` up to `last`, not included, one after the other."""
    files = property_files()
    for number in range(first, last):
        turn, place = divmod(number, len(files))
        line = f"-m 'hypothesis and not live' --hypothesis-seed={seed * ROUNDS + turn} {files[place]}"
        said = draw_anew(files[place], seed * ROUNDS + turn)
        row = {"law": "a property holds on new examples", "place": str(files[place]), "seed": seed}
        yield number, [row | {"case": number, "line": f"pytest {line}", "said": said}] if said else []


def draw_anew(file: Path, seed: int) -> str:
    """Run the properties of a file on examples of a seed; return the end of what a failure said."""
    words = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "hypothesis and not live"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--hypothesis-seed={seed}", str(file)],
        cwd=ROOT,
        env=os.environ | {"KINA_HYPOTHESIS": "explore"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return (done.stdout + done.stderr)[-SHOWN:] if done.returncode else ""
