"""Replies from anywhere, one row each, and the letter read from each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kina_build.scoring.questions import hash_option
from kina_build.scoring.replies import extract_letter
from kina_build.scoring.responses import OptionHash


class Reply(BaseModel):
    """One reply whose letter is wanted."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str
    response: str | None
    n_options: int = Field(0, ge=0)
    """Options of the item; may be left out where the options are given."""
    options: tuple[str, ...] | None = None
    several: bool = False
    """More than one option is right: all that are declared together are the answer ("BD")."""
    reasoning: str = ""
    finish_reason: str | None = None
    """What the endpoint says of the end: "length" where the reply was cut off."""
    prompt_sha: str | None = None
    """Digest of the prompt it answers; goes on with the letter."""
    option_hashes: tuple[OptionHash, ...] | None = None
    """hash_option of each option as it was shown; goes on with the letter."""

    @model_validator(mode="after")
    def _counted(self) -> Reply:
        if self.n_options == 0 and not self.options:
            raise ValueError("n_options or options is needed")
        if self.options and self.n_options not in (0, len(self.options)):
            raise ValueError(f"n_options is {self.n_options} but there are {len(self.options)} options")
        hashes = tuple(map(hash_option, self.options or ()))
        if self.option_hashes and hashes and not all(map(str.startswith, hashes, self.option_hashes)):
            raise ValueError("option_hashes are of other options, or of another order, than options")
        return self


def extract_row(reply: Reply) -> dict[str, Any]:
    """Return {id, letter, status, rule} of one reply, and the digests by which it says what it answers."""
    found = extract_letter(
        reply.response or "",
        reply.n_options or len(reply.options or ()),
        reply.options,
        reply.reasoning,
        reply.finish_reason,
        several=reply.several,
    )
    asked = {"prompt_sha": reply.prompt_sha, "option_hashes": reply.option_hashes}
    carried = {name: value for name, value in asked.items() if value is not None}
    return {"id": reply.id, "letter": found.letter, "status": found.status, "rule": found.rule} | carried


def count_statuses(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up extracted rows."""
    return {
        "replies": len(rows),
        "statuses": dict(sorted(Counter(str(row["status"]) for row in rows).items())),
    }
