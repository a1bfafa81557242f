"""`kina triage` and `kina panel`: what models' answers say of keys and of difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kina_build.items.model import Item
    from kina_build.scoring.votes import Votes

Pool = Annotated[Path | None, typer.Option("--pool", help="The items, with their keys.")]
Release = Annotated[
    Path | None,
    typer.Option("--release", help="Folder of the release that was asked; without --pool also the items."),
]

SHOWN_SUSPICIONS = 20
"""Rows of the queue shown on a terminal; --json and -o have all."""


def triage(
    run: Run,
    responses: Annotated[list[Path], typer.Argument(help="Replies or letters of models; several files.")],
    *,
    pool: Pool = None,
    release: Release = None,
    letters_of: options.LettersOf = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the queue, JSON Lines.")
    ] = None,
    strong: Annotated[
        list[str] | None,
        typer.Option("--strong", metavar="MODEL", help="Count this model's vote; repeatable."),
    ] = None,
) -> None:
    """Rank the items whose keys strong models contradict, for reviewers to look at.

    RESPONSES has rows {item_id, model, response}, rows {item_id, model, letter}, or rows
    {model, answers} with one letter an item in the order of --letters-of. No key is changed.

    A letter means the option that stood there when it was given. Replies of `kina run` say
    which order that was; give --release beside --pool for those made on a release, or
    --release alone to doubt the keys of the release itself.
    """
    rules = run.settings.items
    given = Given(responses, pool, release, letters_of)
    params = {"strong": strong, "items": rules.shaping, "letters_of": letters_of and letters_of.name}
    outputs = [output] if output else []
    stage = run.stage("triage", inputs=given.inputs, outputs=outputs, params=params, show=_show_triage)
    if stage.up_to_date():
        return
    from kina_build.items.triage import triage_keys
    from kina_build.jsonl import write_records

    items, votes = given.read()
    result = triage_keys(items, votes.matrix, rules, strong)
    report = _order(votes) | {
        "items": result.items,
        "flagged": dict(Counter(flag for one in result.queue for flag in one.flags)),
        "strong": [{"model": model, "accuracy": round(result.accuracy[model], 4)} for model in result.strong],
        "queue": [one.model_dump() for one in result.queue],
    }
    if output:
        write_records(output, with_order(result.queue, _order(votes).get("letters")))
    stage.finish(report)


def panel(
    run: Run,
    responses: Annotated[list[Path], typer.Argument(help="Replies or letters of models; several files.")],
    *,
    model: Annotated[
        list[str], typer.Option("--model", metavar="NAME[@DATE]", help="A panel model; repeatable.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the admitted items: a pool.")],
    pool: Pool = None,
    release: Release = None,
    letters_of: options.LettersOf = None,
) -> None:
    """Admit the items that most models of a panel answer wrongly: at least 3 of 5.

    The panel's names and dates go into each admitted item's metadata, so that a
    leaderboard can mark those models. Replies made on a release need --release beside
    --pool: their letters follow its order.
    """
    rules = run.settings.items
    given = Given(responses, pool, release, letters_of)
    params = {"model": model, "items": rules.shaping, "letters_of": letters_of and letters_of.name}
    stage = run.stage("panel", inputs=given.inputs, outputs=[output], params=params, show=_show_panel)
    if stage.up_to_date():
        return
    from kina_build.items.panel import convene_panel
    from kina_build.items.pool import write_pool

    items, votes = given.read()
    dates = dict(one.partition("@")[::2] for one in model)
    result = convene_panel(items, votes.matrix, list(dates), rules)
    hard = {one.item_id: one.difficulty for one in result.difficulties if one.admitted}
    named = [{"model": name, "date": date or None} for name, date in dates.items()]
    more = {"panel": named} | _order(votes)
    admitted = [_with_difficulty(item, hard[item.item_id], more) for item in items if item.item_id in hard]
    write_pool(output, admitted)
    levels = Counter(
        "missing" if one.difficulty is None else f"{one.difficulty:.2f}" for one in result.difficulties
    )
    report = _order(votes) | {
        "items": len(items),
        "admitted": len(admitted),
        "interval": [result.low, result.high],
        "panel": named,
        "by_difficulty": dict(sorted(levels.items())),
    }
    stage.finish(report)


@dataclass(frozen=True)
class Given:
    """The files of a triage or panel: answers, and the items they are about."""

    responses: list[Path]
    pool: Path | None
    release: Path | None
    letters_of: Path | None

    @property
    def inputs(self) -> list[Path]:
        """Return the files that are read."""
        more = (self.pool, self.release, self.letters_of)
        return [*self.responses, *dict.fromkeys(path for path in more if path is not None)]

    def read(self) -> tuple[list[Item], Votes]:
        """Read the items, and the answers in their letters.

        Raises:
            UsageError: neither a pool nor a release is given.
        """
        from kina_build.items.intake import read_pool_or_import
        from kina_build.scoring.questions import read_forms
        from kina_build.scoring.votes import read_votes

        if self.pool is not None:
            items = read_pool_or_import(self.pool)[0]
        elif self.release is not None:
            items = _release_items(self.release)
        else:
            raise UsageError("give --pool, or --release", hint="the items that the answers are about")
        release = read_forms(self.release) if self.release is not None else None
        stated = read_forms(self.letters_of) if self.letters_of is not None else None
        return items, read_votes(self.responses, items, release, stated)


def _release_items(folder: Path) -> list[Item]:
    """Read all items of a release.

    Raises:
        UsageError: the answers of some are private.
    """
    from kina_build.release.folder import read_release
    from kina_build.release.rows import to_item

    rows = [row for rows in read_release(folder).rows.values() for row in rows]
    private = [row.id for row in rows if row.answer is None]
    if private:
        raise UsageError(
            f"{folder}: the answers of {len(private)} items are private, first {private[0]!r}",
            hint="give the pool it was made from beside it: --pool pool.jsonl",
        )
    return [to_item(row) for row in rows]


def _order(votes: Votes) -> dict[str, str]:
    """Say that letters were read in an order that was only stated."""
    from kina_build.scoring.lettering import STATED

    return {"letters": STATED} if votes.stated else {}


def with_order(records: Sequence[BaseModel], order: str | None) -> Iterable[BaseModel | dict[str, Any]]:
    """Add to records that their letters were read in an order that was only stated."""
    if order is None:
        return records
    return [
        record.model_dump(mode="json", exclude_none=True) | {"letters_order": order} for record in records
    ]


def _show_triage(report: dict[str, Any], console: Console) -> None:
    queue, counts, total = report["queue"], report["flagged"], report["items"]
    flagged = counts.get("agreed_rival", 0)
    _show_order(report, console)
    console.line(f"{flagged} of {total} keys contradicted by the strong models ({flagged / total:.1%})")
    for flag in sorted(counts.keys() - {"agreed_rival"}):
        console.line(f"{counts[flag]} items with {flag.replace('_', ' ')}")
    strong = [f"{one['model']} {one['accuracy']:.1%}" for one in report["strong"]]
    console.line(f"strong models: {', '.join(strong)}")
    columns = ["rank", "item", "key", "rival", "votes", "for key", "share right", "discrimination"]
    rows = [_row(one) for one in queue[:SHOWN_SUSPICIONS]]
    console.table(f"queue (first {len(rows)} of {len(queue)})", columns, rows)


def _show_order(report: dict[str, Any], console: Console) -> None:
    if report.get("letters"):
        console.line(f"letters: {report['letters']}")


def _row(one: dict[str, Any]) -> list[Any]:
    votes = f"{one['rival_votes']}/{one['voters']}"
    share = f"{one['p_value']:.2f} [{one['p_low']:.2f}, {one['p_high']:.2f}]"
    known = [one[name] for name in ("rank", "item_id", "key", "rival")]
    return [*known, votes, one["key_votes"], share, one["discrimination"]]


def _show_panel(report: dict[str, Any], console: Console) -> None:
    _show_order(report, console)
    low, high = report["interval"]
    console.line(f"{report['admitted']} of {report['items']} items admitted (D in [{low}, {high}])")
    rows = [list(pair) for pair in report["by_difficulty"].items()]
    console.table("items by share of the panel that is wrong", ["D", "items"], rows)


def _with_difficulty(item: Item, difficulty: float | None, more: Mapping[str, Any]) -> Item:
    return item.model_copy(update={"metadata": {**item.metadata, "difficulty": difficulty, **more}})


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    triage_example = "kina triage responses.jsonl --pool pool.jsonl -o queue.jsonl"
    command(app, "triage", example=triage_example)(triage)
    panel_example = "kina panel responses.jsonl --pool pool.jsonl --model m1@2026-05 --model m2 -o hard.jsonl"
    command(app, "panel", example=panel_example)(panel)
