"""The ledger: an append-only SQLite file whose lines are chained by keyed hashes.

Every line's hash covers the line before it, so no byte of a line can change unseen, and whoever
opens a ledger walks the chain first. A cut tail still forms a chain; therefore a mark beside the
ledger remembers how far it got, and each statement and payment report carries an anchor (count
and hash of the head). A ledger begun before there were keys is sealed at its first new line.
"""

from __future__ import annotations

import hashlib
import operator
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, Refusal
from kina_build.progress import Progress, silent
from kina_review.pay.book.file import (
    COLUMNS,
    FAULTS,
    FORMAT,
    OLDER_FORMAT,
    WHAT_IS,
    fault_of,
    own_schema,
    schema_of,
)
from kina_review.pay.book.seal import (
    Head,
    begin_key,
    chain,
    lost_key,
    mark_path,
    raise_mark,
    read_key,
    read_mark,
    walk,
    write_mark,
)
from kina_review.payrecords import Holding, LedgerEntry, PayKey

ID_HEX_DIGITS = 16


SEALED = "from this line on the chain is keyed"


class Ledger:
    """An open ledger file; close it, or use it in a with statement."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take an open file; `verify` comes before anything else is asked of it.

        Raises:
            InputError: the file is damaged, or not a ledger of this version.
        """
        self._connection = connection
        self.path = path
        self.name = name = str(path)
        (found,) = self._query("PRAGMA quick_check(1)")[0]
        if found != "ok":
            raise InputError(f"{name}: the file is damaged: {found}", hint="restore it from a copy")
        if "meta" not in {table for (table,) in self._query("SELECT name FROM sqlite_master")}:
            raise InputError(f"{name}: another program's SQLite file, not a ledger", hint=WHAT_IS)
        settings = dict(self._query("SELECT key, value FROM meta"))
        known = settings.get("format") in (FORMAT, OLDER_FORMAT)
        if not known or not settings.keys() >= {"currency", "key_check"}:
            raise InputError(f"{name}: not a ledger of this version of kina-build")
        self.format: str = settings["format"]
        self.key = read_key(path)
        if self.format == FORMAT and self.key is None:
            raise lost_key(path)
        self.currency: str = settings["currency"]
        self.key_check: str = settings["key_check"]
        """Proof that a payee file belongs to this ledger."""

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def genesis(self) -> str:
        """Return the hash before the first line: it covers the settings."""
        key = self.key if self.format == FORMAT else None
        return chain("", [self.format, self.currency, self.key_check], key)

    @property
    def public_id(self) -> str:
        """Return what no other ledger is called; it tells nothing of the key."""
        return hashlib.sha256(f"{self.genesis}|ledger".encode()).hexdigest()[:ID_HEX_DIGITS]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the only pen: what is read inside is still true when lines are appended.

        Raises:
            Refusal: another process kept the pen for too long.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise fault_of(self.name, error) from None
        try:
            yield
            head = self.head()
            self._connection.execute("COMMIT")
            if self.key is not None:
                raise_mark(self.path, self.key, head)
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, FAULTS):
                raise fault_of(self.name, error) from None
            raise

    def head(self) -> Head:
        """Return the last line's number and hash."""
        rows = self._query("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")
        return Head(*rows[0]) if rows else Head(0, self.genesis)

    def append(self, drafts: Iterable[LedgerEntry]) -> Head:
        """Append lines inside `writing`; their seq and hash are set here."""
        head = self.head()
        seq, last = head.count, head.hash
        read = operator.attrgetter(*COLUMNS[1:])
        rows: list[tuple[Any, ...]] = []
        lines = list(drafts)
        if lines and not self._is_sealed():
            self.key = read_key(self.path) or begin_key(self.path, head)
            lines.insert(0, LedgerEntry(seq=0, kind="seal", reason=SEALED))
        for draft in lines:
            seq += 1
            values = (seq, *read(draft))
            last = chain(last, values, self.key)
            rows.append((*values, last))
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        self._connection.executemany(f"INSERT INTO entries VALUES ({marks})", rows)  # noqa: S608  only "?"
        return Head(seq, last)

    def _is_sealed(self) -> bool:
        return self.format == FORMAT or bool(self._query("SELECT 1 FROM entries WHERE kind = 'seal' LIMIT 1"))

    def holdings(self) -> dict[PayKey, Holding]:
        """Return what is held of every payable: the sum of its lines and the latest reason."""
        # of bare columns beside one max(), SQLite returns the row that holds the maximum
        rows = self._query(
            "SELECT item_id, round, reviewer_id, kind, sum(amount_minor), reason, rule, payee_ref, max(seq) "
            "FROM entries WHERE kind IN ('base', 'bonus', 'penalty', 'grading') "
            "GROUP BY item_id, round, reviewer_id, kind"
        )
        return {(row[0], row[1], row[2], row[3]): Holding(*row[4:8]) for row in rows}

    def balances(self) -> dict[str, int]:
        """Return what is owed to each payee reference: earnings less payments, in minor units."""
        rows = self._query(
            "SELECT payee_ref, sum(amount_minor) FROM entries WHERE payee_ref != '' GROUP BY 1"
        )
        return dict(sorted(rows))

    def rules(self) -> dict[str, str]:
        """Return the registered pay rules: version to text."""
        return dict(self._query("SELECT rule, reason FROM entries WHERE kind = 'rule' ORDER BY seq"))

    def entries(self, *kinds: str) -> Iterator[LedgerEntry]:
        """Yield lines in order, of some kinds or of all."""
        where = f"WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        sql = f"SELECT {', '.join(COLUMNS)}, hash FROM entries {where} ORDER BY seq"  # noqa: S608  own column names
        try:
            for row in self._connection.execute(sql, kinds):
                yield LedgerEntry.model_construct(**dict(zip((*COLUMNS, "hash"), row, strict=True)))
        except FAULTS as error:
            raise fault_of(self.name, error) from None

    def verify(
        self, anchors: Sequence[Head] = (), on_progress: Progress = silent, beside: Sequence[Head] = ()
    ) -> Head:
        """Walk the whole chain, hold it against its mark and earlier anchors, and return the head.

        Args:
            anchors: heads that somebody shows; with them a lost mark is made anew.
            on_progress: told of lines walked, and of all lines.
            beside: heads that manifests beside the ledger saw.

        Raises:
            Refusal: a line or the file was changed, or the ledger is shorter than an anchor says.
        """
        wanted: dict[int, set[str]] = {}
        mark = self._mark(renewed=bool(anchors))
        for anchor in [*anchors, *beside, *([mark] if mark and mark.count else [])]:
            wanted.setdefault(anchor.count, set()).add(anchor.hash)
        try:
            self._check_file()
            sql = f"SELECT {', '.join(COLUMNS)}, hash FROM entries ORDER BY seq"  # noqa: S608  own column names
            total = self.head().count
            head = walk(
                self._connection.execute(sql),
                self.genesis,
                begun=self.format == FORMAT,
                ledger=self.path,
                key=self.key,
                wanted=wanted,
                on_progress=lambda done: on_progress(done, total),
            )
        except FAULTS as error:
            raise Refusal(f"{self.name}: the file is damaged: {error}") from None
        beyond = max(wanted, default=0)
        if beyond > head.count:
            seen_by = (
                f"its mark {mark_path(self.path)}"
                if mark and mark.count == beyond
                else "an earlier statement"
            )
            raise Refusal(
                f"{self.name}: {head.count} lines, but {seen_by} saw {beyond}: the end was cut, or an older "
                "copy was put in its place",
                hint="restore the newest copy with the files beside it; what an older one lacks may be paid",
            )
        if self.key is not None and mark is None:
            write_mark(self.path, self.key, head)
        return head

    def _mark(self, renewed: bool) -> Head | None:
        if self.key is None:
            return None
        mark = read_mark(self.path, self.key)
        if mark is None and not renewed:
            raise Refusal(
                f"{mark_path(self.path)}: is missing, and a ledger that was cut could not be told without it",
                hint="restore it; or `kina review ledger verify --against` a statement or a payment's "
                "manifest, which makes it anew",
            )
        return mark

    def _check_file(self) -> None:
        found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise Refusal(f"{self.name}: the file is damaged: {found}")
        if sorted(schema_of(self._connection)) != sorted(own_schema()):
            raise Refusal(f"{self.name}: the tables or their guards were changed")

    def _query(self, sql: str) -> list[Any]:
        try:
            return self._connection.execute(sql).fetchall()
        except FAULTS as error:
            raise fault_of(self.name, error) from None
