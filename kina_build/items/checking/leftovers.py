r"""Rules about what tools leave in texts: markup, lost characters, spreadsheets, templates, chatbots.

Each rule asks cheap questions first ("is there a < at all?"), since most texts have none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from kina_build.items.checking.rule import Fault
from kina_build.items.model import Item

TAG = re.compile(
    r"(?i)(?<![\w(])</?(?:br|div|span|sup|sub|strong|em|font|ul|ol|li|table|tbody|thead|tr|td|th|img|hr"
    r"|h[1-6]"
    r"|center|blockquote|pre|input|iframe|script|style|tt|small|big)"
    r"(?:\s+[a-z][\w-]*\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))*\s*/?>"
    r"|(?<=\w)(?:</?(?:sup|sub|span|strong|em)>|<br\s*/?>|</(?:p|div|li|td|tr|font)>)"
    r"|<(?P<letter>[biuap])(?:\s+[a-z][\w-]*\s*=[^<>]*)?>[^<>]{1,400}</(?P=letter)>"
)
"""Tags by name: <b> needs its </b>, since the span <b> of b is mathematics; vector<p> is code."""
ABOUT_MARKUP = re.compile(
    r"(?i)\b(?:x?html5?|xml|css|tags?|markup|javascript|php|web ?pages?|web ?sites?|browsers?|angular"
    r"|react|jsx|dom"
    r"|svg|xss|jsp|hyperlinks?|http|url|sgml|cross-site)\b|标签|網頁|网页|タグ"
)
ENTITY = re.compile(r"&(?:([A-Za-z][A-Za-z0-9]{1,30})|#\d{1,6}|#[xX][0-9A-Fa-f]{1,5});")

TAIL = "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"
CYRILLIC_TAIL = "[ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—™љ›њќћџ\u00a0ЎўЈ¤Ґ¦§Ё©Є«¬\u00ad®Ї°±Ііґµ¶·ё№є»јЅѕї]"
MOJIBAKE = re.compile(
    rf"â€[\u0080-\u00bf™œžš¦¢“”˜¡º]|Ã(?:[\u00a0-\u00ba\u00bc-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘–—˜™š›œžŸ]|[’“”»](?=\w))"
    rf"|Â[\u00a0¡-¨ª-º¼-¿](?!\w)|(?:[РС]{CYRILLIC_TAIL}){{3}}|(?:[ÐÑ]{TAIL}){{3}}|[ÎÏ][±-¹¼-¿€‚ƒ„…†‡ˆ‰](?![^\WÎÏ])|Å[\u0080-\u0082‘¡¼¾]"
    rf"|(?:[ã-é]{TAIL}{TAIL}){{2}}|ðŸ{TAIL}{TAIL}|‚Ä[ôòúùîì¶]|[A-Za-z]√[©®†±ß£¢º][a-z]"
)
"""UTF-8 that was read as Windows-1252 or Mac Roman: "Ã©" for é, "â€™" for ’, "‚Äô" for ’;
or as Windows-1251: "Рџ" for П."""
SIGN_OF_MOJIBAKE = re.compile("[ÃÂâÐÑÎÏÅã-éð‚√]|[РС][^А-Яа-я\\s]")

SHEET_DATE = re.compile(
    r"(?:\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{2}|\d{4}-\d\d-\d\d 00:00:00)"
)
ABOUT_DATES = re.compile(
    r"(?i)\b(?:when|dates?|days?|months?|years?|holidays?|calendar|deadline|born|died|birthday|season"
    r"|equinox|solstice"
    r"|feast|festival|expir\w+|matur\w+|due|delivery|contracts?)\b"
)
SHEET_ERROR = re.compile(r"#(?:REF!|VALUE!|DIV/0!|NAME\?|NUM!|NULL!|N/A|SPILL!|CALC!)")
ABOUT_SHEETS = re.compile(
    r"(?i)\b(?:excel|spreadsheets?|worksheets?|cells?|formulas?|vlookup|google sheets|libreoffice)\b"
    r"|表格|公式"
)

PLACEHOLDER = re.compile(
    r"(?i)\W*(?:tbd|tba|todo|fixme|placeholder|lorem ipsum\b.*|(?:option|answer|choice"
    r"|distractor)\s*(?:[a-j]|\d{1,2})"
    r"|(?:in)?correct answer(?:\s*\d)?|wrong answer(?:\s*\d)?|distractor|your (?:answer|text|option) here"
    r"|enter (?:text|option|answer)(?: here)?|click to (?:add|edit)(?: text)?"
    r"|选项\s*[A-J一二三四1-4]|選択肢\s*\d)\W*"
)
PLACEHOLDER_SIGNS = (
    "tbd", "tba", "todo", "fixme", "placeholder", "lorem", "option", "answer", "choice", "distractor",
    "enter ", "click ", "选项", "選択肢",
)  # fmt: skip
"""Words without one of which PLACEHOLDER cannot match."""
SLOT = re.compile(
    r"(?i)[\[<{(]{1,2}\s*(?:insert|fill in|your|to be (?:added|filled|written"
    r"|done))\s[^\[\]<>{}()]{2,60}[\]>})]{1,2}"
    r"|(?<![\\\w_^}$])\{[a-z]{3,}(?:_[a-z]{3,})+\}|(?<!\w)\{\{\s*[a-z_]{3,}\s*\}\}|\[\s*(?:placeholder"
    r"|TODO|TBD)\s*\]"
)
CODE = re.compile(
    r"(?i)[\\$;]|\bprint|\bdef |\breturn\b|\bf[\"']|jinja|vue|angular|template|python|latex|javascript"
    r"|mustache|bash|format"
)

RESIDUE = re.compile(
    r"(?i)\bas an? (?:ai|artificial intelligence)(?: language)? (?:language )?model\b"
    r"|\bas a (?:large )?language model\b"
    r"|\bi(?:'|’)?m sorry, but (?:i|as an)\b|\bi (?:cannot|can(?:'|’)t|am unable to) "
    r"(?:assist|help) with (?:that|this)\b"
    r"|\A\W*(?:sure|certainly|of course|absolutely)[!,.] here(?:'s|’s| is| are)\b"
    r"|\A\W*here(?:'s|’s| is) (?:a|an|your|the) (?:[\w-]+ ){0,3}?(?:multiple[- ]choice|mcq|quiz) question"
    r"|\b(?:my|as of my) (?:last )?(?:knowledge (?:cut-?off|update)|training data)\b"
    r"|\bi hope this helps[.!]|\blet me know if you (?:need|would like|want|have)\b[^.]*[.!]?\s*\Z"
    r"|\bregenerate response\b"
    r"|contentreference\[oaicite|【\d+†[^】]*】|turn\d+search\d+|utm_source=chatgpt"
    r"|作为(?:一个|一款|一名)?(?:大型)?(?:ai|人工智能)?(?:语言模型|助手)"
    r"|\b(?:en tant que|como|als) (?:modèle de langage|modelo de lenguaje|ki-sprachmodell)\b"
)
RESIDUE_WORDS = (
    "language model", "as an ai model", "intelligence model", "i'm sorry", "i’m sorry", "assist with ",
    "help with ", "here's", "here’s", "here is", "here are", "knowledge cut", "knowledge update",
    "training data", "hope this",
    "let me know", "regenerate", "oaicite", "†", "search", "utm_", "作为", "modèle", "modelo",
    "sprachmodell",
)  # fmt: skip
"""Words without one of which RESIDUE cannot match: looking for them is quick."""
ABOUT_CHATBOTS = re.compile(
    r"(?i)\b(?:chatbots?|chatgpt|prompts?|language models?|virtual assistants?|llms?)\b"
)

LOST_AMOUNT = re.compile(
    r"(?:(?<=[a-z(]\s)|(?<=[a-z]\s\s)|(?<=\())"
    r"(?:,\d{3}(?:,\d{3})*(?:\.\d\d)?|0?0,\d{3}(?:,\d{3})*)(?![\d,])"
)
"""$1,500 whose "$1" a shell or a template took for a variable."""


def check_leftovers(item: Item) -> Iterator[Fault]:
    """Check the question and every option for what tools leave; one fault a rule and item."""
    texts = texts_of(item)
    joined = "\n".join(texts.values())
    if "<" in joined:
        yield from _tags(item, texts, joined)
    if "&" in joined and ";" in joined:
        yield from _entities(texts, joined)
    if not joined.isascii() and SIGN_OF_MOJIBAKE.search(joined):
        yield from _first("mojibake", MOJIBAKE, texts, "UTF-8 read as another encoding")
    if ",000" in joined or " ," in joined or "(," in joined:
        yield from _first("lost_amount", LOST_AMOUNT, texts, "an amount without its first digits")
    yield from _sheets(item, joined)
    yield from _placeholders(item, texts, joined)
    yield from _residue(item, texts, joined)


def texts_of(item: Item) -> dict[str, str]:
    """Return the question and the options' texts by the field they stand in."""
    return {"question": item.question} | {f"options.{option.key}": option.answer for option in item.options}


