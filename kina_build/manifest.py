"""Provenance beside each output, and the question "is this output up to date?"."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build import __version__
from kina_build.claims import drop_claims, sweep
from kina_build.errors import InputError
from kina_build.folders import recover_folder
from kina_build.jsonl import STREAM, canonical, read_document, write_document

CHUNK_BYTES = 1 << 20


class Digest(BaseModel):
    """Identify the content of one file or folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: int
    rows: int
    """Newline characters in the file; for a folder, the files in it."""


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
        if not self.repeatable or not sidecar(self.outputs[0]).exists():
            return None
        try:
            past = read_document(sidecar(self.outputs[0]), Manifest)
            same = (
                (past.command, past.version) == (self.command, __version__)
                and canonical(past.params) == canonical(dict(self.params))
                and past.inputs == digests(self.inputs)
                and past.outputs == digests(self.outputs)
            )
        except InputError:  # a missing output or a damaged manifest: not up to date
            return None
        return past if same else None

    def record(
        self,
        report: Mapping[str, Any],
        *,
        exit_code: int = 0,
        packages: Sequence[str] = (),
        models: Mapping[str, str] | None = None,
    ) -> None:
        """Write the manifest beside the first output, and clear away what killed runs left."""
        if not self.files:
            return
        self._sweep()
        manifest = Manifest(
            command=self.command,
            version=__version__,
            params=dict(self.params),
            inputs=digests([path for path in self.inputs if path != STREAM]),
            outputs=digests(self.files),
            versions=versions(packages),
            models=dict(models or {}),
            report=dict(report),
            exit_code=exit_code,
        )
        write_document(sidecar(self.files[0]), manifest)
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
        """Tell whether a later run can be compared with this one: streams cannot."""
        return bool(self.outputs) and STREAM not in (*self.inputs, *self.outputs)


def sidecar(output: Path) -> Path:
    """Return the manifest's path for an output: out.jsonl -> out.jsonl.manifest.json."""
    return output.with_name(output.name + ".manifest.json")


def versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python and of installed packages."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}


def digests(paths: Sequence[Path]) -> dict[str, Digest]:
    """Digest files and folders, keyed by name; equal names are told apart by a counter."""
    found: dict[str, Digest] = {}
    for path in paths:
        name, copy = path.name, 2
        while name in found:
            name, copy = f"{path.name}#{copy}", copy + 1
        found[name] = digest(path)
    return found


def digest(path: Path) -> Digest:
    """Digest one file, or a folder through its sorted relative names and file digests.

    Raises:
        InputError: there is nothing at that path.
    """
    if not path.is_dir():
        return _digest_file(path)
    total = hashlib.sha256()
    size = count = 0
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        one = _digest_file(file)
        total.update(f"{file.relative_to(path).as_posix()}\0{one.sha256}\n".encode())
        size, count = size + one.size_bytes, count + 1
    return Digest(sha256=total.hexdigest(), size_bytes=size, rows=count)


def _digest_file(path: Path) -> Digest:
    total = hashlib.sha256()
    size = rows = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                total.update(chunk)
                size, rows = size + len(chunk), rows + chunk.count(b"\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    return Digest(sha256=total.hexdigest(), size_bytes=size, rows=rows)
