"""What lies on the review desk: push assignments, keep the map of what was pushed, pull annotations.

One project for each reviewer and batch, titled so that it tells nobody whose it is. What
belongs to whom is kept in a local map, because the server protects nothing: in the
Community edition every user can open, edit and delete every project and import tasks with
annotations signed by anybody, so this is weak blindness, and everything is verified on
pull (`kina_review.desk.collection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.errors import ConfigError, InputError, Refusal
from kina_build.progress import Progress, silent
from kina_review.desk.authorship import Annotation
from kina_review.desk.labelling import Purpose, read_result
from kina_review.desk.labelstudio import PAGE, DeskServer
from kina_review.records import Assignment, Record, Reviewer


class DeskProject(Record):
    """One reviewer's project of a batch."""

    reviewer_id: str
    account: str
    project_id: int
    tasks: dict[str, int]
    """Assignment id to the id of the task that was pushed for it: no other task is believed."""


class DeskMap(Record):
    """Who was given what, kept locally: the server shows opaque ids only."""

    batch: str
    purpose: Purpose
    projects: tuple[DeskProject, ...]
    assignments: tuple[Assignment, ...]

    @property
    def tasks(self) -> dict[str, int]:
        """Return the pushed task of each assignment."""
        return {key: task for project in self.projects for key, task in project.tasks.items()}


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    desk: DeskMap
    projects_created: int
    tasks_added: int
    tasks_there: int
    """Tasks that an earlier push had put there."""


def push(
    server: DeskServer,
    batch: str,
    purpose: Purpose,
    assignments: Sequence[Assignment],
    reviewers: Sequence[Reviewer],
    *,
    config: str,
    make_task: Callable[[Assignment], Mapping[str, Any]],
    instruction: str = "",
    earlier: DeskMap | None = None,
    on_progress: Progress = silent,
) -> Pushed:
    """Put assignments on the desk; what is already there is left alone, so a push can be repeated.

    Args:
        server: where to.
        batch: name of the batch; with the reviewer it makes the project's title.
        purpose: reviewing items or grading reviews.
        assignments: who gets what; assignment_id is required.
        reviewers: carry the account on the desk.
        config: labelling configuration of new projects.
        make_task: task data of an assignment.
        instruction: HTML that reviewers are shown before the first task.
        earlier: the map of an earlier push of this batch; its task ids stay.
        on_progress: called with (tasks done, tasks in all).

    Raises:
        Refusal: a reviewer has no account there; nothing was pushed.
        ConfigError: the server refuses or goes away; push again to go on.
    """
    given: dict[str, list[Assignment]] = {}
    for slot in sorted(assignments, key=lambda slot: (slot.reviewer_id, slot.item_id)):
        given.setdefault(slot.reviewer_id, []).append(slot)
    accounts = _check_accounts(server, given, reviewers)
    there = server.projects()
    kept = earlier.tasks if earlier else {}
    projects: list[DeskProject] = []
    added = done = 0
    for reviewer_id, slots in given.items():
        title = project_title(batch, purpose, reviewer_id)
        if title in there:
            project_id = there[title]
            server.restore_rules(project_id, instruction)
        else:
            project_id = server.create_project(title, config, instruction)
        before = server.tasks(project_id) if title in there else {}
        pushed = _pushed_before(before, kept)
        new = [slot for slot in slots if slot.assignment_id not in pushed]
        done += len(slots) - len(new)
        made: set[int] = set()
        for start in range(0, len(new), PAGE):
            page = new[start : start + PAGE]
            made |= server.import_tasks(project_id, [make_task(slot) for slot in page])
            added, done = added + len(page), done + len(page)
            on_progress(done, len(assignments))
        if new:
            pushed |= _just_pushed(server.tasks(project_id), new, made, before)
        projects.append(
            DeskProject(
                reviewer_id=reviewer_id,
                account=accounts[reviewer_id],
                project_id=project_id,
                tasks={str(slot.assignment_id): pushed[str(slot.assignment_id)] for slot in slots},
            )
        )
    everything = tuple(slot for slots in given.values() for slot in slots)
    desk = DeskMap(batch=batch, purpose=purpose, projects=tuple(projects), assignments=everything)
    created = sum(project_title(batch, purpose, who) not in there for who in given)
    return Pushed(desk, created, added, len(everything) - added)


