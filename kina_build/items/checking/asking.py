"""Rules about what a question asks, and whether its options can be the answer to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kina_build.items.checking.rule import Fault
from kina_build.items.model import Item
from kina_build.items.text import fold_stem

ANSWER_WORD = (
    r"(?:answer|ans|answer key|correct (?:answer|option|choice)|right answer|respuesta(?: correcta)?"
    r"|réponse(?: correcte)?|antwort|lösung|risposta(?: corretta)?|resposta(?: correta)?|gabarito|ответ"
    r"|правильный ответ|đáp án|jawaban|cevap|odpowiedź|antwoord|答案|正确答案|正確答案|正解|정답)"
)
LETTER_TOLD = re.compile(
    rf"(?i)(?<!\w)[(（\[【]?(?:{ANSWER_WORD}|(?<=\n)key(?=\s?:))[】]?\s*(?:[:：=]|\bis\b|是|为|-|–|—)?\s*[(（\[]?(?P<letter>(?-i:[A-J]))"
    r"[)）\]]?\s*[.。]?\s*[)）\]]?\s*\Z"
)
"""The last words of a question: "(Answer: B)", "答案：B"."""
TEXT_TOLD = re.compile(
    rf"(?i)(?:^|[\n(（\[])\s*{ANSWER_WORD}\s*[:：=]\s*(?P<text>[^\n]{{2,200}}?)\s*[)）\]]?\s*\Z"
)
TOLD_WORDS = (
    "key", "answer", "ans", "correct", "respuesta", "réponse", "antwort", "lösung", "risposta", "resposta",
    "gabarito", "ответ",
    "đáp án", "jawaban", "cevap", "odpowiedź", "antwoord", "答案", "正解", "정답",
)  # fmt: skip

SEVERAL = re.compile(
    r"(?i)\b(?:select|choose|check|mark|tick|pick|identify) all (?:that|which|of the|the|correct|right"
    r"|answers?|options?)\b"
    r"|\b(?:select|choose|pick|mark|tick) (?:any |the )?(?:two|three|four|2|3)\b(?! of the numbers)"
    r"(?=\s*(?:[.)!]|answers?|options?|responses?|correct|that|of the following|from))"
    r"|\bwhich (?:two|three|2|3) of (?:the following|these)\b|\bselect one or more\b|\bmore than one"
    r" (?:answer|option) may be (?:correct|right)\b"
    r"|[(（]多选(?:题)?[)）]|选出所有|多項選択|すべて選(?:べ|び)|모두 고르"
    r"|\b(?:seleccione|elija|marque) (?:todas|dos)\b|\bwählen sie (?:alle|zwei)\b|\b(?:cochez"
    r"|choisissez) (?:toutes|deux)\b"
    r"|\b(?:selecione|assinale|marque) (?:todas|duas)\b|выберите (?:все|два|несколько)"
)
SEVERAL_WORDS = (
    "which t", "which 2", "which 3",
    "select", "choose", "check all", "mark", "tick", "pick", "identify all", "more than one", "多选",
    "选出", "多項",
    "すべて", "모두", "seleccione", "elija", "marque", "wählen", "cochez", "choisissez", "selecione",
    "assinale", "выберите",
)  # fmt: skip
JOINED = re.compile(
    r"(?i)[,;&/+、，]|\b(?:and|y|et|und|e|и)\b|和|与|と|\b(?:all|both|none) of\b|\d.*\d|[IVX]+.*[IVX]+"
)
"""What an option that is itself several answers has in it."""

LAST_SENTENCE = re.compile(r"(?:\A|[.?!:\n。？！])\s*(?P<sentence>[^.?!:\n。？！]*)\Z")
CUT = re.compile(
    r"(?i)\A\W*(?:in |of |to |for |from |at |by |with |on )?(?:"
    r"(?:which|what|who|whose|where|when|how|why)\b.*\b(?:the most|the least|and|or|nor|whose)"
    r"|which (?:one )?of (?:the following|these) [a-z]+s\b.*\b(?:is|are|was|were|of|in|for|with"
    r"|about) (?:the|an?|the best)"
    r"|(?:which|what)\b.{20,}[a-z]-)\s*\Z"
)
"""Which of the following cities is the most": "which" is answered by the options, "the most" by nothing."""
LONGEST_SENTENCE = 400
"""Characters from the end that a last sentence may have."""
BEHEADED = re.compile(r"\A(?:hich of|hat (?:is|are|was|does|did)|ow (?:many|much)|he following)\s")

