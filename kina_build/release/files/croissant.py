"""Croissant metadata (MLCommons, version 1.1) of a release: files with digests, columns with types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kina_build.manifest import digest
from kina_build.release.files.card import cite, languages
from kina_build.release.files.datasheet import UNKNOWN
from kina_build.release.record import ReleaseRecord
from kina_build.release.splits import rows_file

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "equivalentProperty": "cr:equivalentProperty",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "arrayShape": "cr:arrayShape",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The JSON-LD context of the specification."""

MEDIA_TYPES = {
    ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet",
    ".json": "application/json",
}
ARRAYS = frozenset({"choices", "option_explanations"})
ANSWERS = frozenset({"answer", "answer_index"})
"""Columns that are null throughout where answers are private."""
DATA_TYPES = {"answer_index": "sc:Integer", "several": "sc:Boolean"}


def describe_release(
    record: ReleaseRecord, folder: Path, names: Sequence[str], columns: Sequence[str]
) -> dict[str, Any]:
    """Describe a release folder's data files and the rows in them.

    Args:
        record: the manifest.
        folder: where the files already are.
        names: relative names of the files to list.
        columns: of the JSON Lines files.
    """
    sizes = ", ".join(f"{count.items} {split}" for split, count in record.counts.items())
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": record.name,
        "description": f"{record.title}: multiple-choice questions ({sizes}). Canary {record.canary}.",
        "version": record.version,
        **(
            {"creator": [{"@type": "sc:Person", "name": one} for one in record.creators]}
            if record.creators
            else {}
        ),
        **({"url": record.url} if record.url else {}),
        **({"inLanguage": spoken} if (spoken := languages(record)) else {}),
        **({"datePublished": record.published} if record.published else {}),
        "license": sorted(name for name in record.licenses if name),
        "keywords": ["benchmark", "multiple choice", record.canary],
        "isLiveDataset": False,
        "citeAs": cite(record),
        **responsible_use(record),
        "distribution": [_file(folder, name) for name in names],
        "recordSet": [
            _records(split, [name for name in columns if not (count.private and name in ANSWERS)])
            for split, count in record.counts.items()
            if count.items
        ],
    }


def responsible_use(record: ReleaseRecord) -> dict[str, str]:
    """Return the properties of responsible AI (RAI 1.0), from the manifest; what is not known says so."""
    known = record.provenance
    models = ", ".join(known.filter_models)
    judged = "Reviewers' decisions; only accepted questions are released." if known.review else UNKNOWN
    return {
        "rai:dataCollection": f"Questions of a pool of {known.pool_items}; each row names its source.",
        "rai:dataAnnotationProtocol": judged,
        "rai:dataUseCases": "Evaluation of language models; not for training.",
        "rai:dataBiases": f"Let in because these models erred: {models}" if models else UNKNOWN,
        "rai:personalSensitiveInformation": UNKNOWN,
    }


def distribution_faults(distribution: Sequence[Mapping[str, Any]], folder: Path | None = None) -> list[str]:
    """List what a Croissant file's distribution lacks: addresses, media types, digests.

    Args:
        distribution: its file objects.
        folder: where the files are; None leaves the digests uncompared.
    """
    return [fault for file in distribution for fault in _file_faults(file, folder)]


def _file_faults(file: Mapping[str, Any], folder: Path | None) -> Iterator[str]:
    address, checksum = str(file.get("contentUrl") or ""), str(file.get("sha256") or "")
    if not address.strip():
        yield "contentUrl missing"
    if not file.get("encodingFormat"):
        yield "encodingFormat missing"
    if not re.fullmatch(r"[0-9a-fA-F]{64}", checksum):
        yield "sha256 is not 64 hex digits" if checksum else "sha256 missing"
    elif folder and address.strip() and digest(folder / address).sha256 != checksum.lower():
        yield f"sha256 of {address} is another"


def _file(folder: Path, name: str) -> dict[str, Any]:
    found = digest(folder / name)
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{found.size_bytes} B",
        "encodingFormat": MEDIA_TYPES[Path(name).suffix],
        "sha256": found.sha256,
    }


def _records(split: str, columns: Sequence[str]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "key": {"@id": f"{split}/id"},
        "field": [_field(split, column) for column in columns],
    }


def _field(split: str, column: str) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{split}/{column}",
        "name": f"{split}/{column}",
        "dataType": DATA_TYPES.get(column, "sc:Text"),
        "source": {"fileObject": {"@id": rows_file(split)}, "extract": {"column": column}},
    }
    return field | ({"isArray": True, "arrayShape": "-1"} if column in ARRAYS else {})
