"""Every command that reads a file, and which files it reads.

In a line, a word that is a file or folder of the small world is read by the command. Marks
before a name: `<` it comes on stdin, `+` it is read although no word names it, `!` it is read
and written, `>` it is written, `~` it is written although no word names it. Names that begin
with "out" are new.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LINES = """
config +kina.toml
import pool.csv -o out.jsonl --keep-going
import raw.jsonl -o out.jsonl --keep-going
import raw.json -o out.jsonl
import raw.parquet -o out.jsonl
import <raw.json -o out.jsonl
import release/test.jsonl -o out.jsonl
import dataset -o out.jsonl
check pool.jsonl -o out.jsonl +kina.toml
check pool.jsonl --profile kina
check raw.json
check pool.jsonl --profile release --not item_repeated --keep out.jsonl
check <pool.jsonl
check pool.jsonl -o >findings.jsonl +findings.jsonl.manifest.json
triage responses.jsonl --pool pool.jsonl -o out.jsonl
triage letters.jsonl --pool pool.jsonl --letters-of pool.jsonl
triage answers.jsonl --pool pool.jsonl --letters-of second.jsonl
triage responses.jsonl --pool pool.jsonl --release two
panel letters.jsonl --pool pool.jsonl --letters-of pool.jsonl --model m0 --model m1 --model m2@2026-05 -o \
 out.jsonl
dedup pool.jsonl --no-near -o out.json
dedup pool.jsonl --no-near --overrides overrides.jsonl -o out.json
dedup pool.jsonl --labels pairs.csv --no-cache -o out.json
dedup pool.jsonl --cache !vectors.db -o out.json
dedup pool.jsonl --no-near -o >duplicates.json +duplicates.json.manifest.json
dedup <pool.jsonl --no-near --explain q016
contamination pool.jsonl --against second.jsonl --no-near -o out.json
contamination two --against raw.json --no-near -o out.json
contamination pool.jsonl --against corpus.txt --against pool.csv --no-near -o out.json
anchors anchors.csv --pool pool.jsonl -o out.jsonl
anchors anchors.jsonl bob.csv -o out.jsonl
anchors anchors.csv --worksheet out.csv
support pool.jsonl --anchors anchors.jsonl -o out.npz
support pool.jsonl --anchors anchors.jsonl --cache !vectors.db -o out.npz
support pool.jsonl --anchors anchors.csv --method ratings --ratings levels.csv -o out.npz
support pool.jsonl --anchors anchors.jsonl --method ratings --ratings ratings.jsonl --labels labels.jsonl \
 --allow-disagreement -o out.npz
support pool.jsonl --anchors anchors.jsonl --method ratings --ratings levels.csv --compare support.npz -o \
 out.npz
support pool.jsonl --anchors anchors.jsonl --method ratings --ratings levels.csv -o >parts +parts
support pool.jsonl --anchors anchors.jsonl --method bank --item-labels item_labels.csv --pair-labels \
 pair_labels.csv --signatures signatures.jsonl --cache !vectors.db --details out.jsonl -o out.npz
support pool.jsonl --anchors anchors.jsonl --method judge --judge m --labels labels.jsonl --dry-run
budget pool.jsonl -n 12 -o out.jsonl +kina.toml
budget pool.jsonl -n 12 --shares coverage --support support.npz --anchors anchors.jsonl -o out.jsonl
budget pool.jsonl -n 12 --conflicts conflicts.csv --exclude exclude.csv -o out.jsonl
budget strata.csv -n 12 --by stratum --domain-by stratum
select --support support.npz -k 9 -o out.json +kina.toml
select --support levels.csv --anchors anchors.jsonl -k 9 -o out.json
select --support parts -k 9 --improve -o out.json
select --support support.npz -k 9 --strata strata.csv --quota quota.csv --conflicts conflicts.csv --must \
 must.csv --exclude exclude.csv -o out.json
select --support support.npz --anchors anchors.jsonl -k 12 --strata pool.jsonl --quota budget.jsonl \
 --conflicts duplicates.json --exclude duplicates.json -o out.json
