"""One case: a file damaged, a command that reads it, and what must hold whatever the damage."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from typer.testing import Result

from kina_build.rows.workfolders import MARK
from tests.soak.commands import Reader, needed, readers, targets
from tests.soak.mutations import Damage, damages
from tests.soak.world import invoke

HANG_S = 20
"""Seconds of processor time that a case may take: a busy machine is no hang."""
FRAME = re.compile(r'File "[^"]*/((?:kina_build|review)/[^"]+)", line \d+, in (\S+)')
"""File "/a/kina_build/jsonl.py", line 3, in read_json; not File "/usr/lib/json/decoder.py"."""
LAST = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)")
"""ValueError: too large; not an indented line of the traceback."""
SILENT = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""Warnings that Python shows to nobody unasked."""
FAULT = "a fault in kina itself"


class Hang(BaseException):
    """Ends a case that takes too long; no handler of errors takes it for one."""


@dataclass(frozen=True)
class Case:
    """What one number of a seed stands for."""

    reader: Reader
    target: str
    damage: Damage
    json: bool

    @property
    def line(self) -> str:
        return f"kina {self.reader.line}{' --json' if self.json else ''}"


@dataclass(frozen=True)
class Violation:
    """One law that did not hold, and how to see it again."""

    law: str
    place: str
    """Exception and innermost frame of kina: what makes two violations one."""
    seed: int
    case: int
    target: str
    damage: str
    line: str
    said: str

    @property
    def key(self) -> tuple[str, str]:
        return self.law, self.place

    def record(self) -> dict[str, Any]:
        return asdict(self)


def plan(world: Path) -> list[tuple[Reader, str]]:
    """List every pair of a command and a file that it reads."""
    return [(reader, target) for reader in readers(world) for target in targets(reader, world)]


def draw(pairs: Sequence[tuple[Reader, str]], seed: int, number: int) -> tuple[Case, Random]:
    """Draw a case: each round of as many cases as pairs takes every pair once."""
    turn, place = divmod(number, len(pairs))
    order = list(range(len(pairs)))
    Random(f"{seed} order {turn}").shuffle(order)
    reader, target = pairs[order[place]]
    rng = Random(f"{seed} case {number}")
    return Case(reader, target, rng.choice(damages(target)), rng.random() < 0.7), rng


def run(world: Path, pairs: Sequence[tuple[Reader, str]], seed: int, number: int) -> list[Violation]:
    """Run a case in a folder of its own, and return the laws that did not hold."""
    case, rng = draw(pairs, seed, number)
    with tempfile.TemporaryDirectory(prefix="kina-soak-") as name, contextlib.chdir(name):
        lay_out(world, case, rng)
        before = _digests()
        words = [*case.reader.words, *(["--json"] if case.json else [])]
        stdin = Path(case.reader.stdin).read_bytes() if case.reader.stdin else b""
        broken = list(_broken_laws(case, words, stdin, before))
    damage = case.damage.__name__
    return [Violation(law, place, seed, number, case.target, damage, case.line, said[:400])
            for law, place, said in broken]  # fmt: skip


def lay_out(world: Path, case: Case, rng: Random) -> None:
    """Copy into this folder what the command needs, its target damaged."""
    for name in needed(case.reader, world):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(world / name, name)
    target = Path(case.target)
    target.write_bytes(case.damage(target.read_bytes(), rng))


Broken = tuple[str, str, str]
"""A law, the place of the fault, and what was said."""


def _broken_laws(
    case: Case, words: Sequence[str], stdin: bytes, before: Mapping[str, str]
) -> Iterator[Broken]:
    try:
        with _in_time(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            done = invoke(words, stdin)
    except Hang:
        yield "ends in time", case.reader.command, f"longer than {HANG_S} s"
        return
    told = done.stderr
    if FAULT in told or "Traceback (most recent call last)" in told or _escaped(done):
        yield "no fault in kina itself", *_find_place(words, stdin)
    elif done.exit_code not in (0, 1, 2):
        yield "exit code 0, 1 or 2", f"{case.reader.command}: {done.exit_code}", told
    elif done.exit_code == 2 and "error: " not in told:
        yield "an error is told", case.reader.command, told
    for warning in warned:
        if not issubclass(warning.category, SILENT) and re.search("/(kina_build|review)/", warning.filename):
            yield (
                "no warning",
                f"{warning.category.__name__} {Path(warning.filename).name}",
                str(warning.message),
            )
    if case.json and done.stdout and done.exit_code != 2:
        yield from _not_json(case, done)
    yield from _touched(case, done, before)


def _escaped(done: Result) -> bool:
    return done.exception is not None and not isinstance(done.exception, SystemExit)


def _find_place(words: Sequence[str], stdin: bytes) -> tuple[str, str]:
    """Run again with -v, and read from the traceback where the fault was."""
    with contextlib.suppress(Hang), _in_time():
        told = invoke([*words, "-v"], stdin).stderr
        frames = FRAME.findall(told)
        last = [
            line for line in told.split("\n") if LAST.match(line) and not line.startswith(("error", "hint"))
        ]
        where = " in ".join(frames[-1]) if frames else "?"
        kind = LAST.match(last[-1]).group(1) if last else "?"  # type: ignore[union-attr]
        return f"{kind} {where}", told[-400:]
    return "?", ""


def _not_json(case: Case, done: Result) -> Iterator[Broken]:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        try:
            json.loads(done.stdout, parse_constant=refuse)
        except json.JSONDecodeError:  # `kina extract` prints a row a reply
            [json.loads(line, parse_constant=refuse) for line in done.stdout.rstrip("\n").split("\n")]
    except ValueError as error:
        yield "--json prints JSON", case.reader.command, f"{error}: {done.stdout[:100]}"


def _touched(case: Case, done: Result, before: Mapping[str, str]) -> Iterator[Broken]:
    after = _digests()
    for name, digest in before.items():
        if after.get(name) != digest and not _may_change(name, case.reader.written):
            yield "inputs stay as they are", f"{case.reader.command}: {name}", done.stderr
    for name in after.keys() - before.keys():
        own = Path(name).name
        # what a run may go on from is kept, in a folder that is marked
        if (own.startswith(".") and own != MARK) or own.endswith((".part", ".tmp")):
            yield "no litter", case.reader.command, name
        elif done.exit_code == 2 and name.startswith("out") and not name.startswith(("outs", "out.db")):
            yield "no output where the input was refused", f"{case.reader.command}: {name}", done.stderr


def _may_change(name: str, written: Sequence[str]) -> bool:
    return any(name == given or name.startswith((f"{given}/", f"{given}.")) for given in written)


def _digests() -> dict[str, str]:
    return {
        path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path().rglob("*")
        if path.is_file()
    }


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    earlier = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)
