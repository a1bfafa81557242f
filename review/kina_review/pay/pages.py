"""A payee's statement as a page: what is owed, every line, and how to object."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kina_build.escapes import in_markdown
from kina_build.rows.jsonl import write_text
from kina_build.rows.outputs import make_folder
from kina_review.pay.statements import Statement

COLUMNS = ("line", "what", "item", "round", "handed in", "score", "bar", "rule", "amount", "why", "owed then")
RIGHT = {"line", "score", "bar", "amount", "owed then"}


def render(statement: Statement) -> str:
    """Write a statement as Markdown."""
    rows = [
        f"| {' | '.join(COLUMNS)} |",
        f"|{'|'.join('---:' if name in RIGHT else '---' for name in COLUMNS)}|",
    ]
    for line in statement.lines:
        cells = (str(line.seq), line.what, line.item_id, line.round, line.handed_in, line.score, line.bar,
                 line.rule, line.amount, line.why, line.balance)  # fmt: skip
        rows.append("| " + " | ".join(map(in_markdown, cells)) + " |")
    return "\n".join(
        [
            f"# Statement for {', '.join(map(in_markdown, statement.reviewers))}",
            "",
            *_owed(statement),
            "",
            *rows,
            "",
            *(f"- {in_markdown(rule)}" for rule in statement.rules),
            "",
            *_objection(statement),
            "Keep this line: it proves later that the ledger was not changed.",
            "",
            f"    {statement.ledger_head}",
            "",
        ]
    )


def _owed(statement: Statement) -> list[str]:
    payer = in_markdown(statement.notice.payer) if statement.notice else "the payer"
    back = statement.owed.startswith("-")
    amount = f"**{statement.owed.removeprefix('-')} {statement.currency}**"
    who = f"You owe {payer} {amount}" if back else f"{payer} owes you {amount}"
    later = "; it is kept from later earnings, nobody will ask you for it" if back else ""
    return [
        f"{who[0].upper()}{who[1:]}{later}",
        f"(earned {statement.earned}, paid or under way {statement.paid}).",
    ]


def _objection(statement: Statement) -> list[str]:
    if statement.notice is None:
        return []
    contact, days = in_markdown(statement.notice.contact), statement.notice.days
    return [
        f"If a line is wrong, write to {contact} within {days} days: name the line, the item and why.",
        "A second adjudicator, who sees neither name nor the first grade, then grades both reviews of the",
        "item again; the mean of both grades counts, and what it changes is posted as a line of its own.",
        "",
    ]


def file_name(statement: Statement) -> str:
    """Return a file name that is safe everywhere and different for every payee."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in statement.reviewers[0])
    return f"{name[:40]}-{statement.payee_ref[:8]}.md"


def write_statements(folder: Path, statements: Iterable[Statement]) -> None:
    """Write each statement as Markdown, readable by its owner only."""
    make_folder(folder)
    for one in statements:
        write_text(folder / file_name(one), render(one), private=True)
