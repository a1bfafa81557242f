"""Whether replies can have been made on the letters of a release.

`kina export` draws the order of options anew, so that a reply to the pool's form of an item
names another option under the same letter. A reply of `kina run` carries the digest of its
prompt and is checked by that; one from elsewhere carries none and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kina_build.errors import Refusal
from kina_build.scoring.responses import Response

TRUST_HINT = (
    "score them against the items they were made on (--items), or ask again (kina run --release); "
    "--trust-letters takes them, if they were made on the release's own letters"
)


def redrawn_items(manifest: Mapping[str, Any], item_ids: Iterable[str]) -> set[str]:
    """Return the items whose options a release ordered anew.

    Args:
        manifest: the release's release.json.
        item_ids: items of the split.
    """
    lettering = manifest.get("letters") or {}
    if not lettering.get("shuffled"):
        return set()
    return set(item_ids) - set(lettering.get("kept") or {})


def find_unproven(responses: Iterable[Response], item_ids: Iterable[str]) -> list[Response]:
    """Return the answers to these items that do not say which prompt they answer."""
    wanted = set(item_ids)
    return [
        response
        for response in responses
        if response.answered and response.prompt_sha is None and response.item_id in wanted
    ]


def refuse_unproven(unproven: Sequence[Response], redrawn: set[str]) -> None:
    """Refuse answers that may follow letters from before a release ordered its options anew.

    Raises:
        Refusal: some of them answer an item that was ordered anew.
    """
    stale = [response for response in unproven if response.item_id in redrawn]
    if stale:
        items = len({response.item_id for response in stale})
        raise Refusal(
            f"{len(stale)} replies to {items} items carry no prompt_sha, and this release ordered "
            "the options of those items anew: their letters may mean other options",
            hint=TRUST_HINT,
        )
