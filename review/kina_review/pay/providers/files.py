"""Payment files as providers read them: Prolific, MTurk, and CSV for anybody else.

Sources: https://docs.prolific.com/api-reference/bonuses (one `participant_id,amount` a
line, major units; paying is not idempotent) and the MTurk API's SendBonus (USD as text,
a token of at most 64 characters that protects for a day).
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from kina_build.errors import InputError, Refusal
from kina_build.manifest import Manifest, sidecar
from kina_build.rows.jsonl import canonical, read_document
from kina_build.rows.tables import NEUTRALISED, neutral
from kina_review.money import format_amount
from kina_review.pay.book.seal import Head, find_anchors

Provider = Literal["prolific", "mturk", "csv"]
Line = TypeVar("Line")

CURRENCIES: Mapping[str, frozenset[str]] = {
    "prolific": frozenset({"GBP", "USD"}),
    "mturk": frozenset({"USD"}),
}
"""What a provider pays in; its file names no currency. Others take what the file says."""
MTURK_REASON = "Bonus for your reviews"


@dataclass(frozen=True)
class Transfer:
    """One payment with what a provider must know."""

    payment_id: str
    account: str
    """The payee's id at the provider."""
    amount_minor: int
    currency: str
    token: str
    """Equal for equal payments: lets a provider or a person see a repeat."""
    assignment_id: str = ""
    """MTurk only: an assignment that the worker did."""


def token_of(genesis: str, payment_id: str) -> str:
    """Return a payment's token: 64 hexadecimal digits."""
    return hashlib.sha256(f"{genesis}|{payment_id}".encode()).hexdigest()


def batches(lines: Sequence[Line], size: int) -> list[Sequence[Line]]:
    """Cut lines into batches of at most `size`, each line in exactly one."""
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def write_files(transfers: Sequence[Transfer], provider: Provider, size: int) -> list[str]:
    """Return the texts of the payment files, each of at most `size` payees.

    Raises:
        Refusal: an id or currency that the provider cannot take.
    """
    for transfer in transfers:
        _check_account(transfer.account)
        if transfer.currency not in CURRENCIES.get(provider, {transfer.currency}):
            raise Refusal(
                f"{provider} pays in {' or '.join(sorted(CURRENCIES[provider]))}, "
                f"and the ledger is in {transfer.currency}",
                hint="`--provider csv` writes a file that names its currency",
            )
    writer: Callable[[Sequence[Transfer]], str] = WRITERS[provider]
    return [writer(batch) for batch in batches(transfers, size)]


def match_ids(listed: Iterable[str], roster: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Match ids of a foreign list to a roster, letter for letter but for outer blanks.

    Returns:
        Matched (id as listed to id of the roster), and errors (id as listed to error word).
    """
    known = set(roster)
    folded = {name.casefold() for name in known}
    matched: dict[str, str] = {}
    errors: dict[str, str] = {}
    for name in listed:
        if name.strip() in known:
            matched[name] = name.strip()
        elif name.strip().casefold() in folded:
            errors[name] = "unknown_payee_or_duplicate"
        else:
            errors[name] = "unknown_payee"
    return matched, errors


def _write_prolific(transfers: Sequence[Transfer]) -> str:
    return "".join(f"{t.account},{format_amount(t.amount_minor, t.currency)}\n" for t in transfers)


def _write_mturk(transfers: Sequence[Transfer]) -> str:
    rows = [["WorkerId", "AssignmentId", "BonusAmount", "Reason", "UniqueRequestToken"]]
    for transfer in transfers:
        if not transfer.assignment_id:
            raise Refusal(
                f"no assignment_id for worker {transfer.account!r}",
                hint="MTurk wants one of the worker's assignments: give it in the --payees file",
            )
        amount = format_amount(transfer.amount_minor, "USD")
        rows.append([transfer.account, transfer.assignment_id, amount, MTURK_REASON, transfer.token])
    return _csv(rows)


def _write_csv(transfers: Sequence[Transfer]) -> str:
    rows = [["payment_id", "payee_id", "amount", "currency", "token"]]
    rows += [
        [t.payment_id, t.account, format_amount(t.amount_minor, t.currency), t.currency, t.token]
        for t in transfers
    ]
    return _csv(rows)


WRITERS: Mapping[str, Callable[[Sequence[Transfer]], str]] = {
    "prolific": _write_prolific,
    "mturk": _write_mturk,
    "csv": _write_csv,
}


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([neutral(cell) for cell in row] for row in rows)
    return out.getvalue()


def _check_account(account: str) -> None:
    if account.startswith(NEUTRALISED) or any(character in account for character in ',"\r\n'):
        raise Refusal(
            f"payee id {account!r} cannot stand in a payment file",
            hint="it would be read as a formula or cut in two; correct it in the --payees file",
        )


def file_names(output: Path, files: int) -> list[Path]:
    """Name the files of a batch: a provider takes so many payments a request."""
    stem = output.with_suffix("")
    return [output] if files == 1 else [Path(f"{stem}-{n}{output.suffix}") for n in range(1, files + 1)]


def seen_before(output: Path, ledger: Path) -> list[Head]:
    """Return the heads that manifests of this ledger's earlier payment files saw."""
    found = [_past(path) for path in (sidecar(output), sidecar(file_names(output, 2)[0])) if path.is_file()]
    return [
        head for past in found if past and past.params.get("ledger") == ledger.name for head in _heads(past)
    ]


def _past(path: Path) -> Manifest | None:
    try:
        return read_document(path, Manifest)
    except InputError:
        return None  # not ours: the check of places says so


def _heads(past: Manifest) -> list[Head]:
    return find_anchors(canonical(past.report))
