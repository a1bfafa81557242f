"""Teachers' quiz files: Aiken and GIFT texts, Moodle XML; multiple choice."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kina_build.errors import InputError
from kina_build.items.importing.optioncells import WHOLE, mark_right
from kina_build.items.importing.rawfile import Decoded, RawFile, RawRow, Reject, RowRefused

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

AIKEN_ANSWER = re.compile(
    r"(?m)^[ \t]*(?:ANSWER|(?i:(?:correct )?answer|ans|key|antwort|lösung|réponse|respuesta|risposta"
    r"|resposta|ответ|答案|正解|정답))"
    r"[ \t]*[:：.][ \t]*\(?([A-Za-z](?:[ \t]*,[ \t]*[A-Za-z])*)\)?[.)]?[ \t]*$"
)
AIKEN_OPTION = re.compile(r"(?P<star>\*?)[ \t]*\(?([A-Za-z])[.)][ \t]*(\S.*)")
"""Matches "A. red", "(b) blue", and "*c) green", whose star marks the right answer."""
AIKEN_NUMBER = re.compile(r"(?:(?:Q|Question|Frage|No\.?)[ ]?)?\d{1,4}[.):]?[ \t]+", re.IGNORECASE)
STARRED = re.compile(r"(?m)^[ \t]*\*[ \t]*\(?[A-Za-z][.)][ \t]*\S")
TRIVIA = re.compile(r"(?m)^#Q[ \t].*\n(?:.*\n){0,8}?\^[ \t]")
"""Trivia in plain text: "#Q question", "^ answer", "A option"."""

GIFT_ANSWERS = re.compile(r"(?s)(?<!\\)\{(?P<body>(?:\\.|[^{}\\])*)\}")
GIFT_LOOKS = re.compile(r"(?s)(?<!\\)\{\s*(?:[=~]|(?:T|F|TRUE|FALSE)\s*[}#])")
"""The answers of a GIFT question: "{=right ~wrong}"; "{x}" is none."""

GIFT_TITLE = re.compile(r"(?s)\s*::(?:\\.|[^:\\])*::\s*")
GIFT_PIECE = re.compile(r"(?s)(?<!\\)(?P<sign>[=~])(?P<text>(?:\\.|[^=~\\])*)")
GIFT_WEIGHT = re.compile(r"\s*%(-?\d+(?:\.\d+)?)%")
ESCAPED = re.compile(r"\\([~=#{}:\\])")

TRUTH = {"T": True, "TRUE": True, "F": False, "FALSE": False}
PLAIN_TAGS = re.compile(r"</?(?:p|div|span|b|i|u|strong|em|font|body|html)\b[^>]*>", re.IGNORECASE)
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def read_quiz(decoded: Decoded, name: str, suffix: str, *, several: bool = False) -> RawFile | None:
    """Read a quiz text by what it looks like; None where it looks like none.

    Args:
        decoded: its text.
        name: of the file, for messages.
        suffix: of the file.
        several: take questions whose right answers are to be chosen together.

    Raises:
        InputError: XML that is no Moodle quiz, or a form of text that is known and not read.
    """
    text = decoded.text
    if text.lstrip().startswith("<"):
        return _collect(name, "moodle", decoded, _moodle(text, name, several=several))
    if (AIKEN_ANSWER.search(text) or STARRED.search(text)) and re.search(
        r"(?m)^[ \t]*\*?\(?[Aa][.)][ \t]*\S", text
    ):
        return _collect(name, "aiken", decoded, _aiken(text))
    if suffix == ".gift" or (suffix == ".txt" and GIFT_LOOKS.search(text)):
        return _collect(name, "gift", decoded, _gift(text, several=several))
    if TRIVIA.search(text):
        raise InputError(
            f"{name}: trivia in plain text (#Q question, ^ answer): this form is not read",
            hint="write it as Aiken (A. option lines, then ANSWER: B) or as CSV",
        )
    return None


Read = Iterator[tuple[int, dict[str, Any] | RowRefused]]


def _collect(name: str, form: str, decoded: Decoded, read: Read) -> RawFile:
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for line, one in read:
        if isinstance(one, RowRefused):
            rejects.append(one.at(name, line))
        else:
            rows.append(RawRow(line, one))
    return RawFile(name, tuple(rows), tuple(rejects), {"format": form, "encoding": decoded.encoding})


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of what blank lines part."""
    line, held = 1, ""
    for number, one in enumerate([*text.split("\n"), ""], start=1):
        if one.strip():
            line, held = (line, held + "\n" + one) if held else (number, one)
        elif held:
            yield line, held
            held = ""


def _aiken(text: str) -> Read:
    blocks = list(_blocks(text))
    numbered = all(AIKEN_NUMBER.match(block.lstrip()) for _, block in blocks)
    for line, block in blocks:
        lines = [one.strip() for one in block.split("\n")]
        if numbered:
            lines[0] = AIKEN_NUMBER.sub("", lines[0], count=1)
        try:
            yield line, _aiken_question(lines)
        except RowRefused as fault:
            yield line, fault


