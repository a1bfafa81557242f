"""The blocks of a reply that lists names: headings, marked lines, tables, remarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from kina_build.scoring.replies.labels import LATIN, NATIVE

_NUMBER_MARK = r"\(?#?\d{1,4}\s?[.)．）:、。](?!\d)|\d{1,3}\s?[-–—](?=\s)|[①-⑳❶-❿➀-➉⓵-⓾]|\d\ufe0f?\u20e3"
_SIGN_MARK = r"[-*–—+](?=\s)|[•‣▪●○◦·・➤►▶→✓✔✅☑■□◆◇⁃∙★☆➢\U0001f536-\U0001f53b\U0001f7e0-\U0001f7eb]\ufe0f?"
_LETTER_MARK = r"\(?(?:[ivxIVX]{1,5}|[A-Za-zа-яА-Яα-ωア-コ가-하])[.)）](?=\s)|\((?:[ivx]{1,5}|[a-z])\)"
MARK = re.compile(
    rf"(?P<indent>\s*)(?P<mark>(?:{_NUMBER_MARK})|(?:{_SIGN_MARK})|(?:{_LETTER_MARK}))\s*(?P<rest>\S.*)"
)
_NUMBERED_ONLY = re.compile(rf"\s*(?:{_NUMBER_MARK})\s*\S")
_SIGN_ONLY = re.compile(rf"\s*(?:{_SIGN_MARK})\s*\S")

INLINE_MARKS = re.compile(
    r"(?:(?<=\s)|(?<=[,;，；、。（(])|^)(?:\(?\d{1,3}\s?[.)．）](?=\s)|[(（]\d{1,3}[)）]|\(?[a-zа-я]\)(?=\s)|\((?:[ivx]{1,5}|[a-z])\))"
    r"|[①-⑳❶-❿➀-➉]"
)
"""Marks of an enumeration inside one line: "1. Gauss 2. Euler", "(a) x, (b) y", "①赵②钱"."""

_RULE_ROW = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_RANK_CELL = re.compile(r"[(#]?\d{1,4}[.)]?|[①-⑳]")
_HEADING = re.compile(r"\s*#{1,6}\s+\S.*|.*[:：]\s*")
_REMARK = re.compile(
    r"\W*(?:total|count|sum|note|notes|source|sources|let me know|please|would you|do you|if you|i"
    r" hope|hope|these are|this is|"
    r"there are|that makes|feel free|here (?:is|are)|below|sure|certainly|of course|in total|all"
    r" (?:of )?(?:these|them)|"
    r"n'hésitez|voici|hinweis|anmerkung|insgesamt|总计|总共|共|以上|注|合計|以上です|必要|如果|希望|합계|총|이상|всего|итого|примечание|"
    r"total de|espero|nota)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r".*[.!?。！？]\s*")
LEAST_COUNTED = 3
"""Lines in the order of letters that are an enumeration."""
WORDS_OF_A_REMARK = 4
"""Words from which a line that ends like a sentence is one."""


@dataclass(frozen=True)
class Block:
    """Lines of one kind, or cells of a table."""

    kind: str
    """marked, lines, table."""
    entries: tuple[str, ...]


def find_blocks(text: str) -> Block:
    """Return the block that holds the names: a table, marked lines, or the lines that are no remark."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    table = _table(lines)
    if table is not None:
        return Block("table", tuple(table))
    enumerated = len(lines) == 1 and len(INLINE_MARKS.findall(lines[0])) > 1
    marked = None if enumerated else _in_native_order(lines) or _marked(lines)
    if marked is not None:
        return Block("marked", tuple(marked))
    return Block("lines", tuple(_without_remarks(lines)))


def _table(lines: Sequence[str]) -> list[str] | None:
    rows = [line for line in lines if line.count("|") >= 2 or _RULE_ROW.fullmatch(line)]
    ruled = [place for place, row in enumerate(rows) if "|" in row and _RULE_ROW.fullmatch(row)]
    if ruled and len(rows) > ruled[0] + 1:
        body = [row for row in rows[ruled[0] + 1 :] if not _RULE_ROW.fullmatch(row)]
        return name_column([[cell.strip() for cell in row.strip().strip("|").split("|")] for row in body])
    tabbed = [line.split("\t") for line in lines if "\t" in line.strip()]
    if len(tabbed) >= 2 and len(tabbed) == len(lines):
        tabbed = tabbed[1:] if _is_header(tabbed) else tabbed
        return name_column([[cell.strip() for cell in row if cell.strip()] for row in tabbed])
    return None


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first row names columns: it holds no figures, and a column below it holds only them."""
    width = min(map(len, rows))
    figures = [all(re.search(r"\d", row[column]) for row in rows[1:]) for column in range(width)]
    return len(rows) > 2 and any(figures) and not any(re.search(r"\d", cell) for cell in rows[0])


def name_column(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the first column that holds more than ranks."""
    width = min((len(row) for row in rows), default=0)
    for column in range(width):
        cells = [row[column] for row in rows]
        if not all(_RANK_CELL.fullmatch(cell) for cell in cells) or column == width - 1:
            return [cell for cell in cells if cell]
    return []


def _marked(lines: Sequence[str]) -> list[str] | None:
    """Return the marked lines without their marks; a line that others hang under is a heading."""
    rows = [(place, match) for place, line in enumerate(lines) if (match := MARK.fullmatch(line)) is not None]
    plain = [match for _, match in rows if _is_plain(match)]
    if len(rows) < 2 and not (len(rows) == len(lines) == 1 and plain):
        return None
    if not plain and len(rows) < len(lines) / 2:
        return None
    indents = [len(match["indent"].expandtabs(4)) for _, match in rows]
    entries: list[str] = []
    for number, (_, match) in enumerate(rows):
        deeper = number + 1 < len(rows) and indents[number + 1] > indents[number]
        if not deeper and not match["rest"].rstrip("* ").endswith((":", "：")):
            entries.append(match["rest"])
    return entries


def _in_native_order(lines: Sequence[str]) -> list[str] | None:
    """Return lines that letters of one script count, without a sign behind them: "ア 水星", "イ 金星"."""
    firsts = [line.strip()[:1] for line in lines]
    counted = len(lines) >= LEAST_COUNTED and all(line.strip()[1:2].isspace() for line in lines)
    order = next((one for one in (LATIN, *NATIVE) if counted and one.startswith("".join(firsts))), None)
    return None if order is None else [line.strip()[1:].strip() for line in lines]


def _is_plain(match: re.Match[str]) -> bool:
    line = match.string
    return _NUMBERED_ONLY.match(line) is not None or _SIGN_ONLY.match(line) is not None


def _without_remarks(lines: Sequence[str]) -> list[str]:
    if len(lines) < 2:
        return list(lines)
    remark = cache(is_remark)
    heading = cache(lambda line: _HEADING.fullmatch(line) is not None)
    kept = [line for line in lines[:-1] if not (heading(line) or remark(line))]
    kept += [line for line in lines[-1:] if not remark(line)]
    return kept or list(lines)


def is_remark(line: str) -> bool:
    """Tell whether a line talks about the list rather than naming a member."""
    if _REMARK.match(line):
        return True
    if not line.rstrip().endswith(tuple(".!?。！？")):
        return False
    unspaced = not line.isascii() and len(line.split()) <= 2
    long = len(line) >= 14 if unspaced else len(line.split()) >= WORDS_OF_A_REMARK
    listing = re.search(r"[,;、，；]", line.rstrip(".!?。 ")) is not None
    return _SENTENCE.fullmatch(line) is not None and long and not listing
