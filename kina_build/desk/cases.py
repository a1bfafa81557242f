"""The pages on which people decide: one case a screen, one choice a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from kina_build.desk.book import Act
from kina_build.desk.columns import FIELDS, find_unread, read_choice, read_columns, try_columns
from kina_build.desk.guard import read_form
from kina_build.desk.queues import NAMES, Case
from kina_build.desk.state import WHO, Desk, State, case_url
from kina_build.desk.words import align, compare_words
from kina_build.project.deciding import NAME
from kina_build.project.decisions import text_hash

NEAR = 12
"""Cases that the list beside a case shows before and behind it."""


@dataclass(frozen=True)
class Deciding:
    """What each address of the queues shows and writes."""

    desk: Desk

    def queue(self, request: Request) -> Response:
        """Go to the first open case of a queue."""
        return self.desk.answer(request, self._queue)

    def case(self, request: Request) -> Response:
        """Show one case with its choices."""
        return self.desk.answer(request, self._case)

    async def decide(self, request: Request) -> Response:
        """Write a decision, and go to the next open case."""
        form = await read_form(request)
        return await run_in_threadpool(self.desk.answer, request, lambda r: self._decide(r, form))

    def columns(self, request: Request) -> Response:
        """Show a file whose columns were not understood."""
        return self.desk.answer(request, lambda r: self._columns(r, {}))

    async def map(self, request: Request) -> Response:
        """Try what was said of a file's columns, or write it."""
        form = await read_form(request)
        return await run_in_threadpool(self.desk.answer, request, lambda r: self._columns(r, form))

    async def undo(self, request: Request) -> Response:
        """Take back the last decision, and go to its case."""
        await read_form(request)
        return await run_in_threadpool(self.desk.answer, request, self._undo)

    async def name(self, request: Request) -> Response:
        """Change who decides in this browser."""
        form = await read_form(request)
        who = form.get("who", "").strip().lower()
        if not NAME.fullmatch(who):
            return PlainTextResponse("A name is small letters, digits and underscores.", 400)
        answer = RedirectResponse(_local(form.get("back", "/")), 303)
        answer.set_cookie(WHO, who, httponly=True, samesite="strict", path="/")
        return answer

    def _queue(self, request: Request) -> Response:
        state, queue = self.desk.state(), request.path_params["queue"]
        cases = state.cases.get(queue, [])
        if not cases:
            return self.desk.missing("Nothing waits here.")
        latest = self.desk.book().latest()
        first = next((case for case in cases if not case.decided(latest)), cases[0])
        return RedirectResponse(case_url(first), 303)

    def _case(self, request: Request) -> Response:
        state = self.desk.state()
        cases, at = self._find(state, request)
        if at is None:
            return self.desk.missing("This case is no longer there: the files have changed.")
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
        state = self.desk.state(now=True)
        cases, at = self._find(state, request)
        if at is None or text_hash(cases[at].items) != form.get("texts"):
            return self.desk.missing("The texts have changed since this page was shown: look again.", 409)
        case = cases[at]
        choice = next((one for one in case.choices if one.key == form.get("choice")), None)
        if choice is None:
            return PlainTextResponse("There is no such choice.", 400)
        book, who = self.desk.book(), self.desk.deciding(request)
        reason = form.get("reason", "").strip() or f"{choice.label} ({case.kind})"
        with self.desk.lock:
            book.record(choice.acts, who, reason)
        latest = book.latest()
        ordered = [*cases[at + 1 :], *cases[:at]]
        following = next((one for one in ordered if not one.decided(latest)), None)
        return RedirectResponse(case_url(following) if following else "/decide", 303)

    def _columns(self, request: Request, form: Mapping[str, str]) -> Response:
        name = request.path_params["name"]
        if name not in find_unread(self.desk.root):
            return self.desk.missing("The last build understood this file.")
        unread, latest = read_columns(self.desk.root, name), self.desk.book().latest()
        said = latest.get(("columns", (name,)), {})
        own = next((one.columns for one in said.values() if one.columns), None)
        chosen = read_choice(form, unread.columns) if form else own or _by_field(unread.proposed)
        tried = try_columns(self.desk.root, name, chosen) if chosen else None
        if form.get("choice") == "map" and tried and tried.works:
            act = Act("columns", (name,), "map", columns=tuple(chosen.items()))
            reason = form.get("reason", "").strip() or "looked at its columns"
            with self.desk.lock:
                self.desk.book().record([act], self.desk.deciding(request), reason)
            return RedirectResponse("/decide", 303)
        held = {column: key for key, names in chosen.items() for column in names.split(",")}
        return self.desk.render(
            "desk_columns.html.jinja", self.desk.state(), "/decide", page=name, unread=unread,
            fields=FIELDS, held=held, tried=tried, said=said, who=self.desk.deciding(request),
        )  # fmt: skip

    def _undo(self, request: Request) -> Response:
        state, book = self.desk.state(now=True), self.desk.book()
        with self.desk.lock:
            back = {(one.kind, one.subject) for one in book.undo(self.desk.deciding(request))}
        for cases in state.cases.values():
            for case in cases:
                if any(choice.acts[-1].key in back for choice in case.choices):
                    return RedirectResponse(case_url(case), 303)
        return RedirectResponse("/decide", 303)

    def _find(self, state: State, request: Request) -> tuple[list[Case], int | None]:
        cases = state.cases.get(request.path_params["queue"], [])
        wanted = request.path_params["case_id"]
        return cases, next((n for n, case in enumerate(cases) if case.case_id == wanted), None)


def _by_field(proposed: Mapping[str, str]) -> dict[str, str]:
    """Turn column to field into field to columns."""
    found: dict[str, str] = {}
    for column, key in proposed.items():
        found[key] = f"{found[key]},{column}" if key in found else column
    return found


def _local(address: str) -> str:
    """Return an address of this server only: one path, no host."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"
