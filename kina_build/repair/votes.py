"""What models' answers say of keys and of difficulty: their files read, in the letters of the items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.config import ItemRules
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.items.questions import read_pool_or_import
from kina_build.items.triage import Difficulty, Suspicion, convene_panel, triage_keys
from kina_build.release.folder import read_release
from kina_build.release.rows import to_item
from kina_build.rows.jsonl import write_records
from kina_build.scoring.lettering import STATED, with_order
from kina_build.scoring.questions import read_forms
from kina_build.scoring.votes import Votes, read_votes

if TYPE_CHECKING:
    from kina_build.repair.options import ConsensusOptions, PanelOptions, RepairOptions, TriageOptions


@dataclass(frozen=True)
class TriageResult:
    """The items whose keys models contradict, most suspicious first."""

    queue: tuple[Suspicion, ...]
    report: Mapping[str, Any]
    """What `kina triage --json` prints."""

    def write(self, path: Path) -> int:
        """Write the queue as JSON Lines; return how many."""
        return write_records(path, with_order(self.queue, self.report.get("letters")))


@dataclass(frozen=True)
class PanelResult:
    """The items that most models of a panel answer wrongly, and how hard each item is."""

    admitted: tuple[Item, ...]
    """Each with the panel and its difficulty in the metadata."""
    difficulties: tuple[Difficulty, ...]
    report: Mapping[str, Any] = field(default_factory=dict)
    """What `kina panel --json` prints."""

    def write(self, path: Path) -> int:
        """Write the admitted items as a pool; return how many."""
        return write_pool(path, self.admitted)


def triage(options: TriageOptions, rules: ItemRules = ItemRules()) -> TriageResult:
    """Rank the items whose keys strong models contradict; no key is changed.

    Raises:
        InputError: a file that cannot be read, or a strong model without answers.
        UsageError: neither a pool nor a release is given, or letters whose order nothing tells.
    """
    items, votes = read_items_and_votes(options)
    result = triage_keys(items, votes.matrix, rules, options.strong)
    report = order_of(votes) | {
        "items": result.items,
        "flagged": dict(Counter(flag for one in result.queue for flag in one.flags)),
        "strong": [{"model": model, "accuracy": round(result.accuracy[model], 4)} for model in result.strong],
        "queue": [one.model_dump() for one in result.queue],
    }
    return TriageResult(result.queue, report)


def panel(options: PanelOptions, rules: ItemRules = ItemRules()) -> PanelResult:
    """Admit the items that most models of a panel answer wrongly.

    Raises:
        InputError: a file that cannot be read, or a model of the panel without answers.
        UsageError: neither a pool nor a release is given, or letters whose order nothing tells.
    """
    items, votes = read_items_and_votes(options)
    dates = dict(one.partition("@")[::2] for one in options.model)
    result = convene_panel(items, votes.matrix, list(dates), rules)
    hard = {one.item_id: one.difficulty for one in result.difficulties if one.admitted}
    named = [{"model": name, "date": date or None} for name, date in dates.items()]
    more = {"panel": named} | order_of(votes)
    admitted = tuple(
        _with_difficulty(item, hard[item.item_id], more) for item in items if item.item_id in hard
    )
    levels = Counter(
        "missing" if one.difficulty is None else f"{one.difficulty:.2f}" for one in result.difficulties
    )
    report = order_of(votes) | {
        "items": len(items),
        "admitted": len(admitted),
        "interval": [result.low, result.high],
        "panel": named,
        "by_difficulty": dict(sorted(levels.items())),
    }
    return PanelResult(admitted, result.difficulties, report)


def read_items_and_votes(
    options: TriageOptions | PanelOptions | RepairOptions | ConsensusOptions,
) -> tuple[Sequence[Item], Votes]:
    """Read the items, and the answers in their letters.

    Raises:
        InputError: a file that cannot be read.
        UsageError: neither a pool nor a release is given, or letters whose order nothing tells.
    """
    if options.pool is not None:
        items = read_pool_or_import(options.pool)[0]
    elif options.release is not None:
        items = _release_items(options.release)
    else:
        raise UsageError("give --pool, or --release", hint="the items that the answers are about")
    release = read_forms(options.release) if options.release is not None else None
    stated = read_forms(options.letters_of) if options.letters_of is not None else None
    return items, read_votes(options.responses, items, release, stated)


def _release_items(folder: Path) -> list[Item]:
    """Read all items of a release.

    Raises:
        UsageError: the answers of some are private.
    """
    rows = [row for rows in read_release(folder).rows.values() for row in rows]
    private = [row.id for row in rows if row.answer is None]
    if private:
        raise UsageError(
            f"{folder}: the answers of {len(private)} items are private, first {private[0]!r}",
            hint="give the pool it was made from beside it: --pool pool.jsonl",
        )
    return [to_item(row) for row in rows]


def order_of(votes: Votes) -> dict[str, str]:
    """Say that letters were read in an order that was only stated."""
    return {"letters": STATED} if votes.stated else {}


def _with_difficulty(item: Item, difficulty: float | None, more: Mapping[str, Any]) -> Item:
    return item.model_copy(update={"metadata": {**item.metadata, "difficulty": difficulty, **more}})
