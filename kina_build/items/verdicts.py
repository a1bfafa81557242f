"""One vocabulary for what annotators say of an item.

Source: the seven verdicts of MMLU-Redux (arXiv 2406.04127), which its files spell in
27 ways.
"""

from __future__ import annotations

import re

from kina_build.items.reject import RowRefused
from kina_build.items.text import fold_stem

VERDICTS = (
    "ok",
    "bad_question_clarity",
    "bad_options_clarity",
    "no_correct_answer",
    "multiple_correct_answers",
    "wrong_groundtruth",
    "expert",
)
"""expert: only an expert of the subject could tell."""


def read_verdict(text: str) -> str:
    """Return the canonical word for a verdict; case, blanks, hyphens and underscores do not matter.

    Raises:
        RowRefused: unknown_verdict.
    """
    word = re.sub(r"[\s_-]+", "_", fold_stem(text)).strip("_")
    if word not in VERDICTS:
        raise RowRefused("unknown_verdict", f"{text!r} is none of: {', '.join(VERDICTS)}", verdict=text)
    return word
