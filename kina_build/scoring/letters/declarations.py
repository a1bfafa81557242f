"""Explicit declarations: "Answer: C", "the correct option is C", "\\boxed{C}", {"choice": "C"}."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kina_build.scoring.letters import cues
from kina_build.scoring.letters.clean import BOX_CLOSE, BOX_OPEN
from kina_build.scoring.letters.labels import LATIN, to_label
from kina_build.scoring.letters.mentions import (
    CLOSERS,
    LINK_WORDS,
    NATIVE,
    OPENERS,
    REJECTED_AFTER,
    SIGN,
    UNSPACED,
    any_of,
    compiled,
    find_mentions,
    is_a_word,
)

WINDOW = 200
"""Characters read behind a cue."""

MIDDLE = 60
"""Characters that may stand between "answer" and "is"."""

LAST_CUES = 64
"""Cues read at most: in a reply that announces its answer more often, the last ones count."""

MARKS = "\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0bbe-\u0bcd\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
"""Vowel signs and tone marks: a letter that carries one is part of a word."""

KEYS = (
    "choice",
    "option",
    "letter",
    "selection",
    "pick",
    "prediction",
    "label",
    "selected",
    "final",
    "result",
)
HEADINGS = (
    *KEYS,
    "solution",
    "conclusion",
    "response",
    "verdict",
    "correct",
    "ans",
    "opción",
    "wahl",
    "choix",
)
"""Words that declare only as a key of JSON, or at the start of a line before a colon."""

_NEGATED = compiled(cues.NOT_COPULAS)
_FILLERS = any_of(
    (
        *(*cues.OPTION_NOUNS, *cues.ANSWER_NOUNS, "the", "la", "le", "el", "die", "der", "das", "de"),
        *(
            "most",
            "very",
            "likely",
            "probably",
            "definitely",
            "clearly",
            "certainly",
            "therefore",
            "thus",
            "hence",
        ),
        *(
            "is",
            "be",
            "indeed",
            "simply",
            "just",
            "clearly",
            "und",
            "also",
            "donc",
            "then",
            "both",
            "so",
            "i think",
        ),
        *(
            "it is",
            "it's",
            "i choose",
            "i pick",
            "given",
            "obviously",
            "still",
            "now",
            "again",
            "must",
            "would",
        ),
    )
)
_GLUE = rf"[{BOX_OPEN}\s:：,，;$>→=≈\-–—・.{OPENERS}]"
_REASON = rf"(?:{'|'.join(sorted(set(cues.REASONS)))})"
_DIRECT = re.compile(
    rf"{_GLUE}{{0,12}}(?:(?:(?i:{_FILLERS})|[aoe](?=\s)){_GLUE}{{0,8}}){{0,5}}"
    rf"(?:(?P<upper>[{LATIN}АВСЕНІЈКМОРЅТХУΑΒΕΗΙΚΜΝΟΡΤΧΥΖ])(?![^\W{UNSPACED}{NATIVE}])(?![-+#^]\w|[+#])"
    rf"|(?P<lower>[a-z{NATIVE}аеосБГДбгдΓΔ])(?=\s*(?:$|[\n.,;:!?。，；：{CLOSERS}{BOX_CLOSE}–—-]|{_REASON}(?!\w)|[\u3040-\u9fff]))(?![{MARKS}])"
    rf"|(?P<run>[A-Z]{{2,5}})(?!\w)|(?P<number>\d{{1,3}})(?![\w%°]|[.,]\d))"
)
_MORE = re.compile(
    rf"[\s{CLOSERS}]*(?:{LINK_WORDS}|[\s;])[\s,]*(?:(?:and|or|also|possibly|perhaps|maybe|even|both|option|choice|letter|und|oder|{'|'.join(cues.OPTION_NOUNS[:9])})\s+){{0,3}}"
    rf"[{OPENERS}\s]*([A-Za-z])[{CLOSERS}]*(?=\s*(?:$|[\n.,;:!。，、；/&|{BOX_CLOSE}]|(?:and|or|both|und|oder|et|y|或|和|are|is)\b)|[\u3040-\u9fff])"
)
_PLACEHOLDER = re.compile(
    rf"[{CLOSERS}\s.,]*(?:where\b|stands for|being one|\(?(?:one of|the letter)|is (?:one of|the letter|a letter))",
    re.I,
)
_WORD_PLACEHOLDER = re.compile(
    rf"[\s{OPENERS}$]*(?:LETTER|YOUR (?:ANSWER|CHOICE|LETTER)|OPTION|INSERT)\b(?!\s*[=:]?\s*[{OPENERS}]?[A-Z]\b)"
)
_WINDOW_END = re.compile(rf"\n|(?<=[^\s.])[.!?](?=\s|$)|[。！？；{BOX_CLOSE}]|(?<=\w)[.]{{2,}}")


@dataclass(frozen=True)
class Declaration:
    """One explicit cue and the text it introduces."""

    start: int
    window: str
    offset: int
    """Where the window starts in the text."""
    strict: bool
    """Only a letter right at the window's start counts."""
    supposed: bool
    """Stands in an "if" or behind "wrong"."""
    boxed: bool = False


