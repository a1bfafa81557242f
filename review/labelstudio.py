"""The review desk on a Label Studio server: push assignments, pull annotations.

One project for each reviewer and batch, titled so that it tells nobody whose it is. What
belongs to whom is kept in a local map, because the server protects nothing: in the
Community edition every user can open, edit and delete every project, so this is weak
blindness, and everything is verified on pull (`review.collection`).

The only home of label-studio-sdk (https://api.labelstud.io).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kina_build.errors import ConfigError, InputError, Refusal
from kina_build.progress import Progress, silent
from review.collection import Annotation
from review.labelling import Purpose, read_result
from review.records import Assignment, Record, Reviewer

if TYPE_CHECKING:
    import httpx
    from label_studio_sdk import LabelStudio

PAGE = 1000
"""Tasks in one request."""
TIMEOUT_S = 600.0
"""Seconds a request may take: exports of 20,000 annotations outlast the SDK's 60."""
PROBE_TIMEOUT_S = 10.0
"""Seconds within which a server says its version."""
TOKEN_VARIABLE = "LABEL_STUDIO_API_KEY"  # noqa: S105  the variable's name, not a token


class DeskProject(Record):
    """One reviewer's project of a batch."""

    reviewer_id: str
    account: str
    project_id: int
    assignment_ids: tuple[str, ...]


class DeskMap(Record):
    """Who was given what, kept locally: the server shows opaque ids only."""

    batch: str
    purpose: Purpose
    projects: tuple[DeskProject, ...]
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    desk: DeskMap
    projects_created: int
    tasks_added: int
    tasks_there: int
    """Tasks that an earlier push had put there."""


