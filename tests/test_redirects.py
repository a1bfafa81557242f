"""No client hands prompts, labels or keys on to the host that a redirect names."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kina_build.errors import ConfigError, InputError
from kina_build.scoring.triples.wikidata import LiveClient
from kina_review.desk.labelstudio import DeskServer, probe


@contextmanager
def answering(places: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Serve a redirect for each path of a table, a JSON object for others; yield the URL and paths asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked.append(path)
            body = json.dumps({"release": "1.0", "search": [], "email": "a@b.c", "id": 1}).encode()
            self.send_response(302 if path in places else 200)
            if path in places:
                self.send_header("Location", places[path])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815  the server's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def test_the_desk_is_not_looked_for_elsewhere() -> None:
    with answering({}) as (stranger, asked), answering({"/api/version": stranger}) as (url, _):
        with pytest.raises(ConfigError, match=f"{url}: redirects to {stranger}"):
            probe(url)
        assert asked == []


def test_the_token_goes_to_the_desk_only() -> None:
    with answering({}) as (stranger, asked):
        everything = {"/api/token/refresh/", "/api/token/refresh", "/api/current-user/whoami"}
        with answering(dict.fromkeys(everything, f"{stranger}/x")) as (url, _):
            with pytest.raises(ConfigError, match=f"{url}: redirects to {stranger}"):
                DeskServer(url, "0123456789abcdef")
            assert asked == []


def test_names_are_looked_up_at_wikidata_only() -> None:
    with answering({}) as (stranger, asked), answering({"/api": stranger}) as (url, _):
        with pytest.raises(InputError, match=f"302.*{stranger}") as refused:
            LiveClient(url=f"{url}/api").search("Rhine")
        assert "\n" not in refused.value.message
        assert asked == []
