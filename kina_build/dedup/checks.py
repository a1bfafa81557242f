"""What items must be before they are compared: named once, in a script the encoder knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kina_build.config import DedupRules
from kina_build.dedup.embedding import unknown_rate
from kina_build.dedup.encoders import Encoder
from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item


def check_ids(items: Sequence[Item]) -> None:
    """Check that every id is used once.

    Raises:
        InputError: names the id and its rows, counted from 1.
    """
    counts = Counter(item.item_id for item in items)
    repeated = next((name for name, count in counts.items() if count > 1), None)
    if repeated is not None:
        places = [str(row) for row, item in enumerate(items, start=1) if item.item_id == repeated]
        raise InputError(
            f"item_id {repeated!r} stands on rows {', '.join(places)}",
            hint="ids must be unique: `kina import` gives every row its own",
        )


def check_known(texts: Sequence[str], encoder: Encoder, rules: DedupRules) -> float:
    """Measure the share of tokens an encoder does not know.

    Raises:
        Refusal: it is above rules.unknown_limit; different texts would become one vector.
    """
    rate = unknown_rate(texts, encoder, rules.unknown_sample)
    if rate > rules.unknown_limit:
        raise Refusal(
            f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens"
            f" (limit {rules.unknown_limit:.1%})",
            hint="take a multilingual one, such as --encoder use-multilingual-v3, or compare letters only "
            "with --no-near; --unknown-limit 1 goes on regardless",
        )
    return rate
