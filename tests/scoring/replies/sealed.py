"""Score the sealed part once and write RESULT.md: python -m tests.scoring.replies.sealed.

Counts only: no reply of the sealed part is shown, and no rule is changed for what it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kina_build.scoring.replies import EXTRACTOR_VERSION
from tests.scoring.replies import HERE, LetterCase, load, load_lists
from tests.scoring.test_corpus import list_is_right, read_case

RESULT = HERE / "RESULT.md"
OUTCOMES = ("right", "missed", "wrong", "invented")


def outcome(case: LetterCase, letter: str | None) -> str:
    """Name what became of a case: wrong is another letter, invented a letter where there is none."""
    if letter == case.letter:
        return "right"
    if letter is None:
        return "missed"
    return "invented" if case.letter is None else "wrong"


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def report() -> str:
    """Count the outcomes of the sealed part by kind and by rule."""
    cases = load("sealed")
    found = [read_case(case) for case in cases]
    outcomes = [outcome(case, one.letter) for case, one in zip(cases, found, strict=True)]
    total = Counter(outcomes)
    kinds = Counter((case.kind, what) for case, what in zip(cases, outcomes, strict=True))
    rules = Counter((one.rule, what) for one, what in zip(found, outcomes, strict=True) if one.letter)
    refusals = [what for case, what in zip(cases, outcomes, strict=True) if case.status == "refused"]
    lists = load_lists("sealed")
    listed = Counter((case.kind, list_is_right(case)) for case in lists)
    return "\n\n".join(
        [
            f"# The sealed part, scored once (extractor {EXTRACTOR_VERSION})",
            table(
                ["cases", *OUTCOMES, "share right", "share wrong or invented"],
                [
                    [
                        len(cases),
                        *(total[what] for what in OUTCOMES),
                        f"{total['right'] / len(cases):.3f}",
                        f"{(total['wrong'] + total['invented']) / len(cases):.4f}",
                    ]
                ],
            ),
            f"Letters invented in {len(refusals)} refusals: {sum(what == 'invented' for what in refusals)}.",
            "## Letters by kind",
            table(
                ["kind", *OUTCOMES],
                [
                    [kind, *(kinds[kind, what] for what in OUTCOMES)]
                    for kind in sorted({case.kind for case in cases})
                ],
            ),
            "## Letters by the rule that read them",
            table(
                ["rule", "right", "wrong", "invented"],
                [
                    [rule, *(rules[rule, what] for what in ("right", "wrong", "invented"))]
                    for rule in sorted({rule for rule, _ in rules})
                ],
            ),
            "## Lists by kind",
            table(
                ["kind", "right", "not right"],
                [
                    [kind, listed[kind, True], listed[kind, False]]
                    for kind in sorted({case.kind for case in lists})
                ],
            ),
            f"Lists: {sum(n for (_, right), n in listed.items() if right)} of {len(lists)} right.\n",
        ]
    )


if __name__ == "__main__":
    RESULT.write_text(report(), encoding="utf-8")
    print(RESULT.read_text(encoding="utf-8"))
