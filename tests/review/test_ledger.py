from __future__ import annotations

import random
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import canonical
from kina_review.pay.book.file import COLUMNS, OLDER_FORMAT, SCHEMA
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import create_ledger, open_ledger
from kina_review.pay.book.seal import Head, chain, find_anchors, key_path, mark_path
from kina_review.pay.payees import Account, PayeeBook, begin_book, book_path, read_book, write_book
from kina_review.pay.posting import post_to, preview
from kina_review.payrecords import LedgerEntry
from tests.review.stories import review, rule, settled

REST = ", ".join(COLUMNS[1:])


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    """Return a ledger of three items with its payee book."""
    path = tmp_path / "pay.db"
    rows = [
        review(who, score, item=item)
        for item in ("it-1", "it-2", "it-3")
        for who, score in (("A", "18"), ("B", "15"))
    ]
    done = settled(*rows)
    post_to(path, done)
    return path


def test_the_chain_is_verified_and_the_head_is_an_anchor(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        head = ledger.verify()
        assert head == ledger.head()
        assert find_anchors(f"text {head} text") == [head]
        assert ledger.verify([head, Head(0, ledger.genesis)]) == head


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE entries SET amount_minor = 1 WHERE seq = 2",
        "DELETE FROM entries WHERE seq = 2",
        f"INSERT OR REPLACE INTO entries SELECT seq, {REST}, 'x' FROM entries WHERE seq = 2",
        f"INSERT INTO entries SELECT seq + 50, {REST}, 'x' FROM entries WHERE seq = 2",
        "UPDATE meta SET value = 'EUR' WHERE key = 'currency'",
        "DELETE FROM meta",
    ],
)
def test_the_file_itself_refuses_to_change(paid: Path, sql: str) -> None:
    with sqlite3.connect(paid) as connection, pytest.raises(sqlite3.IntegrityError, match="ledger"):
        connection.execute(sql)


