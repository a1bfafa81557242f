"""`kina desk`: the workbench in a browser."""

from __future__ import annotations

import typer

from kina_build.cli.command import Run, command
from kina_build.desk.options import DeskOptions


def desk(run: Run, options: DeskOptions) -> None:
    """Look at a flow, search it and decide what waits, in a browser on this machine.

    Serves the report's pages on 127.0.0.1 with full-text search, everything that is known
    of an item, and queues that are worked through by keyboard: keys at odds, near-copies
    side by side, doubtful keys, findings. Each decision is written at once to
    decisions/KIND-WHO.jsonl in the folder; `kina build` and `kina dedup --overrides` follow
    it. Nothing leaves this machine. Stop it with Ctrl-C.
    """
    from kina_build.desk.serve import serve

    def tell(address: str) -> None:
        run.report(
            {"address": address, "folder": options.folder.name},
            lambda told, console: console.line(told["address"]),
        )
        run.console.say("open this address in a browser; Ctrl-C ends the server")

    serve(
        options.folder,
        title=options.title,
        who=options.who,
        port=options.port,
        read_only=options.read_only,
        on_ready=tell,
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "desk", example="kina desk . --who ann")(desk)
