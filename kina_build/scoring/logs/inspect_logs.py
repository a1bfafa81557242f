"""Logs of Inspect: one JSON document, or a zip of documents whose members are Zstandard."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kina_build.errors import InputError
from kina_build.rows.source import Source, limits
from kina_build.rows.strict import JsonFault, parse_json
from kina_build.scoring.logs.trials import Log, Trial, count, hashes, number, part, text
from kina_build.scoring.replies import labels

TOOL = "inspect"

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's words for correct, incorrect, partial and no answer; no letters of options."""

ZIP = b"PK\x03\x04"
ZSTANDARD = 93
"""Method of a zip's member, which Python 3.11's zipfile does not know."""

LOCAL_HEADER = struct.Struct("<4s5H3L2H")
"""What stands before a member's data: the lengths of its name and extra field come last."""

ATTACHED = "attachment://"


def read_eval(source: Source) -> dict[str, Any]:
    """Read an .eval file into the document that Inspect writes as JSON.

    Raises:
        InputError: no zip, no header in it, or a member that cannot be unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(f"{source.name}: no header.json", hint="an .eval file of a finished run")
            samples = sorted(name for name in names if name.startswith("samples/"))
            read = {name: _member(source, archive.getinfo(name)) for name in ("header.json", *samples)}
    except (zipfile.BadZipFile, struct.error, OSError, NotImplementedError) as error:
        raise InputError(f"{source.name}: not an .eval file: {error}") from None
    document: dict[str, Any] = read["header.json"]
    return document | {"samples": [read[name] for name in samples]}


def _member(source: Source, info: zipfile.ZipInfo) -> Any:
    if info.file_size > limits().file_bytes:
        raise InputError(f"{source.name}: {info.filename} is larger than [intake] file_bytes")
    if info.compress_type == ZSTANDARD:
        data = _unpack(source, info)
    else:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            data = archive.read(info)
    try:
        return parse_json(data.decode(), limits())
    except (UnicodeDecodeError, JsonFault) as error:
        raise InputError(f"{source.name}: {info.filename}: {error}") from None


def _unpack(source: Source, info: zipfile.ZipInfo) -> bytes:
    import pyarrow as pa

    head = LOCAL_HEADER.unpack_from(source.data, info.header_offset)
    begin = info.header_offset + LOCAL_HEADER.size + head[-2] + head[-1]
    packed = source.data[begin : begin + info.compress_size]
    try:
        data = pa.Codec("zstd").decompress(packed, decompressed_size=info.file_size, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{source.name}: {info.filename} cannot be unpacked: {error}") from None
    return bytes(data)


def is_log(document: Any) -> bool:
    """Tell whether a JSON document is a log of Inspect."""
    return isinstance(document, Mapping) and {"eval", "status"} <= set(document)


def read_log(document: Mapping[str, Any], name: str, metric: str | None = None) -> Log:
    """Turn a log of Inspect into trials.

    Args:
        document: as read_eval or a JSON log gives it.
        name: for messages.
        metric: the scorer whose scores are wanted; None takes the headline, or the first.

    Raises:
        InputError: a log without samples, or without such a scorer.
    """
    samples = document.get("samples")
    if not isinstance(samples, list) or not samples:
        raise InputError(f"{name}: no samples", hint="Inspect keeps them unless --no-log-samples is given")
    scorers = part(document, "results", "scores") or []
    headline = part(document, "results", "headline", "scorer")
    known = [str(part(one, "name")) for one in scorers] or list(_named(samples))
    scorer = metric or (headline if headline in known else next(iter(known), None))
    if scorer is None or scorer not in known:
        raise InputError(f"{name}: no scores by {scorer!r}", hint=f"it has {', '.join(known) or 'none'}")
    model = str(part(document, "eval", "model") or "model")
    task = str(part(document, "eval", "task") or "")
    dataset = text(part(document, "eval", "metadata", "content_hash"))
    found = next((one for one in scorers if part(one, "name") == scorer), None)
    notes = [] if document["status"] == "success" else [f"{name}: its status is {document['status']}"]
    return Log(
        TOOL,
        model,
        task,
        scorer,
        [
            _trial(one, name, scorer).model_copy(update={"model": model, "task": task, "dataset": dataset})
            for one in samples
        ],
        number(part(found, "metrics", "accuracy", "value")),
        notes,
    )


def _named(samples: list[Any]) -> dict[str, None]:
    return dict.fromkeys(scorer for one in samples for scorer in (part(one, "scores") or {}))


def _trial(sample: Any, name: str, scorer: str) -> Trial:
    if not isinstance(sample, Mapping) or sample.get("id") is None:
        raise InputError(f"{name}: a sample without an id")
    graded = part(sample, "scores", scorer)
    value = part(graded, "value")
    options = sample.get("choices")
    allowed = labels(len(options)) if isinstance(options, list) and options else ()
    letter, target = text(part(graded, "answer")), text(sample.get("target"))
    error = sample.get("error")
    usage = part(sample, "output", "usage")
    return Trial(
        item_id=str(sample["id"]),
        model="",
        epoch=max(0, int(sample.get("epoch") or 1) - 1),
        score=GRADES.get(value) if isinstance(value, str) else number(value),
        letter=letter if letter in allowed else None,
        answer=target if target in allowed else None,
        discipline=str(part(sample, "metadata", "discipline") or ""),
        response=None if error else _long(part(sample, "output", "completion"), sample),
        prompt_sha=_prompt_sha(sample),
        option_hashes=hashes(options),
        prompt_tokens=count(part(usage, "input_tokens")),
        completion_tokens=count(part(usage, "output_tokens")),
        time_s=_seconds(sample),
        tool=TOOL,
        task="",
        error=None if error is None else str(part(error, "message") or error),
    )


def _prompt_sha(sample: Mapping[str, Any]) -> str | None:
    """Hash the one user message, where the model was asked by one message alone."""
    messages = sample.get("messages")
    asked = [one for one in messages or [] if part(one, "role") in ("user", "system")]
    content = _long(part(asked[0], "content"), sample) if len(asked) == 1 else None
    return None if content is None else hashlib.sha256(content.encode()).hexdigest()


def _long(value: Any, sample: Mapping[str, Any]) -> str | None:
    """Return a text, a long one from where Inspect keeps those."""
    if not isinstance(value, str) or not value.startswith(ATTACHED):
        return text(value)
    return text(part(sample, "attachments", value.removeprefix(ATTACHED)))


def _seconds(sample: Mapping[str, Any]) -> float | None:
    total = sample.get("total_time")
    if isinstance(total, int | float):
        return float(total)
    begun, ended = text(sample.get("started_at")), text(sample.get("completed_at"))
    if begun is None or ended is None:
        return None
    try:
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()
    except (ValueError, TypeError):
        return None
