"""Which column of a foreign file holds what: by the user's word, else by well-known names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kina_build.errors import UsageError
from kina_build.items.importing.optioncells import MARK_FIELDS
from kina_build.items.importing.rawfile import RawFile, look_up
from kina_build.items.model import LETTERS
from kina_build.items.text import TAIL, fold_name

ALIASES: Mapping[str, tuple[str, ...]] = {
    "item_id": ("item_id", "id", "question_id", "questionid", "qid", "uid", "uuid", "guid", "index"),
    "question": (
        "question", "stem", "input", "prompt", "query", "question_text", "problem", "题目", "問題",
        "ctx", "goal", "question_stem", "sentence", "item_stem", "question_title", "frage", "fragetext",
        "pregunta", "enunciado", "domanda", "pergunta", "вопрос", "питання", "pytanie", "vraag", "soru",
        "質問", "問題文", "试题", "题干", "질문", "문제", "السؤال", "سؤال", "प्रश्न", "câu hỏi",
    ),
    "options": (
        "options", "choices", "texts", "option_texts", "mc1_targets", "endings", "candidates", "option_list",
        "options_list", "answer_options", "answer_choices", "alternatives", "possible_answers",
    ),
    "labels": ("labels", "option_labels"),
    "question_material": (
        "question_material",
        "passage",
        "context",
        "material",
        "materials",
        "article",
        "paragraph",
        "excerpt",
    ),
    "explanation": ("explanation", "rationale", "solution", "exp"),
    "question_source": ("question_source", "source", "src"),
    "author_id": ("author_id", "author"),
    "license": ("license", "licence"),
    "language": ("language", "lang"),
    "discipline": ("discipline", "subject", "category"),
    "field": ("field",),
    "subfield": ("subfield",),
    "verdict": ("verdict", "error_type"),
}  # fmt: skip
"""Item field to the column names it is known under, most telling first; "verdict" goes to metadata."""

KEY_COLUMNS = (
    "correct_answer", "correct_answers_letter", "answer", "answer_key", "answerkey", "key", "label", "target",
    "gold", "correct", "correct_option", "ground_truth", "groundtruth", "gt", "cop",
    "answer_index", "answer_idx", "correct_index", "gold_index",
    "answer_text", "correct_text", "correct_answer_text",
    "correct_answers", "right_answer", "gold_label", "answer_letter", "correct_letter", "correct_choice",
    "correct_option_letter", "key_letter", "right_option", "correct_key", "correct_ans", "ans", "output",
    "lösung", "richtige antwort", "respuesta", "respuesta correcta", "réponse", "bonne réponse", "risposta",
    "risposta corretta", "resposta", "resposta correta", "gabarito", "ответ", "правильный ответ", "відповідь",
    "odpowiedź", "poprawna odpowiedź", "juiste antwoord", "doğru cevap", "cevap",
    "答案", "正确答案", "正解", "정답",
    "الإجابة", "الإجابة الصحيحة", "उत्तर", "सही उत्तर", "đáp án",
)  # fmt: skip
"""Names of columns that hold a key; a file may have several, and then they must agree."""

INDEX_COLUMNS = ("label", "gold_label", "answer_index", "answer_idx", "correct_index", "gold_index")
"""Key columns that count options: beside one, "answers" are the options and not the right answers."""

SYNONYMS = {
    "id": "item_id",
    "stem": "question",
    "answer": "correct_answer",
    "key": "correct_answer",
    "choices": "options",
}
"""What users may write for a field in --map."""

MAPPABLE = (*ALIASES, "correct_answer")

LETTER_COLUMN = re.compile(
    r"(?:options?|opt|op|o|choices?|answer|ans|sol|ending|alternative|alternativa|alt|antwort|opción|opcion|respuesta|réponse"
    r"|reponse|risposta|opzione|opção|resposta|вариант(?: ответа)?|ответ|варіант|odpowiedź|optie|antwoord"
    r"|şık|seçenek|选项|選択肢|보기"
    r"|pilihan|phương án)?[ _.-]*\(?([a-zабвгдежз]|\d{1,2})\)?",
    re.IGNORECASE,
)
"""Names of columns that hold one option each: A, option_b, choice 3, opa."""

KNOWN_NAMES = frozenset(fold_name(name) for names in (*ALIASES.values(), KEY_COLUMNS) for name in names)


@dataclass(frozen=True)
class Columns:
    """Where each part of an item stands in one file."""

    fields: Mapping[str, str]
    """Item field to column; options, labels and keys apart."""
    options: tuple[str, ...]
    """One column with all options, or one column an option; empty: look into the question."""
    labels: str | None
    keys: tuple[str, ...]
    """Columns that hold the key; all that are given must agree."""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Columns that are read; all others go to metadata."""

    @cached_property
    def read(self) -> frozenset[str]:
        """Return the columns of plain fields."""
        return frozenset(self.fields.values())

    def consumes(self, column: str, value: Any) -> bool:
        """Tell whether a cell ends up in the item itself; a list where a text is expected does not."""
        if column not in self.taken:
            return False
        return isinstance(value, str) or not isinstance(value, Mapping | list) or column not in self.read

    def stated(self) -> dict[str, str]:
        """Say in one mapping which column was read as what."""
        found = dict(self.fields)
        if self.options:
            found["options"] = ",".join(self.options)
        if self.labels:
            found["labels"] = self.labels
        if self.keys:
            found["correct_answer"] = ",".join(self.keys)
        return found


