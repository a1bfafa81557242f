"""What the commands about doubtful keys and difficulty take."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, argument, letters_of, option, pool

RESPONSES = "Replies or letters of models; several files."
POOL = "The items, with their keys."
RELEASE = "Folder of the release that was asked; without --pool also the items."


@dataclass(frozen=True, kw_only=True)
class TriageOptions:
    """Options of `kina triage`."""

    responses: tuple[Path, ...] = argument(RESPONSES)
    pool: Path | None = option(None, help=POOL, role=Role.input)
    release: Path | None = option(None, help=RELEASE, role=Role.input)
    letters_of: Path | None = letters_of()
    output: Path | None = option(None, "-o", help="Write the queue, JSON Lines.", role=Role.output)
    strong: tuple[str, ...] = option((), help="Count this model's vote; repeatable.", metavar="MODEL")


@dataclass(frozen=True, kw_only=True)
class PanelOptions:
    """Options of `kina panel`."""

    responses: tuple[Path, ...] = argument(RESPONSES)
    model: tuple[str, ...] = option(MISSING, help="A panel model; repeatable.", metavar="NAME[@DATE]")
    output: Path = option(MISSING, "-o", help="Write the admitted items: a pool.", role=Role.output)
    pool: Path | None = option(None, help=POOL, role=Role.input)
    release: Path | None = option(None, help=RELEASE, role=Role.input)
    letters_of: Path | None = letters_of()


@dataclass(frozen=True, kw_only=True)
class RepairOptions:
    """Options of `kina repair`."""

    pool: Path = pool()
    output: Path = option(
        Path("diagnoses.jsonl"), "-o", help="Write the diagnoses, JSON Lines.", role=Role.output
    )
    responses: tuple[Path, ...] = option((), help=RESPONSES + " Repeatable.", role=Role.input)
    release: Path | None = option(None, help="Folder of the release that was asked.", role=Role.input)
    letters_of: Path | None = letters_of()
    strong: tuple[str, ...] = option((), help="Count this model's vote; repeatable.", metavar="MODEL")
    profile: Literal["generic", "kina"] = option("generic", help="Which rules of `kina check` count.")
    judge: tuple[str, ...] = option(
        (), help="Ask this model about each doubtful item, without its key; repeatable.", metavar="MODEL"
    )
    judge_all: bool = option(False, help="Ask the judges about every item.")
    base_url: str | None = option(None, help="The judges' endpoint; else OPENAI_BASE_URL.", role=Role.manner)
    calls: Path = option(
        Path("repair-calls.jsonl"),
        help="Log of the judges' replies; asked only what it lacks.",
        role=Role.kept,
    )
    max_calls: int | None = option(None, help="Stop after so many calls.", role=Role.manner, min=0)
    max_cost: float | None = option(None, help="Stop at this cost.", role=Role.manner, min=0)
