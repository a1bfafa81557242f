"""Replies to questions with several right answers: all the letters that the last declaration names.

A part of a set is another answer, so a declaration is read to its end or not at all: what stands
between its letters must be separators, the options' own texts, or remarks in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kina_build.chat.objects import find_objects
from kina_build.scoring.replies.claims import Claim
from kina_build.scoring.replies.declarations import find_declarations
from kina_build.scoring.replies.labels import REASON, to_label
from kina_build.scoring.replies.optiontext import name_option
from kina_build.scoring.replies.patterns import CLOSERS, OPENERS, UNSPACED

_OPEN = r"(?:or|oder|ou|o|lub|atau|veya|или|of|eller|and|und|et|y|e|en|i|и|ve|dan|och|og)"
"""Words behind which an answer goes on: "A or C" names neither, and "A and ..." is not all that is named."""
_AND = r"(?:and|und|et|y|e|og|och|en|i|и|ve|dan|as well as|plus)"
_APART = re.compile(
    rf"[\s{CLOSERS}$]*(?:[,，、;；/&+|·]\s*(?:{_AND}\s+)?|\s{_AND}\s+|[和与及と및]\s*|\n\s*(?:[-*•–]\s*)?"
    rf"|[{CLOSERS}]\s*(?=[{OPENERS}])|\s+(?=[{OPENERS}]?[A-Z][{CLOSERS}]?(?:[\s,.]|$)))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"[\s{OPENERS}$*_\-•]*(?:(?i:options?|choices?|answers?|letters?|statements?)\s+[{OPENERS}]*)?"
    rf"(?P<sign>[A-Za-zА-Яа-яΑ-Ω])(?![^\W{UNSPACED}]|['’])[{CLOSERS}]*"
)
_RUN = re.compile(rf"[\s{OPENERS}$*_]*(?P<run>[A-Z]{{2,26}})(?!\w)[{CLOSERS}]*")
_REMARK = re.compile(
    r"[ \t]*(?:\([^()\n]{1,200}\)|[.:)\]：]?[ \t]*[-–—:：.)]?[ \t]*(?P<text>[^,;\n]{1,300}))"
)
_END = re.compile(
    rf"[\s{CLOSERS}$*_]*(?:$|[.!。！\n]|[;；,，]?\s*(?!{_OPEN}(?!\w)){REASON}(?!\w)"
    r"|[;；,，]\s*(?:not|but not|as|with|which|while)\b"
    r"|\s+(?:are|is|sind|sont|son|są|are all|both)\b|\s*[-–—]\s|\s*\(|です|이다|입니다|是正确|正确)",
    re.IGNORECASE,
)
_LINE = re.compile(
    rf"[ \t]*(?:[-*•–]|\d{{1,2}}[.)])?[ \t]*(?:[\[(][xX✓✔][\])]|[☑☒✅✔✓●])?[ \t]*[{OPENERS}*]*"
    rf"(?:(?i:option|choice)\s+)?(?P<sign>[A-Z])(?:[{CLOSERS}*]|[.:)：](?=\s|$)|\s[-–—]\s|\s*$)[^\n]*"
)
LINES_READ = 40
"""Lines at the end that are looked at: what is declared stands there."""
LONGEST_LINE = 2_000
"""Characters of a line that may be the texts of options and nothing else."""
_VERDICT = re.compile(
    r"(?<!\w)(?P<sign>[A-Z])\)? (?:is|are) "
    r"(?:(?P<wrong>not (?:correct|true|right)|incorrect|wrong|false|untrue)"
    r"|(?P<right>correct|true|right))(?!\w)"
)
"""Matches "A is correct", "(B) is not true", not "A is correctly said"."""
_ONLY = re.compile(
    rf"[\s{OPENERS}$*_\-•]*(?:(?i:options?|choices?|answers?)\s+)?[A-Z]"
    rf"(?:(?:[\s{OPENERS}{CLOSERS}$*_.,;/&+、，]|\b{_AND}\b)*[A-Z](?![a-z]))*[\s{CLOSERS}$*_.!]*",
)
"""A line that is letters and nothing else: "A, C", "Options A and D."; not "A gas"."""
KEYS = (
    "answer", "answers", "final_answer", "correct", "correct_answer", "correct_answers", "choice", "choices",
    "selected", "selection", "options", "letters",
)  # fmt: skip
"""Fields of an object that hold the letters of an answer."""


def read_several(text: str, index: Mapping[str, int], options: Sequence[str] | None) -> Claim | None:
    """Return all letters that the end of a reply declares together; None where it does not do so plainly.

    Args:
        text: the cleaned reply.
        index: the item's labels.
        options: their texts, where they are known.
    """
    return (
        _declared(text, options)
        or _in_object(text)
        or _judged(text, index)
        or _own_lines(text, index)
        or _alone_in_words(text, options)
    )


def _declared(text: str, options: Sequence[str] | None) -> Claim | None:
    """Read the last declaration that is no "if": its line, and the lettered lines right below it."""
    for declaration in reversed(find_declarations(text)):
        if declaration.supposed:
            continue
        start = declaration.offset
        found = _listed(text, start, options)
        if found is not None:
            return found
        named = _in_words(declaration.window, options)
        if named:
            return Claim(named, span=(start, start + len(declaration.window)))
    return None


def _listed(text: str, start: int, options: Sequence[str] | None) -> Claim | None:
    """Read letters from a place on, each with its gloss, up to the end of the clause."""
    lines = _lettered_block(text, start)
    if len(lines) > 1:
        return lines_claim(lines)
    run = _RUN.match(text, start)
    if run and _END.match(text, run.end()) and len(set(run["run"])) == len(run["run"]):
        return Claim(tuple(run["run"]), span=run.span("run"))
    signs: list[str] = []
    place, first = start, start
    while (label := _LABEL.match(text, place)) is not None:
        if not signs:
            first = label.start("sign")
        signs.append(to_label(label["sign"]))
        place = _skip_gloss(text, label.end(), options)
        apart = _APART.match(text, place)
        if apart is None or _LABEL.match(text, apart.end()) is None:
            break
        place = apart.end()
    if not signs or _END.match(text, place) is None:
        return None
    return Claim(tuple(dict.fromkeys(signs)), span=(first, place))


def _skip_gloss(text: str, place: int, options: Sequence[str] | None) -> int:
    """Return where the text or remark behind a letter ends: "B) argon", "B (a noble gas)"."""
    remark = _REMARK.match(text, place)
    if remark is None:
        return place
    if remark["text"] is None:
        return remark.end()
    said = remark["text"]
    cut = re.split(rf"\s+{_AND}\s+(?=[{OPENERS}]?[A-Z][{CLOSERS}.:]?\s)", said)[0]
    for one in (said, cut):
        if options and name_option(one, options, whole=True) is not None:
            return remark.start("text") + len(one.rstrip(" .*"))
    return place


def _lettered_block(text: str, start: int) -> list[re.Match[str]]:
    """Return the lettered lines from a place on, as long as one follows another."""
    found: list[re.Match[str]] = []
    place = start
    while (line := _LINE.match(text, place)) is not None:
        found.append(line)
        place = line.end()
        while text[place : place + 1] == "\n":
            place += 1
    return found


def lines_claim(lines: Sequence[re.Match[str]]) -> Claim:
    """Turn lettered lines into what they claim."""
    signs = tuple(dict.fromkeys(line["sign"] for line in lines))
    return Claim(signs, span=(lines[0].start("sign"), lines[-1].end("sign")))


def _in_words(window: str, options: Sequence[str] | None) -> tuple[str, ...]:
    """Read the texts of options, parted by commas and "and"; () where one of them is none."""
    if not options:
        return ()
    letters = list(map(chr, range(ord("A"), ord("A") + len(options))))
    whole = name_option(window, options, whole=True)
    if whole is not None:
        return (letters[whole],)
    pieces = [
        one for one in re.split(rf"\s*[,;、，；]\s*(?:{_AND}\s+)?|\s+{_AND}\s+", window) if one.strip(" .")
    ]
    places = [name_option(one, options, whole=True) for one in pieces]
    if len(pieces) < 2 or None in places:
        return ()
    return tuple(letters[place] for place in dict.fromkeys(places) if place is not None)


def _in_object(text: str) -> Claim | None:
    """Read {"answers": ["A", "C"]}."""
    if "{" not in text:
        return None
    for found in reversed(list(find_objects(text))):
        for name, value in found.items():
            listed = value if isinstance(value, list) else None
            if str(name).casefold() in KEYS and listed and all(_is_label(one) for one in listed):
                return Claim(tuple(dict.fromkeys(one.strip().upper() for one in listed)), span=(0, len(text)))
    return None


def _judged(text: str, index: Mapping[str, int]) -> Claim | None:
    """Read sentences that call every option right or wrong, each once."""
    found = list(_VERDICT.finditer(text))
    if sorted(one["sign"] for one in found) != sorted(index):
        return None
    right = tuple(one["sign"] for one in found if one["right"])
    return Claim(right, span=(found[0].start(), found[-1].end())) if right else None


def _alone_in_words(text: str, options: Sequence[str] | None) -> Claim | None:
    """Read a reply of one line that is the options' texts and nothing else."""
    line = text.strip()
    named = _in_words(line, options) if "\n" not in line and len(line) <= LONGEST_LINE else ()
    return Claim(named, span=(0, len(text))) if named else None


