"""Items: what import and check find in public corpora, and how long 100,000 items take.

Run `python -m benchmarks.items [--data ../shared/data] [--large 100000]`. CPU seconds, over
all processes, are what other work on the machine does not lengthen much. Goal: 100,000
ten-option items imported and checked in under 60 s and 2 GB on two idle cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.release import measure
from kina_build.items.answers import build_matrix, spread_strings
from kina_build.items.checking.expressions import read_formula
from kina_build.items.checking.lint import check
from kina_build.items.importing.files import Layout, read_all
from kina_build.items.model import Item
from kina_build.items.text import fold_option, fold_stem
from kina_build.items.triage import triage_keys
from kina_build.shares import bound_share


@dataclass(frozen=True)
class Corpus:
    name: str
    pattern: str
    source: Layout = field(default_factory=Layout)


REDUX = Layout(
    encoding="mac-roman", columns={"correct_answer": "answer"}, name_as="subfield", cut_prefix="mmlu_"
)
CORPORA = (
    Corpus("MMLU-Redux", "mcq/mmlu_redux/*.csv", REDUX),
    Corpus("AGIEval", "mcq/agieval/*.jsonl", Layout(name_as="field")),
    Corpus("BIG-Bench Hard", "mcq/bbh/*.json", Layout(name_as="field")),
    Corpus("JMMLU", "mcq/jmmlu_ja/*.csv", Layout(name_as="subfield")),
    Corpus("TruthfulQA (5 languages)", "mcq/truthfulqa_multi/*.json", Layout(prefix_ids=True)),
    Corpus("MMLU-Pro", "mmlu_pro/items.jsonl"),
)


def clock(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall seconds, CPU seconds and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def survey(data: Path) -> None:
    """Print what import and check make of each corpus."""
    print(f"{'corpus':26}{'files':>6}{'items':>8}{'rejects':>8}{'errors':>8}{'warnings':>9}{'CPU s':>7}")
    for corpus in CORPORA:
        paths = sorted(data.glob(corpus.pattern))
        _, seconds, result = clock(lambda paths=paths, corpus=corpus: read_all(paths, corpus.source))
        _, more, found = clock(lambda result=result: check(result.items).findings)
        grave = Counter(finding.severity for finding in found)
        numbers = (len(paths), len(result.items), len(result.rejects), grave["error"], grave["warning"])
        counts = "".join(f"{number:>{width}}" for number, width in zip(numbers, (6, 8, 8, 8, 9), strict=True))
        print(f"{corpus.name:26}{counts}{seconds + more:>7.1f}")
        rejects = Counter(reject.reason for reject in result.rejects)
        rules = Counter(finding.rule for finding in found)
        print("    rejects:  ", ", ".join(f"{name} {n}" for name, n in rejects.most_common()) or "none")
        print("    findings: ", ", ".join(f"{name} {n}" for name, n in rules.most_common()) or "none")


def facts(data: Path) -> None:
    """Find MMLU-Pro's known faults again."""
    items = read_all([data / "mmlu_pro" / "items.jsonl"]).items
    probes = {probe.cue: probe for probe in check(items).probes}
    for cue in ("leading_whitespace", "longest", "stem_overlap"):
        probe = probes[cue]
        told = f"by chance {probe.chance * probe.n:.0f} (p = {probe.p_value:.2g})"
        print(f"{cue}: the key in {probe.hits} of {probe.n} items; {told}")
    rows = [
        json.loads(line) for line in (data / "mmlu_pro" / "answers.jsonl").read_text().split("\n") if line
    ]
    result = triage_keys(items, build_matrix(items, spread_strings(rows, items)))
    flagged = {one.item_id: one for one in result.queue if "agreed_rival" in one.flags}
    print(f"triage: {len(flagged)} of {result.items} keys contradicted ({len(flagged) / result.items:.1%})")
    wrong = known_wrong(items, data)
    caught = [item_id for item_id in wrong if item_id in flagged]
    named = sum(flagged[item_id].rival in wrong[item_id] for item_id in caught)
    low, high = bound_share(len(caught), len(wrong))
    print(f"keys that MMLU-Redux's annotators call wrong and MMLU-Pro kept: {len(wrong)}")
    print(f"  of them flagged {len(caught)} ({len(caught) / len(wrong):.0%} [{low:.0%}, {high:.0%}])")
    print(f"  of these, the rival is the annotators' own answer in {named}")


