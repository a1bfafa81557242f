"""Pages from the files of a flow: complete, exact, safe, self-contained."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from importlib import resources

import pytest

from kina_build.errors import InputError
from kina_build.report.artefacts import Artefacts, read_artefacts
from kina_build.report.find import find_files
from kina_build.report.rows import Payout, PayoutLine
from kina_build.report.site import render_site
from tests.report.flow import HOSTILE, write_flow

LOADS = {"src", "srcset", "data", "poster", "action", "formaction", "background"}


class Reader(HTMLParser):
    """Collects tags, links, and the exact values of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def values(self) -> list[str]:
        return [a["value"] for tag, a in self.tags if tag == "data"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_flow(tmp_path_factory.mktemp("flow"))


@pytest.fixture(scope="module")
def site(folder):
    return render_site(read_artefacts(find_files(folder).files), title="Small flow")


def test_a_page_for_each_part_that_is_there(site):
    assert sorted(site) == [
        "index.html",
        "items-1.html",
        "items-2.html",
        "leaderboard.html",
        "pool.html",
        "review.html",
        "search.html",
    ]


def test_nothing_at_all_is_still_a_page():
    assert list(render_site(Artefacts(), title="Empty")) == ["index.html"]


def test_no_page_loads_anything_and_the_search_page_alone_runs_its_own_script(site):
    for name, html in site.items():
        for tag, attributes in Reader(html).tags:
            assert tag not in {"iframe", "object", "embed"}, name
            assert tag != "script" or name == "search.html", name
            assert tag != "form" or attributes.get("action", "search.html") == "search.html", name
            assert not LOADS & set(attributes) - ({"action"} if tag == "form" else set()), (name, tag)
            assert not [a for a in attributes if a.startswith("on")], (name, tag)
            target = attributes.get("href") or ""
            assert not target.startswith(("http:", "https:", "//")), (name, target)
        assert "@import" not in html
        assert "url(" not in html


def test_every_link_leads_somewhere(site):
    ids = {name: {a["id"] for _, a in Reader(html).tags if "id" in a} for name, html in site.items()}
    for name, html in site.items():
        for tag, attributes in Reader(html).tags:
            if tag == "a":
                page, _, anchor = attributes["href"].partition("#")
                assert (page or name) in site
                assert not anchor or anchor in ids[page or name]


def test_what_people_wrote_is_shown_and_never_run(site):
    for html in site.values():
        assert "<img" not in html
    assert "&lt;script&gt;alert(" in site["items-2.html"]
    assert "&lt;script&gt;alert(" in site["pool.html"]


def test_formulas_become_mathml(site):
    assert site["items-2.html"].count("<math") == 2
    assert "<mfrac>" in site["items-2.html"]


def test_the_standings_are_the_jsons_to_the_last_digit(site, folder):
    board = json.loads((folder / "leaderboard.json").read_text())
    table = site["leaderboard.html"].partition('id="standings"')[2].partition("</table>")[0]
    shown = iter(Reader(table).values())
    for standing in board["standings"]:
        for key in (
            "tier", "accuracy", "low", "high", "rank", "rank_low", "rank_high", "rank_low_simultaneous",
            "rank_high_simultaneous", "rank_percentile_low", "rank_percentile_high",
        ):  # fmt: skip
            assert next(shown) == repr(standing[key]), (standing["model"], key)
    assert next(shown, None) is None


def test_every_value_carried_on_the_leaderboard_page_is_in_the_json(site, folder):
    board = json.loads((folder / "leaderboard.json").read_text())

    def leaves(value):
        if isinstance(value, dict):
            return {leaf for inner in value.values() for leaf in leaves(inner)}
        if isinstance(value, list):
            return {leaf for inner in value for leaf in leaves(inner)} | {repr(len(value))}
        return {repr(value)}

    distinct = [p for p in board["pairs"] if p["p_next_holm"] is not None and p["distinct"]]
    places = {repr(n) for n in range(1, 5)}
    allowed = leaves(board) | {repr(len(distinct)), "3"} | places
    assert set(Reader(site["leaderboard.html"]).values()) <= allowed


def test_no_reviewer_is_named(site):
    assert "reviewer-secret" not in "".join(site.values())
    assert "tied at or above the bar" in site["review.html"]


def test_totals_of_the_ledger_are_shown(folder):
    payout = Payout(
        currency="USD", totals=(PayoutLine(kind="bonus", lines=3, amount="12.50"),), head="head:3"
    )
    html = render_site(read_artefacts(find_files(folder).files, payout), title="x")["review.html"]
    assert '<data value="12.50">12.50</data>' in html


def key_shown(html, item_id):
    body = html.partition(f"<h2>{item_id}</h2>")[2].partition("</article>")[0]
    return 'class="right"' in body


def test_answers_of_a_private_split_stay_private(kina, tmp_path):
    demo = (resources.files("kina_build") / "data" / "pool.csv").read_text().splitlines()
    (tmp_path / "pool.csv").write_text("\n".join(demo[:41]))
    assert kina("import", "pool.csv", "-o", "pool.jsonl").exit_code == 0
    out = kina("export", "pool.jsonl", "-o", "release", "--private", "test")
    assert out.exit_code == 0, out.stderr
    site = render_site(read_artefacts(find_files(tmp_path).files), title="x")
    pages = "".join(html for name, html in site.items() if name.startswith("items-"))
    for split, shown in (("test", False), ("dev", True)):
        rows = (tmp_path / "release" / f"{split}.jsonl").read_text().splitlines()
        assert rows
        assert {key_shown(pages, json.loads(row)["id"]) for row in rows} == {shown}
    assert "kept apart" in site["release.html"]


def test_all_answers_stay_private_on_request(folder):
    site = render_site(read_artefacts(find_files(folder).files), title="x", keyed=False)
    assert 'class="right"' not in site["items-1.html"] + site["items-2.html"]


def test_notes_of_all_rooms_meet_on_the_item(site):
    body = site["items-1.html"].partition("<h2>q02</h2>")[2].partition("</article>")[0]
    assert "review: reject, wrong_key" in body
    assert re.search(r"answered right by \d+% of models", body)


def test_equal_inputs_give_equal_bytes(folder, site):
    assert render_site(read_artefacts(find_files(folder).files), title="Small flow") == site


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("findings.jsonl", '{"item_id": "q1"}', "findings.jsonl:1: rule: Field required"),
        ("leaderboard.json", "{}", "leaderboard.json: standings: Field required"),
        ("certificate.json", "[]", "certificate.json: not a JSON object"),
        ("duplicates.json", '{"kept": 3}', "duplicates.json: kept: Input should be a valid"),
        ("decisions.jsonl", "{", "decisions.jsonl:1: column"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_artefacts(find_files(tmp_path).files)


def test_an_empty_list_of_findings_is_good_news(tmp_path):
    (tmp_path / "findings.jsonl").write_text("")
    site = render_site(read_artefacts(find_files(tmp_path).files), title="x")
    assert "The check found nothing to object to." in site["pool.html"]


def test_the_policy_of_the_search_page_names_its_script_and_nothing_else(site):
    html = site["search.html"]
    script = html.rpartition("<script>")[2].partition("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert html.count("<script") == 2


def test_the_index_holds_every_item_and_no_key(site):
    index = site["search.html"].partition('id="index">')[2].partition("</script>")[0]
    rows = json.loads(index)
    assert len(rows) == 60
    assert "<" not in index
    by_id = {row[0]: row for row in rows}
    assert by_id["q03"][1] == "items-1.html#i4"
    assert by_id["q59"][2] == HOSTILE
    assert {len(row) for row in rows} == {6}
