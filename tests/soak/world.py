"""A small world: one valid example of every file that kina reads, made by running kina's own flow."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import secrets
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from kina_build.cli.main import app
from kina_build.encode import loading
from kina_review.pay import paying
from tests.dedup.conftest import WordEncoder
from tests.soak import byhand
from tests.soak.byhand import Rows, write_rows
from tests.soak.foreign import write_foreign

PLANTED = ("q016", "q054", "q028", "q086")
"""Copies in the demo's pool that the small pool holds, whatever else it takes."""
PER_SUBFIELD = 3

FLOW = """
import pool.csv -o pool.jsonl
import pool.csv -o second.jsonl --set field=law
check pool.jsonl -o findings.jsonl
dedup pool.jsonl --no-cache -o duplicates.json
contamination pool.jsonl --against second.jsonl --no-near -o contamination.json
triage responses.jsonl --pool pool.jsonl -o triage.jsonl
anchors anchors.csv -o anchors.jsonl
support pool.jsonl --anchors anchors.jsonl --cache vectors.db -o support.npz
support pool.jsonl --anchors anchors.jsonl --method ratings --ratings levels.csv -o parts
support pool.jsonl --anchors anchors.jsonl --method bank --draw sheets --cache vectors.db
budget pool.jsonl --total 12 -o budget.jsonl
select --support support.npz --anchors anchors.jsonl -k 12 --strata pool.jsonl --quota budget.jsonl \
 --conflicts duplicates.json --exclude duplicates.json -o selection.json
certify selection.json --support support.npz --anchors anchors.jsonl --strata pool.jsonl --quota \
 budget.jsonl --conflicts duplicates.json --exclude duplicates.json -o certificate.json
shrink wide.csv -k 6 --method random --estimator linear --write-estimator estimator.json
repair pool.jsonl --responses responses.jsonl -o diagnoses.jsonl
fix pool.jsonl --item q016 --set question=? --by ann --why slip -o patches.jsonl
review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o assignments.jsonl
review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder worksheets -o desk.json
review graders reviews.jsonl --graders graders.csv -o grading.jsonl
review settle --reviews reviews.jsonl --base 2.00 --bonus 5.00 --currency USD --bar 14 --tie split --seed \
 42 --ledger ledger.db --decisions decisions.jsonl --contests contests.jsonl --awards awards.csv
review agreement reviews.jsonl -o agreement.json
review audit draw --decisions decisions.jsonl --seed-file seed.txt --commitment COMMITMENT -o audit.json \
 --rate 0.3
review pay plan --ledger ledger.db -o payments.csv
review statement --ledger ledger.db -o statements
export pool.jsonl --selection selection.json --decisions decisions.jsonl --duplicates duplicates.json \
 --allow selection_reduced=review -o release
export pool.jsonl --duplicates duplicates.json -o two
export pool.jsonl --selection selection.json --private test --previous release -o private
score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o scores.jsonl
rank --scores scores.jsonl --only selection.json --samples 100 --item-analysis item_analysis.jsonl -o \
 leaderboard.json
select --support levels.csv --anchors anchors.jsonl -k 6 -o small.json
score --task universe --questions universe.jsonl --replies universe_replies.jsonl -o universe_scores.jsonl
"""
"""Command lines that make the files kina writes; those that end with 1 find what was planted."""

COMMAND = get_command(app)


def invoke(words: Sequence[str], stdin: bytes | None = None) -> Result:
    """Run kina in this process, its encoder one that needs no weights."""
    words_alone = patch.object(loading, "load_encoder", lambda *_: WordEncoder())
    # making the commands anew takes longer than most cases
    once = patch.object(testing, "_get_command", lambda _: COMMAND)
    with words_alone, once:
        return CliRunner().invoke(app, list(words), input=stdin)


NOON = paying.write_moment(datetime(2026, 3, 1, 12, tzinfo=UTC))


@contextlib.contextmanager
def _without_chance() -> Iterator[None]:
    """Let every draw of a key and every look at the clock give what they gave last time."""
    drawn = Random("the small world")
    with (
        patch.object(secrets, "token_bytes", drawn.randbytes),
        patch.object(secrets, "token_hex", lambda size: drawn.randbytes(size).hex()),
        patch.object(paying, "write_moment", lambda _: NOON),
    ):
        yield


