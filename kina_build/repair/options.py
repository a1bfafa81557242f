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


@dataclass(frozen=True, kw_only=True)
class ConsensusOptions:
    """Options of `kina consensus`."""

    pool: Path = pool()
    judge: tuple[str, ...] = option(
        MISSING, help="Ask this model about each item; repeatable, best three.", metavar="MODEL"
    )
    each: int = option(MISSING, "-n", help="Items wanted of each field, exactly.", min=1)
    output: Path = option(
        Path("consensus.jsonl"), "-o", help="Write what is said of each item, JSON Lines.", role=Role.output
    )
    by: Literal["field", "subfield", "discipline"] = option("field", help="What a field is here.")
    responses: tuple[Path, ...] = option(
        (), help=RESPONSES + " Judges are told of them. Repeatable.", role=Role.input
    )
    release: Path | None = option(None, help="Folder of the release that was asked.", role=Role.input)
    letters_of: Path | None = letters_of()
    write_quota: Path | None = option(
        None, help="Write exactly n of each field, for `kina select --quota`.", role=Role.output
    )
    write_conflicts: Path | None = option(
        None, help="Write items on one piece of knowledge, for `kina select --conflicts`.", role=Role.output
    )
    write_exclude: Path | None = option(
        None, help="Write items that are not kept, for `kina select --exclude`.", role=Role.output
    )
    allow_disagreement: bool = option(False, help="Go on although a judge votes by chance only.")
    base_url: str | None = option(None, help="The judges' endpoint; else OPENAI_BASE_URL.", role=Role.manner)
    calls: Path = option(
        Path("consensus-calls.jsonl"),
        help="Log of the judges' replies; asked only what it lacks.",
        role=Role.kept,
    )
    max_calls: int | None = option(None, help="Stop after so many calls.", role=Role.manner, min=0)
    max_cost: float | None = option(None, help="Stop at this cost.", role=Role.manner, min=0)
