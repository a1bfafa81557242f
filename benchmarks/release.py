"""Export against the least that any exporter must do: read the pool, write JSON Lines and parquet.

    python -m benchmarks.release [--items 100000]

Prints seconds of CPU and wall clock, peak memory over all processes of a command, and the
ratio of CPU to the plain copy's. Goal: 100,000 ten-option items in under 60 s and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
]

COPY = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
rows = []
for line in open(sys.argv[1], encoding="utf-8"):
    item = json.loads(line)
    keys = [option["key"] for option in item["options"]]
    rows.append({"id": item["item_id"], "question": item["question"],
                 "choices": [option["answer"] for option in item["options"]],
                 "answer": item["correct_answer"], "answer_index": keys.index(item["correct_answer"])})
with open(sys.argv[2] + ".jsonl", "w", encoding="utf-8") as out:
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False) + "\\n")
pq.write_table(pa.Table.from_pylist(rows), sys.argv[2] + ".parquet")
"""


def write_pool(path: Path, count: int) -> None:
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as out:
        for n in range(count):
            texts = [f"{rng.choice(WORDS)} {rng.choice(WORDS)} of kind {WORDS[k]}" for k in range(10)]
            item = {
                "item_id": f"q{n:06d}",
                "discipline": f"D{n % 12}",
                "field": f"F{n % 60}",
                "subfield": f"S{n % 240}",
                "question": f"What of {n}, given {' '.join(rng.choices(WORDS, k=25))}?",
                "options": [
                    {"key": key, "answer": text} for key, text in zip("ABCDEFGHIJ", texts, strict=True)
                ],
                "correct_answer": rng.choice("ABCDEFGHIJ"),
                "question_source": "made up",
                "license": "CC0-1.0",
            }
            out.write(json.dumps(item) + "\n")


def measure(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Return CPU seconds, wall seconds and peak memory in GB of a command with all its processes."""
    before, start, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.02)
        if process.returncode not in (0, 1):
            said.seek(0)
            raise SystemExit(said.read())
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, peak / 1e9


def resident(pid: int) -> int:
    """Return the bytes in memory of a process and all it started; pages they share count for each."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        started = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (OSError, IndexError):  # it has just ended
        return 0
    return pages * resource.getpagesize() + sum(map(resident, started))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=20_000)
    count = parser.parse_args().items
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pool(folder / "pool.jsonl", count)
        kina = [sys.executable, "-m", "kina_build.cli.main"]
        runs = {
            "plain copy": [sys.executable, "-c", COPY, "pool.jsonl", "copy"],
            "kina export": [*kina, "export", "pool.jsonl", "-o", "release"],
            "kina verify": [*kina, "verify", "release"],
        }
        print(f"{count} items, ten options each")
        print(f"{'':14}{'CPU s':>9}{'wall s':>9}{'GB':>7}{'CPU ratio':>11}")
        base = 0.0
        for label, command in runs.items():
            cpu, wall, memory = measure(command, folder)
            base = base or cpu
            print(f"{label:14}{cpu:9.1f}{wall:9.1f}{memory:7.2f}{cpu / base:11.1f}")


if __name__ == "__main__":
    main()
