"""Formulas as MathML, which browsers show without a script and without a request."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def add_renderer(app: Any) -> None:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, _leave), (_block, _leave))


def _inline(writer: Any, node: Any) -> None:
    _put(writer, node, "inline")


def _block(writer: Any, node: Any) -> None:
    _put(writer, node, "block")


def _put(writer: Any, node: Any, display: str) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(convert(node.astext(), display=display))
    raise SkipNode


def _leave(writer: Any, node: Any) -> None:
    """Nothing is left to close."""