def known_wrong(items: tuple[Item, ...], data: Path) -> dict[str, set[str]]:
    """Return MMLU-Pro items with a key that MMLU-Redux corrects, and the letters of the right answer."""
    redux = read_all(sorted((data / "mcq/mmlu_redux").glob("*.csv")), REDUX).items
    corrected: dict[tuple[str, str], str] = {}
    for item in redux:
        told = str(item.metadata.get("correct_answer", "")).strip()
        place = int(told) if told in tuple("0123") else "ABCD".find(told) if told in tuple("ABCD") else -1
        if item.metadata.get("verdict") == "wrong_groundtruth" and place >= 0:
            key = fold_stem(item.question), fold_option(item.correct_text or "")
            corrected[key] = fold_option(item.options[place].answer)
    found: dict[str, set[str]] = {}
    for item in items:
        right = corrected.get((fold_stem(item.question), fold_option(item.correct_text or "")))
        if right is not None:
            found[item.item_id] = {
                option.key for option in item.options if fold_option(option.answer) == right
            }
    return found


def large(data: Path, count: int) -> None:
    """Import and check many ten-option items, made from MMLU-Pro's with numbered stems."""
    text = (data / "mmlu_pro" / "items.jsonl").read_text(encoding="utf-8")
    rows = [row for row in map(json.loads, filter(None, text.split("\n"))) if len(row["options"]) == 10]
    kina = [sys.executable, "-m", "kina_build.cli.main"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "raw.jsonl").open("w", encoding="utf-8") as out:
            for n in range(count):
                row = rows[n % len(rows)]
                out.write(
                    json.dumps({**row, "question_id": n, "question": f"{row['question']} ({n})"}) + "\n"
                )
        print(f"{count} ten-option items, {os.cpu_count()} processors")
        figures = [
            measure([*kina, "import", "raw.jsonl", "-o", "pool.jsonl"], folder),
            measure([*kina, "check", "pool.jsonl", "-o", "findings.jsonl"], folder),
        ]
        for label, (cpu, wall, memory) in zip(("kina import", "kina check"), figures, strict=True):
            print(f"{label:12} {wall:6.1f} s, {cpu:6.1f} CPU s, at most {memory:.2f} GB over all processes")
        print(f"{'both':12} {sum(wall for _, wall, _ in figures):6.1f} s")


def parsers() -> None:
    """Compare our formula reader with sympy's LaTeX parser."""
    formulas = [
        r"\frac{1}{2}x^2",
        r"\frac{x+1}{\sqrt{2}}",
        r"5\times 10^{3}",
        r"\sqrt{3}+1",
        "x_1+x_2",
        "0.5",
        "1/2",
    ]
    _, ours, read = clock(lambda: [read_formula(text) for text in formulas * 100])
    whole = sum(formula is not None for formula in read) // 100
    print(f"formulas: ours {1e6 * ours / len(read):.0f} µs each, {whole} of {len(formulas)} read")
    try:
        from sympy.parsing.latex import parse_latex  # noqa: TID251  on formulas of our own

        parse_latex("1", backend="lark")
        _, theirs, _ = clock(lambda: [parse_latex(text, backend="lark") for text in formulas])
        ratio = theirs / len(formulas) / (ours / len(read))
        print(f"sympy (lark): {1e6 * theirs / len(formulas):.0f} µs each, {ratio:.0f} times as long")
    except ImportError:
        print("sympy's lark parser: lark is not installed, skipped")


def main() -> None:
    """Print all tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--large", type=int, default=100_000)
    told = options.parse_args()
    if told.data.is_dir():
        survey(told.data)
        facts(told.data)
        if told.large:
            large(told.data, told.large)
    else:
        print(f"no corpora at {told.data}: only the parsers are compared")
    parsers()


if __name__ == "__main__":
    main()
