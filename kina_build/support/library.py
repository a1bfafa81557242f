"""Support from Python: what `kina support` does, with records or paths in the place of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kina_build.config import ChatRules, DedupRules, SupportRules
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.progress import NOBODY, Teller
from kina_build.support.anchors import Anchor, read_anchors
from kina_build.support.diagnose import describe_support
from kina_build.support.experts import compare_domains
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import write_support
from kina_build.support.options import Method, SupportOptions
from kina_build.support.scoring import score, widen
from kina_build.support.setup import Setup


@runtime_checkable
class HasItems(Protocol):
    """A pool as the room of items reads it."""

    @property
    def items(self) -> Sequence[Item]:
        """List the items."""


Pool = Path | str | Sequence[Item] | HasItems
"""A pool.jsonl, or items."""


@dataclass(frozen=True)
class Support:
    """How much each item shows of each anchor, and what is told of it."""

    matrix: SupportMatrix
    """Scores of shape (items, anchors) as whole levels, with the anchors' weights."""
    report: dict[str, Any]

    def write(self, path: Path | str) -> None:
        """Write support.npz."""
        write_support(Path(path), self.matrix)

    def __str__(self) -> str:
        """Say what it covers."""
        items, anchors, best = (self.report[key] for key in ("items", "anchors", "mean_best"))
        return (
            f"{items} items x {anchors} anchors by {self.report['method']}; "
            f"if every item were taken, {best:.1%} of the anchors' weight would be covered"
        )


def score_support(
    pool: Pool,
    anchors: Path | str | Sequence[Anchor],
    *,
    method: Method = "embedding",
    rules: SupportRules = SupportRules(),
    encoding: DedupRules = DedupRules(),
    chat: ChatRules = ChatRules(),
    tell: Teller = NOBODY,
    **options: Any,
) -> Support:
    """Score how much each item shows of each anchor, in [0, 1].

    Args:
        pool: the items, or a pool.jsonl.
        anchors: the anchors, or a file of them.
        method: embedding (cosine), judge (a model), ratings (files) or bank (the paper's reference bank).
        rules: settings of support.
        encoding: settings of the encoder.
        chat: settings of calls to a model.
        tell: told of the progress.
        options: fields of SupportOptions, as `encoder="..."` or `ratings=(path,)`.

    Raises:
        InputError: a file that cannot be read, or unusable weights.
        UsageError: options that do not fit the method.
        Refusal: texts that the encoder cannot read, or ratings that are missing.
    """
    items = items_of(pool)
    targets = read_anchors(Path(anchors)) if isinstance(anchors, Path | str) else list(anchors)
    given = SupportOptions(pool=Path("pool"), anchors=Path("anchors"), method=method, **options)
    setup = Setup(given, rules, encoding, chat, tell=tell)
    setup.check()
    outcome = score(setup, items, targets)
    findings = [finding.model_dump() for finding in compare_domains(targets, items)]
    report = {"method": method, **describe_support(outcome.matrix), "findings": findings, **outcome.report}
    spread = widen(setup, items, outcome)
    return Support(spread.matrix, report | spread.report)


def items_of(pool: Pool) -> list[Item]:
    """Return the items of a pool, read if need be.

    Raises:
        InputError: missing, empty or malformed file.
    """
    if isinstance(pool, Path | str):
        return read_pool(Path(pool))
    return list(pool.items) if isinstance(pool, HasItems) else list(pool)
