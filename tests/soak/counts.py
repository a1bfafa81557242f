"""How far each soak has come, what it found, and the counts that are committed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kina_build.rows.jsonl import write_document

ROOT = Path(__file__).resolve().parent.parent.parent
STATE = ROOT / ".soak"
COUNTS = ROOT / "benchmarks" / "soak.json"
SAVED_EVERY = 100

Row = dict[str, Any]
Soak = Callable[[int, int, int, int], Iterable[tuple[int, list[Row]]]]
"""(seed, first, last, jobs) -> each case with what was broken: rows that hold law, place, case, seed."""


def go_on(what: str, soak: Soak, seed: int, last: int, jobs: int, *, fresh: bool = False) -> int:
    """Run a soak from where it stopped up to case `last`; return the exit code."""
    state = _read_state(what, seed)
    commit = describe_commit()
    if fresh or state["next"] > last:
        state = {"next": 0, "broken": []}
    if state.get("commit") != commit:
        state |= {"commit": commit, "first": state["next"], "broken": []}
    for following, rows in _in_order(_told(what, soak(seed, state["next"], last, jobs), last), state["next"]):
        state["broken"] += rows
        state["next"] = following
        if following % SAVED_EVERY == 0 or following == last or rows:
            _save(what, seed, state)
    _save(what, seed, state)
    return _conclude(what, seed, state)


def _read_state(what: str, seed: int) -> dict[str, Any]:
    file = STATE / f"{what}-{seed}.json"
    known: dict[str, Any] = {"next": 0, "broken": []}
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else known


def _save(what: str, seed: int, state: dict[str, Any]) -> None:
    STATE.mkdir(exist_ok=True)
    write_document(STATE / f"{what}-{seed}.json", state)


def _in_order(outcomes: Iterable[tuple[int, list[Row]]], first: int) -> Iterator[tuple[int, list[Row]]]:
    """Yield outcomes in the order of their cases, each with the number of the next case."""
    early: dict[int, list[Row]] = {}
    for case, rows in outcomes:
        early[case] = rows
        while first in early:
            yield first + 1, early.pop(first)
            first += 1


def _told(what: str, outcomes: Iterable[tuple[int, list[Row]]], last: int) -> Iterator[tuple[int, list[Row]]]:
    """Tell progress on stderr, and each kind of broken law once."""
    known: set[tuple[str, str]] = set()
    begun, told = time.monotonic(), 0.0
    for count, (case, rows) in enumerate(outcomes, start=1):
        for row in rows:
            if (row["law"], row["place"]) not in known:
                known.add((row["law"], row["place"]))
                print(f"{what} {case}: {row['law']}: {row['place']}", file=sys.stderr)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            pace = count / (told - begun) if told > begun else 0.0
            print(f"{what}: case {case} of {last}, {pace:.1f} a second", file=sys.stderr)
        yield case, rows


def _conclude(what: str, seed: int, state: dict[str, Any]) -> int:
    kinds = Counter((row["law"], row["place"]) for row in state["broken"])
    row = {
        "what": what,
        "seed": seed,
        "commit": state["commit"],
        "first": state["first"],
        "cases": state["next"] - state["first"],
        "faults": len(kinds),
    }
    _merge(row)
    print(json.dumps(row))
    for (law, place), times in sorted(kinds.items()):
        sample = next(r for r in state["broken"] if (r["law"], r["place"]) == (law, place))
        print(f"{times:5} {law}: {place}\n      case {sample['case']}: {sample.get('line', '')}")
    return 1 if kinds else 0


def _merge(row: Row) -> None:
    past = json.loads(COUNTS.read_text(encoding="utf-8"))["runs"] if COUNTS.exists() else []
    same = ("what", "seed", "commit", "first")
    runs = [other for other in past if any(other[key] != row[key] for key in same)]
    if row["cases"]:
        runs.append(row)
    write_document(COUNTS, {"runs": sorted(runs, key=lambda r: (r["what"], r["seed"], r["first"]))})


def describe_commit() -> str:
    """Name the commit, with a mark where the code was changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "kina_build", "review", "tests/soak")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
