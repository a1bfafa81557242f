"""The pages of a report: self-contained HTML, one string a file, and the folder they are put into."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jinja2
from markupsafe import Markup, escape

from kina_build.items.markup import show_item
from kina_build.items.model import Item
from kina_build.ranking.itemanalysis import ItemFigures
from kina_build.report import pictures, summaries
from kina_build.report.artefacts import Artefacts
from kina_build.report.plots import bars
from kina_build.report.search import search_values

ITEMS_A_PAGE = 50
LISTED = 200
"""Rows of a long list that are shown; the rest is counted."""


@dataclass(frozen=True)
class Page:
    """One page: its file, its name in the navigation, its template."""

    file: str
    name: str
    template: str
    shown: Callable[[Artefacts], bool]


PAGES = (
    Page("index.html", "Overview", "index", lambda a: True),
    Page("pool.html", "Pool", "pool", lambda a: a.pool is not None or a.findings is not None),
    Page("duplicates.html", "Duplicates", "duplicates", lambda a: a.duplicates is not None),
    Page("coverage.html", "Coverage", "coverage", lambda a: a.selection is not None),
    Page(
        "review.html",
        "Review",
        "review",
        lambda a: any(one is not None for one in (a.decisions, a.contests, a.payout, a.reviews)),
    ),
    Page("release.html", "Release", "release", lambda a: a.release is not None),
    Page("leaderboard.html", "Leaderboard", "leaderboard", lambda a: a.leaderboard is not None),
)


@dataclass(frozen=True)
class Shelf:
    """Where each item is shown, and what the other files say of it."""

    places: dict[str, str] = field(default_factory=dict)
    """Item id to page and anchor."""
    notes: dict[str, list[str]] = field(default_factory=dict)

    def link(self, item_id: str) -> Markup:
        """Return an item's id, linked to its page where it has one."""
        place = self.places.get(item_id)
        return Markup('<a href="{}">{}</a>').format(place, item_id) if place else escape(item_id)


def render_site(artefacts: Artefacts, *, title: str, keyed: bool = True) -> dict[str, str]:
    """Render every page that the artefacts allow.

    Args:
        artefacts: what there is.
        title: of the benchmark, on every page.
        keyed: show right answers (private splits keep theirs either way).

    Returns:
        File name to HTML; nothing in it asks for anything from elsewhere.
    """
    pages = [page for page in PAGES if page.shown(artefacts)]
    items = sorted(artefacts.pool or (), key=lambda item: item.item_id)
    shelves = [items[start : start + ITEMS_A_PAGE] for start in range(0, len(items), ITEMS_A_PAGE)]
    shelf = Shelf(_places(shelves), _notes(artefacts))
    navigation = [(page.file, page.name) for page in pages]
    navigation += [("items-1.html", "Items"), ("search.html", "Search")] if items else []
    shared = page_values(artefacts, title=title, navigation=navigation, link=shelf.link)
    environment = make_environment()
    site = {page.file: render_page(environment, page, shared) for page in pages}
    for number, group in enumerate(shelves, start=1):
        shown = [_shown(item, artefacts, shelf, keyed=keyed) for item in group]
        site[f"items-{number}.html"] = environment.get_template("items.html.jinja").render(
            shared, page="Items", file="items-1.html", shown=shown, number=number, pages=len(shelves)
        )
    if items:
        found = search_values(artefacts, shelf.places)
        template = environment.get_template("search.html.jinja")
        site["search.html"] = template.render(shared | found, page="Search", file="search.html")
    return site


def page_values(
    artefacts: Artefacts,
    *,
    title: str,
    navigation: Sequence[tuple[str, str]],
    link: Callable[[str], Markup],
    named: bool = False,
) -> dict[str, Any]:
    """Return what every page's template is given.

    Args:
        artefacts: what there is.
        title: of the benchmark.
        navigation: address and name of each page.
        link: makes of an item's id a link to where it is shown.
        named: show ids of reviewers: on the manager's own screen only.
    """
    return {
        "title": title,
        "navigation": navigation,
        "a": artefacts,
        "link": link,
        "named": named,
        "summaries": summaries,
        "pictures": pictures,
        "bars": bars,
        "listed": LISTED,
        "count_by": summaries.count_by,
    }


