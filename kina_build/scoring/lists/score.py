"""Set-level precision, recall and F1 of enumerated universes, form "kberg-1".

Follows KnowledgeBerg (arXiv 2604.17621) as far as it is published: P = m/|P|, R = m/|G|,
F1 = 2PR/(P+R) with one-to-one matches m. Its parser, prompts and averaging are not
published, so scores are compatible in form and reproduce none of its tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from kina_build.errors import InputError
from kina_build.rows.tables import read_typed
from kina_build.scoring.lists.match import Matched, Matching, Quality, match_names, mean_quality, quality
from kina_build.scoring.lists.parse import read_list
from kina_build.scoring.responses import FAILED

FORM = "kberg-1"
GOLD_SEPARATOR = ";"
"""Parts golds in a CSV cell."""


class Seed(BaseModel):
    """One enumeration question in one language."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str
    question: str = ""
    gold: tuple[tuple[str, ...], ...] = ()
    """Each gold with its names; a JSON string or list, or a CSV cell parted by ";"."""
    language: str = ""
    """Code such as en, zh, ar."""
    domain: str = ""

    @field_validator("gold", mode="before")
    @classmethod
    def _split_gold(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(GOLD_SEPARATOR)]
        if not isinstance(value, list | tuple):
            raise ValueError("give a text or a list of texts")  # noqa: TRY004  a fault of the file
        entries = [[entry] if not isinstance(entry, list | tuple) else entry for entry in value]
        return [
            [str(name) for name in entry] for entry in entries if any(str(name).strip() for name in entry)
        ]


class ListReply(BaseModel):
    """One reply to an enumeration question."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str = Field(validation_alias=AliasChoices("id", "item_id"))
    response: str | None = None
    """The raw text; absent where the call failed."""
    language: str | None = None
    """Needed only where one id stands for questions in several languages."""
    sample: int | None = None
    """Of several replies to one question; rows without a number are samples of their own."""
    model: str | None = None
    status: str = "ok"
    """Of the call, as kina_build.chat names them."""


@dataclass(frozen=True)
class SeedScore:
    """The score of one question in one language."""

    id: str
    language: str
    domain: str
    quality: Quality
    """Mean over its samples; all 0 without any."""
    samples: int
    """Answered samples."""
    matched: tuple[Matched, ...]
    """The outcome of each sample."""


@dataclass(frozen=True)
class UniverseScores:
    """All scores of one file of replies."""

    overall: Quality
    """Mean over (question, language)."""
    micro: Quality
    """Of the counts of all samples taken together."""
    by_language: Mapping[str, Quality]
    by_domain: Mapping[str, Quality]
    seeds: tuple[SeedScore, ...]
    """Sorted by id and language."""
    unanswered: tuple[str, ...]
    """Questions without a reply; they score 0."""
    ignored: int
    """Replies to no question of the file."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Replies by how they were read: ok, refused, empty, unparsed."""

    @property
    def unparsed_rate(self) -> float:
        """Return the share of replies in which no list was found although there was text."""
        replies = sum(self.statuses.values())
        return self.statuses.get("unparsed", 0) / replies if replies else 0.0


@dataclass(frozen=True)
class Outcome:
    """What one sample says of one question; an unanswered question has one that says nothing."""

    seed: Seed
    matched: Matched
    answered: bool = True
    status: str = "ok"
    """How its reply was read: ok, refused, empty, unparsed."""


def read_seeds(path: Path, *, with_gold: bool = True) -> list[Seed]:
    """Read questions from CSV or JSONL.

    Raises:
        InputError: unreadable file, a question twice in one language, or one without gold.
        RowErrors: rows that do not fit.
    """
    seeds = read_typed(path, Seed)
    seen: set[tuple[str, str]] = set()
    for seed in seeds:
        if (seed.id, seed.language) in seen:
            raise InputError(f"{path}: question {seed.id!r} stands twice in language {seed.language!r}")
        seen.add((seed.id, seed.language))
        if with_gold and not seed.gold:
            raise InputError(
                f"{path}: question {seed.id!r} has no gold", hint="a universe has at least one member"
            )
    return seeds