select --support support.npz -k 9 --strata strata.parquet --quota <quota.csv -o out.json
select --support support.npz -k 9 --exclude <exclude.csv --conflict-mode pairwise --conflicts \
 duplicates.json -o out.json
select --support support.npz --strata strata.csv --quota proportional -k 3 --decisions decisions.jsonl \
 --allow-shortfall -o out.json
top-up selection.json --decisions decisions.jsonl --allow-shortfall -o out.json +support.npz \
 +anchors.jsonl +pool.jsonl +budget.jsonl +duplicates.json
sample pool.jsonl -n 3 --decisions decisions.jsonl -o out.json
sample strata.csv --by stratum -n 9 --exclude exclude.csv -o out.json
certify selection.json +support.npz +anchors.jsonl +pool.jsonl +budget.jsonl +duplicates.json
certify selection.json --support support.npz --anchors anchors.jsonl --strata pool.jsonl --quota \
 budget.jsonl --conflicts duplicates.json --exclude duplicates.json -o out.json
certify small.json --support levels.csv --anchors anchors.jsonl --exact
export pool.jsonl --selection selection.json --decisions decisions.jsonl --duplicates duplicates.json -o out \
 --allow selection_reduced=review +support.npz +anchors.jsonl +budget.jsonl
export pool.jsonl --duplicates duplicates.json --decisions decisions.jsonl --agreement agreement.json \
 --audit audited.csv --previous release -o out
export pool.jsonl --selection selection.json --private test --previous private -o out --answers \
 out.answers.jsonl +support.npz +anchors.jsonl +budget.jsonl +duplicates.json
diff release private
verify release
verify private --answers private.answers.jsonl
run --model m --release release -o out.jsonl --dry-run
run --model m --items pool.jsonl -o out.jsonl --dry-run
run --model m --questions universe.jsonl -o out.jsonl --dry-run
run --model m --pairs predictions.jsonl --examples gold.jsonl --prompts prompts.csv -o out.jsonl --dry-run
extract replies.jsonl -o out.jsonl
extract <replies.jsonl
score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o out.jsonl
score --task multiple-choice --release release --responses bare.jsonl --allow-partial --letters-of release
score --task multiple-choice --release private --answers private.answers.jsonl --responses \
 bare.jsonl --allow-partial --letters-of private
score --task triples --predictions predictions.jsonl --gold gold.jsonl -o out.jsonl
score --task triples --predictions predictions.jsonl --gold gold.jsonl --mode strict
score --task universe --questions universe.jsonl --replies universe_replies.jsonl -o out.jsonl
score --task universe --stages stages.jsonl
link predictions.jsonl --names names.csv --fixed fixed.csv --keywords keywords.csv -o out.jsonl
rank --scores scores.jsonl --samples 100 --only selection.json -o out.json
rank --scores matrix.csv --clusters clusters.csv --samples 100 --only exclude.csv --paper
rank --scores scores.jsonl --items pool.jsonl --item-analysis out.jsonl --samples 100
rank --scores released.jsonl --release release --samples 100
rank --answers answers.jsonl --letters-of pool.jsonl --items second.jsonl --samples 100
rank --published published.csv --item-count 100 --samples 100
report . -o out +pool.jsonl +findings.jsonl +duplicates.json +support.npz +selection.json \
 +certificate.json +decisions.jsonl +contests.jsonl +ledger.db +release +scores.jsonl +leaderboard.json \
 +item_analysis.jsonl
review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o out.jsonl
review assign pool.jsonl --reviewers reviewers.csv --earlier assignments.jsonl --reviews reviews.jsonl \
 --reassign --open-cap 0 -o out.jsonl
review graders reviews.jsonl --graders graders.csv -o out.jsonl
review graders reviews.csv --graders graders.csv -o out.jsonl
review graders reviews.jsonl --graders graders.csv --appeals appeals.csv --earlier grading.jsonl -o \
 out.jsonl
review status assignments.jsonl --reviews reviews.jsonl
review import reviews.csv -o out.jsonl
review import prodigy.jsonl -o out.jsonl
review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder outs -o out.json
review push pool.jsonl grading.jsonl --reviewers graders.csv --reviews reviews.jsonl --folder outs -o \
 out.json
