"""The page of settings, made from the defaults; and the page of gates."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from docs.generate.markdown import cell, code, page, table
from kina_build.config import Settings, explain
from kina_build.release.gates import GATES, HARD
from kina_review.rubric import rules_of

INTRO = """Every number has a default, a meaning and, where it has one, a source. Write those that you change into
a `kina.toml` in your folder or above it; unknown keys are errors, options of a command win, and secrets
come from the environment only. `kina config` prints this page with the values that hold where you are.
"""
GATES_INTRO = """`kina export` stops with exit code 1 and writes nothing while a gate fires; it names the items. Most can be
let pass by name with a reason, `--allow RULE='reason'`, which the card then prints. A severity "off"
under `[items.severity]` turns a gate off, except those marked *never*.
"""


ELSEWHERE = ("review", "project")
"""Tables that other rooms check."""


def pages() -> dict[str, str]:
    """Make the page of settings and the page of gates."""
    rows = [row for row in explain(Settings()) if row[0] not in ELSEWHERE]
    rows += explain(rules_of(Settings()), "review.")
    parts = [INTRO]
    for section, keys in groupby(rows, key=lambda row: row[0].partition(".")[0]):
        lines = [
            [code(key.partition(".")[2]), code(_shown(value)), cell(meaning)] for key, value, meaning in keys
        ]
        parts += [f"## [{section}]\n", table(["key", "default", "meaning"], lines)]
    gates = [
        [code(rule), cell(why), "never" if rule in HARD else "with a reason"] for rule, why in GATES.items()
    ]
    told = table(["gate", "fires on", "may pass"], gates)
    return {
        "settings.md": page("Settings", *parts),
        "gates.md": page("Gates of a release", GATES_INTRO, told),
    }


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return str(value)