def _first(rule: str, pattern: re.Pattern[str], texts: Mapping[str, str], what: str) -> Iterator[Fault]:
    """Yield the first match in any of the texts as a fault."""
    for where, text in texts.items():
        found = pattern.search(text)
        if found:
            words = " ".join(found[0].split())
            yield Fault(rule, where, f"{what}: {words!r}", {"words": words})
            return


def _tags(item: Item, texts: Mapping[str, str], joined: str) -> Iterator[Fault]:
    if ">" in joined and not ABOUT_MARKUP.search(TAG.sub(" ", joined)):
        yield from _first("html_tag", TAG, texts, "an HTML tag")


def _entities(texts: Mapping[str, str], joined: str) -> Iterator[Fault]:
    for where, text in texts.items():
        for found in ENTITY.finditer(text):
            if is_entity(found) and not ABOUT_MARKUP.search(joined):
                yield Fault("html_entity", where, f"an HTML entity: {found[0]!r}", {"words": found[0]})
                return


def is_entity(found: re.Match[str]) -> bool:
    """Tell whether what looks like an entity is one: "&eacute;" is, "&D;" is not."""
    return found[1] is None or found[1] in _entity_names()


@cache
def _entity_names() -> frozenset[str]:
    from html.entities import html5

    return frozenset(name.rstrip(";") for name in html5 if name.endswith(";"))


