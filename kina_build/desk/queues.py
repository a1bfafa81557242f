"""What waits for a decision: cases in queues, each with its evidence and the choices there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kina_build.dedup.records import DuplicatePair, chance_of
from kina_build.desk.bench import AGREED, FLAGS, Bench
from kina_build.desk.book import Act, Key
from kina_build.desk.words import fold
from kina_build.items.model import Item
from kina_build.project.decisions import Ruling, text_hash
from kina_build.report.rows import DoubtRow, FindingRow

NAMES: Mapping[str, str] = {
    "keys": "Keys at odds",
    "copies": "Copies and near-copies",
    "doubts": "Doubtful keys",
    "findings": "Findings",
}
"""Queue to what people call it, in the order in which they are best worked on."""
SERIOUS = ("error", "warning")


@dataclass(frozen=True)
class Choice:
    """One way to decide a case."""

    key: str
    """On the keyboard."""
    label: str
    effect: str
    """What it does to the items."""
    acts: tuple[Act, ...]
    """The decisions that are written; the last one says that the case is closed."""


@dataclass(frozen=True)
class Case:
    """One thing to decide, as one screen."""

    queue: str
    items: tuple[Item, ...]
    """One, or two side by side."""
    kind: str
    """A word or two, for the list."""
    heading: str
    evidence: str
    """Figures behind it, in a line."""
    hint: str
    """What the evidence means, in a sentence."""
    choices: tuple[Choice, ...]

    @property
    def case_id(self) -> str:
        """Return its name in addresses: the same as long as it is about the same thing."""
        body = "\0".join((self.queue, self.kind, *(item.item_id for item in self.items)))
        return hashlib.sha256(body.encode()).hexdigest()[:12]

    @property
    def subject(self) -> str:
        """Return the ids of its items."""
        return " · ".join(item.item_id for item in self.items)

    def decided(self, latest: Mapping[Key, Mapping[str, Ruling]]) -> tuple[str, ...]:
        """Tell who decided it, and how; decisions on texts that changed since do not count."""
        told = []
        for who, said in self._closings(latest).items():
            choice = next((one for one in self.choices if self._is_chosen(one, latest, who)), None)
            told.append(f"{who}: {choice.label if choice else said.says}")
        return tuple(told)

    def _closings(self, latest: Mapping[Key, Mapping[str, Ruling]]) -> dict[str, Ruling]:
        """Return each person's decision that closes this case, by any of its choices."""
        found: dict[str, Ruling] = {}
        for key in dict.fromkeys(choice.acts[-1].key for choice in self.choices):
            verdicts = {c.acts[-1].verdict for c in self.choices if c.acts[-1].key == key}
            found |= {
                who: ruling
                for who, ruling in latest.get(key, {}).items()
                if ruling.verdict in verdicts and ruling.texts == self._texts(ruling)
            }
        return dict(sorted(found.items()))

    def _is_chosen(self, choice: Choice, latest: Mapping[Key, Mapping[str, Ruling]], who: str) -> bool:
        return all(act.is_in(latest.get(act.key, {}).get(who)) for act in choice.acts)

    def _texts(self, ruling: Ruling) -> str:
        return text_hash([item for item in self.items if item.item_id in ruling.subject])


def find_cases(bench: Bench) -> dict[str, list[Case]]:
    """List the cases of each queue that has any, the most pressing first."""
    cases = [*_pair_cases(bench), *_doubt_cases(bench), *_finding_cases(bench)]
    return {queue: found for queue in NAMES if (found := [one for one in cases if one.queue == queue])}


def _pair_cases(bench: Bench) -> Iterator[Case]:
    duplicates = bench.artefacts.duplicates
    if duplicates is None:
        return
    twice = {
        frozenset(c.item_ids) for c in duplicates.clusters if c.needs_decision and c.status == "duplicate"
    }
    ordered = sorted(duplicates.pairs, key=lambda pair: (-chance_of(pair), pair.item_id, pair.other_id))
    for pair in ordered:
        if pair.item_id not in bench.items or pair.other_id not in bench.items:
            continue
        filed = any({pair.item_id, pair.other_id} <= ids for ids in twice)
        if pair.status in ("conflict", "review") or (pair.status == "duplicate" and filed):
            yield _pair_case(bench, pair)


