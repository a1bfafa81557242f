"""Reviews in the exports of other annotation desks: Label Studio, Argilla, doccano, Prodigy.

Which tool wrote a file is told in one place (`kina_build.rows.kinds.FORMS`); READERS names
the reader of each. What an export does not tell is not invented: a machine's suggestion is
no review, a rating on a scale of its own is no mark from 0 to 4, and an annotation that
nobody can vouch for is signed with UNPROVEN, so that it is named and earns nothing.

Source:
    https://labelstud.io/guide/task_format, https://docs.argilla.io,
    https://github.com/doccano/doccano (backend/data_export), https://prodi.gy/docs/review
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kina_build.errors import InputError
from kina_build.rows import kinds
from kina_build.rows.source import is_stream
from kina_build.rows.tables import Row
from kina_review.desk.labelling import read_result
from kina_review.export_entry import Entry, account_of, as_text, is_verdict, make_entry, unwrap
from kina_review.records import Instant

UNPROVEN = "nobody on record"
"""Who wrote an annotation that was imported, or whose account was deleted."""
TOOL_PREFIX = re.compile(r"doccano[-_ ]+")
"""What a doccano file may be called before its member: doccano_ann matches in part, ann must not."""
FILE_ENDING = re.compile(r"\.(?:jsonl?|ndjson)(?:\.gz)?$", re.IGNORECASE)
"""Ending of a file: .jsonl and .json.gz match, .lena must not."""
INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)
CLOCK_SESSION = re.compile(r"\d{4}-\d\d-\d\d[_T ]\d\d[-:]\d\d[-:]\d\d")
"""A Prodigy session without a name: 2026-03-02_09-00-12 matches, ann must not."""
SHARED_FILES = {"all", "-", "unknown"}
"""Names of doccano's files that tell no member."""


def _is_late(moment: object, snapshot: datetime | None) -> bool:
    """Tell whether an export's time is after the snapshot; what is no time is left to the review's check."""
    if snapshot is None or moment is None:
        return False
    try:
        return INSTANT.validate_python(moment) > snapshot
    except ValidationError:
        return False


def read_label_studio(rows: Sequence[Row]) -> Iterator[Entry]:
    """Read Label Studio's JSON: one review an annotation, a skip where it was cancelled.

    Raises:
        InputError: tasks that carry no item_id.
    """
    for row in rows:
        data = row.values.get("data") or {}
        if "assignment_id" in data and "item_id" not in data:
            raise InputError(
                f"{row.file}: its tasks were pushed by `kina review push` and name no items",
                hint="`kina review pull` collects them, and proves their authors",
            )
        for raw in row.values.get("annotations") or ():
            answers = read_result(raw.get("result") or [])
            author = account_of(raw.get("completed_by"))
            editor = account_of(raw["updated_by"]) or UNPROVEN if "updated_by" in raw else None
            fields = {
                "item_id": data.get("item_id"),
                "reviewer_id": author or f"deleted account ({raw.get('id')})",
                "review_id": as_text(raw.get("id")),
                "status": "skipped" if raw.get("was_cancelled") else "submitted",
                "submitted_at": raw.get("created_at"),
                "updated_by": None if author and editor == author else (editor if author else UNPROVEN),
                "lead_time_s": raw.get("lead_time"),
            }
            yield make_entry(row, fields, answers)


def read_label_studio_min(rows: Sequence[Row]) -> Iterator[Entry]:
    """Read Label Studio's JSON_MIN: one flat row an annotation; it keeps no skips and no last writer."""
    for row in rows:
        answers = {name: unwrap(value) for name, value in row.values.items()}
        author = account_of(row.values.get("annotator"))
        fields = {
            "item_id": row.values.get("item_id"),
            "reviewer_id": author or f"deleted account ({row.values.get('annotation_id')})",
            "review_id": as_text(row.values.get("annotation_id")),
            "submitted_at": row.values.get("created_at"),
            "updated_by": None if author else UNPROVEN,
            "lead_time_s": row.values.get("lead_time"),
        }
        yield make_entry(row, fields, answers)


def read_argilla(rows: Sequence[Row]) -> Iterator[Entry]:
    """Read Argilla's flat records: one user's answers over the questions; suggestions are a machine's."""
    states = {"draft": "draft", "discarded": "skipped", "submitted": "submitted"}
    for row in rows:
        people: dict[str, dict[str, Any]] = {}
        found: dict[str, set[str]] = {}
        for name in (key.removesuffix(".responses") for key in row.values if key.endswith(".responses")):
            users = row.values.get(f"{name}.responses.users") or ()
            values = row.values.get(f"{name}.responses") or [None] * len(users)
            status = row.values.get(f"{name}.responses.status") or [None] * len(users)
            for user, value, state in zip(users, values, status, strict=False):
                people.setdefault(str(user), {})[name] = value
                found.setdefault(str(user), set()).add(states.get(str(state), "draft"))
        for user, answers in people.items():
            # what is not known to be submitted is not
            status = next(word for word in ("draft", "skipped", "submitted") if word in found[user])
            item = row.values.get("item_id", row.values.get("id"))
            yield make_entry(row, {"item_id": item, "reviewer_id": user, "status": status}, answers)


