"""The report in a real browser: quiet, closed to the outside, exact, on phones and in the dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.report.artefacts import read_artefacts
from kina_build.report.find import find_files
from kina_build.report.folder import write_site
from kina_build.report.site import render_site
from tests.live.browser import Browser, browser
from tests.report.flow import write_flow

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

__all__ = ["browser"]

CONTRAST = """
const luminance = c => {
  const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = e => {
  for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c)) return c;
  }
  return 'rgb(255, 255, 255)';
};
return [...document.querySelectorAll('main *')]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.checkVisibility())
  .map(e => {
    const [one, other] = [getComputedStyle(e).color, ground(e)].map(luminance);
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    return {text: e.textContent.trim().slice(0, 40), ratio};
  })
  .filter(found => found.ratio < 4.5);
"""
"""Texts whose contrast is below 4.5 to 1 (WCAG 2.2, level AA)."""

OVERFLOW = """
return [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest('.scroll, math')).map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40));
"""


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_flow(tmp_path_factory.mktemp("flow"))


@pytest.fixture(scope="module")
def pages(flow: Path) -> list[Path]:
    target = flow / "report"
    write_site(target, render_site(read_artefacts(find_files(flow).files), title="Small flow"))
    return sorted(target.glob("*.html"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_is_quiet_closed_and_readable(
    browser: Browser, pages: list[Path], tmp_path: Path, width: int, dark: bool
) -> None:
    for page in pages:
        browser.show(page.as_uri(), width=width, dark=dark)
        assert browser.complaints() == [], page.name
        assert [a for a in browser.requests() if not a.startswith(("file:", "data:"))] == [], page.name
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), page.name
        assert browser.run(OVERFLOW) == [], page.name
        assert browser.run(CONTRAST) == [], page.name
        assert browser.barriers() == [], page.name
        browser.screenshot(tmp_path / f"{page.stem}-{width}.png", whole=True)


def test_dark_is_dark_and_light_is_light(browser: Browser, pages: list[Path]) -> None:
    grounds = []
    for dark in (False, True):
        browser.show(pages[0].as_uri(), dark=dark)
        grounds.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(253, 253, 252)", "rgb(21, 23, 26)"]


def test_the_figures_people_read_are_the_jsons(browser: Browser, flow: Path, pages: list[Path]) -> None:
    board = json.loads((flow / "leaderboard.json").read_text())
    browser.show((flow / "report" / "leaderboard.html").as_uri())
    read = browser.run(
        "return [...document.querySelectorAll('#standings tbody tr')]"
        ".map(r => [...r.children].map(c => c.innerText))"
    )
    assert [row[0] for row in read] == [s["model"] for s in board["standings"]]
    for row, s in zip(read, board["standings"], strict=True):
        assert row[1:6] == [
            str(s["tier"]), f"{s['accuracy']:.4f}", f"{s['low']:.4f}", f"{s['high']:.4f}", str(s["rank"]),
        ]  # fmt: skip
        assert row[6] == f"{s['rank_low']} – {s['rank_high']}"
        assert row[7] == f"{s['rank_low_simultaneous']} – {s['rank_high_simultaneous']}"


def test_bars_are_as_long_as_their_intervals(browser: Browser, flow: Path, pages: list[Path]) -> None:
    board = json.loads((flow / "leaderboard.json").read_text())
    browser.show((flow / "report" / "leaderboard.html").as_uri())
    drawn = browser.run(
        "return [...document.querySelector('figure').querySelectorAll('line.inner')]"
        ".map(l => l.x2.baseVal.value - l.x1.baseVal.value)"
    )
    meant = [s["high"] - s["low"] for s in board["standings"]]
    assert [d / drawn[0] for d in drawn] == pytest.approx([m / meant[0] for m in meant], rel=1e-3)


def test_formulas_are_laid_out(browser: Browser, flow: Path, pages: list[Path]) -> None:
    browser.show((flow / "report" / "items-2.html").as_uri(), width=390)
    tall, line = browser.run(
        "const f = document.querySelector('mfrac').getBoundingClientRect();"
        "return [f.height, document.querySelector('mn').getBoundingClientRect().height]"
    )
    assert tall > 1.5 * line


def test_the_search_page_finds_by_words_without_accents_and_leads_to_the_item(
    browser: Browser, pages: list[Path]
) -> None:
    search = next(page for page in pages if page.name == "search.html")
    browser.show(f"{search.as_uri()}?q=question%207")
    shown = "return [...document.querySelectorAll('#hits a')].map(a => a.textContent)"
    assert browser.run(shown) == ["q07"]
    assert browser.run("return document.getElementById('said').textContent") == "1 item"
    browser.run("document.querySelector('#hits a').click()")
    assert browser.driver.current_url.endswith("items-1.html#i8")
    browser.show(f"{search.as_uri()}?q=script")
    assert browser.run(shown) == ["q59"]
    assert browser.run("return document.querySelectorAll('#hits script, #hits img').length") == 0


def test_it_prints(browser: Browser, flow: Path, pages: list[Path]) -> None:
    browser.show((flow / "report" / "leaderboard.html").as_uri(), dark=True)
    assert browser.print_pdf().startswith(b"%PDF")
