"""What the commands of questions take: import and check."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, argument, dry_run, option, pool

Format = Literal["auto", "jsonl", "json", "csv", "tsv", "parquet", "arrow", "xlsx", "quiz"]
KeyWord = Literal["auto", "letter", "text", "index0", "index1"]
Profile = Literal["generic", "kina", "release"]

MAP_HELP = (
    "Read an item field from a column or a dotted path; 'options=A,B,C,D' takes several, 'verdict=' none. "
    "A file's name: one such line a line."
)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of `kina import`."""

    files: tuple[Path, ...] = argument("Question files, dataset folders.", metavar="FILE...")
    output: Path = option(MISSING, "-o", help="The pool to write; '-' for stdout.", role=Role.output)
    format_: Format = option("auto", help="Of the files; auto looks at them.")
    encoding: str | None = option(None, help="Of files that are not UTF-8.")
    delimiter: str | None = option(None, help="Of CSV files; '\\t' for tab.")
    map_: tuple[str, ...] = option((), help=MAP_HELP, metavar="KEY=COLUMN")
    set_: tuple[str, ...] = option((), help="Give every row one value: --set field=law.", metavar="KEY=VALUE")
    name_as: str | None = option(None, help="Item field that takes the file's name.", metavar="KEY")
    cut_prefix: str = option("", help="Cut this off the file's name.")
    prefix_ids: bool = option(False, help="Ids become FILE:ID.")
    parallel: bool = option(
        False, help="The files are one set in several languages: same ids, or same rows; ids become FILE:ID."
    )
    key_form: KeyWord = option("auto", help="How answer keys are written.")
    several_keys: bool = option(
        False, "--several-keys", help="Take items with several right answers, which are refused otherwise."
    )
    patch: tuple[Path, ...] = option(
        (), help="Apply patches, as `kina fix` writes them; repeatable.", role=Role.input
    )
    keep_going: bool = option(False, help="Write the good rows anyway.")


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Options of `kina check`."""

    pool: Path = pool()
    profile: Profile = option(
        "generic", help="Which rules count, how much; release adds the gates of `kina export`."
    )
    rule: tuple[str, ...] = option((), help="Look at these rules only.")
    not_: tuple[str, ...] = option((), help="Leave a rule out.", metavar="RULE")
    output: Path | None = option(None, "-o", help="Write the findings as JSON Lines.", role=Role.output)
    keep: Path | None = option(None, help="Write the items without errors as a pool.", role=Role.output)


@dataclass(frozen=True, kw_only=True)
class FixOptions:
    """Options of `kina fix`."""

    pool: Path = pool()
    output: Path = option(
        Path("patches.jsonl"), "-o", help="The file that patches are added to.", role=Role.kept
    )
    only: tuple[str, ...] = option((), help="Do these repairs only.", metavar="REPAIR")
    also: tuple[str, ...] = option((), help="Do one that is not done unasked: mojibake.", metavar="REPAIR")
    accept: Path | None = option(
        None,
        help="Take the proposal for --item out of this file, as `kina repair` writes it.",
        role=Role.input,
    )
    item: str | None = option(None, help="Patch this item by hand.", metavar="ID")
    set_: tuple[str, ...] = option(
        (), help="New text of one of its fields: --set options.B=neon; repeatable.", metavar="FIELD=TEXT"
    )
    by: str | None = option(None, help="Who decided that.", metavar="NAME")
    why: str | None = option(None, help="The reason.", metavar="TEXT")
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions:
    """Options of `kina taxonomy`."""

    taxonomy: Path = argument("Leaves: code, discipline, field, subfield; items, most, uncovered.")
    pool: Path | None = option(None, help="Items, to see which leaves they cover.", role=Role.input)
    output: Path | None = option(None, "-o", help="Write the leaves' counts as quotas.", role=Role.output)