def render_page(
    environment: jinja2.Environment, page: Page, values: Mapping[str, Any], *, place: str = ""
) -> str:
    """Render one page of PAGES; its address begins with the place in which the pages lie."""
    template = environment.get_template(f"{page.template}.html.jinja")
    return template.render(values, page=page.name, file=f"{place}{page.file}")


@dataclass(frozen=True)
class ShownItem:
    """One item as its page shows it."""

    item: Item
    anchor: str
    body: Markup
    hidden: bool
    """Whether its key is kept back."""
    notes: tuple[str, ...]


def _shown(item: Item, artefacts: Artefacts, shelf: Shelf, *, keyed: bool) -> ShownItem:
    visible = keyed and item.item_id not in artefacts.private_ids
    return ShownItem(
        item=item,
        anchor=shelf.places[item.item_id].partition("#")[2],
        # show_item escapes every text it is given
        body=Markup(show_item(item, keyed=visible)),  # noqa: S704
        hidden=not visible,
        notes=tuple(shelf.notes.get(item.item_id, ())),
    )


def _places(shelves: Sequence[Sequence[Item]]) -> dict[str, str]:
    return {
        item.item_id: f"items-{page}.html#i{place}"
        for page, group in enumerate(shelves, start=1)
        for place, item in enumerate(group, start=1)
    }


def _notes(artefacts: Artefacts) -> dict[str, list[str]]:
    """Collect what the other files say of each item, a sentence each."""
    notes: dict[str, list[str]] = defaultdict(list)
    for item_id, note in _sentences(artefacts):
        notes[item_id].append(note)
    return notes


def _sentences(artefacts: Artefacts) -> Iterator[tuple[str, str]]:
    for finding in artefacts.findings or ():
        if finding.item_id:
            yield finding.item_id, f"{finding.severity} {finding.rule}: {finding.message}"
    if artefacts.duplicates:
        for drop in artefacts.duplicates.dropped:
            as_copy = f" as a copy of {drop.kept_id}" if drop.kept_id else ""
            yield drop.item_id, f"dropped{as_copy}: {drop.reason}"
        yield from ((held.item_id, f"held: {held.reason}") for held in artefacts.duplicates.held)
    picks = artefacts.selection.item_ids if artefacts.selection else ()
    yield from ((item_id, f"selected, pick {place}") for place, item_id in enumerate(picks, start=1))
    for decision in artefacts.decisions or ():
        yield decision.item_id, f"review: {decision.decision}" + (decision.reason and f", {decision.reason}")
    yield from ((figures.item_id, _figures_note(figures)) for figures in artefacts.item_figures or ())


def _figures_note(figures: ItemFigures) -> str:
    tail = "" if figures.discrimination is None else f", discrimination {figures.discrimination:.2f}"
    flag = "; better models miss it, read its key again" if figures.flag_key else ""
    return f"answered right by {figures.p:.0%} of models{tail}{flag}"


@functools.cache
def make_environment(*packages: str) -> jinja2.Environment:
    """Return what fills in templates: those of some packages before those of the report."""
    loaders = [jinja2.PackageLoader(package) for package in (*packages, "kina_build.report")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fig"] = show_figure
    environment.filters["many"] = show_many
    environment.filters["percent"] = show_percent
    return environment


def show_figure(value: float | None, digits: int = 4) -> Markup:
    """Show a number, carrying the exact one along for machines; a dash for none."""
    if value is None:
        return Markup('<span class="none">–</span>')
    text = f"{value:,.{digits}f}" if digits else f"{round(value):,}"
    return Markup('<data value="{}">{}</data>').format(repr(value), text)


def show_percent(value: float | None, digits: int = 1) -> Markup:
    """Show a share as percent, carrying the exact share along for machines."""
    if value is None:
        return Markup('<span class="none">–</span>')
    return Markup('<data value="{}">{}</data>').format(repr(value), f"{100 * value:.{digits}f}\u202f%")


def show_many(count: int, noun: str) -> Markup:
    """Show a count with its noun: 1 item, 2 items."""
    return show_figure(count, 0) + Markup(" {}{}").format(noun, "" if count == 1 else "s")
