"""Names inside one line or sentence: "The gifts were gold, frankincense and myrrh."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kina_build.scoring.lists.blocks import is_remark
from kina_build.scoring.lists.cutting import CLOSED, COMMAS, HARD, OPENED, cut, cut_at_marks, rejoin, signs_of
from kina_build.scoring.lists.glosses import LONGEST_ENTRY, Known, bare, ends, joins, opens

_ANY_CUT = re.compile(rf"[{HARD}{COMMAS}/.!?。！？·•‧→⟶➜>\t]")
_SLASHES = re.compile(r"\s+[/·•‧|]\s+|\t+")
_ARROWS = re.compile(r"\s+(?:→|⟶|➜|-+>|=>)\s+")
_AFTER_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*(?=\S)")
_LEAD_VERB = re.compile(
    r"\b(?:are|were|is|was|include|includes|included|comprise|namely|called|sont|sind|waren|son|fueron|sono|são|zijn|är|er|są|это|"
    r"являются|adalah|là|olan|lauten|heißen)\b:?\s+(?:(?:the following|as follows|both)\b:?\s*)?"
    r"|(?:是|包括|有|为|為)[:：]?|(?<=[\u3040-\u9fff])は[、：]?",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"\s*(?:हैं|है|ہیں|ہے|হলো|হল|আছে)?[।۔]$|(?:の[一二三四五六七八九十\d]+[つ個人種]?)?(?:です|である|になります|となります|입니다)[。.]?$"
    r"|[\s,，、]*(?:\betc\b\.?|\band so on\b|\band others\b|\busw\b\.?|и т\.\s?д\.|等等?|など|\.{3,}"
    r"|…)[。.]?$|(?<!\b[A-Z])[。.！!]+$",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\s*[(（]\s*(?:\d+|all|in total)\b[^()（）]{0,30}[)）]\s*$", re.IGNORECASE)
_ET_CETERA = re.compile(
    r"\W*(?:etc|and so on|(?:and |among )?(?:many )?others|and (?:many )?more|usw|u\.\s?a|entre (?:autres"
    r"|otros|outros)"
    r"|и т\.\s?д|и др|等等?|など)?\W*",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:so|thus|therefore|hence|sure|okay|ok|yes|well|certainly|of course|donc|also|por lo tanto"
    r"|portanto|quindi"
    r"|итак|所以|因此)\s?[,!:，、]\s*",
    re.IGNORECASE,
)
"""Matches "So, " before a list, which is no member of it."""
_ONLY = re.compile(r"^(?:only|just|solely)\s+", re.IGNORECASE)
TAIL = 100
"""Characters in which an ending is looked for: over a whole reply, runs of blanks would cost their square."""

BLANK_PARTED = ("th", "lo", "km", "my")
"""Languages that write no blanks between words, but may between names."""

LONGEST_PAIR = 1_000
"""Characters of a piece that is searched for a conjunction: two names are not longer."""

WORDS_OF_A_CLAUSE = 5
"""Words from which a piece that is no name of the question is a clause rather than a name."""


def is_one(text: str, language: str) -> bool:
    """Tell whether a text holds nothing that split_inline could cut it at."""
    return not (_ANY_CUT.search(text) or joins(language).search(text) or cut_at_marks(text.strip()))


def split_inline(text: str, language: str, known: Known) -> list[str] | None:
    """List the names of a line; None where it is prose that lists nothing.

    Args:
        text: one line, or several that belong together.
        language: code, for the conjunctions.
        known: tells the names of the question, which may hold commas and conjunctions themselves.
    """
    text = text.strip()
    if known(bare(text)):
        return [text]
    whole = [piece for piece in cut(text, HARD + COMMAS) if piece.strip()] if text[:1].isdigit() else []
    if len(whole) > 1 and all(known(bare(piece)) for piece in whole):
        return whole  # dates such as "1. Mai 1990" are no enumeration
    numbered = cut_at_marks(text)
    if numbered is not None:
        parts = [ends(language).sub("", piece.strip()) for piece in numbered]
        parts = [piece[:-1] if known(bare(piece[:-1])) else piece for piece in parts]
        return [_trimmed(piece, language, known) for piece in parts if piece.strip(" ,;，；、")]
    text, led = _without_lead(_OPENING.sub("", _without_remarks(text, known)), known)
    pieces = [_trimmed(piece, language, known) for piece in _pieces(text, language, known)]
    pieces = [piece for piece in pieces if not _ET_CETERA.fullmatch(piece) or known(bare(piece))]
    pieces = _without_subject(pieces, known)
    if not led and _is_prose(pieces, known):
        return None
    return pieces


def _without_remarks(text: str, known: Known) -> str:
    """Drop sentences that talk about the list, behind it or before it."""
    parts = _AFTER_SENTENCE.split(text)
    if len(parts) < 2:
        return text
    kept = [part for place, part in enumerate(parts) if place == 0 or not _remarks(part, known)]
    if len(kept) > 1 and _remarks(kept[0], known):
        kept = kept[1:]
    return " ".join(kept) if len(kept) < len(parts) else text


def _remarks(sentence: str, known: Known) -> bool:
    """Tell whether a sentence talks about the list and names none of its members."""
    return is_remark(sentence) and not any(known(bare(piece)) for piece in cut(sentence, HARD + COMMAS))


def _without_lead(text: str, known: Known) -> tuple[str, bool]:
    """Drop "The rivers are:" before a list; tell whether there was such a lead."""
    place = _colon(text)
    if place < 0:
        return text, False
    before, behind = text[:place], text[place + 1 :]
    listing = re.search(r"[,;、，；|]|\s(?:and|y|et|und)\s", behind) is not None
    if known(bare(before)) or not behind.strip():
        return text, False
    if listing or known(bare(behind).rstrip(".。")) or len(before.split()) > 1:
        return behind.strip(), True
    return text, False


def _colon(text: str) -> int:
    if ":" not in text and "：" not in text:
        return -1
    depth = 0
    for found in signs_of(":：").finditer(text):
        place, sign = found.start(), found[0]
        depth += (sign in OPENED) - (sign in CLOSED)
        if (
            sign in ":："
            and depth <= 0
            and not (text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit())
        ):
            return place
    return -1


def _pieces(text: str, language: str, known: Known) -> list[str]:
    hard = [piece for piece in cut(text, HARD) if piece.strip()]
    slashed = _SLASHES.split(text)
    arrows = _ARROWS.split(text)
    if len(hard) > 1:
        return _conjoined(hard, language, known)
    if len(arrows) > 2:  # one arrow leads to a gloss
        return arrows
    if len(slashed) > 1:
        return slashed
    pieces = rejoin(list(cut(text, COMMAS)), known)
    return _conjoined(pieces if len(pieces) > 1 else _blank_parted(text, language, known), language, known)


def _blank_parted(text: str, language: str, known: Known) -> list[str]:
    """Cut at blanks where a script has them between names only, if that gives names of the question."""
    parts = text.split() if language[:2] in BLANK_PARTED and len(text) <= LONGEST_ENTRY else []
    named = [opens(language).sub("", part) for part in parts if part not in ("ได้แก่", "คือ", "ประกอบด้วย")]
    return named if sum(known(bare(part)) for part in named) > 1 else [text]


def _conjoined(pieces: Sequence[str], language: str, known: Known) -> list[str]:
    """Cut the last piece at its conjunction, and earlier ones where both sides are names of the question."""
    split: list[str] = []
    for place, entry in enumerate(pieces):
        last = place == len(pieces) - 1
        piece = opens(language).sub("", entry) if place and not known(bare(entry)) else entry
        split += (
            _halves(piece, language, known, bold=last) if not known(bare(piece).rstrip(".。")) else [piece]
        )
    return split


def _halves(piece: str, language: str, known: Known, *, bold: bool) -> list[str]:
    if len(piece) > LONGEST_PAIR:
        return [piece]
    for match in joins(language).finditer(piece):
        before, behind = piece[: match.start()], piece[match.end() :]
        if _named(before, known) and _named(behind, known):
            return [before, behind]
    if not bold:
        return [piece]
    parts = [part for part in joins(language).split(piece) if part.strip()]
    short = all(len(part.split()) < WORDS_OF_A_CLAUSE or _LEAD_VERB.search(part) for part in parts)
    return parts if len(parts) > 1 and short and not _one_is_tiny(parts, language) else [piece]


def _one_is_tiny(parts: Sequence[str], language: str) -> bool:
    """Tell whether a part is too short to be cut from an unspaced name: 和 stands inside names too."""
    return language[:2] in ("zh", "ja") and any(len(part.strip()) < 2 for part in parts) and len(parts) > 2


def _named(text: str, known: Known) -> bool:
    plain = _without_tail(_ENDING, bare(text))
    return known(bare(plain)) or any(known(bare(plain[m.end() :])) for m in _LEAD_VERB.finditer(plain))


def _without_tail(pattern: re.Pattern[str], text: str) -> str:
    """Cut what a pattern finds at the end of a text."""
    return text[:-TAIL] + pattern.sub("", text[-TAIL:])


def _trimmed(piece: str, language: str, known: Known) -> str:
    piece = piece.strip().strip(",;，；、").strip()
    if known(bare(piece)):
        return piece
    for pattern in (_COUNT, _ENDING, _COUNT):
        if pattern is _COUNT and not piece.endswith((")", "）")):
            continue
        shorter = _without_tail(pattern, piece).strip()
        if shorter:
            piece = shorter
    if known(bare(piece)):
        return piece
    return _ONLY.sub("", opens(language).sub("", piece).strip())


def _without_subject(pieces: Sequence[str], known: Known) -> list[str]:
    """Drop "The three gifts were" from the first piece."""
    if not pieces or known(bare(pieces[0])) or (pieces[0].isascii() and " " not in pieces[0]):
        return list(pieces)
    first = pieces[0]
    verbs = list(_LEAD_VERB.finditer(first, 0, first.find("(") if "(" in first else len(first)))
    for match in verbs:
        if len(first) - match.end() <= LONGEST_ENTRY and known(bare(first[match.end() :])):
            return [first[match.end() :], *pieces[1:]]
    if (
        verbs
        and len(pieces) > 1
        and len(first.split()) >= WORDS_OF_A_CLAUSE - 1
        and first[verbs[-1].end() :].strip()
    ):
        return [first[verbs[-1].end() :], *pieces[1:]]
    return list(pieces)


def _is_prose(pieces: Sequence[str], known: Known) -> bool:
    """Tell whether the pieces are clauses and not names."""
    if any(known(bare(piece)) for piece in pieces):
        return False
    return any(
        len(piece.split()) >= WORDS_OF_A_CLAUSE or piece.rstrip().endswith(("?", "？")) for piece in pieces
    )
