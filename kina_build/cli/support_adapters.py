"""The adapters of `kina support`: each turns a choice of options into a support matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli.command import Run

if TYPE_CHECKING:
    from kina_build.chat import ChatReply
    from kina_build.config import EngineRules, SupportRules
    from kina_build.dedup.encoders import Encoder
    from kina_build.items.model import Item
    from kina_build.support.anchors import Anchor
    from kina_build.support.embedding import Embed
    from kina_build.support.judge import Ask, Batch
    from kina_build.support.matrix import SupportMatrix


class Method(StrEnum):
    """Where scores come from."""

    embedding = "embedding"
    judge = "judge"
    ratings = "ratings"
    bank = "bank"


@dataclass(frozen=True)
class Choice:
    """The options of one run of `kina support`."""

    run: Run
    method: Method
    encoder: str
    cache: Path | None
    all_domains: bool
    ratings: Path | None
    judges: tuple[str, ...]
    base_url: str | None
    calls: Path
    labels: Path | None
    save_ratings: Path | None
    allow_unjudged: float | None
    max_calls: int | None
    max_cost: float | None
    signatures: Path | None
    item_labels: Path | None
    pair_labels: Path | None
    details: Path | None
    scale: int | None
    seed: int
    engine: EngineRules

    @property
    def rules(self) -> SupportRules:
        """Return the settings, with what the flags say."""
        given = {"unjudged_limit": self.allow_unjudged, "scale": self.scale}
        return self.run.settings.support.model_copy(
            update={key: value for key, value in given.items() if value is not None}
        )

    def params(self) -> dict[str, Any]:
        """Return what shapes the result, for the manifest."""
        return {
            "method": self.method.value,
            "encoder": self.encoder,
            "all_domains": self.all_domains,
            "judges": list(self.judges),
            "seed": self.seed,
            "further_outputs": [bool(self.save_ratings), bool(self.details)],
            "rules": self.rules.model_dump(),
            "dedup": self.run.settings.dedup.model_dump(),
        }

    def files(self) -> tuple[Path | None, ...]:
        """Return the files it reads besides pool and anchors."""
        return (self.ratings, self.labels, self.signatures, self.item_labels, self.pair_labels)

    def check(self) -> None:
        """Check that the options fit the method.

        Raises:
            UsageError: an option that the method needs is missing, or a judge is named twice.
        """
        from kina_build.errors import UsageError

        if self.method == Method.judge and not self.judges:
            raise UsageError("--method judge needs --judge MODEL")
        if self.method == Method.ratings and not self.ratings:
            raise UsageError("--method ratings needs --ratings FILE")
        if self.method == Method.bank and not (self.item_labels and self.pair_labels):
            raise UsageError(
                "--method bank needs --item-labels FILE and --pair-labels FILE",
                hint="--draw FOLDER writes sheets of items and pairs to label",
            )
        odd = next((name for name in self.judges if not re.fullmatch(r"[^#]+(#[1-9]\d?)?", name)), None)
        if odd is not None:
            raise UsageError(f"--judge {odd!r} is no judge", hint="give NAME, or NAME#2 for a second reading")
        if len(set(self.judges)) < len(self.judges):
            raise UsageError("a judge is named twice", hint="NAME#2 is a second reading by the model NAME")


@dataclass(frozen=True)
class Outcome:
    """What an adapter hands back."""

    matrix: SupportMatrix
    report: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    """Model name to revision, for the manifest."""
    write_more: Callable[[], object] = lambda: None
    """Writes the adapter's further outputs."""


