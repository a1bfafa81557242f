"""The letters that models gave, in the items' own: from replies, rows of letters, strings of letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kina_build.errors import RowErrors, RowFault, UsageError
from kina_build.items.answers import NONE, AnswerMatrix, build_matrix, gather_letters, spread_strings
from kina_build.items.model import Item, named_keys
from kina_build.rows.jsonl import describe, iter_rows
from kina_build.scoring.lettering import (
    Forms,
    Lettering,
    find_forms,
    refuse_foreign,
    refuse_unproven,
    relabel,
    translate,
)
from kina_build.scoring.multiple_choice import read_own
from kina_build.scoring.questions import Question, forms_of
from kina_build.scoring.responses import Asked, OptionHash, Response, read_responses

CURE = (
    "give the release they answer (--release FOLDER); replies to an item whose text was changed since "
    "must be asked again or left out"
)

LETTER_FIELDS = frozenset({"model", "item_id", "letter"})
STRING_FIELDS = frozenset({"model", "answers"})


class LetterRow(BaseModel):
    """One model's letter for one item, in the labels of the form that was asked."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    item_id: str
    model: str
    letter: str | None
    prompt_sha: str | None = None
    option_hashes: tuple[OptionHash, ...] | None = None


@dataclass(frozen=True)
class Votes:
    """Letters by item and model, and how many were read in a stated order."""

    matrix: AnswerMatrix
    stated: int


@dataclass(frozen=True)
class _Cast:
    """One answer of one model: a letter, or the reply to read it from."""

    model: str
    asked: Asked
    answer: str | Response | None


def read_votes(
    paths: Sequence[Path],
    items: Sequence[Item],
    release: Mapping[str, Question] | None = None,
    stated: Mapping[str, Question] | None = None,
) -> Votes:
    """Read what models answered, in the letters of the items.

    Args:
        paths: rows {item_id, model, response}, {item_id, model, letter}, or {model, answers}.
        items: the pool.
        release: another form that replies may answer.
        stated: the form that rows without a digest answer; strings of letters are in its order.

    Raises:
        UsageError: rows that do not say which order they mean, and none is stated.
        InputError: rows about a form that is not known.
        RowErrors: rows of no such kind.
    """
    cast = _read(paths, stated)
    own = forms_of(items)
    lettering = find_forms(
        (one.asked for one in cast), Forms(own, () if release is None else (release,), stated)
    )
    refuse_unproven(lettering)
    refuse_foreign(lettering, CURE)
    keys = {item.item_id: [option.key for option in item.options] for item in items}
    letters = (
        (one.model, one.asked.item_id, _own_key(one, own[one.asked.item_id], lettering, keys))
        for one in cast
        if one.asked.item_id in own
    )
    return Votes(build_matrix(items, gather_letters(letters)), lettering.stated)


def _own_key(
    one: _Cast, question: Question, lettering: Lettering, keys: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the key, in its item, of the option that was chosen."""
    if isinstance(one.answer, Response):
        label, _ = read_own(one.answer, question, lettering.asked)
    else:
        form = lettering.asked.get(one.asked, question)
        chosen = "".join(named_keys(one.answer or "", form.labels)) if form.several else ""
        label = translate(chosen or one.answer, form, question)
    own = keys[question.item_id]
    return label if label is None else relabel(label, question, own) or label


def _read(paths: Sequence[Path], stated: Mapping[str, Question] | None) -> list[_Cast]:
    rows = [(path, line, row) for path in paths for line, row in iter_rows(path)]
    if all(row.keys() >= STRING_FIELDS for _, _, row in rows):
        return _spread([row for _, _, row in rows], stated)
    if all(row.keys() >= LETTER_FIELDS for _, _, row in rows):
        return _read_letters(rows)
    replies = (one for path in paths for one in read_responses(path).responses)
    return [_Cast(one.model, one.asked, one) for one in replies if one.answered]


def _read_letters(rows: Iterable[tuple[Path, int, dict[str, Any]]]) -> list[_Cast]:
    cast: list[_Cast] = []
    faults: list[RowFault] = []
    for path, line, values in rows:
        try:
            row = LetterRow.model_validate(values)
        except ValidationError as error:
            faults += [RowFault(str(path), line, text) for text in describe(error)]
            continue
        cast.append(
            _Cast(row.model, Asked(row.item_id, row.prompt_sha, row.option_hashes), row.letter or None)
        )
    if faults:
        raise RowErrors(faults, hint="rows of letters need item_id, model, letter")
    return cast


def _spread(rows: Sequence[Mapping[str, Any]], stated: Mapping[str, Question] | None) -> list[_Cast]:
    """Read strings of one letter an item, in the order of the form that is stated.

    Raises:
        UsageError: no order is stated.
        InputError: as spread_strings.
    """
    if stated is None:
        raise UsageError(
            "strings of letters do not say which items and options they mean",
            hint="name the file whose items and options stand in their order: --letters-of POOL",
        )
    several = sum(question.several for question in stated.values())
    if several:
        raise UsageError(
            f"{several} items have several right answers, and a string holds one letter an item",
            hint="give rows {model, item_id, letter}, as {letter: 'BD'}, or the replies",
        )
    given = spread_strings(rows, list(stated.values()))
    return [
        _Cast(model, Asked(item_id, None, None), None if letter == NONE else letter)
        for model, answers in given.items()
        for item_id, letter in answers.items()
    ]
