"""responses.jsonl: what models replied, one row a sample; and what of it can be marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kina_build.errors import RowErrors, RowFault
from kina_build.rows.jsonl import describe, read_text
from kina_build.rows.objects import WHOLE_FAULTS
from kina_build.rows.source import limits
from kina_build.rows.strict import JsonFault, parse_json
from kina_build.scoring.questions import Question, from_kina_metadata, hash_option

FAILED = frozenset({"timeout", "rate_limited", "server_error", "auth", "bad_request", "not_sent"})
"""Statuses of calls that brought no answer: such a sample is missing, not wrong."""


OptionHash = Annotated[str, Field(pattern="^[0-9a-f]{16,64}$")]
"""The sha256 of an option's text (hash_option), or its first 16 hex digits or more."""


class Asked(NamedTuple):
    """What a reply says of the question it answers."""

    item_id: str
    prompt_sha: str | None
    option_hashes: tuple[str, ...] | None

    @property
    def bare(self) -> bool:
        """Tell whether it says nothing but the item."""
        return self.prompt_sha is None and self.option_hashes is None


class Response(BaseModel):
    """One reply of one model to one question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    model: str = "model"
    sample: int = Field(0, ge=0)
    """0-based."""
    response: str | None = None
    """The raw text; absent where the call failed."""
    reasoning: str = ""
    """Reasoning that the server returned apart."""
    status: str = "ok"
    """Of the call, as kina_build.chat names them."""
    prompt_sha: str | None = None
    """Digest of the prompt it answers."""
    option_hashes: tuple[OptionHash, ...] | None = None
    """Of replies from elsewhere: hash_option of each option as it was shown, in order."""
    option_order: tuple[int, ...] | None = None
    """Places of the options in the order shown, where they were shuffled."""
    served_model: str | None = None
    """The model that the endpoint says has answered, where that is not the name it was asked by."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """Return (model, item_id, sample)."""
        return self.model, self.item_id, self.sample

    @property
    def asked(self) -> Asked:
        """Return what tells which form of its item is answered."""
        return Asked(self.item_id, self.prompt_sha, self.option_hashes)

    @property
    def answered(self) -> bool:
        """Tell whether the model answered at all."""
        return self.response is not None and self.status not in FAILED


@dataclass(frozen=True)
class ResponseFile:
    """The rows of one file, and what was wrong with its end."""

    responses: tuple[Response, ...]
    questions: tuple[Question, ...]
    """Questions the file carries itself, as KINA's public results do."""
    torn: int
    """Last lines that a crash cut short: 0 or 1."""


@dataclass(frozen=True)
class Sifted:
    """Responses that can be marked, and counts of those that cannot."""

    responses: tuple[Response, ...]
    """One a (model, item, sample), sorted."""
    dropped: Mapping[str, int]
    """repeat: an earlier row of the same sample; unknown_id; prompt_changed."""


def read_responses(path: Path | str) -> ResponseFile:
    """Read responses.jsonl, or a results file of the public KINA runner.

    A last line without its newline that is not JSON was cut by a crash: it is dropped.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are not responses, with file:line.
    """
    path = Path(path)
    *lines, end = read_text(path).split("\n")
    torn = int(bool(end.strip()) and not _is_json(end))
    if not torn:
        lines.append(end)
    records: list[Response | Question] = []
    faults: list[RowFault] = []
    for line, text in enumerate(lines, start=1):
        if text.strip():
            try:
                records += _parse(parse_json(text, limits()), path)
            except ValueError as error:
                messages = describe(error) if isinstance(error, ValidationError) else [str(error)]
                faults += [RowFault(str(path), line, message) for message in messages]
    if faults:
        raise RowErrors(faults, hint="each row needs item_id, model, sample, response")
    return ResponseFile(
        tuple(record for record in records if isinstance(record, Response)),
        tuple(record for record in records if isinstance(record, Question)),
        torn,
    )


def _replies(listed: Any) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(reply, dict) for reply in listed):
        raise ValueError("responses: not a list of objects")
    return listed


def _is_json(text: str) -> bool:
    try:
        parse_json(text, limits())
    except JsonFault as fault:
        return fault.reason in WHOLE_FAULTS
    return True


def _parse(row: Any, path: Path) -> Iterator[Response | Question]:
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  a fault of the file like the others
    if "responses" not in row:
        yield Response.model_validate(row if "item_id" in row else row | {"item_id": row.get("id")})
        return
    try:
        question = from_kina_metadata({"id": row.get("id")} | row["metadata"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"metadata: not a question of the KINA runner ({error})") from None
    yield question
    model = path.resolve().parent.parent.name or path.stem
    shown = tuple(map(hash_option, question.choices))
    for sample, reply in enumerate(_replies(row["responses"])):
        text = reply.get("content")
        yield Response(
            item_id=question.item_id,
            model=model,
            sample=sample,
            response=text if text is not None or not reply.get("reasoning") else "",
            reasoning=reply.get("reasoning") or "",
            status="ok" if text is not None or reply.get("reasoning") else "server_error",
            option_hashes=shown,
        )


def sift_responses(
    responses: Sequence[Response], item_ids: Container[str], foreign: Container[Asked] = ()
) -> Sifted:
    """Keep the last row of each sample whose item is known and whose prompt is unchanged.

    Args:
        responses: in file order.
        item_ids: of the items that are marked.
        foreign: what replies were asked that none of the items' known forms asks.
    """
    dropped: Counter[str] = Counter()
    kept: dict[tuple[str, str, int], Response] = {}
    for response in responses:
        if response.item_id not in item_ids:
            dropped["unknown_id"] += 1
            continue
        if response.asked in foreign:
            dropped["prompt_changed"] += 1
            continue
        dropped["repeat"] += response.key in kept
        # a failed retry does not wipe out an answer
        if response.answered or response.key not in kept or not kept[response.key].answered:
            kept[response.key] = response
    counts = {name: dropped[name] for name in ("repeat", "unknown_id", "prompt_changed")}
    return Sifted(tuple(kept[key] for key in sorted(kept)), counts)
