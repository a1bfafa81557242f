r"""From the mark-up of a reply to plain lines: HTML, LaTeX, sets in braces, a line that answers."""

from __future__ import annotations

import html
import re
from itertools import islice

from kina_build.chat.objects import find_objects
from kina_build.scoring.lists.glosses import drop_links
from kina_build.scoring.replies import cues
from kina_build.scoring.replies.patterns import any_of

LONGEST_OBJECT = 20_000
"""Characters in which an object is looked for that holds the list as a text."""
LONGEST_SIGNS = 100

_SIGNS = re.compile(r"[^\w\n]{200,}")
"""Signs and blanks in a row that no list holds: what looks for endings would walk them again and again."""
_ANSWER_FIELDS = frozenset({"answer", "answers", "final_answer", "list", "result", "results", "response"})
_BARE_LIST = re.compile(r"(?P<open>[\[{])(?P<inner>[^\[\]{}\"]{1,20000}[,;][^\[\]{}\"]{1,20000})[\]}]\.?")
"""Matches "[gold, silver]", not '["gold"]' nor "[gold](address)"."""
_SET = re.compile(
    r"(?:[^\n{}]{0,200}[=:：]\s*)?(?P<sets>\{[^{}\n]{1,20000}\}(?:\s*[∪+]\s*\{[^{}\n]{1,20000}\})*)[\s.]*"
)
"""Matches "A ∪ B = {gold, silver}" and "{gold} ∪ {silver}"."""
_ITEM = re.compile(r"<li\b[^<>]{0,100}>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?(?:ul|ol|li|p|b|i|em|strong|div|span|u)\b[^<>]{0,100}>", re.IGNORECASE)
_CLOSED = re.compile(r"</([A-Za-z][\w:.-]{0,40})\s*>")
_CITED = re.compile(r"(?<=[\w.)\"'”’*])(?:\[\^?\d{1,3}\](?!\()|【\d{1,3}[^【】\n]{0,30}】)")
"""Matches the reference in "gold[1]", not the list in "x = [1]"."""
_REFERENCE_MARK = re.compile(r"^[ \t]*\[(\d{1,3})\][ \t]+(?=\S)", re.MULTILINE)
"""Matches the mark in "[1] gold"."""
_LATEX_ITEM = re.compile(r"\\item\b(?:\[[^\[\]]{0,20}\])?\s*")
_LATEX_FRAME = re.compile(r"\\(?:begin|end)\s*\{[a-z]{1,20}\*?\}|\\(?:left|right)(?=[\\{}()\[\]])|\\[()\[\]]")
_LATEX_STYLE = re.compile(
    r"\\(?:boxed|fbox|text(?:bf|it|rm|sf|tt)?|math(?:rm|bf|sf|it)|mbox|emph)\s*\{([^{}]*)\}"
)
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_BORDERS = str.maketrans("│┃║", "|||") | str.maketrans("─━═┼┬┴├┤┌┐└┘╔╗╚╝╠╣╦╩╬", "---" + "+" * 18)
_KEYED = re.compile(r"^[^\n:：]{2,60}[:：]", re.MULTILINE)
_ANSWERS = re.compile(
    rf"[\s#*_>]*(?:final |my |the |die |la |最终|最終)?{any_of(cues.ANSWER_NOUNS)}[*_\s]*[:：][*_"
    rf" \t]*(?=\S|\n)",
    re.IGNORECASE,
)


def unwrap_answer(text: str) -> str:
    """Return the one text of an object that holds the list as a text: {"answer": "gold, silver"}."""
    if "{" not in text:
        return text
    for found in find_objects(text[:LONGEST_OBJECT]):
        named = [value for name, value in found.items() if str(name).strip().casefold() in _ANSWER_FIELDS]
        values = named or (list(found.values()) if len(found) == 1 else [])
        if len(values) == 1 and isinstance(values[0], str):
            return values[0].strip()
        return text
    return text


def drop_citations(text: str) -> str:
    """Drop the references behind names ("gold[1]"), and write those that count lines as numbers."""
    if "[" not in text and "【" not in text:
        return text
    if len(_REFERENCE_MARK.findall(text)) > 1:
        text = _REFERENCE_MARK.sub(r"\1. ", text)
    return _CITED.sub("", text)


def unbracket(text: str) -> str:
    """Return what stands in the brackets of a list whose names have no quotes: [gold, silver]."""
    text = _SIGNS.sub(lambda run: run[0][:LONGEST_SIGNS], _unlatexed(text) if "\\" in text else text)
    found = _BARE_LIST.fullmatch(text)
    if found:
        return found["inner"].strip()
    sets = _SET.fullmatch(text) if "{" in text else None
    return re.sub(r"\}\s*[∪+]\s*\{", ", ", sets["sets"]).strip("{}") if sets else text


def after_announcement(text: str) -> str:
    """Return what stands behind the one line that announces the answer: "Final answer: gold"."""
    keyed = (_ANSWERS.match(text, line.start()) for line in _KEYED.finditer(text))
    found = list(islice(filter(None, keyed), 2))
    behind = text[found[0].end() :].strip() if len(found) == 1 else ""
    return behind or text


def plain_lines(text: str) -> str:
    """Write lists of HTML and LaTeX as marked lines, and drop what only decorates."""
    if "<" in text:
        text = _BREAK.sub("\n", _ITEM.sub("\n- ", _untagged(text)))
        text = _TAG.sub("", text)
    if ">" in text:
        text = _QUOTED.sub("", text)
    return drop_links(html.unescape(text) if "&" in text else text).translate(_BORDERS)


def _untagged(text: str) -> str:
    """Drop tags that are opened and closed; those that stand more than once hold a member each."""
    for name in dict.fromkeys(match[1] for match in _CLOSED.finditer(text)):
        opened = re.compile(rf"<{re.escape(name)}(?:\s[^<>]{{0,200}})?>", re.IGNORECASE)
        if _TAG.match(f"<{name}>") or not opened.search(text):
            continue
        text = text.replace(f"</{name}>", "")
        text = opened.sub("\n- " if len(opened.findall(text)) > 1 else "", text)
    return text


def _unlatexed(text: str) -> str:
    text = _LATEX_ITEM.sub("\n- ", _LATEX_FRAME.sub("", text))
    text = text.replace("\\{", "\ue010").replace("\\}", "\ue011")
    for _ in range(3):  # styles inside a box
        text = _LATEX_STYLE.sub(r"\1", text)
    text = text.replace("\ue010", "{").replace("\ue011", "}").strip()
    return text.strip("$").strip() if text.startswith("$") and text.endswith("$") else text
