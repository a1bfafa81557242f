"""The pages of the workbench, as an application that any ASGI server runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kina_build.desk.bench import Bench, read_bench, stamp_files
from kina_build.desk.book import Book
from kina_build.desk.compare import compare_models, compare_releases
from kina_build.desk.guard import Guard, policy
from kina_build.desk.queues import NAMES, Case, find_cases
from kina_build.desk.search import Index, open_index, read_query
from kina_build.desk.words import align, compare_words
from kina_build.errors import KinaError
from kina_build.items.markup import show_text
from kina_build.project.decisions import NAME, text_hash
from kina_build.report.site import PAGES, make_environment, page_values, render_page
from kina_build.rows.source import forget

BODY_BYTES = 65_536
"""Of the largest form that is read."""
NEAR = 12
"""Cases that the list beside a case shows before and behind it."""
STATIC = {"desk.js": "text/javascript", "desk.css": "text/css"}
WHO = "kina_desk_who"
"""Cookie: who decides in this browser."""


@dataclass(frozen=True)
class State:
    """What one reading of the folder gave."""

    bench: Bench
    index: Index
    cases: Mapping[str, list[Case]]


@dataclass
class Desk:
    """The workbench of one folder: reads it anew where a file of it was written anew."""

    root: Path
    title: str
    who: str
    read_only: bool = False
    cache: Path | None = None
    _state: State | None = field(default=None, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def state(self) -> State:
        """Return the folder as it is now.

        Raises:
            InputError: a file that cannot be read.
        """
        state = self._state
        if state is None or stamp_files(list(state.bench.found.files.values())) != state.bench.stamp:
            bench = read_bench(self.root)
            state = self._state = State(bench, open_index(bench, self.cache), find_cases(bench))
        return state

    def book(self) -> Book:
        """Return the decisions on the items as they are now."""
        return Book(self.root, self.state().bench.items)

    def deciding(self, request: Request) -> str:
        """Return who decides in this browser."""
        said = request.cookies.get(WHO, "")
        return said if NAME.fullmatch(said) else self.who

    def render(self, template: str, state: State, file: str, status: int = 200, **values: Any) -> Response:
        """Fill in a template of the desk."""
        shared = page_values(
            state.bench.artefacts,
            title=self.title,
            navigation=_navigation(state.bench),
            link=link_item,
            named=True,
        )
        tools = {"read_only": self.read_only, "names": NAMES, "text": safe_text, "item_url": item_url}
        environment = make_environment("kina_build.desk")
        html = environment.get_template(template).render(shared | tools | values, file=file)
        return _page(html, status)


def make_app(desk: Desk, token: str, port: int) -> Guard:
    """Make the application of a workbench, behind its door."""
    pages = _Pages(desk)
    routes = [
        Route("/", pages.home),
        Route("/items", pages.items),
        Route("/items/{item_id:path}", pages.item),
        Route("/pages/{name}", pages.report),
        Route("/decide", pages.queues),
        Route("/decide/{queue}", pages.queue),
        Route("/decide/{queue}/{case_id}", pages.case),
        Route("/decide/{queue}/{case_id}", pages.decide, methods=["POST"]),
        Route("/undo", pages.undo, methods=["POST"]),
        Route("/who", pages.name, methods=["POST"]),
        Route("/compare", pages.compare),
        Route("/static/{name}", _static),
    ]
    return Guard(Starlette(routes=routes), token, port, desk.read_only)


@dataclass(frozen=True)
class _Pages:
    """What each address answers."""

    desk: Desk

    def home(self, request: Request) -> Response:
        """Show what waits, and the funnel."""
        return self._answer(request, self._home)

    def items(self, request: Request) -> Response:
        """Show a page of the items that were searched for."""
        return self._answer(request, self._items)

    def item(self, request: Request) -> Response:
        """Show everything that is known of one item."""
        return self._answer(request, self._item)

    def report(self, request: Request) -> Response:
        """Show a page of the report."""
        return self._answer(request, self._report)

    def queues(self, request: Request) -> Response:
        """Show the queues."""
        return self._answer(request, self._home)

    def queue(self, request: Request) -> Response:
        """Go to the first open case of a queue."""
        return self._answer(request, self._queue)

    def case(self, request: Request) -> Response:
        """Show one case with its choices."""
        return self._answer(request, self._case)

    def compare(self, request: Request) -> Response:
        """Show two releases, or two models, side by side."""
        return self._answer(request, self._compare)

    async def decide(self, request: Request) -> Response:
        """Write a decision, and go to the next open case."""
        form = await _form(request)
        return await run_in_threadpool(self._answer, request, lambda r: self._decide(r, form))

    async def undo(self, request: Request) -> Response:
        """Take back the last decision, and go to its case."""
        await _form(request)
        return await run_in_threadpool(self._answer, request, self._undo)

    async def name(self, request: Request) -> Response:
        """Change who decides in this browser."""
        form = await _form(request)
        who = form.get("who", "").strip().lower()
        if not NAME.fullmatch(who):
            return PlainTextResponse("A name is small letters, digits and underscores.", 400)
        answer = RedirectResponse(_local(form.get("back", "/")), 303)
        answer.set_cookie(WHO, who, httponly=True, samesite="strict", path="/")
        return answer

    def _answer(self, request: Request, make: Callable[[Request], Response]) -> Response:
        try:
            # one request at a time; what files held at an earlier one does not count
            with self.desk.lock:
                forget(self.desk.root)
                return make(request)
        except KinaError as error:
            return PlainTextResponse("\n".join([*error.lines, error.hint or ""]).strip(), 409)

    def _home(self, request: Request) -> Response:
        state, latest = self.desk.state(), self.desk.book().latest()
        rows = [
            (queue, len(cases), sum(bool(case.decided(latest)) for case in cases))
            for queue, cases in state.cases.items()
        ]
        at = "/decide" if request.url.path == "/decide" else "/"
        left_out = state.bench.found.left_out
        return self.desk.render("desk_home.html.jinja", state, at, page="Desk", rows=rows, left_out=left_out)

    def _items(self, request: Request) -> Response:
        state = self.desk.state()
        query = read_query(request.query_params.multi_items())
        hits = state.index.find(query)
        bench = state.bench
        shown = [(bench.items[i], bench.states[i]) for i in hits.item_ids if i in bench.items]

        def address(page: int = 1, **changes: str | None) -> str:
            tags: dict[str, str | None] = {**query.tags, **changes}
            asked = {"q": query.text, **tags, "page": str(page) if page > 1 else None}
            return "/items?" + urlencode({name: value for name, value in asked.items() if value})

        return self.desk.render(
            "desk_items.html.jinja",
            state,
            "/items",
            page="Items",
            query=query,
            hits=hits,
            shown=shown,
            address=address,
        )

    def _item(self, request: Request) -> Response:
        state, item_id = self.desk.state(), request.path_params["item_id"]
        if item_id not in state.bench.items:
            return self._missing(state, "The pool has no such item.")
        latest = self.desk.book().latest()
        rulings = [one for (_, ids), said in latest.items() if item_id in ids for one in said.values()]
        return self.desk.render(
            "desk_item.html.jinja",
            state,
            "/items",
            page=item_id,
            d=state.bench.dossier(item_id),
            rulings=rulings,
        )

    def _report(self, request: Request) -> Response:
        state, name = self.desk.state(), request.path_params["name"]
        page = next((one for one in PAGES if one.file == name and one.shown(state.bench.artefacts)), None)
        if page is None:
            return self._missing(state, "There is no such page.")
        values = page_values(
            state.bench.artefacts,
            title=self.desk.title,
            navigation=_navigation(state.bench),
            link=link_item,
            named=True,
        )
        environment = make_environment("kina_build.desk")
        return _page(
            render_page(environment, page, values).replace(f'"{page.file}"', f'"/pages/{page.file}"')
        )

    def _queue(self, request: Request) -> Response:
        state, queue = self.desk.state(), request.path_params["queue"]
        cases = state.cases.get(queue, [])
        if not cases:
            return self._missing(state, "Nothing waits here.")
        latest = self.desk.book().latest()
        first = next((case for case in cases if not case.decided(latest)), cases[0])
        return RedirectResponse(case_url(first), 303)

    def _case(self, request: Request) -> Response:
        state = self.desk.state()
        cases, at = self._find(state, request)
        if at is None:
            return self._missing(state, "This case is no longer there: the files have changed.")
        case, latest = cases[at], self.desk.book().latest()
        told = [bool(one.decided(latest)) for one in cases]
        start = max(0, at - NEAR)
        near = list(zip(cases, told, strict=True))[start : at + NEAR + 1]
        pair = case.items if len(case.items) == 2 else None
        return self.desk.render(
            "desk_case.html.jinja",
            state,
            "/decide",
            page=f"{NAMES[case.queue]}: {case.subject}",
            case=case,
            at=at,
            near=[(one, done, case_url(one)) for one, done in near],
            count=len(cases),
            done=sum(told),
            decided=case.decided(latest),
            texts=text_hash(case.items),
            who=self.desk.deciding(request),
            before=case_url(cases[max(0, at - 1)]),
            behind=case_url(cases[min(len(cases) - 1, at + 1)]),
            words=compare_words(*(item.question for item in pair)) if pair else None,
            rows=align(*pair) if pair else None,
            dossiers=[state.bench.dossier(item.item_id) for item in case.items],
            models=len(state.bench.models),
        )

    def _decide(self, request: Request, form: Mapping[str, str]) -> Response:
        state = self.desk.state()
        cases, at = self._find(state, request)
        if at is None or text_hash(cases[at].items) != form.get("texts"):
            return self._missing(state, "The texts have changed since this page was shown: look again.", 409)
        case = cases[at]
        choice = next((one for one in case.choices if one.key == form.get("choice")), None)
        if choice is None:
            return PlainTextResponse("There is no such choice.", 400)
        book, who = self.desk.book(), self.desk.deciding(request)
        book.record(choice.acts, who, form.get("reason", "").strip() or f"{choice.label} ({case.kind})")
        latest = book.latest()
        ordered = [*cases[at + 1 :], *cases[:at]]
        following = next((one for one in ordered if not one.decided(latest)), None)
        return RedirectResponse(case_url(following) if following else "/decide", 303)

    def _undo(self, request: Request) -> Response:
        state = self.desk.state()
        back = {(one.kind, one.subject) for one in self.desk.book().undo(self.desk.deciding(request))}
        for cases in state.cases.values():
            for case in cases:
                if any(choice.acts[-1].key in back for choice in case.choices):
                    return RedirectResponse(case_url(case), 303)
        return RedirectResponse("/decide", 303)

    def _compare(self, request: Request) -> Response:
        state, asked = self.desk.state(), request.query_params
        releases = {path.name: path for path in state.bench.found.releases}
        old, new = releases.get(asked.get("old", "")), releases.get(asked.get("new", ""))
        one, other = (
            name if name in state.bench.models else "" for name in (asked.get("one"), asked.get("other"))
        )
        return self.desk.render(
            "desk_compare.html.jinja",
            state,
            "/compare",
            page="Compare",
            releases=sorted(releases),
            models=state.bench.models,
            old=old.name if old else "",
            new=new.name if new else "",
            one=one,
            other=other,
            found=compare_releases(old, new) if old and new and old != new else None,
            flips=compare_models(state.bench, one, other) if one and other and one != other else None,
        )

    def _find(self, state: State, request: Request) -> tuple[list[Case], int | None]:
        cases = state.cases.get(request.path_params["queue"], [])
        wanted = request.path_params["case_id"]
        return cases, next((n for n, case in enumerate(cases) if case.case_id == wanted), None)

    def _missing(self, state: State, message: str, status: int = 404) -> Response:
        return self.desk.render(
            "desk_missing.html.jinja", state, "", status, page="Not here", message=message
        )


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


def _navigation(bench: Bench) -> list[tuple[str, str]]:
    shown = [(f"/pages/{page.file}", page.name) for page in PAGES if page.shown(bench.artefacts)]
    return [("/", "Desk"), ("/items", "Items"), ("/decide", "Decide"), *shown, ("/compare", "Compare")]


def _page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, headers={"content-security-policy": policy(html)})


async def _form(request: Request) -> dict[str, str]:
    """Read a form; of a field that stands twice the last one counts."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            break
    return dict(parse_qsl(body[:BODY_BYTES].decode("utf-8", "replace"), keep_blank_values=True))


def _local(address: str) -> str:
    """Return an address of this server only: one path, no host."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return PlainTextResponse("There is no such file.", 404)
    return Response((files("kina_build.desk") / "static" / name).read_bytes(), media_type=STATIC[name])
