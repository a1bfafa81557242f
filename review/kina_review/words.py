"""The words that people write in status, verdict and flaw columns, folded to one spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from kina_build.errors import InputError

Status = Literal["submitted", "draft", "skipped", "cancelled", "missing"]
Verdict = Literal["accept", "revise", "reject", "escalate"]
"""What should become of an item; escalate: somebody else must judge it, and the rationale says why."""
FlawKind = Literal[
    "wrong_groundtruth",
    "no_correct_answer",
    "multiple_correct_answers",
    "bad_question_clarity",
    "bad_options_clarity",
    "unsupported_source",
    "implausible_distractor",
    "other",
]
"""The error types of MMLU-Redux, and three for criteria that it does not cover."""

ITEM_WORDS = ("ok", *get_args(FlawKind), "expert")
"""What an annotator may say of an item: sound, flawed in one way, or one for an expert."""

STATUS_ALIASES: Mapping[str, Status] = {
    "complete": "submitted",
    "completed": "submitted",
    "approved": "submitted",
    "accepted": "submitted",
    "done": "submitted",
    "awaiting_review": "submitted",
    "in_progress": "draft",
    "active": "draft",
    "saved": "draft",
    "skip": "skipped",
    "was_cancelled": "cancelled",
    "canceled": "cancelled",
    "withdrawn": "cancelled",
    "deleted": "cancelled",
    "rejected": "cancelled",
    "disqualified": "cancelled",
    "void": "cancelled",
    "returned": "missing",
    "abandoned": "missing",
    "assigned": "missing",
    "expired": "missing",
    "absent": "missing",
    "not_submitted": "missing",
    "timed_out": "missing",
    "no_show": "missing",
    "never_submitted": "missing",
}
VERDICT_ALIASES: Mapping[str, Verdict] = {
    "ok": "accept",
    "approve": "accept",
    "approved": "accept",
    "accepted": "accept",
    "revised": "revise",
    "revision": "revise",
    "rejected": "reject",
    "escalated": "escalate",
    "expert": "escalate",
}


def fold(word: str) -> str:
    """Fold case, blanks and hyphens: "Wrong Groundtruth " becomes "wrong_groundtruth"."""
    return "_".join(word.casefold().replace("-", " ").replace("_", " ").split())


def read_word(word: object, vocabulary: tuple[str, ...], aliases: Mapping[str, str] | None = None) -> str:
    """Return the canonical spelling of a word, as a file brings it.

    Raises:
        ValueError: the word is in no vocabulary, or no text; it names the known ones.
    """
    folded = fold(word) if isinstance(word, str) else ""
    known = (aliases or {}).get(folded, folded)
    if known not in vocabulary:
        raise ValueError(f"{word!r} is not one of {', '.join(vocabulary)}")
    return known


def read_status(word: object) -> str:
    """Return the canonical status of a review row.

    Raises:
        ValueError: unknown word.
    """
    return read_word(word, get_args(Status), STATUS_ALIASES)


def read_verdict(word: object) -> str:
    """Return the canonical verdict on an item.

    Raises:
        ValueError: unknown word.
    """
    return read_word(word, get_args(Verdict), VERDICT_ALIASES)


def read_flaw_kind(word: object) -> str:
    """Return the canonical kind of a flaw.

    Raises:
        ValueError: unknown word.
    """
    return read_word(word, get_args(FlawKind))


def read_item_words(words: list[str]) -> list[str]:
    """Return canonical words on items, in order.

    Raises:
        InputError: unknown words, each with its 1-based row.
    """
    found: list[str] = []
    faults: list[str] = []
    for row, word in enumerate(words, start=1):
        try:
            found.append(read_word(word, ITEM_WORDS))
        except ValueError as error:
            faults.append(f"row {row}: {error}")
    if faults:
        raise InputError(*faults)
    return found
