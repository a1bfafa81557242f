"""Which options of an item are the same answer: as text, as markup, or in value."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from kina_build.items.expressions import HINT, Formula, fold_markup, read_formula
from kina_build.items.model import Item
from kina_build.items.text import fold_option, squeeze

ONE_NUMBER = re.compile(r"([A-Za-z ]*-?)([1-9]\d*(?:\.\d+)?|0(?:\.\d+)?)((?: [A-Za-z][A-Za-z ]*)?)")
"""One plain number, words before and a unit behind it."""


@dataclass(frozen=True)
class EqualOptions:
    """Options that are one answer, and in what sense."""

    keys: tuple[str, ...]
    how: Literal["text", "markup", "value"]
    """text: but for blanks; markup: but for LaTeX that changes looks; value: 1/2 and .5."""


def equal_options(item: Item) -> list[EqualOptions]:
    """Group an item's options that are the same answer; each group has two keys or more.

    Letter case, superscripts and symbols tell options apart (GG and Gg, x² and x2).
    Empty options are nobody's equal.
    """
    texts = {n: fold_option(option.answer) for n, option in enumerate(item.options)}
    texts = {n: text for n, text in texts.items() if text}
    if len(set(texts.values())) == len(texts) and not _may_be_equal_in_value(texts.values()):
        return []
    by_text = _group(texts)
    markup = {n: squeeze(fold_markup(text)) for n, text in texts.items()}
    by_markup = _group(markup)
    return [
        EqualOptions(tuple(item.options[n].key for n in group), _how(group, by_text, by_markup))
        for group in _join(by_markup, _group_values(texts))
    ]


def _may_be_equal_in_value(texts: Collection[str]) -> bool:
    """Tell whether different texts could be the same number or formula.

    Texts that hold one plain number each, in the same words, differ unless their numbers
    do not: most numeric options are told apart here, without a parser.
    """
    hinted = [text for text in texts if "$" in text or HINT.search(text)]
    if len(hinted) < 2:
        return False
    simple = [ONE_NUMBER.fullmatch(text) for text in hinted]
    if not all(simple):
        return True
    keys = {(match[1].strip(), _canonical(match[2]), match[3].strip()) for match in simple if match}
    return len(keys) < len(hinted)


def _canonical(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _group(texts: dict[int, str]) -> list[list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        groups[text].append(n)
    return [group for group in groups.values() if len(group) > 1]


def _group_values(texts: dict[int, str]) -> list[list[int]]:
    """Group options whose formulas are the same."""
    groups: list[tuple[Formula, list[int]]] = []
    for n, text in texts.items():
        formula = read_formula(text)
        if formula is None:
            continue
        known = next((group for other, group in groups if other.same(formula)), None)
        if known is None:
            groups.append((formula, [n]))
        else:
            known.append(n)
    return [group for _, group in groups if len(group) > 1]


def _join(*groupings: list[list[int]]) -> list[list[int]]:
    """Unite groups that share an option."""
    joined: list[set[int]] = []
    for group in (set(group) for grouping in groupings for group in grouping):
        touching = [one for one in joined if one & group]
        joined = [one for one in joined if not one & group] + [group.union(*touching)]
    return sorted(sorted(group) for group in joined)


def _how(group: list[int], *groupings: list[list[int]]) -> Literal["text", "markup", "value"]:
    if group in groupings[0]:
        return "text"
    return "markup" if group in groupings[1] else "value"