class DeskServer:
    """A Label Studio server that answered, with the token that it accepted."""

    def __init__(self, url: str, token: str) -> None:
        """Connect.

        Raises:
            ConfigError: no token, no server, another server, or a refused token.
        """
        if not token:
            raise ConfigError(
                f"no token for the review desk: {TOKEN_VARIABLE} is not set",
                hint="Label Studio shows yours under Account & Settings, Personal Access Token",
            )
        import httpx
        from label_studio_sdk import LabelStudio

        self.url = url.rstrip("/")
        self.version = probe(self.url)
        # a connection of our own: the SDK has no way to close its
        self._connection = httpx.Client(
            timeout=TIMEOUT_S, follow_redirects=True, event_hooks={"response": [_stay]}
        )
        self.client: LabelStudio = LabelStudio(  # type: ignore[no-untyped-call]
            base_url=self.url, api_key=token, httpx_client=self._connection
        )
        try:
            with _explained(self.url):
                self.user = self.client.users.whoami().email
        except ConfigError:
            self._connection.close()
            raise

    def __enter__(self) -> DeskServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def accounts(self) -> dict[str, int]:
        """Return the accounts of the server by e-mail."""
        with _explained(self.url):
            return {str(user.email): int(user.id) for user in self.client.users.list()}

    def projects(self) -> dict[str, int]:
        """Return the ids of all projects by title."""
        with _explained(self.url):
            projects: Iterable[Any] = self.client.projects.list(page_size=PAGE)
            return {str(project.title): int(project.id) for project in projects}

    def create_project(self, title: str, config: str) -> int:
        """Create one reviewer's project and return its id."""
        with _explained(self.url):
            made: Any = self.client.projects.create(title=title, label_config=config, maximum_annotations=1)
            return int(made.id)

    def task_keys(self, project_id: int) -> set[str]:
        """Return the assignment ids of the tasks that a project holds."""
        with _explained(self.url):
            tasks: Iterable[Any] = self.client.tasks.list(project=project_id, page_size=PAGE)
            return {str((task.data or {}).get("assignment_id")) for task in tasks}

    def import_tasks(self, project_id: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Add tasks to a project in one request."""
        with _explained(self.url):
            # plain mappings are what the endpoint documents; the SDK's own type has no field for data
            request: Any = [{"data": dict(task)} for task in tasks]
            self.client.projects.import_tasks(project_id, request=request)

    def export(self, project_id: int) -> list[dict[str, Any]]:
        """Return a project's tasks with annotations and drafts, skipped and unannotated ones too."""
        with _explained(self.url):
            chunks = self.client.projects.exports.download_sync(
                project_id, export_type="JSON", download_all_tasks=True
            )
            return list(json.loads(b"".join(chunks)))


def probe(url: str) -> str:
    """Return the version of the Label Studio server at a URL.

    Raises:
        ConfigError: nothing answers, or something else does.
    """
    import httpx

    try:
        answer = httpx.get(f"{url}/api/version", timeout=PROBE_TIMEOUT_S)
        body = answer.json()
    except httpx.InvalidURL as error:
        raise ConfigError(f"{url}: not a URL ({error})", hint="such as http://127.0.0.1:8080") from None
    except httpx.UnsupportedProtocol:
        raise ConfigError(f"{url}: not a URL", hint="such as http://127.0.0.1:8080") from None
    except httpx.TransportError as error:
        raise ConfigError(
            f"{url}: no server answers ({error})", hint="is Label Studio running there?"
        ) from None
    except (ValueError, RecursionError):
        body = None
    release = body.get("release") if isinstance(body, dict) else None
    if answer.has_redirect_location:
        raise ConfigError(
            f"{url}: redirects to {answer.headers['location']}; nothing was sent there",
            hint="give that address if it is right",
        )
    if not release:
        raise ConfigError(
            f"{url}: a server answers, but it is not Label Studio",
            hint="a busy port makes Label Studio take the next one: look at what it printed at its start",
        )
    return str(release)


def push(
    server: DeskServer,
    batch: str,
    purpose: Purpose,
    assignments: Sequence[Assignment],
    reviewers: Sequence[Reviewer],
    *,
    config: str,
    make_task: Callable[[Assignment], Mapping[str, Any]],
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
    projects: list[DeskProject] = []
    created = added = done = 0
    for reviewer_id, slots in given.items():
        title = project_title(batch, purpose, reviewer_id)
        created += title not in there
        project_id = there[title] if title in there else server.create_project(title, config)
        present = server.task_keys(project_id) if title in there else set()
        new = [slot for slot in slots if slot.assignment_id not in present]
        done += len(slots) - len(new)
        for start in range(0, len(new), PAGE):
            page = new[start : start + PAGE]
            server.import_tasks(project_id, [make_task(slot) for slot in page])
            added, done = added + len(page), done + len(page)
            on_progress(done, len(assignments))
        keys = tuple(str(slot.assignment_id) for slot in slots)
        projects.append(
            DeskProject(
                reviewer_id=reviewer_id,
                account=accounts[reviewer_id],
                project_id=project_id,
                assignment_ids=keys,
            )
        )
    everything = tuple(slot for slots in given.values() for slot in slots)
    desk = DeskMap(batch=batch, purpose=purpose, projects=tuple(projects), assignments=everything)
    return Pushed(desk, created, added, len(everything) - added)


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
    complete = [_annotation(raw, key, emails, draft=False) for raw in task.get("annotations") or []]
    drafts = [_annotation(raw, key, emails, draft=True) for raw in task.get("drafts") or []]
    return complete + drafts


def project_title(batch: str, purpose: Purpose, reviewer_id: str) -> str:
    """Return a project's title: the batch and a code that does not tell the reviewer."""
    code = hashlib.sha256(f"{batch}\0{purpose}\0{reviewer_id}".encode()).hexdigest()[:8]
    return f"kina {batch} {purpose} {code}"


def _annotation(raw: Mapping[str, Any], key: Any, emails: Mapping[int, str], *, draft: bool) -> Annotation:
    author = raw.get("user") if draft else raw.get("completed_by")
    return Annotation(
        annotation_id=f"draft-{raw['id']}" if draft else str(raw["id"]),
        assignment_id=None if key is None else str(key),
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


def _stay(answer: httpx.Response) -> None:
    """Refuse a redirect to another server: it would be sent the token and the labels."""
    here = answer.url
    there = here.join(answer.headers["location"]) if answer.has_redirect_location else here
    if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
        raise ConfigError(
            f"{here.scheme}://{here.netloc.decode()}: redirects to {there}; nothing was sent there",
            hint="give that address if it is right",
        )


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn what the SDK raises into one line."""
    import httpx
    from label_studio_sdk.core.api_error import ApiError

    try:
        yield
    except ApiError as error:
        if error.status_code in (401, 403):
            raise ConfigError(
                f"{url}: the token is refused",
                hint=f"{TOKEN_VARIABLE} must hold a personal token of this very server",
            ) from None
        raise ConfigError(f"{url}: the server answers {error.status_code}: {str(error.body)[:200]}") from None
    except httpx.TimeoutException:
        raise ConfigError(
            f"{url}: no answer within {TIMEOUT_S:.0f} s", hint="run the command again"
        ) from None
    except httpx.TransportError as error:
        raise ConfigError(f"{url}: the server went away ({error})", hint="run the command again") from None