def by_embedding(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the cosine of texts."""
    from kina_build.support.embedding import support_by_embedding

    embed, revision = load_embedder(choice)
    matrix = support_by_embedding(items, anchors, embed, rules=choice.rules, all_domains=choice.all_domains)
    return Outcome(matrix, models={choice.encoder: revision})


def by_ratings(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by a file of scores or ratings."""
    from kina_build.errors import UsageError
    from kina_build.support.ratings import matrix_of_pairs, read_pair_scores, read_ratings
    from kina_build.support.verdict import support_by_ratings

    if choice.ratings is None:
        raise UsageError("--method ratings needs --ratings FILE")
    scores = read_pair_scores(choice.ratings, items, anchors)
    if choice.labels is None:
        return Outcome(matrix_of_pairs(items, anchors, scores, choice.rules))
    rated = support_by_ratings(
        items, anchors, read_ratings(choice.ratings), read_ratings(choice.labels), choice.rules
    )
    return Outcome(rated.matrix, rated.report)


def by_judge(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the ratings of language models."""
    from kina_build.support.judge import judge_pairs
    from kina_build.support.ratings import read_ratings, write_ratings
    from kina_build.support.verdict import count_calls, refuse_unjudged, support_by_ratings

    labels = read_ratings(choice.labels) if choice.labels else []
    batches, report = plan(choice, items, anchors)
    with asking(choice, "judging") as ask:
        judged = judge_pairs(batches, ask, choice.rules)
    ratings, left_out = refuse_unjudged(judged, choice.rules.unjudged_limit)
    kept = [item for item in items if item.item_id not in set(left_out)]
    rated = support_by_ratings(kept, anchors, ratings, labels, choice.rules)
    return Outcome(
        rated.matrix,
        {
            **report,
            **rated.report,
            "calls": count_calls(judged, choice.run.settings.chat),
            "left_out": list(left_out),
        },
        write_more=lambda: choice.save_ratings and write_ratings(choice.save_ratings, ratings),
    )


@contextmanager
def asking(choice: Choice, label: str) -> Iterator[Ask]:
    """Give a way to ask the endpoint, with log, caps and a progress bar.

    Raises:
        ConfigError: no endpoint is set.
    """
    from kina_build.chat import Endpoint, Meter, ReplyLog, fold_batches

    endpoint = Endpoint.from_environment(choice.base_url)
    log, meter = ReplyLog(choice.calls), Meter()
    fold_batches(log)
    caps = {"max_calls": choice.max_calls, "max_cost": choice.max_cost}
    rules = choice.run.settings.chat.model_copy(update={k: v for k, v in caps.items() if v is not None})
    with choice.run.console.progress(label) as on_progress, _completing(choice) as complete:
        yield partial(complete, endpoint=endpoint, log=log, rules=rules, meter=meter, on_progress=on_progress)
    choice.run.console.say(f"{meter.calls} calls made now; every reply is in {choice.calls}")


@contextmanager
def _completing(choice: Choice) -> Iterator[Callable[..., list[ChatReply]]]:
    """Give what answers requests: one process with many open calls, or batches on a cluster."""
    from kina_build.chat import complete, complete_batches

    if choice.engine.kind == "local":
        yield complete
        return
    from kina_build.engine import open_engine

    with open_engine(choice.engine) as engine:
        yield partial(complete_batches, engine=engine)


def plan(
    choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]
) -> tuple[list[Batch], dict[str, Any]]:
    """Choose the pairs to judge and cut them into calls."""
    import numpy as np

    from kina_build.support.anchors import in_scope
    from kina_build.support.embedding import cosine_table
    from kina_build.support.judge import choose_pairs, plan_batches

    ordered = sorted(items, key=lambda item: item.item_id)
    scope = in_scope(ordered, anchors)
    if choice.all_domains:
        scope = np.ones_like(scope)
    most = choice.rules.prefilter_anchors
    wanted = scope
    if most and scope.sum(axis=1).max(initial=0) > most:
        embed, _ = load_embedder(choice)
        wanted = choose_pairs(cosine_table(ordered, anchors, embed), scope, choice.rules)
    report = {"pairs_in_scope": int(scope.sum()), "pairs_judged": int(wanted.sum())}
    return plan_batches(ordered, anchors, wanted, choice.judges, choice.rules), report


def estimate(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> dict[str, Any]:
    """Return what a run would take, without a call.

    Raises:
        UsageError: the method makes no calls.
    """
    from kina_build.chat import ReplyLog
    from kina_build.errors import UsageError
    from kina_build.support.judge import estimate_calls

    if choice.method != Method.judge:
        raise UsageError(f"--dry-run estimates calls; --method {choice.method.value} makes none")
    log = ReplyLog(choice.calls)
    batches, report = plan(choice, items, anchors)
    calls = estimate_calls(
        batches, lambda key: log.find(key) is not None, choice.rules, choice.run.settings.chat
    )
    return report | calls


def load_embedder(choice: Choice) -> tuple[Embed, str]:
    """Return texts-to-vectors, with the cache and a progress bar, and the encoder's revision."""
    from kina_build.dedup.embedding import load_encoder

    encoder = load_encoder(choice.encoder, choice.run.settings.dedup)
    embed = embedder(choice, encoder)

    def work(texts: Sequence[str]) -> Any:
        refuse_unknown(texts, encoder, choice)
        return embed(texts)

    return work, encoder.revision


def embedder(choice: Choice, encoder: Encoder) -> Embed:
    """Return texts-to-vectors, with the cache and a progress bar."""
    from kina_build.dedup.embedding import embed
    from kina_build.dedup.vectorcache import default_cache

    def work(texts: Sequence[str]) -> Any:
        with choice.run.console.progress("embedding") as on_progress:
            return embed(texts, encoder, choice.cache or default_cache(), on_progress)

    return work


def refuse_unknown(texts: Sequence[str], encoder: Encoder, choice: Choice) -> None:
    """Refuse texts that the encoder cannot read.

    Raises:
        Refusal: it does not know too many of their tokens.
    """
    from kina_build.dedup.embedding import unknown_rate
    from kina_build.errors import Refusal

    rules = choice.run.settings.dedup
    rate = unknown_rate(texts, encoder, rules.unknown_sample)
    if rate > rules.unknown_limit:
        raise Refusal(
            f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens",
            hint="take a multilingual one, such as --encoder use-multilingual-v3",
        )


def by_bank(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the paper's reference bank."""
    from kina_build.cli.support_bank import score_by_bank

    return score_by_bank(choice, items, anchors)


ADAPTERS: dict[Method, Callable[[Choice, Sequence[Item], Sequence[Anchor]], Outcome]] = {
    Method.embedding: by_embedding,
    Method.judge: by_judge,
    Method.ratings: by_ratings,
    Method.bank: by_bank,
}
