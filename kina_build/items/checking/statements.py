"""Rules about combinatorial items: numbered statements, and options that combine them.

Source: KINA, section on item format (arXiv 2606.05104): at least six statements, no
option whose statements are contained in another's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

from kina_build.config import ItemRules
from kina_build.items.checking.rule import Fault
from kina_build.items.model import Item

ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
CIRCLED = tuple("①②③④⑤⑥⑦⑧⑨⑩⑪⑫")
CIRCLED_NUMBER = re.compile(f"[{''.join(CIRCLED)}]")
LONGEST_COMBINATION = 120
"""Characters of the longest option that may be a combination of numbers."""


@dataclass(frozen=True)
class Family:
    """One way to number statements."""

    order: tuple[str, ...]
    numbers: frozenset[str]


FAMILIES = tuple(
    Family(order, frozenset(order))
    for order in (
        ROMAN,
        tuple(numeral.lower() for numeral in ROMAN),
        CIRCLED,
        tuple(map(str, range(1, 21))),
        tuple("abcdefghijklmnop"),
        tuple("ABCDEFGHIJKLMNOP"),
        tuple(f"S{n}" for n in range(1, 21)),
        tuple(f"P{n}" for n in range(1, 21)),
    )
)

THIRD = re.compile(r"[(（\s](?:III|iii|3|[SP]3|[Cc])\s*[)）.．、:：]|③")
"""A third statement's number, without which there is no looking closer."""

PAIR = re.compile(r"[(\[{<]\s*\d+\s*[,;]\s*\d+\s*[)\]}>]|\d+(?:\s+\d+)+")
"""A pair of numbers in order, as coordinates are: (2, 3) is not (3, 2)."""

CONNECTIVES = re.compile(
    r"(?i)\b(?:and|only|statements?|both|et|y|und|are|is|correct|true)\b|[\s,;、，；&+/.()（）{}\[\]-]+|和|与|と"
)
"""What may stand between the numbers of a combination."""


@dataclass(frozen=True)
class Combination:
    """An item whose options combine numbered statements."""

    statements: tuple[str, ...]
    """Their numbers, in order."""
    sets: dict[str, frozenset[str]]
    """Option key to the statements it combines; options that combine none are left out."""


def read_combination(item: Item) -> Combination | None:
    """Read an item as combinatorial; None where it is not.

    It is when its stem (or material) numbers three statements or more and most options
    are made of such numbers, two of them with several.
    """
    stem = f"{item.question_material or ''}\n{item.question}"
    if not THIRD.search(stem):
        return None
    words = {option.key: _words(option.answer) for option in item.options}
    for family in FAMILIES:
        sets = {key: frozenset(found) for key, found in words.items() if found and found <= family.numbers}
        several = sum(len(numbers) > 1 for numbers in sets.values())
        if several < 2 or 2 * len(sets) <= len(item.options):
            continue
        statements = _numbered(stem, family.order)
        if len(statements) >= 3:
            return Combination(statements, sets)
    return None


def _words(answer: str) -> frozenset[str]:
    """Return the words of an option but for connectives; circled numbers are words each."""
    left = CONNECTIVES.sub(" ", answer) if len(answer) <= LONGEST_COMBINATION else answer
    return frozenset(CIRCLED_NUMBER.sub(r" \g<0> ", left).split())


def find_subsets(sets: dict[str, frozenset[str]]) -> list[tuple[str, str]]:
    """List pairs of option keys whose first one's statements are a proper subset of the second's."""
    return [(one, other) for one, other in permutations(sets, 2) if sets[one] < sets[other]]


def _find_equal(sets: dict[str, frozenset[str]]) -> list[str]:
    """Return the first keys that combine the same statements, "1, 2" and "2, 1"; none of orders."""
    keys: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for key, numbers in sets.items():
        keys[numbers].append(key)
    largest = max(map(len, keys.values()), default=0)
    if largest > 2 and 2 * largest > len(sets):
        return []  # the options are orders of the same things
    return next((group for group in keys.values() if len(group) > 1), [])


def check_statements(item: Item, rules: ItemRules = ItemRules()) -> Iterator[Fault]:
    """Check a combinatorial item: enough statements, no subsets, sizes of one order."""
    combination = read_combination(item)
    if combination is None:
        return
    count = len(combination.statements)
    if count < rules.min_statements:
        message = f"{count} statements; {rules.min_statements} are needed"
        yield Fault("too_few_statements", "question", message, {"statements": count})
    pairs_asked = any(PAIR.fullmatch(option.answer.strip()) for option in item.options)
    equal = [] if pairs_asked else _find_equal(combination.sets)
    if equal:
        told = " and ".join(equal)
        message = f"options {told} combine the same statements"
        yield Fault("statement_sets_equal", f"options.{equal[0]}", message, {"equal_positions": equal})
    pairs = find_subsets(combination.sets)
    if pairs:
        small, large = pairs[0]
        message = f"option {small}'s statements are all in option {large} ({len(pairs)} such pairs)"
        yield Fault("statement_subset", "options", message, {"pairs": [list(pair) for pair in pairs]})
    sizes = sorted(len(numbers) for numbers in combination.sets.values())
    if sizes[-1] > rules.statement_size_ratio * sizes[0]:
        message = f"options combine from {sizes[0]} to {sizes[-1]} statements"
        yield Fault("statement_sizes_unbalanced", "options", message, {"sizes": sizes})


def _numbered(stem: str, family: Sequence[str]) -> tuple[str, ...]:
    """Return the statement numbers that a stem counts through, from the first."""
    at = 0
    found: list[str] = []
    for number in family:
        match = _marker(number).search(stem, at)
        if match is None:
            break
        found.append(number)
        at = match.end()
    return tuple(found)


@cache
def _marker(number: str) -> re.Pattern[str]:
    if number in CIRCLED:
        return re.compile(number)
    return re.compile(
        rf"(?:^|(?<=[\s:：。.;；?？]))(?:\({number}\)|（{number}）|(?:[Ss]tatement\s+)?{number}\s*[.)．、:：](?!\d))"
    )
