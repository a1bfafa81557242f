"""Labels that stand inside option texts: "(A) north", "B. south", "- Yes"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.model import LETTERS

FAMILIES = (tuple(LETTERS), tuple(LETTERS.lower()), tuple(str(n) for n in range(1, len(LETTERS) + 1)))
"""Series of labels an option list may carry."""

PREFIX = re.compile(
    r"\s*(?P<open>[(（\[【])?\s*(?P<label>[A-Za-z]|\d{1,2})\s*(?P<close>[)）\]】]|[.．、:：](?!\d))\s*"
)
"""A label before an option; "1.5" is a number, not the option 5 with label 1."""

MARKER = r"(?:[(（\[]{0}[)）\]]|{0}[)）.．、:：](?!\d)|{0} [)）])"
"""A label inside a longer text: "(A)", "A)", "A.", "a )"."""

LABELLED_ENOUGH = 3
"""Labelled options that make the unlabelled rest suspicious ("A. thaliana, B. subtilis, yeast" does not)."""


def strip_labels(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Strip labels that all options carry, in order; return texts and labels (none: [] and no change).

    Raises:
        RowRefused: unlabelled_extra_options: the first options carry labels, the rest do not.
    """
    if not texts or not PREFIX.match(texts[0]):
        return list(texts), []
    found = [PREFIX.match(text) for text in texts]
    run = _count_in_order([match.group("label") if match else "" for match in found])
    if run == len(texts) >= 2:
        stripped = [text[match.end() :] for text, match in zip(texts, found, strict=True) if match]
        # "(1)", "(2)" alone name statements of the stem: there is nothing else to show
        return (
            (stripped, [match.group("label") for match in found if match])
            if all(stripped)
            else (list(texts), [])
        )
    extra = find_unlabelled(texts)
    if extra:
        message = f"options at {', '.join(map(str, extra))} (from 0) carry no label, the ones before do"
        raise RowRefused("unlabelled_extra_options", message, extra_positions=extra)
    return list(texts), []


def find_unlabelled(texts: Sequence[str]) -> list[int]:
    """List the 0-based positions of options without label behind options with labels in order."""
    found = [PREFIX.match(text) for text in texts]
    run = _count_in_order([match.group("label") if match else "" for match in found])
    bracketed = run >= 2 and all(match and match.group("open") for match in found[:run])
    if run == len(texts) or any(found[run:]) or not (run >= LABELLED_ENOUGH or bracketed):
        return []
    return list(range(run, len(texts)))


def split_block(text: str) -> list[tuple[str, str]]:
    """Split "A. red B blue C.green" into (label, text) pairs; [] where any doubt is left.

    A bare letter counts as a label only at the start of a line. A label that could stand
    at two places, a later label left over, or fewer than two options: no split.
    """
    for family in FAMILIES:
        pairs = _split_by(text, family)
        if pairs:
            return pairs
    return []


def split_bullets(text: str) -> list[tuple[str, str]]:
    """Split lines that all begin with a dash or a bullet into ("", text) pairs; [] if they do not."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not all(re.match(r"[-*•–]\s+\S", line) for line in lines):
        return []
    return [("", re.sub(r"^[-*•–]\s+", "", line)) for line in lines]


def _count_in_order(labels: Sequence[str]) -> int:
    """Count how many labels, from the first on, follow one family's order."""
    family = next((one for one in FAMILIES if labels and labels[0] == one[0]), ())
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(labels, family, strict=False)))


def _split_by(text: str, family: Sequence[str]) -> list[tuple[str, str]]:
    marks: list[tuple[str, re.Match[str]]] = []
    at = 0
    for label in family:
        match = _find_marker(text, label, at)
        if match is None:
            break
        marks.append((label, match))
        at = match.end()
    if len(marks) < 2 or marks[0][1].start() > 0:
        return []
    if any(_strong(label).search(text, at) for label in family):
        return []
    ends = [match.start() for _, match in marks[1:]] + [len(text)]
    pairs = [
        (label, text[match.end() : end].strip()) for (label, match), end in zip(marks, ends, strict=True)
    ]
    return [] if any("\n" in option for _, option in pairs) else pairs


def _find_marker(text: str, label: str, at: int) -> re.Match[str] | None:
    """Find the one place of a label behind a position; None where there is none or a choice."""
    strong = list(_strong(label).finditer(text, at))
    if strong:
        return strong[0] if len(strong) == 1 else None
    bare = list(re.compile(rf"(?m)^[ \t]*{label}[ \t]+(?=\S)").finditer(text, at))
    return bare[0] if len(bare) == 1 else None


def _strong(label: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|(?<=\s)){MARKER.format(label)}\s*")
