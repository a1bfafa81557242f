"""Column names as people write them, folded to what tells them apart."""

from __future__ import annotations

import re

TAIL = re.compile(r"\s*[-–(]\s*(?:max|choose|select|at least|optional|required)\b.*", re.IGNORECASE)
"""What sheets of quiz platforms say behind a name: "Answer 1 - max 75 characters"; "A - B" is none."""

NOISE = re.compile(r"[\W_]+")


def fold_name(name: str) -> str:
    """Fold a column name to its letters and digits: "Correct Answer(s)" is "correctanswers"."""
    return NOISE.sub("", TAIL.sub("", name).casefold())
