"""One item in several languages: do its versions agree on key, options, numbers and negation?

Versions name what they have in common in their metadata, `parallel`, as `kina import
--parallel` writes it. Each is compared with the English one, or else with the first by id.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from kina_build.items.checking.rule import Fault
from kina_build.items.model import PARALLEL, Item
from kina_build.items.numerals import read_numbers, unmatched

SMALL = 12
"""Numbers up to this one are often words, and alone prove nothing."""

SCRIPTS = (("ja", "[\u3040-\u30ff]"), ("ko", "[\uac00-\ud7af]"), ("zh", "[\u4e00-\u9fff]"),
           ("ru", "[\u0400-\u04ff]"), ("ar", "[\u0600-\u06ff]"))  # fmt: skip
"""Languages that their letters tell, in this order: Japanese has kana beside Chinese letters."""
FUNCTION_WORDS = {
    "en": "the of and which what is are following to in",
    "es": "el los las de que es cuál qué una siguientes",
    "fr": "le les des est quel quelle qui une du dans",
    "de": "der die das ist welche und nicht ein den von",
    "pt": "o os as do da que é qual uma não", "it": "il gli che è di una quale della non per",
}  # fmt: skip

ASKS_NEGATIVELY = {
    "en": (
        r"\b(?:NOT|EXCEPT|LEAST)\b|\b[Ee]xcept(?:\s+for)?\s*[:?]|\bexcept\b[^.]{0,40}[:?]?\s*$"
        r"|\b[Ww]hich\b[^.?]{0,80}\b(?:is|are|was|were|does|do|would|can|could|has|have)\s+not\b"
        r"|\b[Ww]hich\b[^.?]{0,60}\b(?:false|incorrect|untrue|inaccurate)\b"
    ),
    "ja": (
        r"(?:でない|ではない|しない|されない|いない|ありません|誤って|誤った|誤り|間違っ|正しくない|不適切|以外の?)"
        r"[^。？?]{0,8}(?:もの|記述|選択肢|文|主張|どれ|何)[^。]{0,10}(?:[？?か。]|$)"
    ),
    "zh": (
        r"不(?:正确|正確|属于|屬於|是|包括|能|会|可能|符合)的(?:是|[？?])|(?:错误|錯誤|有误)的(?:是|[？?一])"
        r"|除了?[^。]{0,20}[外都]"
    ),
    "es": r"\b(?:NO|EXCEPTO|MENOS)\b"
    r"|\bexcepto\s*[:?]|\b[Cc]uál\b[^.?]{0,60}\bno\b|\b(?:falsa|incorrecta)\b",
    "fr": r"\b(?:SAUF|PAS)\b"
    r"|\bsauf\s*[:?]|\b[Qq]uel\w*\b[^.?]{0,60}\b(?:n'|n’|ne\s)[^.?]{0,30}\bpas\b",
    "de": r"\b(?:NICHT|AUSSER|KEIN\w*)\b|\b[Ww]elche\w*\b[^.?]{0,80}\bnicht\b",
}
"""How stems ask for what is not so: "Which is NOT a gas?"; "Why is it not a gas?" does not."""
DENIES = {
    "en": (
        r"\b(?:not|no|nor?n|none|nothing|never|neither|nor|cannot|without|except|excluding|least|less|few|fewer|false"
        r"|wrong|unlikely|lacks?|lacking|other than|exclude[ds]?|rarely|hardly|avoid\w*|prevent\w*|refus\w*"
        r"|den(?:y|ies)"
        r"|reject\w*|oppos\w*|fails?|failed|failure|contrary|absen\w+|un\w{3,}|in\w{5,}|im\w{5,}|dis\w{4,}|mis\w{4,}"
        r"|ir\w{5,}|il\w{5,}|anti\w*|\w+less)\b|n['’]t\b"
    ),
    "ja": r"な[いくか]|ません|[ずぬ]|以外|誤|間違|偽|不|無|非|除|反|欠|未|違|異|外|最も",
    "zh": r"不|没|沒|非|无|無|未|错|錯|误|誤|除|否|勿|别|莫|反|缺|假|伪|外|难|最",
    "es": r"\b(?:no|ni|nunca|nada|ningun\w*|ningún"
    r"|excepto|menos|sin|fals\w+|salvo|jamás|in\w{4,}|im\w{4,}|des\w{4,})\b",
    "fr": r"\b(?:ne|pas|non|ni|jamais|sauf|sans|aucun\w*"
    r"|moins|fau(?:x|sse)\w*|in\w{4,}|im\w{4,}|dés?\w{4,})\b|\bn['’]",
    "de": r"\b(?:nicht\w*|kein\w*|nie|niemals|au(?:ß|ss)er|ohne|falsch\w*"
    r"|un\w{3,}|weder|weniger|am wenigsten)\b",
}
"""Any denial at all: where one version asks negatively and another has none of these, they differ."""
_ASKS = {language: re.compile(pattern, re.MULTILINE) for language, pattern in ASKS_NEGATIVELY.items()}
_DENIES = {language: re.compile(pattern, re.IGNORECASE) for language, pattern in DENIES.items()}

FEW = 8
"""Pairs of versions from which on their keys tell whether the options stand in one order."""
AGREEING = 0.6
"""Share of equal keys from which on they do: by chance it is about a quarter."""


def check_parallel(items: Sequence[Item]) -> Iterator[tuple[str, Fault]]:
    """Compare the versions of each item; the fault is the version's that is not the first.

    Letters are compared where the versions keep one order of options: where most keys of two languages
    agree, or the numbers in the options pair them off.
    """
    groups: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        name = item.metadata.get(PARALLEL)
        if name is not None:
            groups[str(name)].append(item)
    pairs: defaultdict[str | None, list[tuple[Item, Item]]] = defaultdict(list)
    for group in groups.values():
        first, *others = sorted(group, key=lambda item: (language_of(item) != "en", item.item_id))
        for other in others:
            pairs[language_of(other)].append((first, other))
    for found in pairs.values():
        agreeing = sum(first.correct_answer == other.correct_answer for first, other in found)
        in_order = len(found) < FEW or agreeing >= AGREEING * len(found)
        for first, other in found:
            for fault in compare_versions(first, other, in_order=in_order):
                yield other.item_id, fault


def compare_versions(first: Item, other: Item, *, in_order: bool = True) -> Iterator[Fault]:
    """Compare two versions of an item.

    Args:
        first: the version that the other one is held to.
        other: the version that faults are told of.
        in_order: whether options at one place are versions of each other.
    """
    beside = {"beside": first.item_id}
    if len(first.options) != len(other.options):
        message = f"{len(other.options)} options, {first.item_id} has {len(first.options)}"
        yield Fault("parallel_options", "options", message, beside)
        return
    pairs = _align(first, other, in_order=in_order)
    expected = pairs.get(first.correct_answer)
    if expected is not None and expected != other.correct_answer:
        message = f"the key is {other.correct_answer}, by that of {first.item_id} it is {expected}"
        yield Fault("parallel_key", "correct_answer", message, beside)
    texts = {option.key: option.answer for option in other.options}
    compared = [("question", first.question, other.question)]
    compared += [
        (f"options.{pairs[one.key]}", one.answer, texts[pairs[one.key]])
        for one in first.options
        if one.key in pairs
    ]
    for field, one_text, other_text in compared:
        lost, found = unmatched(read_numbers(one_text), read_numbers(other_text))
        if (lost and found) or any(map(_is_telling, [*lost, *found])):
            told = f"{_shown(found)} here, {_shown(lost)} in {first.item_id}"
            yield Fault("parallel_numbers", field, f"numbers differ: {told}", beside)
            break
    if _negates(first.question, language_of(first), other.question, language_of(other)):
        message = f"one of it and {first.item_id} asks for what is not so"
        yield Fault("parallel_negation", "question", message, beside)


def language_of(item: Item) -> str | None:
    """Return an item's language, two letters: as it says, else by its letters and commonest words."""
    if item.language:
        return item.language[:2].lower()
    text = item.question
    for language, letters in SCRIPTS:
        if re.search(letters, text):
            return language
    words = Counter(re.findall(r"\w+", text.lower()))
    scores = {name: sum(words[word] for word in known.split()) for name, known in FUNCTION_WORDS.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] else None


