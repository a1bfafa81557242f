"""The leaderboard: one document with every figure of a ranking and what each one claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from kina_build.ranking.board import NotRanked
from kina_build.ranking.disciplines import Discipline, Exposed
from kina_build.rows.jsonl import write_document
from kina_build.scoring.estimator import Estimate

FIGURE_DIGITS = 6
"""Decimals printed: beyond them BLAS builds differ."""


class Row(BaseModel):
    """Base of the leaderboard's records."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Standing(Row):
    """Give one model's place and how sure it is; rows come in order of accuracy."""

    model: str
    accuracy: float
    low: float
    """Bounds of the accuracy; `interval` of the leaderboard names the method."""
    high: float
    rank: int
    """1 + models shown to be better; models that cannot be told apart share it."""
    rank_low: int
    """Best rank of the 95 % confidence set for this row alone (paired, max-t)."""
    rank_high: int
    rank_low_simultaneous: int
    """The same, right for all rows at once with 95 %."""
    rank_high_simultaneous: int
    tier: int
    """A tier ends where its leader is shown to be better, all comparisons at once."""
    rank_percentile_low: float | None = None
    """Descriptive: 2.5 % quantile of the average rank over resamples; not a confidence set."""
    rank_percentile_high: float | None = None
    rank_arena_low: int | None = None
    """1 + models whose interval lies above this one: unpaired, blunt."""
    rank_arena_high: int | None = None
    wilson_low: float | None = None
    """Only for one right-or-wrong answer an item."""
    wilson_high: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    se: float | None = None
    """sqrt(var / N), items independent."""
    se_cluster: float | None = None
    """Cluster-robust (CR0), by the given clusters, else by discipline."""
    se_bootstrap: float | None = None
    top_k: dict[str, float] = {}
    """P(rank <= k) over resamples."""
    coverage: float = 1.0
    """Share of what was asked for which there is a score."""
    accuracy_best: float | None = None
    """Accuracy had it been right wherever it has no score; `accuracy` counts those as wrong (bounds)."""
    rank_best_case: int | None = None
    """1 + models ahead of it even if it was right wherever it has no score, and they wrong."""
    rank_worst_case: int | None = None
    """The other way round: the last place that the missing scores leave open."""
    letter_habit: float | None = None
    """What the model's letter frequencies alone would score."""


class Pair(Row):
    """Compare two models on the same items; `first` has the higher accuracy."""

    first: str
    second: str
    difference: float
    low: float
    """Bounds of the difference, for this pair alone."""
    high: float
    low_simultaneous: float | None = None
    """Bounds that hold for all pairs at once."""
    high_simultaneous: float | None = None
    distinct: bool
    """The bounds that hold for all pairs exclude 0."""
    test: str
    """mcnemar, paired-z, or unpaired-z where item-level scores are missing."""
    p: float
    """Of McNemar's mid-p test, else of the z test; this pair alone."""
    p_exact: float | None = None
    """McNemar's exact test."""
    p_next_holm: float | None = None
    """Holm-adjusted within the family "each model against the next"."""
    p_leader_holm: float | None = None
    """Holm-adjusted within the family "each model against the leader"."""
    only_first: int | None = None
    """Items only the first gets right."""
    only_second: int | None = None
    win: float | None = None
    """Share of resamples in which the first is ahead, ties counting half."""
    mdd: float | None
    """Least difference that this many items show with 80 % power; None: more than any difference can be."""


class Stability(Row):
    """Say how well orders on other items would agree with this one."""

    tau: float | None
    """Mean Kendall tau-b of resampled with full order."""
    spearman: float | None
    top10_overlap: float
    leader_kept: float
    split_half_tau: float | None
    split_half_spearman: float | None


class PaperRow(Row):
    """Repeat one row of the KINA paper's stability table; labelled thinning, not a bootstrap."""

    rate: float
    items: int
    top10_tau: float | None
    leader_kept: float
    variance_ratio: float
    """Variance of these subsamples over a bootstrap's."""


class FloorFigures(Row):
    """State what needs no knowledge."""

    chance: float
    constant_letter: str
    constant_letter_accuracy: float


class ItemSummary(Row):
    """Count what item analysis finds."""

    flag_key: int
    """Items with negative discrimination."""
    undefined: int
    """Items on which all models score the same."""
    flagged: tuple[str, ...]
    """The ids of the former, most negative first, at most 50."""


class Dataset(Row):
    """Name the release that the scores belong to."""

    name: str
    version: str
    content_hash: str
    prompt_version: str
    extractor_version: str


class OnPool(Row):
    """Say what the scores tell of the whole pool that the items were drawn from."""

    pool_items: int
    level: float
    """Of all intervals here."""
    error: float
    """Mean distance of an estimate from the pool's score for a model that taught nothing, in points."""
    error_low: float
    error_high: float
    raw_bias: float
    """Mean of raw score minus the pool's over the models that taught, in points."""
    raw_most: float
    """Largest distance of a raw score from the pool's, in points."""
    estimates: tuple[Estimate, ...]
    """In the order of the standings; models with missing scores have none."""


class Leaderboard(Row):
    """Hold a whole ranking."""

    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    mdd: float | None
    """Median over neighbours of the least difference shown with 80 % power; None: there are no neighbours,
    or too few items to show any difference."""
    tau: float | None
    """Mean Kendall tau-b between resampled and full order."""
    models: int
    items: int
    clusters: int | None = None
    """What was resampled, where items share clusters."""
    level: float
    samples: int
    seed: int
    basis: str
    """items: scores of every item; published: overall accuracies only."""
    missing: str | None = None
    """What became of missing scores: wrong, common, bounds; none: such models are not ranked."""
    interval: str
    """Method of low and high: wilson or bootstrap percentile."""
    dataset: Dataset | None = None
    """None where no release was named."""
    stability: Stability | None = None
    disciplines: tuple[Discipline, ...] = ()
    floors: FloorFigures | None = None
    not_ranked: tuple[NotRanked, ...] = ()
    filter_models: tuple[str, ...] = ()
    item_summary: ItemSummary | None = None
    paper: tuple[PaperRow, ...] = ()
    on_pool: OnPool | None = None
    """None, and not written: no estimator of these items was given."""
    exposed: Exposed | None = None
    """None, and not written: it was not said which items are contaminated."""
    notes: tuple[str, ...] = ()
    """What the figures may and may not be taken for."""

    @model_serializer(mode="wrap")
    def _leave_out(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what most boards do not have, so that their bytes stay what they were."""
        told: dict[str, Any] = dump(self)
        rare = {"on_pool", "exposed"}
        return {name: one for name, one in told.items() if name not in rare or one is not None}

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina rank --json` prints."""
        return self.model_dump(mode="json")

    def write(self, path: Path) -> None:
        """Write leaderboard.json."""
        write_document(path, self)

    def __str__(self) -> str:
        """Give a line a model: tier, ranks that all rows may have at once, accuracy."""
        lines = [f"{self.models} models on {self.items} items"]
        for one in self.standings:
            span = f"{one.rank_low_simultaneous}-{one.rank_high_simultaneous}"
            lines.append(f"tier {one.tier}, rank {span}: {one.model} {one.accuracy:.4f}")
        return "\n".join(lines)


def figure(value: float) -> float:
    """Round a figure for the document."""
    rounded = round(float(value), FIGURE_DIGITS)
    return 0.0 if rounded == 0 else rounded


def p_figure(value: float) -> float:
    """Round a p-value to six significant digits."""
    return float(f"{value:.6g}")
