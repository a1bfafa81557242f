"""Read selection.json, also of the earlier form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kina_build.errors import InputError
from kina_build.rows.jsonl import canonical, describe, read_json
from kina_build.selection.figures import share
from kina_build.selection.guarantees import STATEMENTS, Certificate
from kina_build.selection.records import Selection
from kina_build.support.matrix import SupportMatrix

EARLIER = 2
"""The earlier form: decimals only, thresholds as shares, shortfalls without a proof."""

OLD_SOURCE = "(Mestre 2006)"
NEW_SOURCE = "(" + STATEMENTS["pairs"].rpartition("(")[2]


def read_selection(path: Path) -> Selection:
    """Read selection.json; one of the earlier form is brought to today's, sealed where its seal held.

    Raises:
        InputError: unreadable, of another form, or of the earlier one with what only today's can show.
    """
    raw = read_json(path)
    try:
        if isinstance(raw, Mapping) and raw.get("format") == EARLIER:
            raw = _upgrade(raw, path)
        return Selection.model_validate(raw)
    except ValidationError as error:
        raise InputError(*(f"{path}: {text}" for text in describe(error))) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError) as error:
        raise InputError(f"{path}: not a selection.json of the earlier form ({error!r})") from None


def restate(document: Selection, matrix: SupportMatrix) -> Selection:
    """Carry the rounding of the inputs in a document of the earlier form, which did not know it."""
    if document.format != EARLIER or not matrix.slack:
        return document
    parts = [
        part.model_copy(
            update={"certificate": _carry(part.certificate, part.steps, matrix.slack * len(part.sizes))}
        )
        for part in document.domains
    ]
    slack = matrix.slack * sum(len(part.sizes) for part in parts)
    told = {"slack": slack, "certificate": _carry(document.certificate, document.steps, slack)}
    return seal(document.model_copy(update=told | {"domains": tuple(parts)}))


def seal(document: Selection) -> Selection:
    """Return a document with its seal."""
    body = document.model_dump(mode="json", exclude={"seal"})
    return document.model_copy(update={"seal": hashlib.sha256(canonical(body).encode()).hexdigest()})


def _carry(certificate: Certificate, steps: int, slack: int) -> Certificate:
    tight = certificate.tightest
    return certificate.model_copy(
        update={
            "ratio": share(steps, certificate.steps, slack),
            "tightest": tight.model_copy(update={"ratio": share(steps, tight.steps, slack)}),
        }
    )


def _upgrade(raw: Mapping[str, Any], path: Path) -> dict[str, Any]:
    body = {key: value for key, value in raw.items() if key != "seal"}
    held = hashlib.sha256(canonical(body).encode()).hexdigest() == raw["seal"]
    unit = raw["scale"] * raw["weight_unit"]
    if unit < 1:
        raise InputError(f"{path}: scale and weight_unit: not whole numbers above 0")
    parts = [_upgrade_part(part, raw["scale"], unit, path) for part in raw["domains"]]
    steps = sum(part["steps"] for part in parts)
    found = dict(body) | {"domains": parts, "steps": steps, "seal": ""}
    found["certificate"] = _upgrade_certificate(raw["certificate"], steps, unit)
    document = Selection.model_validate(found)
    return seal(document).model_dump() if held else found


def _upgrade_part(part: Mapping[str, Any], scale: int, unit: int, path: Path) -> dict[str, Any]:
    again = "select again: this version settles and proves what the earlier one did not"
    if part["withheld"]:
        raise InputError(f"{path}: items were withheld from domain {part['domain']!r}", hint=again)
    if part["shortfall"] or any(row["shortfall"] for row in part["strata"]):
        raise InputError(f"{path}: the shortfall of the earlier form has no proof", hint=again)
    levels = {anchor: Fraction(str(level)) * scale for anchor, level in part["thresholds"].items()}
    odd = [anchor for anchor, level in levels.items() if abs(level - round(level)) > Fraction(1, 1000)]
    if odd:
        raise InputError(f"{path}: the threshold of anchor {odd[0]!r} is no whole level")
    steps = round(Fraction(part["objective"]) * unit)
    found = {key: value for key, value in part.items() if key != "withheld"}
    return found | {
        "sizes": {part["domain"]: part["k"]},
        "steps": steps,
        "lacking": {},
        "proof": None,
        "thresholds": {part["domain"]: {a: round(v) for a, v in levels.items()}} if levels else {},
        "strata": [dict(row) | {"domain": part["domain"]} for row in part["strata"]],
        "certificate": _upgrade_certificate(part["certificate"], steps, unit),
    }


def _upgrade_certificate(said: Mapping[str, Any], steps: int, unit: int) -> dict[str, Any]:
    found = dict(said) | _upgrade_bound(said, steps, unit)
    found["tightest"] = dict(said["tightest"]) | _upgrade_bound(said["tightest"], steps, unit)
    statement = said["guarantee"]["statement"].replace(OLD_SOURCE, NEW_SOURCE)
    return found | {"guarantee": dict(said["guarantee"]) | {"statement": statement}}


def _upgrade_bound(said: Mapping[str, Any], steps: int, unit: int) -> dict[str, Any]:
    """Add whole numbers; the share stays as it was said where it does not fit them."""
    bound = round(Fraction(said["upper_bound"]) * unit)
    fits = said["ratio"] == (steps / bound if bound else 1.0)
    return {"steps": bound, "ratio": share(steps, bound) if fits else said["ratio"]}
