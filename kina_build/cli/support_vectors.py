"""The encoder behind `kina support`: cached, shown at work, and refused texts that it cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kina_build.cli.support_choice import Choice

if TYPE_CHECKING:
    from kina_build.encode.encoders import Encoder
    from kina_build.progress import Progress
    from kina_build.support.embedding import Embed


def load_embedder(choice: Choice) -> tuple[Embed, str]:
    """Return texts-to-vectors, with the cache and a progress bar, and the encoder's revision."""
    from kina_build.encode.loading import load_encoder

    encoder = load_encoder(choice.encoder, choice.run.settings.dedup)

    def work(texts: Sequence[str]) -> Any:
        refuse_unknown(texts, encoder, choice)
        with choice.run.console.progress("embedding") as on_progress:
            return embedder(choice, encoder, on_progress)(texts)

    return work, encoder.revision


def embedder(choice: Choice, encoder: Encoder, on_progress: Progress) -> Embed:
    """Return texts-to-vectors, with the cache."""
    from kina_build.encode.embedding import embed
    from kina_build.encode.vectorcache import default_cache

    return lambda texts: embed(
        texts, encoder, choice.cache or default_cache(), on_progress, reuse=choice.reuse
    )


def refuse_unknown(texts: Sequence[str], encoder: Encoder, choice: Choice) -> None:
    """Refuse texts that the encoder cannot read.

    Raises:
        Refusal: it does not know too many of their tokens.
    """
    from kina_build.encode.embedding import unknown_rate
    from kina_build.errors import Refusal

    rules = choice.run.settings.dedup
    rate = unknown_rate(texts, encoder, rules.unknown_sample)
    if rate > rules.unknown_limit:
        raise Refusal(
            f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens",
            hint="take a multilingual one, such as --encoder use-multilingual-v3",
        )
