"""From a reply to the list of names it gives, by the blocks it is made of.

In order: a literal (JSON, Python, also cut off); a table; marked lines; plain lines; names
inside a sentence. A gloss is no name of its own, and no name is cut through. What is prose
has the status unparsed, and what declines the status refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from kina_build.scoring.lists.blocks import Block, find_blocks, name_column
from kina_build.scoring.lists.glosses import Known, bare, conjunction, resolve
from kina_build.scoring.lists.inline import is_one, split_inline
from kina_build.scoring.lists.literals import read_literal
from kina_build.scoring.lists.markup import (
    after_announcement,
    drop_citations,
    plain_lines,
    unbracket,
    unwrap_answer,
)
from kina_build.scoring.replies import denials
from kina_build.scoring.replies.clean import drop_reasoning
from kina_build.scoring.replies.patterns import Cues

__all__ = ["ListReading", "conjunction", "parse_names", "read_list"]

ListStatus = Literal["ok", "refused", "empty", "unparsed"]

WORDS_OF_A_SENTENCE = 4
"""Words from which a text may be a sentence."""

LONGEST_REPLY = 20_000_000
"""Characters of a reply that are read: no list of names is longer."""

_FENCE = re.compile(r"```([\w-]*)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ONE_WORD = re.compile(r"[\w.'-]*", re.ASCII)
"""What lists nothing: a word without blanks and separators."""
_NONE = re.compile(
    r"\W*(?:(?:there (?:is|are)|it is|(?:the )?(?:\w+ )?(?:answer|set|list|intersection|result) is)(?:"
    r" an?)? )?"
    r"(?:none|nothing|n/?a|no (?:answer|objects?|members?)|unknown|null|(?:an? )?empty(?: set| list)?"
    r"|keine?|aucune?"
    r"|ninguno|nessuno|nenhum|нет|无|沒有|没有|なし|該当なし|없음|ไม่มี|لا يوجد)\W*"
    r"|\W*no (?:such )?[\w ]{1,60}\b(?:exists?|qualif(?:y|ies)|meets? \w[\w ]{0,30}|satisf(?:y|ies) \w[\w"
    r" ]{0,30})\W*",
    re.IGNORECASE,
)
_I_DECLINE = re.compile(
    r"\W*i(?:'m| am)? (?:do not|don['’]t|cannot|can['’]t|am not|not|unable)\b", re.IGNORECASE
)
_REFUSED = Cues((*denials.REFUSALS, "not able", "unfortunately", "désolé", "申し訳", "no puedo", "could you"))


@dataclass(frozen=True)
class ListReading:
    """The names of one reply, and what became of it."""

    names: tuple[str, ...]
    """In the reply's order, repeats included."""
    status: ListStatus
    rule: str = ""
    """The block the names stood in; "none" where the reply says that there are none."""
    by_gloss: int = 0
    """Names found in an entry only before or inside its gloss."""


def parse_names(response: str, language: str | None = None, known: Collection[str] = ()) -> list[str]:
    """List the names of a reply, as read_list does."""
    return list(read_list(response, language, known).names)


def read_list(response: str, language: str | None = None, known: Collection[str] = ()) -> ListReading:
    """Read the names of a reply.

    Args:
        response: the raw reply; closed reasoning blocks are dropped.
        language: code, for "and" before the last name.
        known: names of the question, such as the golds: they may hold a comma or an "and"
            themselves, and tell a name from its gloss.
    """
    text = drop_reasoning(response)[0][:LONGEST_REPLY].replace("\r\n", "\n").replace("\r", "\n").strip()
    is_known = Known(known, language or "")
    text = drop_citations(unwrap_answer(text))
    literal = _literal(text)
    if literal is not None:
        return _reading(literal, "literal", lambda name: ("whole", bare(name)))
    if not re.search(r"\w", text):
        return ListReading((), "empty")
    text = unbracket(after_announcement(text))
    if _NONE.fullmatch(text) and not is_known(bare(text)):
        return ListReading((), "empty", "none")
    block = _blocks(text, is_known)
    entries = _entries(block, language or "en", is_known)
    if entries is None:
        return ListReading((), "refused" if _REFUSED.occurs(text) else "unparsed")
    if block.kind == "lines" and _declines(text) and not any(is_known(bare(entry)) for entry in entries):
        return ListReading((), "refused")
    return _reading(entries, block.kind, lambda entry: resolve(entry, is_known, cut=block.kind != "lines"))


