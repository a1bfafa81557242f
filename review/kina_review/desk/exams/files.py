"""An exam as files: drawn from a pool into a folder, and marked from tables of answers."""

from __future__ import annotations

from typing import Any

from kina_build.items.pool import read_pool
from kina_build.rows.jsonl import write_records, write_text
from kina_build.rows.outputs import make_folder
from kina_build.rows.tables import read_typed, write_csv
from kina_review.desk.exams.exam import (
    AnswerRow,
    KeyRow,
    PlantedRow,
    draw_exam,
    mark_exam,
    report_marks,
    write_round,
)
from kina_review.desk.options import ExamDrawOptions, ExamMarkOptions
from kina_review.manuals import show_page
from kina_review.rubric import EXAM_ROUNDS, ReviewRules


def write_exam(options: ExamDrawOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Draw an exam and write its rounds, a table for answers and its key; return the report.

    Raises:
        InputError: an unreadable file, or a planted item that is not in the pool.
        Refusal: too few items for all rounds.
    """
    items = {item.item_id: item for item in read_pool(options.pool)}
    planted = read_typed(options.seeded_bad, PlantedRow)
    key = draw_exam(list(items.values()), planted, rules, options.seed)
    make_folder(options.output)
    files = []
    for round_ in range(1, EXAM_ROUNDS + 1):
        text = write_round(key, items, round_, rules)
        write_text(options.output / f"exam-{round_}.md", text)
        write_text(options.output / f"exam-{round_}.html", show_page(text))
        rows = [
            {"candidate_id": "", "round": row.round, "number": row.number, "answer": ""}
            for row in key
            if row.round == round_
        ]
        write_csv(options.output / f"answers-{round_}.csv", list(rows[0]), rows)
        files += [f"exam-{round_}.md", f"exam-{round_}.html", f"answers-{round_}.csv"]
    write_records(options.output / "key.jsonl", key, private=True)
    return {"questions": len(key), "rounds": EXAM_ROUNDS, "files": [*files, "key.jsonl"]}


def mark_files(options: ExamMarkOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Mark tables of answers against a key; return the report.

    Raises:
        InputError: an unreadable file, an answer to what was not asked, or two to one question.
    """
    answers = read_typed(list(options.answers), AnswerRow)
    return report_marks(mark_exam(read_typed(options.key, KeyRow), answers, rules))
