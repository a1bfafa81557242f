"""What the desk shows: everything of an item, found by words and facets, and hostile texts as text."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from threading import Event

import pytest
from starlette.testclient import TestClient

from kina_build.desk.app import make_app
from kina_build.desk.bench import Bench, read_bench
from kina_build.desk.state import Desk, NotYet
from kina_build.release import build_release
from kina_build.rows.jsonl import write_records
from tests.desk.flow import HOSTILE, write_desk_flow
from tests.desk.test_guard import HERE, KEY, client
from tests.release.pools import spread

PAGES = (
    *("/", "/items", "/items?q=script", "/items/evil", "/items/fuse-a", "/decide/keys", "/decide/copies"),
    *(
        "/decide/doubts",
        "/decide/findings",
        "/pages/index.html",
        "/pages/pool.html",
        "/pages/duplicates.html",
    ),
    *("/compare", "/compare?one=one&other=two"),
)


class Markup(HTMLParser):
    """Everything in a page that could act."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.acts: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("img", "iframe", "object", "embed", "base"):
            self.acts.append(tag)
        if tag == "script" and given.get("src") != "/static/desk.js":
            self.acts.append("script")
        self.acts += [name for name in given if name.startswith("on") or name == "style"]
        outside = [v for n, v in attrs if n in ("src", "href", "action") and v and ":" in v and v != "data:,"]
        self.acts += outside

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def desk(tmp_path: Path) -> TestClient:
    found = client(write_desk_flow(tmp_path), follow=True)
    found.get(f"/?token={KEY}")
    return found


@pytest.mark.parametrize("path", PAGES)
def test_hostile_texts_stand_there_as_text(desk: TestClient, path: str) -> None:
    answer = desk.get(path)
    assert answer.status_code == 200
    assert Markup(answer.text).acts == []


def test_the_hostile_question_is_read_letter_for_letter(desk: TestClient) -> None:
    assert HOSTILE in Markup(desk.get("/items/evil").text).text
    assert HOSTILE in Markup(desk.get("/decide/keys").text).text, "as the reason of a pair"


def test_items_are_found_by_words_parts_of_words_and_facets(desk: TestClient) -> None:
    def found(query: str) -> list[str]:
        html = desk.get(f"/items?{query}").text.split('<ol class="hits">')[1]
        return [part.split('"')[0] for part in html.split('href="/items/')[1:]]

    assert found("q=heater") == ["fuse-a", "fuse-b"]
    assert found("q=heat+rated") == ["fuse-a", "fuse-b"], "all words, each from its beginning"
    assert found("q=moon") == ["moon"]
    assert found("q=fuse-b") == ["fuse-b"], "by its id"
    assert found("domain=tides") == ["moon"]
    assert found("disagreement=models+agree+against+the+key") == ["fuse-a", "moon"]
    assert found("q=heater&finding=markup+left") == []
    assert len(found("q=")) == 24
    for query in (
        "q=%22",
        "q=*",
        "q=a+OR+b+NEAR(",
        "q=%27%3B+DROP+TABLE+items",
        "page=99",
        "page=x",
        "q=%00",
    ):
        assert desk.get(f"/items?{query}").status_code == 200, query


def test_a_search_in_a_script_without_spaces_looks_inside_the_text(tmp_path: Path) -> None:
    flow = write_desk_flow(tmp_path)
    rows = [json.loads(line) for line in (flow / "pool.jsonl").read_text().splitlines()]
    rows[0]["question"] = "下列哪一项是光合作用的产物？"
    write_records(flow / "pool.jsonl", rows)
    found = client(flow, follow=True)
    html = found.get(f"/items?q=光合作用&token={KEY}").text
    assert f"/items/{rows[0]['item_id']}" in html
    assert "1 item<" in html or "</data> item<" in html


def test_an_item_tells_all_that_is_known_of_it(desk: TestClient) -> None:
    text = Markup(desk.get("/items/fuse-a").text).text
    assert "fuse-b: conflict" in text
    assert "3 of 3 models" in text
    assert "models agree" not in text
    assert "key" in text
    assert desk.get("/items/nobody").status_code == 404


def test_files_that_no_page_shows_are_named(tmp_path: Path) -> None:
    flow = write_desk_flow(tmp_path)
    (flow / "thesis.txt").write_text("mine")
    assert "thesis.txt" in client(flow, follow=True).get(f"/?token={KEY}").text


