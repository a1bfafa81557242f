"""What asking models takes: who is asked, which questions, how they are put, how the calls are made."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.errors import UsageError
from kina_build.options import Role, dry_run, limit, option, seed, setting


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a model run."""

    model: str | None = option(None, help="Name the endpoint knows the model by.")
    models: Path | None = option(
        None,
        help="Instead: a table of models: model, and perhaps base_url, api_key_env, params (JSON), "
        "prompt_price, completion_price.",
        role=Role.input,
    )
    output: Path = option(MISSING, "-o", help="responses.jsonl to write.", role=Role.output)
    release: Path | None = option(None, help="Folder of a release (`kina export`).", role=Role.input)
    items: Path | None = option(None, help="Items instead of a release: a pool.jsonl.", role=Role.input)
    questions: Path | None = option(
        None, help="Enumeration questions (CSV or JSONL: id, question).", role=Role.input
    )
    pairs: Path | None = option(None, help="LM-KBC inputs: rows SubjectEntity, Relation.", role=Role.input)
    examples: Path | None = option(
        None, help="Pairs: LM-KBC rows with ObjectEntities to show first.", role=Role.input
    )
    prompts: Path | None = option(
        None,
        help="Pairs: table relation, prompt (with {subject}); else a general one.",
        role=Role.input,
    )
    split: str = option("test", help="Split of the release.")
    template: Path | None = option(
        None,
        help="Jinja template of the prompt, in place of ours; it decides what is asked.",
        role=Role.input,
    )
    system: Path | None = option(None, help="File with a system prompt.", role=Role.input)
    shots: int | None = option(
        None, help="Solved questions of the release, or --examples of a relation, to show first.", min=1
    )
    shots_from: str = option("dev", help="Split that they are taken from.")
    direct: bool = option(False, "--direct", help="Ask for the answer alone, without reasoning.")
    likeliest: Literal["label", "text"] | None = option(
        None,
        help="Take the likeliest option: by its label as the first token of the reply, or by its text as "
        "what follows the question; refused where the endpoint tells no log-probabilities of that.",
    )
    helps: Path | None = option(
        None,
        help="Rows item_id, universe, operations: ask each question four times, alone and with either or "
        "both; beside r.jsonl stand r.universe.jsonl, r.operations.jsonl, r.both.jsonl.",
        role=Role.input,
    )
    base_url: str | None = option(None, help="Else OPENAI_BASE_URL.", role=Role.manner)
    samples: int | None = option(None, help="Replies per item.", min=1)
    temperature: float | None = setting(
        "scoring.temperature", help="Else [scoring] or the endpoint's.", min=0
    )
    max_tokens: int | None = setting("scoring.max_tokens", help="Tokens a reply may have.", min=1)
    param: tuple[str, ...] = option((), help="More of the call, NAME=JSON; repeatable.", role=Role.manner)
    shuffle: bool = option(False, help="Show each item's options in a seeded order of its own.")
    batch: bool = option(
        False, "--batch", help="By the provider's Batch API: cheaper, within a day.", role=Role.manner
    )
    concurrency: int | None = setting("chat.concurrency", help="Calls open at once.", min=1)
    max_calls: int | None = setting("chat.max_calls", help="Stop after so many.", min=0)
    log: Path | None = option(None, help="Reply log; else beside the output.", role=Role.kept)
    seed: int = seed()
    limit: int | None = limit()
    dry_run: bool = dry_run()

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: none or several sources of questions, or an option that belongs to another.
        """
        sources = {
            "release": self.release,
            "items": self.items,
            "questions": self.questions,
            "pairs": self.pairs,
        }
        named = [f"--{name}" for name, path in sources.items() if path is not None]
        if len(named) != 1:
            shown = " and ".join(named) or "none"
            raise UsageError(
                f"give one of --release or --items, --questions or --pairs ({shown} given)",
                hint="kina export writes a release folder",
            )
        if self.pairs is None and (self.examples or self.prompts):
            raise UsageError("--examples and --prompts belong to --pairs")
        if (self.model is None) == (self.models is None):
            raise UsageError("give one of --model and --models")
        if self.pairs is not None and self.models is not None:
            raise UsageError("--models does not go with --pairs", hint="write one file a model for kina link")
        self._check_wording()
        if self.pairs is not None and self.samples not in (None, 1):
            raise UsageError(
                f"--samples {self.samples}: a pair is asked once", hint="write one file a sample"
            )

    def _check_wording(self) -> None:
        own = self.direct or self.likeliest or self.helps
        worded = self.template or self.system or (self.shots and self.pairs is None) or own
        if worded and self.release is None and self.items is None:
            raise UsageError(
                "--template, --system, --shots, --direct, --likeliest and --helps belong to multiple-choice "
                "questions",
                hint="--release or --items",
            )
        self._check_likeliest()
        if self.shots is not None and self.pairs is not None:
            if self.examples is None:
                raise UsageError("--shots beside --pairs chooses among --examples", hint="give the rows")
            return
        if self.shots is not None and self.release is None:
            raise UsageError("--shots belongs to --release: examples come from another of its splits")
        if self.shots is not None and self.shots_from == self.split:
            raise UsageError(f"--shots-from {self.shots_from}: the questions of {self.split} are asked")

    def _check_likeliest(self) -> None:
        others: dict[str, Any] = {"--direct": self.direct, "--batch": self.batch}
        if self.likeliest == "text":
            others |= {"--template": self.template, "--system": self.system, "--shots": self.shots}
            others |= {"--shuffle": self.shuffle, "--samples": (self.samples or 1) > 1}
        given = next((name for name, value in others.items() if value), None)
        if self.likeliest is not None and given is not None:
            raise UsageError(f"--likeliest {self.likeliest} does not go with {given}")
