"""Make the record of a decision, and add it to its person's file."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.project.decisions import FOLDER, OPEN, TWOFOLD, VERDICTS, Ruling, items_of, text_hash
from kina_build.project.options import Kind
from kina_build.rows.jsonl import dump_line

NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
"""A decider's name, as it stands in the name of a file: `ann`, `r2`; not `../ann`."""


def make_ruling(
    kind: Kind,
    subject: Sequence[str],
    verdict: str,
    *,
    who: str,
    reason: str,
    at: datetime,
    items: Mapping[str, Item],
    letter: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Ruling:
    """Make the record of a decision on the texts as they are now.

    Raises:
        UsageError: an unknown item or verdict, a name that cannot stand in a file's name, no reason.
    """
    if not NAME.fullmatch(who):
        raise UsageError(f"--who {who!r}: use small letters, digits and underscores")
    if verdict not in (*VERDICTS[kind], OPEN):
        raise UsageError(
            f"{verdict!r} cannot be said of a {kind}", hint=f"one of: {', '.join(VERDICTS[kind])}"
        )
    if not reason.strip():
        raise UsageError("a decision needs a --reason")
    if (kind == "columns") != bool(columns) and verdict != OPEN:
        raise UsageError("columns of a file need their --map, and nothing else has one")
    ids = items_of(kind, subject)
    if unknown := [one for one in ids if one not in items]:
        raise UsageError(f"{unknown[0]!r} is no item of the pool")
    if letter is not None and letter not in {option.key for one in subject for option in items[one].options}:
        raise UsageError(f"--letter {letter}: {subject[0]} has no such option")
    if len(set(subject)) != (2 if kind in TWOFOLD else 1):
        raise UsageError(f"a {kind} is {'two different items' if kind == 'pair' else 'one subject'}")
    texts = text_hash([items[one] for one in ids]) if ids else ""
    return Ruling(
        kind=kind,
        subject=tuple(sorted(subject) if kind == "pair" else subject),
        verdict=verdict,
        letter=letter,
        columns=dict(columns) if columns else None,
        reason=reason.strip(),
        texts=texts,
        at=at,
        who=who,
    )


def record_ruling(root: Path, ruling: Ruling) -> Path:
    """Add a decision to its person's file.

    Raises:
        InputError: it cannot be written, or the file's last line is torn.
    """
    path = root / FOLDER / f"{ruling.kind}-{ruling.who}.jsonl"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("ab+") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            size = out.seek(0, os.SEEK_END)
            if size:
                out.seek(size - 1)
                if out.read(1) != b"\n":
                    raise InputError(f"{path}: its last line is torn", hint="mend or remove that line first")
            out.write((dump_line(ruling) + "\n").encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    return path
