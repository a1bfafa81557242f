"""Public rules beside ours: how other evaluations read a letter, written from their published behaviour.

They differ by design: one takes the first match, another the last, a third any last capital. Each is
selectable so that a difference to a published figure can be explained; none is ours. Where a published
chain falls back on a random letter, the reply counts as unread here, and what the fallback would have
earned by chance is told apart from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import MappingProxyType

from kina_build.scoring.replies import Extraction, labels

OURS = "kina"

Rule = Callable[[str, Sequence[str]], str | None]
"""(reply, the item's labels) -> what the rule takes for the letter; None where it finds none."""

_ANSWER_IS = re.compile(r"answer is \(?([A-J])\)?")
"""Matches "the answer is (C)", not "Answer is C"."""
_ANSWER_COLON = re.compile(r"[aA]nswer:\s*([A-J])")
"""Matches "Answer: C" and "answer:C", not "Answer - C"."""
_LONE_CAPITAL = re.compile(r"\b[A-J]\b")
"""Matches "I" in "so I think", not "A" in "And"."""
_CAPITAL = re.compile(r"[A-J]")

_INSPECT_LINE = re.compile(
    r"^ANSWER\s*:\s*([A-Za-z\d ,]{1,2000})\s*(?:$|\n|\.)", re.IGNORECASE | re.MULTILINE
)
"""Matches a line "ANSWER: C", not "My answer: C" nor "ANSWER: (C)"."""
_INSPECT_ANYWHERE = re.compile(r"ANSWER\s*:\s*([A-Za-z\d ,]{1,2000})(?:[^\w]|\n|$|\.)", re.IGNORECASE)
"""Matches "so my answer: C.", not "answer is C"."""


def _first(pattern: re.Pattern[str], reply: str) -> str | None:
    found = pattern.search(reply)
    return found[1] if found else None


def _colon(reply: str) -> str | None:
    r"""Find what `.*[aA]nswer:\s*([A-J])` finds: the last on the first line that has one, in linear time."""
    found = _ANSWER_COLON.search(reply)
    if found is None:
        return None
    end = reply.find("\n", found.start())
    end = len(reply) if end < 0 else end
    letter = found[1]
    while found is not None and found.start() < end:
        letter = found[1]
        found = _ANSWER_COLON.search(reply, found.start() + 1)
    return letter


def _mmlu_pro_two(reply: str, _labels: Sequence[str]) -> str | None:
    """Read as MMLU-Pro's first public runs: "answer is (X)", else "answer: X"."""
    return _first(_ANSWER_IS, reply) or _colon(reply)


def _mmlu_pro_any(reply: str, asked: Sequence[str]) -> str | None:
    """Read as its scripts did next: else the last of the letters A to J, be it inside a word."""
    return _mmlu_pro_two(reply, asked) or next(iter(_CAPITAL.findall(reply)[-1:]), None)


def _mmlu_pro(reply: str, asked: Sequence[str]) -> str | None:
    """Read as its runs since then: else the last letter A to J that stands alone, "I" and "A" too."""
    return _mmlu_pro_two(reply, asked) or next(iter(_LONE_CAPITAL.findall(reply)[-1:]), None)


def _simple_evals(reply: str, asked: Sequence[str]) -> str | None:
    r"""Read as simple-evals: the first `Answer: X`; its A-D are the item's letters here.

    It matches "Answer: and" too, whose "a" is then no option: wrong there, out of range here.
    """
    letters = "".join(label for label in asked if len(label) == 1 and label.isalpha())
    found = re.search(rf"Answer[ \t]*:[ \t]*\$?([{letters}])\$?", reply, re.IGNORECASE)
    return found[1] if found else None


def _lm_eval(reply: str, _labels: Sequence[str]) -> str | None:
    """Read as the task mmlu_pro of lm-evaluation-harness: the first "answer is (X)"."""
    return _first(_ANSWER_IS, reply)


def _inspect(reply: str, asked: Sequence[str]) -> str | None:
    """Read as Inspect's multiple_choice: the first line ANSWER: X, else the first ANSWER: X anywhere."""
    found = _INSPECT_LINE.search(reply) or _INSPECT_ANYWHERE.search(reply)
    said = found[1].strip().rstrip(".") if found else None
    return said if said in asked else None


PUBLIC_RULES: MappingProxyType[str, Rule] = MappingProxyType(
    {
        "mmlu-pro": _mmlu_pro,
        "mmlu-pro-any": _mmlu_pro_any,
        "mmlu-pro-two": _mmlu_pro_two,
        "simple-evals": _simple_evals,
        "lm-eval": _lm_eval,
        "inspect": _inspect,
    }
)
"""Rules by name."""

EXTRACTORS: tuple[str, ...] = (OURS, *PUBLIC_RULES)

RANDOM_FALLBACK = frozenset({"mmlu-pro", "mmlu-pro-any", "mmlu-pro-two"})
"""Rules whose published accuracies give a random letter to what they cannot read."""


def extract_by(name: str, reply: str, n_options: int) -> Extraction:
    """Read a letter by a public rule.

    Args:
        name: a key of PUBLIC_RULES.
        reply: the raw text: these rules look at all of it, and at no reasoning apart.
        n_options: options of the item; a letter beyond them is out of range.
    """
    asked = labels(n_options)
    letter = PUBLIC_RULES[name](reply, asked)
    if letter is None:
        return Extraction(None, "unreadable" if reply.strip() else "empty", name)
    return Extraction(letter, "ok", name) if letter in asked else Extraction(None, "out_of_range", name)
