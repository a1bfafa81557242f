"""`kina triage` and `kina panel`: what models' answers say of keys and of difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.items.answers import AnswerMatrix
    from kina_build.items.model import Item

SHOWN_SUSPICIONS = 20
"""Rows of the queue shown on a terminal; --json and -o have all."""


def triage(
    run: Run,
    responses: Annotated[list[Path], typer.Argument(help="Replies or letters of models; several files.")],
    *,
    pool: Annotated[Path, typer.Option("--pool", help="The items, with the keys to be doubted.")],
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
    {model, answers} with one letter an item in the order of --pool. No key is changed.
    """
    rules = run.settings.items
    params = {"strong": strong, "items": rules.shaping}
    outputs = [output] if output else []
    stage = run.stage("triage", inputs=[*responses, pool], outputs=outputs, params=params, show=_show_triage)
    if stage.up_to_date():
        return
    from kina_build.items.intake import read_pool_or_import
    from kina_build.items.triage import triage_keys
    from kina_build.jsonl import write_records

    items, _ = read_pool_or_import(pool)
    result = triage_keys(items, _read_answers(responses, items), rules, strong)
    report = {
        "items": result.items,
        "flagged": dict(Counter(flag for one in result.queue for flag in one.flags)),
        "strong": [{"model": model, "accuracy": round(result.accuracy[model], 4)} for model in result.strong],
        "queue": [one.model_dump() for one in result.queue],
    }
    if output:
        write_records(output, result.queue)
    stage.finish(report)


def panel(
    run: Run,
    responses: Annotated[list[Path], typer.Argument(help="Replies or letters of models; several files.")],
    *,
    pool: Annotated[Path, typer.Option("--pool", help="The items, with their keys.")],
    model: Annotated[
        list[str], typer.Option("--model", metavar="NAME[@DATE]", help="A panel model; repeatable.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the admitted items: a pool.")],
) -> None:
    """Admit the items that most models of a panel answer wrongly: at least 3 of 5.

    The panel's names and dates go into each admitted item's metadata, so that a
    leaderboard can mark those models.
    """
    rules = run.settings.items
    params = {"model": model, "items": rules.shaping}
    stage = run.stage("panel", inputs=[*responses, pool], outputs=[output], params=params, show=_show_panel)
    if stage.up_to_date():
        return
    from kina_build.items.intake import read_pool_or_import
    from kina_build.items.panel import convene_panel
    from kina_build.items.pool import write_pool

    items, _ = read_pool_or_import(pool)
    dates = dict(one.partition("@")[::2] for one in model)
    result = convene_panel(items, _read_answers(responses, items), list(dates), rules)
    hard = {one.item_id: one.difficulty for one in result.difficulties if one.admitted}
    named = [{"model": name, "date": date or None} for name, date in dates.items()]
    admitted = [_with_difficulty(item, hard[item.item_id], named) for item in items if item.item_id in hard]
    write_pool(output, admitted)
    levels = Counter(
        "missing" if one.difficulty is None else f"{one.difficulty:.2f}" for one in result.difficulties
    )
    report = {
        "items": len(items),
        "admitted": len(admitted),
        "interval": [result.low, result.high],
        "panel": named,
        "by_difficulty": dict(sorted(levels.items())),
    }
    stage.finish(report)


def _read_answers(paths: list[Path], items: list[Item]) -> AnswerMatrix:
    """Read letters as they stand, or extract them from replies."""
    from kina_build.items.answers import build_matrix, gather_letters, read_letter, spread_strings
    from kina_build.jsonl import iter_rows

    placed = [(f"{path}:{line}", row) for path in paths for line, row in iter_rows(path)]
    values = [row for _, row in placed]
    if all("model" in row and "answers" in row for row in values):
        return build_matrix(items, spread_strings(values, items))
    if all({"model", "item_id", "letter"} <= row.keys() for row in values):
        return build_matrix(items, gather_letters(read_letter(row, place) for place, row in placed))
    return build_matrix(items, gather_letters(_extract_letters(paths, items)))


def _extract_letters(paths: list[Path], items: list[Item]) -> Iterator[tuple[str, str, str | None]]:
    """Yield (model, item_id, letter) of the replies that came; failed calls were not asked."""
    from kina_build.scoring.multiple_choice import own_label, read_letter
    from kina_build.scoring.questions import from_item
    from kina_build.scoring.responses import read_responses

    whole = [item for item in items if len(item.options) > 1 and item.correct_text is not None]
    questions = {item.item_id: from_item(item) for item in whole}
    for response in (one for path in paths for one in read_responses(path).responses):
        question = questions.get(response.item_id)
        if question is not None and response.answered:
            letter = own_label(read_letter(response, question).letter, response, question)
            yield response.model, response.item_id, letter


def _show_triage(report: dict[str, Any], console: Console) -> None:
    queue, counts, total = report["queue"], report["flagged"], report["items"]
    flagged = counts.get("agreed_rival", 0)
    console.line(f"{flagged} of {total} keys contradicted by the strong models ({flagged / total:.1%})")
    for flag in sorted(counts.keys() - {"agreed_rival"}):
        console.line(f"{counts[flag]} items with {flag.replace('_', ' ')}")
    strong = [f"{one['model']} {one['accuracy']:.1%}" for one in report["strong"]]
    console.line(f"strong models: {', '.join(strong)}")
    columns = ["rank", "item", "key", "rival", "votes", "for key", "share right", "discrimination"]
    rows = [_row(one) for one in queue[:SHOWN_SUSPICIONS]]
    console.table(f"queue (first {len(rows)} of {len(queue)})", columns, rows)


def _row(one: dict[str, Any]) -> list[Any]:
    votes = f"{one['rival_votes']}/{one['voters']}"
    share = f"{one['p_value']:.2f} [{one['p_low']:.2f}, {one['p_high']:.2f}]"
    known = [one[name] for name in ("rank", "item_id", "key", "rival")]
    return [*known, votes, one["key_votes"], share, one["discrimination"]]


def _show_panel(report: dict[str, Any], console: Console) -> None:
    low, high = report["interval"]
    console.line(f"{report['admitted']} of {report['items']} items admitted (D in [{low}, {high}])")
    rows = [list(pair) for pair in report["by_difficulty"].items()]
    console.table("items by share of the panel that is wrong", ["D", "items"], rows)


def _with_difficulty(item: Item, difficulty: float | None, panel: list[dict[str, Any]]) -> Item:
    return item.model_copy(update={"metadata": {**item.metadata, "difficulty": difficulty, "panel": panel}})


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    triage_example = "kina triage responses.jsonl --pool pool.jsonl -o queue.jsonl"
    command(app, "triage", example=triage_example)(triage)
    panel_example = "kina panel responses.jsonl --pool pool.jsonl --model m1@2026-05 --model m2 -o hard.jsonl"
    command(app, "panel", example=panel_example)(panel)