def find_columns(file: RawFile, told: Mapping[str, str]) -> Columns:
    """Find the columns of a file.

    Args:
        file: its rows.
        told: item field to column, as the user maps them; "" means: none, whatever its name.

    Raises:
        UsageError: an unknown field, or a column that no row has.
    """
    told = {SYNONYMS.get(name, name): column for name, column in told.items()}
    _check_told(file, told)
    present = _fold_all(file.columns)
    fields: dict[str, str] = {}
    for name, aliases in ALIASES.items():
        if name in ("options", "labels"):
            continue
        column = told[name] if name in told else _first(present, aliases)
        if column and column not in fields.values():
            fields[name] = column
    options = _find_options(file, told, present)
    labels = told.get("labels", _first(present, ALIASES["labels"]) or "") if options else ""
    keys = _find_keys(told, present, {*fields.values(), *options, labels})
    read = {*fields.values(), *options, *keys, labels} - {""}
    tops = frozenset(name if name in file.columns else name.partition(".")[0] for name in read)
    return Columns(fields, options, labels or None, keys, tops)


def _check_told(file: RawFile, told: Mapping[str, str]) -> None:
    unknown = [name for name in told if name not in MAPPABLE]
    if unknown:
        raise UsageError(f"--map: no field {unknown[0]!r}", hint=f"one of: {', '.join(MAPPABLE)}")
    for name, columns in told.items():
        for column in filter(None, columns.split(",")):
            if file.rows and all(look_up(row.values, column) is None for row in file.rows):
                raise UsageError(
                    f"{file.name}: --map {name}={columns}: no row has a value in column {column!r}",
                    hint=f"columns: {', '.join(file.columns)}",
                )


def _fold_all(columns: Sequence[str]) -> dict[str, str]:
    """Return columns by folded name; of two that fold alike, the one that is written plainly."""
    folded: dict[str, str] = {}
    for column in sorted(columns, key=lambda name: fold_name(name) != name.casefold()):
        folded.setdefault(fold_name(column), column)
    return folded


def _first(present: Mapping[str, str], aliases: Sequence[str]) -> str | None:
    return next((present[name] for name in map(fold_name, aliases) if name in present), None)


def _find_options(file: RawFile, told: Mapping[str, str], present: Mapping[str, str]) -> tuple[str, ...]:
    if "options" in told:
        return tuple(filter(None, told["options"].split(",")))
    found = _first(present, ALIASES["options"])
    if found is None and "answers" in present:
        held = [row.values.get(present["answers"]) for row in file.rows]
        if _first(present, INDEX_COLUMNS) or all(_are_marked(one) for one in held):
            return (present["answers"],)
    return (found,) if found else _find_option_columns(file.columns)


def _are_marked(value: Any) -> bool:
    """Tell whether a cell lists options that say of each whether it is right."""
    listed = isinstance(value, list) and len(value) > 1 and all(isinstance(one, Mapping) for one in value)
    return listed and all(any(name in one for name in MARK_FIELDS) for one in value)


def _find_option_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Find columns named for A, B, C, ... or 1, 2, 3, ...: a run from the first, at least two long."""
    by_mark = {
        match.group(1).upper(): column
        for column in columns
        if (match := LETTER_COLUMN.fullmatch(TAIL.sub("", column).strip()))
    }
    best: tuple[str, ...] = ()
    for series in (
        tuple(LETTERS),
        tuple("АБВГДЕЖЗ"),
        tuple(map(str, range(1, 27))),
        tuple(map(str, range(26))),
    ):
        run = tuple(by_mark[mark] for mark in series[: _run_length(series, by_mark)])
        best = max(best, run, key=len)
    return best if len(best) >= 2 else ()


def _run_length(series: Sequence[str], present: Mapping[str, str]) -> int:
    return next((at for at, mark in enumerate(series) if mark not in present), len(series))


def _find_keys(told: Mapping[str, str], present: Mapping[str, str], used: set[str]) -> tuple[str, ...]:
    if "correct_answer" in told:
        return tuple(filter(None, told["correct_answer"].split(",")))
    named = [present[name] for name in map(fold_name, KEY_COLUMNS) if name in present]
    return tuple(column for column in dict.fromkeys(named) if column not in used)
