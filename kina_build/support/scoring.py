"""`kina support` and `kina anchors` as functions: read the files, score or merge, describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import SupportRules
from kina_build.errors import InputError, Refusal, UsageError
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.rows.tables import read_table, write_csv
from kina_build.support.anchors import (
    COLUMNS,
    Anchor,
    anchor_sheet,
    read_anchors,
    reference_ids,
    weigh_anchors,
    write_anchors,
)
from kina_build.support.bank.scoring import draw_sheets, score_by_bank
from kina_build.support.diagnose import compare_support, describe_support
from kina_build.support.embedding import support_by_embedding
from kina_build.support.experts import (
    Finding,
    MergedAnchors,
    compare_domains,
    merge_proposals,
    read_proposals,
)
from kina_build.support.judge.calls import by_judge, estimate
from kina_build.support.judge.rated import support_by_ratings
from kina_build.support.judge.ratings import holds_scores, matrix_of_pairs, read_pair_scores, read_ratings
from kina_build.support.npz import read_support, write_support
from kina_build.support.options import AnchorsOptions
from kina_build.support.partition.scoring import score_in_partitions
from kina_build.support.setup import Outcome, Setup, load_embedder
from kina_build.support.spread import add_spread


@dataclass(frozen=True)
class Scored:
    """What came of a run: a report, and the models behind it."""

    report: dict[str, Any]
    models: Mapping[str, str] = field(default_factory=dict)
    reused: Mapping[str, int] | None = None
    """What was taken over of earlier runs, by kind."""


def score_files(setup: Setup) -> Scored:
    """Score a pool for its anchors, and write the support with what the method keeps beside it.

    Raises:
        InputError: a file that cannot be read.
        UsageError: options that do not fit the method.
        Refusal: texts that the encoder cannot read, or ratings that are missing.
    """
    options = setup.options
    anchors = read_anchors(options.anchors)
    if setup.in_partitions:
        report, models = score_in_partitions(setup, options.pool, anchors, options.output)
        return Scored(report, models, setup.reuse.counts("parts", "vectors", "replies"))
    items = read_pool(options.pool)
    findings = [finding.model_dump() for finding in compare_domains(anchors, items)]
    outcome = score(setup, items, anchors)
    report = {"method": options.method, **describe_support(outcome.matrix), "findings": findings}
    report |= outcome.report
    if options.compare:
        report["compared"] = compare_support(outcome.matrix, read_support(options.compare))
    spread = widen(setup, items, outcome)
    outcome.write_more()
    write_support(options.output, spread.matrix)
    return Scored(report | spread.report, spread.models, setup.reuse.counts("vectors", "replies"))


PAIR_BYTES = 24
"""Of one score of an item for an item, while they are put in order."""


def score(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the method asked for; items that are anchors themselves support others and stand on no row.

    Raises:
        Refusal: no item is left.
    """
    outcome = METHODS[setup.options.method](setup, items, anchors)
    references = reference_ids(items, anchors)
    if not references:
        return outcome
    kept = [at for at, name in enumerate(outcome.matrix.item_ids) if name not in references]
    if not kept:
        raise Refusal("every item is an anchor of kind item: none is left to select")
    told = outcome.report | {"reference_items": sorted(references)}
    return replace(outcome, matrix=outcome.matrix.take(np.array(kept)), report=told)


def widen(setup: Setup, items: Sequence[Item], outcome: Outcome) -> Outcome:
    """Add the items as anchors where --spread asks for it.

    Raises:
        UsageError: the scores of every item for every item exceed the memory.
    """
    share, matrix = setup.options.spread, outcome.matrix
    if share is None:
        return outcome
    count = len(matrix.item_ids)
    needed = count * (setup.rules.spread_near + len(matrix.anchor_ids)) * PAIR_BYTES // 10**6
    most = setup.engine.memory_mb
    if needed > most:
        raise UsageError(
            f"--spread over {count} items takes {needed} MB of scores, and {most} MB are allowed",
            hint="--memory allows more",
        )
    embed, revision = load_embedder(setup)
    wide = add_spread(matrix, items, embed, share, setup.rules.spread_near)
    told = {"share": share, "anchors": count, "near": setup.rules.spread_near, "encoder": setup.encoder}
    models = outcome.models | {setup.encoder: revision}
    return replace(outcome, matrix=wide, report=outcome.report | {"spread": told}, models=models)


