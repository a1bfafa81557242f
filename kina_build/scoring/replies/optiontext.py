"""Answers given in words: which option's text does a reply state, as a whole phrase?

A text that goes on into another word is another thing: "oxygen" is not what "oxygen
difluoride" says. Numbers keep their units, signs and decimals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from kina_build.items.checking.quantities import read_quantity
from kina_build.items.text import fold_option
from kina_build.scoring.replies.clean import plain
from kina_build.scoring.replies.labels import REASON
from kina_build.scoring.replies.patterns import listed

EDGE = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’.,:;!?()[]{}…。、，：`*$\ue000\ue001"
"""Signs that are no part of an option's text where they stand around it."""
_LEADIN = (
    r"(?:it|this|that|(?:the )?answer)(?:'s| is| was)\s+|(?:the|an?|la|le|el|die|der|das|les|los|las)\s+"
)
_BEFORE = re.compile(rf"^(?:{_LEADIN}|[{re.escape(EDGE)}]+)+", re.IGNORECASE)
"""Matches "the answer is the ", not "other"."""
_TAIL = re.compile(
    rf"\s*(?:$|[.:](?!\d)|[;!?。；！？\n]|,\s(?:{REASON})\b|\s[-–—]\s|[,(]\s*(?:option|choice)?\s*[a-z]\)"
    rf"|\(|\s(?!(?:and|or|und|oder|et|ou|y|o|e|и|или|with|by|of)\b)(?:{REASON})\b|です|だ|である|となる|입니다|이다|है|ہے|ဖြစ်|[^\d\s^+#%°*/=<>&~-]{{0,2}}$)",
    re.IGNORECASE,
)
"""What may follow a whole text: an end, a reason, a remark, or the verb of a language that ends on it."""
_DENIED = re.compile(
    r"\b(?:not|neither|nor|isn't|wrong|incorrect|except|nicht|pas|no longer|never|rather than|instead of|if|"
    r"would|could|might|may|unless|whether|suppose)\b|不|не\b|\?",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POWER = re.compile(r"\^\{([^{}]{1,9})\}")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]{1,20})\}\{([^{}]{1,20})\}")