def _aiken_question(lines: list[str]) -> dict[str, Any]:
    """Read a question, its lettered options, and what says which is right: a last line, or a star."""
    answer = AIKEN_ANSWER.fullmatch(lines[-1])
    body = lines[:-1] if answer else lines
    first = next((n for n, one in enumerate(body) if AIKEN_OPTION.fullmatch(one)), 0)
    options = [found for one in body[first:] if (found := AIKEN_OPTION.fullmatch(one))]
    letters = [found[2].upper() for found in options]
    starred = [found[2].upper() for found in options if found["star"]]
    whole = first > 0 and len(body) == first + len(options)
    if not whole or letters != [chr(65 + n) for n in range(len(letters))] or bool(answer) == bool(starred):
        raise RowRefused("aiken_malformed", "no question, options A. B. ... and a last line ANSWER: X")
    right = re.findall("[A-Z]", answer[1].upper()) if answer else starred
    if not set(right) <= set(letters):
        raise RowRefused("answer_not_in_options", f"ANSWER: {', '.join(right)} names no option")
    marked = [{"text": found[3], "is_correct": found[2].upper() in right} for found in options]
    return {"question": "\n".join(lines[:first]), "options": marked}


def _gift(text: str, *, several: bool) -> Read:
    category = ""
    without = re.sub(r"(?m)^[ \t]*//.*$", "", text)
    for line, whole in _blocks(without):
        head, _, rest = whole.partition("\n")
        named = head.startswith("$CATEGORY:")
        category = head.removeprefix("$CATEGORY:").strip() if named else category
        block = rest if named else whole
        if not block:
            continue
        try:
            yield line, _gift_question(block, several=several) | ({"category": category} if category else {})
        except RowRefused as fault:
            yield line, fault


def _gift_question(block: str, *, several: bool) -> dict[str, Any]:
    block = GIFT_TITLE.sub("", block, count=1) if GIFT_TITLE.match(block) else block
    block = re.sub(r"^\s*\[(?:html|moodle|plain|markdown)\]", "", block)
    found = list(GIFT_ANSWERS.finditer(block))
    if len(found) != 1:
        raise RowRefused("gift_malformed", f"{len(found)} groups of answers in braces where one is expected")
    before, after = block[: found[0].start()].strip(), block[found[0].end() :].strip()
    stem = _gift_text(f"{before} ____ {after}" if after else before)
    body = found[0]["body"].strip()
    word = re.split(r"(?<!\\)#", body)[0].strip().upper()
    if word in TRUTH:
        return {"question": stem, "options": _truth(TRUTH[word])}
    if "~" not in body or not body.startswith(("=", "~")):
        raise RowRefused("not_multiple_choice", "no wrong answers (~): a question with a free answer")
    return {
        "question": stem,
        "options": mark_right([_gift_option(piece) for piece in GIFT_PIECE.finditer(body)], several=several),
    }


def _gift_option(piece: re.Match[str]) -> dict[str, Any]:
    text, *feedback = re.split(r"(?<!\\)#", piece["text"])
    if "->" in text and piece["sign"] == "=":
        raise RowRefused("not_multiple_choice", "a matching question (->)")
    weight = GIFT_WEIGHT.match(text)
    worth = float(weight[1]) if weight else (WHOLE if piece["sign"] == "=" else 0.0)
    said = _gift_text("#".join(feedback)) if feedback else ""
    return {
        "text": _gift_text(text[weight.end() :] if weight else text), "worth": worth,
        "explanation": said or None,
    }  # fmt: skip


def _gift_text(text: str) -> str:
    return ESCAPED.sub(r"\1", text.replace("\\n", "\n")).strip()


def _truth(right: bool) -> list[dict[str, Any]]:
    return [{"text": str(one), "is_correct": one is right} for one in (True, False)]


def _moodle(text: str, name: str, *, several: bool) -> Read:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root = fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except ParseError as error:
        raise InputError(f"{name}: XML that cannot be read: {error}") from None
    except DefusedXmlException:
        raise InputError(f"{name}: XML that declares entities: such a file is never read") from None
    if root.tag != "quiz":
        raise InputError(
            f"{name}: XML with the root <{root.tag}>", hint="Moodle XML, with the root <quiz>, is read"
        )
    places = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(r"<question\b", text)]
    category = ""
    for line, question in zip(places, root.iter("question"), strict=False):
        if question.get("type") == "category":
            category = _moodle_text(question.find("category")) or category
            continue
        try:
            yield (
                line,
                _moodle_question(question, several=several) | ({"category": category} if category else {}),
            )
        except RowRefused as fault:
            yield line, fault


def _moodle_question(question: Element, *, several: bool) -> dict[str, Any]:
    kind = question.get("type") or ""
    stem = _moodle_text(question.find("questiontext"))
    if kind not in ("multichoice", "truefalse"):
        raise RowRefused("not_multiple_choice", f"a question of type {kind!r}")
    single = question.findtext("single", "true").strip() not in ("false", "0")
    if not single and not several:
        message = "several answers may be chosen (single: false); --several-keys takes such questions"
        raise RowRefused("multiple_keys", message)
    options = [
        {
            "text": _moodle_text(answer),
            "worth": float(answer.get("fraction") or 0),
            "explanation": _moodle_text(answer.find("feedback")) or None,
        }
        for answer in question.findall("answer")
    ]
    made: dict[str, Any] = {"question": stem, "options": mark_right(options, several=not single)}
    explanation = _moodle_text(question.find("generalfeedback"))
    return made | ({"explanation": explanation} if explanation else {})


def _moodle_text(element: Element | None) -> str:
    """Return an element's text; tags of plain layout go, all others stay to be found by `kina check`."""
    text = (element.findtext("text") or "") if element is not None else ""
    return html.unescape(PLAIN_TAGS.sub("", BREAK.sub("\n", text))).strip()
