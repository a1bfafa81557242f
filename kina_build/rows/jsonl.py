"""Typed JSON and JSON Lines in and out: file:line errors, "-" streams, atomic writes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.kinds import name_kind
from kina_build.rows.objects import parse_objects
from kina_build.rows.outputs import claim_file, open_part
from kina_build.rows.source import STREAM, Source, forget, limits, open_source
from kina_build.rows.strict import JsonFault, parse_json

Record = TypeVar("Record", bound=BaseModel)


def read_bytes(path: Path | str) -> bytes:
    """Read a whole file, or standard input for "-"; gzip is unpacked.

    Raises:
        InputError: the file is missing, a directory, or unreadable.
    """
    return open_source(path).data


def read_text(path: Path | str) -> str:
    """Read a UTF-8 file, without its byte order mark.

    Raises:
        InputError: missing or empty file, a file of another kind, or a byte that is not UTF-8 (its offset
            is named).
    """
    return decode(open_source(path))


def decode(source: Source) -> str:
    """Decode a source as UTF-8, without its byte order mark.

    Raises:
        InputError: an empty file, a file of another kind, or a byte that is not UTF-8.
    """
    raw = source.data
    if (kind := name_kind(raw)) is not None:
        raise InputError(f"{source.name}: is {kind.name}, not text", hint=kind.hint)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # utf-8-sig counts from behind the mark
        offset = error.start + (3 if raw.startswith(b"\xef\xbb\xbf") else 0)
        raise InputError(
            f"{source.name}: byte {offset} is not UTF-8", hint="save the file as UTF-8"
        ) from None
    if not text.strip():
        raise InputError(f"{source.name}: the file is empty")
    return text


def iter_rows(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each object of a JSON Lines file or of a JSON array.

    Raises:
        RowErrors: rows that are not JSON objects; all of them, raised after the last one.
    """
    faults: list[RowFault] = []
    yield from parse_objects(read_text(path), str(path), faults)
    if faults:
        raise RowErrors(faults, hint="each line must be one JSON object")


def read_records(path: Path | str, model: type[Record]) -> list[Record]:
    """Read a JSON Lines file into records of one model.

    Raises:
        InputError: missing or empty file.
        RowErrors: malformed or invalid rows, each with file:line and the field's path.
    """
    records: list[Record] = []
    faults: list[RowFault] = []
    try:
        for line, row in iter_rows(path):
            try:
                records.append(model.model_validate(row))
            except ValidationError as error:
                faults.extend(RowFault(str(path), line, text) for text in describe(error))
    except RowErrors as error:
        faults.extend(error.faults)
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise RowErrors(faults, hint=f"each line must be a JSON object of kind {model.__name__}")
    return records


def read_any_records(path: Path | str, model: type[Record]) -> list[Record]:
    """Read a file of ours that may have no rows: no findings is a result too.

    A pipe has no size, so what tells is what was read.

    Raises:
        InputError: a missing file.
        RowErrors: malformed or invalid rows.
    """
    return read_records(path, model) if read_bytes(path).strip() else []


def read_own_records(path: Path, model: type[Record]) -> list[Record]:
    """Read rows that kina wrote, hundreds of thousands of them in seconds; there may be none.

    Raises:
        InputError: a missing file, or rows that are not sound: they are read again, to name them.
    """
    try:
        with path.open("rb") as file:
            return [model.model_validate_json(line) for line in file if not line.isspace()]
    except (ValidationError, OSError):
        return read_records(path, model)


def read_json(path: Path | str) -> Any:
    """Read one JSON document.

    Raises:
        InputError: missing, empty or malformed file, with line and column.
    """
    try:
        return parse_json(read_text(path), limits())
    except JsonFault as error:
        raise InputError(f"{path}:{error.line}: {error.message}") from None


def read_document(path: Path | str, model: type[Record]) -> Record:
    """Read one JSON document into a model.

    Raises:
        InputError: unreadable file or a document that does not fit the model.
    """
    try:
        return model.model_validate(read_json(path))
    except ValidationError as error:
        raise InputError(*(f"{path}: {text}" for text in describe(error))) from None


def describe(error: ValidationError) -> list[str]:
    """Turn a validation error into "dotted.path: message" lines."""
    return [f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}" for fault in error.errors()]


def canonical(value: Any) -> str:
    """Write JSON that is equal byte for byte for equal values (sorted keys, no blanks)."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def dump_line(record: BaseModel | Mapping[str, Any]) -> str:
    """Write one record as one JSON line; fields that are None are left out of models."""
    if isinstance(record, BaseModel):
        return record.model_dump_json(exclude_none=True)
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def dump_document(value: BaseModel | Mapping[str, Any]) -> str:
    """Write one document as indented JSON with a final newline."""
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def write_records(
    path: Path | str, records: Iterable[BaseModel | Mapping[str, Any]], *, private: bool = False
) -> int:
    """Write records as JSON Lines, atomically; return how many."""
    count = 0
    with writing(path, private=private) as out:
        for record in records:
            out.write((dump_line(record) + "\n").encode())
            count += 1
    return count


def write_document(path: Path | str, value: BaseModel | Mapping[str, Any], *, private: bool = False) -> None:
    """Write one JSON document, atomically."""
    write_text(path, dump_document(value), private=private)


def write_text(path: Path | str, text: str, *, private: bool = False) -> None:
    """Write a UTF-8 text file, atomically."""
    with writing(path, private=private) as out:
        out.write(text.encode())


@contextmanager
def writing(path: Path | str, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing so that it appears whole or not at all.

    The bytes go to a hidden file beside the target, which replaces it only after
    everything was written and synced. The folder must be there. "-" writes to standard
    output. A private file can be read by its owner only.
    """
    path = Path(path)
    forget(path)
    if path == STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        handle, part = open_part(path)
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no folder {path.parent}", hint="check its name, or make the folder first"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            # still open, and so locked: no other process takes it for litter
            part.chmod(0o600 if private else 0o666 & ~_umask())
            claim_file(path, part)
            part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
        raise


def _umask() -> int:
    # the only way to read the mask is to set it
    mask = os.umask(0)
    os.umask(mask)
    return mask
