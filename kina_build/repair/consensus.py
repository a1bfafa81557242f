"""Consensus: what judges say of the items of a field becomes constraints of a selection.

An item stands for election when two of three judges vote to keep it. Exactly n items of a field, and
no piece of knowledge twice, are a quota and conflicts that `kina select` takes; which n those are, the
anchors decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build.config import SupportRules
from kina_build.items.model import Item
from kina_build.items.questions import read_pool_or_import
from kina_build.items.text import fold_stem
from kina_build.repair.opinions import Ask, Opinion, Opinions, ask_opinions, tell_answers
from kina_build.repair.options import ConsensusOptions
from kina_build.repair.votes import order_of, read_items_and_votes
from kina_build.rows.jsonl import write_document, write_records
from kina_build.support import compare_or_refuse

AGREEING = 2 / 3
"""Share of the judges that must say the same (arXiv 2606.05104: two of three)."""


class ItemConsensus(BaseModel):
    """What the judges say of one item together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    stratum: str
    """The field of whose items exactly n are wanted."""
    kept: bool
    """Whether enough judges vote to keep it."""
    reason: str = ""
    """Why it is not: "votes", "undecided" (too few opinions could be read) or "no stratum"."""
    point: str = ""
    """The piece of knowledge it tests, as most judges name it."""
    difficulty: float | None = None
    power: float | None = None
    """Medians over the judges, 1 to 5."""
    failures: tuple[str, ...] = ()
    """Those that enough judges name."""
    opinions: tuple[Opinion, ...] = ()


@dataclass(frozen=True)
class Consensus:
    """What the judges say of a pool, and the constraints that follow."""

    items: tuple[ItemConsensus, ...]
    conflicts: tuple[tuple[str, str], ...]
    """Pairs of items of one stratum that test the same piece of knowledge."""
    each: int
    agreement: Sequence[Mapping[str, Any]]
    """Of every two judges' votes."""
    opinions: Opinions
    stated: Mapping[str, str]

    @property
    def strata(self) -> dict[str, list[ItemConsensus]]:
        """Return the items that are kept, by stratum; strata without any included."""
        found: dict[str, list[ItemConsensus]] = {one.stratum: [] for one in self.items if one.stratum}
        for one in self.items:
            if one.kept:
                found[one.stratum].append(one)
        return dict(sorted(found.items()))

    @property
    def report(self) -> dict[str, Any]:
        """Return what `kina consensus --json` prints."""
        points = {name: len({fold_stem(one.point) for one in kept}) for name, kept in self.strata.items()}
        failures = Counter(failure for one in self.items for failure in one.failures)
        return dict(self.stated) | {
            "items": len(self.items),
            "kept": sum(one.kept for one in self.items),
            "left_out": dict(sorted(Counter(one.reason for one in self.items if one.reason).items())),
            "strata": {
                name: {"kept": len(kept), "points": points[name]} for name, kept in self.strata.items()
            },
            "short": sorted(name for name, count in points.items() if count < self.each),
            "each": self.each,
            "k": self.each * len(self.strata),
            "conflicts": len(self.conflicts),
            "failures": dict(failures.most_common()),
            "agreement": [dict(row) for row in self.agreement],
            "calls": dict(self.opinions.statuses),
            "unread": self.opinions.unread,
        }

    def write(self, options: ConsensusOptions) -> None:
        """Write what is said of the items, and the constraints that were asked for."""
        write_records(options.output, self.items)
        if options.write_quota:
            rows = [{"stratum": name, "lower": self.each, "upper": self.each} for name in self.strata]
            write_records(options.write_quota, rows)
        if options.write_conflicts:
            write_document(
                options.write_conflicts, {"conflict_edges": [list(pair) for pair in self.conflicts]}
            )
        if options.write_exclude:
            dropped = [one.item_id for one in self.items if not one.kept]
            write_document(options.write_exclude, {"item_ids": dropped})


def seek_consensus(options: ConsensusOptions, ask: Ask, rules: SupportRules = SupportRules()) -> Consensus:
    """Ask the judges about a pool, and draw the constraints of a selection from what they agree on.

    Args:
        options: of the command.
        ask: gets replies; see kina_build.repair.mend.asking.
        rules: the floor of agreement.

    Raises:
        InputError: a file that cannot be read.
        Refusal: calls failed, or a judge votes as the others do by chance only.
    """
    answers: dict[str, str] = {}
    stated: dict[str, str] = {}
    if options.responses:
        items, votes = read_items_and_votes(options)
        matrix = votes.matrix
        for row, item in enumerate(items):
            answers[item.item_id] = tell_answers(
                matrix.letters[row][matrix.asked[row]].tolist(), item.correct_answer
            )
        stated = order_of(votes)
    else:
        items = read_pool_or_import(options.pool)[0]
    opinions = ask_opinions(items, answers, options.judge, ask)
    if options.allow_disagreement:
        rules = rules.model_copy(update={"agreement_floor": -1.0})
    return agree(items, opinions, options, rules, stated)


def agree(
    items: Sequence[Item],
    opinions: Opinions,
    options: ConsensusOptions,
    rules: SupportRules = SupportRules(),
    stated: Mapping[str, str] | None = None,
) -> Consensus:
    """Put opinions together.

    Args:
        items: a pool.
        opinions: on its items.
        options: the judges, how many items of a stratum, and which field is the stratum.
        rules: the floor of agreement.
        stated: what is to be said of the order of letters.

    Raises:
        Refusal: a judge votes as the others do by chance only.
    """
    votes = [
        ((name, ""), one.judge, int(one.vote == "keep"))
        for name, said in opinions.by_item.items()
        for one in said
    ]
    agreement = compare_or_refuse(votes, rules)
    least = math.ceil(AGREEING * len(options.judge) - 1e-9)
    found = tuple(
        _sum_up(item, str(getattr(item, options.by) or ""), opinions.by_item[item.item_id], least)
        for item in sorted(items, key=lambda item: item.item_id)
    )
    return Consensus(
        found, tuple(find_same_points(found, least)), options.each, agreement, opinions, stated or {}
    )


def find_same_points(items: Sequence[ItemConsensus], least: int) -> list[tuple[str, str]]:
    """Return the pairs of kept items of one stratum that at least so many judges give the same point."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in items:
        if item.kept:
            for opinion in item.opinions:
                groups[item.stratum, opinion.judge, fold_stem(opinion.point)].append(item.item_id)
    pairs = Counter(pair for ids in groups.values() for pair in combinations(sorted(ids), 2))
    return sorted(pair for pair, judges in pairs.items() if judges >= least)


def _sum_up(item: Item, stratum: str, opinions: tuple[Opinion, ...], least: int) -> ItemConsensus:
    kept = sum(opinion.vote == "keep" for opinion in opinions)
    undecided = len(opinions) < least
    reason = "no stratum" if not stratum else "undecided" if undecided else "votes" if kept < least else ""
    points = Counter(fold_stem(opinion.point) for opinion in opinions)
    failures = Counter(failure for opinion in opinions for failure in set(opinion.failures))
    return ItemConsensus(
        item_id=item.item_id,
        stratum=stratum,
        kept=not reason,
        reason=reason,
        point=max(points, key=lambda point: (points[point], point), default=""),
        difficulty=median(one.difficulty for one in opinions) if opinions else None,
        power=median(one.power for one in opinions) if opinions else None,
        failures=tuple(sorted(failure for failure, count in failures.items() if count >= least)),
        opinions=opinions,
    )
