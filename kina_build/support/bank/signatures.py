"""Signatures: what an item takes to answer, by one model call, a file, or the item's own form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from kina_build.chat import ChatReply, ChatRequest
from kina_build.chat.objects import find_objects
from kina_build.config import SupportRules
from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.rows.jsonl import write_records
from kina_build.rows.tables import read_typed
from kina_build.support.anchors import Anchor
from kina_build.support.judge.pairs import Ask, split_judge
from kina_build.support.judge.prompts import (
    TOP_RATING,
    read_rating,
    response_format,
    signature_messages,
    signature_schema,
)

FORMS = (
    ("exception", r"\b(except|not true|incorrect|least likely|false)\b"),
    ("quantity", r"\b(how (many|much|long|far|fast|often)|calculate|compute|find the (value|number))\b"),
    ("cause", r"\b(why|because|cause[sd]?|due to|leads? to|result of)\b"),
    ("definition", r"\b(define[sd]?|refers? to|known as|called|means?|term)\b"),
    ("person or time", r"\b(who|when|where|which (year|country|person))\b"),
    ("case", r"\b(patient|year-old|suppose|consider|scenario|plaintiff|defendant)\b"),
    ("choice", r"\b(which|what|select|choose)\b"),
)
"""Forms of questions and how they are told, first match wins; stands in for the method family."""

CONSTRAINTS = (
    ("negated", r"\b(not|never|except|neither|without|incorrect)\b"),
    ("superlative", r"\b(most|best|least|greatest|primary|main|first)\b"),
    ("numeric", r"\d"),
    ("conditional", r"\b(if|assum\w+|given that|suppose)\b"),
)


class Signature(BaseModel):
    """What an item takes to answer, in few words (KINA, Appendix B)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str = Field(min_length=1)
    """Of an item, or of a reference-only anchor."""
    method_family: str
    core_principle: str
    answer_type: str
    constraints: tuple[str, ...] = ()
    alignment: float | None = Field(default=None, ge=0, le=1)
    """Raw fit to the domain; none: taken from the embedding."""

    @field_validator("constraints", mode="before")
    @classmethod
    def _split_cell(cls, value: object) -> object:
        # a CSV cell holds them between semicolons
        return (
            [part.strip() for part in value.split(";") if part.strip()] if isinstance(value, str) else value
        )


def read_signatures(path: Path) -> dict[str, Signature]:
    """Read signatures from CSV or JSON Lines, by item.

    Raises:
        InputError: missing or empty file, or an item on two rows.
        RowErrors: rows that are not signatures.
    """
    found: dict[str, Signature] = {}
    for signature in read_typed(path, Signature):
        if signature.item_id in found:
            raise InputError(f"{path}: item_id {signature.item_id!r} stands on more than one row")
        found[signature.item_id] = signature
    return found


def write_signatures(path: Path, signatures: Sequence[Signature]) -> int:
    """Write signatures as JSON Lines, sorted by item; return how many."""
    ordered: list[Signature] = sorted(signatures, key=lambda signature: signature.item_id)
    return write_records(path, ordered)


def derive_signature(item: Item) -> Signature:
    """Derive a signature from the item's wording alone: a stand-in where no model is asked."""
    question = fold_stem(item.question)
    return Signature(
        item_id=item.item_id,
        method_family=next((name for name, rule in FORMS if re.search(rule, question)), "statement"),
        core_principle=item.correct_text or item.question,
        answer_type=answer_type(item),
        constraints=tuple(name for name, rule in CONSTRAINTS if re.search(rule, question)),
    )


def derive_anchor_signature(anchor: Anchor) -> Signature:
    """Derive a signature of a reference-only anchor from its statement."""
    statement = fold_stem(anchor.statement)
    return Signature(
        item_id=anchor.anchor_id,
        method_family=next((name for name, rule in FORMS if re.search(rule, statement)), "statement"),
        core_principle=anchor.statement,
        answer_type="",
        constraints=tuple(name for name, rule in CONSTRAINTS if re.search(rule, statement)),
    )


