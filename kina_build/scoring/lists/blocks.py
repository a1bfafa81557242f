"""The blocks of a reply that lists names: headings, marked lines, tables, remarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from kina_build.scoring.lists.cutting import INLINE_MARKS
from kina_build.scoring.lists.glosses import Known, bare, resolve
from kina_build.scoring.replies.labels import LATIN, NATIVE

_NUMBER_MARK = (
    r"\(?#?\d{1,7}\s?[.)．）:、。](?!\d)|#\d{1,3}(?=\s)|\d{1,3}\s?[-–—](?=\s)|[①-⑳❶-❿➀-➉⓵-⓾]|\d\ufe0f?\u20e3"
    r"|第?[一二三四五六七八九十]{1,3}[、，．]|[（(][一二三四五六七八九十]{1,3}[）)]"
)
_SIGN_MARK = r"[-*–—+](?=\s)|[•‣▪●○◦·・➤►▶→✓✔✅☑■□◆◇⁃∙★☆➢\U0001f536-\U0001f53b\U0001f7e0-\U0001f7eb]\ufe0f?"
_LETTER_MARK = r"\(?(?:[ivxIVX]{1,5}|[A-Za-zа-яА-Яα-ωア-コ가-하])[.)）](?=\s)|\((?:[ivx]{1,5}|[a-z])\)"
MARK = re.compile(
    rf"(?P<indent>\s*)(?P<mark>(?:{_NUMBER_MARK})|(?:{_SIGN_MARK})|(?:{_LETTER_MARK}))\s*(?P<rest>\S.*)"
)
_NUMBERED_ONLY = re.compile(rf"\s*(?:{_NUMBER_MARK})\s*\S")
_SIGN_ONLY = re.compile(rf"\s*(?:{_SIGN_MARK})\s*\S")

_RULE_ROW = re.compile(r"\s*[|+]?\s*:?[-=]{2,}:?\s*(?:[|+]\s*:?[-=]{2,}:?\s*)*[|+]?\s*")
_BOX = re.compile(r"\[(?P<tick>[ xX✓✔*])\]\s+")
_FIELD = re.compile(r"[\"'*_]*(?P<key>[^\W\d][\w ]{0,24})[\"'*_]*\s?[:：=]\s?[*_]*\s*(?P<value>\S.*)")
"""Matches "length: 118 km", a field of the member above."""
_RANK_CELL = re.compile(r"[(#]?\d{1,7}[.)]?|[①-⑳]")
_HEADING = re.compile(r"\s*#{1,6}\s+\S.*|.*[:：]\s*")
_REMARK = re.compile(
    r"\W*(?:q(?:uestion)?\s?[:：]|total|count|sum|note|notes|source|sources|let me know|please|would you"
    r"|do you|if you|i"
    r" hope|hope|these are|this is|"
    r"there are|that makes|feel free|here (?:is|are)|below|sure|certainly|of course|in total|all"
    r" (?:of )?(?:these|them)|"
    r"n'hésitez|voici|hinweis|anmerkung|insgesamt|总计|总共|共|以上|注|合計|以上です|必要|如果|希望|합계|총|이상|всего|итого|примечание|"
    r"total de|espero|nota)(?<=[\w:：])(?!\w)",
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


def find_blocks(text: str, known: Known) -> Block:
    """Return the block that holds the names: a table, marked lines, or the lines that are no remark."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    table = _table(lines)
    if table is not None:
        return Block("table", tuple(table))
    enumerated = len(lines) == 1 and len(INLINE_MARKS.findall(lines[0])) > 1
    marked = None if enumerated else _in_native_order(lines) or _marked(lines, known)
    if marked is not None:
        return Block("marked", tuple(marked))
    return Block("lines", tuple(_without_remarks(lines, known)))


def _table(lines: Sequence[str]) -> list[str] | None:
    open_rule = any("|" in line.strip("| ") and _RULE_ROW.fullmatch(line) for line in lines)
    rows = [line for line in lines if line.count("|") >= (1 if open_rule else 2) or _RULE_ROW.fullmatch(line)]
    ruled = [
        place for place, row in enumerate(rows) if ("|" in row or "+" in row) and _RULE_ROW.fullmatch(row)
    ]
    if (
        not ruled
        and len(rows) == len(lines) > 1
        and all(row.strip()[0] == row.strip()[-1] == "|" for row in rows)
    ):
        return _cells(rows)
    if ruled and ruled[0] == 0 and len(ruled) > 2:
        del ruled[0]  # the frame's upper edge; the header's lower edge comes next
    if ruled and len(rows) > ruled[0] + 1:
        return _cells([row for row in rows[ruled[0] + 1 :] if not _RULE_ROW.fullmatch(row)])
    tabbed = [line.split("\t") for line in lines if "\t" in line.strip()]
    if len(tabbed) >= 2 and len(tabbed) == len(lines):
        tabbed = tabbed[1:] if _is_header(tabbed) else tabbed
        return name_column([[cell.strip() for cell in row if cell.strip()] for row in tabbed])
    return None