BARE = re.compile(r"[(\[]?([A-Z])[)\].]?")
LABELLED = r"(?:\A|[\s(;,]){letter}\s*[).:]\s*\S"
ABOUT_LETTERS = re.compile(
    r"(?i)\b(?:letters?|vitamins?|hepatitis|blood|types?|grades?|notes?|keys?|points?|lines?|class"
    r"|classes|curves?"
    r"|labell?ed|variables?|values?|strings?|alphabet|vowels?|symbols?|elements?|sets?|events?|genes?"
    r"|alleles?|variants?"
    r"|code|print|output|group|station|plan|strain|box|cells?|sequence|series|next|graph|figure)\b|字母|图|図"
)

CHANGING = re.compile(
    r"(?i)\b(?:who|what|which)\b(?!\s+(?:was|were)\b)[^.?!]{0,50}?\b(?:current|incumbent|reigning|latest)\s+(?:[A-Za-z]+\s+)?"
    r"(?:president|vice president|prime minister|mayor|king|queen|monarch|pope|ceo|chair(?:man|woman"
    r"|person)?|champions?|holder"
    r"|governor|chancellor|minister|secretary(?: of \w+| general)?|speaker|head of state|leader"
    r"|population|version|edition"
    r"|winner|record|exchange rate|owner)\b"
    r"|\b(?:who|which|what) (?:\w+ ){0,4}?is currently (?:the|serving|in office|leading)\b"
    r"|\bas of (?:now|today|this writing)\b"
    r"|\bmost recent (?:version|edition|election|census|world cup|olympics?|olympic games|winner|release)\b"
    r"|截至目前|截止目前|现任(?:总统|主席|总理)|現在の(?:首相|大統領|市長)"
    r"|\b(?:actual presidente|actuel président|derzeitige[rn]? (?:präsident|bundeskanzler)"
    r"|aktuelle[rn]? (?:präsident|bundeskanzler))"
    r"|нынешний (?:президент|мэр)"
)
CHANGING_WORDS = (
    "current", "incumbent", "reigning", "latest", "as of ", "most recent", "截至", "截止", "现任", "現在の",
    "actual", "actuel", "derzeitig", "aktuell", "нынешний",
)  # fmt: skip


def check_asking(item: Item) -> Iterator[Fault]:
    """Check that a question asks for one thing, does not tell it, and is whole."""
    lowered = item.question.lower()
    if any(map(lowered.__contains__, TOLD_WORDS)):
        yield from _told(item)
    if not item.several and any(map(lowered.__contains__, SEVERAL_WORDS)):
        yield from _several(item)
    yield from _cut(item)
    yield from _bare(item)
    if any(map(lowered.__contains__, CHANGING_WORDS)):
        found = CHANGING.search(item.question)
        if found:
            words = " ".join(found[0].split())
            message = f"the answer changes with the day: {words!r}"
            yield Fault("time_bound", "question", message, {"words": words})


def _told(item: Item) -> Iterator[Fault]:
    found = LETTER_TOLD.search(item.question)
    if found and found["letter"] in {option.key for option in item.options}:
        words = " ".join(found[0].split())
        yield Fault("answer_in_stem", "question", f"tells its answer: {words!r}", {"words": words})
        return
    told = TEXT_TOLD.search(item.question)
    if told and fold_stem(told["text"]) == fold_stem(item.correct_text or "\0"):
        words = " ".join(told[0].split())
        yield Fault("answer_in_stem", "question", f"tells its answer: {words!r}", {"words": words})


def _several(item: Item) -> Iterator[Fault]:
    found = SEVERAL.search(item.question)
    joined = sum(bool(JOINED.search(option.answer)) for option in item.options)
    if found and 2 * joined < len(item.options):
        words = " ".join(found[0].split())
        yield Fault("asks_for_several", "question", f"one key, and {words!r}", {"words": words})


def _cut(item: Item) -> Iterator[Fault]:
    stem = item.question.rstrip()
    if BEHEADED.match(stem):
        yield Fault("stem_cut_off", "question", f"begins with {stem[:20]!r}", {"words": stem[:20]})
    if not stem or not (stem[-1].isalpha() or stem[-1] == "-"):
        return
    sentence = LAST_SENTENCE.search(stem, max(0, len(stem) - LONGEST_SENTENCE))
    if sentence and CUT.match(sentence["sentence"]):
        end = " ".join(stem.split()[-4:])
        yield Fault("stem_cut_off", "question", f"ends with {end!r}", {"words": end})


def _bare(item: Item) -> Iterator[Fault]:
    own = [
        m for option in item.options if (m := BARE.fullmatch(option.answer.strip())) and m[1] == option.key
    ]
    if len(own) < 3 or len(own) < len(item.options):
        return
    in_stem = all(re.search(LABELLED.format(letter=option.key), item.question) for option in item.options)
    if in_stem or not ABOUT_LETTERS.search(item.question):
        where = ", the texts stand in the question" if in_stem else ""
        yield Fault("options_are_letters", "options", f"the options are bare letters{where}")
