"""The templates of a release, filled in."""

from __future__ import annotations

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


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package."""
    return ENVIRONMENT.get_template(f"{template}.jinja").render(**values)
