"""Item text as safe HTML: everything escaped, LaTeX formulas as MathML."""

from __future__ import annotations

import contextlib
import html
import re

from kina_build.items.model import Item

FORMULA = re.compile(
    r"\$\$(?P<block>.+?)\$\$|\\\[(?P<bracket>.+?)\\\]|\\\((?P<paren>.+?)\\\)"
    r"|(?<![\\$\w])\$(?P<inline>[^$\n]*[^$\s\\])\$(?![\w$])",
    re.DOTALL,
)
"""Formulas between $$ $$, \\[ \\], \\( \\) or single dollars."""
CURRENCY = re.compile(r"^\d[\d.,]*(\s+[^\\=^_{}]+|\s*[-–/])$")
"""What stands between two prices, as in "$5 or US$6": not a formula."""
FORMULA_LIMIT = 2000
"""Characters of a formula that is still rendered; a longer one is shown as it is written."""

SAFE_ATTRIBUTES = {
    "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display",
    "displaystyle", "fence", "form", "height", "largeop", "linethickness", "lspace", "mathcolor",
    "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "rowlines", "rowspacing", "rspace",
    "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width", "xmlns",
}  # fmt: skip
"""Attributes of MathML that only shape a formula."""


def show_text(text: str) -> str:
    """Return text as HTML with its formulas as MathML; line breaks stay line breaks.

    A formula that cannot be parsed is shown as code, as it is written.
    """
    pieces: list[str] = []
    end = 0
    for match in FORMULA.finditer(text):
        inline = match["inline"]
        if inline is not None and CURRENCY.match(inline):
            continue
        pieces.append(_plain(text[end : match.start()]))
        formula = next(group for group in match.groups() if group is not None)
        block = match["block"] is not None or match["bracket"] is not None
        pieces.append(show_formula(formula, block=block))
        end = match.end()
    pieces.append(_plain(text[end:]))
    return "".join(pieces)


def show_formula(formula: str, *, block: bool = False) -> str:
    """Return one LaTeX formula as MathML (https://www.w3.org/TR/mathml-core/).

    Nothing of the formula can act as markup: its texts are escaped, and links, styles and
    the like are left out.
    """
    from xml.etree.ElementTree import tostring

    from latex2mathml.converter import convert_to_element

    if len(formula) <= FORMULA_LIMIT:
        with contextlib.suppress(Exception):  # the parser raises whatever a broken formula makes it raise
            root = convert_to_element(formula, display="block" if block else "inline")
            for node in root.iter():
                # the parser leaves characters as references, which escaping would show as such
                node.text = html.unescape(node.text) if node.text else node.text
                for name in set(node.attrib) - SAFE_ATTRIBUTES:
                    del node.attrib[name]
            return str(tostring(root, encoding="unicode"))
    return f"<code>{html.escape(formula)}</code>"


def show_item(item: Item, *, keyed: bool = True) -> str:
    """Return a question with its material, options and key as one HTML fragment.

    Args:
        item: the question.
        keyed: mark the keyed option and show explanations.
    """
    parts = []
    if item.question_material:
        parts.append(f'<div class="material">{show_text(item.question_material)}</div>')
    parts.append(f'<p class="question">{show_text(item.question)}</p>')
    parts.append('<ol class="options" style="list-style:none;padding-left:0">')
    for option in item.options:
        right = keyed and option.key in item.right_keys
        mark = ' style="font-weight:600"' if right else ""
        note = " ✓" if right else ""
        why = f"<br><small>{show_text(option.explanation)}</small>" if keyed and option.explanation else ""
        label = f"<b>{html.escape(option.key)}.</b> {show_text(option.answer)}{note}{why}"
        parts.append(f'<li class="{"right" if right else "option"}"{mark}>{label}</li>')
    parts.append("</ol>")
    if keyed and item.explanation:
        parts.append(f'<p class="explanation">{show_text(item.explanation)}</p>')
    return "".join(parts)


def _plain(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
