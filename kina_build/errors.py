"""The few kinds of expected failure, each with a message, a hint and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

SHOWN_FAULTS = 20
"""Row faults printed before the rest is only counted."""


class KinaError(Exception):
    """Report an expected failure: a line for people, or several; a hint; an exit code."""

    exit_code: ClassVar[int] = 2

    def __init__(self, *lines: str, hint: str = "") -> None:
        """Take the message.

        Args:
            lines: one fault each; a newline inside one is a stranger's and is shown as such.
            hint: what to do about it.
        """
        super().__init__("\n".join(lines))
        self.lines = lines
        self.message = "\n".join(lines)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # errors cross from workers to the command; pickle would call __init__ with the message alone
        return _revive, (type(self), self.args, self.__dict__)


def _revive(kind: type[KinaError], args: tuple[Any, ...], state: dict[str, Any]) -> KinaError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(KinaError):
    """Say that the options, taken together, ask for something impossible."""


class ConfigError(KinaError):
    """Say that kina.toml or the environment cannot be used."""


class InputError(KinaError):
    """Say that a file is missing, unreadable or malformed."""


class Refusal(KinaError):
    """Say that the data was read and found wanting (gate, quota, certificate, audit)."""

    exit_code = 1


@dataclass(frozen=True)
class RowFault:
    """Locate one fault in a file."""

    file: str
    line: int
    """1-based line of the row's first character."""
    message: str
    """What is wrong, starting with the field's dotted path where one is known."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class RowErrors(InputError):
    """Report all faulty rows of a file at once."""

    def __init__(self, faults: Sequence[RowFault], *, hint: str = "") -> None:
        shown = [str(fault) for fault in faults[:SHOWN_FAULTS]]
        if len(faults) > SHOWN_FAULTS:
            shown.append(f"... and {len(faults) - SHOWN_FAULTS} more faulty rows")
        super().__init__(*shown, hint=hint)
        self.faults = tuple(faults)
