"""Histories of settling and paying through the command line, against a model of what is owed.

The model is written from the payout rules of the design and uses nothing of `review/`: two reviewers
an item, the base for each, the bonus to the better score at or above the bar, halves for a tie, the
odd cent by the first byte of sha256("seed{seed}|{item}|tie"); what a failed audit takes goes to the
other. A provider answers in any order; files are forgotten, restored and forged.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.soak.world import invoke

BASE, BONUS, BAR, SEED = 200, 501, 14, 7
STEPS = 18
PAIRS = {f"it-{n}": pair for n, pair in enumerate([("p1", "p2"), ("p2", "p3"), ("p1", "p3"), ("p3", "p4")])}
HOURS = dict(zip(("p1", "p2", "p3", "p4"), range(8, 12), strict=True))
BESIDE = ("", ".key", ".mark", ".payees.json")


class Lost(AssertionError):
    """A law of money that did not hold."""


class World:
    """One ledger in the working folder, and what must be true of it."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.scores: dict[tuple[str, str], int] = {}
        self.failed: dict[str, str] = {}
        self.due: Counter[str] = Counter()
        self.out: Counter[str] = Counter()
        """What was planned or paid and not given back, in cents."""
        self.payments: dict[str, tuple[str, int, str]] = {}
        """Payment id to payee, amount and state."""
        self.held: set[str] = set()
        self.settled: tuple[dict[tuple[str, str], int], dict[str, str]] = ({}, {})
        """Scores and failed audits as they were settled last."""

    # --- what a person does ---------------------------------------------------------------

    def hand_in(self) -> None:
        open_ = [
            (item, who) for item, pair in PAIRS.items() for who in pair if (item, who) not in self.scores
        ]
        for place in self.rng.sample(open_, min(len(open_), 3)):
            self.scores[place] = self.rng.randrange(11, 18)

    def audit(self) -> None:
        whole = [item for item, pair in PAIRS.items() if all((item, who) in self.scores for who in pair)]
        fresh = [item for item in whole if item not in self.failed]
        if fresh:
            item = self.rng.choice(fresh)
            self.failed[item] = self.rng.choice(PAIRS[item])

    def settle(self) -> None:
        if self.scores:
            self._write()
            self._run(0, "settle", "--findings", "f.csv") if self.failed else self._run(0, "settle")
            self._take()

    def forget(self) -> None:
        """Settle without the scores: nobody's pay may change."""
        if self.scores and self.due == self._owed() and self.due:
            self._write(scores=False)
            self._run(None, "settle")

    def correct(self) -> None:
        """Change a score that was settled: it stops, or changes nothing, until it is allowed."""
        if not self.scores or self.due != self._owed():
            return
        place = self.rng.choice(sorted(self.scores))
        self.scores[place] = self.rng.randrange(11, 18)
        self._write()
        findings = ("--findings", "f.csv") if self.failed else ()
        self._run(None, "settle", *findings)
        self._check()
        self._run(0, "settle", *findings, "--allow-corrections", "an appeal")
        self._take()

    def plan(self) -> None:
        if not Path("pay.db").exists():
            return
        done = self._run(None, "pay", "plan", "-o", "p.csv")
        if done.exit_code:
            return
        report = json.loads(done.stdout)
        if not report["payments"] or any(one["payment_id"] in self.payments for one in report["payments"]):
            return
        waits = {who for who, _, state in self.payments.values() if state in ("in_flight", "unknown")}
        owed = {who: self.due[who] - self.out[who] for who in self.due if who not in waits}
        rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
        got = {row["payee_id"]: _cents(row["amount"]) for row in rows}
        if got != {who: cents for who, cents in owed.items() if cents > 0}:
            raise Lost(f"planned {got}, owed {owed}")
        for row in rows:
            self.payments[row["payment_id"]] = (row["payee_id"], got[row["payee_id"]], "planned")
            self.out[row["payee_id"]] += got[row["payee_id"]]

    def send(self) -> None:
        batch = self._batch("planned")
        if batch:
            state = self.rng.choice(["in_flight", "in_flight", "cancelled"])
            stale = state == "in_flight" and self._is_stale(batch)
            mark = ("pay", "mark", "--batch", batch, "--state", state)
            self._run(1 if stale else 0, *mark)
            if stale and self.rng.random() < 0.5:
                return
            if stale:  # its file is with the provider already
                self._run(0, *mark, "--sent")
            self._move(batch, dict.fromkeys(self._of(batch, "planned"), state))

    def answer(self) -> None:
        """Let the provider answer for a part of a batch, in any order, now and then wrongly."""
        batch = self._batch("in_flight") or self._batch("unknown")
        if not batch:
            return
        ids = self._of(batch, "in_flight", "unknown")
        self.rng.shuffle(ids)
        told = {
            name: self.rng.choice(["paid", "paid", "failed", "returned"])
            for name in ids[: self.rng.randrange(1, 4)]
        }
        rows = [(self.payments[name][0], self.payments[name][1], word) for name, word in told.items()]
        wrong = self.rng.random() < 0.3
        if wrong:
            rows.insert(0, self.rng.choice([("z9", 300, "paid"), (rows[0][0], rows[0][1] + 1, "paid")]))
        self._list(batch, rows, 1 if wrong else 0)
        if not wrong:
            self._move(batch, told)

    def come_back(self) -> None:
        """Let a paid payment come back, or read an answered list again."""
        batch = self._batch("paid")
        if batch:
            name = self.rng.choice(self._of(batch, "paid"))
            word = self.rng.choice(["paid", "returned", "refunded"])
            self._list(batch, [(*self.payments[name][:2], word)], 0)
            self._move(batch, {name: word})

    def derive(self) -> None:
        """Let the ledger's auditor derive everything again from the files that settled it."""
        if self.due and self.settled == (self.scores, self.failed):
            self._write()
            findings = ("--findings", "f.csv") if self.failed else ()
            self._run(0, "ledger", "audit", "--reviews", "r.csv", *findings)

    def adjust(self) -> None:
        """Book another amount than a paid payment was planned with: what differs is owed, or overpaid."""
        batch = self._batch("paid")
        if batch:
            name = self.rng.choice(self._of(batch, "paid"))
            who, cents, state = self.payments[name]
            really = max(1, cents + self.rng.choice([-1, 1, 25]))
            told = f"{really // 100}.{really % 100:02d}"
            persons = ("--reason", "a fee", "--by", "ann", "--approved-by", "bob")
            self._run(
                0 if really != cents else 1, "pay", "adjust", "--payment", name, "--paid", told, *persons
            )
            self.payments[name] = (who, really, state)
            self.out[who] += really - cents

    def restore(self) -> None:
        """Put an older ledger in its place: every command must refuse it."""
        old = Path("old")
        if old.exists() and (old / "pay.db").read_bytes() != Path("pay.db").read_bytes():
            shutil.copy("pay.db", "new.db")
            shutil.copy(old / "pay.db", "pay.db")
            for words in (("pay", "plan", "-o", "p.csv"), ("pay", "status"), ("settle",)):
                self._run(1, *words)
            shutil.copy("new.db", "pay.db")
        elif Path("pay.db").exists():
            old.mkdir(exist_ok=True)
            shutil.copy("pay.db", old / "pay.db")

    def _take(self) -> None:
        self.due, self.held = self._owed(), set()
        self.settled = (dict(self.scores), dict(self.failed))

    # --- the model ------------------------------------------------------------------------

    def _owed(self) -> Counter[str]:
        owed: Counter[str] = Counter()
        for item, pair in PAIRS.items():
            for who in pair:
                if (item, who) in self.scores:
                    owed[who] += BASE
            if all((item, who) in self.scores for who in pair):
                owed.update(self._prizes(item, pair))
        return owed

    def _prizes(self, item: str, pair: tuple[str, str]) -> dict[str, int]:
        marks = {who: self.scores[item, who] for who in pair}
        if item in self.failed:
            return {who: BONUS for who in pair if who != self.failed[item] and marks[who] >= BAR}
        if max(marks.values()) < BAR:
            return {}
        if len(set(marks.values())) == 2:
            return {max(pair, key=marks.__getitem__): BONUS}
        bit = hashlib.sha256(f"seed{SEED}|{item}|tie".encode()).digest()[0] & 1
        return {sorted(pair)[bit]: BONUS - BONUS // 2, sorted(pair)[1 - bit]: BONUS // 2}

    def _move(self, batch: str, states: dict[str, str]) -> None:
        for name, state in states.items():
            who, cents, before = self.payments[name]
            gone = ("failed", "returned", "refunded", "cancelled")
            self.out[who] += cents * ((before in gone) - (state in gone))
            self.payments[name] = (who, cents, state)

    def _is_stale(self, batch: str) -> bool:
        """Tell whether a planned batch would pay somebody more than is owed by now."""
        planned = {who: cents for who, cents, _ in map(self.payments.get, self._of(batch, "planned"))}  # type: ignore[misc]
        return any(cents > self.due[who] - self.out[who] + cents for who, cents in planned.items())

    def _batch(self, state: str) -> str:
        found = sorted({name.partition("-")[0] for name, one in self.payments.items() if one[2] == state})
        return self.rng.choice(found) if found else ""

    def _of(self, batch: str, *states: str) -> list[str]:
        return [
            n for n, one in sorted(self.payments.items()) if n.startswith(f"{batch}-") and one[2] in states
        ]

    def _check(self) -> None:
        if not Path("pay.db").exists():
            return
        told = json.loads(self._run(0, "pay", "status").stdout)
        found = _cents(told["owed"]) - _cents(told["overpaid"])
        wanted = sum(self.due.values()) - sum(self.out.values())
        if found != wanted:
            raise Lost(f"the ledger owes {found} cents, and {wanted} are due")

    # --- files and commands ---------------------------------------------------------------

    def _write(self, *, scores: bool = True) -> None:
        head = "item_id,reviewer_id,submitted_at,status" + (",review_score" if scores else "")
        rows = [
            f"{item},{who},2026-05-04T{HOURS[who]:02d}:00:00Z,submitted" + (f",{mark}" if scores else "")
            for (item, who), mark in self.scores.items()
        ]
        self.rng.shuffle(rows)
        Path("r.csv").write_text("\n".join([head, *rows]) + "\n")
        found = [f"{item},false,,{who}" for item, who in self.failed.items()]
        Path("f.csv").write_text("\n".join(["item_id,flawed,flaw,failed", *found]) + "\n")

    def _list(self, batch: str, rows: list[tuple[str, int, str]], wanted: int) -> None:
        if self.rng.random() < 0.5:
            lines = [f"{who},{cents // 100}.{cents % 100:02d},{word}" for who, cents, word in rows]
            name, text = "l.csv", "\n".join(["payee_id,amount,status", *lines]) + "\n"
        else:
            items = [_payout(batch, *row) for row in rows]
            name, text = "l.json", json.dumps({"batch_header": {"batch_status": "SUCCESS"}, "items": items})
        Path(name).write_text(text)
        self._run(wanted, "pay", "reconcile", "--batch", batch, "--provider-list", name)

    def _run(self, wanted: int | None, *words: str) -> Any:
        terms = (
            "--reviews",
            "r.csv",
            "--base",
            "2.00",
            "--bonus",
            "5.01",
            "--bar",
            str(BAR),
            "--seed",
            str(SEED),
        )
        more = terms if words[0] == "settle" else ()
        done = invoke(["review", *words, *more, "--ledger", "pay.db", "--json"])
        if (
            done.exit_code not in ((0, 1) if wanted is None else (wanted,))
            or "a fault in kina" in done.stderr
        ):
            raise Lost(f"{' '.join(words)} ended with {done.exit_code}: {done.stderr[-400:]}")
        return done


def _payout(batch: str, who: str, cents: int, word: str) -> dict[str, Any]:
    """Return one item of a payout batch, as PayPal's API gives it."""
    return {
        "payout_item": {
            "receiver": who,
            "amount": {"currency": "USD", "value": f"{cents // 100}.{cents % 100:02d}"},
        },
        "transaction_status": {"paid": "SUCCESS"}.get(word, word.upper()),
        "transaction_id": f"{batch}/{who}",
        "payout_item_fee": {"currency": "USD", "value": "0.25"},
    }


def _cents(amount: str) -> int:
    whole, _, part = amount.partition(".")
    return int(whole) * 100 + int(part)


PAYING = ("plan", "send", "answer")
ACTS = (
    *("hand_in", "settle", "audit", "forget", "correct", "come_back", "restore", "derive", "adjust"),
    *(*PAYING, *PAYING),
)


def play(seed: int) -> None:
    """Play one history in a folder of its own.

    Raises:
        Lost: money was lost or doubled, or a command ended as it should not.
    """
    told: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        world = World(seed)
        for act in ("hand_in", "settle", *world.rng.choices(ACTS, k=STEPS)):
            told.append(act)
            try:
                getattr(world, act)()
                world._check()
            except Lost as lost:
                raise Lost(f"history {seed}, {' '.join(told)}: {lost}") from None


def money(seed: int, first: int, last: int, jobs: int = 2) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Play the histories from `first` up to `last`, not included."""
    for number in range(first, last):
        try:
            play(seed * 1_000_000 + number)
        except Lost as lost:
            yield (
                number,
                [{"law": "no money is lost or doubled", "place": str(lost), "case": number, "seed": seed}],
            )
        else:
            yield number, []