@dataclass(frozen=True)
class Claim:
    """What one declaration says."""

    labels: tuple[str, ...]
    """The letters it asserts: one, or several that it does not decide between."""
    rejected: frozenset[str]
    span: tuple[int, int]
    doubted: bool = False
    """The letter is followed by a question mark."""


def find_declarations(text: str, start: int = 0) -> list[Declaration]:
    """List the explicit declarations of a text, in order; of very many, the last LAST_CUES."""
    pattern = _pattern(*_present(text[start:]))
    if pattern is None:
        return []
    heads = deque(pattern.finditer(text, start), maxlen=LAST_CUES)
    return [found for head in heads if (found := _declaration(text, head)) is not None]


def _present(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the cue words that occur in a text: a search for a dozen words beats one for all."""
    lowered = text.lower()
    if lowered.isascii():
        tables = _ASCII_TABLES
    else:
        tables = _TABLES
    found = [tuple(piece for stem, piece in table if stem in lowered) for table in tables]
    return (*found, (BOX_OPEN,) if BOX_OPEN in text else ())


def _stem(piece: str) -> str:
    return re.split(r"[\\\[?(]", piece)[0].lower()


def _table(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((_stem(word), word) for word in sorted(words, key=lambda word: (-len(word), word)))


_TABLES = tuple(map(_table, (cues.ANSWER_NOUNS, cues.OPTION_NOUNS, cues.RIGHT, HEADINGS, cues.PICKS)))
_ASCII_TABLES = tuple(tuple(pair for pair in table if pair[0].isascii()) for table in _TABLES)


@lru_cache(maxsize=4096)
def _pattern(
    nouns: tuple[str, ...],
    options: tuple[str, ...],
    rights: tuple[str, ...],
    keys: tuple[str, ...],
    picks: tuple[str, ...],
    box: tuple[str, ...],
) -> re.Pattern[str] | None:
    heads = [*_noun_heads(nouns), *(_option_heads(options, rights) if options and rights else ())]
    parts = [rf"(?P<noun>{'|'.join(heads)})"] if heads else []
    if keys:
        key = "|".join(keys)
        parts.append(
            rf"(?P<key>[\"'](?:{key})[\"']\s*[:=]\s*|^[ \t\-•]*(?:final |my |the )?(?:{key})\s*[:：=]\s*)"
        )
    if picks:
        parts.append(rf"(?P<pick>{any_of(picks)}\s+(?:that\s+)?)")
    parts += [f"(?P<box>{sign})" for sign in box]
    return re.compile("|".join(parts), re.I | re.M) if parts else None


def _noun_heads(nouns: tuple[str, ...]) -> Iterator[str]:
    if nouns:
        left = rf"(?:(?<![^\W{UNSPACED}])|(?-i:(?<=[a-z])(?=[A-Z])))"
        behind = r"(?:\s?(?:key|letter|choice|option|id))?"
        yield rf"{left}(?:{'|'.join(nouns)}){{1,3}}{behind}(?![^\W{UNSPACED}])"


def _option_heads(options: tuple[str, ...], rights: tuple[str, ...]) -> Iterator[str]:
    right, option = any_of(rights), any_of(options)
    yield rf"{right}(?:\s+\w{{1,15}}){{0,2}}?\s+{option}"
    yield rf"{option}\s+(?:que es |yang )?{right}"
    if any(re.search(f"[{UNSPACED}]", word) for word in rights):
        yield rf"{right}(?:的|な)?{option}"


_LINK = re.compile(
    rf"\s*[\"'”’{CLOSERS}]{{0,3}}\s*(?:[-=]+>|[:：=→])|\s[-–—]+(?=\s)|\s*{any_of((*cues.COPULAS, *cues.NOT_COPULAS))}\s*[:：]?",
    re.I,
)
_BARE = re.compile(rf"\s*\n\s*|[ \t]*[{CLOSERS}]{{1,3}}\s*|[ \t]*(?=[{OPENERS}{NATIVE}A-Za-z])")
_BREAK = re.compile(r"[.!?:：。！？\n=]")


def _declaration(text: str, head: re.Match[str]) -> Declaration | None:
    groups = head.groupdict()
    end, negated, strict = head.end(), False, True
    if groups.get("noun") is not None:
        link = _LINK.search(text, end, end + MIDDLE)
        if link is not None and _BREAK.search(text, end, link.start()) is None:
            end, strict, negated = link.end(), False, _NEGATED.search(link[0]) is not None
        elif (bare := _BARE.match(text, end)) is not None:
            end = bare.end()
        else:
            return None
    window, offset = _window(text, end)
    if negated:
        window, offset = "not " + window, offset - 4
    boxed = groups.get("box") is not None
    supposed = not boxed and _is_supposed(text, head)
    return Declaration(head.start(), window, offset, strict, supposed, boxed)


def _window(text: str, offset: int) -> tuple[str, int]:
    stop = min(len(text), offset + WINDOW)
    while offset < stop and text[offset] in " \n":
        offset += 1
    end = _WINDOW_END.search(text, offset, stop)
    return text[offset : end.end() if end else stop], offset


_SENTENCE = re.compile(r"[.!?\n。！？]")
_SUPPOSING = compiled(
    (
        *cues.HYPOTHETICAL,
        "wrong",
        "incorrect",
        "not",
        "\\w+n['’]t",
        "never",
        "mistaken",
        "tempting",
        "common",
        "nicht",
        "不",
    )
)
_TURNED = re.compile(rf",|{any_of(cues.TURNS)}", re.I)


def _is_supposed(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 70) : match.start()]
    sentence = _SENTENCE.split(before)[-1]
    supposition = _SUPPOSING.search(sentence)
    return supposition is not None and _TURNED.search(sentence, supposition.end()) is None


def read_claim(declaration: Declaration, index: dict[str, int]) -> Claim | None:
    """Return what a declaration claims, or None if it names no letter.

    Args:
        declaration: one of find_declarations.
        index: the item's labels.
    """
    window = declaration.window
    if _WORD_PLACEHOLDER.match(window):
        return None
    direct = _direct(window, index)
    if direct is not None:
        return _shifted(direct, declaration.offset)
    if declaration.strict:
        return None
    claim = _indirect(window)
    return None if claim is None else _shifted(claim, declaration.offset)


def _shifted(claim: Claim, offset: int) -> Claim:
    start, end = claim.span
    return Claim(claim.labels, claim.rejected, (start + offset, end + offset), claim.doubted)


def _direct(window: str, index: dict[str, int]) -> Claim | None:
    match = _DIRECT.match(window)
    if match is None:
        return None
    if match["run"]:
        return _run(match, index)
    if match["number"]:
        named = match["number"] in index
        return Claim((match["number"],), frozenset(), match.span("number")) if named else None
    group = "upper" if match["upper"] else "lower"
    opened = match.start(group) > 0 and window[match.start(group) - 1] in "([{<«“\"'‘【（"
    sign = match[group].upper()
    if not opened and is_a_word(window, sign, match.start(group), match.end(group), named=False):
        return None
    rest = window[match.end(group) :]
    if REJECTED_AFTER.match(rest) or _PLACEHOLDER.match(rest):
        return None
    labels = [to_label(match[group]), *_more(rest)]
    doubted = rest.lstrip(" )]}'\"").startswith("?")
    return Claim(tuple(dict.fromkeys(labels)), frozenset(), match.span(group), doubted)


def _run(match: re.Match[str], index: dict[str, int]) -> Claim | None:
    letters = match["run"]
    several = all(letter in index for letter in letters) and list(letters) == sorted(set(letters))
    return Claim(tuple(letters), frozenset(), match.span("run")) if several else None


def _more(rest: str) -> Iterator[str]:
    """Yield the letters listed behind the first: ", D", "or D", "and E"."""
    position = 0
    while (match := _MORE.match(rest, position)) is not None:
        if match[1].islower() and not match[0].lstrip()[0] in ",/&+;":
            return
        if REJECTED_AFTER.match(rest[match.end() :]):
            return
        yield match[1].upper()
        position = match.end()


def _indirect(window: str) -> Claim | None:
    mentions = find_mentions(window)
    rejected = frozenset(mention.label for mention in mentions if mention.stance == "rejected")
    asserted = [m for m in mentions if m.stance in ("picked", "implied")]
    if not asserted:
        return Claim((), rejected, (0, 0)) if rejected else None
    last = [asserted[-1]]
    while last[0].linked and mentions.index(last[0]) > 0:
        last.insert(0, mentions[mentions.index(last[0]) - 1])
    labels = tuple(dict.fromkeys(m.label for m in last if m.stance != "rejected"))
    return Claim(labels, rejected, (last[0].start, last[-1].end))
