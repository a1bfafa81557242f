"""Accuracy of models on multiple-choice questions, with all that could not be marked beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from kina_build.progress import Progress, silent
from kina_build.scoring.lettering import relabel, translate
from kina_build.scoring.public import OURS, extract_by
from kina_build.scoring.questions import Question, passage_of
from kina_build.scoring.replies import Extraction, extract_letter
from kina_build.scoring.responses import Asked, Response


class ItemScore(BaseModel):
    """The score of one model on one question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    model: str
    score: float
    """Share of its answered samples that are right; with partial credit, their mean credit."""
    samples: int
    """Answered samples."""
    letters: tuple[str | None, ...]
    """What each answered sample chose, in the item's own labels; None where nothing could be read."""
    answer: str
    discipline: str = ""
    field: str = ""
    subfield: str = ""
    statuses: dict[str, int]
    """Samples by how their letter was read: ok, multiple, refused, empty, ..."""
    asked: int | None = None
    """Samples asked, where some of them brought no answer."""
    passage: str | None = None
    """Digest of the passage that the question stands on, where there is one."""

    @property
    def share_answered(self) -> float:
        """Return the share of the samples asked that were answered."""
        return self.samples / (self.asked or self.samples)


def read_letter(response: Response, question: Question, extractor: str = OURS) -> Extraction:
    """Read the letter of one reply, in the labels the model saw.

    A reply that the token limit cut off counts only what it had declared. By a public rule the
    text is read as that rule reads it, and nothing else counts.
    """
    if extractor != OURS:
        return extract_by(extractor, response.response or "", len(question.choices))
    order = response.option_order or range(len(question.choices))
    shown = [question.choices[place] for place in order]
    finish_reason = "length" if response.status == "truncated" else None
    found = extract_letter(
        response.response or "",
        len(shown),
        shown,
        response.reasoning,
        finish_reason,
        several=question.several,
    )
    if response.status == "refused" and found.letter is None:
        return Extraction(None, "refused", found.rule)
    return found


def own_label(letter: str | None, response: Response, question: Question) -> str | None:
    """Turn the label of an option as shown into the item's own label of that option."""
    if letter is None or response.option_order is None:
        return letter
    return relabel(letter, question, [question.labels[place] for place in response.option_order])


def read_own(
    response: Response, question: Question, asked: Mapping[Asked, Question], extractor: str = OURS
) -> tuple[str | None, str]:
    """Read what one reply chose, as the item's own label and how it was read.

    Args:
        response: the reply.
        question: the item's own form.
        asked: the form that was asked, where it is another.
        extractor: ours, or a public rule.
    """
    form = asked.get(response.asked, question)
    found = read_letter(response, form, extractor)
    return translate(own_label(found.letter, response, form), form, question), found.status


def credit(letters: str | None, question: Question, *, partial: bool = False) -> float:
    """Return what one answer is worth: 1 for exactly the right options, else 0.

    Args:
        letters: the label chosen, or all of several ("BD").
        question: what was asked.
        partial: where several options are right, a share of them counts: right choices less wrong
            ones, over the number of right options, never below 0. To choose all earns nothing but
            where most are right.
    """
    if letters == question.answer:
        return 1.0
    if not (partial and question.several and letters):
        return 0.0
    hits = len(set(letters) & set(question.answer))
    return max(0.0, (2 * hits - len(letters)) / len(question.answer))


def score_items(
    questions: Mapping[str, Question],
    responses: Iterable[Response],
    on_progress: Progress = silent,
    asked: Mapping[Asked, Question] = MappingProxyType({}),
    extractor: str = OURS,
    *,
    partial: bool = False,
) -> list[ItemScore]:
    """Mark sifted responses; return one row a (model, item) with an answered sample, sorted.

    Args:
        questions: by item_id.
        responses: of known items.
        on_progress: told of responses.
        asked: the forms that were asked, where they are not the questions' own (find_forms).
        extractor: ours, or a public rule.
        partial: a share of several right options counts too.
    """
    by_item: dict[tuple[str, str], list[tuple[str | None, str]]] = defaultdict(list)
    every = list(responses)
    asked_of = Counter((response.model, response.item_id) for response in every)
    listed = [response for response in every if response.answered]
    for done, response in enumerate(listed, start=1):
        chosen = read_own(response, questions[response.item_id], asked, extractor)
        by_item[response.model, response.item_id].append(chosen)
        if done % 1000 == 0 or done == len(listed):
            on_progress(done, len(listed))
    return [
        _item_score(model, questions[item_id], read, asked_of[model, item_id], partial=partial)
        for (model, item_id), read in sorted(by_item.items())
    ]


def _item_score(
    model: str, question: Question, read: Sequence[tuple[str | None, str]], asked: int, *, partial: bool
) -> ItemScore:
    letters = tuple(letter for letter, _ in read)
    return ItemScore(
        item_id=question.item_id,
        model=model,
        score=sum(credit(letter, question, partial=partial) for letter in letters) / len(letters),
        samples=len(letters),
        letters=letters,
        answer=question.answer,
        discipline=question.discipline,
        field=question.field,
        subfield=question.subfield,
        statuses=dict(sorted(Counter(status for _, status in read).items())),
        asked=asked if asked > len(letters) else None,
        passage=passage_of(question.material),
    )
