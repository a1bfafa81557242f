"""The pages of the workbench: what each address shows and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from kina_build.desk.compare import compare_models, compare_releases
from kina_build.desk.guard import read_form
from kina_build.desk.queues import NAMES, Case
from kina_build.desk.search import read_query
from kina_build.desk.state import WHO, Desk, State, case_url, link_item, make_page, navigation
from kina_build.desk.words import align, compare_words
from kina_build.errors import KinaError
from kina_build.project.decisions import NAME, text_hash
from kina_build.report.site import PAGES, make_environment, page_values, render_page
from kina_build.rows.source import forget

NEAR = 12
"""Cases that the list beside a case shows before and behind it."""


@dataclass(frozen=True)
class Pages:
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
        form = await read_form(request)
        return await run_in_threadpool(self._answer, request, lambda r: self._decide(r, form))

    async def undo(self, request: Request) -> Response:
        """Take back the last decision, and go to its case."""
        await read_form(request)
        return await run_in_threadpool(self._answer, request, self._undo)

    async def name(self, request: Request) -> Response:
        """Change who decides in this browser."""
        form = await read_form(request)
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
            navigation=navigation(state.bench),
            link=link_item,
            named=True,
        )
        environment = make_environment("kina_build.desk")
        return make_page(render_page(environment, page, values, place="/pages/"))

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


def _local(address: str) -> str:
    """Return an address of this server only: one path, no host."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"
