"""The workbench in a real browser: ten cases by keyboard, a killed server, hostile texts, phones, dark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.desk.flow import HOSTILE, write_desk_flow
from tests.desk.test_compare import GERMAN, NAMED, TOML
from tests.live.browser import Browser, browser
from tests.live.test_report_browser import CONTRAST, OVERFLOW

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = (
    *("/", "/items", "/items?q=star", "/items/evil", "/items/fuse-a", "/decide/keys", "/decide/copies"),
    *("/decide/doubts", "/decide/findings", "/compare?one=one&other=two", "/pages/duplicates.html"),
)


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    return write_desk_flow(tmp_path)


@contextmanager
def server(flow: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `kina desk` over a folder; yield its process and the first address."""
    command = [sys.executable, "-m", "kina_build.cli.main", "desk", str(flow), "--who", "ann", *more]
    cache = {"XDG_CACHE_HOME": str(flow / "cache")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | cache
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def at(address: str, path: str) -> str:
    """Return the address of a page, with the key."""
    parts = urlsplit(address)
    key = parse_qs(parts.query)["token"][0]
    return f"{parts.scheme}://{parts.netloc}{path}{'&' if '?' in path else '?'}token={key}"


def press(browser: Browser, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser.driver).send_keys(key).perform()


def wait(browser: Browser, holds: Callable[[], bool]) -> None:
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser.driver, 300, ignored_exceptions=(WebDriverException,)).until(lambda _: holds())


def decided(browser: Browser) -> str:
    return str(browser.run("return document.querySelector('#progress')?.textContent ?? document.title"))


def rows(flow: Path) -> list[dict[str, object]]:
    paths = sorted((flow / "decisions").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def decide(browser: Browser, count: int, start: int) -> None:
    """Press 1 for each case, and wait until the page says that it is decided."""
    for n in range(start + 1, start + count + 1):
        press(browser, "1")
        wait(browser, lambda n=n: decided(browser).startswith(f"{n} of") or "Desk" in decided(browser))  # type: ignore[misc]


def test_ten_cases_by_keyboard_with_the_server_killed_in_the_middle(browser: Browser, flow: Path) -> None:
    with server(flow) as (process, address):
        browser.show(at(address, "/decide/copies"))
        assert decided(browser) == "0 of 10 decided"
        decide(browser, 5, 0)
        press(browser, "1")  # whether this one was written nobody knows: the server dies under it
        process.send_signal(signal.SIGKILL)
        process.wait()
    written = len(rows(flow))
    assert written in (5, 6)
    with server(flow) as (_, address):
        browser.show(at(address, "/decide/copies"))
        assert decided(browser) == f"{written} of 10 decided"
        decide(browser, 10 - written, written)
    found = rows(flow)
    assert len(found) == 10
    assert len({tuple(row["subject"]) for row in found}) == 10  # type: ignore[arg-type]
    assert {row["verdict"] for row in found} == {"different"}


def test_keys_move_through_the_queue_and_take_back(browser: Browser, flow: Path) -> None:
    with server(flow) as (_, address):
        browser.show(at(address, "/decide/copies"))
        first = browser.driver.current_url
        press(browser, "j")
        wait(browser, lambda: browser.driver.current_url != first)
        press(browser, "k")
        wait(browser, lambda: browser.driver.current_url == first)
        press(browser, "2")
        wait(browser, lambda: decided(browser) == "1 of 10 decided")
        press(browser, "u")
        wait(browser, lambda: decided(browser) == "0 of 10 decided")
        assert browser.driver.current_url == first
        press(browser, "/")
        press(browser, "1 of my reasons")
        assert decided(browser) == "0 of 10 decided", "letters in a field are no choices"


def test_two_people_decide_at_once_and_both_are_kept(browser: Browser, flow: Path) -> None:
    with server(flow) as (_, address):
        browser.show(at(address, "/decide/copies"))
        base = address.partition("/?")[0]
        with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True) as bob:
            bob.get(at(address, "/"))
            bob.post("/who", data={"who": "bob", "back": "/"})
            for n in range(1, 11):
                press(browser, "1")
                page = bob.get("/decide/copies")
                if "/decide/copies/" in str(page.url):
                    texts = page.text.partition('name="texts" value="')[2].partition('"')[0]
                    bob.post(str(page.url), data={"choice": "1", "texts": texts})
                wait(browser, lambda n=n: "Desk" in decided(browser) or int(decided(browser).split()[0]) >= n)  # type: ignore[misc]
    seen = {tuple(row["subject"]) for row in rows(flow)}  # type: ignore[arg-type]
    assert len(seen) == 10
    pairs = [(row["who"], *row["subject"]) for row in rows(flow)]  # type: ignore[misc]
    assert len(pairs) == len(set(pairs)), "nobody's word stands twice"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_is_quiet_closed_and_readable(
    browser: Browser, flow: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    with server(flow) as (_, address):
        own = address.partition("?")[0]
        for n, path in enumerate(PAGES):
            browser.show(at(address, path), width=width, dark=dark)
            assert browser.complaints() == [], path
            assert [a for a in browser.requests() if not a.startswith((own, "data:"))] == [], path
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), path
            assert browser.run(OVERFLOW.replace(".scroll, math", ".scroll, math, .queue")) == [], path
            assert browser.run(CONTRAST) == [], path
            assert browser.barriers() == [], path
            browser.screenshot(tmp_path / f"desk-{n}-{width}.png", whole=True)


def test_a_hostile_pool_shows_as_text(browser: Browser, flow: Path) -> None:
    with server(flow) as (_, address):
        for path in ("/items/evil", "/decide/findings", "/decide/keys", "/items?q=script"):
            browser.show(at(address, path))
            assert browser.run("return document.querySelectorAll('main script, main img').length") == 0, path
            assert browser.run("return document.body.innerText.includes(arguments[0])", HOSTILE[:25]), path
            assert browser.complaints() == [], path


def test_the_columns_of_a_file_that_was_not_understood_are_named_by_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "fragen.csv").write_text(GERMAN)
    (tmp_path / "kina.toml").write_text(TOML)
    build = [sys.executable, "-m", "kina_build.cli.main", "build", "import", "-q"]
    assert subprocess.run(build, cwd=tmp_path, check=False, capture_output=True).returncode == 1
    with server(tmp_path) as (_, address):
        browser.show(at(address, "/columns/fragen.csv"))
        assert browser.complaints() == browser.barriers() == []
        for place, field in NAMED.items():
            browser.run("document.getElementById(arguments[0]).value = arguments[1]", place, field)
        press(browser, "t")
        wait(browser, lambda: "are read so" in browser.run("return document.body.innerText"))
        assert not (tmp_path / "decisions").exists()
        press(browser, "1")
        wait(browser, lambda: "kina build reads it" in browser.run("return document.body.innerText"))
    assert subprocess.run(build, cwd=tmp_path, check=False, capture_output=True).returncode == 0