@pytest.mark.parametrize("column", [*COLUMNS, "hash"])
def test_a_change_of_any_field_is_seen(paid: Path, tmp_path: Path, column: str) -> None:
    with open_ledger(paid) as ledger:
        count = ledger.head().count
    for seq in (1, count // 2, count):
        copy = tmp_path / f"copy-{seq}.db"
        copy_ledger(paid, copy)
        with Unguarded(copy) as connection:
            (before,) = connection.execute(f"SELECT {column} FROM entries WHERE seq = ?", (seq,)).fetchone()
            after = before + 1000 if isinstance(before, int) else before + "x"
            connection.execute(f"UPDATE entries SET {column} = ? WHERE seq = ?", (after, seq))
        with pytest.raises(Refusal, match="changed|taken out"):
            open_ledger(copy)
        copy.unlink()


def test_a_line_taken_out_or_put_elsewhere_is_seen(paid: Path) -> None:
    with Unguarded(paid) as connection:
        connection.execute("DELETE FROM entries WHERE seq = 3")
    with pytest.raises(Refusal, match="line 3"):
        open_ledger(paid)


@pytest.mark.parametrize("lines", [1, 2, 7])
def test_a_cut_tail_is_seen_by_the_mark(paid: Path, lines: int) -> None:
    with open_ledger(paid) as ledger:
        head = ledger.head()
    with Unguarded(paid) as connection:
        connection.execute("DELETE FROM entries WHERE seq > ?", (head.count - lines,))
    with pytest.raises(Refusal, match=f"{head.count - lines} lines, but its mark .* saw {head.count}"):
        open_ledger(paid)


def test_the_only_line_cut_is_seen_by_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    with create_ledger(path, "USD", "check") as ledger, ledger.writing():
        ledger.append([LedgerEntry(seq=0, kind="rule", rule="1", reason="{}")])
    with Unguarded(path) as connection:
        connection.execute("DELETE FROM entries")
    with pytest.raises(Refusal, match=r"0 lines, but its mark .* saw 1"):
        open_ledger(path)


def test_no_ledger_is_begun_beside_the_key_of_a_lost_one(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        count = ledger.head().count
    paid.unlink()
    with pytest.raises(Refusal, match=f"belongs to a ledger of {count} lines: it was lost or moved"):
        create_ledger(paid, "USD", "check")


def test_a_hash_covers_the_line_before() -> None:
    for key in (None, b"key"):
        assert chain("0" * 64, [1, "base"], key) != chain("1" * 64, [1, "base"], key)


def test_an_older_copy_in_its_place_is_seen(paid: Path, tmp_path: Path) -> None:
    copy_ledger(paid, tmp_path / "old.db")
    post_to(paid, settled(review("A", "18", item="it-9"), review("B", "15", item="it-9")))
    with open_ledger(paid) as ledger:
        head = ledger.head()
    shutil.copy(tmp_path / "old.db", paid)
    with pytest.raises(Refusal, match="older copy"):
        open_ledger(paid)
    shutil.copy(mark_path(tmp_path / "old.db"), mark_path(paid))  # with its mark only a manifest tells
    with pytest.raises(Refusal, match="an earlier statement saw"):
        open_ledger(paid, [head])


def test_an_older_copy_with_its_mark_is_seen_beside_a_payment_file(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        told = {"ledger_id": ledger.public_id, "ledger_head": str(Head(ledger.head().count + 3, "0" * 64))}
    (paid.parent / "p.csv.manifest.json").write_text(canonical({"report": told}))
    with pytest.raises(Refusal, match="an older copy was put in its place"):
        open_ledger(paid)


def test_a_mark_that_is_gone_is_asked_for_and_made_anew_by_a_statement(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        head = ledger.head()
    mark_path(paid).unlink()
    with pytest.raises(Refusal, match="is missing"):
        open_ledger(paid)
    open_ledger(paid, [head]).verify()
    assert open_ledger(paid).head() == head


@pytest.mark.parametrize("kind", ["gone", "open to others", "open to the group", "another's", "no key"])
def test_the_key_is_needed_and_private(paid: Path, kind: str) -> None:
    key = key_path(paid)
    assert key.stat().st_mode & 0o777 == 0o600
    if kind == "gone":
        key.unlink()
    elif kind.startswith("open"):
        key.chmod(0o604 if kind == "open to others" else 0o640)
    else:
        key.write_text("0" * 64 if kind == "another's" else "hello")
    with pytest.raises((Refusal, InputError), match=r"\.key|\.mark"):
        open_ledger(paid)


def test_a_forger_without_the_key_is_seen_whatever_hash_is_written(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        rows = [[getattr(entry, name) for name in COLUMNS] for entry in ledger.entries()]
        meta = [OLDER_FORMAT, ledger.currency, ledger.key_check]
    last = chain("", meta)
    with Unguarded(paid) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (OLDER_FORMAT,))
        for row in rows:
            row[COLUMNS.index("amount_minor")] *= 2
            last = chain(last, row)
            amount = row[COLUMNS.index("amount_minor")]
            connection.execute(
                "UPDATE entries SET amount_minor = ?, hash = ? WHERE seq = ?", (amount, last, row[0])
            )
    with pytest.raises(Refusal, match="rewritten"):
        open_ledger(paid)


def test_a_plain_hash_in_a_keyed_chain_is_seen(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        *_, before, last = ledger.entries()
    row = [getattr(last, name) for name in COLUMNS]
    row[COLUMNS.index("amount_minor")] += 1000
    for forged in (chain(before.hash, row), chain(before.hash, row, b"a guess")):
        with Unguarded(paid) as connection:
            connection.execute(
                "UPDATE entries SET amount_minor = ?, hash = ? WHERE seq = ?",
                (row[COLUMNS.index("amount_minor")], forged, last.seq),
            )
        mark_path(paid).unlink(missing_ok=True)  # nor is it the mark alone that tells
        with pytest.raises(Refusal, match=f"line {last.seq} was changed"):
            open_ledger(paid, [Head(0, ledger.genesis)])


def older(path: Path) -> Path:
    """Write a ledger as it was before there were keys: one paid review."""
    book = PayeeBook(key="00" * 32).with_payees(["A"])
    write_book(book_path(path), book)
    last = chain("", [OLDER_FORMAT, "USD", book.check])
    lines = [
        ("rule", "", "", "", "", "1", 0, canonical(terms_text()), ""),
        ("base", "it-1", "1", "A", book.ref("A"), "1", 200, "complete", ""),
        ("bonus", "it-1", "1", "A", book.ref("A"), "1", 0, "contest_incomplete", ""),
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [("format", OLDER_FORMAT), ("currency", "USD"), ("key_check", book.check)],
        )
        for seq, values in enumerate(lines, start=1):
            last = chain(last, (seq, *values))
            connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * 11)})", (seq, *values, last))
    return path


def terms_text() -> dict[str, Any]:
    return rule().model_dump(mode="json", exclude={"version", "grade_minor", "discipline", "scarcity"}) | {
        "seed": 0
    }


def test_an_older_ledger_is_read_and_sealed_at_its_first_new_line(tmp_path: Path) -> None:
    path = older(tmp_path / "pay.db")
    with open_ledger(path) as ledger:
        assert sum(ledger.balances().values()) == 200
    assert not key_path(path).exists()
    post_to(path, settled(review("A", "18"), review("B", "15")))
    with open_ledger(path) as ledger:
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds[3] == "seal"
        assert kinds.count("seal") == 1
        assert sum(ledger.balances().values()) == 900
    with Unguarded(path) as connection:
        connection.execute("DELETE FROM entries WHERE seq > 3")
    with pytest.raises(Refusal, match="the end was cut"):
        open_ledger(path)


def test_an_older_ledger_to_which_nothing_is_added_stays_as_it_is(tmp_path: Path) -> None:
    path = older(tmp_path / "pay.db")
    with open_ledger(path) as ledger, ledger.writing():
        assert ledger.append([]).count == 3
    assert not key_path(path).exists()


def test_a_chain_written_anew_is_seen_with_an_anchor(paid: Path, tmp_path: Path) -> None:
    with open_ledger(paid) as ledger:
        head, entries = ledger.head(), list(ledger.entries())
        currency, key_check = ledger.currency, ledger.key_check
    other = tmp_path / "other.db"
    with create_ledger(other, currency, key_check) as ledger:
        with ledger.writing():
            ledger.append(
                [entry.model_copy(update={"amount_minor": 2 * entry.amount_minor}) for entry in entries]
            )
        assert ledger.verify().count == head.count
        with pytest.raises(Refusal, match="rewritten"):
            ledger.verify([head])


def test_a_lifted_guard_is_seen(paid: Path) -> None:
    with sqlite3.connect(paid) as connection:
        connection.execute("DROP TRIGGER entries_never_change")
    with pytest.raises(Refusal, match="guards"):
        open_ledger(paid)


def test_any_byte_of_any_line_in_the_file_is_covered(paid: Path, tmp_path: Path) -> None:
    """Flip bytes of the file wherever a line's text lies: verify, or opening, must fail."""
    raw = paid.read_bytes()
    with open_ledger(paid) as ledger:
        head = ledger.verify()
        values = {str(getattr(e, name)) for e in ledger.entries() for name in (*COLUMNS, "hash")}
    rng = random.Random(5)
    copy_ledger(paid, tmp_path / "flipped.db")
    places = [at for text in values if len(text) > 3 for at in occurrences(raw, text.encode())]
    assert len(places) > 500
    for at in rng.sample(places, 150):
        copy = tmp_path / "flipped.db"
        copy.write_bytes(raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(7))]) + raw[at + 1 :])
        with pytest.raises((Refusal, InputError)), open_ledger(copy) as ledger:
            ledger.verify([head])


