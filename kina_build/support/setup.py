"""What a run that scores support works with: its options, its settings, its encoder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.chat import ReplyLog
from kina_build.config import ChatRules, DedupRules, EncodeEngine, EngineRules, SupportRules
from kina_build.encode.embedding import embed, unknown_rate
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.vectorcache import default_cache
from kina_build.errors import Refusal, UsageError
from kina_build.progress import NOBODY, Progress, Teller
from kina_build.rows.source import STREAM
from kina_build.support.embedding import Embed
from kina_build.support.matrix import SupportMatrix
from kina_build.support.options import SupportOptions

SUFFIX = ".npz"

JUDGE = re.compile(r"[^#]+(#[1-9]\d?)?")
"""Matches "gpt-4o" and "gpt-4o#2"; not "#2" nor "gpt-4o#0"."""


@dataclass(frozen=True)
class Setup:
    """The options of one run, the settings they win over, and who is told."""

    options: SupportOptions
    support: SupportRules = SupportRules()
    dedup: DedupRules = DedupRules()
    chat: ChatRules = ChatRules()
    engine: EngineRules = EngineRules()
    reuse: Reuse = field(default_factory=Reuse)
    """Whether finished work may be taken over, and the count of what was."""
    tell: Teller = NOBODY
    open_log: Callable[[Path], ReplyLog] = ReplyLog
    encode: EncodeEngine = "auto"

    @property
    def rules(self) -> SupportRules:
        """Return the settings, with what the options say."""
        given = {
            "unjudged_limit": self.options.allow_unjudged,
            "agreement_floor": -1.0 if self.options.allow_disagreement else None,
            "scale": self.options.scale,
        }
        return self.support.model_copy(
            update={key: value for key, value in given.items() if value is not None}
        )

    @property
    def encoder(self) -> str:
        """Return the encoder's name or folder."""
        return self.options.encoder or self.dedup.encoder

    @property
    def calls(self) -> Path:
        """Return the log of replies."""
        output = self.options.output
        return self.options.calls or output.with_name(output.name + ".calls.jsonl")

    @property
    def in_partitions(self) -> bool:
        """Tell whether the output is a folder of partitions: any name that does not end in .npz."""
        output = self.options.output
        return output != STREAM and output.suffix.lower() != SUFFIX

    @property
    def inputs(self) -> list[Path]:
        """List what is read."""
        options = self.options
        single = [options.pool, options.anchors, options.compare]
        labels = (*options.item_labels, *options.pair_labels)
        return [
            *(path for path in single if path),
            *options.ratings,
            *options.labels,
            *(path for path in (options.signatures, options.difficulty) if path),
            *labels,
        ]

    @property
    def params(self) -> dict[str, Any]:
        """Return what shapes the result."""
        options = self.options
        further = {
            "spread": options.spread,
            "recheck": options.recheck,
            "experts": options.experts if options.draw else None,
        }
        return {
            "method": options.method,
            "encoder": self.encoder,
            "all_domains": options.all_domains,
            "judges": list(options.judge),
            "seed": options.seed,
            "further_outputs": [
                bool(path) for path in (options.save_ratings, options.details, options.save_conflicts)
            ],
            "rules": self.rules.model_dump(),
            "dedup": self.dedup.model_dump(),
        } | {name: value for name, value in further.items() if value}

    def check(self) -> None:
        """Check that the options fit the method, and a folder of partitions where one is written.

        Raises:
            UsageError: an option that the method needs is missing, a judge is named twice, or a method or
                option needs all scores at once.
        """
        options = self.options
        if options.method == "judge" and not options.judge:
            raise UsageError("--method judge needs --judge MODEL")
        if options.method == "ratings" and not options.ratings:
            raise UsageError("--method ratings needs --ratings FILE")
        if options.method == "bank":
            self._check_bank()
        if options.spread is not None and not 0 < options.spread < 1:
            raise UsageError(f"--spread {options.spread:g} is not between 0 and 1")
        odd = next((name for name in options.judge if not JUDGE.fullmatch(name)), None)
        if odd is not None:
            raise UsageError(f"--judge {odd!r} is no judge", hint="give NAME, or NAME#2 for a second reading")
        if len(set(options.judge)) < len(options.judge):
            raise UsageError("a judge is named twice", hint="NAME#2 is a second reading by the model NAME")
        if self.in_partitions and not options.dry_run:
            self._check_partitions()

    def _check_bank(self) -> None:
        options = self.options
        if not (options.item_labels and options.pair_labels):
            raise UsageError(
                "--method bank needs --item-labels FILE and --pair-labels FILE",
                hint="--draw FOLDER writes sheets of items and pairs to label",
            )
        if options.signatures and options.judge:
            raise UsageError("signatures come from one --judge or from --signatures, not both")
        if options.recheck and not options.judge:
            raise UsageError("--recheck needs --judge MODEL, whose readings are read again")
        if len(options.judge) > 1 + bool(options.recheck):
            raise UsageError(
                f"{len(options.judge)} judges are too many for --method bank",
                hint="one writes signatures, and with --recheck a second reads uncertain items again",
            )

    def _check_partitions(self) -> None:
        options = self.options
        whole = f"name an output that ends in {SUFFIX}"
        if options.method not in ("embedding", "ratings"):
            raise UsageError(
                f"--method {options.method} does not write a folder of parts",
                hint=f"{whole}; ratings that --save-ratings keeps can go in parts by --method ratings",
            )
        wanting = {"--labels": options.labels, "--compare": options.compare, "--spread": options.spread}
        at_once = next((name for name, given in wanting.items() if given), None)
        if at_once is not None:
            raise UsageError(f"{at_once} needs all scores at once", hint=whole)

    def tell_place(self) -> None:
        """Say where a run that asks for a cluster has nothing for it to do."""
        if self.engine.kind == "ray" and not self.options.judge and not self.in_partitions:
            self.tell.say(f"{self.options.output} is made in this process; parts in a folder are made on Ray")


@dataclass(frozen=True)
class Outcome:
    """What a method hands back."""

    matrix: SupportMatrix
    report: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    """Model name to revision, for the manifest."""
    write_more: Callable[[], object] = lambda: None
    """Writes the method's further outputs."""


def load_embedder(setup: Setup) -> tuple[Embed, str]:
    """Return texts-to-vectors, with the cache and a progress bar, and the encoder's revision."""
    from kina_build.encode.loading import load_encoder

    encoder = load_encoder(setup.encoder, setup.dedup, setup.encode)

    def work(texts: Sequence[str]) -> Any:
        refuse_unknown(texts, encoder, setup)
        with setup.tell.progress("embedding") as on_progress:
            return embedder(setup, encoder, on_progress)(texts)

    return work, encoder.revision


def embedder(setup: Setup, encoder: Encoder, on_progress: Progress) -> Embed:
    """Return texts-to-vectors, with the cache."""
    cache = setup.options.cache
    return lambda texts: embed(texts, encoder, cache or default_cache(), on_progress, reuse=setup.reuse)


def refuse_unknown(texts: Sequence[str], encoder: Encoder, setup: Setup) -> None:
    """Refuse texts that the encoder cannot read.

    Raises:
        Refusal: it does not know too many of their tokens.
    """
    rules = setup.dedup
    rate = unknown_rate(texts, encoder, rules.unknown_sample)
    if rate > rules.unknown_limit:
        raise Refusal(
            f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens",
            hint="take a multilingual one, such as --encoder use-multilingual-v3",
        )
