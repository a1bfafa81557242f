"""How options, explanations and stems speak of options: together, by letter or place, or perhaps so.

Options may be put into another order only where nothing in the item speaks of one of them by
letter, number or place, or where it is certain that a letter does and can be carried along.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from kina_build.config import ReleaseRules
from kina_build.items.mentions import LONE, is_own, named_letters, numbers_in_doubt, own_letters
from kina_build.items.model import Item, Option
from kina_build.items.wordings import ABOVE, PINNED, names_places

_LETTERS = r"\(?[A-Z]\)?(?:\s*(?:,|/|&|,?\s*(?:and|or|nor|und|oder|et|ou|y|o|e)\b)\s*\(?[A-Z]\)?)*"

CUED = re.compile(
    rf"\b(?i:options?|answers?|choices?|alternatives?)(?:\s+(?:is"
    rf"|are))?\s*:?\s*(?P<list>{_LETTERS})(?![\w'’])"
)
"""Letters behind a word that says they are options."""

CUES = ("option", "answer", "choice", "alternative")
"""The beginnings of those words."""

PAIRED = re.compile(
    rf"\W*(?i:both|neither|either|only)\s+(?P<list>{_LETTERS})(?:\s+(?:only|are|is)\b.*|\s+above)?\W*"
)
"""A whole option that is some of the others: "both A and C"."""

DOUBTFUL = re.compile(
    r"\([A-Za-z]\)|\b[A-Z]\s+(?:is|was|are)\s+(?:not\b|correct|incorrect|wrong|right|true|false)"
    r"|\b(?i:option|answer|choice)s?\s+[b-z]\b"
    r"|\b(?i:ans|answer|key|option|choice|respuesta|resposta|antwort|lösung|réponse|risposta"
    r"|ответ)\b(?:\s+(?:is|was|ist|est|es))?\W{0,4}[A-Ja-j]\b(?=\W*$|[.,;)\]]|\s+(?:is|was)\s+(?:right|correct|true)\b)"
)
"""Letters in an explanation that may name options."""

NATIVE = re.compile(
    r"(?<!\w)(?:[АБВГДЕ]|[ΑΒΓΔΕ]|[א-ח]|[أبجدهوز]|[कखगघङ]|[কখগঘঙ]|[กขคงจ]|[가나다라마](?=[.)])|[ㄱ-ㅎ]"
    r"|[甲乙丙丁戊]"
    r"|[ア-オ])(?=\s*(?:$|[.,;:!)\]）】。、]))"
)
"""A letter of another script that stands alone at the end of a phrase, as options are named in it."""

NAMING = re.compile(
    r"(?i)\b(?:vitamins?|hepatitis|influenza|types?|groups?|class|grade|figures?|points?|plan|phase"
    r"|category|levels?|section|part"
    r"|chapter|case|lines?|model|proteins?|antigens?|factor|drugs?|genes?|alleles?|sets?|events?|box|rows?"
    r"|columns?|stage|zone|series"
    r"|team|city|town|compan(?:y|ies)|firms?|players?|persons?|workers?|machines?|tanks?|pipes?|trains?"
    r"|cars?|angles?|vertex|country|state"
    r"|species|virus|schedule|appendix|title|substances?|solutions?|compounds?|elements?|particles?"
    r"|blocks?|planes?|sides?|variables?|matri(?:x|ces)"
    r"|statements?|reasons?|assertions?|lists?)\s+$"
)
"""A noun that makes the letter behind it a name: "vitamin C"."""

ARTICLE = re.compile(
    r"\s+(?!(?:is|are|and|or|nor|because|since|has|fits|holds|works|follows|only|would|must|can|cannot"
    r"|does|says|states)\b"
    r"|(?:was|were)\s+(?:not|correct|incorrect|wrong|right|true|false)\b)[a-z]"
)
"""What follows an article at the start of a sentence, and not a letter that something is said of."""

SENTENCE = re.compile(r"(?:^|[.!?:]\s+|\n\s*|[\"“‘(]\s*)$")
"""The start of a sentence, looking back."""

LABELLED = re.compile(
    r"\([A-Z]\)|\b[A-Z][):]\s|(?:^|[\n.;:?!]\s*)[A-Z]\.\s|\b(?:[Ss]tatements?|[Rr]easons?|[Aa]ssertions?)\s+[A-Z]\b"
)
"""A stem with letters of its own: an option's letters may mean those."""

ROMAN = re.compile(r"\b(?:II|III|IV|VI|VII|VIII|IX)\b")
"""Roman numerals, beside which "I" is no letter."""

LETTER = re.compile(r"\b[A-Z]\b")

BOTH_OF = 2
"""Options that "both of the above" can be about."""

BOTH = re.compile(r"(?i)\W*(?:both|beide|ambos|ambas|entramb[ei]|les\s+deux|oba|obie|оба|обе)\b.*")


def find_doubt(item: Item) -> str:
    """Say what in an item may speak of an option by letter or place; empty where nothing does.

    Letters that certainly name options are in no doubt: `rename` carries them along.
    """
    if _is_cued(item.question) or _is_cued(item.question_material or ""):
        return "the question names options by letter"
    if key := _speaks_of_some(item):
        return f"option {key} speaks of the ones above it, and not of all others"
    own = own_letters(item)
    for option in item.options:
        if reason := _option_doubt(item, option, own):
            return f"option {option.key} {reason}"
    if key := numbers_in_doubt(item):
        return f"option {key} is numbers that may mean options"
    explanations = (item.explanation, *(option.explanation for option in item.options))
    if any(_names_letters(text, item, own) for text in explanations if text):
        return "an explanation names letters that may be options"
    return ""


