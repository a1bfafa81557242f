"""Command that scores a pool for its anchors, by any of the methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kina_build.cli.command import command
from kina_build.cli.run import Run
from kina_build.cli.selecting.support_views import show_estimate, show_sheets, show_support
from kina_build.support.options import SupportOptions

if TYPE_CHECKING:
    from kina_build.chat import ReplyLog
    from kina_build.encode.kept import Reuse


def support(run: Run, options: SupportOptions) -> None:
    """Score how much each item shows of each anchor, in [0, 1], into one support matrix.

    An anchor is compared with the items of its own domain (their field) and scores 0
    elsewhere; an anchor without a domain is compared with all. Methods: embedding (cosine,
    no model calls), judge (a model rates 0 to 4 with quoted evidence), ratings (a file made
    elsewhere), bank (the paper's reference bank: the items' own well-aligned peers take the
    anchors' place, calibrated on labels).

    A name that does not end in .npz is a folder: the matrix is written in parts of
    support.part_items items (fewer if --memory asks for it), one at a time, and a run that is
    stopped goes on from the parts it finished (embedding and ratings). With --engine ray,
    parts and judge calls are made by the workers of a cluster, all of which must see the
    output's folder.
    """
    from kina_build.encode.kept import Reuse
    from kina_build.support.partition.files import holds_partitions
    from kina_build.support.scoring import draw_files, estimate_files, score_files
    from kina_build.support.setup import Setup

    settings, draw = run.settings, options.draw
    setup = Setup(
        options,
        settings.support,
        settings.dedup,
        settings.chat,
        run.engine_rules(options.engine, options.memory),
        Reuse(run.force),
        run.console,
        lambda path: _open_log(run, path),
        settings.encode.engine,
    )
    in_folder = setup.in_partitions and not draw
    if not draw:
        setup.check()
    setup.tell_place()
    stage = run.stage(
        "support",
        inputs=setup.inputs,
        outputs=[draw]
        if draw
        else [
            path
            for path in (options.output, options.save_ratings, options.details, options.save_conflicts)
            if path
        ],
        params=setup.params,
        show=show_sheets if draw else show_support,
        folders=[path for path in (draw, options.output if in_folder else None) if path],
        is_ours=holds_partitions if in_folder else None,
        kept=[path for path in (options.cache, setup.calls if options.judge else None) if path],
    )
    if draw:
        drawn = draw_files(setup, draw)
        _tell_notes(run, setup.reuse)
        stage.finish(drawn)
    elif options.dry_run:
        run.report(estimate_files(setup), show_estimate)
    elif not stage.up_to_date():
        scored = score_files(setup)
        _tell_notes(run, setup.reuse)
        stage.finish(scored.report, packages=["numpy"], models=scored.models, reused=scored.reused)


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "support", example="kina support pool.jsonl --anchors anchors.jsonl -o support.npz")(support)


def _tell_notes(run: Run, reuse: Reuse) -> None:
    """Say what of that which earlier runs kept was not taken over because it did not pass a check."""
    for line in reuse.notes:
        run.console.warn(line)


def _open_log(run: Run, path: Path | None) -> ReplyLog:
    """Open a log of replies, those of batches left over included; --force takes none of them over.

    Raises:
        InputError: a file that cannot be read, or a line that was changed since it was written.
    """
    from kina_build import chat

    return chat.open_log(path, fresh=run.force, say=run.console.warn)
