"""`kina budget` and `kina sample` as functions: a total shared over domains, or drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kina_build.config import EngineRules, SelectionRules
from kina_build.errors import UsageError
from kina_build.progress import NOBODY, Teller
from kina_build.rows.jsonl import write_document, write_records
from kina_build.rows.tables import write_csv
from kina_build.selection.domains import gains_by_domain
from kina_build.selection.files import Files
from kina_build.selection.inputs import Inputs, read_decisions, read_ids
from kina_build.selection.labels import levels, read_labels
from kina_build.selection.options import BudgetOptions, SampleOptions, Shares
from kina_build.selection.records import Quota
from kina_build.selection.sharing.draw import (
    STATEMENT,
    Sample,
    apportion,
    count_supply,
    draw_sample,
    make_budget,
    share_by_gain,
)

COLUMNS = ("domain", "k", "stratum", "lower", "upper")


@dataclass(frozen=True)
class Budget:
    """A total shared over domains, with bounds for each stratum."""

    total: int
    sizes: Mapping[str, int]
    """Domain to its items."""
    quotas: tuple[Quota, ...]
    eligible: tuple[int, ...]
    """Eligible items of each quota's stratum."""
    strata: Mapping[str, str]
    """Item to stratum."""
    domains: Mapping[str, str]
    """Item to domain."""

    @property
    def report(self) -> dict[str, Any]:
        """Return what is told of it."""
        rows = [
            quota.model_dump(mode="json") | {"eligible": count}
            for quota, count in zip(self.quotas, self.eligible, strict=True)
        ]
        return {"total": self.total, "k": dict(self.sizes), "quotas": rows}

    def write(self, path: Path) -> None:
        """Write the quotas as the file that `kina select --quota` takes: CSV or JSON Lines."""
        if path.suffix.lower() == ".csv":
            write_csv(path, COLUMNS, (quota.model_dump(mode="json") for quota in self.quotas))
        else:
            write_records(path, self.quotas)

    def __str__(self) -> str:
        """Say what each domain gets."""
        given = ", ".join(f"{name or '(all)'} {size}" for name, size in self.sizes.items())
        return f"{self.total} items over {len(self.sizes)} domains: {given}"


def budget_files(
    options: BudgetOptions,
    rules: SelectionRules = SelectionRules(),
    engine: EngineRules = EngineRules(),
) -> Budget:
    """Read the pool and what narrows it, and share the total.

    Raises:
        InputError: a file that cannot be read.
        UsageError: shares by coverage without support.
        Refusal: fewer eligible items than the total.
    """
    strata = read_labels(options.pool, *levels("stratum", options.by))
    domains = read_labels(options.pool, *levels("domain", options.domain_by))
    inputs = None
    if options.support is not None:
        files = files_to_share(options, options.support)
        inputs = files.read("clusters", engine)
    exclude = read_ids(options.exclude) if options.exclude else frozenset[str]()
    return share(
        strata, domains, options.total, shares=options.shares, inputs=inputs, exclude=exclude, rules=rules
    )


def files_to_share(options: BudgetOptions, support: Path) -> Files:
    """Return the files of `kina budget`."""
    return Files(
        support,
        options.anchors,
        options.pool,
        conflicts=options.conflicts,
        exclude=options.exclude,
        by=options.by,
        domain_by=options.domain_by,
    )


def share(
    strata: Mapping[str, str],
    domains: Mapping[str, str],
    total: int,
    *,
    shares: Shares = "strata",
    inputs: Inputs | None = None,
    exclude: frozenset[str] = frozenset(),
    rules: SelectionRules = SelectionRules(),
) -> Budget:
    """Share a total over domains by largest remainder, and bound their strata.

    Args:
        strata: item to stratum.
        domains: item to domain.
        total: items to share.
        shares: what a domain's share follows.
        inputs: scores and conflicts; only scored items then count.
        exclude: items that do not count.
        rules: settings.

    Raises:
        UsageError: shares by coverage without inputs.
        Refusal: fewer eligible items than the total.
    """
    scored = frozenset(strata if inputs is None else inputs.matrix.item_ids)
    supply = count_supply(strata, domains, scored - exclude)
    limits = {domain: sum(counts.values()) for domain, counts in supply.items()}
    if shares == "coverage":
        if inputs is None:
            raise UsageError("--shares coverage needs --support")
        gains = gains_by_domain(replace(inputs, domains=domains), total, limits, rules)
        sizes = share_by_gain(total, gains)
    else:
        weights: dict[Shares, dict[str, float]] = {
            "strata": {domain: len(counts) for domain, counts in supply.items()},
            "items": dict(limits),
            "even": dict.fromkeys(supply, 1),
        }
        sizes = apportion(total, weights[shares], limits)
    quotas = make_budget(sizes, supply, rules)
    eligible = tuple(supply[quota.domain][quota.stratum] for quota in quotas)
    return Budget(total, sizes, tuple(quotas), eligible, strata, domains)


@dataclass(frozen=True)
class Drawn:
    """A random sample, which says of itself that nothing vouches for it."""

    sample: Sample

    @property
    def item_ids(self) -> Sequence[str]:
        """List the items, stratum by stratum."""
        return self.sample.item_ids

    @property
    def report(self) -> dict[str, Any]:
        """Return what is written and told of it."""
        report: dict[str, Any] = {"kind": "sample", "statement": STATEMENT} | asdict(self.sample)
        report["certificate"] = {"guarantee": {"theorem": STATEMENT, "statement": STATEMENT}}
        return report

    def write(self, path: Path) -> None:
        """Write the file that `kina export --selection` takes."""
        write_document(path, self.report)

    def __str__(self) -> str:
        """Say how many items were drawn."""
        return f"{len(self.item_ids)} items drawn with seed {self.sample.seed}\n{STATEMENT}"


def sample_files(options: SampleOptions, tell: Teller = NOBODY) -> Drawn:
    """Read the pool and draw from it.

    Raises:
        InputError: a file that cannot be read.
        Refusal: fewer eligible items than the total.
    """
    strata = read_labels(options.pool, *levels("stratum", options.by))
    closed = set(read_ids(options.exclude)) if options.exclude else set[str]()
    if options.decisions is not None:
        decided = read_decisions(options.decisions)
        undecided = sum(item_id not in decided for item_id in strata)
        tell.say(f"only accepted items are drawn; {undecided} of {len(strata)} are undecided")
        closed |= {item_id for item_id in strata if decided.get(item_id) != "accept"}
    return Drawn(draw_sample(strata, options.total, options.seed, closed))