def read_replies(path: Path) -> list[ListReply]:
    """Read replies from CSV or JSONL.

    Raises:
        InputError: an unreadable file, or replies of several models.
    """
    replies = read_typed(path, ListReply)
    models = sorted({reply.model for reply in replies if reply.model is not None})
    if len(models) > 1:
        raise InputError(
            f"{path}: replies of {len(models)} models ({models[0]!r}, {models[1]!r}, ...)",
            hint="lists are scored one model at a time: give each a file of its own",
        )
    return replies


def match_replies(
    seeds: Sequence[Seed], replies: Iterable[ListReply], matching: Matching = "maximum"
) -> tuple[list[Outcome], list[str], int]:
    """Parse and match every reply by rules.

    A failed call is no reply. Of two rows with one sample number the last counts.

    Returns:
        Outcomes by id, language and sample; ids without a reply; replies ignored.
    """
    said = _texts(replies)
    outcomes: list[Outcome] = []
    unanswered: list[str] = []
    for seed in sorted(seeds, key=lambda one: (one.id, one.language)):
        key = (seed.id, seed.language or None)
        texts = said[key] if key in said else said.get((seed.id, None), [])
        if not texts:
            unanswered.append(seed.id)
            outcomes.append(Outcome(seed, match_names([], seed.gold, seed.language), answered=False))
        known = [name for entry in seed.gold for name in entry]
        for text in texts:
            reading = read_list(text, seed.language or None, known)
            matched = match_names(reading.names, seed.gold, seed.language, matching)
            outcomes.append(Outcome(seed, matched, status=reading.status))
    asked = {(seed.id, language) for seed in seeds for language in (seed.language or None, None)}
    return outcomes, unanswered, sum(len(texts) for key, texts in said.items() if key not in asked)


def _texts(replies: Iterable[ListReply]) -> dict[tuple[str, str | None], list[str]]:
    """Return the samples of each question, sorted so that the order of rows makes no difference."""
    samples: dict[tuple[str, str | None], dict[tuple[int | None, int], str]] = defaultdict(dict)
    for row, reply in enumerate(replies):
        if reply.status not in FAILED:
            number = (reply.sample, row if reply.sample is None else 0)
            samples[reply.id, reply.language][number] = reply.response or ""
    return {key: sorted(texts.values()) for key, texts in samples.items()}


def rate_match(matched: Matched) -> Quality:
    """Return P, R and F1 of one outcome; all 0 where nothing was said or nothing matched."""
    m = len(matched.pairs)
    return quality(m / len(matched.predicted), m / len(matched.golds)) if m else Quality(0.0, 0.0, 0.0)


def sum_up(outcomes: Sequence[Outcome], unanswered: Sequence[str] = (), ignored: int = 0) -> UniverseScores:
    """Average the samples of each question, then all questions."""
    seeds = tuple(
        _score(list(own)) for _, own in groupby(outcomes, key=lambda one: (one.seed.id, one.seed.language))
    )
    found = sum(len(one.matched.pairs) for one in outcomes)
    predicted = sum(len(one.matched.predicted) for one in outcomes)
    golds = sum(len(one.matched.golds) for one in outcomes)
    return UniverseScores(
        overall=mean_quality([seed.quality for seed in seeds]),
        micro=quality(found / predicted if predicted else 0.0, found / golds if golds else 0.0),
        by_language=_grouped(seeds, lambda seed: seed.language),
        by_domain=_grouped(seeds, lambda seed: seed.domain),
        seeds=seeds,
        unanswered=tuple(unanswered),
        ignored=ignored,
        statuses=dict(sorted(Counter(one.status for one in outcomes if one.answered).items())),
    )


def _score(outcomes: Sequence[Outcome]) -> SeedScore:
    seed = outcomes[0].seed
    return SeedScore(
        seed.id,
        seed.language,
        seed.domain,
        mean_quality([rate_match(one.matched) for one in outcomes]),
        sum(one.answered for one in outcomes),
        tuple(one.matched for one in outcomes),
    )


def _grouped(seeds: Sequence[SeedScore], name: Callable[[SeedScore], str]) -> dict[str, Quality]:
    groups: dict[str, list[Quality]] = defaultdict(list)
    for seed in seeds:
        if name(seed):
            groups[name(seed)].append(seed.quality)
    return {group: mean_quality(parts) for group, parts in sorted(groups.items())}
