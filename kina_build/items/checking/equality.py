"""Which options of an item are the same answer: as text, as markup, or in value."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from kina_build.items.checking.expressions import HINT, may_be_formula, read_formula
from kina_build.items.checking.formulas import Formula
from kina_build.items.checking.mathmarkup import SPELLED, fold_markup
from kina_build.items.model import Item
from kina_build.items.text import fold_option, squeeze

ONE_NUMBER = re.compile(r"([A-Za-z ]*-?)([1-9]\d*(?:\.\d+)?|0(?:\.\d+)?)((?: [A-Za-z][A-Za-z ]*)?)")
"""One plain number, words before and a unit behind it."""

ONE_SIGNED = re.compile(
    r"(?P<sign>[-+−–]?)(?P<before>[^\d.]*?)"
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?P<after>[^\d.]*)"
)
"""One number in any text, and whether the text begins with a sign."""

AROUND_SIGNS = re.compile(r"\s+(?=[-+*/=<>(){}\[\],^_])|(?<=[-+*/=<>(){}\[\],^_])\s+")
"""Blanks that do not count in formulas: around signs."""

How = Literal["text", "markup", "value", "expression"]


@dataclass(frozen=True)
class EqualOptions:
    """Options that are one answer, and in what sense."""

    keys: tuple[str, ...]
    how: How
    """text: but for blanks; markup: but for LaTeX that changes looks; value: one number, 1/2 and .5;
    expression: 9^2 and 81, which are different answers to some questions."""


def equal_options(item: Item) -> list[EqualOptions]:
    """Group an item's options that are the same answer; each group has two keys or more.

    Letter case, superscripts and symbols tell options apart (GG and Gg, x² and x2).
    Empty options are nobody's equal.
    """
    texts = {n: fold_option(option.answer) for n, option in enumerate(item.options)}
    texts = {n: text for n, text in texts.items() if text}
    if len(set(texts.values())) == len(texts) and not _may_be_equal(texts.values()):
        return []
    markup = {n: AROUND_SIGNS.sub("", squeeze(fold_markup(text))) for n, text in texts.items()}
    numbers, expressions = _group_values(texts)
    certain = _join(_group(markup), numbers)
    groups: list[tuple[list[int], How]] = [
        (group, _how(group, _group(texts), _group(markup))) for group in certain
    ]
    groups += [(group, "expression") for group in expressions if group not in certain]
    return [EqualOptions(tuple(item.options[n].key for n in group), how) for group, how in groups]


def _may_be_equal(texts: Collection[str]) -> bool:
    """Tell whether different texts could look the same, or be the same number or formula.

    Texts that hold one plain number each, in the same words, differ unless their numbers
    do not: most numeric options are told apart here, without a parser.
    """
    if any("\\" in text or text.count("$") > 1 for text in texts):
        return True
    hinted = [text for text in texts if HINT.search(text)]
    if len(hinted) < 2:
        return False
    simple = [ONE_NUMBER.fullmatch(text) for text in hinted]
    if all(simple):
        keys = {(match[1].strip(), _canonical(match[2]), match[3].strip()) for match in simple if match}
        return len(keys) < len(hinted)
    if len({text.replace(" ", "") for text in texts}) < len(texts) or any("{" in text for text in texts):
        return True
    formulas = [text for text in hinted if may_be_formula(text)]
    return len(formulas) > 1 and not _differ_in_one_number(formulas)


def _differ_in_one_number(texts: Collection[str]) -> bool:
    """Tell whether texts are one text but for one number, which differs: whatever they say, it differs."""
    if any(SPELLED.search(text) for text in texts):  # x⁰ is 1 whatever x is
        return False
    found = [match for match in map(ONE_SIGNED.fullmatch, texts) if match]
    shapes = {(match["before"].strip(), match["after"].strip()) for match in found}
    if len(found) < len(texts) or len(shapes) > 1:
        return False
    return len({_signed(match["sign"], match["number"]) for match in found}) == len(texts)


def _signed(sign: str, number: str) -> str:
    """Write a number so that equal ones are equal texts: no separators, no idle zeros, no plus."""
    size = _canonical(number.replace(",", "").lstrip("0")) or "0"
    return f"-{size}" if sign not in ("", "+") and size != "0" else size


def _canonical(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _group(texts: dict[int, str]) -> list[list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        groups[text].append(n)
    return [group for group in groups.values() if len(group) > 1]


def _group_values(texts: dict[int, str]) -> tuple[list[list[int]], list[list[int]]]:
    """Group options that are the same number, and options that are the same formula."""
    groups: list[tuple[Formula, list[int]]] = []
    plain: set[int] = set()
    for n, text in texts.items():
        formula = read_formula(text)
        if formula is None:
            continue
        if formula.plain and not _is_unreduced(text):
            plain.add(n)
        known = next((group for other, group in groups if other.same(formula)), None)
        if known is None:
            groups.append((formula, [n]))
        else:
            known.append(n)
    numbers = [[n for n in group if n in plain] for _, group in groups]
    return [group for group in numbers if len(group) > 1], [group for _, group in groups if len(group) > 1]


def _is_unreduced(text: str) -> bool:
    """Tell whether a text is a fraction that could be shortened: 6/8 of a bar are no 3/4."""
    parts = text.split("/")
    return len(parts) == 2 and all(map(str.isdecimal, parts)) and math.gcd(*map(int, parts)) > 1


def _join(*groupings: list[list[int]]) -> list[list[int]]:
    """Unite groups that share an option."""
    joined: list[set[int]] = []
    for group in (set(group) for grouping in groupings for group in grouping):
        touching = [one for one in joined if one & group]
        joined = [one for one in joined if not one & group] + [group.union(*touching)]
    return sorted(sorted(group) for group in joined)


def _how(group: list[int], by_text: list[list[int]], by_markup: list[list[int]]) -> How:
    if group in by_text:
        return "text"
    return "markup" if group in by_markup else "value"
