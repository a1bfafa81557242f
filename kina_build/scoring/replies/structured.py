"""Replies that rate every option: probability maps, ticked boxes, lists of verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kina_build.chat.objects import find_objects
from kina_build.scoring.replies import cues, denials
from kina_build.scoring.replies.claims import Claim
from kina_build.scoring.replies.labels import labels
from kina_build.scoring.replies.optiontext import name_option
from kina_build.scoring.replies.outcome import Extraction, Reading
from kina_build.scoring.replies.patterns import OPENERS, Cues, any_of

SHARE_TOLERANCE = 0.03
"""How far the shares of a map may miss 1 or 100: what rounding does to ten of them."""

TICKED, UNTICKED = "☑☒✅✔✓●◉🔘", "☐○◯⬜□"

_LABEL = r"(?i:option|choice|statement|answer|aussage|opción)?[ \t]*+[(\[]?(?P<label>[A-Z])(?!\w)"
_BOX = re.compile(
    rf"^[ \t\-•]*+(?:[\[(](?P<mark>[ xX✓✔*]?)[\])]|(?P<sign>[{TICKED}{UNTICKED}]))\s*{_LABEL}", re.MULTILINE
)
_TEXT_BOX = re.compile(
    rf"^[ \t\-•]*+(?:\[(?P<mark>[ xX✓✔]?)\]|(?P<sign>[{TICKED}{UNTICKED}]))[ \t]*(?P<text>[^\s\n][^\n]*)",
    re.MULTILINE,
)
_SHARE = re.compile(
    r"(?:P\()?(?<!\w)(?P<label>[A-Z])\)?\s{0,3}(?:[:=(→]|[-–—]\s|\s)\s{0,3}(?P<number>\d{1,3}(?:[.,]\d{1,6})?)\s?(?P<unit>%?)\)?"
    r"(?=\s*(?:[,;}\n]|\.\s|\.?$|$))"
)
_FILLER = re.compile(r"[\s\d\-•,;.:%{}()]*")
_RIGHT_WORDS = (
    *cues.VERDICT_RIGHT, "richtig", "verdadero", "vero", "verdadeiro", "верно", "vrai", "sufficient",
)  # fmt: skip
_WRONG_WORDS = (
    *denials.VERDICT_WRONG, "not correct", "not true", "not right", "falso", "falsch", "неверно", "faux",
    "nein",
)  # fmt: skip
_RIGHT, _WRONG = any_of(_RIGHT_WORDS), any_of(_WRONG_WORDS)
_VERDICTS = Cues((*_RIGHT_WORDS, *_WRONG_WORDS))
_QUOTES = re.compile(r"'(?=[\w}:,\s])|(?<=[\w{,\s])'")
_DIGIT = re.compile(r"\d")
_VERDICT = re.compile(
    rf"^[ \t\-•{OPENERS}]*+{_LABEL}[\s.):：→–—\]-]{{1,6}}"
    rf"(?:(?:this|that|option|statement|it|is|the|answer|choice)\s+){{0,4}}(?:(?P<wrong>{_WRONG})|(?P<right>{_RIGHT}))",
    re.MULTILINE | re.IGNORECASE,
)
_FINAL_VERDICT = re.compile(
    rf"^[ \t\-•{OPENERS}]*+{_LABEL}[\s.):：–—\]-][^\n]*?[–—:→-]\s*(?:(?P<wrong>{_WRONG})"
    rf"|(?P<right>{_RIGHT}))[.\s]*$",
    re.MULTILINE | re.IGNORECASE,
)

Rated = tuple[Claim, tuple[int, int]]
"""What a block of ratings says, and where the block stands."""


def read_ratings(text: str, index: Mapping[str, int]) -> Rated | None:
    """Read the block in which a reply rates its options one by one; None without such a block."""
    return (
        _read_map(text, index)
        or _read_boxes(text, index)
        or _read_shares(text, index)
        or _read_verdicts(text, index)
    )


def _read_map(text: str, index: Mapping[str, int]) -> Rated | None:
    """Read {"A": 0.1, "B": 0.9} where it is the whole of an object."""
    if "{" not in text or not any(quote in text for quote in "\"'"):
        return None
    single = "" if '"' in text else _QUOTES.sub('"', text)  # as Python writes it
    for found in find_objects(single or text):
        for part in (found, *found.values()):
            if (
                isinstance(part, dict)
                and len(part) >= 2
                and all(str(k).strip().upper() in index for k in part)
            ):
                chosen = _chosen({str(key).strip().upper(): value for key, value in part.items()})
                return None if chosen is None else (Claim(chosen), (0, len(text)))
    return None


def _chosen(ratings: Mapping[str, Any]) -> tuple[str, ...] | None:
    values = list(ratings.values())
    if all(isinstance(value, bool) for value in values):
        return tuple(label for label, value in ratings.items() if value)
    if all(isinstance(value, int | float) for value in values):
        best = max(values)
        return tuple(label for label, value in ratings.items() if value == best and best > 0)
    if all(isinstance(value, str) for value in values):
        verdicts = {label: _verdict(value) for label, value in ratings.items()}
        if None not in verdicts.values():
            return tuple(label for label, right in verdicts.items() if right)
    return None


def _verdict(text: str) -> bool | None:
    if re.match(_WRONG, text.strip(), re.IGNORECASE):
        return False
    return True if re.match(_RIGHT, text.strip(), re.IGNORECASE) else None


def _read_boxes(text: str, index: Mapping[str, int]) -> Rated | None:
    boxes = [match for match in _BOX.finditer(text) if match["label"] in index]
    if len(boxes) < 2 or len({match["label"] for match in boxes}) < len(boxes):
        return None
    ticked = [match for match in boxes if _is_ticked(match)]
    return _rated(boxes, ticked)


def ticked_texts(text: str) -> list[str]:
    """Return what stands behind the ticked of several boxes that carry no letters: "[x] gold"."""
    boxes = list(_TEXT_BOX.finditer(text))
    return [box["text"] for box in boxes if _is_ticked(box)] if len(boxes) > 1 else []


def _is_ticked(match: re.Match[str]) -> bool:
    return match["sign"] in TICKED if match["sign"] else bool((match["mark"] or "").strip())


def _read_shares(text: str, index: Mapping[str, int]) -> Rated | None:
    """Read "A: 10 %, B: 90 %" where the shares add up to the whole."""
    if not _DIGIT.search(text):
        return None
    for rows in _runs(text, [match for match in _SHARE.finditer(text) if match["label"] in index]):
        shares = [float(match["number"].replace(",", ".")) for match in rows]
        whole = 100.0 if any(match["unit"] for match in rows) or sum(shares) > 2 else 1.0
        if abs(sum(shares) / whole - 1) <= SHARE_TOLERANCE:
            best = max(shares)
            return _rated(rows, [row for row, share in zip(rows, shares, strict=True) if share == best])
    return None


def _runs(text: str, matches: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Yield the runs A, B, C, ... with nothing but separators between."""
    run: list[re.Match[str]] = []
    for match in matches:
        follows = run and ord(match["label"]) == ord(run[-1]["label"]) + 1
        if follows and _FILLER.fullmatch(text, run[-1].end(), match.start()):
            run.append(match)
            continue
        if len(run) >= 2:
            yield run
        run = [match] if match["label"] == "A" else []
    if len(run) >= 2:
        yield run


