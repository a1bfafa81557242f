"""Accuracy of models on multiple-choice questions, with all that could not be marked beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kina_build.config import ScoringRules
from kina_build.progress import Progress, silent
from kina_build.scoring.lettering import translate
from kina_build.scoring.questions import Question, chance_level
from kina_build.scoring.replies import Extraction, extract_letter
from kina_build.scoring.responses import Asked, Response

LEVELS = ("discipline", "field", "subfield")

ReportStatus = Literal["scored", "below_floor", "no_scored_items"]


class ItemScore(BaseModel):
    """The score of one model on one question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    model: str
    score: float
    """Share of its answered samples that are right."""
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


@dataclass(frozen=True)
class Group:
    """Accuracy of one discipline, field or subfield."""

    n: int
    """Items marked."""
    score: float


@dataclass(frozen=True)
class ModelReport:
    """Accuracy of one model and everything needed to judge it."""

    model: str
    status: ReportStatus
    items: int
    answered: int
    """Items with at least one answered sample."""
    k: int
    """Most samples an item has."""
    score: float | None
    """AVG@k over the answered items, or None where coverage is below the floor."""
    accuracy_answered: float | None
    """AVG@k over the answered items, whatever the coverage."""
    accuracy_all: float
    """The same with unanswered items counted as wrong."""
    pass_at_1: float | None
    """Accuracy of the first answered sample of each item."""
    majority: float | None
    """Accuracy of each item's most frequent letter."""
    macro: float | None
    """Mean over disciplines, each weighing the same; `score` is the micro average."""
    chance: float
    """Expected accuracy of blind guessing on these items."""
    groups: Mapping[str, Mapping[str, Group]]
    """Level -> name -> accuracy."""
    letter_statuses: Mapping[str, int]
    """Answered samples by how their letter was read."""
    reply_statuses: Mapping[str, int]
    """All samples by how their call ended."""
    missing: tuple[str, ...]
    """Items without an answered sample."""
    prompt_tokens: int
    completion_tokens: int

    @property
    def coverage(self) -> float:
        """Return the share of items answered."""
        return self.answered / self.items if self.items else 0.0


def read_letter(response: Response, question: Question) -> Extraction:
    """Read the letter of one reply, in the labels the model saw.

    A reply that the token limit cut off counts only what it had declared.
    """
    order = response.option_order or range(len(question.choices))
    shown = [question.choices[place] for place in order]
    finish_reason = "length" if response.status == "truncated" else None
    found = extract_letter(response.response or "", len(shown), shown, response.reasoning, finish_reason)
    if response.status == "refused" and found.letter is None:
        return Extraction(None, "refused", found.rule)
    return found


def own_label(letter: str | None, response: Response, question: Question) -> str | None:
    """Turn the label of an option as shown into the item's own label of that option."""
    if letter is None or response.option_order is None:
        return letter
    return question.labels[response.option_order[question.labels.index(letter)]]


def read_own(
    response: Response, question: Question, asked: Mapping[Asked, Question]
) -> tuple[str | None, str]:
    """Read what one reply chose, as the item's own label and how it was read.

    Args:
        response: the reply.
        question: the item's own form.
        asked: the form that was asked, where it is another.
    """
    form = asked.get(response.asked, question)
    found = read_letter(response, form)
    return translate(own_label(found.letter, response, form), form, question), found.status


def score_items(
    questions: Mapping[str, Question],
    responses: Iterable[Response],
    on_progress: Progress = silent,
    asked: Mapping[Asked, Question] = MappingProxyType({}),
) -> list[ItemScore]:
    """Mark sifted responses; return one row a (model, item) with an answered sample, sorted.

    Args:
        questions: by item_id.
        responses: of known items.
        on_progress: told of responses.
        asked: the forms that were asked, where they are not the questions' own (find_forms).
    """
    by_item: dict[tuple[str, str], list[tuple[str | None, str]]] = defaultdict(list)
    listed = [response for response in responses if response.answered]
    for done, response in enumerate(listed, start=1):
        chosen = read_own(response, questions[response.item_id], asked)
        by_item[response.model, response.item_id].append(chosen)
        if done % 1000 == 0 or done == len(listed):
            on_progress(done, len(listed))
    return [
        _item_score(model, questions[item_id], read) for (model, item_id), read in sorted(by_item.items())
    ]


