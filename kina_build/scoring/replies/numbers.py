"""Options named by their number: "option 3", "the second option", "3번"."""

from __future__ import annotations

import re

from kina_build.scoring.replies import cues
from kina_build.scoring.replies.labels import LATIN, NUMBERED
from kina_build.scoring.replies.patterns import OPENERS, any_of, listed

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

_COUNTED_NOUNS = any_of(
    listed(
        """
        option · choice · opción · opção · вариант · варіант · گزینه · گزینهی · گزینهٔ · विकल्प · বিকল্প · 选项 ·
        選項 · 選択肢 · ข้อ · pilihan · opsi · seçenek · lựa chọn · الخيار · opcja · opzione
        """
    )
)
_NUMBER = re.compile(
    rf"(?P<noun>{_COUNTED_NOUNS}\s*(?:no\.|number|#)?\s*[{OPENERS}]?)(?P<number>\d{{1,2}})(?![\w%°]|[.,]\d|\s*(?:years|percent))"
    r"|(?<![\d.,])(?P<korean>\d{1,2})(?=번)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    rf"\bthe (?P<ordinal>{'|'.join(ORDINALS)}|last) (?P<noun>{any_of(cues.OPTION_NOUNS[:4])})", re.IGNORECASE
)


def letter_numbers(text: str, n_options: int) -> str:
    """Write the number of an option as a sign of its own, which counts as a letter does."""
    if n_options > len(LATIN):
        return text  # such items have numbers among their labels
    if "the " in text.lower():
        text = _ORDINAL.sub(lambda match: _ordinal(match, n_options), text)
    return _NUMBER.sub(_counted, text)


def _counted(match: re.Match[str]) -> str:
    place = int(match["number"] or match["korean"]) - 1
    if not 0 <= place < len(NUMBERED):
        return match[0]
    return (match["noun"] or "") + NUMBERED[place]


def _ordinal(match: re.Match[str], n_options: int) -> str:
    word = match["ordinal"].lower()
    place = n_options - 1 if word == "last" else ORDINALS.index(word)
    return f"{match['noun']} {NUMBERED[place]}" if place < len(NUMBERED) else match[0]
