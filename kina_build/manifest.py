"""Provenance beside each output, and the question "is this output up to date?"."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build import __version__
from kina_build.errors import InputError, UsageError
from kina_build.rows.jsonl import canonical, read_document, write_document
from kina_build.rows.outputs import drop_claims, recover_folder, sweep
from kina_build.rows.source import STREAM, Digest, digest_of, forget, is_stream

PIPE = "(pipe)"
"""Name of any pipe: the system's own changes from run to run."""
SHOWN_CHARACTERS = 60
"""Of a parameter's value, in a reason."""


class Manifest(BaseModel):
    """Record how an output came to be; holds no clock and no absolute path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    version: str
    """Of kina-build."""
    params: dict[str, Any]
    """Every option and resolved setting that shapes the output, seed included."""
    inputs: dict[str, Digest]
    outputs: dict[str, Digest]
    versions: dict[str, str]
    """Of Python and of the packages named by the stage."""
    models: dict[str, str]
    """Model name to revision or weights digest."""
    report: dict[str, Any]
    """The document that `--json` printed; printed again when up to date."""
    exit_code: int


@dataclass(frozen=True)
class Job:
    """One run of one stage: what it reads, what it writes, what shapes the result."""

    command: str
    inputs: Sequence[Path]
    outputs: Sequence[Path]
    """The first one that is a file or a folder carries the manifest."""
    params: Mapping[str, Any] = field(default_factory=dict)

    def current(self) -> Manifest | None:
        """Return the manifest of an earlier run that this run would only repeat."""
        return self.look()[0]

    def look(self) -> tuple[Manifest | None, str]:
        """Return what `current` returns and, where that is nothing, the first reason in a few words."""
        if not self.repeatable or not sidecar(self.outputs[0]).exists():
            return None, "never built"
        try:
            past = read_document(sidecar(self.outputs[0]), Manifest)
            reason = self._first_change(past)
        except InputError as error:  # a missing file or a damaged manifest: not up to date
            return None, error.lines[0]
        return (None, reason) if reason else (past, "")

    def _first_change(self, past: Manifest) -> str:
        """Name the first thing in which this run differs from an earlier one; empty where nothing does.

        Raises:
            InputError: an input or output is missing.
        """
        if past.command != self.command:
            return f"{self.outputs[0].name} was made by kina {past.command}"
        if past.version != __version__:
            return f"made by kina-build {past.version}, this is {__version__}"
        return (
            _changed_param(past.params, _as_kept(self.params))
            or _changed_file("input", past.inputs, digests(self.inputs))
            or _changed_file("output", past.outputs, digests(self.outputs))
        )

    def record(
        self,
        report: Mapping[str, Any],
        *,
        exit_code: int = 0,
        packages: Sequence[str] = (),
        models: Mapping[str, str] | None = None,
        private: bool = False,
    ) -> None:
        """Write the manifest beside the first output, and clear away what killed runs left.

        Where the report names people, the manifest is for its owner only (`private`).
        """
        if not self.files:
            return
        self._sweep()
        for output in self.files:  # some grow line by line, behind what was read of them
            forget(output)
        manifest = Manifest(
            command=self.command,
            version=__version__,
            params=dict(self.params),
            inputs=digests(self.inputs),
            outputs=digests(self.files),
            versions=versions(packages),
            models=dict(models or {}),
            report=dict(report),
            exit_code=exit_code,
        )
        write_document(sidecar(self.files[0]), manifest, private=private)
        drop_claims(self.files)

    def settle(self) -> None:
        """Clear away what a run left that was killed behind its manifest."""
        self._sweep()
        drop_claims(self.files)

    def _sweep(self) -> None:
        for path in (*self.files, *map(sidecar, self.files[:1])):
            recover_folder(path)
            sweep(path)

    @property
    def files(self) -> list[Path]:
        """List the outputs that stay: all but the streams."""
        return [path for path in self.outputs if path != STREAM]

    @property
    def repeatable(self) -> bool:
        """Tell whether a later run can be compared with this one: what went to standard output is gone."""
        return bool(self.outputs) and STREAM not in self.outputs


class Probed(BaseException):
    """End a command that was only asked what it would do: it carries the job that it would run.

    It is no Exception: nothing that mends or explains failures on the way must catch it.
    """

    def __init__(self, job: Job) -> None:
        """Take the job."""
        super().__init__(job.command)
        self.job = job


probing: ContextVar[bool] = ContextVar("probing", default=False)
"""Whether commands stop with Probed at the point where their job is known, before any work."""


def _as_kept(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a manifest gives them back: JSON knows no tuples."""
    kept: dict[str, Any] = json.loads(canonical(dict(params)))
    return kept


