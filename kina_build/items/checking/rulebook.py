"""The rules about how items are built: ids, options, keys, and the pool as a whole."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from kina_build.errors import KinaError
from kina_build.items.checking.rule import Rule, Sketch
from kina_build.items.checking.rules_text import TEXT

SOUND = Sketch()
TEN = "tin|oak|sea|fog|sun|elm|ash|hay|rye|ice"
SIX = (
    "Which of these hold?\n1. It is old.\n2. It is wet.\n3. It is deep.\n4. It is cold."
    "\n5. It is wide.\n6. It is still."
)

BUILD: Mapping[str, Rule] = {
    "id_repeated": Rule(
        "an id stands on more than one item", "error", "error",
        Sketch(keys="AA", one_id=True, alike=False), Sketch(keys="AA", alike=False),
    ),
    "empty_stem": Rule("no question", "error", "error", Sketch("  "), Sketch("2 + 2 = ?")),
    "stem_is_placeholder": Rule(
        "the question's text was lost", "error", "error", Sketch("Question 12"), Sketch("2 + 2 = ?")
    ),
    "too_few_options": Rule(
        "fewer than two options", "error", "error", Sketch(options="oxygen"), Sketch(options="oxygen|argon")
    ),
    "empty_option": Rule(
        "an option without "
        "text", "error", "error", Sketch(options="oxygen||neon"), Sketch(options="oxygen|-|neon")
    ),
    "option_keys_repeated": Rule(
        "two options with one key", "error", "error", Sketch(labels="AABC"), Sketch(labels="ABCD")
    ),
    "option_keys_irregular": Rule(
        "option keys are not A, B, C, ... in "
        "order", "warning", "warning", Sketch(labels="ACDE"), Sketch(labels="ABCD")
    ),
    "key_not_in_options": Rule(
        "the key names no option", "error", "error", Sketch(keys="F"), Sketch(keys="D")
    ),
    "several_keys": Rule(
        "more than one option is keyed", "error", None,
        Sketch("Which are noble gases?", keys="B", also="C"), Sketch("Which are noble gases?", keys="B"),
    ),
    "keyed_option_duplicated": Rule(
        "another option is the same answer as the keyed one", "error", "error",
        Sketch("Which share is a quarter?", "1/4|0.25|2/3"), Sketch("Which genes are these?", "GG|Gg|gg"),
    ),
    "duplicate_distractor": Rule(
        "two wrong options are the same answer", "error", "warning",
        Sketch(options="oxygen|argon|argon |neon"), Sketch("How many petals?", "1|2-3|3-4|4-5"),
    ),
    "options_equal_in_value": Rule(
        "two options are formulas of one value", "warning", "info",
        Sketch("How large is it?", "9^2|81|80"), Sketch("Which area is it?", "5²|52|53"),
    ),
    "options_equal_in_units": Rule(
        "two options are one quantity in two units", "warning", "warning",
        Sketch("How long is a lap?", "1000 m|1 km|400 m"), Sketch("How long is a lap?", "1000 m|1 kg|1 mile"),
    ),
    "unlabelled_extra_options": Rule(
        "options without label behind labelled ones", "error", "error",
        Sketch(options="A. tin|B. oak|C. sea|because it is metal"), SOUND,
    ),
    "option_carries_label": Rule(
        "option texts begin with their "
        "letters", "error", "warning", Sketch(options="A. tin|B. oak|C. sea"), SOUND
    ),
    "option_text_is_label": Rule(
        "an option's text is another option's letter", "warning", "warning",
        Sketch(options="B|oak|sea"), Sketch(options="K|oak|sea"),
    ),
    "options_are_letters": Rule(
        "every option is only its own letter", "warning", "warning",
        Sketch("Pick the metal. A) tin B) oak C) sea", "A|B|C"), Sketch("Which vitamin is it?", "A|B|C"),
    ),
    "option_refers_to_letters": Rule(
        "an option names others by letter: do not shuffle", "warning", "info",
        Sketch(options="oxygen|argon|Both A and B"), Sketch(options="oxygen|argon|A and Z"),
    ),
    "item_repeated": Rule(
        "the same question with the same options and key stands more than once", "error", "warning",
        Sketch(keys="AA"), Sketch(keys="AA", alike=False),
    ),
    "keys_conflict": Rule(
        "the same question and options with different right answers", "error", "error",
        Sketch(keys="AB"), Sketch(keys="AB", alike=False),
    ),
    "parallel_key": Rule(
        "versions of an item in two languages have different keys", "error", "warning",
        Sketch(keys="AB", version="¿Qué gas emiten las plantas?"),
        Sketch(keys="AA", version="¿Qué gas emiten las plantas?"),
    ),
    "parallel_options": Rule(
        "versions of an item in two languages have different numbers of options", "error", "warning",
        Sketch(keys="AA", version="¿Qué gas?", fewer=True), Sketch(keys="AA", version="¿Qué gas?"),
    ),
    "parallel_numbers": Rule(
        "versions of an item in two languages hold different numbers", "warning", "warning",
        Sketch("Which gas has 14 electrons?", keys="AA", version="电子数为41的气体是？"),
        Sketch("Which gas had 1,500 uses in May?", keys="AA", version="¿Qué gas tuvo 1.500 usos en mayo?"),
    ),
    "parallel_negation": Rule(
        "of an item's versions one asks for what is not so", "warning", "warning",
        Sketch("Which is NOT a noble gas?", keys="AA", version="次のうち希ガスはどれか。"),
        Sketch("Which is NOT a noble gas?", keys="AA", version="次のうち希ガスでないものはどれか。"),
    ),
    "option_count": Rule("not exactly ten options", "error", None, SOUND, Sketch(options=TEN)),
    "too_few_statements": Rule(
        "fewer than six statements to combine", "error", None,
        Sketch(SIX[: SIX.index("\n6")], "1, 2|2, 3|3, 4"), Sketch(SIX, "1, 2|2, 3|3, 6"),
    ),
    "statement_subset": Rule(
        "an option's statements are a proper subset of another's", "error", None,
        Sketch(SIX, "1, 2|1, 2, 3|3, 4"), Sketch(SIX, "1, 2|2, 3|3, 6"),
    ),
    "statement_sets_equal": Rule(
        "two options combine the same statements", "error", "warning",
        Sketch(SIX, "Only 1 and 3|3 and 1 only|2, 4"), Sketch(SIX, "1, 2|2, 3|3, 6"),
    ),
    "statement_sizes_unbalanced": Rule(
        "one option combines far more statements", "warning", None,
        Sketch(SIX, "1|2, 3, 4, 5, 6|1, 2"), Sketch(SIX, "1, 2|2, 3|3, 6"),
    ),
    "surface_cue": Rule(
        "a trait of the options' looks gives the key away", "error", "warning",
        Sketch(options="moss |reed|fern|tree", keys="A" * 40, alike=False),
        Sketch(options="moss|reed|fern|tree", keys="ABCD" * 10, alike=False),
    ),
    "length_cue": Rule(
        "the longest option is the key too often", "error", "warning",
        Sketch(options="mosses|reed|fern|tree", keys="A" * 40, alike=False),
        Sketch(options="mosses|reed|fern|tree", keys="ABCD" * 10, alike=False),
    ),
    "key_position": Rule(
        "the keys' letters are far from balanced", "error", "warning",
        Sketch(keys="A" * 40, alike=False), Sketch(keys="ABCD" * 10, alike=False),
    ),
}  # fmt: skip
"""Rule to what it means, for rules about how items are built."""


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
