r"""Rules about LaTeX in texts: does it close what it opens, and could it compile?

"$5" is money: a dollar sign before an amount opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kina_build.items.findings import Fault
from kina_build.items.latexnames import is_known_command
from kina_build.items.model import Item

MONEY = re.compile(
    r"(?<!\\)\$\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:[kKmMbB]|bn|mn|million|billion|trillion|thousand)\b)?"
    r"(?=$|[\s.,;:!?)\]\"'’”/%–—-])(?!\s*[=^_\\*<>])(?!\.?\d)"
    r"|(?<!\\)\$[A-Z]\b(?!\s*[=^_\\+*<>(-])(?=[\s.,;:?]|$)"  # by $X
)
DOLLAR = re.compile(r"(?<!\\)\$")
OPENS_MATH = re.compile(r"(?<!\\)\$(?=[A-Za-z\\({|\[-]|\d+[A-Za-z^_=+*/\\ ]*[\^_=\\+*])")
COMMAND = re.compile(r"\\[A-Za-z]{2,}")
BRACE = re.compile(r"(?<!\\)[{}]")
ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
MATHEMATICS = re.compile(r"\$[^$]+\$|\\\(.+\\\)|\\\[.+\\\]", re.DOTALL)
MALFORMED = (
    (re.compile(r"\\[dt]?frac\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*(?:$|[$+=)\]},])"), "\\frac with one argument"),
    (re.compile(r"\\(?:[dt]?frac|sqrt)\s*(?:$|\$)"), "a command without its argument"),
    (re.compile(r"\^\s*(?:\{[^{}]*\}|\w)\s*\^"), "a double superscript"),
    (re.compile(r"_\s*(?:\{[^{}]*\}|[A-Za-z0-9])\s*_(?=[{A-Za-z0-9])"), "a double subscript"),
    (re.compile(r"[\^_]\s*(?:\$|$|\})"), "a script without its text"),
)
"""What no LaTeX compiles, and its name."""


def check_math(item: Item) -> Iterator[Fault]:
    """Check each text of an item that has LaTeX in it; one fault a text and rule."""
    texts = {"question": item.question} | {f"options.{option.key}": option.answer for option in item.options}
    for where, text in texts.items():
        if "$" in text and _opens_unclosed(text):
            yield Fault("unbalanced_math", where, "a $ opens mathematics that nothing closes")
        if "\\" in text and COMMAND.search(text):
            yield from _check_pairs(where, text)
            yield from _check_commands(where, text)
            yield from _check_names(where, text)


def _opens_unclosed(text: str) -> bool:
    """Tell whether an odd dollar sign is left that is neither money nor closed."""
    if len(DOLLAR.findall(text)) % 2 == 0:
        return False
    left = MONEY.sub("", text)
    return len(DOLLAR.findall(left)) % 2 == 1 and bool(OPENS_MATH.search(left))


def _check_pairs(where: str, text: str) -> Iterator[Fault]:
    depth = lowest = 0
    for brace in BRACE.findall(text.replace("\\\\", "  ")):
        depth += 1 if brace == "{" else -1
        lowest = min(lowest, depth)
    if depth or lowest < 0:
        yield Fault("unbalanced_latex", where, "braces do not pair")
    left, right = len(re.findall(r"\\left\b", text)), len(re.findall(r"\\right\b", text))
    if left != right:
        yield Fault("unbalanced_latex", where, f"{left} \\left and {right} \\right")
    open_: list[str] = []
    for kind, name in ENVIRONMENT.findall(text):
        if kind == "begin":
            open_.append(name)
        elif not open_ or open_.pop() != name:
            yield Fault("unbalanced_latex", where, f"\\end{{{name}}} closes nothing")
            return
    if open_:
        yield Fault("unbalanced_latex", where, f"\\begin{{{open_[-1]}}} is not closed")


def _check_commands(where: str, text: str) -> Iterator[Fault]:
    for pattern, name in MALFORMED:
        if pattern.search(text):
            yield Fault("malformed_latex", where, name)
            return


def _check_names(where: str, text: str) -> Iterator[Fault]:
    """Find a command that no common package knows, in a text that holds mathematics at all."""
    names = [found[0] for found in COMMAND.finditer(text.replace("\\\\", "  "))]
    unknown = [name for name in names if not is_known_command(name[1:])]
    if (unknown and len(unknown) < len(names)) or (unknown and MATHEMATICS.search(text)):
        yield Fault("unknown_latex_command", where, f"no command {unknown[0]}", {"words": unknown[0]})
