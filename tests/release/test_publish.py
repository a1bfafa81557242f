"""What goes to the hub is made ready offline; the hub here is a stub on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import Result

from kina_build.errors import InputError, UsageError
from kina_build.release import Request, build_release
from kina_build.release.publish import check_repository, make_ready, upload
from tests.release.pools import spread

Kina = Callable[..., Result]


class Hub(BaseHTTPRequestHandler):
    """The few answers of the hub that an upload needs."""

    calls: ClassVar[list[str]] = []
    held: ClassVar[dict[str, bytes]] = {}
    refuses: ClassVar[bool] = False

    @property
    def place(self) -> str:
        return f"http://{self.headers['host']}/datasets/lab/demo"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        type(self).calls.append(self.path)
        if type(self).refuses:
            self._answer(403, {"error": "Forbidden"})
        elif "/preupload/" in self.path:
            plain = {"uploadMode": "regular", "shouldIgnore": False}
            self._answer(200, {"files": [{"path": f["path"]} | plain for f in json.loads(body)["files"]]})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                row = json.loads(line)
                if row["key"] == "file":
                    type(self).held[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            self._answer(200, {"commitUrl": f"{self.place}/commit/1", "commitOid": "1", "success": True})
        else:
            self._answer(200, {"url": self.place, "name": "lab/demo"})

    def do_GET(self) -> None:
        type(self).calls.append(self.path)
        self._answer(200, {"sha": "0", "id": "lab/demo", "siblings": []})

    def _answer(self, status: int, told: dict[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Hub.calls, Hub.held, Hub.refuses = [], {}, False
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_folder_holds_the_release_and_nothing_that_lies_beside_it(kina: Kina, tmp_path: Path) -> None:
    build_release(spread(40), request=Request(private=frozenset({"test"}))).write(tmp_path / "release")
    (tmp_path / "release" / ".git").mkdir()
    (tmp_path / "release" / ".git" / "config").write_text("mine")
    done = kina("publish", "release", "-o", "out", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    copied = files(tmp_path / "out")
    assert copied == {n: b for n, b in files(tmp_path / "release").items() if not n.startswith(".git/")}
    assert told["files"] == {name: len(content) for name, content in copied.items()}
    assert told["uploaded"] is None
    points = {point["what"]: point["done"] for point in told["checklist"]}
    assert points["the answers of test stay with you: keep their file, and publish it nowhere"] is False
    assert points["nobody to cite: `kina export --creator` states it"] is False
    assert points["no question holds personal data"] is False
    text = (tmp_path / "out.checklist.md").read_text()
    assert "- [ ] no question holds personal data" in text
    assert "- [x] the release is as it says" in text
    assert "up to date" in kina("publish", "release", "-o", "out").stderr


def test_a_release_that_does_not_hold_is_not_made_ready(kina: Kina, tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "release")
    (tmp_path / "release" / "README.md").write_text("better")
    refused = kina("publish", "release", "-o", "out")
    assert (refused.exit_code, "is not as it says" in refused.stderr) == (1, True)
    assert not (tmp_path / "out").exists()


def test_neither_the_release_nor_a_strangers_folder_is_written_over(kina: Kina, tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "release")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    before = files(tmp_path)
    assert kina("publish", "release", "-o", "release").exit_code == 2
    assert kina("publish", "release", "-o", "mine").exit_code == 2
    assert files(tmp_path) == before


def test_what_is_uploaded_is_the_folder_byte_for_byte(hub: str, tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "release")
    ready = make_ready(tmp_path / "release", tmp_path / "out")
    assert upload(ready, "lab/demo", endpoint=hub) == f"{hub}/datasets/lab/demo/commit/1"
    assert Hub.held == files(tmp_path / "out")
    assert Hub.calls[0] == "/api/repos/create"


def test_what_the_hub_refuses_is_one_line(hub: str, tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "release")
    ready = make_ready(tmp_path / "release", tmp_path / "out")
    Hub.refuses = True
    with pytest.raises(InputError, match="the hub did not take lab/demo"):
        upload(ready, "lab/demo", endpoint=hub)


def test_nothing_leaves_without_a_repository(kina: Kina, tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "release")
    assert kina("publish", "release", "--upload").exit_code == 2
    assert not (tmp_path / "to-publish").exists()
    assert check_repository("lab/bench-1.0") == "lab/bench-1.0"
    for name in (None, "", "bench", "lab/../x", "lab/", "https://x/y"):
        with pytest.raises(UsageError):
            check_repository(name)
