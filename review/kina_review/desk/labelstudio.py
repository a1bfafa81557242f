"""A Label Studio server: projects, tasks, accounts and exports, each failure one line.

The only home of label-studio-sdk (https://api.labelstud.io).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kina_build.errors import ConfigError

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

    def create_project(self, title: str, config: str, instruction: str) -> int:
        """Create one reviewer's project and return its id."""
        with _explained(self.url):
            made: Any = self.client.projects.create(
                title=title, label_config=config, maximum_annotations=1, **_rules(instruction)
            )
            return int(made.id)

    def restore_rules(self, project_id: int, instruction: str) -> None:
        """Set a project's rules again: in the Community edition whoever can log in can change them."""
        with _explained(self.url):
            self.client.projects.update(project_id, **_rules(instruction))

    def tasks(self, project_id: int) -> dict[str, list[int]]:
        """Return the ids of a project's tasks by the assignment that each names, oldest first."""
        with _explained(self.url):
            tasks: Iterable[Any] = self.client.tasks.list(project=project_id, page_size=PAGE)
            found: dict[str, list[int]] = {}
            for task in tasks:
                found.setdefault(str((task.data or {}).get("assignment_id")), []).append(int(task.id))
            return {key: sorted(ids) for key, ids in found.items()}

    def import_tasks(self, project_id: int, tasks: Sequence[Mapping[str, Any]]) -> set[int]:
        """Add tasks to a project in one request; return their ids where the server tells them."""
        with _explained(self.url):
            # plain mappings are what the endpoint documents; the SDK's own type has no field for data
            request: Any = [{"data": dict(task)} for task in tasks]
            made: Any = self.client.projects.import_tasks(project_id, request=request, return_task_ids=True)
            return {int(number) for number in getattr(made, "task_ids", None) or ()}

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


def _stay(answer: httpx.Response) -> None:
    """Refuse a redirect to another server: it would be sent the token and the labels."""
    here = answer.url
    there = here.join(answer.headers["location"]) if answer.has_redirect_location else here
    if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
        raise ConfigError(
            f"{here.scheme}://{here.netloc.decode()}: redirects to {there}; nothing was sent there",
            hint="give that address if it is right",
        )


def _rules(instruction: str) -> dict[str, Any]:
    """Return what a project lets a reviewer do: no skipping, no empty answers, instructions first."""
    return {
        "show_skip_button": False,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "expert_instruction": instruction,
        "show_instruction": bool(instruction),
    }


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
