"""Surface cues: how well a guesser does who never reads the question.

Each cue is a guesser that names at most one option of an item from its looks alone.
Over the items it has an opinion on, its hits are compared with chance, one over the
number of options each; the p-value is the upper tail of that Poisson-binomial law.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kina_build.config import ItemRules
from kina_build.items.findings import Fault
from kina_build.items.model import LETTERS, Item

ALL_ABOVE = re.compile(
    r"(?i)\W*(?:all|both)\s+of\s+(?:the\s+|these\s*)?(?:above|these|options)?\W*|\W*以上[皆都]是\W*"
)
NONE_ABOVE = re.compile(
    r"(?i)\W*(?:none|neither)\s+of\s+(?:the\s+|these\s*)?(?:above|these|others?)?\W*|\W*以上[皆都][不非]是\W*"
)
WORD = re.compile(r"\w{4,}")
"""Words long enough to carry meaning."""


@dataclass(frozen=True)
class CueProbe:
    """What one cue achieves on a pool."""

    cue: str
    n: int
    """Items on which the cue names an option."""
    hits: int
    chance: float
    """Mean of one over the number of options, over those items."""
    p_value: float
    """One-sided: the probability of as many hits by chance."""

    @property
    def accuracy(self) -> float:
        """Return the share of hits."""
        return self.hits / self.n if self.n else 0.0


@dataclass(frozen=True)
class Balance:
    """How evenly the keys are spread over the letters."""

    counts: Mapping[str, int]
    chi2: float
    """Summed over groups of items with equally many options."""
    df: int
    p_value: float


Guess = Callable[[Item], int | None]


def probe_cues(items: Sequence[Item]) -> list[CueProbe]:
    """Measure every cue over the items whose key names an option."""
    keyed = [item for item in items if len(item.options) > 1 and item.correct_text is not None]
    return [_probe(cue, guess, keyed) for cue, guess in CUES.items()]


def probe_balance(items: Iterable[Item]) -> Balance:
    """Test the letters of the keys against an even spread.

    Items are grouped by their number of options, and the groups' chi-square statistics
    and degrees of freedom are added; groups with fewer items than options say nothing.
    """
    from scipy.special import chdtrc

    groups: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for item in items:
        at = _place(item)
        if at is not None and len(item.options) > 1:
            groups[len(item.options)][at] += 1
    chi2, df = 0.0, 0
    for size, counts in groups.items():
        expected = counts.total() / size
        if expected >= 1:
            chi2 += sum((counts[at] - expected) ** 2 for at in range(size)) / expected
            df += size - 1
    total = sum(groups.values(), Counter())
    letters = LETTERS[: max(groups, default=0)]
    counted = {letter: total[at] for at, letter in enumerate(letters)}
    return Balance(counted, chi2, df, float(chdtrc(df, chi2)) if df else 1.0)


def check_cues(
    probes: Sequence[CueProbe], balance: Balance, rules: ItemRules = ItemRules()
) -> Iterator[Fault]:
    """Find cues that beat chance, and keys whose letters are out of balance.

    Args:
        probes: of probe_cues.
        balance: of probe_balance.
        rules: levels and the least number of items.
    """
    for probe in probes:
        if probe.n >= rules.cue_min_items and probe.p_value < rules.cue_p / len(probes):
            yield _cue_fault(probe)
    if balance.p_value < rules.balance_p and sum(balance.counts.values()) >= rules.cue_min_items:
        told = ", ".join(f"{letter} {count}" for letter, count in balance.counts.items())
        evidence = {"counts": dict(balance.counts), "chi2": round(balance.chi2, 4), "df": balance.df}
        evidence["p_value"] = _significant(balance.p_value)
        yield Fault("key_position", "pool", f"keys at {told} (p = {balance.p_value:.2g})", evidence)


def tail(hits: int, options: Iterable[int]) -> float:
    """Return P(at least `hits`) when each item is hit with probability 1 / its options.

    The law is the convolution of one binomial law for each number of options.
    """
    from scipy.stats import binom

    law = np.ones(1)
    for size, count in sorted(Counter(options).items()):
        law = np.convolve(law, binom.pmf(np.arange(count + 1), count, 1 / size))
    return float(min(1.0, law[hits:].sum()))


def _probe(cue: str, guess: Guess, items: Sequence[Item]) -> CueProbe:
    hits, sizes = 0, []
    for item in items:
        at = guess(item)
        if at is not None:
            sizes.append(len(item.options))
            hits += item.options[at].key == item.correct_answer
    chance = sum(1 / size for size in sizes) / len(sizes) if sizes else 0.0
    return CueProbe(cue, len(sizes), hits, chance, tail(hits, sizes))


def _cue_fault(probe: CueProbe) -> Fault:
    evidence = {
        "cue": probe.cue,
        "hits": probe.hits,
        "n": probe.n,
        "cue_accuracy": round(probe.accuracy, 4),
        "chance": round(probe.chance, 4),
        "p_value_one_sided": _significant(probe.p_value),
    }
    if probe.cue.endswith("whitespace"):
        evidence |= {"fix": "trim every option", "keys_changed": 0}
    message = (
        f"{probe.cue} names the key in {probe.hits} of {probe.n} items, "
        f"{probe.accuracy:.1%} where chance is {probe.chance:.1%} (p = {probe.p_value:.2g})"
    )
    return Fault("length_cue" if probe.cue == "longest" else "surface_cue", "pool", message, evidence)


def _place(item: Item) -> int | None:
    return next((at for at, option in enumerate(item.options) if option.key == item.correct_answer), None)


def _only(flags: Sequence[bool]) -> int | None:
    """Return the place of the only true flag."""
    return flags.index(True) if sum(flags) == 1 else None


def _only_largest(sizes: Sequence[int]) -> int | None:
    largest = max(sizes)
    return sizes.index(largest) if largest > 0 and sizes.count(largest) == 1 else None


def _overlap(item: Item) -> int | None:
    stem = set(WORD.findall(item.question.casefold()))
    return _only_largest([len(stem.intersection(WORD.findall(o.answer.casefold()))) for o in item.options])


CUES: Mapping[str, Guess] = {
    "leading_whitespace": lambda item: _only([o.answer[:1].isspace() for o in item.options]),
    "trailing_whitespace": lambda item: _only([o.answer[-1:].isspace() for o in item.options]),
    "final_stop": lambda item: _only([o.answer.rstrip().endswith((".", "。")) for o in item.options]),
    "longest": lambda item: _only_largest([len(o.answer) for o in item.options]),
    "all_of_the_above": lambda item: _only([bool(ALL_ABOVE.fullmatch(o.answer)) for o in item.options]),
    "none_of_the_above": lambda item: _only([bool(NONE_ABOVE.fullmatch(o.answer)) for o in item.options]),
    "stem_overlap": _overlap,
}
"""Cue to guesser: the one option that differs in that trait, if there is just one."""


def _significant(value: float) -> float:
    return float(f"{value:.5g}")
