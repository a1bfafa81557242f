"""One question under four conditions: alone, with its universe, with the operations to carry out, with both.

The conditions are those that `kina score --stages` compares; the words around the help are this toolkit's
own, since the KnowledgeBerg paper publishes none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError
from kina_build.rows.tables import read_typed
from kina_build.scoring.lists import read_list
from kina_build.scoring.lists.stages import CONDITIONS
from kina_build.scoring.questions import Question, hash_option
from kina_build.scoring.runs.calls import Call
from kina_build.scoring.runs.targets import Target

ALONE = CONDITIONS[0]
UNIVERSE = "These are all the members of the set that the question is about:"
OPERATIONS = "These are the operations that lead to the answer:"


class HelpRow(BaseModel):
    """What a question may be given: all members of its set, and what to do with them."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    item_id: str = Field(min_length=1)
    universe: str | tuple[str, ...] = Field(min_length=1)
    """A list, or a text that is read as one."""
    operations: str = Field(min_length=1)

    def told(self, condition: str) -> str:
        """Return the help under a condition."""
        named = read_list(self.universe).names if isinstance(self.universe, str) else self.universe
        members = "\n".join((UNIVERSE, *(f"- {one}" for one in named)))
        steps = f"{OPERATIONS}\n{self.operations.strip()}"
        return {"universe": members, "operations": steps, "both": f"{members}\n\n{steps}"}[condition]


def read_helps(path: Path) -> dict[str, HelpRow]:
    """Read rows of item_id, universe, operations.

    Raises:
        InputError, RowErrors: a file that cannot be read, an item that stands twice, or a universe in
            which no member is found.
    """
    rows = read_typed(path, HelpRow)
    twice = next((name for name, times in Counter(row.item_id for row in rows).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{path}: item {twice!r} stands twice", hint="one row a question")
    empty = [row for row in rows if isinstance(row.universe, str) and not read_list(row.universe).names]
    if empty:
        raise InputError(f"{path}: the universe of {empty[0].item_id!r} is no list of names")
    return {row.item_id: row for row in rows}


def check_helps(path: Path, helps: Mapping[str, HelpRow], asked: Iterable[Question]) -> None:
    """Refuse helps that lack a question that is asked.

    Raises:
        InputError: names the first.
    """
    missing = [one.item_id for one in asked if one.item_id not in helps]
    if missing:
        raise InputError(f"{path}: no help for {len(missing)} of the questions, first {missing[0]!r}")


@dataclass(frozen=True)
class Condition:
    """One of the four, and the help it gives."""

    name: str
    helps: Mapping[str, HelpRow]

    def put(self, asked: Sequence[Question]) -> list[Question]:
        """Return the questions with their help before them, as a passage is shown."""
        if self.name == ALONE:
            return list(asked)
        return [one.model_copy(update={"material": self._before(one)}) for one in asked]

    def _before(self, question: Question) -> str:
        told = self.helps[question.item_id].told(self.name)
        return f"{question.material}\n\n{told}" if question.material else told

    def mark(self, calls: Sequence[Call], asked: Sequence[Question]) -> list[Call]:
        """Let each call say which options it shows: its prompt is not that of the item."""
        if self.name == ALONE:
            return list(calls)
        hashes = {one.item_id: tuple(map(hash_option, one.choices)) for one in asked}
        return [replace(call, option_hashes=hashes[call.item_id]) for call in calls]


def read_conditions(path: Path | None) -> list[Condition | None]:
    """Return the four conditions, the question alone first; without a file, none.

    Raises:
        InputError, RowErrors: a file that cannot be read, an item that stands twice, or a universe in
            which no member is found.
    """
    if path is None:
        return [None]
    helps = read_helps(path)
    return [Condition(name, helps) for name in CONDITIONS]


def named(target: Target, condition: Condition | None) -> str:
    """Return what a report calls a model under a condition."""
    return target.model if condition is None else f"{target.model}, {condition.name}"


def output_of(output: Path, condition: Condition | None) -> Path:
    """Return where the replies under a condition go: r.jsonl alone, r.universe.jsonl and so on."""
    if condition is None or condition.name == ALONE:
        return output
    return output.with_suffix(f".{condition.name}{output.suffix}")