def _pushed_before(tasks: Mapping[str, Sequence[int]], kept: Mapping[str, int]) -> dict[str, int]:
    """Return the tasks that an earlier push made, by assignment.

    The map of that push says which. Where it was interrupted before the map was written, it
    is the oldest of the tasks that name the assignment: a copy can only come later.
    """
    return {key: kept.get(key, ids[0]) for key, ids in tasks.items() if kept.get(key, ids[0]) in ids}


def _just_pushed(
    tasks: Mapping[str, Sequence[int]],
    slots: Sequence[Assignment],
    made: set[int],
    before: Mapping[str, Sequence[int]],
) -> dict[str, int]:
    """Return the tasks that this push made: those whose ids the server told, else the oldest new ones.

    Raises:
        ConfigError: a task that was just added is not there.
    """
    found: dict[str, int] = {}
    for key in (str(slot.assignment_id) for slot in slots):
        new = [number for number in tasks.get(key, ()) if number not in before.get(key, ())]
        ids = [number for number in new if number in made or not made]
        if not ids:
            raise ConfigError("a task that was just added is gone from the server", hint="push again")
        found[key] = ids[0]
    return found


def pull(server: DeskServer, desk: DeskMap, on_progress: Progress = silent) -> list[Annotation]:
    """Fetch every annotation and draft of a batch, as the server has it.

    Raises:
        InputError: a project of the map is not on this server.
        ConfigError: the server refuses or goes away.
    """
    emails = {number: email for email, number in server.accounts().items()}
    there = set(server.projects().values())
    found: list[Annotation] = []
    for done, project in enumerate(desk.projects, start=1):
        if project.project_id not in there:
            raise InputError(
                f"project {project.project_id} of batch {desk.batch} is not on {server.url}",
                hint="is this the server the batch was pushed to?",
            )
        for task in server.export(project.project_id):
            found += read_task(task, emails)
        on_progress(done, len(desk.projects))
    return found


def read_task(task: Mapping[str, Any], emails: Mapping[int, str]) -> list[Annotation]:
    """Turn an exported task into its annotations and drafts.

    Args:
        task: one element of a JSON export.
        emails: account ids to e-mails; an id that is not there was deleted.
    """
    key = (task.get("data") or {}).get("assignment_id")
    number = task.get("id")
    complete = [_annotation(raw, key, number, emails, draft=False) for raw in task.get("annotations") or []]
    drafts = [_annotation(raw, key, number, emails, draft=True) for raw in task.get("drafts") or []]
    return complete + drafts


def project_title(batch: str, purpose: Purpose, reviewer_id: str) -> str:
    """Return a project's title: the batch and a code that does not tell the reviewer."""
    code = hashlib.sha256(f"{batch}\0{purpose}\0{reviewer_id}".encode()).hexdigest()[:8]
    return f"kina {batch} {purpose} {code}"


def _annotation(
    raw: Mapping[str, Any], key: Any, task_id: int | None, emails: Mapping[int, str], *, draft: bool
) -> Annotation:
    author = raw.get("user") if draft else raw.get("completed_by")
    return Annotation(
        annotation_id=f"draft-{raw['id']}" if draft else str(raw["id"]),
        assignment_id=None if key is None else str(key),
        task_id=task_id,
        author=author if isinstance(author, str) else emails.get(_user_id(author)),
        updated_by=None if draft else emails.get(_user_id(raw.get("updated_by"))),
        created_at=raw.get("created_at"),
        updated_at=raw.get("updated_at"),
        lead_time_s=raw.get("lead_time"),
        skipped=bool(raw.get("was_cancelled")),
        draft=draft,
        values=read_result(raw.get("result") or []),
    )


def _user_id(value: Any) -> int:
    """Return a user's id, which exports give plain or inside an object; 0 where there is none."""
    if isinstance(value, dict):
        value = value.get("id")
    return int(value) if isinstance(value, int) else 0


def _check_accounts(
    server: DeskServer, given: Mapping[str, object], reviewers: Sequence[Reviewer]
) -> dict[str, str]:
    named = {person.reviewer_id: person.account for person in reviewers}
    known = server.accounts()
    missing = [
        f"{reviewer_id} ({named.get(reviewer_id) or 'no account given'})"
        for reviewer_id in given
        if named.get(reviewer_id) not in known
    ]
    if missing:
        raise Refusal(
            f"{server.url} has no account for {', '.join(missing)}",
            hint="invite them through the server's sign-up link; column `account` of the reviewers' file "
            "holds their e-mail there",
        )
    return {reviewer_id: str(named[reviewer_id]) for reviewer_id in given}
