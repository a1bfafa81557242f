"""Diagnose a pool and propose repairs; accept one: what `kina repair` and `kina fix --accept` do.

Proposals change nothing. A key is proposed only where strong models agree on one other option or
the item's own explanation names it, and only where the explanation fits it as it stands: a new
explanation is a person's to write. Texts are proposed by the repairs of `kina fix` alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kina_build.chat import Endpoint, Meter, complete, open_log
from kina_build.config import ChatRules, ItemRules
from kina_build.errors import Refusal, UsageError
from kina_build.items.checking.explaining import claimed_letters
from kina_build.items.checking.lint import check
from kina_build.items.checking.rule import Finding
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.mending.fixes import REPAIRS, Fixes, propose_fixes, read_patched
from kina_build.items.mending.patch import Patch, field_of, make_patch
from kina_build.items.model import Item
from kina_build.items.options import FixOptions
from kina_build.items.questions import read_pool_or_import
from kina_build.progress import Progress, silent
from kina_build.repair.diagnosis import (
    Diagnosis,
    Issue,
    Votes,
    explains_rival,
    find_issues,
    order,
    rival_of,
    share_right,
    weigh_votes,
)
from kina_build.repair.judges import Ask, Judged, judge_items
from kina_build.repair.options import ConsensusOptions, RepairOptions
from kina_build.repair.votes import order_of, read_items_and_votes
from kina_build.rows.jsonl import read_records, write_records

BY = "kina repair"
"""Who made a proposal, until a person accepts it."""


@dataclass(frozen=True)
class Repairs:
    """The diagnoses of a pool, most urgent first."""

    diagnoses: tuple[Diagnosis, ...]
    items: int
    order: str | None
    """Says that letters were read in an order that was only stated."""
    judged: Judged | None = None

    @property
    def report(self) -> dict[str, Any]:
        """Return what `kina repair --json` prints."""
        kinds = Counter(issue.kind for one in self.diagnoses for issue in one.issues)
        return ({"letters": self.order} if self.order else {}) | {
            "items": self.items,
            "doubtful": len(self.diagnoses),
            "proposals": sum(one.proposal is not None for one in self.diagnoses),
            "by_kind": dict(kinds.most_common()),
            **({"judges": self._calls()} if self.judged else {}),
            "diagnoses": [one.model_dump(exclude_none=True) for one in self.diagnoses],
        }

    def _calls(self) -> dict[str, Any]:
        calls = self.judged
        return {"calls": dict(calls.statuses), "unread": calls.unread} if calls else {}

    def write(self, path: Path) -> int:
        """Write the diagnoses as JSON Lines; return how many."""
        return write_records(path, self.diagnoses)


def repair(
    options: RepairOptions,
    rules: ItemRules = ItemRules(),
    on_progress: Progress = silent,
    ask: Ask | None = None,
) -> Repairs:
    """Diagnose the items of a pool by its findings, by what models answered, and by judges.

    Args:
        options: of the command.
        rules: numbers and severities.
        on_progress: told of items checked.
        ask: gets the judges' replies; see asking.

    Raises:
        InputError: a file that cannot be read, or a strong model without answers.
        UsageError: letters whose order nothing tells.
    """
    if options.responses:
        items, read = read_items_and_votes(options)
        votes = weigh_votes(items, read.matrix, rules, options.strong or None)
        stated = order_of(read).get("letters")
    else:
        items, votes, stated = read_pool_or_import(options.pool)[0], None, None
    found = check(items, options.profile, rules, on_progress)
    made = diagnose(items, found, votes, rules)
    judged = None
    if options.judge and ask is not None:
        doubtful = {one.item_id for one in made}
        asked = [item for item in items if options.judge_all or item.item_id in doubtful]
        judged = judge_items(asked, options.judge, ask)
        made = diagnose(items, found, votes, rules, judged)
    return Repairs(tuple(made), len(items), stated, judged)


def asking(
    options: RepairOptions | ConsensusOptions, rules: ChatRules = ChatRules(), *, fresh: bool = False
) -> Ask:
    """Return what asks the judges: their endpoint, with a log of replies and caps.

    Args:
        options: of the command.
        rules: prices, caps and patience.
        fresh: ask again what the log answers.

    Raises:
        ConfigError: no endpoint is set.
        InputError: the log cannot be read.
        UsageError: a judge without a name, or named twice.
    """
    if len(set(options.judge)) < len(options.judge) or not all(name.strip() for name in options.judge):
        raise UsageError("a judge is named twice, or not at all", hint="votes of one model are one voice")
    caps = {"max_calls": options.max_calls, "max_cost": options.max_cost}
    rules = rules.model_copy(update={key: value for key, value in caps.items() if value is not None})
    endpoint, log = Endpoint.from_environment(options.base_url), open_log(options.calls, fresh=fresh)
    return partial(complete, endpoint=endpoint, log=log, rules=rules, meter=Meter())


def diagnose(
    items: Sequence[Item],
    findings: Sequence[Finding],
    votes: Votes | None = None,
    rules: ItemRules = ItemRules(),
    judged: Judged | None = None,
) -> list[Diagnosis]:
    """Diagnose items, and propose a repair where one follows from the evidence alone.

    Args:
        items: a pool.
        findings: of a check of it.
        votes: what models say of its keys.
        rules: numbers of the rules that a repair must not break.
        judged: what judges say of some of the items.
    """
    own: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        own[finding.item_id].append(finding)
        for other in finding.evidence.get("others", ()):
            own[other].append(finding)
    made = []
    for row, item in enumerate(items):
        said = judged.evidence.get(item.item_id, ()) if judged is not None else ()
        issues = find_issues(item, own[item.item_id], row, votes, said)
        if issues:
            made.append((item, issues, _more(item, issues, row, votes, rules)))
    return order(made)


def _more(
    item: Item, issues: Sequence[Issue], row: int, votes: Votes | None, rules: ItemRules
) -> dict[str, Any]:
    """Return the proposal of an item, and how the models fare before and after it."""
    proposal = propose(item, issues, votes, rules)
    now = share_right(votes.matrix, row, item.correct_answer) if votes is not None else None
    new = {change.field: change.new for change in proposal.changes} if proposal else {}
    same_texts = new.keys() <= {"correct_answer", "explanation"}
    after = None
    if votes is not None and proposal is not None and same_texts:
        after = share_right(votes.matrix, row, new.get("correct_answer") or item.correct_answer)
    easier = after > now if after is not None and now is not None else None
    return {"proposal": proposal, "share_right": now, "share_right_after": after, "easier": easier}


def propose(
    item: Item, issues: Sequence[Issue], votes: Votes | None = None, rules: ItemRules = ItemRules()
) -> Patch | None:
    """Propose a patch that touches only the fields of the diagnosis; None where a person must write one."""
    fields = {field for issue in issues for field in issue.fields}
    changes = [
        (change.field, change.new, change.why)
        for patch in propose_fixes([item], list(REPAIRS), rules)
        for change in patch.changes
        if change.field in fields
    ]
    if any(issue.kind in ("wrong_key", "no_key") for issue in issues):
        changes += _new_key(item, votes)
    try:
        return make_patch(item, changes, BY) if changes else None
    except RowRefused:  # it would leave an explanation behind
        return None


def _new_key(item: Item, votes: Votes | None) -> list[tuple[str, str | None, str]]:
    rival = rival_of(item, votes)
    claimed = claimed_letters(item.explanation or "") & {option.key for option in item.options}
    why = "the strong models agree on it"
    if rival is None and votes is None and len(claimed) == 1:
        rival, why = next(iter(claimed)), "the explanation calls it right"
    if rival is None or rival == item.correct_answer:
        return []
    new = [("correct_answer", rival, why)]
    if explains_rival(item, rival):
        return [*new, ("explanation", item.explanation, "it speaks of the new key")]
    return [] if item.explanation else list(new)


def accept(options: FixOptions) -> Fixes:
    """Take the proposal for one item over into the file of patches, in a person's name.

    Raises:
        InputError: a file that cannot be read.
        Refusal: the proposal was made for another text of the item.
        UsageError: no name of a person or of an item, or no proposal for it.
    """
    if not (options.accept and options.item and options.by) or options.set_:
        raise UsageError(
            "a proposal is accepted with --accept, --item and --by",
            hint="kina fix pool.jsonl --accept diagnoses.jsonl --item q7 --by anna",
        )
    items, earlier = read_patched(options)
    item = next((one for one in items if one.item_id == options.item), None)
    made = {one.item_id: one.proposal for one in read_records(options.accept, Diagnosis)}
    proposal = made.get(options.item)
    if item is None or proposal is None:
        raise UsageError(f"{options.accept}: no proposal for {options.item!r}")
    try:
        _check_current(item, proposal)
        changes = [(one.field, one.new, options.why or one.why) for one in proposal.changes]
        patch = make_patch(item, changes, options.by)
    except RowRefused as fault:
        raise Refusal(f"item {item.item_id!r}: {fault.message}") from None
    return Fixes((patch,), earlier, len(items))


def _check_current(item: Item, proposal: Patch) -> None:
    for change in proposal.changes:
        if field_of(item, change.field) != change.old:
            raise RowRefused("patch_stale", f"{change.field} is not what the proposal was made for")