def test_a_file_written_anew_is_read_anew(tmp_path: Path) -> None:
    flow = write_desk_flow(tmp_path)
    desk = client(flow, follow=True)
    assert "0 of 1 done" in desk.get(f"/?token={KEY}").text
    (flow / "triage.jsonl").unlink()
    assert "Doubtful keys" not in desk.get("/").text
    (flow / "pool.jsonl").write_text("{}\n")
    answer = desk.get("/")
    assert (answer.status_code, "pool.jsonl:1: item_id" in answer.text) == (409, True)


def test_pages_stand_while_files_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flow").mkdir()
    flow, hold = write_desk_flow(tmp_path / "flow"), Event()
    desk = Desk(flow, "A desk", "ann", cache=tmp_path / "cache", patience_s=0)
    browser = TestClient(make_app(desk, KEY, 8000), base_url=HERE)
    assert "have changed" not in browser.get(f"/?token={KEY}").text

    def slow(root: Path) -> Bench:
        hold.wait()
        return read_bench(root)

    monkeypatch.setattr("kina_build.desk.state.read_bench", slow)
    (flow / "triage.jsonl").unlink()
    before = browser.get("/").text
    assert "have changed" in before
    assert "Doubtful keys" in before
    hold.set()
    desk.state(now=True)
    assert "have changed" not in browser.get("/decide/copies").text
    after = browser.get("/").text
    assert "Doubtful keys" not in after
    assert "have changed" not in after


def test_a_life_that_is_not_read_yet_is_waited_for_beside_the_other_pages(tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    flow, hold = write_desk_flow(tmp_path / "flow"), Event()
    for name in ("findings.jsonl", "duplicates.json"):  # only as much of them as pages show
        (flow / name).unlink()
    (flow / "kina.toml").write_text('[project]\nname = "small"\n')
    desk = Desk(flow, "A desk", "ann", cache=tmp_path / "cache", patience_s=0)
    browser = TestClient(make_app(desk, KEY, 8000), base_url=HERE)
    browser.get(f"/?token={KEY}")
    with pytest.raises(NotYet):
        desk.later(hold.wait)
    waiting = browser.get("/life/moon")
    assert 'http-equiv="refresh"' in waiting.text
    assert browser.get("/items/moon").status_code == 200
    hold.set()
    desk.patience_s = None
    assert "What does the moon pull?" in browser.get("/life/moon").text


def test_a_file_that_comes_is_seen(tmp_path: Path) -> None:
    flow = write_desk_flow(tmp_path)
    doubts = (flow / "triage.jsonl").read_bytes()
    (flow / "triage.jsonl").unlink()
    desk = client(flow, follow=True)
    assert "Doubtful keys" not in desk.get(f"/?token={KEY}").text
    (flow / "triage.jsonl").write_bytes(doubts)
    assert "Doubtful keys" in desk.get("/").text


def test_answers_of_a_private_split_are_kept_back(tmp_path: Path) -> None:
    from kina_build.items.pool import write_pool
    from kina_build.release import Request

    items = spread(40)
    write_pool(tmp_path / "pool.jsonl", items)
    build_release(items, request=Request(private=frozenset({"test", "dev"}))).write(tmp_path / "release")
    desk = client(tmp_path, follow=True)
    html = desk.get(f"/items/i1?token={KEY}").text
    assert "kept back" in html
    assert 'class="right' not in html


def test_two_releases_stand_side_by_side(tmp_path: Path) -> None:
    from kina_build.items.pool import write_pool

    items = spread(40)
    write_pool(tmp_path / "pool.jsonl", items)
    build_release(items).write(tmp_path / "release")
    changed = [items[0].model_copy(update={"question": "What is nought?"}), *items[1:]]
    build_release(changed, previous=tmp_path / "release").write(tmp_path / "release-2")
    desk = client(tmp_path, follow=True)
    html = desk.get(f"/compare?old=release&new=release-2&token={KEY}").text
    text = " ".join(Markup(html).text.split())
    assert "1.0.0 → 2.0.0: a major change; scores are not comparable" in text
    assert "another question" in text
    assert '<mark class="word">nought</mark>' in html


def test_a_form_that_is_too_large_is_cut_and_writes_nothing(desk: TestClient) -> None:
    case = desk.get("/decide/keys").url.path
    answer = desk.post(case, content=b"texts=" + b"x" * 200_000, headers={"origin": HERE})
    assert answer.status_code == 409
