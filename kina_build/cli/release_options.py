"""Options of `kina export` and `kina verify`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Selection = Annotated[
    Path | None, typer.Option("--selection", help="Release only what this selection.json chose.")
]
Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="Release only what reviewers accepted (decisions.jsonl).")
]
Copies = Annotated[
    Path | None,
    typer.Option("--duplicates", help="Leave out copies, keep near-copies in one split (duplicates.json)."),
]
Agreement = Annotated[
    Path | None,
    typer.Option("--agreement", help="Reviewers' agreement, of `kina review agreement -o`, for the card."),
]
Audit = Annotated[
    Path | None, typer.Option("--audit", help="Findings of a random audit (item_id, flawed), for the card.")
]
FilterModel = Annotated[
    list[str] | None,
    typer.Option("--filter-model", help="A model whose wrong answers let items in; the card says so."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The release folder.")]
Name = Annotated[str, typer.Option("--name", help="Short name, also of the harness tasks.")]
Title = Annotated[str, typer.Option("--title", help="Title of the card; default: the name.")]
Published = Annotated[
    str | None, typer.Option("--published", help="Date in card and Croissant, YYYY-MM-DD; default: none.")
]
ReleaseVersion = Annotated[
    str | None,
    typer.Option("--release-version", help="Default: 1.0.0, or what the changes since --previous ask for."),
]
Previous = Annotated[
    Path | None, typer.Option("--previous", help="The release before this one; its splits are kept.")
]
TakeDown = Annotated[
    list[str] | None, typer.Option("--take-down", help="Withdraw an item for good: ID=reason; repeatable.")
]
Private = Annotated[
    list[str] | None,
    typer.Option("--private", help="Keep the answers of this split (test or dev) out of the folder."),
]
AnswersOut = Annotated[
    Path | None, typer.Option("--answers", help="File of the private answers; default: OUTPUT.answers.jsonl.")
]
AnswersIn = Annotated[
    Path | None, typer.Option("--answers", help="File of the private answers, to check them too.")
]
License = Annotated[
    list[str] | None, typer.Option("--license", help="Licence the card claims; default: those of the rows.")
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle/--keep-letters", help="Draw the order of options, or keep it.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help="Let a gate pass: RULE=reason; the card says so; repeatable."),
]
Creator = Annotated[
    list[str] | None, typer.Option("--creator", help="Whom card and Croissant tell to cite; repeatable.")
]
Url = Annotated[str | None, typer.Option("--url", help="Where the release will be published.")]
MadeFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--made-from",
        help="Where the files of the selection lie; default: beside selection.json; repeatable.",
    ),
]


class EvidenceExtent(StrEnum):
    """How much evidence a release carries."""

    full = "full"
    released = "released"
    none = "none"


Evidence = Annotated[
    EvidenceExtent | None,
    typer.Option(
        "--evidence",
        help="Support of all eligible items, of the released ones, or none; default: full to 50 MB.",
    ),
]
ReleaseFolder = Annotated[Path, typer.Argument(help="A release folder, as `kina export` writes it.")]
OldRelease = Annotated[Path, typer.Argument(help="The earlier release folder.")]
NewRelease = Annotated[Path, typer.Argument(help="The later release folder.")]