def _changed_param(past: Any, now: Any, name: str = "") -> str:
    """Name the first parameter, dotted, that differs; empty where none does."""
    if isinstance(past, dict) and isinstance(now, dict):
        keys = [*past, *(key for key in now if key not in past)]
        inner = (
            _changed_param(past.get(key), now.get(key), f"{name}.{key}" if name else key)
            if (key in past) == (key in now)
            else f"{name}.{key}".lstrip(".") + (" is new" if key in now else " is gone")
            for key in keys
        )
        return next(filter(None, inner), "")
    if canonical(past) == canonical(now):
        return ""
    if isinstance(past, list) and isinstance(now, list) and all(isinstance(x, str) for x in past + now):
        changes = [(one, "is new") for one in now if one not in past]
        changes += [(one, "is gone") for one in past if one not in now]
        if changes:
            return f"{name}: {_short(changes[0][0])} {changes[0][1]}"
    return f"{name}: {_short(past)} became {_short(now)}"


def _short(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def _changed_file(role: str, past: Mapping[str, Digest], now: Mapping[str, Digest]) -> str:
    """Name the first file that changed, is new or is gone; empty where all are the same."""
    for name in [*past, *(name for name in now if name not in past)]:
        if name not in now:
            return f"{role} {name} is gone"
        if name not in past:
            return f"{role} {name} is new"
        if past[name] != now[name]:
            return f"{role} {name} changed"
    return ""


def sidecar(output: Path) -> Path:
    """Return the manifest's path for an output: out.jsonl -> out.jsonl.manifest.json.

    Raises:
        UsageError: the output has no name of its own, as "." has none.
    """
    if not output.name:
        raise UsageError(f"{output}: nothing can be written beside it", hint="call it by its name")
    return output.with_name(output.name + ".manifest.json")


def versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python and of installed packages."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}


def digests(paths: Sequence[Path]) -> dict[str, Digest]:
    """Digest files and folders, keyed by name; equal names are told apart by a counter."""
    found: dict[str, Digest] = {}
    for path in paths:
        name = given = PIPE if path != STREAM and is_stream(path) else path.name
        copy = 2
        while name in found:
            name, copy = f"{given}#{copy}", copy + 1
        found[name] = digest(path)
    return found


def digest(path: Path) -> Digest:
    """Digest what was read of a file or stream, or a folder through its sorted names and file digests.

    Raises:
        InputError: there is nothing at that path.
    """
    if not path.is_dir():
        return digest_of(path)
    total = hashlib.sha256()
    size = count = 0
    for file in sorted(p for p in _shown(path) if p.is_file()):
        one = digest_of(file)
        total.update(f"{file.relative_to(path).as_posix()}\0{one.sha256}\n".encode())
        size, count = size + one.size_bytes, count + 1
    return Digest(sha256=total.hexdigest(), size_bytes=size, rows=count)


def _shown(folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder, but for hidden entries at its top: `.git` is no output of ours."""
    for top in folder.iterdir():
        if not top.name.startswith("."):
            yield top
            yield from top.rglob("*") if top.is_dir() and not top.is_symlink() else ()
