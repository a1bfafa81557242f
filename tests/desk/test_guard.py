"""Nobody gets to the desk but who was given the key, and no page of elsewhere can act through a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from kina_build.desk.app import make_app
from kina_build.desk.state import Desk
from tests.desk.flow import write_desk_flow

HERE = "http://127.0.0.1:8000"
KEY = "the-key-of-this-run"


def client(folder: Path, *, read_only: bool = False, follow: bool = False) -> TestClient:
    desk = Desk(folder, "A desk", "ann", read_only, cache=folder / "cache")
    return TestClient(make_app(desk, KEY, 8000), base_url=HERE, follow_redirects=follow)


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    return write_desk_flow(tmp_path)


def test_without_the_key_nothing_is_told(flow: Path) -> None:
    for path in ("/", "/items", "/static/desk.js", "/?token=", "/?token=wrong", "/nowhere"):
        answer = client(flow).get(path)
        assert answer.status_code == 403, path
        assert "fuse" not in answer.text


def test_the_key_becomes_a_strict_cookie_and_leaves_the_address(flow: Path) -> None:
    answer = client(flow).get(f"/items?q=moon&token={KEY}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/items?q=moon")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("kina_desk_8000=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_the_welcome_stays_on_this_server(flow: Path) -> None:
    answer = client(flow).get(f"{HERE}//elsewhere.example/x?token={KEY}")
    assert answer.headers["location"] == "/elsewhere.example/x"


def test_another_host_name_is_refused_although_the_cookie_is_there(flow: Path) -> None:
    desk = client(flow)
    desk.get(f"/?token={KEY}")
    assert desk.get("/").status_code == 200
    for host in ("evil.example:8000", "127.0.0.1:9000", "127.0.0.1", "evil.example", ""):
        assert desk.get("/", headers={"host": host}).status_code == 421, host


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:9000"])
def test_a_form_of_another_page_writes_nothing(flow: Path, origin: str | None) -> None:
    desk = client(flow, follow=True)
    case = desk.get(f"/decide/keys?token={KEY}")
    headers = {"origin": origin} if origin else {}
    answer = desk.post(case.url.path, data={"choice": "1"}, headers=headers)
    assert answer.status_code == 403
    assert not (flow / "decisions").exists()


def test_a_read_only_desk_writes_nothing_and_offers_no_choices(flow: Path) -> None:
    desk = client(flow, read_only=True, follow=True)
    case = desk.get(f"/decide/keys?token={KEY}")
    assert 'data-key="1"' not in case.text
    for path in (case.url.path, "/undo", "/who"):
        assert desk.post(path, data={"choice": "1"}, headers={"origin": HERE}).status_code == 403
    assert not (flow / "decisions").exists()


def test_every_answer_forbids_what_is_not_ours(flow: Path) -> None:
    desk = client(flow, follow=True)
    desk.get(f"/?token={KEY}")
    for path in ("/", "/items/evil", "/pages/duplicates.html", "/static/desk.css", "/nowhere"):
        headers = desk.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_socket_is_closed_at_the_door(flow: Path) -> None:
    desk = client(flow)
    with pytest.raises(WebSocketDisconnect) as closed, desk.websocket_connect("/"):
        pass
    assert closed.value.code == 1008
