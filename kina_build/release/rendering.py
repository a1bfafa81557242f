"""The templates of a release, filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2

from kina_build.escapes import in_markdown

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("kina_build.release"),
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701  Markdown, YAML and Python, not HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def tell(counts: Mapping[str, int]) -> str:
    """Write counts as "A 12, B 9" in Markdown; a blank name is "none given"."""
    return ", ".join(f"{in_markdown(name) or 'none given'} {count}" for name, count in counts.items())


def figure(number: float) -> str:
    """Write a number with four significant digits."""
    return f"{number:.4g}"


ENVIRONMENT.filters.update(told=tell, markdown=in_markdown, figure=figure)


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package."""
    return ENVIRONMENT.get_template(f"{template}.jinja").render(**values)
