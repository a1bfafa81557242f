"""What a check of a pool came to: the findings, in order, and the figures they were found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

from kina_build.items.checking.rule import POOL, Finding
from kina_build.items.checking.rulebook import RULES
from kina_build.items.cues import Balance, CueProbe
from kina_build.items.importing.rawfile import Reject
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.rows.jsonl import write_records

ROW = "row"
"""The field of findings about rows that import refused."""


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """All that a check found, and the pool's figures it was found by; a sequence of the findings."""

    findings: tuple[Finding, ...]
    """Rows that could not be read first, then those about the pool, then by item and rule."""
    items: Sequence[Item] = field(repr=False, compare=False)
    probes: tuple[CueProbe, ...]
    balance: Balance
    profile: str

    @property
    def by_rule(self) -> dict[str, int]:
        """Return how often each rule fired, most frequent first."""
        return dict(Counter(finding.rule for finding in self.findings).most_common())

    @property
    def errors(self) -> list[Finding]:
        """Return the findings that stop a release."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def sound(self) -> list[Item]:
        """Return the items without an error of their own or one that they share."""
        at_fault = items_at_fault(one for one in self.findings if one.field != ROW)
        return [item for item in self.items if item.item_id not in at_fault]

    @property
    def summary(self) -> dict[str, Any]:
        """Return counts by severity and rule, the chance level, every cue's accuracy, the keys' balance."""
        offering = [item for item in self.items if item.options]
        sizes = [len(item.options) for item in offering]
        severities = Counter(finding.severity for finding in self.findings)
        return {
            "profile": self.profile,
            "items": len(self.items),
            "errors": severities["error"],
            "warnings": severities["warning"],
            "infos": severities["info"],
            "by_rule": self.by_rule,
            "chance": round(sum(1 / item.ways for item in offering) / len(sizes), 4) if sizes else None,
            "option_counts": {str(size): count for size, count in sorted(Counter(sizes).items())},
            "cues": [_describe(probe) for probe in self.probes],
            "key_letters": dict(self.balance.counts),
            "key_balance_p": float(f"{self.balance.p_value:.4g}"),
        }

    @property
    def report(self) -> dict[str, Any]:
        """Return what `kina check --json` prints."""
        return {"findings": [one.model_dump() for one in self.findings], "summary": self.summary}

    def write(self, path: Path | str) -> int:
        """Write the findings as JSON Lines; return how many."""
        return write_records(path, self.findings)

    def keep(self, path: Path) -> int:
        """Write the items without errors as a pool; return how many."""
        return write_pool(path, self.sound)

    def __len__(self) -> int:
        return len(self.findings)

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, at: int | slice) -> Finding | tuple[Finding, ...]:
        return self.findings[at]

    def __str__(self) -> str:
        """Return the first line that `kina check` prints."""
        summary = self.summary
        return (
            f"{summary['items']} items: {summary['errors']} errors, {summary['warnings']} warnings, "
            f"{summary['infos']} notes (profile {summary['profile']})"
        )


def place(finding: Finding) -> tuple[bool, str, str, str]:
    """Order findings: those about the pool first, then by item and rule."""
    return finding.item_id != POOL, finding.item_id, finding.rule, finding.field


def select_rules(
    findings: Findings, rule: Collection[str], not_: Collection[str], gates: Collection[str] = ()
) -> Findings:
    """Keep the findings of some rules; rows that could not be read always stay.

    Args:
        findings: of a check.
        rule: the rules to keep; none: all.
        not_: the rules to leave out.
        gates: names of rules beside those of the rule book.
    """
    known = RULES.keys() | set(gates)
    left = (frozenset(rule) or known) - frozenset(not_)
    return replace(
        findings, findings=tuple(one for one in findings if one.rule in left or one.rule not in known)
    )


def items_at_fault(findings: Iterable[Finding]) -> set[str]:
    """Return the ids of items with an error of their own, or with one that they share."""
    errors = [finding for finding in findings if finding.severity == "error"]
    shared = (other for finding in errors for other in finding.evidence.get("others", ()))
    return {finding.item_id for finding in errors}.union(shared)


def check_rejects(rejects: Sequence[Reject]) -> list[Finding]:
    """Turn rows that import refused into findings, so that one list has all that is wrong with a file."""
    return [
        Finding(
            item_id=reject.item_id or f"{reject.file}:{reject.line}",
            rule=reject.reason,
            severity="error",
            field=ROW,
            message=f"{reject.file}:{reject.line}: {reject.message}",
            evidence=reject.evidence,
        )
        for reject in rejects
    ]


def _describe(probe: CueProbe) -> dict[str, Any]:
    return {
        "cue": probe.cue,
        "hits": probe.hits,
        "n": probe.n,
        "accuracy": round(probe.accuracy, 4),
        "chance": round(probe.chance, 4),
        "p_value": float(f"{probe.p_value:.4g}"),
    }
