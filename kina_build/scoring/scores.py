"""What marking brought: item scores, a report a model, and what could not be marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kina_build.rows.jsonl import write_records
from kina_build.scoring.estimator import Estimate
from kina_build.scoring.extractors import RuleRow
from kina_build.scoring.lettering import STATED, with_order
from kina_build.scoring.multiple_choice import ItemScore
from kina_build.scoring.prompts import PROMPT_VERSION
from kina_build.scoring.public import OURS
from kina_build.scoring.replies import EXTRACTOR_VERSION
from kina_build.scoring.reports import ModelReport


@dataclass(frozen=True)
class Scores:
    """Item scores of models, their reports, and what could not be marked."""

    rows: Sequence[ItemScore]
    models: Sequence[ModelReport]
    """Sorted by name."""
    dropped: Mapping[str, int]
    """Rows left out: repeat, unknown_id, prompt_changed, torn."""
    foreign: int = 0
    """Replies to another form of their items; left out, and counted among prompt_changed."""
    stated: bool = False
    """Letters were read in an order that was only stated."""
    extractor: str = OURS
    """The rule that read the letters."""
    others: Sequence[RuleRow] = ()
    """Every model under every rule, where that was asked for."""
    dataset: Mapping[str, Any] = field(default_factory=dict)
    """Version and content hash of the release; empty where there is none."""
    estimates: Sequence[Estimate] = ()
    """What each model would score on the whole pool, where an estimator was given."""
    several: int = 0
    """Questions with several right answers."""
    partial: bool = False
    """A share of several right options counted too; else only all of them and no other."""

    @property
    def held_back(self) -> bool:
        """Tell whether a model has no score, for want of answers."""
        return not self.models or any(model.score is None for model in self.models)

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina score --json` prints."""
        report: dict[str, Any] = {
            "task": "multiple-choice",
            "models": [_model_report(one) for one in self.models],
            "dropped": dict(self.dropped),
        }
        if self.stated:
            report["letters"] = STATED
        if self.several:
            report["several_right"] = {
                "questions": self.several,
                "credit": "partial" if self.partial else "exact set",
            }
        if self.estimates:
            report["estimates"] = [one.model_dump() for one in self.estimates]
        if self.dataset:
            report["dataset"] = dict(self.dataset)
        if self.extractor != OURS:
            report["extractor"] = self.extractor
        if self.others:
            report["extractors"] = [asdict(row) for row in self.others]
        return report | {"extractor_version": EXTRACTOR_VERSION, "prompt_version": PROMPT_VERSION}

    def write(self, path: Path | str) -> None:
        """Write the item scores as scores.jsonl."""
        write_records(path, with_order(self.rows, STATED if self.stated else None))

    def __str__(self) -> str:
        """Give a line a model."""
        return "\n".join(
            f"{one.model}: {'no score' if one.score is None else f'{one.score:.4f}'} "
            f"({one.answered} of {one.items} items answered)"
            for one in self.models
        )


def _model_report(report: ModelReport) -> dict[str, Any]:
    return asdict(report) | {"coverage": report.coverage, "missing_count": len(report.missing)}
