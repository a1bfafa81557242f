"""The page of letter rules: what is read from which reply, made from the cases of the tests."""

from __future__ import annotations

from docs.generate.markdown import code, page, table
from kina_build.scoring.replies import EXTRACTOR_VERSION, extract_letter
from tests.scoring.letter_cases import CASES

SHOWN = 4
"""Cases shown of each kind."""
INTRO = """`kina score` and `kina extract` read the letter of a reply by rules, in linear time, and never guess one: what
cannot be read has a status instead, scores 0 and is counted apart. Which rule and which characters
decided stands in `kina extract`'s output. This is extractor version {version}; of the {total} cases
below and in the tests, grouped by what makes them hard, {right} come out as a careful reader would
have them. They were written by the authors of the rules: they say what is meant, not how often the
rules err on your models. Count that on replies of your own: `kina extract` prints one row a reply.
"""


def pages() -> dict[str, str]:
    """Make the page."""
    right = total = 0
    parts = []
    for kind, cases in CASES.items():
        found = [extract_letter(reply, count) for reply, count, _ in cases]
        right += sum(one.letter == letter for one, (_, _, letter) in zip(found, cases, strict=True))
        total += len(cases)
        shown = [case for case in zip(cases, found, strict=True) if len(case[0][0]) < 90][:SHOWN]
        rows = [
            [code(repr(reply)[1:-1]), code(one.letter or "none"), code(one.status), code(one.rule or "")]
            for (reply, _, _), one in shown
        ]
        if rows:
            parts += [f"## {kind}\n", table(["reply", "letter", "status", "rule"], rows)]
    intro = INTRO.format(version=EXTRACTOR_VERSION, total=total, right=right)
    return {"letters.md": page("Letters of replies", intro, *parts)}
