"""What a ranking takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kina_build.errors import UsageError
from kina_build.options import Role, argument, letters_of, option, seed, setting


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """Options of a ranking."""

    scores: Path | None = option(
        None,
        help="scores.jsonl, or a CSV of item_id, discipline, one column a model.",
        role=Role.input,
    )
    answers: Path | None = option(
        None,
        help="Rows of model, answers: one letter an item of --letters-of, in its order.",
        role=Role.input,
    )
    items: Path | None = option(
        None,
        help="Items with options and key (pool, release, MMLU-Pro): adds the floors.",
        role=Role.input,
    )
    release: Path | None = option(
        None,
        help="Release the scores belong to: its version, key and filter models.",
        role=Role.input,
    )
    split: str = option("test", help="Split of the --release.")
    estimate: Path | None = option(
        None,
        help="estimator.json of `kina shrink`: also estimate the scores on the whole pool; default: the one "
        "in the --release, where it is of the items ranked.",
        role=Role.input,
    )
    published: Path | None = option(
        None,
        help="Published accuracies in percent: columns model, ALL, disciplines.",
        role=Role.input,
    )
    item_count: int | None = option(None, help="Items behind the --published accuracies.", min=2)
    only: Path | None = option(
        None,
        help="Rank on these items only: a selection.json, or rows with item_id.",
        role=Role.input,
    )
    contaminated: Path | None = option(
        None,
        help="contamination.json of `kina contamination`: adds every model's accuracy without those items.",
        role=Role.input,
    )
    clusters: Path | None = option(
        None,
        help="Rows of item_id, cluster: items of one cluster are drawn together.",
        role=Role.input,
    )
    passages: bool = option(
        True,
        "--passages/--no-passages",
        help="Draw items on one passage together, where no --clusters are given.",
    )
    missing: Literal["wrong", "common", "bounds"] | None = option(
        None,
        help="What becomes of items a model has no score for: they count as wrong, are left out for all, "
        "or count as wrong with the best case beside it; else such a model is not ranked.",
    )
    filter_model: tuple[str, ...] = option(
        (), help="A model whose failures chose the items: shown, not ranked."
    )
    samples: int | None = setting(
        "ranking.samples", help="Resamples; default: ranking.samples, 10000.", min=100
    )
    seed: int = seed()
    paper: bool = option(False, "--paper", help="Add the KINA paper's own stability table.")
    output: Path | None = option(None, "-o", help="Write the leaderboard (JSON).", role=Role.output)
    item_analysis: Path | None = option(
        None,
        help="Write each item's difficulty, discrimination and distractor.",
        role=Role.output,
    )
    emit: Path | None = option(
        None,
        help="Also write one file a model for Every Eval Ever and, with --dataset, the Hub.",
        role=Role.folder,
        metavar="FOLDER",
    )
    organization: str | None = option(None, help="Who states the results, for --emit.")
    as_of: str | None = option(None, help="Day of the statement, for --emit: YYYY-MM-DD.")
    dataset: str | None = option(None, help="The data set's repository on the Hub, for --emit: ORG/NAME.")
    dataset_task: str = option("default", help="Its task, as its eval.yaml names it, for --emit.")
    letters_of: Path | None = letters_of()

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: none or more than one source, or an option the source has no use for.
        """
        sources = [s for s in (self.scores, self.answers, self.published) if s is not None]
        if len(sources) != 1:
            raise UsageError(
                "give exactly one of --scores, --answers, --published",
                hint="kina rank --scores scores.jsonl",
            )
        if (self.answers is None) != (self.letters_of is None):
            raise UsageError(
                "--answers and --letters-of go together: letters mean the options of one file, in its order",
                hint="kina rank --answers answers.jsonl --letters-of pool.jsonl",
            )
        if self.items is not None and self.release is not None:
            raise UsageError("--release brings its own items: leave out --items")
        if (self.published is None) != (self.item_count is None):
            raise UsageError("--published and --item-count go together", hint="KINA: --item-count 899")
        if self.release is not None and self.answers is not None:
            raise UsageError("--answers takes no --release", hint="--letters-of release/test.jsonl")
        paired = [
            self.missing,
            self.only,
            self.contaminated,
            self.clusters,
            self.item_analysis,
            self.items,
            self.release,
            self.estimate,
            *self.filter_model,
        ]
        if self.published is not None and (self.paper or any(p is not None for p in paired)):
            raise UsageError("--published takes only --item-count: there are no item-level scores behind it")


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of a comparison of two."""

    first: str = argument("A model of --scores, or a file of one model's scores.", role=Role.parameter)
    second: str = argument("Another, or the same model under another condition.", role=Role.parameter)
    scores: Path | None = option(
        None, help="Scores of both, as `kina score` and `kina results` write them.", role=Role.input
    )
    responses: tuple[Path, ...] = option(
        (), help="Replies of both: adds the difference by length of the reply.", role=Role.input
    )
    only: Path | None = option(
        None, help="Compare on these items only: a selection.json, or rows with item_id.", role=Role.input
    )
    clusters: Path | None = option(
        None, help="Rows of item_id, cluster: items of one cluster hang together.", role=Role.input
    )
    passages: bool = option(
        True, "--passages/--no-passages", help="Take items on one passage as a cluster, without --clusters."
    )
    missing: Literal["wrong", "common", "bounds"] | None = option(
        None, help="What becomes of items that one has no score for, as `kina rank --missing`."
    )
    output: Path | None = option(None, "-o", help="Write the items on which they differ.", role=Role.output)

    @property
    def files(self) -> list[Path]:
        """Return the files that the two arguments name, where there are no --scores."""
        return [] if self.scores is not None else [Path(self.first), Path(self.second)]