def _item_score(model: str, question: Question, read: Sequence[tuple[str | None, str]]) -> ItemScore:
    letters = tuple(letter for letter, _ in read)
    return ItemScore(
        item_id=question.item_id,
        model=model,
        score=sum(letter == question.answer for letter in letters) / len(letters),
        samples=len(letters),
        letters=letters,
        answer=question.answer,
        discipline=question.discipline,
        field=question.field,
        subfield=question.subfield,
        statuses=dict(sorted(Counter(status for _, status in read).items())),
    )


def majority_letter(letters: Sequence[str | None]) -> str | None:
    """Return the most frequent letter; None on a tie or where nothing could be read."""
    votes = Counter(letter for letter in letters if letter is not None).most_common(2)
    if not votes or (len(votes) == 2 and votes[0][1] == votes[1][1]):
        return None
    return votes[0][0]


def report_model(
    model: str,
    questions: Mapping[str, Question],
    scores: Sequence[ItemScore],
    responses: Sequence[Response],
    rules: ScoringRules = ScoringRules(),
    *,
    allow_partial: bool = False,
) -> ModelReport:
    """Sum up one model.

    Args:
        model: its name.
        questions: every item that was to be asked.
        scores: the model's rows of score_items.
        responses: the model's sifted responses, failed calls included.
        rules: the coverage floor.
        allow_partial: give a score below the floor too.
    """
    answered = mean(row.score for row in scores)
    done = {row.item_id for row in scores}
    covered = len(done) >= rules.coverage_floor * len(questions)
    status: ReportStatus = "no_scored_items" if not scores else "scored" if covered else "below_floor"
    groups = {level: group_scores(scores, _level(level)) for level in LEVELS}
    return ModelReport(
        model=model,
        status=status,
        items=len(questions),
        answered=len(done),
        k=max((row.samples for row in scores), default=0),
        score=answered if covered or allow_partial else None,
        accuracy_answered=answered,
        accuracy_all=sum(row.score for row in scores) / len(questions) if questions else 0.0,
        pass_at_1=mean(float(row.letters[0] == row.answer) for row in scores),
        majority=mean(float(majority_letter(row.letters) == row.answer) for row in scores),
        macro=macro_average(groups["discipline"]),
        chance=chance_level(list(questions.values())),
        groups=groups,
        letter_statuses=_count(
            status for row in scores for status, n in row.statuses.items() for _ in range(n)
        ),
        reply_statuses=_count(response.status for response in responses),
        missing=tuple(sorted(set(questions) - done)),
        prompt_tokens=sum(response.prompt_tokens for response in responses),
        completion_tokens=sum(response.completion_tokens for response in responses),
    )


def group_scores(scores: Iterable[ItemScore], name: Callable[[ItemScore], str]) -> dict[str, Group]:
    """Return the accuracy of each group, sorted by name; rows whose group has no name are left out."""
    members: dict[str, list[float]] = defaultdict(list)
    for row in scores:
        if name(row):
            members[name(row)].append(row.score)
    return {group: Group(len(rows), sum(rows) / len(rows)) for group, rows in sorted(members.items())}


def macro_average(groups: Mapping[str, Group]) -> float | None:
    """Return the mean of the groups' scores, each weighing the same."""
    return mean(group.score for group in groups.values())


def micro_average(groups: Mapping[str, Group]) -> float | None:
    """Return the mean of the groups' scores weighted by their items."""
    n = sum(group.n for group in groups.values())
    return sum(group.n * group.score for group in groups.values()) / n if n else None


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _level(level: str) -> Callable[[ItemScore], str]:
    place = LEVELS.index(level)
    # a field is told apart from one of the same name elsewhere by its path
    return lambda row: " / ".join(
        part for part in (row.discipline, row.field, row.subfield)[: place + 1] if part
    )


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
