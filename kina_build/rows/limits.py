"""How large, how deep and how long what is read may be."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class IntakeRules(BaseModel):
    """Limits of everything that is read: table [intake]."""

    # the docstring under a field becomes its description, which `kina config` prints
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    file_bytes: int = Field(8_000_000_000, ge=1)
    """Bytes of a file, unpacked; also what a stream may bring."""
    json_depth: int = Field(64, ge=2)
    """Lists and objects that may stand inside each other in one JSON value."""
    cell_characters: int = Field(16_777_216, ge=1)
    """Characters of one cell of a CSV file."""
    npz_bytes: int = Field(16_000_000_000, ge=1)
    """Bytes that the arrays of one .npz file may take which are read whole, however much memory is free."""
    npz_value_bytes: int = Field(16_384, ge=1)
    """Bytes of one value of an array, such as the longest id of a column: a column is as wide as that."""