def estimate_files(setup: Setup) -> dict[str, Any]:
    """Return what a run would take, without a call.

    Raises:
        UsageError: the method makes no calls.
    """
    anchors = read_anchors(setup.options.anchors)
    return estimate(setup, read_pool(setup.options.pool), anchors)


def draw_files(setup: Setup, folder: Path) -> dict[str, Any]:
    """Write sheets of items and pairs for people to label; return what was drawn."""
    read_anchors(setup.options.anchors)
    return draw_sheets(setup, read_pool(setup.options.pool), folder)


def by_embedding(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the cosine of texts."""
    embed, revision = load_embedder(setup)
    matrix = support_by_embedding(
        items, anchors, embed, rules=setup.rules, all_domains=setup.options.all_domains
    )
    return Outcome(matrix, models={setup.encoder: revision})


def by_ratings(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by a file of scores or ratings."""
    ratings, labels = setup.options.ratings, setup.options.labels
    if not ratings:
        raise UsageError("--method ratings needs --ratings FILE")
    scores = read_pair_scores(ratings, items, anchors)
    if holds_scores(ratings) and not labels:
        return Outcome(matrix_of_pairs(items, anchors, scores, setup.rules))
    experts = read_ratings(labels) if labels else []
    rated = support_by_ratings(items, anchors, read_ratings(ratings), experts, setup.rules)
    return Outcome(rated.matrix, rated.report)


METHODS: dict[str, Callable[[Setup, Sequence[Item], Sequence[Anchor]], Outcome]] = {
    "embedding": by_embedding,
    "judge": by_judge,
    "ratings": by_ratings,
    "bank": score_by_bank,
}


def anchor_files(options: AnchorsOptions, rules: SupportRules = SupportRules()) -> dict[str, Any]:
    """Check and merge experts' lists, weigh them, and write what was asked for; return the report.

    Raises:
        InputError: a file that cannot be read, or no anchor is left.
        RowErrors: rows that are not anchors.
    """
    items = read_pool(options.pool) if options.pool else []
    merged, weighed = merge_lists(options.files, options.min_experts, rules)
    if options.output:
        write_anchors(options.output, weighed)
    if options.worksheet:
        write_csv(options.worksheet, COLUMNS, anchor_sheet(merged.anchors if merged else (), items))
    return describe_anchors(merged, weighed, compare_domains(weighed, items) if options.pool else [])


def merge_lists(
    files: Sequence[Path], min_experts: int = 1, rules: SupportRules = SupportRules()
) -> tuple[MergedAnchors | None, list[Anchor]]:
    """Read and merge the lists; return them with the experts' weights, and the anchors with mu."""
    if not files:
        return None, []
    _refuse_namesakes(files)
    merged = merge_proposals([row for file in files for row in read_proposals(file)], min_experts)
    mu = weigh_anchors(merged.anchors, rules)
    weighed = [
        anchor.model_copy(update={"weight": float(weight)})
        for anchor, weight in zip(merged.anchors, mu, strict=True)
    ]
    return merged, weighed


def _refuse_namesakes(files: Sequence[Path]) -> None:
    """Refuse files of one name that leave it to their names who wrote them: two experts would be one.

    Raises:
        InputError: so it is.
    """
    first: dict[str, Path] = {}
    for file in files:
        if all(row.values.get("expert") for row in read_table(file) if row.values.get("statement")):
            continue
        other = first.setdefault(file.stem, file)
        if other is not file:
            raise InputError(
                f"{file}: its expert would be {file.stem!r}, as that of {other}",
                hint="name the files after their experts, or give a column expert",
            )


def describe_anchors(
    merged: MergedAnchors | None, anchors: Sequence[Anchor], about_pool: Sequence[Finding]
) -> dict[str, Any]:
    """Return what is told of merged anchors."""
    findings = [*(merged.findings if merged else ()), *about_pool]
    return {
        "anchors": len(anchors),
        "by_domain": dict(sorted(Counter(anchor.domain for anchor in anchors).items())),
        "by_kind": dict(sorted(Counter(anchor.kind or "not said" for anchor in anchors).items())),
        "experts": list(merged.experts) if merged else [],
        "agreement": merged.agreement if merged else None,
        "named_by": {key: list(names) for key, names in merged.named_by.items()} if merged else {},
        "findings": [finding.model_dump() for finding in findings],
        "left_out": [finding.model_dump() for finding in merged.left_out] if merged else [],
    }