def _pair_case(bench: Bench, pair: DuplicatePair) -> Case:
    left, right = bench.items[pair.item_id], bench.items[pair.other_id]
    both = (left.item_id, right.item_id)
    conflict = pair.status == "conflict"
    kind = "keys differ" if conflict else "filed twice" if pair.status == "duplicate" else "close texts"
    cosine = "" if pair.cosine is None else f"cosine {pair.cosine:.3f} · "
    same = Act("pair", both, "same")
    choices = [
        Choice("1", "Two questions", "both stay", (Act("pair", both, "different"),)),
        *(
            Choice(
                key,
                f"One question, keep {side}",
                f"keeps {kept}, drops {gone}",
                (Act("item", (kept,), "keep"), same),
            )
            for key, side, kept, gone in (("2", "L", *both), ("3", "R", *reversed(both)))
        ),
        *(
            Choice(
                key,
                f"{side}'s key is wrong",
                f"drops {item.item_id}",
                (Act("key", (item.item_id,), "wrong", _right_letter(item, other)),),
            )
            for key, side, item, other in (("4", "L", left, right), ("5", "R", right, left))
        ),
    ]
    return Case(
        queue="keys" if conflict else "copies",
        items=(left, right),
        kind=kind,
        heading=f"{kind.capitalize()}: {pair.reason}",
        evidence=f"{cosine}stems share {pair.stem_overlap:.0%} · options {pair.option_overlap:.0%} · "
        f"right answers {pair.gold}",
        hint=_pair_hint(bench, left, right) if conflict else "",
        choices=tuple(choices),
    )


def _right_letter(item: Item, other: Item) -> str | None:
    """Return the option of an item that says what the other item's key says, where it is not its own key."""
    said = fold(_answer(other, other.correct_answer))
    letter = next((option.key for option in item.options if fold(option.answer) == said), None)
    return None if letter == item.correct_answer else letter


def _pair_hint(bench: Bench, left: Item, right: Item) -> str:
    told = [
        f"Left says {_answer(left, left.correct_answer)}, right says {_answer(right, right.correct_answer)}."
    ]
    picks = [
        f"{_answer(item, letter)} on the {side} ({count} of {total})"
        for side, item in (("left", left), ("right", right))
        for letter, count, total in _favourite(bench, item)
    ]
    if picks:
        told.append(f"Models pick {' and '.join(picks)}.")
    accepted = [bench.dossier(item.item_id).decision for item in (left, right)]
    if all(one is not None and one.decision == "accept" for one in accepted):
        told.append("Reviewers accepted both: one of them is wrong.")
    return " ".join(told)


def _doubt_cases(bench: Bench) -> Iterator[Case]:
    for doubt in bench.artefacts.triage or ():
        if AGREED in doubt.flags and doubt.item_id in bench.items:
            yield _doubt_case(bench.items[doubt.item_id], doubt)


def _doubt_case(item: Item, doubt: DoubtRow) -> Case:
    one = (item.item_id,)
    key, rival = item.correct_answer, doubt.rival
    others = [option.key for option in item.options if option.key not in (key, rival)]
    ways = [rival, *others] if rival else others
    choices = [Choice("1", f"The key {key} is right", "stays", (Act("key", one, "right"),))]
    choices += [
        Choice(
            str(n), f"{letter} is right", "drops it until it is mended", (Act("key", one, "wrong", letter),)
        )
        for n, letter in enumerate(ways[:6], start=2)
    ]
    choices.append(Choice("0", "No option is right", "drops it", (Act("key", one, "wrong"),)))
    return Case(
        queue="doubts",
        items=(item,),
        kind="doubtful key",
        heading=f"Is {key} the right answer?",
        evidence=" · ".join(FLAGS.get(flag, flag) for flag in doubt.flags),
        hint=f"{doubt.rival_votes} of {doubt.voters} strong models say {rival}: {_answer(item, rival)}. "
        f"{doubt.key_votes} say {key}, the key: {_answer(item, key)}.",
        choices=tuple(choices),
    )


def _finding_cases(bench: Bench) -> Iterator[Case]:
    rank = {severity: n for n, severity in enumerate(SERIOUS)}
    found = [f for f in bench.artefacts.findings or () if f.item_id in bench.items and f.severity in rank]
    for one in sorted(found, key=lambda f: (rank[f.severity], f.rule, str(f.item_id))):
        yield _finding_case(bench.items[str(one.item_id)], one)


def _finding_case(item: Item, finding: FindingRow) -> Case:
    about = (item.item_id, finding.rule)
    return Case(
        queue="findings",
        items=(item,),
        kind=finding.rule.replace("_", " "),
        heading=f"{finding.rule.replace('_', ' ').capitalize()}: {finding.message}",
        evidence=f"{finding.severity} of the rule {finding.rule}",
        hint="",
        choices=(
            Choice("1", "Fine as it is", "stays", (Act("finding", about, "fine"),)),
            Choice(
                "2", "To be mended", "stays on the list of things to mend", (Act("finding", about, "mend"),)
            ),
            Choice(
                "3",
                "Drop the item",
                f"drops {item.item_id}",
                (Act("item", about[:1], "drop"), Act("finding", about, "mend")),
            ),
        ),
    )


def _favourite(bench: Bench, item: Item) -> list[tuple[str, int, int]]:
    """Return the letter that most models chose, how many, and of how many; nothing without votes."""
    votes = bench.votes.get(item.item_id, {})
    total = sum(map(len, votes.values()))
    letters = {letter: len(models) for letter, models in votes.items() if letter}
    if not letters:
        return []
    letter = max(letters, key=lambda one: letters[one])
    return [(letter, letters[letter], total)]


def _answer(item: Item, letter: str | None) -> str:
    return next((option.answer for option in item.options if option.key == letter), "no option")
