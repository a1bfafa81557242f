"""The server of the workbench: on 127.0.0.1, until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from kina_build.config import CONFIG_NAME
from kina_build.desk.app import make_app
from kina_build.desk.columns import find_unread
from kina_build.desk.guard import make_token
from kina_build.desk.state import Desk
from kina_build.errors import InputError, UsageError
from kina_build.project.deciding import NAME
from kina_build.project.folder import find_project
from kina_build.rows.source import reading

HOST = "127.0.0.1"
"""No other: what lies on the desk is not for the net."""
PATIENCE_S = 0.5
"""How long a page waits for files that are being read, before it shows them as they were."""


def open_desk(folder: Path, *, title: str | None = None, who: str = "me", read_only: bool = False) -> Desk:
    """Read a folder for its workbench.

    Args:
        folder: of the flow; decisions are written to its folder `decisions`.
        title: on every page; None: the project's, where the folder is one.
        who: whose decisions are written, where a browser does not say.
        read_only: write nothing.

    Raises:
        UsageError: a name that cannot stand in a file's name.
        InputError: a file of the folder that cannot be read, or none that a page shows.
    """
    if not NAME.fullmatch(who):
        raise UsageError(f"--who {who!r}: use small letters, digits and underscores")
    desk = Desk(folder, title or _title(folder), who, read_only, patience_s=PATIENCE_S)
    if desk.state().bench.artefacts.empty and not find_unread(folder):
        raise InputError(f"{folder}: none of the flow's files is there", hint="kina report --help lists them")
    return desk


def serve(desk: Desk, *, port: int = 0, on_ready: Callable[[str], None]) -> None:
    """Serve a workbench until the process is stopped.

    Args:
        desk: what is served.
        port: 0 takes a free one.
        on_ready: told the first address, which holds the key, once the server answers there.

    Raises:
        UsageError: a port that is taken.
    """
    import uvicorn

    with reading(remembers=False), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        taken = _bind(door, port)
        token = make_token()
        config = uvicorn.Config(
            make_app(desk, token, taken),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        on_ready(f"http://{HOST}:{taken}/?token={token}")
        uvicorn.Server(config).run(sockets=[door])


def _bind(door: socket.socket, port: int) -> int:
    """Open a port of this machine; return which."""
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port}: {error.strerror}", hint="leave --port out to take a free one"
        ) from None
    door.listen()
    return int(door.getsockname()[1])


def _title(folder: Path) -> str:
    config = folder / CONFIG_NAME
    project = find_project(config) if config.exists() else None
    return (project.table.title or project.table.name) if project else "Knowledge benchmark"