def _cells(rows: Sequence[str]) -> list[str]:
    return name_column([[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows])


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first row names columns: it holds no figures, and a column below it holds only them."""
    width = min(map(len, rows))
    figures = [all(re.search(r"\d", row[column]) for row in rows[1:]) for column in range(width)]
    return len(rows) > 2 and any(figures) and not any(re.search(r"\d", cell) for cell in rows[0])


def name_column(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the first column that holds more than ranks; a last row may break off."""
    width = min((len(row) for row in (rows[:-1] if len(rows) > 2 else rows)), default=0)
    if rows and len(rows[-1]) < width:
        rows = rows[:-1]
    for column in range(width):
        cells = [row[column] for row in rows]
        if not all(_RANK_CELL.fullmatch(cell) for cell in cells) or column == width - 1:
            return [cell for cell in cells if cell]
    return []


def _marked(lines: Sequence[str], known: Known) -> list[str] | None:
    """Return the marked lines without their marks; a line that others hang under is a heading."""
    rows = [match for line in lines if (match := MARK.fullmatch(line)) is not None]
    plain = [match for match in rows if _is_plain(match)]
    if len(rows) < 2 and not (len(rows) == len(lines) == 1 and plain):
        return None
    if not plain and len(rows) < len(lines) / 2:
        return None
    if all(known(bare(match[0])) and not known(bare(match["rest"])) for match in rows):
        return [bare(match[0]) for match in rows]  # "1. FC Köln": what looks like a mark belongs to the name
    return _without_keys(_ticked(_leaves(rows, known)))


def _leaves(rows: Sequence[re.Match[str]], known: Known) -> list[str]:
    """Return the lines nothing hangs under, or those above it where what hangs there describes them."""
    indents = [len(match["indent"].expandtabs(4)) for match in rows]
    deeper = [n + 1 < len(rows) and indents[n + 1] > indents[n] for n in range(len(rows))]
    texts = [match["rest"] for match in rows]
    least = min(indents)
    heads = [text for text, indent in zip(texts, indents, strict=True) if indent == least]
    below = [text for text, indent in zip(texts, indents, strict=True) if indent > least]
    if below and _describe(heads, below, known):
        return heads
    return [
        text
        for text, parent in zip(texts, deeper, strict=True)
        if not parent and not text.rstrip("* ").endswith((":", "："))
    ]


def _describe(heads: Sequence[str], below: Sequence[str], known: Known) -> bool:
    """Tell whether lines below heads are fields of them: the same keys again, or heads that are the names."""
    named = [
        sum(resolve(text.rstrip(":："), known)[0] != "unresolved" for text in part) for part in (heads, below)
    ]
    if any(named):
        return named[0] > named[1]
    fields = [match["key"].casefold() for text in below if (match := _FIELD.fullmatch(text)) is not None]
    return len(heads) > 1 and len(fields) == len(below) and len(set(fields)) <= len(fields) / 2


def _ticked(entries: list[str]) -> list[str]:
    """Return the ticked members of a list of boxes, all of them where none or each is ticked."""
    if not any(entry.startswith("[") for entry in entries):
        return entries
    boxes = [_BOX.match(entry) for entry in entries]
    ticked = any(box is not None and box["tick"].strip() for box in boxes)
    kept = [
        (entry, box)
        for entry, box in zip(entries, boxes, strict=True)
        if not ticked or box is None or box["tick"].strip()
    ]
    return [entry[box.end() :] if box else entry for entry, box in kept]


def _without_keys(entries: list[str]) -> list[str]:
    """Return the values where each member is written under one key: "name: gold"."""
    if not all(":" in entry or "：" in entry or "=" in entry for entry in entries):
        return entries
    fields = [_FIELD.fullmatch(entry) for entry in entries]
    keys = {field["key"].casefold() if field else None for field in fields}
    if len(entries) < 2 or len(keys) > 1 or None in keys:
        return entries
    return [bare(field["value"]) for field in fields if field]


def _in_native_order(lines: Sequence[str]) -> list[str] | None:
    """Return lines that letters of one script count, without a sign behind them: "ア 水星", "イ 金星"."""
    firsts = [line.strip()[:1] for line in lines]
    counted = len(lines) >= LEAST_COUNTED and all(line.strip()[1:2].isspace() for line in lines)
    order = next((one for one in (LATIN, *NATIVE) if counted and one.startswith("".join(firsts))), None)
    return None if order is None else [line.strip()[1:].strip() for line in lines]


def _is_plain(match: re.Match[str]) -> bool:
    line = match.string
    return _NUMBERED_ONLY.match(line) is not None or _SIGN_ONLY.match(line) is not None


def _without_remarks(lines: Sequence[str], known: Known) -> list[str]:
    if len(lines) < 2:
        return list(lines)
    remark = cache(lambda line: is_remark(line) and not known(bare(line)))
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
