"""Select and certify ten million items out of core; count time, memory and passes over the data.

    python -m benchmarks.scale                        1, 3 and 10 million items x 100 anchors
    python -m benchmarks.scale --items 1000000 --engine ray

The support is a folder of parts of one-byte levels, 100 bytes an item; 200 items are taken
under quotas of 40 strata and 20,000 conflict pairs. `kina select` and `kina certify` run as
commands of their own, under the memory given; the passes are counted inside them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.selection import draw_judge
from kina_build.support.levels import Ids, encode_ids
from kina_build.support.npz import write_support

ANCHORS = 100
PART_ITEMS = 1_000_000
STRATA = 40
SIZE = 200
CONFLICTS = 20_000


def draw_pool(folder: Path, items: int) -> None:
    """Write support in parts, strata.parquet, quota.csv and conflicts.csv."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "support").mkdir()
    schema = pa.schema({"item_id": pa.string(), "stratum": pa.string()})
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(folder / "strata.parquet", schema) as strata:
        for part, start in enumerate(range(0, items, PART_ITEMS)):
            count = min(PART_ITEMS, items - start)
            drawn = draw_judge(count, ANCHORS, seed=part)
            ids = Ids(encode_ids(f"q{number:09}" for number in range(start, start + count)))
            # finer than the judges' steps: with them 200 of so many items cover everything
            levels = (drawn.levels // 10 * rng.integers(40, 96, (count, 1)) // 100).astype(np.uint8)
            write_support(
                folder / "support" / f"part-{part:05}.npz",
                replace(drawn, item_ids=ids, levels=levels, scale=100),
            )
            names = [f"stratum-{code:02}" for code in rng.integers(0, STRATA, count)]
            strata.write_table(pa.table({"item_id": list(ids), "stratum": names}, schema=schema))
    quotas = [f"stratum-{code:02},2,8" for code in range(STRATA)]
    (folder / "quota.csv").write_text("\n".join(["stratum,lower,upper", *quotas]))
    pairs = [f"q{one:09},q{other:09}" for one, other in rng.integers(0, items, (CONFLICTS, 2))]
    (folder / "conflicts.csv").write_text("\n".join(["item_id,other_id", *pairs]))


def measure(items: int, memory_mb: int, engine: str) -> dict[str, Any]:
    """Run both commands on a fresh pool; return their figures."""
    with tempfile.TemporaryDirectory() as folder:
        draw_pool(Path(folder), items)
        files = ["--support", "support", "--strata", "strata.parquet", "--by", "stratum"]
        files += ["--quota", "quota.csv", "--conflicts", "conflicts.csv", "--memory", str(memory_mb)]
        select = ["select", *files, "-k", str(SIZE), "--engine", engine, "-o", "selection.json"]
        found = {"select": _command(folder, select)}
        found["certify"] = _command(folder, ["certify", "selection.json", *files])
    return found


def _command(folder: str, arguments: list[str]) -> dict[str, Any]:
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "benchmarks.scale", "--inside", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return {"wall_s": time.perf_counter() - start, "report": json.loads(done.stdout)} | figures


def run_inside(arguments: list[str]) -> None:
    """Run a command in this process with its readings of levels counted; print the figures on stderr."""
    from kina_build.cli.main import run
    from kina_build.selection.solver.shards import Shards
    from kina_build.support.levels import FileLevels

    passes, read = [0], [0]
    whole, take = Shards.sum_gains, FileLevels.__getitem__

    def sum_gains(self: Shards, *given: Any) -> Any:
        passes[0] += 1
        return whole(self, *given)

    def getitem(self: FileLevels, items: Any) -> Any:
        rows = take(self, items)
        read[0] += rows.nbytes
        return rows

    Shards.sum_gains, FileLevels.__getitem__ = sum_gains, getitem  # type: ignore[method-assign]
    sys.argv = ["kina", *arguments]
    try:
        run()
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        figures = {
            "passes": passes[0],
            "rows_read_bytes": read[0],
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "peak_gb": _peak_bytes() / 1e9,
        }
        print(json.dumps(figures), file=sys.stderr)


def _peak_bytes() -> int:
    """Return the peak of resident memory, mapped pages included; ru_maxrss would hold the parent's too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def show(items: int, found: dict[str, Any], engine: str) -> None:
    """Print one line a command; what Ray's processes take is not counted here."""
    for name, one in found.items():
        if engine == "ray" and name == "select":
            print(f"{items:>10} {name:8} {one['wall_s']:6.1f} s on Ray", flush=True)
            continue
        said = (
            f"{items:>10} {name:8} {one['wall_s']:6.1f} s, CPU {one['cpu_s']:6.1f} s, {one['peak_gb']:.2f} GB"
        )
        rows = one["rows_read_bytes"] / (items * ANCHORS)
        print(f"{said}; {one['passes']} mapped passes and {rows:.2f} passes of rows read", flush=True)
    certificate = found["select"]["report"]["certificate"]
    said = f"objective / bound {certificate['tightest']['ratio']:.4f}"
    print(f"{items:>10} {said}; verified: {found['certify']['report']['verified']}", flush=True)


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--inside"]:
        run_inside(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--items", type=int, nargs="*", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--memory", type=int, default=1900, help="MB, as --memory of the commands")
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    given = parser.parse_args()
    walls: list[tuple[int, float]] = []
    for items in given.items:
        found = measure(items, given.memory, given.engine)
        show(items, found, given.engine)
        walls.append((items, sum(one["cpu_s"] for one in found.values())))
    for (few, less), (many, more) in itertools.pairwise(walls):
        print(f"{many / few:.1f} times the items cost {more / less:.1f} times the CPU")


if __name__ == "__main__":
    main()
