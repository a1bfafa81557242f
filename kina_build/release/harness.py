"""Files that evaluation harnesses load unmodified: lm-eval, inspect-ai, lighteval."""

from __future__ import annotations

from kina_build.release.record import ReleaseRecord
from kina_build.release.rendering import render
from kina_build.release.splits import DEV, TEST
from kina_build.scoring.prompts import INSTRUCTION

ANSWER_PATTERN = r"(?im)^\W*answer\W*:\W*([A-Z])\b"
"""How lm-eval finds the letter: the last line that starts with "Answer:"."""


def harness_files(record: ReleaseRecord) -> dict[str, str]:
    """Write the harness files of a release.

    They find the data through their own place in the folder, so the folder may be moved.

    Returns:
        Text by relative name; none where no split with public answers has items.
    """
    scored = scored_split(record)
    if scored is None:
        return {}
    values = {
        "record": record,
        "scored": scored,
        "splits": [split for split in record.counts if _open(record, split)],
        "shots": DEV if scored == TEST and _open(record, DEV) else None,
        "instruction": INSTRUCTION,
        "pattern": ANSWER_PATTERN,
    }
    name = record.name
    return {
        "harness/lm_eval/task.py": render("lm_eval.py", **values),
        f"harness/lm_eval/{name}_mc.yaml": render("lm_eval_mc.yaml", **values),
        f"harness/lm_eval/{name}_gen.yaml": render("lm_eval_gen.yaml", **values),
        f"harness/inspect_ai/{name}.py": render("inspect_ai.py", **values),
        f"harness/lighteval/{name}.py": render("lighteval.py", **values),
    }


def scored_split(record: ReleaseRecord) -> str | None:
    """Return the split that anyone can score models on: test, else dev, else none."""
    return next((split for split in (TEST, DEV) if _open(record, split)), None)


def _open(record: ReleaseRecord, split: str) -> bool:
    count = record.counts.get(split)
    return count is not None and count.items > 0 and not count.private
