"""The rubric as a handbook for reviewers: Markdown, and the same as one page of HTML."""

from __future__ import annotations

from typing import get_args

from kina_review.records import Severity
from kina_review.rubric import CRITERIA, LEVELS, TOP_RATING, ReviewRules, Tie, best_score
from kina_review.words import FlawKind, Verdict

TIES: dict[Tie, str] = {
    "split": "Equal grades that reach the bar share the bonus.",
    "strict": "Equal grades earn no bonus.",
    "coin": "Of equal grades that reach the bar, a seeded coin picks the one that earns the bonus.",
}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Reviewer handbook</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 17px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }}
td, th {{ border: 1px solid #8886; padding: .2rem .7rem; text-align: left }}
</style></head><body>
{body}</body></html>
"""


def write_handbook(rules: ReviewRules = ReviewRules()) -> str:
    """Return the handbook as Markdown; every number comes from the rules."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Markdown, not HTML: the page is made by a Markdown renderer that escapes
    loader = PackageLoader("kina_review")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)  # noqa: S701
    return environment.get_template("handbook.md.j2").render(
        criteria=CRITERIA,
        weights=dict(rules.weights),
        levels=LEVELS,
        top=TOP_RATING,
        best=best_score(rules),
        verdicts=get_args(Verdict),
        flaws=get_args(FlawKind),
        severities=get_args(Severity),
        ties=TIES,
        rules=rules,
    )


def show_handbook(markdown: str, *, whole: bool = True) -> str:
    """Return the handbook as one self-contained HTML page, or as a fragment for a page of somebody else's."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return PAGE.format(body=body) if whole else str(body)
