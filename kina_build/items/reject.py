"""What import could not take: a row, where it stands, and why."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Reject(BaseModel):
    """One row that did not become an item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    line: int
    """1-based line of the row's first character; the row's number in Parquet and Arrow files."""
    reason: str
    """A fixed word for the kind of fault, such as json_invalid_escape."""
    message: str
    """What is wrong with this row, in one sentence."""
    item_id: str | None = None
    """The row's own id, where it has one."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """What was found: parsed keys, candidates, a suggestion that nobody applied."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}: {self.message}"


class RowRefused(Exception):
    """Say that a row cannot become an item."""

    def __init__(self, reason: str, message: str, **evidence: Any) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.evidence = evidence

    def at(self, file: str, line: int, item_id: str | None = None) -> Reject:
        """Place the fault in a file."""
        return Reject(
            file=file,
            line=line,
            reason=self.reason,
            message=self.message,
            item_id=item_id,
            evidence=self.evidence,
        )
