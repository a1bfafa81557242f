"""Run the flow on public corpora: `make real`, or `python -m benchmarks.real --data DIR --into DIR`.

MMLU-Redux is the pool (5,700 questions of 57 subjects: subject = subfield, MMLU's area =
field), AGIEval is what it may be contaminated with, and 300 items are selected by quota.
Then 899 items of MMLU-Pro are selected and the 26 models that answered it are ranked on
them. Anchors are drawn from each pool itself by one rule: in every subfield the items with
the smallest sha256 of their id, of those that annotators found sound. They are the bank:
they are not selected themselves, or the selection would cover each anchor by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.rows.tables import write_csv
from kina_build.selection.inputs import read_ids

HUMANITIES = """formal_logic high_school_european_history high_school_us_history high_school_world_history
international_law jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory
professional_law world_religions"""
SOCIAL_SCIENCES = """econometrics high_school_geography high_school_government_and_politics
high_school_macroeconomics high_school_microeconomics high_school_psychology human_sexuality
professional_psychology public_relations security_studies sociology us_foreign_policy"""
OTHER = """anatomy business_ethics clinical_knowledge college_medicine global_facts human_aging management
marketing medical_genetics miscellaneous nutrition professional_accounting professional_medicine virology"""
AREAS = {"Humanities": HUMANITIES, "Social sciences": SOCIAL_SCIENCES, "Other": OTHER}
"""MMLU's areas (Hendrycks et al. 2021, arXiv 2009.03300); what is in none is STEM."""


def kina(line: str, *more: Path | str, may_fail: bool = False) -> None:
    """Run one command as a user would, and show it."""
    arguments = [*line.split(), *map(str, more)]
    print("$ kina", line, *([f"... {len(more)} more"] if more else []), flush=True)
    done = subprocess.run([sys.executable, "-m", "kina_build.cli.main", *arguments], check=False)
    if done.returncode not in ((0, 1) if may_fail else (0,)):
        raise SystemExit(f"kina {arguments[0]} ended with exit code {done.returncode}")


def import_redux(data: Path) -> None:
    by_area: dict[str, list[Path]] = defaultdict(list)
    for file in sorted((data / "mcq" / "mmlu_redux").glob("mmlu_*.csv")):
        subject = file.stem.removeprefix("mmlu_")
        by_area[next((a for a, subjects in AREAS.items() if subject in subjects.split()), "STEM")].append(
            file
        )
    # `answer` is MMLU's key; what the annotators think of it stays in the metadata
    flags = "--map correct_answer=answer --name-as subfield --cut-prefix mmlu_ --encoding mac_roman"
    parts = []
    for area, files in sorted(by_area.items()):
        part = Path(f"part-{len(parts)}.jsonl")
        kina(f"import -q {flags} -o {part}", "--set", f"field={area}", *files)
        parts.append(part)
    kina("import -o pool.jsonl", *parts)


def draw_anchors(pool: Path, prefix: str, count: int, sound: Callable[[Item], bool]) -> list[str]:
    """Write the bank as anchors; return the ids of its items."""
    by_subfield: dict[str, list[Item]] = defaultdict(list)
    for item in read_pool(pool):
        if sound(item):
            by_subfield[item.subfield].append(item)
    rows: list[dict[str, str]] = []
    bank: list[str] = []
    for subfield in sorted(by_subfield):
        order = sorted(by_subfield[subfield], key=lambda i: hashlib.sha256(i.item_id.encode()).hexdigest())
        drawn = order[:count]
        bank += [item.item_id for item in drawn]
        rows += [
            {
                "anchor_id": f"anchor:{item.item_id}",
                "domain": item.field,
                "kind": "item",
                "statement": f"{item.question} {item.correct_text}",
                "stratum": subfield,
            }
            for item in drawn
        ]
    write_csv(Path(f"{prefix}drawn.csv"), ["anchor_id", "domain", "kind", "statement", "stratum"], rows)
    return bank


def select(pool: str, total: int, prefix: str, left_out: Iterable[str], conflicts: str = "") -> None:
    write_csv(Path(f"{prefix}exclude.csv"), ["item_id"], [{"item_id": i} for i in sorted(set(left_out))])
    kina(f"anchors {prefix}drawn.csv -o {prefix}anchors.jsonl")
    kina(f"support {pool} --anchors {prefix}anchors.jsonl -o {prefix}support.npz")
    kina(f"budget {pool} --total {total} --exclude {prefix}exclude.csv -o {prefix}budget.jsonl -q")
    files = f"--support {prefix}support.npz --anchors {prefix}anchors.jsonl --strata {pool}"
    files += f" --quota {prefix}budget.jsonl --exclude {prefix}exclude.csv{conflicts}"
    kina(f"select {files} -k {total} -o {prefix}selection.json")
    kina(f"certify {prefix}selection.json {files}")


def run_redux(data: Path, *, near: bool = True) -> None:
    import_redux(data)
    # the packaged encoder reads English; gaokao-english is the one English file of the Chinese exams
    files = sorted((data / "mcq" / "agieval").glob("*.jsonl"))
    agieval = [file for file in files if not file.stem.startswith("gaokao") or file.stem == "gaokao-english"]
    kina("import -q --keep-going --prefix-ids -o agieval.jsonl", *agieval, may_fail=True)
    kina("dedup pool.jsonl -o duplicates.json")
    how = "" if near else " --no-near"
    kina(f"contamination pool.jsonl --against agieval.jsonl -o contamination.json{how}", may_fail=True)
    bank = draw_anchors(Path("pool.jsonl"), "", 4, lambda item: item.metadata.get("verdict") == "ok")
    leavers = read_ids(Path("duplicates.json"))
    select("pool.jsonl", 300, "", [*bank, *leavers], " --conflicts duplicates.json")


def run_pro(data: Path) -> None:
    items = data / "mmlu_pro" / "items.jsonl"
    kina(
        "import -q --map item_id=question_id --map discipline= --map subfield=category -o pro.jsonl",
        "--set",
        "field=MMLU-Pro",
        items,
    )
    select("pro.jsonl", 899, "pro-", draw_anchors(Path("pro.jsonl"), "pro-", 12, lambda _item: True))
    answers = data / "mmlu_pro" / "answers.jsonl"
    whole = f"rank --answers {answers} --letters-of {items}"
    kina(f"{whole} -o pro-leaderboard-all.json -q")
    kina(f"{whole} --only pro-selection.json -o pro-leaderboard.json")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder of the public corpora")
    parser.add_argument("--into", type=Path, default=Path("real"), help="folder to work in")
    parser.add_argument("--only", choices=["redux", "pro"], help="one half of the run")
    parser.add_argument("--no-near", action="store_true", help="look for contamination by letters only")
    given = parser.parse_args(arguments)
    data = given.data.resolve()
    if not (data / "mcq" / "mmlu_redux").is_dir():
        raise SystemExit(f"{given.data}: the public corpora are not there")
    given.into.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(given.into):
        if given.only != "pro":
            run_redux(data, near=not given.no_near)
        if given.only != "redux":
            run_pro(data)


if __name__ == "__main__":
    main()
