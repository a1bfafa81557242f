"""One form for every harness: what a model replied to an item, once, and what that scored."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.scoring.questions import hash_option
from kina_build.scoring.responses import OptionHash

AGREE = 1e-12
"""Most that a mean of a tool's scores may differ from the accuracy the tool states."""


class Trial(BaseModel):
    """One model's one attempt at one item."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    item_id: str
    model: str
    epoch: int = Field(0, ge=0)
    """0-based: repeats of an item."""
    score: float | None = Field(ge=0, le=1)
    """By the tool's own rule; None where it gave none, as for a call that failed."""
    letter: str | None = None
    """The option that the tool read, in the item's labels."""
    answer: str | None = None
    """Label of the right option."""
    discipline: str = ""
    response: str | None = None
    """The raw reply, where there is one."""
    prompt_sha: str | None = None
    """sha256 of the prompt, where the log holds it."""
    option_hashes: tuple[OptionHash, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    time_s: float | None = None
    tool: str
    task: str
    dataset: str | None = None
    """Digest of the items, as the tool or our export states it."""
    error: str | None = None


@dataclass(frozen=True)
class Agreement:
    """The accuracy that a tool states beside the mean of its own scores."""

    tool: str
    model: str
    task: str
    metric: str
    stated: float | None
    """None where the log states none."""
    counted: float | None
    """Mean over items of the mean over epochs; None without a scored trial."""
    items: int
    failed: int
    """Trials without a score."""

    @property
    def agrees(self) -> bool:
        """Tell whether nothing is stated, or what is stated is what the scores give."""
        if self.stated is None or self.counted is None:
            return self.stated is None
        return abs(self.stated - self.counted) <= AGREE


@dataclass(frozen=True)
class Log:
    """One run of one model on one task, as its tool wrote it."""

    tool: str
    model: str
    task: str
    metric: str
    trials: Sequence[Trial]
    stated: float | None = None
    """Accuracy by the tool."""
    notes: Sequence[str] = field(default_factory=tuple)
    """What a reader of its scores should know."""
    source: str = field(default="", compare=False)
    """File or folder that it was read from."""
    by_place: bool = False
    """Its ids are places within its task: another task's are other items."""

    @property
    def agreement(self) -> Agreement:
        """Compare the stated accuracy with the trials."""
        by_item: dict[str, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.score is not None:
                by_item[trial.item_id].append(trial.score)
        means = [math.fsum(scores) / len(scores) for scores in by_item.values()]
        return Agreement(
            self.tool,
            self.model,
            self.task,
            self.metric,
            self.stated,
            math.fsum(means) / len(means) if means else None,
            len({trial.item_id for trial in self.trials}),
            sum(trial.score is None for trial in self.trials),
        )


def text(value: Any) -> str | None:
    """Return a value where it is text, else None."""
    return value if isinstance(value, str) else None


def part(value: Any, *names: str) -> Any:
    """Return what lies at the end of a path of names; None where a step of it is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def number(value: Any) -> float | None:
    """Return a score in [0, 1] from a number or a truth value; None where it is neither."""
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def count(value: Any) -> int:
    """Return a count of tokens; 0 where none is given."""
    return value if isinstance(value, int) and value >= 0 else 0


def hashes(options: Any) -> tuple[str, ...] | None:
    """Return the digests of options given as texts; None where they are not."""
    if not isinstance(options, list) or not options or not all(isinstance(one, str) for one in options):
        return None
    return tuple(map(hash_option, options))


def number_epochs(trials: Iterable[Trial]) -> list[Trial]:
    """Number trials of one item that carry no number, in their order."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    numbered: list[Trial] = []
    for trial in trials:
        key = trial.model, trial.item_id
        numbered.append(trial.model_copy(update={"epoch": seen[key]}))
        seen[key] += 1
    return numbered
