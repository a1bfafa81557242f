"""The contents page of `kina --help`: every command once, in its group, in one uncut line."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from kina_build.cli.console import Console

WIDEST = 120
"""Columns that help takes of a wide terminal: longer lines are hard to read."""

CONTENTS: dict[str, dict[str, dict[str, str]]] = {
    "kina": {
        "Project": {
            "init": "Look at files, and write kina.toml",
            "build": "Run what is stale, in order",
            "status": "Show what is stale, and what waits for people",
            "why": "Tell the life of one item across all files",
            "decide": "Record what a person decided",
            "log": "Show what was run when, and at what cost",
            "doctor": "Check encoder, caches, ledger, permissions",
        },
        "Questions": {
            "import": "Read questions of any shape into one pool",
            "check": "Find what is wrong with items: keys, options, text",
            "fix": "Write patches for what mends itself; patch by hand",
            "dedup": "Find copies, and decide which items stay",
            "overrides": "Turn people's decisions into what dedup takes",
            "contamination": "Find items that stand in other corpora",
            "triage": "Rank doubtful keys by what strong models answer",
            "repair": "Diagnose doubtful items and propose patches",
            "consensus": "Let judges describe items and vote on them",
            "taxonomy": "Check a taxonomy, and what a pool covers of it",
            "panel": "Admit items by what a panel of models answers",
        },
        "Selection": {
            "anchors": "Merge, check and weigh experts' anchors",
            "support": "Score how much each item shows of each anchor",
            "leave-out": "List the items that may not be selected, and why",
            "budget": "Share a total over domains and strata",
            "sample": "Draw items at random, as a baseline",
            "select": "Choose the items that cover the anchors best",
            "top-up": "Fill a selection after review took items out",
            "certify": "Check a selection against its files alone",
        },
        "Reviews and pay": {
            "review": "Assign, collect, settle, calibrate, audit, pay",
        },
        "Release": {
            "export": "Write a release: splits, card, harness files",
            "verify": "Check a release against its own evidence",
            "diff": "Show what changed between two releases",
            "publish": "Make a release ready for the hub, with a checklist",
        },
        "Models": {
            "run": "Ask a model every question; keep its replies",
            "results": "Read other tools' logs into one scores file",
            "extract": "Read the letter of each reply",
            "score": "Mark replies: choices, universes, triples",
            "link": "Link predicted names to Wikidata items",
            "compare": "Compare two models, or one under two conditions",
            "rank": "Rank models with confidence sets of ranks",
            "shrink": "Choose a short form, with its error",
            "difficulty": "Measure how hard items are",
        },
        "Look": {
            "desk": "Look, search and decide in a browser",
            "report": "Write pages about everything in a folder",
            "config": "Print every setting, its value and meaning",
            "demo": "Run the whole flow on bundled questions, offline",
        },
    },
    "kina review": {
        "Desk": {
            "assign": "Give every item two blind reviewers",
            "push": "Put assignments on the review desk",
            "pull": "Fetch and verify reviews or grades",
            "import": "Read reviews that another tool keeps",
            "status": "Show who has done how much",
            "graders": "Give both reviews of an item to an adjudicator",
            "reopen": "Give items to revise a second round",
            "exam": "Draw and mark the recruitment exam",
            "handbook": "Write the manuals of reviewers and authors",
        },
        "Quality": {
            "agreement": "Measure agreement, against chance",
            "audit": "Commit to, draw and assess audits",
        },
        "Money": {
            "budget": "Hold a batch's worst case against the budget",
            "calibrate": "Say how large the bonus must be",
            "simulate": "Compare flat pay with the tournament",
            "settle": "Turn scored reviews into awards and decisions",
            "statement": "Write what each payee earned and was paid",
            "ledger": "Verify, audit and list the ledger",
            "pay": "Plan, track and reconcile payments",
        },
    },
    "kina review exam": {
        "Commands": {
            "draw": "Draw two rounds of items, flawed ones among them",
            "mark": "Mark answers, and name who passed both rounds",
        },
    },
    "kina review audit": {
        "Commands": {
            "commit": "Print what to publish before the batch opens",
            "draw": "Draw accepted items to audit, by the seed",
            "assess": "Report how many accepted items are flawed",
        },
    },
    "kina review ledger": {
        "Commands": {
            "verify": "Check that no line was changed or lost",
            "audit": "Derive every sum again from files and terms",
            "show": "List the lines, first ones first",
        },
    },
    "kina review pay": {
        "Commands": {
            "plan": "Plan the payment of all that is owed",
            "mark": "Say that a batch is on its way, failed, or unknown",
            "reconcile": "Settle a batch by the provider's list",
            "adjust": "Book what a payment really paid",
            "status": "Show what is owed, and how each batch stands",
        },
    },
}
"""By command path, then by group: a summary of each command, in the order of the flow."""

OTHER = "More"
"""Group of commands that the contents do not name."""


class Contents(TyperGroup):
    """A group of commands that shows its contents and passes usage errors through our filters."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its exit code; `help X` means `X --help`.

        Usage errors repeat the command line, hence the same filter as for all else.
        """
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        try:
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            show = getattr(error, "show", None)  # typer's own errors have it, and no public base
            if show is None or not standalone_mode:
                raise
            usage = io.StringIO()
            show(file=usage)
            code = getattr(error, "exit_code", 2)
            Console(json="--json" in words).refuse(usage.getvalue(), code)
        if standalone_mode:
            sys.exit(code)
        return code

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, each with its summary."""
        groups = {title: dict(lines) for title, lines in CONTENTS.get(_path(ctx), {}).items()}
        named = {name for lines in groups.values() for name in lines}
        more = {
            name: command.get_short_help_str(WIDEST)
            for name, command in self.commands.items()
            if name not in named and not command.hidden
        }
        for title, lines in [*groups.items(), (OTHER, more)]:
            rows = [(name, summary) for name, summary in lines.items() if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=20)


def add_group(parent: typer.Typer, name: str, summary: str) -> typer.Typer:
    """Add a group of commands, which shows its contents, to an app or another group."""
    group = typer.Typer(name=name, help=summary, cls=Contents, no_args_is_help=True, rich_markup_mode=None)
    parent.add_typer(group)
    return group


def _path(ctx: Any) -> str:
    """Return a command's path by names, however the program itself was called."""
    return "kina" if ctx.parent is None else f"{_path(ctx.parent)} {ctx.info_name}"


def help_width() -> int:
    """Return the columns that help may take on this terminal."""
    return min(shutil.get_terminal_size().columns, WIDEST)
