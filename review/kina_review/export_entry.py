"""One review of an export before it is checked: the answers of a tool as the fields of a review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from kina_build.rows.tables import Row
from kina_review.desk.labelling import MARK_PREFIX, WHOLE_ITEM
from kina_review.rubric import CRITERION_NAMES
from kina_review.words import VERDICT_ALIASES, Verdict, fold


@dataclass(frozen=True)
class Entry:
    """One review of an export, before it is checked."""

    row: Row
    fields: dict[str, Any]
    """Of review.records.Review."""
    ratings: dict[str, Any] = field(default_factory=dict)
    """Criterion to a rating on the tool's own scale."""
    unread: tuple[str, ...] = ()
    """What of it no field takes."""


def make_entry(
    row: Row, fields: dict[str, Any], answers: Mapping[str, Any], unread: tuple[str, ...] = ()
) -> Entry:
    """Return an export's review from its fields and its answers by control or question."""
    marks = {
        name: _mark(answers[MARK_PREFIX + name])
        for name in CRITERION_NAMES
        if answers.get(MARK_PREFIX + name)
    }
    ratings = {name: answers[name] for name in CRITERION_NAMES if answers.get(name) is not None}
    made = fields | {"ratings": marks, "verdict": _one(answers.get("verdict"))}
    made["rationale"] = _one(answers.get("rationale"))
    made["flaws"] = [_flaw(path) for path in answers.get("flaws") or ()]
    return Entry(row, {key: value for key, value in made.items() if value is not None}, ratings, unread)


def _mark(value: Any) -> Any:
    """Return the number of a choice such as "3 good" of our own labelling configuration."""
    text = str(_one(value)).split(" ")[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else _one(value)


def _flaw(path: Any) -> Any:
    if not isinstance(path, list):
        return {"kind": path}
    kind, severity, option = [*map(str, path), "", ""][:3]
    found = {"kind": kind, "severity": severity, "option": None if option == WHOLE_ITEM else option}
    return {key: value for key, value in found.items() if value}


def unwrap(value: Any) -> Any:
    """Return what a control of JSON_MIN holds: several choices and a rating come wrapped."""
    if isinstance(value, dict) and "choices" in value:
        return value["choices"]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "rating" in value[0]:
        return value[0]["rating"]
    return value


def _one(value: Any) -> Any:
    """Return the only member of a list; an empty one is nothing, a longer one stays, to be refused."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else value or None
    return value


def account_of(value: Any) -> str:
    """Return a user's number as text, their e-mail where there is no number, nothing of a deleted one."""
    if isinstance(value, dict):
        value = value.get("id", value.get("email"))
    return "" if value is None else str(value)


def as_text(value: Any) -> str | None:
    """Return an id as text; nothing stays nothing."""
    return None if value is None else str(value)


def is_verdict(label: str) -> bool:
    """Return whether a label is one of our verdicts, or a known word for one."""
    return fold(label) in VERDICT_ALIASES or fold(label) in get_args(Verdict)
