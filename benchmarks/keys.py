"""Doubtful keys: how many faults that experts found do models' votes find, and at what cost?

Run `python -m benchmarks.keys [--data ../shared/data]`. The truth is MMLU-Redux's, whose experts
read each item; the votes are those of 26 models on MMLU-Pro, where the same questions stand. Only
items count whose question, keyed text and options are the same in both: what else falls out is told.
With `--write` the table goes into docs/explain/doubtful-keys.md.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.items import REDUX
from kina_build.items.answers import build_matrix, spread_strings
from kina_build.items.importing.files import read_all
from kina_build.items.model import Item
from kina_build.items.text import fold_option, fold_stem
from kina_build.items.triage import triage_keys
from kina_build.repair.confident import find_label_faults
from kina_build.shares import bound_share

PAGE = Path(__file__).resolve().parent.parent / "docs/explain/doubtful-keys.md"
OF_KEY = frozenset({"wrong_groundtruth", "no_correct_answer", "multiple_correct_answers"})
"""Verdicts that say that the key is not the one right answer."""


@dataclass(frozen=True)
class Linked:
    """MMLU-Pro's items that experts judged, and what fell out."""

    verdicts: Mapping[str, str]
    """Item of MMLU-Pro to the experts' verdict."""
    lost: Counter[str]


def link(judged: Sequence[Item], pool: Sequence[Item]) -> Linked:
    """Find the judged items in another pool, by their texts."""
    stems: defaultdict[str, list[Item]] = defaultdict(list)
    for item in pool:
        stems[fold_stem(item.question)].append(item)
    verdicts: dict[str, str] = {}
    lost: Counter[str] = Counter()
    for item in judged:
        there = stems.get(fold_stem(item.question), [])
        key = fold_option(item.correct_text or "")
        options = {fold_option(option.answer) for option in item.options}
        whole = [one for one in there if options <= {fold_option(option.answer) for option in one.options}]
        same = [one for one in whole if fold_option(one.correct_text or "") == key]
        if not there:
            lost["the question is not in MMLU-Pro"] += 1
        elif not whole:
            lost["MMLU-Pro changed an option"] += 1
        elif not same:
            lost["MMLU-Pro changed the key"] += 1
        elif len(same) > 1 or same[0].item_id in verdicts:
            lost["the item stands twice"] += 1
        elif not item.metadata.get("verdict"):
            lost["no verdict"] += 1
        else:
            verdicts[same[0].item_id] = str(item.metadata["verdict"])
    return Linked(verdicts, lost)


def shown(count: int, of: int) -> str:
    """Show a share with its Wilson interval."""
    low, high = bound_share(count, of)
    return f"{count}/{of} = {count / of:.0%} [{low:.0%}, {high:.0%}]" if of else "none"


def row(name: str, flagged: Collection[str], verdicts: Mapping[str, str]) -> list[str]:
    """Return one line of the table."""
    seen = [item_id for item_id in flagged if item_id in verdicts]
    faulty = {item_id for item_id, verdict in verdicts.items() if verdict != "ok"}
    of_key = {item_id for item_id, verdict in verdicts.items() if verdict in OF_KEY}
    wrong = {item_id for item_id, verdict in verdicts.items() if verdict == "wrong_groundtruth"}
    found = faulty.intersection(seen)
    cost = f"{len(seen) / len(found):.1f}" if found else "-"
    return [
        name, shown(len(found), len(seen)), shown(len(found), len(faulty)),
        shown(len(of_key.intersection(seen)), len(of_key)),
        shown(len(wrong.intersection(seen)), len(wrong)), cost,
    ]  # fmt: skip


def page(data: Path) -> str:
    """Measure, and write the page."""
    paths = sorted((data / "mcq/mmlu_redux").glob("*.csv"))
    plain = replace(REDUX, encoding=None)
    odd = [path for path in paths if "moral_scenarios" in path.name]
    judged = [*read_all([p for p in paths if p not in odd], plain), *read_all(odd, REDUX)]
    items = read_all([data / "mmlu_pro/items.jsonl"]).items
    rows = [json.loads(line) for line in (data / "mmlu_pro/answers.jsonl").read_text().split("\n") if line]
    matrix = build_matrix(items, spread_strings(rows, items))
    linked = link(judged, items)
    triage = triage_keys(items, matrix)
    rivals = [one.item_id for one in triage.queue if "agreed_rival" in one.flags]
    negative = [one.item_id for one in triage.queue if "negative_discrimination" in one.flags]
    everybody = [one.item_id for one in find_label_faults(items, matrix).doubts]
    strong = [one.item_id for one in find_label_faults(items, matrix, triage.strong).doubts]
    methods = {
        "none: every item": list(linked.verdicts),
        "triage: 8 of the 10 best agree on another option": rivals,
        "triage: negative discrimination": negative,
        "confident learning, 26 models": everybody,
        "confident learning, the 10 best": strong,
        "both: 8 of 10 agree, and confident learning of 26": [one for one in rivals if one in set(everybody)],
        "either: 8 of 10 agree, or confident learning of 26": sorted({*rivals, *everybody}),
    }
    recalls = ["recall: all faults", "recall: key at fault", "recall: wrong key"]
    columns = ["flagged by", "precision", *recalls, "items a fault"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += [
        "| " + " | ".join(row(name, flagged, linked.verdicts)) + " |" for name, flagged in methods.items()
    ]
    counts = Counter(linked.verdicts.values())
    lost = "; ".join(f"{reason}: {count}" for reason, count in linked.lost.most_common())
    told = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
    counted = {"judged": len(judged), "linked": len(linked.verdicts), "models": len(matrix.models)}
    return HEAD.format(lost=lost, told=told, **counted) + "\n".join(lines) + "\n" + TAIL


HEAD = """# How many faulty items do models' votes find?

Written by `python -m benchmarks.keys --write` from public data; nothing here is asked of a model anew.
The truth is MMLU-Redux (arXiv 2406.04127), whose experts read {judged} items of MMLU; the votes are
those that {models} models gave on MMLU-Pro, many of whose questions are the same. {linked} items have the
same question, options and keyed text in both ({told}). The others fall out ({lost}).

"""
TAIL = """
Shares with 95 % intervals (Wilson). *Key at fault* is a wrong key, none or several right answers; the other
faults are unclear questions and options, and questions for experts only. *Items a fault* is how many flagged
items a reviewer reads for each fault that is there. The experts err too, so a flagged item that they call
sound need not be; and MMLU-Pro had dropped many faulty items of MMLU before, so few are left to find.
"""


def main() -> None:
    """Print the page, or write it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--write", action="store_true")
    told = options.parse_args()
    text = page(told.data)
    if told.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