def answer_type(item: Item) -> str:
    """Name the form of an item's options: number, formula, truth, word, phrase or sentence."""
    options = [fold_stem(option.answer) for option in item.options]
    if not options:
        return ""
    if all(re.fullmatch(r"[-+−]?[$€£]?[\d.,/ ]+(%|\s?[^\d\s]{1,6})?", option) for option in options):
        return "number"
    if all(re.search(r"[=^\\<>|]|\d\s*[a-z]\b", option) for option in options):
        return "formula"
    if all(re.search(r"\b(true|false|yes|no|correct|wrong)\b", option) for option in options):
        return "truth"
    words = sum(len(option.split()) for option in options) / len(options)
    return "word" if words <= 2 else "phrase" if words <= 7 else "sentence"


def ask_signatures(
    items: Sequence[Item], judge: str, ask: Ask, rules: SupportRules = SupportRules()
) -> list[Signature]:
    """Get the signature of every item from a model, one call an item.

    A reply that holds no usable signature is asked for again, `rules.judge_rounds` times in
    all; a call that failed is not.

    Raises:
        Refusal: some items have no signature; nothing is made up for them.
    """
    found: dict[str, Signature] = {}
    waiting = list(items)
    lost: dict[str, str] = {}
    for attempt in range(rules.judge_rounds):
        read = _ask_once(waiting, judge, attempt, ask, rules)
        found |= {name: got for name, got in read.items() if isinstance(got, Signature)}
        lost = {n: why for n, why in lost.items() if n not in found} | {
            name: got.error or ("not in the reply" if got.status == "ok" else got.status)
            for name, got in read.items()
            if isinstance(got, ChatReply)
        }
        waiting = [item for item in waiting if _spoilt(read[item.item_id])]
    _refuse_lost(lost, len(items))
    return [found[item.item_id] for item in items]


def reread_alignment(
    items: Sequence[Item], judge: str, ask: Ask, rules: SupportRules = SupportRules()
) -> dict[str, float]:
    """Get a further reading of the alignment of items, exactly one call an item; spoilt replies are left out.

    Raises:
        Refusal: some calls failed.
    """
    read = _ask_once(items, judge, 0, ask, rules)
    failed = {
        name: got.error or got.status
        for name, got in read.items()
        if isinstance(got, ChatReply) and not got.answered
    }
    _refuse_lost(failed, len(items))
    return {
        name: got.alignment
        for name, got in read.items()
        if isinstance(got, Signature) and got.alignment is not None
    }


def _ask_once(
    items: Sequence[Item], judge: str, attempt: int, ask: Ask, rules: SupportRules
) -> dict[str, Signature | ChatReply]:
    """Ask about each item; return what was read, or the reply that nothing could be read of."""
    replies = ask([_request(item, judge, attempt, rules) for item in items])
    return {
        item.item_id: (read_signature(item.item_id, reply.text) if reply.status == "ok" else None) or reply
        for item, reply in zip(items, replies, strict=True)
    }


def _spoilt(read: Signature | ChatReply) -> bool:
    return isinstance(read, ChatReply) and read.answered


def _refuse_lost(lost: Mapping[str, str], items: int) -> None:
    if lost:
        first = min(lost)
        raise Refusal(
            f"{len(lost)} of {items} items have no signature ({first}: {lost[first]}); nothing was written",
            hint="good replies are kept: run again to ask only for the rest",
        )


def read_signature(item_id: str, text: str) -> Signature | None:
    """Read a signature from a reply; None if a part of it is missing or its alignment is no rating."""
    for row in find_objects(text):
        rating = read_rating(row.get("alignment"))
        texts = [row.get(name) for name in ("method_family", "core_principle", "answer_type")]
        if rating is None or not all(isinstance(text, str) and text.strip() for text in texts):
            continue
        limits = row.get("constraints")
        return Signature(
            item_id=item_id,
            method_family=fold_stem(str(texts[0])),
            core_principle=str(texts[1]).strip(),
            answer_type=fold_stem(str(texts[2])),
            constraints=tuple(sorted({fold_stem(str(c)) for c in limits}))
            if isinstance(limits, list)
            else (),
            alignment=rating / TOP_RATING,
        )
    return None


def _request(item: Item, judge: str, attempt: int, rules: SupportRules) -> ChatRequest:
    model, reading = split_judge(judge)
    return ChatRequest(
        model=model,
        messages=signature_messages(item),
        params={
            "temperature": rules.judge_temperature,
            "max_tokens": 4 * rules.judge_tokens,
            **response_format(rules.judge_form, "signature", signature_schema()),
            **rules.judge_params,
        },
        sample=reading * rules.judge_rounds + attempt,
    )
