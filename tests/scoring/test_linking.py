"""From names to Wikidata items: tables, keywords, cases decided by hand, a model's choice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from typer.testing import Result

from kina_build.chat import ChatReply
from kina_build.config import ChatRules
from kina_build.errors import InputError
from kina_build.scoring.triples.searches import SearchCache
from kina_build.scoring.triples.wikidata import (
    LiveClient,
    OfflineClient,
    ask_for_link,
    choose_link,
    link_name,
)
from tests.servers import nobody

TABLE = OfflineClient(
    [
        ("Georgia", "Q1428", "state of the United States"),
        ("Georgia", "Q230", "country"),
        ("Kia", "Q35349", "maker"),
    ]
)


def test_the_first_hit_is_the_baseline() -> None:
    assert link_name("georgia", TABLE).target == "Q1428"
    assert (link_name("KIA", TABLE).target, link_name("KIA", TABLE).method) == ("Q35349", "only")


def test_a_keyword_of_the_description_wins_over_the_order() -> None:
    linked = link_name("Georgia", TABLE, keywords=["Country"])
    assert (linked.target, linked.method) == ("Q230", "keyword")


def test_a_case_decided_by_hand_wins_over_all() -> None:
    assert link_name("Georgia", TABLE, keywords=["country"], fixed={"georgia": "Q9"}).target == "Q9"


@pytest.mark.parametrize("name", ["", "12", "-3.5", "Nowhere"])
def test_what_cannot_be_linked_stays_as_it_is(name: str) -> None:
    assert (link_name(name, TABLE).target, link_name(name, TABLE).method) == (name, "none")


@pytest.mark.parametrize(
    ("text", "target"), [("Answer: B", "Q230"), ("No idea.", "Q1428"), ("Answer: F", "Q1428")]
)
def test_a_model_chooses_among_the_candidates(text: str, target: str) -> None:
    link = link_name("Georgia", TABLE)
    request = ask_for_link(link, "Armenia", "CountryBordersCountry", "m")
    assert "B: Georgia (country)" in request.messages[0]["content"]
    assert choose_link(link, ChatReply(key="k", status="ok", text=text)).target == target


@pytest.mark.real
def test_aliases_of_the_public_file_are_found(shared: Path) -> None:
    rows = json.loads((shared / "lmkbc" / "derived.alias_pairs.json").read_text(encoding="utf-8"))
    client = OfflineClient([(name, qid, "") for _, name, _, qid in rows])
    found = [link_name(name, client).target == qid for _, name, _, qid in rows]
    assert sum(found) >= 0.95 * len(found)


def test_a_client_that_cannot_reach_wikidata_says_so() -> None:
    with nobody() as url, pytest.raises(InputError, match="did not answer the search for 'Kia'"):
        LiveClient(url=url, timeout_s=2, rules=ChatRules(attempts=2, backoff_s=0)).search("Kia")


@pytest.mark.parametrize(
    ("keyword", "wrong", "right"),
    [
        ("river", "racing driver from Bremen", "river in Germany"),
        ("art", "political party", "art on a wall"),
        ("king", "parking garage", "king of Norway"),
        ("river", "town", "one of the rivers of Hesse"),
        ("市", "河流", "中国的城市"),
    ],
)
def test_a_keyword_is_a_word(keyword: str, wrong: str, right: str) -> None:
    client = OfflineClient([("N", "Q1", wrong), ("N", "Q2", right)])
    assert link_name("N", client, keywords=[keyword]).target == "Q2"


def test_a_number_is_linked_where_a_table_names_it() -> None:
    assert link_name("2046", OfflineClient([("2046", "Q903", "film")])).target == "Q903"


def test_a_busy_search_is_tried_again_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    answers = iter(
        [
            (429, {}, {"Retry-After": "3"}),
            (200, {"error": {"code": "maxlag", "info": "6 s behind"}}, {"Retry-After": "5"}),
            (200, {"search": [{"id": "Q1", "label": "Kia"}]}, {}),
        ]
    )

    def get(url: str, **_more: object) -> httpx.Response:
        code, body, headers = next(answers)
        return httpx.Response(code, json=body, headers=headers, request=httpx.Request("GET", url))

    monkeypatch.setattr("httpx.get", get)
    path = tmp_path / "kept.jsonl"
    found = LiveClient(cache=SearchCache(path)).search("Kia")
    assert ([one.qid for one in found], pauses) == (["Q1"], [3.0, 5.0])
    path.write_bytes(path.read_bytes() + b'{"url": "torn')
    assert LiveClient(cache=SearchCache(path)).search("Kia") == found
    with pytest.raises(StopIteration):
        LiveClient(cache=SearchCache(path)).search("Tata")


def test_a_file_of_something_else_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"b": 2}\n')
    with pytest.raises(InputError, match="x.jsonl:1: not a kept search"):
        SearchCache(tmp_path / "x.jsonl")


def test_command(kina: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("name,qid,description\nGeorgia,Q1428,state\nGeorgia,Q230,country\n")
    (tmp_path / "keywords.csv").write_text("relation,keyword\nBorders,country\n")
    row = {"SubjectEntity": "Armenia", "Relation": "Borders", "ObjectEntities": ["Georgia", "Atlantis"]}
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    result = kina(
        "link", "p.jsonl", "--names", "names.csv", "--keywords", "keywords.csv", "-o", "l.jsonl", "--json"
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["methods"] == {"keyword": 1, "none": 1}
    assert json.loads((tmp_path / "l.jsonl").read_text())["ObjectEntitiesID"] == ["Q230", "Atlantis"]
    missing = kina("link", "none.jsonl", "--names", "names.csv", "-o", "l.jsonl")
    assert (missing.exit_code, "none.jsonl: no such file" in missing.stderr) == (2, True)
    both = kina("link", "p.jsonl", "--names", "names.csv", "--cache", "c.jsonl", "-o", "l.jsonl")
    assert (both.exit_code, "nothing is asked" in both.stderr) == (2, True)
