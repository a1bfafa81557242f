"""What the operations on replies take: reading letters, marking, other tools' results, linking names."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.errors import UsageError
from kina_build.options import Role, argument, letters_of, option

TASKS = ("multiple-choice", "universe", "triples")


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """Options of reading letters."""

    replies: Path = argument("Rows id, response, n_options or options; '-' for stdin.")
    output: Path | None = option(None, "-o", help="File to write.", role=Role.output)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Options of marking replies, of all three tasks."""

    task: str = option(MISSING, help="multiple-choice, universe or triples.")
    release: Path | None = option(None, help="Folder of a release (`kina export`).", role=Role.input)
    split: str = option("test", help="Split of the release.")
    items: Path | None = option(None, help="Items instead of a release: a pool.jsonl.", role=Role.input)
    responses: tuple[Path, ...] = option((), help="responses.jsonl; repeatable.", role=Role.input)
    answers: Path | None = option(
        None, help="Answers of a private split (`kina export --private`).", role=Role.input
    )
    allow_partial: bool = option(False, "--allow-partial", help="Give a score below the coverage floor too.")
    letters_of: Path | None = letters_of()
    extractor: Literal[
        "kina", "mmlu-pro", "mmlu-pro-any", "mmlu-pro-two", "simple-evals", "lm-eval", "inspect"
    ] = option("kina", help="Rule that reads letters: ours, or a published one.")
    partial_credit: bool = option(
        False, "--partial-credit", help="Several right options: right choices less wrong ones count, not all."
    )
    all_extractors: bool = option(
        False, "--all-extractors", help="Also show accuracy and rank under every rule."
    )
    predictions: Path | None = option(None, help="Triples: predicted rows.", role=Role.input)
    gold: Path | None = option(None, help="Triples: gold rows.", role=Role.input)
    mode: str = option("lm-kbc-2023", help="Triples: lm-kbc-2023 to lm-kbc-2026, strict, seed-recipe, ...")
    relative_tolerance: float | None = option(None, help="Triples, strict: for numbers.", min=0)
    questions: Path | None = option(None, help="Universe: rows id, gold, language, domain.", role=Role.input)
    replies: Path | None = option(None, help="Universe: rows id, response.", role=Role.input)
    matching: str = option("maximum", help="Universe: maximum or greedy.")
    judge: str | None = option(None, help="Universe: model that judges leftovers.")
    judge_log: Path | None = option(
        None, help="Universe: log of the judge's replies, read and added to.", role=Role.kept
    )
    stages: tuple[str, ...] = option(
        (), help="Universe: CONDITION=scores.jsonl, once for each of the four.", role=Role.manner
    )
    estimate: Path | None = option(
        None,
        help="estimator.json of `kina shrink`: also estimate the scores on the whole pool.",
        role=Role.input,
    )
    output: Path | None = option(None, "-o", help="File to write.", role=Role.output)

    def check(self) -> None:
        """Refuse options that do not go together, and a task without what it cannot do without.

        Raises:
            UsageError: says which.
        """
        if self.letters_of is not None and self.task != "multiple-choice":
            raise UsageError("--letters-of belongs to --task multiple-choice")
        if (self.extractor != "kina" or self.all_extractors) and self.task != "multiple-choice":
            raise UsageError("--extractor and --all-extractors belong to --task multiple-choice")
        if self.partial_credit and self.task != "multiple-choice":
            raise UsageError("--partial-credit belongs to --task multiple-choice")
        if self.estimate is not None and self.task != "multiple-choice":
            raise UsageError("--estimate belongs to --task multiple-choice")
        others = self.questions or self.replies or self.judge or self.judge_log
        if self.stages and (self.task != "universe" or others):
            raise UsageError(
                "--stages belongs to --task universe and takes no --questions, --replies or --judge"
            )
        if self.task not in TASKS:
            raise UsageError(f"--task {self.task}: no such task", hint="multiple-choice, universe or triples")
        self._check_task()

    def _check_task(self) -> None:
        if self.task == "multiple-choice":
            need(responses=self.responses)
            if self.answers is not None and self.release is None:
                raise UsageError("--answers belongs to a --release whose answers are private")
        elif self.task == "triples":
            need(predictions=self.predictions, gold=self.gold)
        elif not self.stages:
            need(questions=self.questions, replies=self.replies)
            if self.judge_log is not None:
                need(judge=self.judge)


def need(**given: Any) -> None:
    """Ask for the options a task cannot do without.

    Raises:
        UsageError: names the first that is missing.
    """
    for name, value in given.items():
        if not value:
            raise UsageError(f"this task needs --{name.replace('_', '-')}", hint="see kina score --help")


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """Options of reading other tools' logs."""

    logs: tuple[Path, ...] = argument("Logs of other tools, or folders of them.")
    output: Path = option(Path("scores.jsonl"), "-o", help="Scores, one row a trial.", role=Role.output)
    responses: Path | None = option(
        None, help="Also write the raw replies, for `kina score --responses`.", role=Role.output
    )
    release: Path | None = option(
        None, help="Release that was run: gives items their ids where a log knows places.", role=Role.input
    )
    split: str = option("test", help="Split of the release.")
    items: Path | None = option(None, help="Instead of a release: a pool, by id.", role=Role.input)
    model: str | None = option(None, help="Name of the model, in place of the logs'.")
    task: tuple[str, ...] = option(
        (),
        help="Take only this task, or those of a pattern (*); of several, each item's id begins with its "
        "task's name.",
    )
    metric: str | None = option(None, help="Metric or scorer, where a log has several.")
    filter: str | None = option(None, help="Filter of lm-evaluation-harness, where it ran several.")
    apart: bool = option(
        False, "--apart", help="Take several logs of one model as so many models, named by tool and task."
    )
    board: Path | None = option(
        None,
        help="Also rank the models: pages with the board, and its leaderboard.json.",
        role=Role.folder,
        metavar="FOLDER",
    )
    missing: Literal["wrong", "common", "bounds"] | None = option(
        None, help="On the --board: what becomes of items without a score, as `kina rank --missing`."
    )

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: questions from two places; an option of the board without one.
        """
        if self.missing is not None and self.board is None:
            raise UsageError("--missing belongs to --board", hint="kina rank takes it for a scores file")
        if self.release is not None and self.items is not None:
            raise UsageError("--release brings its own items: leave out --items")


@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """Options of linking predicted names to Wikidata items."""

    predictions: Path = argument("LM-KBC rows with ObjectEntities (names).")
    output: Path = option(MISSING, "-o", help="Rows with ObjectEntitiesID filled in.", role=Role.output)
    names: Path | None = option(
        None, help="Table name, qid[, description] to link from, offline.", role=Role.input
    )
    fixed: Path | None = option(None, help="Table name, qid of cases decided by hand.", role=Role.input)
    keywords: Path | None = option(
        None, help="Table relation, keyword of the right description.", role=Role.input
    )
    model: str | None = option(None, help="Let this model choose among candidates.")
    log: Path | None = option(None, help="Reply log of the model.", role=Role.kept)
    cache: Path | None = option(
        None, help="Keep Wikidata's answers here; a later run goes on from it.", role=Role.kept
    )
    base_url: str | None = option(None, help="Else OPENAI_BASE_URL.", role=Role.manner)

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: a cache of searches where nothing is searched.
        """
        if self.names is not None and self.cache is not None:
            raise UsageError(
                "--cache keeps what Wikidata answers, and with --names nothing is asked",
                hint="leave one of the two out",
            )