def _read_verdicts(text: str, index: Mapping[str, int]) -> Rated | None:
    """Read lines such as "B. Correct: ..." where each option has exactly one."""
    if not _VERDICTS.occurs(text):
        return None
    for pattern in (_VERDICT, _FINAL_VERDICT):
        rows = [match for match in pattern.finditer(text) if match["label"].upper() in index]
        if len(rows) >= 2 and len({row["label"] for row in rows}) == len(rows) and rows[0]["label"] == "A":
            right = [row for row in rows if row["right"]]
            if len(right) == 1 or len(rows) >= min(3, len(index)):
                return _rated(rows, right)
    return None


def _rated(rows: list[re.Match[str]], chosen: list[re.Match[str]]) -> Rated:
    span = chosen[0].span("label") if chosen else rows[-1].span("label")
    return Claim(tuple(row["label"].upper() for row in chosen), span=span), (rows[0].start(), rows[-1].end())


def ticked(reading: Reading) -> Extraction | None:
    """Read the option whose text stands behind the one ticked box."""
    places = (
        [name_option(text, reading.options, whole=True) for text in ticked_texts(reading.text)]
        if reading.options
        else []
    )
    if not places or None in places:
        return None
    if len(places) > 1:
        return Extraction(None, "multiple", "ratings")
    return Extraction(labels(len(reading.index))[places[0] or 0], "ok", "ratings", (0, len(reading.text)))
