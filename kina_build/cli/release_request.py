"""What `kina export` is asked for, and the files it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli.command import Run
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.release.plan import Request
    from kina_build.selection.files import Files


@dataclass(frozen=True)
class Given:
    """The files an export reads."""

    pool: Path
    selection: Path | None
    decisions: Path | None
    duplicates: Path | None
    agreement: Path | None
    audit: Path | None
    previous: Path | None
    proof: Files | None = None
    """What the selection was made from."""

    @property
    def paths(self) -> list[Path]:
        """Return those that are there."""
        named = [path for name, path in vars(self).items() if path and name != "proof"]
        return list(dict.fromkeys([*named, *(self.proof.paths if self.proof else ())]))

    @property
    def roles(self) -> list[str]:
        """Return what each one is, so that a file in another role is another run."""
        return [name for name, path in vars(self).items() if path]


def read_request(
    *,
    name: str,
    title: str,
    published: str | None,
    version: str | None,
    seed: int,
    shuffle: bool,
    private: list[str],
    licenses: list[str],
    allow: list[str],
    creators: list[str],
    url: str | None,
) -> Request:
    """Read what the options ask for.

    Raises:
        UsageError: a name, date, version, split, gate or reason that cannot be.
    """
    from kina_build.release.gates import GATES
    from kina_build.release.plan import Request
    from kina_build.release.sources import parse_date, parse_pairs
    from kina_build.release.splits import SPLITS
    from kina_build.release.versions import parse_version

    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"--name {name!r}: use letters, digits and underscores")
    _check_named("--private", private, SPLITS)
    allowed = parse_pairs(allow, "--allow", reason_needed=True)
    _check_named("--allow", allowed, GATES)
    return Request(
        name=name,
        title=title,
        published=parse_date(published) if published else None,
        version=parse_version(version) if version else None,
        seed=seed,
        shuffle=shuffle,
        private=frozenset(private),
        licenses=frozenset(licenses),
        allowed=allowed,
        creators=tuple(" ".join(one.split()) for one in creators),
        url=_check_url(url),
    )


def _check_named(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    import difflib

    choices = list(known)
    for name in names:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(choices)}"
            raise UsageError(f"{option} {name}: no such name", hint=hint)


def _check_url(url: str | None) -> str | None:
    if url is not None and not re.fullmatch(r"https?://[!-~]+", url):
        raise UsageError(f"--url {url!r} is no web address", hint="it begins with https://")
    return url


def answers_file(output: Path, answers: Path | None) -> Path:
    """Return where the private answers go: never into the release folder.

    Raises:
        UsageError: they would.
    """
    secret = answers or output.with_name(f"{output.name}.answers.jsonl")
    if output.resolve() in secret.resolve().parents:
        raise UsageError(f"{secret}: private answers do not belong in the release folder")
    return secret


def shaping_params(
    run: Run,
    request: Request,
    given: Given,
    take_down: list[str],
    models: list[str],
    extent: str | None,
) -> dict[str, Any]:
    """Return every option and setting that shapes the release, for its manifest."""
    asked = vars(request) | {
        "version": str(request.version) if request.version else None,
        "private": sorted(request.private),
        "licenses": sorted(request.licenses),
        "allowed": dict(request.allowed),
    }
    settings = {
        "release": run.settings.release.model_dump(mode="json"),
        "items": run.settings.items.shaping,
    }
    return {
        **asked,
        "take_down": take_down,
        "filter_models": models,
        "given": given.roles,
        "evidence": extent,
        "made_from": given.proof.params if given.proof else None,
        "settings": settings,
    }
