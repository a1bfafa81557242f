"""The pages of the workbench: what each address shows and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from kina_build.config import CONFIG_NAME
from kina_build.desk.columns import find_unread
from kina_build.desk.compare import compare_models, compare_releases, compare_selections
from kina_build.desk.search import read_query
from kina_build.desk.state import Desk, link_item, make_page, navigation
from kina_build.desk.words import compare_words
from kina_build.project.folder import find_project
from kina_build.project.life.told import tell_life
from kina_build.report.site import PAGES, make_environment, page_values, render_page

Known = TypeVar("Known")


@dataclass(frozen=True)
class Pages:
    """What each address answers."""

    desk: Desk

    def home(self, request: Request) -> Response:
        """Show what waits, and the funnel."""
        return self.desk.answer(request, self._home)

    def items(self, request: Request) -> Response:
        """Show a page of the items that were searched for."""
        return self.desk.answer(request, self._items)

    def item(self, request: Request) -> Response:
        """Show everything that is known of one item."""
        return self.desk.answer(request, self._item)

    def life(self, request: Request) -> Response:
        """Tell an item's life across all files of a project."""
        return self.desk.answer(request, self._life)

    def report(self, request: Request) -> Response:
        """Show a page of the report."""
        return self.desk.answer(request, self._report)

    def compare(self, request: Request) -> Response:
        """Show two releases, or two models, side by side."""
        return self.desk.answer(request, self._compare)

    def _home(self, request: Request) -> Response:
        state, latest = self.desk.state(), self.desk.book().latest()
        rows = [
            (queue, len(cases), sum(bool(case.decided(latest)) for case in cases))
            for queue, cases in state.cases.items()
        ]
        at = "/decide" if request.url.path == "/decide" else "/"
        left_out = state.bench.found.left_out
        files = [(name, ("columns", (name,)) in latest) for name in find_unread(self.desk.root)]
        return self.desk.render(
            "desk_home.html.jinja", state, at, page="Desk", rows=rows, left_out=left_out, files=files
        )

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
            return self.desk.missing("The pool has no such item.")
        return self.desk.render(
            "desk_item.html.jinja",
            state,
            "/items",
            page=item_id,
            d=state.bench.dossier(item_id),
            rulings=self.desk.book().history(item_id),
            told=(self.desk.root / CONFIG_NAME).exists(),
            compare=compare_words,
        )

    def _life(self, request: Request) -> Response:
        state, item_id = self.desk.state(), request.path_params["item_id"]
        project = (
            find_project(self.desk.root / CONFIG_NAME) if (self.desk.root / CONFIG_NAME).exists() else None
        )
        if item_id not in state.bench.items or project is None:
            return self.desk.missing("The project has no such item.")
        life = self.desk.later(partial(tell_life, project, item_id, self.desk.cache))
        return self.desk.render(
            "desk_life.html.jinja", state, "/items", page=item_id, life=life, item_id=item_id
        )

    def _report(self, request: Request) -> Response:
        state, name = self.desk.state(), request.path_params["name"]
        page = next((one for one in PAGES if one.file == name and one.shown(state.bench.artefacts)), None)
        if page is None:
            return self.desk.missing("There is no such page.")
        values = page_values(
            state.bench.artefacts,
            title=self.desk.title,
            navigation=navigation(state.bench),
            link=link_item,
            named=True,
        )
        environment = make_environment("kina_build.desk")
        return make_page(render_page(environment, page, values, place="/pages/"))

    def _compare(self, request: Request) -> Response:
        state, asked = self.desk.state(), request.query_params
        found = state.bench.found
        releases = {path.name: path for path in found.releases}
        selections = {path.name: path for path in found.selections}
        old, new = _two(releases, asked.get("old"), asked.get("new"))
        first, second = _two(selections, asked.get("first"), asked.get("second"))
        one, other = _two({name: name for name in state.bench.models}, asked.get("one"), asked.get("other"))
        return self.desk.render(
            "desk_compare.html.jinja",
            state,
            "/compare",
            page="Compare",
            releases=sorted(releases),
            selections=sorted(selections),
            models=state.bench.models,
            asked=asked,
            found=compare_releases(old, new) if old and new else None,
            picked=compare_selections(state.bench, first, second) if first and second else None,
            flips=compare_models(state.bench, one, other) if one and other else None,
        )


def _two(known: Mapping[str, Known], one: str | None, other: str | None) -> tuple[Known | None, Known | None]:
    """Return two different things by their names; nothing where they are not both known."""
    if one == other:
        return None, None
    found = known.get(one or ""), known.get(other or "")
    return found if None not in found else (None, None)
