"""What the commands of the release take: each option written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from kina_build import options
from kina_build.errors import UsageError
from kina_build.options import Role, argument, option

Extent = Literal["full", "released", "none"]
"""How much evidence travels: of all eligible items, of the released ones, none."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of `kina export`."""

    pool: Path = options.pool()
    output: Path = option(MISSING, "-o", help="The release folder.", role=Role.folder)
    selection: Path | None = option(
        None, help="Release only what this selection.json chose.", role=Role.input
    )
    decisions: Path | None = option(
        None, help="Release only what reviewers accepted (decisions.jsonl).", role=Role.input
    )
    duplicates: Path | None = option(
        None, help="Leave out copies, keep near-copies in one split (duplicates.json).", role=Role.input
    )
    left_out: Path | None = option(
        None, help="What fell before the selection (`kina leave-out`), for the card.", role=Role.input
    )
    agreement: Path | None = option(
        None, help="Reviewers' agreement, of `kina review agreement -o`, for the card.", role=Role.input
    )
    audit: Path | None = option(
        None, help="Findings of a random audit (item_id, flawed), for the card.", role=Role.input
    )
    estimator: Path | None = option(
        None,
        help="What scores on the released items say of the pool (`kina shrink --write-estimator`).",
        role=Role.input,
    )
    previous: Path | None = option(
        None, help="The release before this one; its splits are kept.", role=Role.input
    )
    filter_model: tuple[str, ...] = option(
        (), help="A model whose wrong answers let items in; the card says so."
    )
    name: str = option("benchmark", help="Short name, also of the harness tasks.")
    title: str = option("", help="Title of the card; default: the name.")
    release_version: str | None = option(
        None, help="Default: 1.0.0, or what the changes since --previous ask for."
    )
    published: str | None = option(None, help="Date in card and Croissant, YYYY-MM-DD; default: none.")
    take_down: tuple[str, ...] = option((), help="Withdraw an item for good: ID=reason; repeatable.")
    private: tuple[str, ...] = option(
        (), help="Keep the answers of this split (test or dev) out of the folder."
    )
    answers: Path | None = option(
        None, help="File of the private answers; default: OUTPUT.answers.jsonl.", role=Role.manner
    )
    salt: Path | None = option(
        None, help="File of the salt of hidden ids; default: kina.salt beside OUTPUT.", role=Role.manner
    )
    license: tuple[str, ...] = option((), help="Licence the card claims; default: those of the rows.")
    shuffle: bool = option(True, "--shuffle/--keep-letters", help="Draw the order of options, or keep it.")
    seed: int = options.seed()
    allow: tuple[str, ...] = option((), help="Let a gate pass: RULE=reason; the card says so; repeatable.")
    evidence: Extent | None = option(
        None, help="Support of all eligible items, of the released ones, or none; default: full to 50 MB."
    )
    made_from: tuple[Path, ...] = option(
        (),
        help="Where the files of the selection lie; default: beside selection.json; repeatable.",
        role=Role.manner,
    )
    creator: tuple[str, ...] = option((), help="Whom card and Croissant tell to cite; repeatable.")
    url: str | None = option(None, help="Where the release will be published.")
    dry_run: bool = options.dry_run()


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of `kina verify`."""

    release: Path = argument("A release folder, as `kina export` writes it.")
    answers: Path | None = option(
        None, help="File of the private answers, to check them too.", role=Role.input
    )


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """Options of `kina diff`."""

    old: Path = argument("The earlier release folder.")
    new: Path = argument("The later release folder.")


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of `kina publish`."""

    release: Path = argument("A release folder, as `kina export` writes it.")
    output: Path = option(
        Path("to-publish"), "-o", help="Folder for exactly what is to be published.", role=Role.folder
    )
    repo: str | None = option(
        None, help="Dataset on the Hugging Face Hub: OWNER/NAME.", role=Role.manner, metavar="OWNER/NAME"
    )
    upload: bool = option(
        False, help="Upload it to --repo; without this nothing leaves this machine.", role=Role.manner
    )


def parse_pairs(values: Sequence[str], name_of: str, *, reason_needed: bool) -> dict[str, str]:
    """Read options of the form NAME=reason.

    Raises:
        UsageError: a reason is missing, or a name is given twice.
    """
    found: dict[str, str] = {}
    for value in values:
        name, _, reason = value.partition("=")
        if not name or (reason_needed and not reason.strip()):
            raise UsageError(
                f"{name_of} {value}: no reason given", hint=f"write {name_of} {name or 'NAME'}='why'"
            )
        if name in found:
            raise UsageError(f"{name_of} names {name!r} twice")
        found[name] = reason.strip()
    return found


def parse_date(text: str) -> str:
    """Check a date and return it as YYYY-MM-DD.

    Raises:
        UsageError: not such a date.
    """
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"--published {text!r} is not a date", hint="write it as 2026-11-30") from None
