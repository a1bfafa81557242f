"""A real Label Studio server on loopback, with an environment and a migrated database of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".venv-live" / "labelstudio"
MIGRATED = ROOT / ".venv-live" / "labelstudio-data"
"""A data folder whose migrations have run: they take a minute or two."""
INSTALL_S = 900
START_S = 900
ADMIN = "admin@example.org"
PASSWORD = "a-Long-pass-phrase-7"
TOKEN = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Desk:
    """A running server."""

    url: str
    token: str

    def admin(self) -> httpx.Client:
        """Return a client signed in as the administrator."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Token {self.token}"}, timeout=300)

    def join(self, email: str) -> Member:
        """Create an account through the invite link, as a person would."""
        with self.admin() as admin:
            invite = admin.get("/api/invite").json()["invite_url"]
        client = httpx.Client(base_url=self.url, timeout=300)
        client.get(invite)
        form = {"email": email, "password": PASSWORD, "allow_newsletters": "false", "how_find_us": "Other"}
        form["csrfmiddlewaretoken"] = client.cookies["csrftoken"]
        answer = client.post(invite, data=form, headers={"Referer": self.url + invite})
        assert answer.status_code == 302, answer.text[:300]
        number = client.get("/api/current-user/whoami").json()["id"]
        return Member(email, number, client)


@dataclass(frozen=True)
class Member:
    """One person with an account."""

    email: str
    number: int
    client: httpx.Client

    def annotate(self, task: int, result: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """Submit an annotation on a task."""
        return self._send("POST", f"/api/tasks/{task}/annotations/", {"result": result, **more})

    def change(self, annotation: int, **fields: Any) -> dict[str, Any]:
        """Change an annotation, whoever's it is: the server lets anyone."""
        return self._send("PATCH", f"/api/annotations/{annotation}/", fields)

    def draft(self, task: int, result: list[dict[str, Any]]) -> dict[str, Any]:
        """Save a draft without submitting it."""
        return self._send("POST", f"/api/tasks/{task}/drafts", {"result": result})

    def plant(self, project: int, data: dict[str, Any], annotation: dict[str, Any]) -> dict[str, Any]:
        """Import a task that brings an annotation, signed as whomever: the server lets anyone."""
        return self._send(
            "POST", f"/api/projects/{project}/import", [{"data": data, "annotations": [annotation]}]
        )

    def _send(self, method: str, path: str, body: Any) -> dict[str, Any]:
        headers = {"X-CSRFToken": self.client.cookies["csrftoken"], "Referer": str(self.client.base_url)}
        answer = self.client.request(method, path, json=body, headers=headers)
        assert answer.status_code in (200, 201), answer.text[:300]
        return dict(answer.json())


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Start a server on a free port, on a copy of the migrated data, and stop it by its pid."""
    install()
    if not (MIGRATED / "ready").exists():
        shutil.rmtree(MIGRATED, ignore_errors=True)
        with_server(MIGRATED)
        (MIGRATED / "ready").touch()
    data = tmp_path_factory.mktemp("desk") / "data"
    shutil.copytree(MIGRATED, data)
    server, url = start(data)
    try:
        yield Desk(url, TOKEN)
    finally:
        stop(server)


def install() -> None:
    """Make the server's own environment."""
    if not (HOME / "bin" / "label-studio").exists():
        uv = ROOT / ".venv" / "bin" / "uv"
        subprocess.run([uv, "venv", "-q", "--allow-existing", HOME], check=True, timeout=INSTALL_S)
        command = [uv, "pip", "install", "-q", "--python", HOME / "bin" / "python", "label-studio==1.23.*"]
        subprocess.run(command, check=True, timeout=INSTALL_S)


def with_server(data: Path) -> None:
    """Run a server once, so that its database is migrated."""
    server, _ = start(data)
    stop(server)


def start(data: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server and wait until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data.mkdir(parents=True, exist_ok=True)
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(data),
        "LABEL_STUDIO_USERNAME": ADMIN,
        "LABEL_STUDIO_PASSWORD": PASSWORD,
        "LABEL_STUDIO_USER_TOKEN": TOKEN,
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "DJANGO_DB": "sqlite",
        "HOME": str(data),
    }
    command = [HOME / "bin" / "label-studio", "start", "--no-browser", "--internal-host", "127.0.0.1"]
    command += ["--port", str(port), "--enable-legacy-api-token"]
    with (data / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, env=os.environ | settings, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/api/version", timeout=5).status_code == 200:
                return server, url
        except httpx.TransportError:
            pass
        if server.poll() is not None:
            break
        time.sleep(1)
    stop(server)
    pytest.fail(f"Label Studio did not start: {(data / 'server.log').read_text()[-1000:]}")


def stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and what it started."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(timeout=20)