def read_doccano(rows: Sequence[Row]) -> Iterator[Entry]:
    """Read one member's file of doccano, whose name alone says who it is; labels that are verdicts count.

    Raises:
        InputError: a file of all members together.
    """
    path = Path(rows[0].file)
    # only endings of files: a member may be called anna.lena
    reviewer = TOOL_PREFIX.sub("", FILE_ENDING.sub("", path.name))
    if reviewer.casefold() in SHARED_FILES or is_stream(path):
        raise InputError(
            f"{rows[0].file}: no member stands in it or in its name",
            hint="export without collaborative annotation: one file a member, named after them",
        )
    for row in rows:
        labels, notes = row.values["label"], row.values.get("Comments") or []
        if not labels and not notes:
            continue  # not done yet
        verdicts = [label for label in labels if is_verdict(label)]
        fields = {
            "item_id": row.values.get("item_id"),
            "reviewer_id": reviewer,
            "status": "submitted" if verdicts else "draft",
        }
        answers = {"verdict": verdicts, "rationale": "\n".join(map(str, notes)) or None}
        unread = tuple(f"label {label!r}" for label in labels if label not in verdicts)
        yield make_entry(row, fields, answers, unread)


def read_prodigy(rows: Sequence[Row]) -> Iterator[Entry]:
    """Read Prodigy's rows: `accept` holds the choice, `answer` says what became of the task.

    A later row of one session on one task is an edit: the last one counts, from its own instant on.

    Raises:
        InputError: a session that is a time of day and no person.
    """
    last: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = str(row.values.get("_task_hash")), _session(row)
        if key not in last or row.values.get("_timestamp", 0) >= last[key].values.get("_timestamp", 0):
            last[key] = row
    for (_, reviewer), row in last.items():
        chosen, answer = row.values.get("accept") or [], row.values.get("answer")
        status = {"accept": "submitted" if chosen else "draft", "ignore": "skipped"}.get(
            str(answer), "cancelled"
        )
        fields = {
            "item_id": row.values.get("item_id", (row.values.get("meta") or {}).get("item_id")),
            "reviewer_id": reviewer,
            "status": status,
            "submitted_at": row.values.get("_timestamp"),
        }
        answers = {**row.values, "verdict": chosen if status == "submitted" else None}
        yield make_entry(row, fields, answers)


READERS: Mapping[kinds.Kind, Callable[[Sequence[Row]], Iterator[Entry]]] = {
    kinds.LABEL_STUDIO: read_label_studio,
    kinds.LABEL_STUDIO_MIN: read_label_studio_min,
    kinds.ARGILLA: read_argilla,
    kinds.DOCCANO: read_doccano,
    kinds.PRODIGY: read_prodigy,
}


def read_export(rows: Sequence[Row], snapshot: datetime | None = None) -> list[Entry] | None:
    """Return the reviews of another desk's export; None where rows are of no such tool.

    Args:
        rows: of one file.
        snapshot: instant after which a text does not count, for tools that say when it was written.

    Raises:
        InputError: an export that does not tell what a review needs, or of a form of its own.
    """
    kind = kinds.name_form(rows[0].values) if rows else None
    if kind is kinds.ARGILLA_NESTED:
        raise InputError(f"{rows[0].file}: is {kind.name}", hint=kind.hint)
    if kind is None or kind not in READERS:
        return None
    with kinds.reading_as(str(rows[0].file), kind.name):
        return list(READERS[kind](_until(rows, kind, snapshot)))


def _until(rows: Sequence[Row], kind: kinds.Kind, snapshot: datetime | None) -> Sequence[Row]:
    """Leave out what was written after the snapshot, so that the last text from before it counts."""
    if kind is kinds.LABEL_STUDIO:
        return [
            Row(
                row.line,
                row.values | {"annotations": _early(row.values.get("annotations"), snapshot)},
                row.file,
            )
            for row in rows
        ]
    name = {kinds.PRODIGY: "_timestamp", kinds.LABEL_STUDIO_MIN: "updated_at"}.get(kind, "")
    return [row for row in rows if not _is_late(row.values.get(name), snapshot)]


def _early(annotations: Any, snapshot: datetime | None) -> list[Any]:
    return [one for one in annotations or () if not _is_late(one.get("updated_at"), snapshot)]


def _session(row: Row) -> str:
    """Return the person of a row: what stands behind the data set's name and the first hyphen.

    Raises:
        InputError: a session that nobody named.
    """
    name = str(row.values.get("_annotator_id") or row.values.get("_session_id") or "")
    person = name.partition("-")[2] or name
    if not person or CLOCK_SESSION.search(person):
        raise InputError(
            f"{row.file}:{row.line}: session {name!r} names no person",
            hint="Prodigy takes the reviewer from ?session=NAME in the address",
        )
    return person
