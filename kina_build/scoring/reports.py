"""What is said of one model: accuracy in its several senses, by groups, and what could not be marked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kina_build.config import ScoringRules
from kina_build.scoring.multiple_choice import ItemScore
from kina_build.scoring.questions import Question, chance_level
from kina_build.scoring.responses import Response

LEVELS = ("discipline", "field", "subfield")
ReportStatus = Literal["scored", "below_floor", "no_scored_items"]


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
    """AVG@k over all that was asked: samples without an answer count as wrong, items too."""
    pass_at_1: float | None
    """Accuracy of the first answered sample of each item."""
    pass_at_k: float | None
    """Share of items that at least one of their k samples gets right."""
    majority: float | None
    """Accuracy of each item's most frequent letter."""
    sd: float | None
    """Standard deviation of the accuracies of the 1st, 2nd, ... sample of every item (ddof 1)."""
    unread_right: float | None
    """AVG@k over the answered items had every reply without a letter been right: what reading leaves open."""
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
    reply_characters: Mapping[str, float] = field(default_factory=dict)
    """Lengths of answered replies, reasoning included: p10, p50, p90, mean; empty without any."""

    @property
    def coverage(self) -> float:
        """Return the share of items answered."""
        return self.answered / self.items if self.items else 0.0


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
        accuracy_all=sum(row.score * row.share_answered for row in scores) / len(questions)
        if questions
        else 0.0,
        pass_at_1=mean(float(row.letters[0] == row.answer) for row in scores),
        pass_at_k=mean(float(row.answer in row.letters) for row in scores),
        majority=mean(float(majority_letter(row.letters) == row.answer) for row in scores),
        sd=sample_deviation(scores),
        unread_right=mean(
            (row.score * row.samples + row.letters.count(None)) / row.samples for row in scores
        ),
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
        reply_characters=spread_lengths(
            [len(one.response or "") + len(one.reasoning) for one in responses if one.answered]
        ),
    )


def spread_lengths(lengths: Sequence[int]) -> dict[str, float]:
    """Return the 10th, 50th and 90th percentile (nearest rank) and the mean of lengths."""
    if not lengths:
        return {}
    ordered = sorted(lengths)
    places = {f"p{share}": max(0, -(-share * len(ordered) // 100) - 1) for share in (10, 50, 90)}
    quantiles = {name: float(ordered[place]) for name, place in places.items()}
    return quantiles | {"mean": sum(ordered) / len(ordered)}


def sample_deviation(scores: Sequence[ItemScore]) -> float | None:
    """Return how far accuracy varies from sample to sample (ddof 1).

    Only samples that every item has are compared, so that no difference of items counts; None
    where that leaves fewer than two.
    """
    k = min((row.samples for row in scores), default=0)
    if k < 2:
        return None
    runs = [sum(row.letters[n] == row.answer for row in scores) / len(scores) for n in range(k)]
    middle = sum(runs) / k
    return float((sum((run - middle) ** 2 for run in runs) / (k - 1)) ** 0.5)


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
