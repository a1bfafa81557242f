from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import ItemRules
from kina_build.engine.processes import _interrupts_held
from kina_build.errors import KinaError
from kina_build.items.batches import BATCH, count_processes, map_batches
from kina_build.items.checking.lint import check
from kina_build.items.cues import add_tallies, measure_balance, measure_cues, tally
from kina_build.items.model import Item
from kina_build.rows.jsonl import write_records

Make = Callable[..., Item]

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="this system does not list processes in /proc"
)


def ids_of(items: Sequence[Item]) -> list[str]:
    return [item.item_id for item in items]


def die_at(items: Sequence[Item], where: str) -> int:
    if any(item.item_id == where for item in items):
        os.kill(os.getpid(), signal.SIGKILL)
    return len(items)


def odd_pool(make_item: Make, count: int) -> list[Item]:
    """Make items of which most have a fault, in no order."""
    texts = [["1/2", "0.5", "x"], [" red", "blue", "green"], ["$x$", "x", "y"], ["See Figure 1", "", "z"]]
    return [
        make_item(f"q{n * 7919 % count}", f"What of {n % 50}, given $ {n}?", texts[n % 4], "ABCZ"[n % 4])
        for n in range(count)
    ]


def test_two_processes_find_what_one_finds(make_item: Make) -> None:
    pool = odd_pool(make_item, 3 * BATCH + 1)
    told: list[tuple[int, int]] = []
    shared = check(pool, "kina", on_progress=lambda done, total: told.append((done, total)), processes=2)
    assert shared == check(pool, "kina")
    assert told == [(done, len(pool)) for done in (BATCH, 2 * BATCH, 3 * BATCH, len(pool))]


def test_batches_come_back_in_order(make_item: Make) -> None:
    pool = [make_item(str(n)) for n in range(2 * BATCH + 3)]
    parts = list(map_batches(ids_of, pool, 2))
    assert parts == list(map_batches(ids_of, pool)) == [ids_of(pool[n : n + BATCH]) for n in (0, 500, 1000)]


def test_a_killed_process_is_one_clear_error(make_item: Make) -> None:
    pool = [make_item(str(n)) for n in range(4 * BATCH)]
    with pytest.raises(KinaError, match="was killed") as caught:
        list(map_batches(partial(die_at, where="700"), pool, 2))
    assert "processes = 1" in caught.value.hint


@pytest.mark.parametrize(
    ("items", "processes", "expected"),
    [(100, None, 1), (9_999, 8, 1), (10_000, 8, 2), (100_000, 3, 3), (100_000, 1, 1)],
)
def test_small_pools_stay_in_one_process(items: int, processes: int | None, expected: int) -> None:
    assert count_processes(items, ItemRules(processes=processes)) == expected


def test_the_number_of_processes_shapes_no_result() -> None:
    assert ItemRules(processes=3, process_items=7).shaping == ItemRules().shaping
    assert ItemRules(cue_p=0.5).shaping != ItemRules().shaping


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["aa", " b", "cccc."])), max_size=12), st.data())
def test_tallies_of_parts_add_up(drawn: list[tuple[int, str]], data: st.DataObject) -> None:
    options = [{"key": key, "answer": text} for key, text in zip("ABCD", ["x", "yy", "zz"], strict=False)]
    pool = [
        Item.model_validate(
            {
                "item_id": str(n),
                "question": "what?",
                "options": [*options, {"key": "D", "answer": text}],
                "correct_answer": "ABCD"[key],
            }
        )
        for n, (key, text) in enumerate(drawn)
    ]
    cut = data.draw(st.integers(0, len(pool)))
    whole, parts = tally(pool), add_tallies([tally(pool[cut:]), tally(pool[:cut])])
    assert whole == parts
    assert measure_cues(whole) == measure_cues(parts)
    assert measure_balance(whole) == measure_balance(parts)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Take interrupts, and let children take them, even where whoever started pytest ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def large_pool(make_item: Make, tmp_path: Path) -> Path:
    (tmp_path / "kina.toml").write_text("[items]\nprocesses = 2\nprocess_items = 100\n", encoding="utf-8")
    write_records(tmp_path / "pool.jsonl", odd_pool(make_item, 30 * BATCH))
    return tmp_path


def kina(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kina_build.cli.main", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def children(pid: int) -> list[int]:
    """List the Python processes that a process started."""
    try:
        found = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []
    return [one for one in found if "spawn_main" in title(one)]


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def await_children(process: subprocess.Popen[str], count: int) -> list[int]:
    while process.poll() is None:
        if len(found := children(process.pid)) >= count:
            return found
        time.sleep(0.02)
    pytest.fail(f"it ended before {count} processes were at work: {process.communicate()}")


def await_end(pid: int) -> None:
    """Wait until a process has ended: one that was still loading sees late that nobody wants it."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":  # ended; nobody asked how
            return
        time.sleep(0.02)


def test_the_command_says_the_same_whatever_the_processes(large_pool: Path) -> None:
    shared, _ = kina(large_pool, "check", "pool.jsonl", "--json").communicate()
    (large_pool / "kina.toml").unlink()
    alone, _ = kina(large_pool, "check", "pool.jsonl", "--json").communicate()
    assert shared == alone
    assert json.loads(shared)["summary"]["items"] == 30 * BATCH


def test_an_interrupt_waits_until_a_process_has_its_orders() -> None:
    """Another thread may take the signal, whatever this one masks."""
    steps: list[str] = []

    @_interrupts_held()
    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        steps.append("told")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.raise_signal(signal.SIGINT)
        steps.append("unmasked")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["told", "unmasked"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


@needs_proc
@pytest.mark.parametrize("started", [1, 2])
def test_interrupted_work_ends_in_one_line(large_pool: Path, started: int) -> None:
    process = kina(large_pool, "check", "pool.jsonl")
    workers = await_children(process, started)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, said = process.communicate()
    assert (process.returncode, said) == (130, "error: interrupted\n")
    for worker in workers:
        await_end(worker)


@needs_proc
def test_a_killed_worker_ends_the_command_in_one_line(large_pool: Path) -> None:
    process = kina(large_pool, "check", "pool.jsonl")
    workers = await_children(process, 2)
    os.kill(workers[0], signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 2
    assert said.startswith("error: a process that shared the work was killed")
    assert said.count("\n") == 2


@needs_proc
def test_workers_do_not_outlive_a_killed_command(large_pool: Path) -> None:
    process = kina(large_pool, "check", "pool.jsonl")
    workers = await_children(process, 2)
    process.kill()
    process.communicate()
    for worker in workers:
        await_end(worker)