_GREEK = re.compile(r"\\(pi|alpha|beta|gamma|delta|theta|lambda|mu|sigma|omega|times|cdot|infty|sqrt)\b")
_SIGN_OF = {
    "pi": "π", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "theta": "θ", "lambda": "λ", "mu": "μ",
    "sigma": "σ", "omega": "ω", "times": "×", "cdot": "·", "infty": "∞", "sqrt": "√",
}  # fmt: skip
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d{1,9}(?:\.\d{1,9})?)(?:e\+?|\s?[×·*x]\s?10\s?\^)(-?\d{1,2})(?!\d)")
"""Matches "1.2e3" and "1.2 × 10^3"."""
_PERCENT = re.compile(r"(?<=\d)\s?(?:per ?cent|percentage points|%)")
_CONTRAST = re.compile(
    r",?\s(?:not|rather than|instead of|nicht|et non|pas|y no|e não|e non|а не)\s", re.IGNORECASE
)
"""Matches what parts "gold" from "lead" in "gold, not lead"."""
_BUT = re.compile(
    r"(?:it is |it's )?(?:not|nicht|no|non|pas|не)\s(?P<other>[^\n]{1,200}?),?\s(?:but(?: rather)?"
    r"|sondern|sino|ma|mais|а)\s(?P<one>.+)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?P<said>[^\n]{1,200}?)(?:[.!。！]\s|\n|,\s(?:because|since|as|for|weil|da|car|porque|perché|omdat)\s)"
)
_ASIDE = re.compile(
    r",\s(?:of course|obviously|clearly|definitely|probably|naturally|i (?:think|believe|guess|suppose))$",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_ROUGHLY = "≈~ "
MOST_SENTENCES = 40
"""Sentences behind the first that are searched for another option."""
LONGEST_QUANTITY = 60
"""Characters of a text that is one number and its unit."""
_SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_LINKS = frozenset(
    listed(
        """
        is · are · was · were · be · been · being · to · in · by · of · on · at · for · from ·
        as · with · into · than · then · so · equals · equal · called · the · a · an · = · : · → ·
        => · becomes · gives · yields · get · obtain · amounts · means · named · termed · thus ·
        therefore · hence · es · ist ·
        est · e · è · é · son
        """
    )
)
"""Words that may stand right before an option's text at the end of a sentence."""


def name_option(text: str, options: Sequence[str], *, whole: bool = False) -> int | None:
    """Return the place of the one option whose text a passage states, or None.

    Args:
        text: a cleaned passage, such as what stands behind "Answer:".
        options: the option texts in order.
        whole: the passage must be that text and nothing else.
    """
    texts = _option_texts(tuple(options))
    said = _folded(text)
    exact = [place for place, option in enumerate(texts) if option and option == said]
    if len(exact) == 1:
        return exact[0]
    if exact:
        return None
    if whole:
        return _same_quantity(text, options)
    heads = [place for place, option in enumerate(texts) if option and _heads(option, said)]
    longest = max((len(texts[place]) for place in heads), default=0)
    best = [place for place in heads if len(texts[place]) == longest]
    return best[0] if len(best) == 1 else _same_quantity(text, options) if not heads else None


def name_contrasted(text: str, options: Sequence[str]) -> int | None:
    """Return the place of the option that a whole reply prefers: "gold, not lead", "not lead but gold"."""
    but = _BUT.fullmatch(text.strip())
    if but is not None:
        return name_option(but["one"], options, whole=True)
    parts = _CONTRAST.split(text.strip(), maxsplit=1)
    return name_option(parts[0], options, whole=True) if len(parts) == 2 else None


def name_opening(text: str, options: Sequence[str]) -> int | None:
    """Return the place of the option that is all a reply's first sentence says, and no other one says."""
    opening = _OPENS.match(text.lstrip())
    place = name_option(opening["said"], options, whole=True) if opening else None
    if opening is None or place is None:
        return None
    others = _SENTENCE.split(text.lstrip()[opening.end() :])[:MOST_SENTENCES]
    named = {name_option(part, options, whole=True) for part in others}
    return place if named <= {None, place} else None


def _same_quantity(text: str, options: Sequence[str]) -> int | None:
    """Return the one option that is the quantity a text is, in whatever unit."""
    said = _quantity(text)
    equal = (
        [] if said is None else [place for place, option in enumerate(options) if _quantity(option) == said]
    )
    return equal[0] if len(equal) == 1 else None


def _quantity(text: str) -> tuple[str, Fraction] | None:
    bare = _BEFORE.sub("", fold_option(plain(text)).lstrip(_ROUGHLY)).strip(EDGE)
    if _FIGURE.fullmatch(bare):
        return "", Fraction(bare)
    found = read_quantity(bare) if len(bare) <= LONGEST_QUANTITY and bare[:1] in "0123456789-−." else None
    return None if found is None else (found.kind, found.size)


def _heads(option: str, said: str) -> bool:
    """Tell whether a passage begins with an option's text and does not go on into another word."""
    if not said.startswith(option):
        return False
    behind = said[len(option) :]
    glued = option[-1].isascii() and option[-1].isalnum() and behind[:1].isalnum() and behind[:1].isascii()
    return not glued and _TAIL.match(behind) is not None


def conclude_option(text: str, options: Sequence[str]) -> int | None:
    """Return the option whose text the last sentence of a reply ends on, as its predicate."""
    sentences = [part for part in _SENTENCE.split(text.strip()) if part.strip()]
    if not sentences:
        return None
    clauses = re.split(r";\s+|:\s+", sentences[-1])
    said = fold_numbers(fold_option(clauses[-1]).casefold()).rstrip(" .!?。！？\"'“”*`$\ue001").lstrip(EDGE)
    said = _ASIDE.sub("", said)
    if _DENIED.search(clauses[-1]) or (" or " in f" {said} " and len(said) < 80):
        return None
    texts = _option_texts(tuple(options))
    ends = [place for place, option in enumerate(texts) if option and _ends_on(option, said)]
    longest = max((len(texts[place]) for place in ends), default=0)
    best = [place for place in ends if len(texts[place]) == longest]
    if len(best) != 1:
        return None
    before = said[: len(said) - len(texts[best[0]])]
    others = [
        place
        for place, option in enumerate(texts)
        if place != best[0] and option and _stands_in(option, before)
    ]
    return None if others else best[0]


def _ends_on(option: str, said: str) -> bool:
    if not said.endswith(option):
        return False
    before = said[: len(said) - len(option)].rstrip("\"'“”‘’([ ")
    if not before:
        return False
    if option[0].isalnum() and said[: len(said) - len(option)][-1:].isalnum():
        return False
    words = before.split()
    last = words[-2] if len(words) > 1 and words[-1].endswith("ly") else words[-1]  # "it is clearly gold"
    return last.strip(",").removeprefix("it's").removeprefix("it’s") in {*_LINKS, ""} or before.endswith(
        ("=", ":", "：", "→", "は", "是", "为")
    )


def _stands_in(option: str, said: str) -> bool:
    start = said.find(option)
    while start >= 0:
        end = start + len(option)
        if not said[max(0, start - 1) : start].isalnum() and not said[end : end + 1].isalnum():
            return True
        start = said.find(option, start + 1)
    return False


def fold_numbers(text: str) -> str:
    """Write "2,000" as "2000": a comma between groups of three digits is no part of the number."""
    text = _PERCENT.sub("%", _THOUSANDS.sub("", text).replace("−", "-"))
    return _SCIENTIFIC.sub(_written_out, text) if "e" in text or "10" in text else text


def _written_out(number: re.Match[str]) -> str:
    """Write "1.2e3" as "1200"."""
    exact = Fraction(number[1]) * Fraction(10) ** int(number[2])
    return str(exact.numerator) if exact.denominator == 1 else number[1] + "e" + number[2]


def unwrap_maths(text: str) -> str:
    r"""Write "\frac{1}{4}", "\pi" and "m²" one way, as options and replies differ in them."""
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda power: "^" + power[0].translate(_SUPERSCRIPTS), text)
    if "\\" not in text:
        return text
    text = _GREEK.sub(lambda name: _SIGN_OF[name[1]], _FRACTION.sub(r"\1/\2", text))
    return _POWER.sub(r"^\1", text)


@lru_cache(maxsize=4096)
def _option_texts(options: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_folded(plain(unwrap_maths(option))) for option in options)


def _folded(text: str) -> str:
    folded = fold_numbers(fold_option(text).casefold())
    inside = _BEFORE.sub("", folded).rstrip(EDGE)
    # "(-2, 5]" and "o(n)" keep the bracket that closes what they open
    for opened, closed in ("()", "[]", "{}"):
        if inside.count(opened) > inside.count(closed):
            inside += closed
    return inside
