"""What `kina check` can find: the rules by name, how grave each is, and the findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["error", "warning", "info"]
ProfileName = Literal["kina", "generic"]

POOL = "*"
"""The item_id of findings about the pool as a whole."""


class Finding(BaseModel):
    """One thing that is wrong, or may be, with an item or with the pool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    """The item; "*" for the pool."""
    rule: str
    severity: Severity
    """error: a gate, `kina check` leaves with 1; warning: look at it; info: good to know."""
    field: str
    """Where: question, options.B, correct_answer, pool, ..."""
    message: str
    evidence: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """A finding before its severity is known: that depends on the profile."""

    rule: str
    field: str
    message: str
    evidence: Mapping[str, Any] = field_(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A rule's meaning, and its severity by profile; None: not looked for."""

    meaning: str
    kina: Severity | None
    generic: Severity | None


RULES: Mapping[str, Rule] = {
    "id_repeated": Rule("an id stands on more than one item", "error", "error"),
    "empty_stem": Rule("no question", "error", "error"),
    "stem_is_placeholder": Rule("the question's text was lost", "error", "error"),
    "too_few_options": Rule("fewer than two options", "error", "error"),
    "empty_option": Rule("an option without text", "error", "error"),
    "option_keys_repeated": Rule("two options with one key", "error", "error"),
    "option_keys_irregular": Rule("option keys are not A, B, C, ... in order", "warning", "warning"),
    "key_not_in_options": Rule("the key names no option", "error", "error"),
    "keyed_option_duplicated": Rule("another option is the same answer as the keyed one", "error", "error"),
    "duplicate_distractor": Rule("two wrong options are the same answer", "error", "warning"),
    "options_equal_in_value": Rule("two options are formulas of one value", "warning", "info"),
    "unlabelled_extra_options": Rule("options without label behind labelled ones", "error", "error"),
    "option_carries_label": Rule("option texts begin with their letters", "error", "warning"),
    "option_text_is_label": Rule("an option's text is another option's letter", "warning", "warning"),
    "option_refers_to_letters": Rule("an option names others by letter: do not shuffle", "warning", "info"),
    "item_repeated": Rule("the same question with the same options and key stands twice", "error", "warning"),
    "keys_conflict": Rule("the same question and options with different right answers", "error", "error"),
    "replacement_character": Rule("a character was lost in decoding", "warning", "warning"),
    "control_character": Rule("an unprintable character, as damaged LaTeX leaves", "error", "warning"),
    "missing_media": Rule("the question needs a figure or table that is not there", "error", "warning"),
    "missing_passage": Rule("the question needs a passage that is not there", "error", "warning"),
    "refers_to_context": Rule("the question speaks of a paper that is not there", "error", "warning"),
    "role_play": Rule("the question tells the reader who to be", "error", None),
    "unbalanced_math": Rule("a $ opens mathematics that nothing closes", "error", "warning"),
    "unbalanced_latex": Rule("braces, \\left or environments do not pair", "error", "warning"),
    "malformed_latex": Rule("LaTeX that cannot compile", "error", "warning"),
    "option_count": Rule("not exactly ten options", "error", None),
    "too_few_statements": Rule("fewer than six statements to combine", "error", None),
    "statement_subset": Rule("an option's statements are a proper subset of another's", "error", None),
    "statement_sizes_unbalanced": Rule("one option combines far more statements", "warning", None),
    "missing_explanation": Rule("an option without explanation", "warning", None),
    "missing_source": Rule("no source of the question", "warning", None),
    "surface_cue": Rule("a trait of the options' looks gives the key away", "error", "warning"),
    "length_cue": Rule("the longest option is the key too often", "error", "warning"),
    "key_position": Rule("the keys' letters are far from balanced", "error", "warning"),
}  # fmt: skip
"""Every rule. Names are stable: kina.toml and release exemptions use them."""
