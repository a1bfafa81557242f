"""Knowledge-base completion: what is asked about a subject and relation, and what a reply names."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from kina_build.chat import ChatReply, ChatRequest
from kina_build.errors import InputError
from kina_build.rows.tables import read_typed
from kina_build.scoring.lists import read_list
from kina_build.scoring.prompts import build_pair_prompt, prompt_digest
from kina_build.scoring.runs.calls import Call
from kina_build.scoring.triples.linking import NamedRow

NOTHING = [""]
"""How LM-KBC files say that a subject has no object."""


PLACEHOLDERS = frozenset({"subject", "relation", "context"})
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


class Pair(BaseModel):
    """One subject and relation to complete, as LM-KBC's input files write it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    subject: str = Field(alias="SubjectEntity", min_length=1)
    relation: str = Field(alias="Relation", min_length=1)
    subject_id: str | None = Field(None, alias="SubjectEntityID")
    context: str | None = Field(None, validation_alias=AliasChoices("Context", "context"))
    """What a prompt with {context} shows of the subject."""


class RelationPrompt(BaseModel):
    """The question to ask for one relation."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    relation: str
    prompt: str

    @field_validator("prompt")
    @classmethod
    def _names_subject(cls, value: str) -> str:
        if "{subject}" not in value:
            raise ValueError("a prompt needs {subject} where the subject stands")
        unknown = sorted(set(PLACEHOLDER.findall(value)) - PLACEHOLDERS)
        if unknown:
            raise ValueError(
                f"unknown placeholder {{{unknown[0]}}}; there are {{subject}}, {{relation}}, {{context}}"
            )
        return value


def read_prompts(path: Path) -> dict[str, str]:
    """Read a table relation, prompt.

    Raises:
        InputError, RowErrors: as read_typed; a prompt without {subject}.
    """
    return {row.relation: row.prompt for row in read_typed(path, RelationPrompt)}


def plan_pair_calls(
    pairs: Sequence[Pair],
    model: str,
    params: Mapping[str, Any] | None = None,
    *,
    examples: Sequence[NamedRow] = (),
    prompts: Mapping[str, str] | None = None,
    shots: int | None = None,
    seed: int = 0,
) -> list[Call]:
    """List the calls that ask for the objects of each pair, one a pair.

    Args:
        pairs: what is asked.
        model: name the endpoint knows.
        params: sent with each call.
        examples: rows shown before, as turns of the talk, where the relation is the same;
            an example about the very pair that is asked is left out.
        prompts: relation -> question with {subject}; others get the default.
        shots: examples shown a pair, chosen by choose_shots; None shows all of its relation.
        seed: of that choice.

    Raises:
        InputError: a prompt shows a context that a pair does not have, or there are fewer examples.
    """
    shown = _by_relation(examples)
    if shots is not None:
        shown = defaultdict(tuple, {name: draw_shots(rows, seed) for name, rows in shown.items()})
    questions = prompts or {}
    for pair in pairs:
        if "{context}" in questions.get(pair.relation, "") and not (pair.context or "").strip():
            raise InputError(
                f"the prompt of {pair.relation} shows {{context}}, and {pair.subject!r} has none",
                hint="give each such row a field Context, or take {context} out of the prompt",
            )
    return [
        _plan(pair, model, dict(params or {}), choose_shots(shown[pair.relation], pair, shots), questions)
        for pair in pairs
    ]


def draw_shots(rows: Sequence[NamedRow], seed: int) -> tuple[NamedRow, ...]:
    """Put examples of a relation into an order that depends on the seed and their subjects only."""

    def drawn(row: NamedRow) -> str:
        return hashlib.sha256(f"{seed}:{row.relation}:{row.subject}".encode()).hexdigest()

    return tuple(sorted(rows, key=drawn))


def choose_shots(rows: Sequence[NamedRow], pair: Pair, count: int | None) -> Sequence[NamedRow]:
    """Choose the examples shown before a pair: never of its own subject, in the order given.

    As in the examples of LLMKE, rows that say "there is none" have the share that they have
    among all; where there are such, at least one of two examples or more is one.

    Raises:
        InputError: there are fewer.
    """
    others = [row for row in rows if row.subject != pair.subject]
    if count is None:
        return others
    if len(others) < count:
        raise InputError(
            f"{len(others)} examples of {pair.relation} are about another subject than {pair.subject!r}, "
            f"and --shots wants {count}",
            hint="give more rows with --examples, or fewer --shots",
        )
    none = [row for row in others if not any(row.names or [])]
    least = 1 if none and count > 1 else 0
    wanted = min(len(none), max(round(count * len(none) / len(others)), least))
    if len(none) < len(others):
        wanted = min(wanted, max(count - 1, 0))
    wanted = max(wanted, count - (len(others) - len(none)))
    kept = {row.subject for row in none[:wanted]}
    kept |= {row.subject for row in [row for row in others if any(row.names or [])][: count - wanted]}
    return [row for row in others if row.subject in kept]


def _by_relation(examples: Sequence[NamedRow]) -> Mapping[str, Sequence[NamedRow]]:
    """Group examples by relation, each subject once."""
    groups: dict[str, dict[str, NamedRow]] = defaultdict(dict)
    for row in examples:
        if row.names is not None:
            groups[row.relation].setdefault(row.subject, row)
    return defaultdict(tuple, {relation: tuple(rows.values()) for relation, rows in groups.items()})


def _plan(
    pair: Pair,
    model: str,
    params: dict[str, Any],
    examples: Sequence[NamedRow],
    prompts: Mapping[str, str],
) -> Call:
    messages: list[dict[str, str]] = []
    for row in examples:
        messages += [_asked(row.subject, row.relation, prompts), _told(row.names or [])]
    messages.append(_asked(pair.subject, pair.relation, prompts, pair.context))
    talk = "\n".join(message["content"] for message in messages)
    request = ChatRequest(model=model, messages=tuple(messages), params=params)
    return Call(f"{pair.subject} / {pair.relation}", None, prompt_digest(talk), request)


def _asked(
    subject: str, relation: str, prompts: Mapping[str, str], context: str | None = None
) -> dict[str, str]:
    return {"role": "user", "content": build_pair_prompt(subject, relation, prompts.get(relation), context)}


def _told(names: Sequence[Any]) -> dict[str, str]:
    return {"role": "assistant", "content": json.dumps(list(names) or NOTHING, ensure_ascii=False)}


def read_objects(reply: ChatReply) -> list[str] | None:
    """Return the names a reply gives; [""] where it says there are none, None where it cannot be read.

    A reply that was cut off is not read: its list may lack any part.
    """
    if reply.status != "ok":
        return None
    reading = read_list(reply.text)
    names = list(reading.names)
    if names and not all(re.fullmatch(r"none\W*", name.casefold()) for name in names):
        return names
    return NOTHING if names or reading.rule in ("literal", "none") else None


def collect_pairs(
    pairs: Sequence[Pair], calls: Sequence[Call], replies: Sequence[ChatReply]
) -> list[dict[str, Any]]:
    """Turn replies into LM-KBC rows with their raw text, in the order of the pairs.

    A call that failed leaves no row, so that nothing scores it as an empty prediction.
    """
    return [
        {
            "SubjectEntityID": pair.subject_id,
            "SubjectEntity": pair.subject,
            "Relation": pair.relation,
            "ObjectEntities": read_objects(reply),
            "model": call.request.model,
            "status": reply.status,
            "response": reply.text,
            "prompt_sha": call.prompt_sha,
        }
        for pair, call, reply in zip(pairs, calls, replies, strict=True)
        if reply.answered
    ]
