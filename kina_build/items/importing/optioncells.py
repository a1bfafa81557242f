"""Option texts out of whatever a source keeps them in: lists, objects, literals, one long string."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from kina_build.items.importing.labels import split_block, split_bullets, strip_labels
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.importing.textrows import parse_json
from kina_build.items.model import LETTERS

LABEL_FIELDS = ("key", "label", "id", "letter", "index")
TEXT_FIELDS = ("answer", "text", "content", "value", "option", "choice", "body")
TEXT_LISTS = ("text", "texts", "choices", "options")
LABEL_LISTS = ("label", "labels", "key", "keys")

MARK_FIELDS = ("is_correct", "isCorrect", "correct")

LONG_NAME = 3
"""Characters from which on a column's name is no option letter or number."""

LONGEST_LITERAL = 100_000
"""Characters of the longest Python list that is parsed."""


@dataclass(frozen=True)
class OptionTexts:
    """Options as the source gives them."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()
    """The source's own labels, one an option; empty where it has none."""
    marks: tuple[int, ...] = ()
    """1 for right and 0 for wrong, one an option, where the source marks its options."""
    explanations: tuple[str | None, ...] = ()
    sources: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if len(self.texts) > len(LETTERS):
            raise RowRefused("too_many_options", f"{len(self.texts)} options; there are 26 letters")


def read_options(value: Any, labels: Any = None) -> OptionTexts:
    """Read one row's options.

    Args:
        value: a list of texts or objects, an object by label, or a string that holds one of them.
        labels: the source's own labels where they stand in a column of their own.

    Raises:
        RowRefused: options_unparsed, labels_texts_length_mismatch, unlabelled_extra_options, ...
    """
    found = _read(value)
    if labels is None:
        return found
    return _with_labels(found, _as_list(labels))


def read_option_cells(cells: Sequence[Any], columns: Sequence[str] = ()) -> OptionTexts:
    """Read options that stand in columns of their own; blank cells at the end are no options.

    Args:
        cells: the options.
        columns: their names, by which a key may call them.
    """
    found = _from_texts(cells)
    if found.labels or any(len(name) < LONG_NAME for name in columns):
        return found
    return replace(found, labels=tuple(columns[: len(found.texts)]))


def _read(value: Any) -> OptionTexts:
    if isinstance(value, str):
        return _from_string(value)
    if isinstance(value, Mapping):
        return _from_object(value)
    if isinstance(value, Sequence):
        if value and all(isinstance(one, Mapping) for one in value):
            return _from_objects(value)
        return _from_texts(value)
    raise RowRefused("options_unparsed", f"options are a {type(value).__name__}, not a list")


def _from_texts(values: Sequence[Any]) -> OptionTexts:
    kept = list(values)
    while kept and (kept[-1] is None or kept[-1] == ""):  # padding of fixed-length lists
        kept.pop()
    texts, labels = strip_labels([as_text(one) for one in kept])
    return OptionTexts(tuple(texts), tuple(labels))


def _from_objects(values: Sequence[Mapping[str, Any]]) -> OptionTexts:
    label_field = next((name for name in LABEL_FIELDS if all(name in one for one in values)), None)
    text_field = next((name for name in TEXT_FIELDS if name != label_field and name in values[0]), None)
    if text_field is None or any(text_field not in one for one in values):
        raise RowRefused("options_unparsed", f"options are objects without one of {', '.join(TEXT_FIELDS)}")
    labels = tuple(as_text(one[label_field]).strip() for one in values) if label_field else ()
    mark_field = next(
        (name for name in MARK_FIELDS if all(isinstance(v.get(name), bool) for v in values)), None
    )
    return OptionTexts(
        texts=tuple(as_text(one[text_field]) for one in values),
        labels=labels,
        marks=tuple(int(one[mark_field]) for one in values) if mark_field else (),
        explanations=tuple(_optional(one.get("explanation")) for one in values),
        sources=tuple(_optional(one.get("source")) for one in values),
    )


def _from_object(value: Mapping[str, Any]) -> OptionTexts:
    texts = next((value[name] for name in TEXT_LISTS if isinstance(value.get(name), list)), None)
    if texts is not None:
        labels = next((value[name] for name in LABEL_LISTS if isinstance(value.get(name), list)), None)
        return read_options(texts, labels)
    given = {label: one for label, one in value.items() if one is not None}
    if not given:
        raise RowRefused("options_unparsed", "the options' object is empty")
    if all(isinstance(one, Mapping) for one in given.values()):
        return _from_objects([{"key": label} | dict(one) for label, one in given.items()])
    return OptionTexts(tuple(map(as_text, given.values())), tuple(label.strip() for label in given))


