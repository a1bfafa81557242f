"""From a raw reply to the plain text that was meant: no reasoning, no mark-up, no disguise.

Every step is a single pass over the text, and is skipped when the characters it looks for
do not occur.
"""

from __future__ import annotations

import html
import re
import unicodedata

from kina_build.scoring.replies.labels import BADGES, LOOKALIKES

BOX_OPEN, BOX_CLOSE = "\ue000", "\ue001"
"""Private signs put around what a reply boxed."""

REASONING_TAGS = "think|thinking|thought|thoughts|reasoning|reason|scratchpad|analysis|seed:think|reflection"
_REASONING = re.compile(
    rf"<(?P<end>/?)\|?(?:{REASONING_TAGS})\|?>|\[(?P<end2>/?)(?:THINK|THINKING|REASONING)\]|◁(?P<end3>/?)think▷",
    re.IGNORECASE,
)
_CHANNEL_FINAL = re.compile(r"<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE)
_CHANNEL_ANY = re.compile(r"<\|channel\|>\s*analysis", re.IGNORECASE)
_CHAT_END = re.compile(
    r"</s>(?=\s*(?:\Z|\n|[A-Z]\w+:))|<\|(?:im_end|eot_id|end|endoftext|return)\|>|\n\s*(?:Human|User|<\|im_start\|>user)\s*:|\[INST\]"
)
_NEXT_QUESTION = (
    "Question|Next question|Q|Problem|Pregunta|Frage|Pergunta|Domanda|Вопрос"
    "|问题|問題|질문|문제|سؤال|السؤال|คำถาม"
)
_NEXT_TURN = r"(?:Instruction|Input|Human|User)"
"""Headings of the prompts that base models are tuned on: "### Instruction:"."""
_RUN_ON = re.compile(
    rf"\n\s*(?:#+\s*)?\**(?:{_NEXT_QUESTION})\s*#?\d{{0,4}}\s*\**\s*(?:[:：.)]|(?<=[a-z])\n)"
    rf"|\n\s*#+\s*{_NEXT_TURN}\s*:",
    re.IGNORECASE,
)
_STRUCK = re.compile(
    r"~~[^~\n]{0,300}~~|<(s|del|strike)>[^<]{0,300}</\1>|\\(?:cancel|sout|xcancel|st)\s*\{[^{}]{0,300}\}",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(
    r"<(?:final[_ -]?)?(?:answer|choice|option|letter|response|result|solution|ans|selected)>", re.IGNORECASE
)
_ANSWER_FIELD = re.compile(
    r"<[A-Za-z][\w:-]{0,20}\s(?:[^<>]{0,80}\s)?(?:final_?)?(?:answer|choice|option|letter|value)\s?=\s?[\"'](?P<value>[^\"'<>]{1,60})[\"'][^<>]{0,80}>",
    re.IGNORECASE,
)
"""Matches '<response answer="C"/>'."""
_TAG = re.compile(r"</?(?:[biupsq]|[A-Za-z][A-Za-z0-9_-]{1,20})(?:\s[^<>]{0,100})?/?>")
_LATEX_STYLES = (
    r"text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|sf|it|tt|bb|cal)|mbox|operatorname|bf|rm|bold|boldsymbol"
    r"|underline|emph|hbox|textcircled|(?:text)?color\{\w+\}"
)
_LATEX_TEXT = re.compile(rf"\\(?:{_LATEX_STYLES})\s*\{{([^{{}}]*)\}}")
_BOX = re.compile(r"\\(?:boxed|fbox|framebox|boxed\s?)\s*(?:\{|(?=[A-Z(]))")
_LATEX_NOISE = re.compile(
    r"\\[()\[\],;!:~ ]|\\(?:quad|qquad|left|right|displaystyle|[lL]arge|[hH]uge)\b"
    r"|\$(?<!\w\$)\$*|\$\$*(?!\w)|~"  # each begins with a plain sign: the engine leaps from one to the next
)
_PLACEHOLDER_DOLLAR = re.compile(r"\$(?=[A-Za-z]\b)")
_SPACED_WORD = re.compile(r"(?<!\S)[A-Za-z](?: [a-z]){3,20}(?![^\s:：.])")
_SPACED_HINT = re.compile(r" [a-z] [a-z] [a-z](?![^\s:：.])")
_SNAKE = re.compile(r"(?<=[a-z])_(?=[a-z])")
_LINE_MARKS = re.compile(r"^[ \t]*(?:[>#]+[ \t]*)+", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z\u0370-\u04ff]{2,}")
_LATIN_LETTER = re.compile("[A-Za-z]")
_DROPPED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_WRITTEN_NEWLINE = re.compile(r"\\n(?![a-z])")
"""Matches the two characters of a newline that was escaped, not "\\nu"."""
_TURKISH_IS = re.compile(r"(?<=\b[A-Z])['’-][dt][iıuü]r\b")
_ELIDED = re.compile(r"\b[ld]['’](?=(?:option|opzione|alternativ|affirm|énoncé|altern)\w*)", re.IGNORECASE)
_THAT_IS = re.compile(r"\bi\.\s?e\.,?", re.IGNORECASE)
_ALEF = re.compile(r"(?<!\w)الف(?!\w)")
"""Persian and Urdu spell out the first letter."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


_LONG_BLANK = re.compile(r"\s{9,}")


def squeeze_blanks(text: str) -> str:
    """Shorten long runs of blanks and empty lines, which mean nothing and cost each pattern a walk."""
    return _LONG_BLANK.sub(lambda run: "\n\n" if "\n" in run[0] else " " * 8, text)


def drop_reasoning(text: str) -> tuple[str, bool, bool]:
    """Remove reasoning blocks.

    A closing tag without an opening one ends a block that began with the text; a block
    that is never closed runs to the end.

    Returns:
        The rest; whether a block was removed; whether the last block is unclosed.
    """
    if not any(sign in text for sign in "<[◁"):
        return text, False, False
    if _CHANNEL_ANY.search(text):
        finals = list(_CHANNEL_FINAL.finditer(text))
        return (text[finals[-1].end() :], True, False) if finals else ("", True, True)
    kept: list[str] = []
    depth = position = 0
    found = False
    for tag in _REASONING.finditer(text):
        found = True
        closes = bool(tag["end"] or tag["end2"] or tag["end3"])
        if closes and depth == 0:
            kept.clear()
        elif not closes and depth == 0:
            kept.append(text[position : tag.start()])
        depth = max(0, depth - 1) if closes else depth + 1
        position = tag.end()
    if not found:
        return text, False, False
    if depth == 0:
        kept.append(text[position:])
    return "\n".join(kept), True, depth > 0


def split_run_on(text: str) -> tuple[str, bool]:
    """Return what stands before the model begins to ask itself the next question.

    Returns:
        The first part; whether anything was cut off.
    """
    ends = [m.start() for m in (_CHAT_END.search(text), _RUN_ON.search(text)) if m]
    return (text[: min(ends)], True) if ends else (text, False)


def is_disguised(text: str) -> bool:
    """Tell whether some word mixes scripts, as texts do that hide Latin letters behind others."""
    return not text.isascii() and any(_is_mixed(word[0]) for word in _WORD.finditer(text))


def plain(text: str) -> str:
    """Remove disguise and mark-up: entities, invisible signs, LaTeX, markdown, HTML, struck text."""
    text = _unescape(text)
    if not text.isascii():
        text = _unify(text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    text = _CONTROL.sub("", text)
    if "~~" in text or "<" in text or "\\" in text:
        text = _STRUCK.sub(" ", text)
    if "\\" in text or "$" in text:
        text = _unwrap_latex(text)
    if "<" in text:
        text = _ANSWER_FIELD.sub(r"\nAnswer: \g<value> ", text) if "=" in text else text
        text = _TAG.sub(" ", _ANSWER_TAG.sub("\nAnswer: ", text))
    return _drop_markdown(_write_out(text))


def _unescape(text: str) -> str:
    if "\\n" in text and "\n" not in text.strip():
        text = _WRITTEN_NEWLINE.sub("\n", text)
    return html.unescape(text) if "&" in text else text


def _write_out(text: str) -> str:
    """Drop what is glued to a letter or an option's noun by an apostrophe, and write "i.e." in full."""
    if "'" in text or "’" in text or "-" in text:
        text = _ELIDED.sub("", _TURKISH_IS.sub("", text))
    return _THAT_IS.sub("namely", text) if "i." in text.lower() else text


def _unify(text: str) -> str:
    text = unicodedata.normalize("NFKC", _DROPPED.sub("", text).translate(BADGES))
    text = text.replace("\u2028", "\n").replace("\u2029", "\n").replace("\x85", "\n")
    return _ALEF.sub("أ", _WORD.sub(_unmix, text))


def _unmix(word: re.Match[str]) -> str:
    """Write a word that mixes scripts, such as Answer with a Cyrillic A, in Latin letters."""
    return word[0].translate(LOOKALIKES) if _is_mixed(word[0]) else word[0]


def _is_mixed(word: str) -> bool:
    return not word.isascii() and _LATIN_LETTER.search(word) is not None


def _unwrap_latex(text: str) -> str:
    for _ in range(3):  # as deep as \boxed{\textbf{\text{B}}} goes
        shorter = _LATEX_TEXT.sub(r"\1", text)
        if shorter == text:
            break
        text = shorter
    text = _mark_boxes(text)
    text = _PLACEHOLDER_DOLLAR.sub("", text)
    return _LATEX_NOISE.sub(" ", text)


def _mark_boxes(text: str) -> str:
    r"""Put BOX_OPEN and BOX_CLOSE around each \boxed content; an unclosed box holds nothing."""
    parts: list[str] = []
    position = 0
    for box in _BOX.finditer(text):
        if box.start() < position:
            continue  # a box inside a box: done with its outer one
        parts.append(text[position : box.start()])
        end = _closing_brace(text, box.end()) if box[0].endswith("{") else box.end() + 1
        content = _mark_boxes(text[box.end() : max(end, box.end())])
        parts.append(f"{BOX_OPEN} {content} {BOX_CLOSE}")
        position = end + box[0].endswith("{") if end >= 0 else len(text)
    return "".join(parts) + text[position:] if parts else text


BOX_LENGTH = 400
"""Characters searched for the end of a box."""


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for place in range(start, min(len(text), start + BOX_LENGTH)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return -1


def _drop_markdown(text: str) -> str:
    if "_" in text:
        text = _SNAKE.sub(" ", text).replace("_", "")
    if "#" in text or ">" in text:
        text = _LINE_MARKS.sub("", text)
    text = text.replace("[*]", "[x]").replace("*", "").replace("`", "").replace("|", " ")
    if _SPACED_HINT.search(text):
        text = _SPACED_WORD.sub(lambda word: word[0].replace(" ", ""), text)
    return text
