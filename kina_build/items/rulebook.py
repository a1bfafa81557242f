"""All rules of `kina check`, and the page that lists them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from kina_build.errors import KinaError
from kina_build.items.rule import Rule
from kina_build.items.rules_build import BUILD
from kina_build.items.rules_text import TEXT

RULES: Mapping[str, Rule] = {**BUILD, **TEXT}
"""Every rule. Names are stable: kina.toml and release exemptions use them."""

HEAD = """# Rules of `kina check`

Made from the rule table by `python -m benchmarks.rules`; a test holds it to the table. Severities are
those of the profiles `kina` and `generic`; `[items.severity]` in kina.toml changes them. *Right* counts
findings on public files that were drawn by seed and read one by one (tests/items/precision.csv).

"""


def need_rules(names: Collection[str], where: str, error: type[KinaError]) -> None:
    """Refuse names that no rule has.

    Raises:
        KinaError: of the kind that is given.
    """
    unknown = [name for name in names if name not in RULES]
    if unknown:
        near = difflib.get_close_matches(unknown[0], RULES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"rules: {', '.join(RULES)}"
        raise error(f"{where}: no rule {unknown[0]!r}", hint=hint)


def rules_page(read: Mapping[str, tuple[int, int]]) -> str:
    """Write the page of all rules.

    Args:
        read: rule to the findings that were right, and those that were read.
    """
    lines = ["| rule | kina | generic | what | fires on | not on | right |", "|---|---|---|---|---|---|---|"]
    for name, rule in RULES.items():
        right = "{} of {}".format(*read[name]) if name in read else ""
        cells = (
            f"`{name}`",
            rule.kina or "",
            rule.generic or "",
            rule.meaning,
            rule.fires,
            rule.spares,
            right,
        )
        lines.append(f"| {' | '.join(_cell(str(cell)) for cell in cells)} |")
    return HEAD + "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Escape what would act in a table's cell; unprintable characters are shown by their names."""
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    for sign in "|<*_$":
        shown = shown.replace(sign, "\\" + sign) if not shown.startswith("`") else shown
    return shown
