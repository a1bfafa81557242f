"""The files that a selection.json names: found again beside it, or given anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, UsageError
from kina_build.selection.files import PROPORTIONAL, STREAM, Files, files_of_options
from kina_build.selection.options import CertifyOptions
from kina_build.selection.records import Selection


def find_files(document: Selection, folder: Path) -> Files:
    """Find the files that a selection.json names.

    Raises:
        UsageError: it names none, or one that was a stream.
        InputError: one is not there.
    """
    found: dict[str, list[Path]] = {}
    for file in document.files:
        if Path(file.name).is_absolute():
            raise UsageError(f"the selection names {file.name!r}, which is no place beside it")
        if file.name == STREAM:
            raise UsageError(f"the selection read its {file.role} from a stream: give the files here")
        path = Path(os.path.normpath(folder / file.name))
        if file.role == "balance":
            found["balance"] = [Path(file.name)]
            continue
        if file.role == "quota" and file.name == str(PROPORTIONAL):
            path = PROPORTIONAL
        elif not path.exists():
            raise InputError(
                f"{path}: no such file, but the selection names it as its {file.role}",
                hint="give the files as to `kina select`",
            )
        found.setdefault(file.role, []).append(path)
    if "support" not in found:
        raise UsageError("the selection names no files: give --support and the others as to `kina select`")
    one = {role: paths[0] for role, paths in found.items()}
    return Files(
        support=one["support"],
        anchors=one.get("anchors"),
        strata=one.get("strata"),
        quota=one.get("quota"),
        conflicts=found.get("conflicts"),
        must=found.get("must"),
        exclude=found.get("exclude"),
        by=document.by or "subfield",
        domain_by=document.domain_by or "field",
        decisions=one.get("decisions"),
        keep=one.get("keep"),
        eligible=document.eligible,
        difficulty=one.get("difficulty"),
        balance=str(one["balance"]) if "balance" in one else None,
    )


def describe_files(files: Files, digests: Mapping[str, str], *, named: bool) -> list[dict[str, Any]]:
    """Return each kind of input with the files it was read from and the digest of its content."""
    source = {"anchors": "support", "domains": "strata", "must": "keep"}
    names: dict[str, list[str]] = {}
    for file in files.named(Path()).files:
        names.setdefault(file.role, []).append(file.name)
    return [
        {
            "role": kind,
            "names": names.get(kind) or names.get(source.get(kind, ""), []),
            "sha256": digest,
            "said_by": "document" if named else "reader",
        }
        for kind, digest in digests.items()
    ]


def files_to_certify(options: CertifyOptions, document: Selection) -> Files:
    """Return the files of `kina certify`: those that were given, or those that the document names.

    Raises:
        UsageError: some files and no support, or a selection to keep without decisions.
        InputError: a named file is not there.
    """
    if options.keep is not None and options.decisions is None:
        raise UsageError("--keep needs --decisions: they say which items stay")
    given = (options.anchors, options.strata, options.quota, options.decisions, options.difficulty)
    if options.support is not None:
        files = files_of_options(options, options.support)
        return replace(files, keep=options.keep, eligible=document.eligible)
    if any((*given, options.conflicts, options.must, options.exclude)):
        raise UsageError("--support is needed where other files are given", hint="give all files, or none")
    return find_files(document, options.selection.parent)