def find_last_texts(items: Iterable[Item], rules: ReleaseRules = ReleaseRules()) -> frozenset[str]:
    """Find texts that stand last wherever they stand, over many items: such an option belongs there."""
    last: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for item in items:
        texts = [option.answer.strip() for option in item.options]
        uses.update(set(texts))
        last.update(texts[-1:])
    return frozenset(
        text for text, n in uses.items() if n >= rules.last_uses and last[text] >= rules.last_share * n
    )


def rename(text: str, renamed: Mapping[str, str]) -> str:
    """Carry the letters of certain references along.

    Args:
        text: of an option or explanation in which nothing is in doubt.
        renamed: old letter to new letter.
    """
    if not LETTER.search(text):  # nearly every text
        return text

    def carry(found: re.Match[str]) -> str:
        start, end = (edge - found.start() for edge in found.span("list"))
        letters = LETTER.sub(lambda one: renamed.get(one[0], one[0]), found["list"])
        return found[0][:start] + letters + found[0][end:]

    return _certain(text).sub(carry, text)


def _certain(text: str) -> re.Pattern[str]:
    """Return the pattern by which a text certainly names options, where it does."""
    return PAIRED if PAIRED.fullmatch(text) else CUED


def _is_cued(question: str) -> bool:
    """Tell whether a question names options by letter; looking for the words first is quick."""
    folded = question.casefold()
    if not any(map(folded.__contains__, CUES)):
        return False
    return (
        CUED.search(question) is not None or re.search(r"\b(?:option|choice)s?\s+[b-z]\b", folded) is not None
    )


def _speaks_of_some(item: Item) -> str:
    """Name an option such as "all of the above" that others follow, or "both" of more than two."""
    together = [PINNED.fullmatch(option.answer) is not None for option in item.options]
    for n, option in enumerate(item.options):
        if not together[n]:
            continue
        followed = not all(together[n:]) and ABOVE.search(option.answer)
        if followed or (BOTH.fullmatch(option.answer) and n > BOTH_OF):
            return option.key
    return ""


def _option_doubt(item: Item, option: Option, own: frozenset[str]) -> str:
    """Say why an option's own words stand against another order; empty where they do not."""
    if names_places(option.answer) and not PINNED.fullmatch(option.answer):
        return "names others by their place"
    keys = frozenset(one.key for one in item.options)
    text = option.answer if option.answer.isascii() else unicodedata.normalize("NFKC", option.answer)
    if LONE.search(text) is None and not text.isupper():
        return ""
    certain = frozenset(_certain_letters(option.answer))
    if certain & keys:
        left = unicodedata.normalize("NFKC", _certain(option.answer).sub("", option.answer))
        unsure = option.key in certain or is_own(certain, own) or _has_own_letters(item)
        if unsure or not certain <= keys or LONE.search(left) or _has_article(option.answer):
            return "names letters that may be the question's own"
        return ""
    named = named_letters(text, keys)
    if named and (not is_own(named, own) or LABELLED.search(item.question)):
        return "has letters that may name options"
    return ""


def _certain_letters(answer: str) -> list[str]:
    """Return the letters that `rename` would carry along."""
    found = PAIRED.fullmatch(answer)
    return [
        letter
        for one in ([found] if found else CUED.finditer(answer))
        for letter in LETTER.findall(one["list"])
    ]


def _has_own_letters(item: Item) -> bool:
    """Tell whether an item has letters that name other things than options."""
    texts = (item.question, *(option.answer for option in item.options))
    return LABELLED.search(item.question) is not None or any(map(ROMAN.search, texts))


def _has_article(text: str) -> bool:
    """Tell whether a letter behind "answer:" begins a phrase: "the answer: A dog"."""
    return any(found["list"] == "A" and ARTICLE.match(text, found.end()) for found in CUED.finditer(text))


def _names_letters(explanation: str, item: Item, own: frozenset[str]) -> bool:
    """Tell whether an explanation may name an option by a letter that `rename` leaves as it is."""
    keys = {option.key for option in item.options}
    left = unicodedata.normalize("NFKC", CUED.sub("", explanation))
    doubtful = {
        letter.upper() for found in DOUBTFUL.findall(left) for letter in re.findall(r"\b[A-Za-z]\b", found)
    }
    if doubtful & keys or NATIVE.search(left) or _has_article(explanation):
        return True
    return any(
        _may_name(found, left, key, own)
        for found in LONE.finditer(left)
        if found[0] in keys
        for key in item.right_keys or (item.correct_answer,)
    )


def _may_name(found: re.Match[str], text: str, key: str, own: frozenset[str]) -> bool:
    """Tell whether a lone capital may be an option: no article, no "vitamin C", not the question's own."""
    letter, before = found[0], text[: found.start()][-40:]
    if letter in "AI" and ARTICLE.match(text, found.end()) and (letter == "I" or SENTENCE.search(before)):
        return False
    return not NAMING.search(before) and (letter == key or letter not in own)
