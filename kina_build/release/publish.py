"""What goes to the Hugging Face Hub, made ready offline: a folder, a checklist, and only then an upload."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import ItemRules
from kina_build.errors import InputError, Refusal, UsageError
from kina_build.release.folder import writing_folder
from kina_build.release.proof.evidence import VERIFIER
from kina_build.release.proof.verify import Verification, verify_release
from kina_build.release.record import ReleaseRecord
from kina_build.release.splits import SUMS
from kina_build.release.standalone import INSTANCE, entries
from kina_build.rows.jsonl import write_text

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
"""A repository of the hub: "lab/benchmark", and not "benchmark" or "lab/../x"."""


@dataclass(frozen=True)
class Point:
    """One line of the checklist."""

    done: bool
    """Whether the release shows it; otherwise a person has to look."""
    what: str


@dataclass(frozen=True)
class Ready:
    """A folder that is ready to be published, and what to look at first."""

    folder: Path
    record: ReleaseRecord
    files: dict[str, int]
    """Name to size in bytes."""
    points: tuple[Point, ...]

    @property
    def report(self) -> dict[str, Any]:
        """Return what would be published, as plain values."""
        return {
            "version": self.record.version,
            "content_hash": self.record.content_hash,
            "files": self.files,
            "bytes": sum(self.files.values()),
            "checklist": [{"done": point.done, "what": point.what} for point in self.points],
        }

    def __str__(self) -> str:
        return checklist(self)


def make_ready(
    release: Path, target: Path, *, rules: ItemRules = ItemRules(), overwrite: bool = False
) -> Ready:
    """Copy a release that holds, and nothing that lies beside it, into a folder for the hub.

    Args:
        release: the folder that `kina export` wrote.
        target: the folder to make; an unchanged earlier one is replaced.
        rules: numbers of the gates about questions.
        overwrite: replace files of an earlier one that were edited since.

    Raises:
        Refusal: the release is not as it says.
        UsageError: the target holds something that would be lost.
    """
    found = verify_release(release, None, rules)
    if not found:
        raise Refusal(
            f"{release}: is not as it says: {found.faults[0].message}", hint="`kina verify` lists all faults"
        )
    if target.resolve() == release.resolve():
        raise UsageError(f"{target}: is the release itself", hint="give another folder with -o")
    names = [name for name, kind in entries(release) if kind == "file"]
    with writing_folder(target, overwrite=overwrite) as folder:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(release / name, folder / name)
    sizes = {name: (target / name).stat().st_size for name in names}
    return Ready(target, found.past.record, sizes, tuple(_points(found)))


def checklist(ready: Ready) -> str:
    """Write the checklist as Markdown: what is done, and what a person has to look at."""
    lines = [f"- [{'x' if point.done else ' '}] {point.what}" for point in ready.points]
    title = f"# Before {ready.record.name} {ready.record.version} is published"
    size = sum(ready.files.values())
    return "\n".join([title, "", f"{len(ready.files)} files, {size:,} bytes.", "", *lines, ""])


def write_checklist(ready: Ready, path: Path) -> None:
    """Write the checklist beside the folder, which holds nothing but the release."""
    write_text(path, checklist(ready))


def check_repository(name: str | None) -> str:
    """Return the name of a repository of the hub.

    Raises:
        UsageError: none, or not of the form OWNER/NAME.
    """
    if not name or not REPOSITORY.fullmatch(name) or ".." in name or "--" in name:
        raise UsageError(
            f"--repo {name or ''}: name it as OWNER/NAME", hint="e.g. --repo my-lab/my-benchmark"
        )
    return name


def upload(ready: Ready, repository: str, *, endpoint: str | None = None) -> str:
    """Upload a folder as a dataset of the hub; a new repository is private until its owner opens it.

    This is the only function of the room that uses the network. The token comes from the environment
    (HF_TOKEN) or from `hf auth login`.

    Args:
        ready: what to upload.
        repository: OWNER/NAME.
        endpoint: of the hub; None: huggingface.co, or HF_ENDPOINT.

    Returns:
        The address of the commit.

    Raises:
        InputError: the hub cannot be reached, or refuses.
    """
    from httpx import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    hub = HfApi(endpoint=endpoint)
    record = ready.record
    try:
        hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        made = hub.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=ready.folder,
            commit_message=f"{record.name} {record.version}",
            commit_description=f"content hash {record.content_hash}",
            ignore_patterns=[".*"],
        )
    except (HfHubHTTPError, HTTPError, OSError, ValueError, KeyError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"the hub did not take {repository}: {reason}",
            hint="set HF_TOKEN to a token that may write there",
        ) from None
    return str(made.commit_url)


def _points(found: Verification) -> Iterator[Point]:
    record = found.past.record
    yield Point(True, f"the release is as it says ({len(found.checks)} checks of `kina verify`)")
    private = [split for split, count in record.counts.items() if count.private and count.items]
    if private:
        told = " and ".join(private)
        yield Point(False, f"the answers of {told} stay with you: keep their file, and publish it nowhere")
    yield _stated(
        record.creators, f"to be cited as {', '.join(record.creators)}", "nobody to cite", "creator"
    )
    yield _stated(record.url, f"published at {record.url}", "no address", "url")
    yield _stated(record.published, f"dated {record.published}", "no date", "published")
    licenses = sorted(filter(None, record.licenses))
    yield Point(
        len(licenses) == 1 and "" not in record.licenses, f"licences: {', '.join(licenses) or 'none'}"
    )
    spoken = sorted(filter(None, record.languages))
    known = bool(spoken) and "" not in record.languages
    yield Point(known, f"languages: {', '.join(spoken)}" if known else "not all questions say their language")
    evidence = INSTANCE in record.files
    yield Point(
        evidence or record.provenance.selection is None,
        "the evidence of the selection travels" if evidence else "no evidence of a selection travels",
    )
    yield Point(VERIFIER in record.files or not evidence, "the stand-alone verifier lies in the folder")
    for one in record.exemptions:
        yield Point(False, f"gate {one.rule} was let pass: {one.reason}")
    if record.withheld:
        yield Point(False, f"{len(record.withheld)} items were withheld; the card names those of a selection")
    yield Point(False, "the sources of the questions allow them to be passed on")
    yield Point(False, "no question holds personal data")
    yield Point(True, f"whoever downloads it can check it with `sha256sum -c {SUMS}`")


def _stated(value: Any, told: str, lacking: str, option: str) -> Point:
    return Point(True, told) if value else Point(False, f"{lacking}: `kina export --{option}` states it")