def _declines(text: str) -> bool:
    """Tell whether a text is a sentence that declines, and not a name that holds such a word."""
    sentence = len(text.split()) >= WORDS_OF_A_SENTENCE or not text.isascii()
    return (sentence and _REFUSED.occurs(text)) or _I_DECLINE.match(text) is not None


def _reading(entries: Iterable[str], rule: str, named: Callable[[str], tuple[str, str]]) -> ListReading:
    resolved = list(map(cache(named), entries))
    names = tuple(name for _, name in resolved if name)
    glossed = sum(how not in ("whole", "unresolved") for how, name in resolved if name)
    return ListReading(names, "ok" if names else "empty", rule, glossed)


def _literal(text: str) -> list[str] | None:
    for fence in _FENCE.finditer(text):
        if fence[1].lower() not in ("csv", "tsv", "markdown", "md"):
            names = read_literal(fence[2])
            if names is not None:
                return names
    return read_literal(text)


def _blocks(text: str, known: Known) -> Block:
    fence = _FENCE.search(text)
    if fence is not None:
        if fence[1].lower() in ("csv", "tsv"):
            return Block("table", tuple(_of_csv(fence[2], known)))
        text = fence[2] if fence[2].strip() else text
    return find_blocks(plain_lines(text), known)


def _of_csv(text: str, known: Known) -> list[str]:
    import csv

    rows = [
        row for row in csv.reader(text.strip().split("\n"), delimiter="\t" if "\t" in text else ",") if row
    ]
    if len(rows) > 1 and not any(known(bare(cell)) for cell in rows[0]):
        rows = rows[1:]
    return name_column(rows)


def _entries(block: Block, language: str, known: Known) -> list[str] | None:
    """List the entries of a block; None for prose."""
    if block.kind == "table":
        return list(block.entries)
    parts_of = cache(lambda entry: _parts(entry, language, known, lines=block.kind == "lines"))
    if block.kind == "marked":
        return [part for entry in block.entries for part in parts_of(entry)]
    if len(block.entries) == 1:
        return split_inline(block.entries[0], language, known)
    lines = _unwrapped(block.entries)
    if len(lines) == 1:
        return split_inline(lines[0], language, known)
    return [part for line in lines for part in parts_of(line)]


def _unwrapped(lines: tuple[str, ...]) -> list[str]:
    """Join a line that ends on a comma with the next."""
    joined: list[list[str]] = []
    for line in lines:
        if joined and joined[-1][-1].rstrip().endswith((",", "，", "、", ";", "；")):
            joined[-1][-1] = joined[-1][-1].rstrip()
            joined[-1].append(line.strip())
        else:
            joined.append([line])
    return [" ".join(parts) for parts in joined]


def _parts(entry: str, language: str, known: Known, *, lines: bool = False) -> list[str]:
    """Cut an entry that itself lists names of the question; others are one name, gloss included."""
    if _ONE_WORD.fullmatch(entry):
        return [entry]
    how, _ = resolve(entry, known)
    if how in ("whole", "bold", "before gloss") or is_one(entry, language):
        return [entry]
    inner = split_inline(entry, language, known) or []
    found = sum(resolve(part, known)[0] != "unresolved" for part in inner)
    if len(inner) > 1 and (found > 1 or found == len(inner)):
        return inner
    if len(inner) > 1 and how == "unresolved" and _is_listing(entry, inner, lines=lines):
        return inner
    return [entry]


def _is_listing(entry: str, inner: list[str], *, lines: bool) -> bool:
    """Tell whether a line of short pieces lists names although none is known."""
    return (
        lines
        and not re.search(r"\s[-–—]\s|[()（）]", entry)
        and all(len(part.split()) <= 3 for part in inner)
    )
