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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, KinaError, Refusal
from kina_build.progress import Progress, silent
from kina_review.pay.book.file import (
    COLUMNS,
    FAULTS,
    FORMAT,
    OLDER_FORMAT,
    WHAT_IS,
    connect,
    fault_of,
    own_schema,
    schema_of,
)
from kina_review.pay.book.seal import (
    Head,
    begin_key,
    chain,
    key_path,
    mark_path,
    raise_mark,
    read_key,
    read_mark,
    write_mark,
)
from kina_review.records import EntryKind, LedgerEntry

REPORT_EVERY = 10_000
ID_HEX_DIGITS = 16


SEALED = "from this line on the chain is keyed"
UNBEGUN = "0" * 64
"""Hash in the mark of a ledger that has no line yet."""


@dataclass(frozen=True)
class Holding:
    """What the ledger holds so far of one payable."""

    amount_minor: int
    reason: str
    """Of the latest line."""
    rule: str
    payee_ref: str


PayKey = tuple[str, str, str, EntryKind]
"""item_id, round, reviewer_id, kind."""


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
            raise _missing(key_path(path))
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
        return _genesis(self.format, self.currency, self.key_check, self.key)

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

    def verify(self, anchors: Sequence[Head] = (), on_progress: Progress = silent) -> Head:
        """Walk the whole chain, hold it against its mark and earlier anchors, and return the head.

        Raises:
            Refusal: a line or the file was changed, or the ledger is shorter than an anchor says.
        """
        wanted: dict[int, set[str]] = {}
        mark = self._mark(renewed=bool(anchors))
        for anchor in [*anchors, *([mark] if mark and mark.count else [])]:
            wanted.setdefault(anchor.count, set()).add(anchor.hash)
        try:
            self._check_file()
            head = self._walk(wanted, on_progress)
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

    def _walk(self, wanted: dict[int, set[str]], on_progress: Progress) -> Head:
        last, seq = self.genesis, 0
        _hold_against(wanted, 0, last, self.name)
        total = self.head().count
        key = self.key if self.format == FORMAT else None
        for row in self._connection.execute(f"SELECT {', '.join(COLUMNS)}, hash FROM entries ORDER BY seq"):  # noqa: S608
            seq += 1
            if row[1] == "seal":
                if self.key is None:
                    raise _missing(key_path(self.path))
                key = self.key
            last = chain(last, row[:-1], key)
            if row[0] != seq or row[-1] != last:
                raise Refusal(
                    f"{self.name}: line {seq} was changed, or a line before it was taken out",
                    hint="restore a copy from before that; `kina review ledger verify` tells if one is whole",
                )
            _hold_against(wanted, seq, last, self.name)
            if seq % REPORT_EVERY == 0:
                on_progress(seq, total)
        return Head(seq, last)

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


def open_ledger(path: Path, anchors: Sequence[Head] = (), on_progress: Progress = silent) -> Ledger:
    """Open an existing ledger, after walking its whole chain.

    Args:
        path: the file.
        anchors: heads that earlier statements and manifests saw.
        on_progress: as verify.

    Raises:
        InputError: no such file, or not a ledger.
        Refusal: as Ledger.verify.
    """
    if not path.exists():
        lost = mark_path(path).exists() or key_path(path).exists()
        raise InputError(
            f"{path}: no such ledger" + (", though its key and mark are there: it was lost" if lost else ""),
            hint="restore it" if lost else "`kina review settle --ledger` begins one",
        )
    return _opened(connect(path), path, anchors, on_progress)


def check_begun(path: Path) -> None:
    """Check that where no ledger is, none was lost: its key would be there still.

    Raises:
        Refusal: the key of a ledger that had lines lies there.
    """
    if path.exists() and path.stat().st_size:
        return
    key = read_key(path)
    if key is not None:
        _check_fresh(path, key)


def create_ledger(path: Path, currency: str, key_check: str) -> Ledger:
    """Begin a ledger of one currency, or open it if another process was first.

    Raises:
        InputError: the file cannot be made, or is something else.
    """
    try:
        if not path.exists():  # a touch would change the time of a file that is no ledger
            path.touch(mode=0o600)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if not schema_of(connection):
            for statement in own_schema():
                connection.execute(statement)
            _begin_sealed(path, currency, key_check)
            values = {"format": FORMAT, "currency": currency, "key_check": key_check}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
        connection.execute("COMMIT")
    except FAULTS as error:
        connection.close()
        raise fault_of(str(path), error) from None
    except KinaError:
        connection.close()
        raise
    return _opened(connection, path)


def _begin_sealed(path: Path, currency: str, key_check: str) -> None:
    key = read_key(path)
    if key is None:
        begin_key(path, Head(0, UNBEGUN))
        return
    _check_fresh(path, key)


def _check_fresh(path: Path, key: bytes) -> None:
    mark = read_mark(path, key)
    if mark is None or mark.count:
        raise Refusal(
            f"{path}: is new, but {key_path(path)} belongs to a ledger of "
            f"{mark.count if mark else 'unknown'} lines: it was lost or moved",
            hint="restore that ledger, or begin the new one under another name",
        )


def _opened(
    connection: sqlite3.Connection, path: Path, anchors: Sequence[Head] = (), on_progress: Progress = silent
) -> Ledger:
    try:
        ledger = Ledger(connection, path)
        ledger.verify(anchors, on_progress)
    except KinaError:
        connection.close()
        raise
    return ledger


def _genesis(form: str, currency: str, key_check: str, key: bytes | None) -> str:
    return chain("", [form, currency, key_check], key if form == FORMAT else None)


def _missing(path: Path) -> Refusal:
    return Refusal(
        f"{path}: is missing, and without it nobody can tell whether the ledger was changed",
        hint="restore the file that was beside the ledger, readable by its owner only",
    )


def _hold_against(wanted: dict[int, set[str]], seq: int, digest: str, name: str) -> None:
    if seq in wanted and wanted[seq] != {digest}:
        raise Refusal(f"{name}: line {seq} is not the one an earlier statement saw: the ledger was rewritten")