review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder !worksheets -o !desk.json
review pull desk.json --reviewers reviewers.csv --folder worksheets -o out.jsonl --quarantine out2.jsonl
review agreement reviews.jsonl --seeded-bad seeded.csv -o out.json
review agreement reviews.csv
review agreement prodigy.jsonl
review settle --reviews reviews.jsonl --bar 14 --tie split +kina.toml
review settle --reviews reviews.csv --scores grades.csv --rules rules.csv --ledger out.db --decisions \
 out.jsonl --contests out2.jsonl --awards out.csv
review settle --reviews reviews.jsonl --base 2.00 --bonus 5.00 --currency USD --bar 14 --tie split --seed \
 42 --findings drawn.csv --penalty 1.00 --draw audit.json --allow-corrections slip --ledger !ledger.db \
 +ledger.db.payees.json +ledger.db.key +ledger.db.mark
review settle --batch batch.toml +reviews.csv +grades.csv
review calibrate --pilot pilot.csv --bonus 5.00
review statement --ledger ledger.db +ledger.db.payees.json +ledger.db.key +ledger.db.mark -o outs
review audit commit --seed-file seed.txt
review audit draw --decisions decisions.jsonl --seed-file seed.txt --commitment COMMITMENT -o out.json
review audit assess --draw audit.json --findings drawn.csv --reviews reviews.jsonl
review ledger verify --ledger ledger.db --against statement.md --against payments.csv.manifest.json \
 +ledger.db.key +ledger.db.mark
review ledger audit --ledger ledger.db +ledger.db.key +ledger.db.mark --reviews reviews.jsonl \
 --findings drawn.csv
review ledger audit --ledger ledger.db --reviews reviews.csv --scores grades.csv
review ledger show --ledger ledger.db +ledger.db.key +ledger.db.mark
review pay plan --ledger !ledger.db +ledger.db.payees.json +ledger.db.key +ledger.db.mark -o out.csv
review pay plan --ledger !open.db +open.db.payees.json +open.db.key +open.db.mark --provider prolific \
 --payees payees.csv --paid-before paid_before.csv --cap 100.00 -o out.csv
review pay mark --ledger !ledger.db +ledger.db.key +ledger.db.mark --batch b0001 --state in_flight
review pay reconcile --ledger !flying.db +flying.db.payees.json +flying.db.key +flying.db.mark --batch b0001 \
 --provider-list provider.csv --payees payees.csv
review pay adjust --ledger !flying.db +flying.db.key +flying.db.mark --payment b0001-00001 --paid 1.00 \
 --reason slip --by ann --approved-by bob
review pay status --ledger ledger.db +ledger.db.key +ledger.db.mark
fix pool.jsonl -o !patches.jsonl
fix pool.jsonl --accept diagnoses.jsonl --item q016 --by ann --why slip -o !patches.jsonl
import pool.csv --patch patches.jsonl -o out.jsonl
repair pool.jsonl --responses responses.jsonl -o out.jsonl
overrides rulings.jsonl --pool pool.jsonl -o out.jsonl
leave-out pool.jsonl --findings findings.jsonl --duplicates duplicates.json --contamination \
 contamination.json --reviewed decisions.jsonl --ruling rulings.jsonl -o out.json
taxonomy taxonomy.csv --pool pool.jsonl -o out.csv
results inspect.json -o out.jsonl --responses out2.jsonl
results harness -o out.jsonl
results helm -o out.jsonl
results ever -o out.jsonl
results model_outputs_m_5shots.json -o out.jsonl
results runner.jsonl -o out.jsonl
results matrix.csv -o out.jsonl
compare aspen oak --scores wide.jsonl -o out.csv
compare m0 m1 --scores wide.jsonl --only selection.json --clusters clusters.csv
shrink wide.csv -k 6 --method random --estimator linear -o out.json --write-estimator out2.json +kina.toml
shrink wide.jsonl --given small.json --families families.csv --strata strata.csv --by stratum
difficulty wide.csv --strata pool.jsonl -o out.jsonl
score --task multiple-choice --items pool.jsonl --responses bare.jsonl --letters-of pool.jsonl \
 --allow-partial --estimate estimator.json -o out.jsonl