def _is_label(value: object) -> bool:
    return isinstance(value, str) and len(value.strip()) == 1 and value.strip().isalpha()


def _own_lines(text: str, index: Mapping[str, int]) -> Claim | None:
    """Read last lines that are letters and nothing else, or the lettered lines under a colon."""
    stripped = text.rstrip()
    lines = list(_line_starts(stripped))[-LINES_READ:]
    start = _letters_from(stripped, lines)
    only = None if start is None else _listed(stripped, start, None)
    if only is not None:
        return only if not re.search(r"\w", stripped[only.span[1] :]) else None
    whole = _lettered_block(stripped, 0)
    if whole and whole[-1].end() == len(stripped) and len({line["sign"] for line in whole}) < len(index):
        return lines_claim(whole)
    for place in range(len(lines) - 1, 0, -1):
        block = _lettered_block(stripped, lines[place])
        if not block or block[-1].end() < len(stripped):
            return None
        lead = stripped[lines[place - 1] : lines[place]].strip()
        if lead.endswith((":", "：")) and len({line["sign"] for line in block}) < len(index):
            return lines_claim(block)
    return None


def _letters_from(text: str, lines: Sequence[int]) -> int | None:
    """Return where the lines begin that end a text and hold nothing but letters; None without such a line."""
    found = None
    for start, end in zip(reversed(lines), (len(text), *reversed(lines[1:])), strict=False):
        if _ONLY.fullmatch(text[start:end].strip()) is None:
            break
        found = start
    return found


def _line_starts(text: str) -> Iterator[int]:
    """Yield where the lines of a text begin that are not blank."""
    start = 0
    for line in text.split("\n"):
        if line.strip():
            yield start
        start += len(line) + 1