def _sheets(item: Item, joined: str) -> Iterator[Fault]:
    if "#" in joined:
        for option in item.options:
            if SHEET_ERROR.fullmatch(option.answer.strip()) and not ABOUT_SHEETS.search(item.question):
                message = f"option {option.key} is a spreadsheet's error: {option.answer.strip()!r}"
                yield Fault("sheet_error", f"options.{option.key}", message, {"words": option.answer.strip()})
                break
    if "-" in joined:
        dates = [option for option in item.options if SHEET_DATE.fullmatch(option.answer.strip())]
        if dates and not ABOUT_DATES.search(item.question):
            message = f"a date that a spreadsheet made: {dates[0].answer.strip()!r}"
            yield Fault("sheet_date", f"options.{dates[0].key}", message, {"words": dates[0].answer.strip()})


def _placeholders(item: Item, texts: Mapping[str, str], joined: str) -> Iterator[Fault]:
    options = "\n".join(option.answer for option in item.options).lower()
    if any(map(options.__contains__, PLACEHOLDER_SIGNS)):
        for option in item.options:
            text = option.answer.strip()
            if PLACEHOLDER.fullmatch(text) and text.strip("()[]. ").lower() not in item.question.lower():
                message = f"option {option.key} was never written: {text!r}"
                yield Fault("option_is_placeholder", f"options.{option.key}", message, {"words": text})
                break
    if ("{" in joined or "[" in joined or "<" in joined) and not CODE.search(joined):
        yield from _first("template_slot", SLOT, texts, "a template's slot")


def _residue(item: Item, texts: Mapping[str, str], joined: str) -> Iterator[Fault]:
    lowered = joined.lower()
    if any(map(lowered.__contains__, RESIDUE_WORDS)):
        where = next((where for where, text in texts.items() if RESIDUE.search(text)), None)
        if where and not (where != "question" and ABOUT_CHATBOTS.search(item.question)):
            yield from _first("chatbot_residue", RESIDUE, {where: texts[where]}, "what a chatbot says")