def test_something_else_is_not_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such ledger"):
        open_ledger(tmp_path / "none.db")
    text = tmp_path / "text.db"
    text.write_text("hello\n" * 200, encoding="utf-8")
    with pytest.raises(InputError, match="not a ledger"):
        open_ledger(text)
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(InputError):
        open_ledger(empty)


def test_a_failed_transaction_leaves_nothing(paid: Path) -> None:
    with open_ledger(paid) as ledger:
        before = ledger.head()
        with pytest.raises(ZeroDivisionError):
            half_done(ledger)
        assert ledger.head() == before


def test_a_second_writer_waits_and_is_refused_in_the_end(paid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kina_review.pay.book.file.WAIT_S", 0.05)
    with (
        open_ledger(paid) as first,
        open_ledger(paid) as second,
        first.writing(),
        pytest.raises(Refusal, match="another process"),
        second.writing(),
    ):
        pass


def test_a_ledger_keeps_its_currency_and_its_payee_book(paid: Path) -> None:
    yen = settled(review("A", "18"), review("B", "3"), rules=rule("200", "500", currency="JPY"))
    with pytest.raises(Refusal, match="a ledger of USD, not JPY"):
        post_to(paid, yen)
    (paid.parent / "pay.db.payees.json").unlink()
    dollars = settled(review("A", "18"), review("B", "3"))
    with pytest.raises(Refusal, match="payees.json: is missing"):
        post_to(paid, dollars)
    assert not (paid.parent / "pay.db.payees.json").exists()
    begin_book(paid.parent / "pay.db.payees.json")
    with pytest.raises(Refusal, match="does not belong"):
        post_to(paid, dollars)


def test_beside_the_key_of_a_lost_ledger_no_other_is_begun(paid: Path) -> None:
    paid.unlink()
    with pytest.raises(Refusal, match="was lost or moved"):
        post_to(paid, settled(review("A", "18"), review("B", "3")))
    assert not paid.exists()


def test_the_payee_book_is_private_and_the_ledger_holds_references_only(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    done = settled(review("A", "18", payee_id="ann@bank.example"), review("B", "15"))
    post_to(path, done)
    book = tmp_path / "pay.db.payees.json"
    assert book.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"ann@bank" not in path.read_bytes()
    assert b"ann@bank" in book.read_bytes()
    book.chmod(0o644)
    with pytest.raises(Refusal, match="others may read"):
        post_to(path, done)


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    done = settled(review("A", "18"), review("B", "15"))
    path = tmp_path / "pay.db"
    assert len(preview(path, done)) == 6
    assert list(tmp_path.iterdir()) == []
    post_to(path, done)
    assert preview(path, done) == []


def copy_ledger(path: Path, to: Path) -> None:
    """Copy a ledger with the files beside it that prove it."""
    for of in (Path, key_path, mark_path):
        shutil.copy(of(path), of(to))


class Unguarded:
    """Open a ledger as somebody would who lifts its guards, and puts them back after."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.guards: list[str] = []

    def __enter__(self) -> sqlite3.Connection:
        rows = self.connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, sql in rows:
            self.guards.append(sql)
            self.connection.execute(f"DROP TRIGGER {name}")
        return self.connection

    def __exit__(self, *_: Any) -> None:
        for sql in self.guards:
            self.connection.execute(sql)
        self.connection.commit()
        self.connection.close()


def half_done(ledger: Ledger) -> None:
    with ledger.writing():
        ledger.append(list(ledger.entries("base"))[:1])
        raise ZeroDivisionError


def occurrences(raw: bytes, text: bytes) -> list[int]:
    found, at = [], raw.find(text)
    while at >= 0:
        found += range(at, at + len(text))
        at = raw.find(text, at + 1)
    return found


def _spoilt(paid: Path, kind: str) -> Path:
    """Put something else, or something damaged, where a ledger should be."""
    path = paid.with_name("spoilt.db")
    raw = paid.read_bytes()
    if kind == "folder":
        path.mkdir()
    elif kind == "another program's":
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE songs (title TEXT)")
        base.close()
    elif kind == "another's meta":
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE meta (key BLOB, value BLOB)")
            base.execute("INSERT INTO meta VALUES ('format', 'kina-ledger/1')")
        base.close()
    else:
        middle = len(raw) // 2
        path.write_bytes(
            {
                "text": b"item_id,reviewer_id\n",
                "cut": raw[: middle + 100],
                "header": raw[:16],
                "zeros": raw[:100] + bytes(len(raw) - 100),
                "flipped": raw[:middle] + bytes(byte ^ 0x55 for byte in raw[middle:]),
            }[kind]
        )
    return path


@pytest.mark.parametrize(
    "kind",
    ["folder", "another program's", "another's meta", "text", "cut", "header", "zeros", "flipped"],
)
def test_what_is_no_ledger_is_one_line_and_stays_as_it_is(paid: Path, kind: str) -> None:
    path = _spoilt(paid, kind)
    before = None if path.is_dir() else path.read_bytes()
    for open_it in (lambda: open_ledger(path), lambda: create_ledger(path, "USD", "check")):
        with pytest.raises(InputError, match=re.escape(f"{path}: ")) as refused:
            open_it()
        assert len(refused.value.lines) == 1
    assert before is None or path.read_bytes() == before
    with pytest.raises(InputError, match=re.escape(f"{path}: ")):
        post_to(path, settled(review("A", "18"), review("B", "15")))
    assert not book_path(path).exists()


def test_an_empty_file_is_no_ledger_yet(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    path.touch()
    with pytest.raises(InputError, match="not a ledger"):
        open_ledger(path)
    with create_ledger(path, "USD", "check") as ledger:
        assert ledger.currency == "USD"


def test_every_flipped_byte_is_refused_or_seen(paid: Path, tmp_path: Path) -> None:
    """A damaged file never ends in a fault, however it is read."""
    raw = paid.read_bytes()
    copy = tmp_path / "copy.db"
    copy_ledger(paid, copy)
    for place in random.Random(3).sample(range(len(raw)), 150):
        copy.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        with suppress(InputError, Refusal), open_ledger(copy) as ledger:
            ledger.balances()
            ledger.holdings()
            list(ledger.entries())
            ledger.verify()


@pytest.mark.parametrize("of", ["payees", "accounts"])
def test_a_payee_book_in_which_somebody_was_exchanged_is_refused(paid: Path, of: str) -> None:
    book = read_book(book_path(paid)).with_accounts([Account(payee_id="A", account="A1")])
    write_book(book_path(paid), book)
    text = book_path(paid).read_text()
    book_path(paid).write_text(text.replace('"A1"' if of == "accounts" else '"B"', '"mallory"'))
    with pytest.raises(Refusal, match="'mallory' stands under a reference that is not theirs"):
        read_book(book_path(paid))


def test_a_payee_book_with_another_key_is_one_line(paid: Path) -> None:
    book = book_path(paid)
    book.write_text('{"key": "no key", "payees": {}}')
    with pytest.raises(InputError, match="key: "):
        read_book(book)
