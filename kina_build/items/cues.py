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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import ItemRules
from kina_build.items.checking.rule import Fault
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


Guess = Callable[[str, Sequence[str]], int | None]
"""From a stem and its options' texts to the place of the option that a cue names."""


@dataclass(frozen=True)
class Tally:
    """Counts over items, from which all figures follow; tallies of parts add up to the whole's."""

    guesses: Mapping[str, Counter[tuple[int, bool]]]
    """Cue to items on which it names an option, by number of options and whether it hits."""
    keys: Counter[tuple[int, int]]
    """Items by number of options and place of the key."""


def probe_cues(items: Iterable[Item]) -> list[CueProbe]:
    """Measure every cue over the items whose key names an option."""
    return measure_cues(tally(items))


def probe_balance(items: Iterable[Item]) -> Balance:
    """Test the letters of the keys against an even spread; see measure_balance."""
    return measure_balance(tally(items, {}))


def tally(items: Iterable[Item], cues: Mapping[str, Guess] | None = None) -> Tally:
    """Count what each cue (default: all) and each key names; items without a choice are left out."""
    wanted = CUES if cues is None else cues
    counts = Tally({cue: Counter() for cue in wanted}, Counter())
    for item in items:
        key, size = _place(item), len(item.options)
        if key is None or size < 2:
            continue
        counts.keys[size, key] += 1
        texts = [option.answer for option in item.options]
        for cue, guess in wanted.items():
            at = guess(item.question, texts)
            if at is not None:
                counts.guesses[cue][size, item.options[at].key == item.correct_answer] += 1
    return counts


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add the counts of parts of a pool."""
    total = tally(())
    for one in tallies:
        total.keys.update(one.keys)
        for cue, counts in one.guesses.items():
            total.guesses[cue].update(counts)
    return total


def measure_cues(counts: Tally) -> list[CueProbe]:
    """Compare every cue's hits with chance."""
    return [_probe(cue, guesses) for cue, guesses in counts.guesses.items()]


def measure_balance(counts: Tally) -> Balance:
    """Test the letters of the keys against an even spread.

    Items are grouped by their number of options, and the groups' chi-square statistics
    and degrees of freedom are added; groups with fewer items than options say nothing.
    """
    from scipy.special import chdtrc

    groups: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for (size, at), count in counts.keys.items():
        groups[size][at] += count
    chi2, df = 0.0, 0
    for size, places in sorted(groups.items()):
        expected = places.total() / size
        if expected >= 1:
            chi2 += sum((places[at] - expected) ** 2 for at in range(size)) / expected
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


def tail(hits: int, options: Mapping[int, int]) -> float:
    """Return P(at least `hits`) when each item is hit with probability 1 / its options.

    The law is the convolution of one binomial law for each number of options.

    Args:
        hits: items hit.
        options: number of options, two or more, to the items that have so many.
    """
    law: NDArray[np.floating[Any]] = np.ones(1)
    for size, count in sorted(options.items()):
        law = np.convolve(law, _binomial(count, 1 / size))
    return float(min(1.0, law[hits:].sum()))


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    """Return P(0), ..., P(n) of a binomial law."""
    from scipy.special import gammaln  # scipy.stats takes seconds to import

    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    law: NDArray[np.float64] = np.exp(ways + k * np.log(p) + (n - k) * np.log1p(-p))
    return law


def _probe(cue: str, guesses: Counter[tuple[int, bool]]) -> CueProbe:
    sizes: Counter[int] = Counter()
    for (size, _), count in guesses.items():
        sizes[size] += count
    n, hits = sizes.total(), sum(count for (_, hit), count in guesses.items() if hit)
    chance = sum(sizes[size] / size for size in sorted(sizes)) / n if n else 0.0
    return CueProbe(cue, n, hits, chance, tail(hits, sizes))


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
    return flags.index(True) if flags.count(True) == 1 else None


def _only_largest(sizes: Sequence[int]) -> int | None:
    largest = max(sizes)
    return sizes.index(largest) if largest > 0 and sizes.count(largest) == 1 else None


def _overlap(question: str, texts: Sequence[str]) -> int | None:
    stem = set(WORD.findall(question.casefold()))
    return _only_largest([len(stem.intersection(WORD.findall(text.casefold()))) for text in texts])


CUES: Mapping[str, Guess] = {
    "leading_whitespace": lambda _, texts: _only([text[:1].isspace() for text in texts]),
    "trailing_whitespace": lambda _, texts: _only([text[-1:].isspace() for text in texts]),
    "final_stop": lambda _, texts: _only([text.rstrip().endswith((".", "。")) for text in texts]),
    "longest": lambda _, texts: _only_largest([len(text) for text in texts]),
    "all_of_the_above": lambda _, texts: _only([bool(ALL_ABOVE.fullmatch(text)) for text in texts]),
    "none_of_the_above": lambda _, texts: _only([bool(NONE_ABOVE.fullmatch(text)) for text in texts]),
    "stem_overlap": _overlap,
}
"""Cue to guesser: the one option that differs in that trait, if there is just one."""


def _significant(value: float) -> float:
    return float(f"{value:.5g}")