def build(folder: Path) -> None:
    """Make the small world in an empty folder: the same bytes, whoever makes it and whenever."""
    folder.mkdir(parents=True)
    with contextlib.chdir(folder), _without_chance():
        _take_from_demo()
        _write_by_hand()
        for line in FLOW.replace("COMMITMENT", _commit()).strip().replace("\\\n", "").split("\n"):
            done = invoke(shlex.split(line))
            if done.exit_code not in (0, 1):
                raise RuntimeError(f"`kina {line}` ended with {done.exit_code}: {done.output}")
        _write_from_made()


def _take_from_demo() -> None:
    pool = list(csv.DictReader(io.StringIO(_bundled("pool.csv"))))
    alike = {row["id"]: [r["id"] for r in pool if r["subfield"] == row["subfield"]] for row in pool}
    ids = {one for one, others in alike.items() if one in PLANTED or others.index(one) < PER_SUBFIELD}
    write_rows(Path("pool.csv"), [row for row in pool if row["id"] in ids])
    write_rows(Path("anchors.csv"), list(csv.DictReader(io.StringIO(_bundled("anchors.csv"))))[::4])
    shutil.copy("anchors.csv", "bob.csv")  # an expert is called as his file is
    Path("reviewers.csv").write_text(_bundled("reviewers.csv"), encoding="utf-8")
    for name in ("reviews.jsonl", "responses.jsonl"):
        rows = [json.loads(line) for line in _bundled(name).splitlines()]
        write_rows(Path(name), [row for row in rows if row["item_id"] in ids])


def _write_by_hand() -> None:
    pool, anchors = _table("pool.csv"), _table("anchors.csv")
    tables = byhand.for_support(pool, anchors) | byhand.for_selection(pool) | byhand.for_scoring(pool)
    for name, rows in (tables | byhand.for_review(pool, _lines("reviews.jsonl"))).items():
        write_rows(Path(name), rows)
    raw = byhand.questions(pool)
    write_rows(Path("raw.jsonl"), raw)
    Path("raw.json").write_text(json.dumps(raw, ensure_ascii=False), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(raw), "raw.parquet")
    strata = [{"item_id": row["id"], "stratum": row["subfield"]} for row in pool]
    pq.write_table(pa.Table.from_pylist(strata), "strata.parquet")
    said = "\n\n".join(f"Somebody asked: {row['question']}" for row in pool)
    Path("corpus.txt").write_text(said, encoding="utf-8")
    Path("kina.toml").write_text(byhand.SETTINGS, encoding="utf-8")
    Path("batch.toml").write_text(byhand.BATCH, encoding="utf-8")
    Path("project.toml").write_text(byhand.PROJECT, encoding="utf-8")


def _commit() -> str:
    """Write the secret seed of the audit, and return what commits to it."""
    Path("seed.txt").write_text("a long and secret sentence\n", encoding="utf-8")
    said = invoke(["review", "audit", "commit", "--seed-file", "seed.txt", "--json"])
    commitment = str(json.loads(said.stdout)["commitment"])
    Path("commitment.txt").write_text(commitment, encoding="utf-8")
    return commitment


def _write_from_made() -> None:
    """Write what hangs on the flow's own files."""
    # a statement's own name holds a number that the ledger drew
    shutil.copy(min(Path("statements").iterdir()), "statement.md")
    drawn = json.loads(Path("audit.json").read_text(encoding="utf-8"))["item_ids"]
    found = [{"item_id": item, "flawed": ("yes", "no")[n > 0], "flaw": "", "failed": ""}
             for n, item in enumerate(drawn)]  # fmt: skip
    write_rows(Path("drawn.csv"), found)
    line = "score --task multiple-choice --release release --responses bare.jsonl --allow-partial"
    invoke([*line.split(), "--letters-of", "release", "-o", "released.jsonl"])
    write_foreign(_table("pool.csv"), _table("payments.csv"))
    Path("dataset/data").mkdir(parents=True)
    shutil.copy("raw.parquet", "dataset/data/test-00000-of-00001.parquet")
    for name, state in (("flying.db", "in_flight"), ("open.db", "cancelled")):
        for more in ("", ".payees.json", ".key", ".mark"):
            shutil.copy(f"ledger.db{more}", f"{name}{more}")
        invoke(["review", "pay", "mark", "--ledger", name, "--batch", "b0001", "--state", state])


def _table(name: str) -> Rows:
    return list(csv.DictReader(io.StringIO(Path(name).read_text(encoding="utf-8"))))


def _lines(name: str) -> Rows:
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


def _bundled(name: str) -> str:
    return (files("kina_build") / "data" / name).read_text(encoding="utf-8")
