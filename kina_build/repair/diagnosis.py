"""What is wrong with a doubtful item: kinds of faults, each with the evidence for it.

Source: the issue kinds of KINA's refinement (arXiv 2606.05104), with those that MMLU-Redux and
HLE-Verified found. A diagnosis proves nothing by itself: it says what a reviewer should look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import ItemRules
from kina_build.items.answers import NONE, AnswerMatrix
from kina_build.items.checking.explaining import claimed_letters
from kina_build.items.checking.rule import Finding
from kina_build.items.mending.patch import Patch
from kina_build.items.model import Item
from kina_build.items.triage import Suspicion, triage_keys
from kina_build.repair.confident import Doubt, find_label_faults

Kind = Literal[
    "wrong_key", "several_keys", "no_key", "unclear", "missing_context", "outdated", "flawed_distractor",
    "source",
]  # fmt: skip

KIND_OF_RULE: Mapping[str, Kind] = {
    "key_not_in_options": "no_key", "explanation_contradicts_key": "wrong_key", "keys_conflict": "wrong_key",
    "parallel_key": "wrong_key",
    "keyed_option_duplicated": "several_keys", "asks_for_several": "several_keys",
    "missing_media": "missing_context", "missing_passage": "missing_context",
    "refers_to_context": "missing_context",
    "time_bound": "outdated",
    "duplicate_distractor": "flawed_distractor", "options_equal_in_value": "flawed_distractor",
    "options_equal_in_units": "flawed_distractor", "empty_option": "flawed_distractor",
    "option_is_placeholder": "flawed_distractor", "sheet_error": "flawed_distractor",
    "sheet_date": "flawed_distractor", "statement_subset": "flawed_distractor",
    "statement_sets_equal": "flawed_distractor", "option_in_other_script": "flawed_distractor",
    "missing_source": "source", "source_not_allowed": "source",
    "stem_cut_off": "unclear", "stem_is_placeholder": "unclear", "empty_stem": "unclear",
    "answer_in_stem": "unclear",
    "template_slot": "unclear", "replacement_character": "unclear", "control_character": "unclear",
    "mojibake": "unclear", "html_tag": "unclear", "html_entity": "unclear", "lost_amount": "unclear",
    "malformed_latex": "unclear", "unbalanced_latex": "unclear", "unbalanced_math": "unclear",
    "chatbot_residue": "unclear", "parallel_numbers": "unclear", "parallel_negation": "unclear",
}  # fmt: skip
"""Rule of `kina check` to the kind of fault that it speaks of; rules about a whole pool name no item."""

LEAST_CAMP = 4
"""Strong models that a camp has at least."""

GRAVITY: tuple[Kind, ...] = (
    "no_key", "wrong_key", "several_keys", "missing_context", "unclear", "outdated", "flawed_distractor",
    "source",
)  # fmt: skip
"""Kinds by how much they spoil an item."""


class Evidence(BaseModel):
    """One reason for a kind of fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str
    """Who says so: a rule of `kina check`, "models", or a judge."""
    field: str
    """The field that it speaks of."""
    message: str


class Issue(BaseModel):
    """A kind of fault, with all that speaks for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    fields: tuple[str, ...]
    """The only fields that a repair of it may touch, beside the explanation."""
    evidence: tuple[Evidence, ...] = Field(min_length=1)


class Diagnosis(BaseModel):
    """Why an item is doubtful, and a repair where one follows from the evidence alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    """1 is to be looked at first."""
    item_id: str
    issues: tuple[Issue, ...]
    """Gravest first."""
    proposal: Patch | None = None
    """Changes nothing until a person accepts it: `kina fix --accept`."""
    share_right: float | None = None
    """Share of the models that are right by the present key; none: no model was asked."""
    share_right_after: float | None = None
    """The same by the proposed key; none where a text changes: the models must be asked again."""
    easier: bool | None = None
    """Whether more models would be right than are now."""


@dataclass(frozen=True)
class Votes:
    """What models say of the keys of a pool."""

    matrix: AnswerMatrix
    suspicions: Mapping[str, Suspicion]
    doubts: Mapping[str, Doubt]
    strong: tuple[str, ...]


