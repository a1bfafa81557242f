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

HOST = "127.0.0.1"
"""No other: what lies on the desk is not for the net."""


def serve(
    folder: Path,
    *,
    title: str | None = None,
    who: str = "me",
    port: int = 0,
    read_only: bool = False,
    on_ready: Callable[[str], None],
) -> None:
    """Serve a folder's workbench until the process is stopped.

    Args:
        folder: of the flow; decisions are written to its folder `decisions`.
        title: on every page; None: the project's, where the folder is one.
        who: whose decisions are written, where a browser does not say.
        port: 0 takes a free one.
        read_only: write nothing.
        on_ready: told the first address, which holds the key, once the server answers there.

    Raises:
        UsageError: a name that cannot stand in a file's name, or a port that is taken.
        InputError: a file of the folder that cannot be read.
    """
    import uvicorn

    if not NAME.fullmatch(who):
        raise UsageError(f"--who {who!r}: use small letters, digits and underscores")
    desk = Desk(folder, title or _title(folder), who, read_only)
    if desk.state().bench.artefacts.empty and not find_unread(folder):
        raise InputError(f"{folder}: none of the flow's files is there", hint="kina report --help lists them")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, port))
        except OSError as error:
            raise UsageError(
                f"port {port}: {error.strerror}", hint="leave --port out to take a free one"
            ) from None
        door.listen()
        taken = int(door.getsockname()[1])
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


def _title(folder: Path) -> str:
    config = folder / CONFIG_NAME
    project = find_project(config) if config.exists() else None
    return (project.table.title or project.table.name) if project else "Knowledge benchmark"
