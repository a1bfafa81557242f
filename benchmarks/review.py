"""Settling and verifying at size, beside what the machine itself can do.

Run as `python -m benchmarks.review`. The peers are the bare work underneath: SQLite
inserting the same rows without chain or reasons, and sha256 over the same bytes.
"""

from __future__ import annotations

import hashlib
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from kina_review.pay.book.file import COLUMNS
from kina_review.pay.book.opening import create_ledger, open_ledger
from kina_review.pay.payees import PayeeBook
from kina_review.pay.posting import post_to
from kina_review.payrecords import LedgerEntry, PayRule
from kina_review.records import Review
from kina_review.tournament.settlement import Terms, settle

REVIEWS = 100_000
ENTRIES = 1_000_000
RULE = PayRule(currency="USD", base_minor=200, bonus_minor=500, bar=Decimal(14), tie="split")


@dataclass(frozen=True)
class Time:
    wall_s: float
    cpu_s: float


def timed(work: Callable[[], object]) -> Time:
    begin, busy = time.perf_counter(), time.process_time()
    work()
    return Time(time.perf_counter() - begin, time.process_time() - busy)


def make_reviews(count: int) -> list[Review]:
    return [
        Review(
            item_id=f"it-{n // 2:06d}",
            reviewer_id=f"rv-{(n * 7919) % 2000 if n % 2 else (n * 104_729 + 1) % 2000:04d}",
            submitted_at=f"2026-03-{1 + n % 28:02d}T{n % 24:02d}:00:0{n % 2}Z",
            review_score=Decimal(n * 37 % 41) / 2,
        )
        for n in range(count)
    ]


def bare_inserts(path: Path, rows: list[tuple[object, ...]]) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE entries ({', '.join(COLUMNS)}, hash)")
        connection.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * (len(COLUMNS) + 1))})", rows)


def fill(path: Path, count: int) -> None:
    book = PayeeBook(key="00" * 32)
    with create_ledger(path, "USD", book.check) as ledger, ledger.writing():
        ledger.append(
            LedgerEntry.model_construct(
                seq=0, kind="base", item_id=f"it-{n // 4:07d}", round="1", reviewer_id=f"rv-{n % 2000:04d}",
                payee_ref="0" * 32, rule="1", amount_minor=200, reason="complete", payment_id="", hash="",
            )
            for n in range(count)
        )  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pay.db"
        reviews = make_reviews(REVIEWS)

        def settle_and_post() -> None:
            post_to(path, settle(reviews, Terms((RULE,), seed=42)))

        show(f"settle {REVIEWS:,} reviews", timed(lambda: settle(reviews, Terms((RULE,), seed=42))))
        whole = timed(settle_and_post)
        with open_ledger(path) as ledger:
            lines = [tuple(e.model_dump().values()) for e in ledger.entries()]
        bare = timed(lambda: bare_inserts(Path(folder) / "bare.db", lines))
        show(f"settle and post them ({len(lines):,} lines)", whole, bare, "bare inserts")
        show("settle and post again (nothing new)", timed(settle_and_post))

        large = Path(folder) / "large.db"
        fill(large, ENTRIES)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open_ledger(large) as ledger:
            verify = timed(ledger.verify)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        data = large.read_bytes()
        plain = timed(lambda: hashlib.sha256(data).hexdigest())
        show(f"verify {ENTRIES:,} lines (memory +{grown:.0f} MB)", verify, plain, "sha256 of the file")


def show(what: str, took: Time, peer: Time | None = None, name: str = "") -> None:
    ratio = f"{took.cpu_s / peer.cpu_s:5.0f} x {name}" if peer else ""
    print(f"{what:44} {took.wall_s:6.1f} s wall {took.cpu_s:6.1f} s cpu {ratio}", flush=True)


if __name__ == "__main__":
    main()
