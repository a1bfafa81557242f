"""The templates of a release, filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("kina_build.release"),
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701  Markdown, YAML and Python, not HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def tell(counts: Mapping[str, int]) -> str:
    """Write counts as "A 12, B 9"; a blank name is "none given"."""
    return ", ".join(f"{name or 'none given'} {count}" for name, count in counts.items())


def cell(text: str) -> str:
    """Write a text so that it stays in one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def figure(number: float) -> str:
    """Write a number with four significant digits."""
    return f"{number:.4g}"


ENVIRONMENT.filters.update(told=tell, cell=cell, figure=figure)


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package."""
    return ENVIRONMENT.get_template(f"{template}.jinja").render(**values)