def _with_labels(found: OptionTexts, labels: Sequence[Any]) -> OptionTexts:
    if len(labels) != len(found.texts):
        message = f"{len(found.texts)} option texts but {len(labels)} labels"
        counts = {"texts": len(found.texts), "labels": len(labels)}
        raise RowRefused("labels_texts_length_mismatch", message, **counts)
    if all(isinstance(one, int) and one in (0, 1) for one in labels):
        return OptionTexts(found.texts, found.labels, marks=tuple(int(one) for one in labels))
    return OptionTexts(found.texts, tuple(as_text(one).strip() for one in labels))


def _from_string(text: str) -> OptionTexts:
    stripped = text.strip()
    if stripped[:1] in ("[", "{"):
        return _read(parse_literal(stripped))
    block = split_block(stripped) or split_bullets(stripped)
    if not block:
        raise RowRefused("options_unparsed", f"options are one string that is no list: {shorten(stripped)}")
    return OptionTexts(_cut_commas([text for _, text in block]), tuple(label for label, _ in block if label))


def _cut_commas(texts: Sequence[str]) -> tuple[str, ...]:
    """Cut the sign that parts options of one string, where all but the last end with it: "a) x , b) y"."""
    for sign in (",", ";"):
        if all(text.endswith(f" {sign}") for text in texts[:-1]):
            return (*(text.removesuffix(sign).rstrip() for text in texts[:-1]), texts[-1])
    return tuple(texts)


def parse_literal(text: str) -> Any:
    """Parse a JSON or Python list without running anything."""
    try:
        return parse_json(text)
    except RowRefused:
        pass
    unparsed = RowRefused("options_unparsed", f"neither a JSON nor a Python list: {shorten(text)}")
    if len(text) > LONGEST_LITERAL or _joins_strings(text):
        raise unparsed
    try:
        with warnings.catch_warnings(action="ignore"):  # "\m" in a literal: an escape that is none
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise unparsed from None
    if isinstance(value, set | frozenset | tuple):
        raise unparsed
    return value


def _joins_strings(text: str) -> bool:
    """Tell whether two string literals stand side by side, which Python would glue together."""
    try:
        kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError):
        return True
    told = [kind for kind in kinds if kind not in (tokenize.NL, tokenize.NEWLINE)]
    return any(a == b == tokenize.STRING for a, b in pairwise(told))


def as_text(value: Any) -> str:
    """Return an option as text, as it stands; None is an empty text.

    Raises:
        RowRefused: a list or an object where a text should be.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise RowRefused("options_unparsed", f"an option is a {type(value).__name__}, not a text")


def shorten(text: str, width: int = 60) -> str:
    """Quote the beginning of a text for a message."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def _optional(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _as_list(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        value = parse_literal(value.strip())
    if isinstance(value, list):
        return value
    raise RowRefused("options_unparsed", "the options' labels are no list")


WHOLE = 100.0
"""Per cent that the right answer is worth."""


ROUNDED = 1.0
"""Per cent that the worths of several right answers may miss the whole by: 3 x 33.333."""


def mark_right(options: list[dict[str, Any]], *, several: bool) -> list[dict[str, Any]]:
    """Turn what options are worth into marks.

    Options that are worth the whole only together are all right; of several that are each worth
    something alone, any one would do, and such a question has no key.

    Raises:
        RowRefused: no option is right, or several where one is expected.
    """
    worth = [option.pop("worth") for option in options]
    gains = [one for one in worth if one > 0]
    together = len(gains) > 1 and max(gains) < WHOLE and abs(sum(gains) - WHOLE) <= ROUNDED
    if len(gains) > 1 and not (several and together):
        cure = "; --several-keys takes all of them" if together else ", each by itself"
        raise RowRefused("multiple_keys", f"{len(gains)} answers are worth something{cure}")
    if not together and max(worth, default=0) < WHOLE:
        raise RowRefused("no_key", "no answer is worth all of the marks")
    return [option | {"is_correct": one > 0} for option, one in zip(options, worth, strict=True)]
