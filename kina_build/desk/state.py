"""The state of the workbench: what one reading of the folder gave, and the frame of every page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from kina_build.desk.bench import FLAGS, Bench, is_fresh, read_bench
from kina_build.desk.book import Book
from kina_build.desk.guard import policy
from kina_build.desk.queues import NAMES, Case, find_cases
from kina_build.desk.search import Index, open_index
from kina_build.errors import KinaError
from kina_build.items.markup import show_text
from kina_build.project.deciding import NAME
from kina_build.report.site import PAGES, make_environment, page_values

Answer = TypeVar("Answer")

WHO = "kina_desk_who"
"""Cookie: who decides in this browser."""


@dataclass(frozen=True)
class State:
    """What one reading of the folder gave."""

    bench: Bench
    index: Index
    cases: Mapping[str, list[Case]]


class NotYet(Exception):
    """What was asked for is being read, and takes longer than a page may wait."""


@dataclass
class Desk:
    """The workbench of one folder: reads it anew, beside the pages, where a file of it was written anew."""

    root: Path
    title: str
    who: str
    read_only: bool = False
    cache: Path | None = None
    patience_s: float | None = None
    """How long a page waits for files that are being read; None: until they are."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Of what is written: a decision that is sent twice at once is written once."""
    _state: State | None = field(default=None, repr=False)
    _job: Future[State] | None = field(default=None, repr=False)
    _reader: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1), repr=False)
    _beside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1), repr=False)
    """For what must not hold up the reading of the folder."""

    def state(self, *, now: bool = False) -> State:
        """Return the folder as it is now; as it was, while it is being read anew.

        Args:
            now: wait until it is read: for what writes.

        Raises:
            InputError: a file that cannot be read.
        """
        state = self._state
        if state is not None and is_fresh(state.bench):
            return state
        job = self._job
        if job is None or job.done():
            job = self._job = self._reader.submit(self._read)
        try:
            return job.result(None if now or state is None else self.patience_s)
        except TimeoutError:
            return cast("State", state)

    def _read(self) -> State:
        state = self._state
        if state is None or not is_fresh(state.bench):
            bench = read_bench(self.root)
            state = self._state = State(bench, open_index(bench, self.cache), find_cases(bench))
        return state

    @property
    def is_behind(self) -> bool:
        """Tell whether pages show the folder as it was."""
        return self._job is not None and not self._job.done()

    def later(self, work: Callable[[], Answer]) -> Answer:
        """Do what may take long beside the pages.

        Raises:
            NotYet: it goes on; ask again.
        """
        job = self._beside.submit(work)
        try:
            return job.result(self.patience_s)
        except TimeoutError:
            job.cancel()
            raise NotYet from None

    def book(self) -> Book:
        """Return the decisions on the items as they are now."""
        return Book(self.root, self.state().bench.items)

    def deciding(self, request: Request) -> str:
        """Return who decides in this browser."""
        said = request.cookies.get(WHO, "")
        return said if NAME.fullmatch(said) else self.who

    def answer(self, request: Request, make: Callable[[Request], Response]) -> Response:
        """Answer a request; what cannot be read is said."""
        try:
            return make(request)
        except NotYet:
            return self.render("desk_wait.html.jinja", self.state(), "", page="One moment")
        except KinaError as error:
            return PlainTextResponse("\n".join([*error.lines, error.hint or ""]).strip(), 409)

    def missing(self, message: str, status: int = 404) -> Response:
        """Say that there is nothing at an address."""
        return self.render(
            "desk_missing.html.jinja", self.state(), "", status, page="Not here", message=message
        )

    def render(self, template: str, state: State, file: str, status: int = 200, **values: Any) -> Response:
        """Fill in a template of the desk."""
        shared = page_values(
            state.bench.artefacts,
            title=self.title,
            navigation=navigation(state.bench),
            link=link_item,
            named=True,
        )
        tools = {
            "read_only": self.read_only,
            "names": NAMES,
            "text": safe_text,
            "item_url": item_url,
            "flags": FLAGS,
            "outdated": self.is_behind,
        }
        environment = make_environment("kina_build.desk")
        html = environment.get_template(template).render(
            shared | tools | values, file=file, item_url=item_url
        )
        return make_page(html, status)


def item_url(item_id: str) -> str:
    """Return the address of an item."""
    return f"/items/{quote(item_id, safe='')}"


def case_url(case: Case) -> str:
    """Return the address of a case."""
    return f"/decide/{case.queue}/{case.case_id}"


def link_item(item_id: str) -> Markup:
    """Return an item's id, linked to everything that is known of it."""
    return Markup('<a href="{}">{}</a>').format(item_url(item_id), item_id)


def safe_text(text: str) -> Markup:
    """Return a text as HTML with its formulas; everything in it is escaped."""
    return Markup(show_text(text))  # noqa: S704


def navigation(bench: Bench) -> list[tuple[str, str]]:
    """Return the address and the name of each page that the artefacts allow."""
    shown = [(f"/pages/{page.file}", page.name) for page in PAGES if page.shown(bench.artefacts)]
    return [("/", "Desk"), ("/items", "Items"), ("/decide", "Decide"), *shown, ("/compare", "Compare")]


def make_page(html: str, status: int = 200) -> Response:
    """Answer with a page, under a policy that names its own style."""
    return HTMLResponse(html, status, headers={"content-security-policy": policy(html)})
