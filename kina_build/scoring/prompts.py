"""The words with which a question is put to a model. The version changes whenever they do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from kina_build.scoring.questions import Question

PROMPT_VERSION = "mc-1"
LIST_PROMPT_VERSION = "list-1"
PAIR_PROMPT_VERSION = "pair-1"

INSTRUCTION = (
    "Read the question and choose the one correct option. You may reason first. "
    'The last line of your reply must be "Answer: X" without the quotes, '
    "where X is the label of your option, one of: {labels}."
)

DIRECT_PROMPT_VERSION = "mc-direct-1"
DIRECT_INSTRUCTION = (
    "Read the question and choose the one correct option. "
    'Reply with the one line "Answer: X" without the quotes and with nothing else, '
    "where X is the label of your option, one of: {labels}."
)
"""Asks for the answer alone: no chain of thought."""

SEVERAL_INSTRUCTION = (
    "Read the question and choose all correct options: more than one may be. You may reason first. "
    'The last line of your reply must be "Answer: X, Y" without the quotes, '
    "where X and Y are the labels of your options, as many as are correct, out of: {labels}."
)
"""Stands before questions with several right answers; how many there are is not told."""

SEVERAL_DIRECT_INSTRUCTION = (
    "Read the question and choose all correct options: more than one may be. "
    'Reply with the one line "Answer: X, Y" without the quotes and with nothing else, '
    "where X and Y are the labels of your options, as many as are correct, out of: {labels}."
)
LABEL_PROMPT_VERSION = "mc-label-1"
LABEL_INSTRUCTION = (
    "Read the question and choose the one correct option. Reply with its label alone, one of: {labels}."
)
"""Asks for a reply whose first token is the label."""

CLOZE_PROMPT_VERSION = "mc-cloze-1"
"""The passage, the question and "Answer:", without the options: each is tried as what comes next."""

PAIR_QUESTION = "Subject: {subject}\nRelation: {relation}\nWhich objects does this relation hold with?"
"""Asked of a knowledge-base pair whose relation has no question of its own."""

PAIR_INSTRUCTION = (
    "Reply with one JSON list of strings and nothing else: every object by its English name, "
    'numbers in digits, [""] if there is none.'
)


def instruct(question: Question, *, direct: bool = False, label: bool = False) -> str:
    """Return the words that say how to answer: by one label, by all that are right, or by a first token."""
    if label:
        instruction = LABEL_INSTRUCTION
    elif question.several:
        instruction = SEVERAL_DIRECT_INSTRUCTION if direct else SEVERAL_INSTRUCTION
    else:
        instruction = DIRECT_INSTRUCTION if direct else INSTRUCTION
    return instruction.format(labels=", ".join(question.labels))


def build_prompt(
    question: Question, order: Sequence[int] | None = None, instruction: str | None = None
) -> str:
    """Write the one user message of a call: instruction, passage, question, "A: text" lines.

    Args:
        question: what is asked.
        order: places of the options in the order shown; None keeps theirs.
        instruction: how to answer; None: in our words.
    """
    shown = [question.choices[place] for place in order or range(len(question.choices))]
    parts = [
        instruction or instruct(question),
        question.material.strip(),
        question.question.strip(),
        "\n".join(f"{label}: {text}" for label, text in zip(question.labels, shown, strict=True)),
    ]
    return "\n\n".join(part for part in parts if part)


def prompt_digest(prompt: str) -> str:
    """Return the sha256 of a prompt: replies to another prompt are never marked by this one."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def shuffled_order(question: Question, seed: int) -> tuple[int, ...]:
    """Return an order of the options that depends on the seed and the item only."""
    digest = hashlib.sha256(f"{seed}:{question.item_id}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    return tuple(int(place) for place in rng.permutation(len(question.choices)))


def build_list_prompt(question: str) -> str:
    """Write the one user message that asks for a complete list."""
    return (
        f"{question.strip()}\n\nGive the complete list, in the language of the question. "
        "Reply with one JSON list of strings and nothing else."
    )


def build_pair_prompt(
    subject: str, relation: str, question: str | None = None, context: str | None = None
) -> str:
    """Write the user message that asks for all objects of a subject and relation.

    Args:
        subject: its name.
        relation: a name such as CountryBordersCountry; the default question shows it in words.
        question: with {subject}, and {relation} and {context} where it wants them; None takes the default.
        context: what stands for {context}.
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", relation).lower()
    filled = {"{subject}": subject, "{relation}": words, "{context}": context or ""}
    # one pass: what a subject or context says in braces is not filled in
    asked = re.sub(
        r"\{(?:subject|relation|context)\}", lambda name: filled[name[0]], question or PAIR_QUESTION
    )
    return f"{asked.strip()}\n\n{PAIR_INSTRUCTION}"