init pool.csv anchors.csv responses.jsonl reviews.jsonl reviewers.csv ~kina.toml
status --config project.toml +pool.csv +anchors.csv
why q016 --config project.toml +pool.csv +pool.jsonl +anchors.csv
build --dry-run --config project.toml +pool.csv +anchors.csv
review import studio.json argilla.json -o out.jsonl
review import studio_flat.json doccano_ann.jsonl --lowest-rating 1 -o out.jsonl
review agreement studio.json
review pay reconcile --ledger !flying.db +flying.db.payees.json +flying.db.key +flying.db.mark --batch b0001 \
 --provider-list paypal.json
review pay reconcile --ledger !flying.db +flying.db.payees.json +flying.db.key +flying.db.mark --batch b0001 \
 --provider-list wise.json
review pay reconcile --ledger !flying.db +flying.db.payees.json +flying.db.key +flying.db.mark --batch b0001 \
 --provider-list prolific.json
review pay reconcile --ledger !flying.db +flying.db.payees.json +flying.db.key +flying.db.mark --batch b0001 \
 --provider-list mturk.json --payees payees.csv
"""

MARKS = "<+!>~"


@dataclass(frozen=True)
class Reader:
    """One command line and the files behind it."""

    line: str
    words: tuple[str, ...]
    """As kina gets them; outputs as they are named."""
    stdin: str | None
    """The file that comes on stdin."""
    read: tuple[str, ...]
    """Files and folders that it reads: those that are damaged."""
    written: tuple[str, ...]
    """Files of the world that it may change."""

    @property
    def command(self) -> str:
        """Name the command alone, with its group."""
        return " ".join(word for word in self.words[:3] if word.isalpha())


def readers(world: Path) -> list[Reader]:
    """Read the table of command lines against a world."""
    commitment = (world / "commitment.txt").read_text(encoding="utf-8").strip()
    lines = LINES.strip().replace("\\\n", "").replace("COMMITMENT", commitment).split("\n")
    return [_reader(line, world) for line in lines]


def _reader(line: str, world: Path) -> Reader:
    words, read, written = [], [], []
    stdin = None
    for word in shlex.split(line):
        mark, name = (word[0], word[1:]) if word[0] in MARKS else ("", word)
        known = name != "." and (world / name).exists()
        if mark and not known:
            raise ValueError(f"{line}: {name} is not in the world")
        if mark == "<":
            stdin, name = name, "-"
            read.append(stdin)
        elif known and mark not in (">", "~"):
            read.append(name)
        if mark in ("!", ">", "~"):
            written.append(name)
        if mark not in ("+", "~"):
            words.append(name)
    return Reader(line, tuple(words), stdin, tuple(dict.fromkeys(read)), tuple(written))


def targets(reader: Reader, world: Path) -> list[str]:
    """List the files that may be damaged for a command: of a folder, each file in it."""
    return [name for given in reader.read for name in _files(given, world)]


def _files(given: str, world: Path) -> Iterator[str]:
    if not (world / given).is_dir():
        yield given
        return
    for path in sorted((world / given).rglob("*")):
        if path.is_file() and not path.name.endswith(".manifest.json"):
            yield path.relative_to(world).as_posix()


def needed(reader: Reader, world: Path) -> Sequence[str]:
    """List the files that a command must find: what it reads and writes, and what lies beside these."""
    given = [*reader.read, *reader.written, "kina.toml"]
    beside = [
        f"{name}{more}" for name in given for more in (".manifest.json", ".payees.json", ".key", ".mark")
    ]
    return sorted(
        {name for path in (*given, *beside) if (world / path).exists() for name in _all_files(path, world)}
    )


def _all_files(given: str, world: Path) -> Iterator[str]:
    path = world / given
    found = path.rglob("*") if path.is_dir() else [path]
    yield from (file.relative_to(world).as_posix() for file in found if file.is_file())
