"""How much of a foreign file is read before it is refused."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class IntakeRules(BaseModel):
    """Limits of what is taken in from files."""

    # the docstring under a field becomes its description, as in kina.toml
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    npz_bytes: int = 16_000_000_000
    """Bytes that the arrays of one .npz file may take which are read whole, however much memory is free."""
    npz_value_bytes: int = 16_384
    """Bytes of one value of an array, such as the longest id of a column: a column is as wide as that."""


LIMITS = IntakeRules()
"""The limits where nobody says otherwise."""