def _is_telling(readings: frozenset[Fraction]) -> bool:
    return all(value > SMALL or value.denominator > 1 for value in readings)


def _shown(numbers: Sequence[frozenset[Fraction]]) -> str:
    return ", ".join(f"{float(min(readings)):g}" for readings in numbers) or "none"


def _align(first: Item, other: Item, *, in_order: bool) -> dict[str, str]:
    """Pair options by the numbers they hold where these tell all apart, else by place where that is known."""
    ours = [_signature(option.answer) for option in first.options]
    theirs = [_signature(option.answer) for option in other.options]
    if len(set(ours)) == len(ours) and sorted(ours) == sorted(theirs) and all(ours):
        return {one.key: other.options[theirs.index(ours[n])].key for n, one in enumerate(first.options)}
    if not in_order:
        return {}
    return {one.key: two.key for one, two in zip(first.options, other.options, strict=True)}


def _signature(text: str) -> tuple[Fraction, ...]:
    return tuple(min(readings) for readings in read_numbers(text).written)


def _negates(one: str, one_language: str | None, other: str, other_language: str | None) -> bool:
    """Tell whether exactly one of two stems asks for what is not so; unknown languages say nothing."""
    if one_language not in _ASKS or other_language not in _ASKS:
        return False
    asked = bool(_ASKS[one_language].search(one)), bool(_ASKS[other_language].search(other))
    denies = bool(_DENIES[one_language].search(one)), bool(_DENIES[other_language].search(other))
    return (asked[0] and not denies[1]) or (asked[1] and not denies[0])
