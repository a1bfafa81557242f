"""The table of columns that import knows, made from the names it looks for."""

from __future__ import annotations

from docs.generate.markdown import cell, code, page, table
from kina_build.items.importing.columns import ALIASES, KEY_COLUMNS

INTRO = """Names are compared by their letters and digits alone: "Correct Answer(s)" is `correctanswers`. The first name
of a row that a file has is taken; what no row names goes to `metadata`. `--map KEY=COLUMN` wins.
"""


def pages() -> dict[str, str]:
    """Make the page."""
    rows = [[code(name), ", ".join(map(code, names))] for name, names in ALIASES.items()]
    rows.append([code("correct_answer"), ", ".join(map(code, KEY_COLUMNS))])
    options = cell("Options may also stand in columns of their own: A, B, C ...; option_a ...; choice 1 ...")
    return {
        "columns.md": page(
            "Columns that import knows", INTRO, table(["item field", "columns"], rows), options + "\n"
        )
    }
