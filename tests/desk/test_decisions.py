"""Decisions: written at once, each once, taken back by another line, asked again where texts changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kina_build.desk.queues import _right_letter
from kina_build.project.decisions import read_rulings
from kina_build.rows.jsonl import write_records
from kina_build.rows.source import reading
from tests.desk.flow import item, write_desk_flow
from tests.desk.test_guard import HERE, KEY, client

ORIGIN = {"origin": HERE}


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    return write_desk_flow(tmp_path)


@pytest.fixture
def desk(flow: Path) -> Iterator[TestClient]:
    with reading(), reading(remembers=False):  # as the server has it within the command
        found = client(flow, follow=True)
        found.get(f"/?token={KEY}")
        yield found


def written(flow: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted((flow / "decisions").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def choose(desk: TestClient, queue: str, choice: str, *, path: str = "", **more: str) -> Any:
    page = desk.get(path or f"/decide/{queue}")
    texts = re.findall(r'name="texts" value="(\w+)"', page.text)[0]
    return desk.post(page.url.path, data={"choice": choice, "texts": texts, **more}, headers=ORIGIN)


def test_one_question_keep_the_left_one(desk: TestClient, flow: Path) -> None:
    answer = choose(desk, "keys", "2", reason="the same fuse")
    assert answer.url.path == "/decide", "nothing is left in this queue"
    rows = written(flow)
    assert [(row["kind"], row["subject"], row["verdict"], row["who"]) for row in rows] == [
        ("item", ["fuse-a"], "keep", "ann"),
        ("pair", ["fuse-a", "fuse-b"], "same", "ann"),
    ]
    assert {row["reason"] for row in rows} == {"the same fuse"}
    assert (flow / "decisions" / "pair-ann.jsonl").exists()
    assert "Decided: ann: One question, keep L" in desk.get("/decide/keys").text
    overrides = read_rulings(flow).overrides
    assert [(one.decision, one.item_id) for one in overrides] == [("keep", "fuse-a"), ("same", "fuse-a")]


def test_a_wrong_key_names_the_right_letter_by_what_the_other_says(desk: TestClient, flow: Path) -> None:
    choose(desk, "keys", "4")
    (row,) = written(flow)
    assert (row["kind"], row["subject"], row["verdict"], row["letter"]) == ("key", ["fuse-a"], "wrong", "B")


def test_a_right_letter_is_named_only_where_the_text_is_the_same() -> None:
    left = item("l", "?", ("15.2 kJ", "15.4 kJ", "10 kJ"), "A")
    assert _right_letter(left, item("r", "?", ("10  KJ", "15.2 kJ"), "A")) == "C"
    assert _right_letter(left, item("r", "?", ("15.3 kJ", "15.2 kJ"), "A")) is None
    assert _right_letter(left, item("r", "?", ("15.2 kJ", "10 kJ"), "A")) is None


def test_the_queue_goes_on_to_the_next_open_case(desk: TestClient, flow: Path) -> None:
    seen = []
    for choice in "12312":
        page = desk.get("/decide/copies")
        seen.append(page.url.path)
        choose(desk, "copies", choice)
    assert len(set(seen)) == 5
    assert "5 of 10 decided" in desk.get("/decide/copies").text


def test_the_same_decision_sent_twice_is_written_once(desk: TestClient, flow: Path) -> None:
    page = desk.get("/decide/keys").url.path
    choose(desk, "keys", "1", path=page)
    choose(desk, "keys", "1", path=page)
    assert len(written(flow)) == 1
    choose(desk, "keys", "2", path=page)
    assert "ann: One question, keep L" in desk.get(page).text, "a later word replaces an earlier one"


def test_undo_takes_back_the_last_choice_whole_and_goes_to_its_case(desk: TestClient, flow: Path) -> None:
    choose(desk, "copies", "1")
    page = desk.get("/decide/keys").url.path
    choose(desk, "keys", "2")
    back = desk.post("/undo", headers=ORIGIN)
    assert back.url.path == page
    assert "0 of 1 decided" in back.text
    assert [one.kind for one in read_rulings(flow).holding] == ["pair"], "the earlier choice holds"
    desk.post("/undo", headers=ORIGIN)
    assert read_rulings(flow).holding == ()
    assert desk.post("/undo", headers=ORIGIN).status_code == 200, "nothing is left to take back"
    assert len(written(flow)) == 6, "append-only: three lines, and three that take them back"


def test_undo_of_one_person_leaves_the_others_word(desk: TestClient, flow: Path) -> None:
    page = desk.get("/decide/keys").url.path
    choose(desk, "keys", "1")
    desk.post("/who", data={"who": "Bob ", "back": page}, headers=ORIGIN)
    choose(desk, "keys", "1", path=page)
    assert "ann: Two questions; bob: Two questions" in desk.get(page).text
    desk.post("/undo", headers=ORIGIN)
    assert "Decided: ann: Two questions<" in desk.get(page).text


@pytest.mark.parametrize("who", ["../ann", "", "Ann Lee", "ann\n"[:0]])
def test_a_name_that_cannot_stand_in_a_file_is_refused(desk: TestClient, who: str) -> None:
    assert desk.post("/who", data={"who": who, "back": "/"}, headers=ORIGIN).status_code == 400


def test_the_way_back_stays_on_this_server(desk: TestClient) -> None:
    desk.follow_redirects = False
    for back in ("https://evil.example/", "//evil.example/", "/\\evil.example"):
        answer = desk.post("/who", data={"who": "bob", "back": back}, headers=ORIGIN)
        assert answer.headers["location"] == "/"


def test_a_decision_on_texts_that_changed_meanwhile_is_not_taken(desk: TestClient, flow: Path) -> None:
    page = desk.get("/decide/doubts")
    texts = re.findall(r'name="texts" value="(\w+)"', page.text)[0]
    rows = [json.loads(line) for line in (flow / "pool.jsonl").read_text().splitlines()]
    moon = next(row for row in rows if row["item_id"] == "moon")
    moon["question"] = "What does the moon push?"
    write_records(flow / "pool.jsonl", rows)
    answer = desk.post(page.url.path, data={"choice": "1", "texts": texts}, headers=ORIGIN)
    assert answer.status_code == 409
    assert "look again" in answer.text
    assert not (flow / "decisions").exists()


def test_a_decision_on_earlier_texts_is_asked_again(desk: TestClient, flow: Path) -> None:
    choose(desk, "doubts", "2")
    assert "1 of 1 decided" in desk.get("/decide/doubts").text
    rows = [json.loads(line) for line in (flow / "pool.jsonl").read_text().splitlines()]
    next(row for row in rows if row["item_id"] == "moon")["question"] = "What does the moon push?"
    write_records(flow / "pool.jsonl", rows)
    assert "0 of 1 decided" in desk.get("/decide/doubts").text


def test_a_finding_is_accepted_under_its_rule(desk: TestClient, flow: Path) -> None:
    choose(desk, "findings", "1")
    (row,) = written(flow)
    assert (row["kind"], row["subject"], row["verdict"]) == ("finding", ["evil", "markup_left"], "fine")
    choose(desk, "findings", "3", path=desk.get("/decide/findings").url.path)
    assert [o.decision for o in read_rulings(flow).overrides] == ["drop"]


def test_what_nobody_offered_is_refused(desk: TestClient, flow: Path) -> None:
    page = desk.get("/decide/keys").url.path
    assert choose(desk, "keys", "9").status_code == 400
    assert desk.post(f"{page}x", data={"choice": "1"}, headers=ORIGIN).status_code == 409
    assert not (flow / "decisions").exists()


def test_a_torn_line_is_said_and_nothing_is_written_behind_it(desk: TestClient, flow: Path) -> None:
    choose(desk, "keys", "1")
    path = flow / "decisions" / "pair-ann.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    answer = desk.get("/decide/keys")
    assert (answer.status_code, "pair-ann.jsonl" in answer.text) == (409, True)