def weigh_votes(
    items: Sequence[Item],
    matrix: AnswerMatrix,
    rules: ItemRules = ItemRules(),
    strong: Sequence[str] | None = None,
) -> Votes:
    """Gather what triage and confident learning say.

    Raises:
        InputError: a strong model without answers.
    """
    found = triage_keys(items, matrix, rules, strong)
    doubts = find_label_faults(items, matrix).doubts
    return Votes(
        matrix,
        {one.item_id: one for one in found.queue},
        {one.item_id: one for one in doubts},
        found.strong,
    )


def find_issues(
    item: Item,
    findings: Iterable[Finding],
    row: int,
    votes: Votes | None,
    judged: Sequence[tuple[Kind, Evidence]] = (),
) -> list[Issue]:
    """Gather the issues of one item.

    Args:
        item: of the pool.
        findings: about it.
        row: its place in the pool and in the votes' matrix.
        votes: what models say; none: they were not asked.
        judged: what enough judges say of it.
    """
    told: defaultdict[Kind, list[Evidence]] = defaultdict(list)
    for finding in findings:
        if finding.rule in KIND_OF_RULE:
            evidence = Evidence(by=finding.rule, field=finding.field, message=finding.message)
            told[KIND_OF_RULE[finding.rule]].append(evidence)
    if votes is not None:
        for kind, message in _from_votes(item, row, votes):
            told[kind].append(Evidence(by="models", field="correct_answer", message=message))
    for kind, evidence in judged:
        told[kind].append(evidence)
    return [
        Issue(
            kind=kind,
            fields=tuple(dict.fromkeys(one.field for one in told[kind])),
            evidence=tuple(told[kind]),
        )
        for kind in GRAVITY
        if kind in told
    ]


def _from_votes(item: Item, row: int, votes: Votes) -> Iterator[tuple[Kind, str]]:
    suspicion, doubt = votes.suspicions.get(item.item_id), votes.doubts.get(item.item_id)
    if suspicion is not None and "agreed_rival" in suspicion.flags:
        agreed = f"{suspicion.rival_votes} of {suspicion.voters} strong models agree on {suspicion.rival}"
        yield "wrong_key", f"{agreed}, {suspicion.key_votes} on the key"
    elif doubt is not None:
        yield (
            "wrong_key",
            f"{doubt.rival_share:.0%} of the models give {doubt.rival}, {doubt.key_share:.0%} the key",
        )
    split = _split(item, row, votes)
    if split:
        yield "several_keys", split


def _split(item: Item, row: int, votes: Votes) -> str:
    """Tell of strong models that fall into two camps, one of them the key's."""
    columns = [n for n, model in enumerate(votes.matrix.models) if model in votes.strong]
    given = [str(votes.matrix.letters[row, n]) for n in columns if votes.matrix.asked[row, n]]
    counts = {letter: given.count(letter) for letter in set(given) - {NONE}}
    key = counts.pop(item.correct_answer, 0)
    rival = max(counts, key=lambda letter: (counts[letter], letter), default="")
    other = counts.get(rival, 0)
    if min(key, other) >= LEAST_CAMP and key + other == len(given):
        return f"strong models fall into two camps: {key} give the key, {other} give {rival}"
    return ""


def rival_of(item: Item, votes: Votes | None) -> str | None:
    """Return the option that the strong models agree on instead of the key."""
    suspicion = votes.suspicions.get(item.item_id) if votes is not None else None
    return suspicion.rival if suspicion is not None and "agreed_rival" in suspicion.flags else None


def explains_rival(item: Item, rival: str) -> bool:
    """Tell whether an item's own explanation calls another option right."""
    return claimed_letters(item.explanation or "") == {rival}


def share_right(matrix: AnswerMatrix, row: int, key: str) -> float | None:
    """Return the share of the models that gave a letter; none where no model was asked."""
    asked = matrix.asked[row]
    return round(float(np.mean(matrix.letters[row][asked] == key)), 4) if asked.any() else None


def order(diagnoses: Iterable[tuple[Item, list[Issue], dict[str, Any]]]) -> list[Diagnosis]:
    """Rank diagnoses: by the gravest issue, then by how much speaks for it."""
    ranked = sorted(
        diagnoses,
        key=lambda one: (GRAVITY.index(one[1][0].kind), -len(one[1][0].evidence), one[0].item_id),
    )
    return [
        Diagnosis(rank=rank, item_id=item.item_id, issues=tuple(issues), **more)
        for rank, (item, issues, more) in enumerate(ranked, start=1)
    ]
