"""What `kina check` finds: faults, and findings once their severity is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["error", "warning", "info"]
ProfileName = Literal["kina", "generic"]

POOL = "*"
"""The item_id of findings about the pool as a whole."""


class Finding(BaseModel):
    """One thing that is wrong, or may be, with an item or with the pool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    """The item; "*" for the pool."""
    rule: str
    severity: Severity
    """error: a gate, `kina check` leaves with 1; warning: look at it; info: good to know."""
    field: str
    """Where: question, options.B, correct_answer, pool, ..."""
    message: str
    evidence: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """A finding before its severity is known: that depends on the profile."""

    rule: str
    field: str
    message: str
    evidence: Mapping[str, Any] = field_(default_factory=dict)
