"""The manuals of a project from one source: reviewers' handbook, authors' manual, recruitment exam.

All of them are templates over the rubric, so that no number is written twice: Markdown, and the same
as one page of HTML (paper, App. E.1 to E.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from kina_review.records import Severity
from kina_review.rubric import CRITERIA, LEVELS, TOP_RATING, ReviewRules, Tie, best_score
from kina_review.words import FlawKind, Verdict

Manual = Literal["reviewer", "author"]

TIES: dict[Tie, str] = {
    "split": "Equal grades that reach the bar share the bonus.",
    "strict": "Equal grades earn no bonus.",
    "coin": "Of equal grades that reach the bar, a seeded coin picks the one that earns the bonus.",
}


@dataclass(frozen=True)
class FlawExample:
    """One kind of flaw, said in a sentence and shown on an item."""

    meaning: str
    question: str
    why: str


FLAWS: Mapping[FlawKind, FlawExample] = {
    "wrong_groundtruth": FlawExample(
        "The marked answer is false.",
        "Which planet has the shortest year? A Venus (marked) · B Mercury · C Earth · D Mars",
        "Mercury goes around the sun in 88 days, Venus in 225: B is right.",
    ),
    "no_correct_answer": FlawExample(
        "No option is right.",
        "What is 7 × 8? A 54 · B 55 · C 58 (marked) · D 64",
        "It is 56, which no option gives.",
    ),
    "multiple_correct_answers": FlawExample(
        "More than one option is right.",
        "Which of these is a prime number? A 9 · B 11 (marked) · C 15 · D 13",
        "13 is one too: D is as right as B.",
    ),
    "bad_question_clarity": FlawExample(
        "The question cannot be answered as it stands: something is missing, or it can be read in two ways.",
        "What was the result of the second experiment? A growth · B decay (marked) · C none · D both",
        "No experiment is described: the stem does not stand on its own.",
    ),
    "bad_options_clarity": FlawExample(
        "The options are garbled, overlap, or give the answer away by their form.",
        "When did the treaty end? A 1648 · B in the 17th century (marked) · C after 1600 · D 1700",
        "A lies within B, and B within C: whoever picks A or C is right too.",
    ),
    "unsupported_source": FlawExample(
        "The answer rests on no source that may be used, or the source says something else.",
        "Which dose is recommended? Source: a forum. A 5 mg · B 10 mg (marked) · C 20 mg · D 40 mg",
        "A forum is no source: a guideline or a textbook has to say it.",
    ),
    "implausible_distractor": FlawExample(
        "A wrong option would draw nobody who knows a little.",
        "What does the heart pump? A blood (marked) · B gravel · C music · D air",
        "B and C are jokes: only A and D are options.",
    ),
    "other": FlawExample(
        "Something else that a colleague would object to; say what in your reasons.",
        "Which of these women is the most intelligent? A … · B … · C … · D …",
        "It asks for a judgement of persons, not for knowledge.",
    ),
}
"""Every kind of flaw with an example of our own; the exam is about the same kinds."""


def write_manual(manual: Manual = "reviewer", rules: ReviewRules = ReviewRules()) -> str:
    """Return a manual as Markdown; every number comes from the rules."""
    return render(f"{'handbook' if manual == 'reviewer' else 'author'}.md.j2", rules)


def render(template: str, rules: ReviewRules, **more: Any) -> str:
    """Fill in a template of this package with the rubric, the words and what else it needs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Markdown, not HTML: the page is made by a Markdown renderer that escapes
    loader = PackageLoader("kina_review")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)  # noqa: S701
    return environment.get_template(template).render(
        criteria=CRITERIA,
        weights=dict(rules.weights),
        levels=LEVELS,
        top=TOP_RATING,
        best=best_score(rules),
        verdicts=get_args(Verdict),
        flaws=FLAWS,
        severities=get_args(Severity),
        ties=TIES,
        rules=rules,
        **more,
    )


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 17px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }}
td, th {{ border: 1px solid #8886; padding: .2rem .7rem; text-align: left }}
</style></head><body>
{body}</body></html>
"""


def show_page(markdown: str, *, whole: bool = True) -> str:
    """Return a manual as one self-contained HTML page, or as a fragment for a page of somebody else's."""
    from markdown_it import MarkdownIt

    title = markdown.partition("\n")[0].removeprefix("# ").strip()
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return PAGE.format(title=title, body=body) if whole else str(body)
