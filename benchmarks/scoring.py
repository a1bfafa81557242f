"""Letters read by peers and by us, and how long re-scoring takes.

Run `python -m benchmarks.scoring [letters|rescore|universe|survival]`. Peers that are not installed
are skipped; lighteval and inspect-ai go into a virtual environment of their own, from which
this module can be run too (it needs only the standard library, numpy and pydantic).
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("KINA_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ITEMS, MODELS = 12_032, 26
TEXT_CHARACTERS = 1000

Extractor = Callable[[dict[str, Any]], str | None]


def ours(row: dict[str, Any]) -> str | None:
    from kina_build.scoring.replies import extract_letter

    return extract_letter(
        row["response"], row["n_options"], row.get("options"), row.get("reasoning", "")
    ).letter


def simple_evals(row: dict[str, Any]) -> str | None:
    """The one pattern of openai/simple-evals, widened from A-D to A-J."""
    match = re.search(r"(?i)Answer[ \t]*:[ \t]*\$?([A-J])\$?", row["response"])
    return match[1] if match else None


def mmlu_pro(row: dict[str, Any]) -> str | None:
    """The three steps of TIGER-AI-Lab/MMLU-Pro: "answer is X", "Answer: X", the last capital."""
    text = row["response"]
    for pattern in (
        r"answer is \(?([A-J])\)?",
        r"(?s:.*)[aA]nswer:\s*([A-J])",
        r"\b([A-J])\b(?!(?s:.*)\b[A-J]\b)",
    ):
        match = re.search(pattern, text)
        if match:
            return match[1]
    return None


def inspect_ai() -> Extractor:
    """The answer pattern of inspect-ai's multiple_choice solver."""
    import inspect_ai
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._multiple_choice import parse_answers

    print(f"inspect-ai {inspect_ai.__version__}")

    def extract(row: dict[str, Any]) -> str | None:
        choices = row.get("options") or [f"option {n}" for n in range(row["n_options"])]
        state = TaskState(
            model="m", sample_id=1, epoch=1, input="q", messages=[], choices=choices,
            output=ModelOutput.from_content("m", row["response"]),
        )  # fmt: skip
        found = sorted(parse_answers(state, False))
        return found[0] if len(found) == 1 else None

    return extract


def lighteval() -> Extractor:
    """The letter extraction that the public KINA run uses (lighteval 0.9.2)."""
    from lighteval.metrics.dynamic_metrics import (
        IndicesExtractionConfig,
        multilingual_extractive_match_metric,
    )
    from lighteval.tasks.requests import Doc
    from lighteval.utils.language import Language

    letters = [IndicesExtractionConfig(prefix_for_extraction="NativeLetters")]
    metric = multilingual_extractive_match_metric(
        language=Language.ENGLISH, gold_extraction_target=letters, pred_extraction_target=letters, precision=6
    )

    def extract(row: dict[str, Any]) -> str | None:
        keys = [chr(65 + n) for n in range(row["n_options"])]
        doc = Doc(query="q", choices=keys, gold_index=0, instruction="q")
        metric.sample_level_fn(["A"], [row["response"]], doc)
        found = (doc.specific or {}).get("extracted_predictions") or []
        return str(found[0]) if found else None

    return extract


def compare_letters() -> None:
    path = SHARED / "letters" / "cases.jsonl"
    if not path.exists():
        print(f"skipped: no {path.name} at the shared data")
        return
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    extractors: dict[str, Extractor] = {"kina": ours, "simple-evals": simple_evals, "MMLU-Pro": mmlu_pro}
    for make in (inspect_ai, lighteval):
        try:
            extractors[make.__name__] = make()
        except Exception as error:
            print(f"{make.__name__} skipped: {type(error).__name__}: {error}")
    print(f"{'extractor':14} {'right':>8} {'of letter':>10} {'invented':>9} {'ms':>8} {'x kina':>7}")
    base = 0.0
    for name, extract in extractors.items():
        start = time.perf_counter()
        found = [extract(row) for row in rows]
        elapsed = (time.perf_counter() - start) / len(rows) * 1e3
        base = base or elapsed
        pairs = [(row["gold_extraction"], letter) for row, letter in zip(rows, found, strict=True)]
        with_letter = [(gold, letter) for gold, letter in pairs if gold]
        right = sum(gold == letter for gold, letter in pairs) / len(pairs)
        of_letter = sum(gold == letter for gold, letter in with_letter) / len(with_letter)
        invented = sum(gold is None and letter is not None for gold, letter in pairs)
        print(f"{name:14} {right:8.1%} {of_letter:10.1%} {invented:9} {elapsed:8.3f} {elapsed / base:7.2f}")


TALK = """
    the current doubles when we compare each statement with the energy that is conserved because a longer path
    heats the wire and so we compute 14.2 m per second then find that option B needs a lower voltage than this
"""
WORDS = TALK.split()
ENDS = (
    "\n\nAnswer: {}",
    "\n\n**Answer: {}**",
    "\nThe answer is ({}).",
    "\n\n$\\boxed{{{}}}$",
    "\nFinal answer: {}.",
)


def synthetic_reply(rng: random.Random) -> str:
    words = rng.choices(WORDS, k=TEXT_CHARACTERS // 5)
    return " ".join(words)[: TEXT_CHARACTERS - 20] + rng.choice(ENDS).format(rng.choice("ABCDEFGHIJ"))


def processor_s() -> float:
    """Processor time used so far, by this process and its finished children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def rescore() -> None:
    from kina_build.scoring.marking import mark_models
    from kina_build.scoring.questions import Question
    from kina_build.scoring.responses import read_responses, sift_responses

    rng = random.Random(0)
    questions = {
        f"q{n:05}": Question(item_id=f"q{n:05}", question="?", choices=tuple("abcdefghij"), answer="A")
        for n in range(ITEMS)
    }
    models = [f"m{n:02}" for n in range(MODELS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.jsonl"
        with path.open("w") as out:
            for model in models:
                for item_id in questions:
                    row = {"item_id": item_id, "model": model, "sample": 0, "response": synthetic_reply(rng)}
                    out.write(json.dumps(row) + "\n")
        start, cpu = time.perf_counter(), processor_s()
        file = read_responses(path)
        read = time.perf_counter() - start
        sifted = sift_responses(file.responses, dict.fromkeys(questions))
        _, reports = mark_models(models, questions, sifted.responses)
        total = time.perf_counter() - start
    cpu = processor_s() - cpu
    size = f"{ITEMS} x {MODELS} replies of {TEXT_CHARACTERS} characters"
    print(f"{size}: {total:.1f} s, {read:.1f} s of it reading")
    print(f"processor time {cpu:.1f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"letters read: {sum(report.letter_statuses['ok'] for report in reports)} of {ITEMS * MODELS}")


def universes() -> None:
    from kina_build.scoring.lists import ListReply, Seed, match_replies, sum_up

    rng = random.Random(0)
    names = [f"{rng.choice(WORDS)} {rng.choice(WORDS)} {n}" for n in range(5000)]
    seeds, replies = [], []
    for n in range(10_000):
        golds = rng.sample(names, 100)
        said = [name.upper() if rng.random() < 0.2 else name for name in rng.sample(golds, 70)]
        said += rng.sample(names, 20)
        rng.shuffle(said)
        seeds.append(Seed(id=str(n), gold=tuple((gold,) for gold in golds), language="en"))
        replies.append(ListReply(id=str(n), response=json.dumps(said)))
    start, cpu = time.perf_counter(), processor_s()
    scores = sum_up(*match_replies(seeds, replies))
    total, cpu = time.perf_counter() - start, processor_s() - cpu
    print(f"10,000 questions of 100 golds: {total:.1f} s, F1 {scores.overall.f1:.3f}")
    print(f"processor time {cpu:.1f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


SHAPES: dict[str, tuple[str, str, str]] = {
    "brackets": ("", "[", ""),
    "nested objects": ("", '{"a": ', "1"),
    "broken objects": ("", '{"answer": "A", ', ""),
    "closed objects": ("", '{"rank": 1, "name": "gold"}\n', ""),
    "list of texts": ("[", '"gold", ', '"tin"]'),
    "unclosed fence": ("```json\n[", '"gold", ', ""),
    "many fences": ("", "```\ngold\n```\n", ""),
    "fence of fields": ("```\n", "gold§: 6.0\n", "```"),
    "table": ("| # | name |\n|---|---|\n", "| 1 | gold§ (Au) |\n", ""),
    "bullets": ("", "- gold§\n", ""),
    "glossed bullets": ("", "- **Gold§** (Au): a metal, and soft\n", ""),
    "numbered": ("", "1. gold§\n", ""),
    "checkboxes": ("", "- [x] gold§\n", ""),
    "option boxes": ("", "[ ] A\n[x] B\n", ""),
    "option lines": ("", "A. gold\nB. tin\n", ""),
    "letter lines": ("", "A\nB\nC\n", ""),
    "short lines": ("", "A§\n", ""),
    "comma lines": ("", "gold§,\n", ""),
    "and lines": ("", "gold and tin and lead and zinc and iron and neon§\n", ""),
    "quotes": ("[", "'gold', \"it's\", ", ""),
    "tuples": ("", "('gold', 1), ", ""),
    "thousands": ("", "3,000 ", ""),
    "spaced brackets": ("", "]" + " " * 99 + "[", ""),
    "inline numbers": ("", "1. gold 2. tin ", ""),
    "comma list": ("", "gold§, tin§, ", "lead and zinc"),
    "comma names": ("", "gold§, tin§\n", ""),
    "and": ("", "gold and tin ", ""),
    "one word": ("", "gold ", ""),
    "no blank": ("", "a", ""),
    "capital": ("", "A ", ""),
    "commas": ("", ",", ""),
    "newlines": ("A", "\n", "B"),
    "blanks": ("A", " ", "B"),
    "dashes": ("", "- ", ""),
    "Han": ("", "\u91d1\u3001\u94dc\u548c\u9530\u3001", ""),
    "marks": ("", "e\u0301", ""),
    "surrogates": ("", "\ud800\u200b", ""),
    "struck": ("", "~~A~~ ", "B"),
    "unclosed strikes": ("", "~~A ", ""),
    "tags": ("", "<s>A</s><think>", ""),
    "LaTeX": ("", "$\\boxed{\\text{", ""),
    "Answer: A": ("", "Answer: A\n", ""),
    "answer is": ("", "the answer is not A because ", ""),
    "sentences": ("", "The wire heats, so option B is wrong. We compute 14 m. ", "Answer: C"),
}
"""What a reply of one shape begins with, repeats and ends on; for § stand numbers: no two are alike."""
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
OPTIONS = ("gold", "tin", "lead", "zinc")


def shaped(shape: str, size: int) -> str:
    """Return a reply of one shape with about so many characters."""
    head, unit, tail = SHAPES[shape]
    body = unit * (size // len(unit))
    numbers = map("{:x}".format, itertools.count())
    return head + re.sub("§", lambda _: next(numbers), body)[:size] + tail


def list_names(text: str) -> None:
    from kina_build.scoring.lists import match_names, read_list

    golds = [(option,) for option in OPTIONS]
    match_names(read_list(text, "en", OPTIONS).names, golds, "en")


def read_letter(text: str) -> None:
    from kina_build.scoring.replies import extract_letter

    extract_letter(text, len(OPTIONS), OPTIONS)


def survival() -> None:
    """Print processor ms a KB of both readers for replies of every shape and size."""
    for name, read in (("letters", read_letter), ("lists", list_names)):
        print(f"{name:18}" + "".join(f"{size // 1000:>9} KB" for size in SIZES) + "   ms a KB")
        for shape in SHAPES:
            read(shaped(shape, SIZES[0]))  # what is loaded and compiled on first use
            print(f"{shape:18}" + "".join(_cost(read, shape, size) for size in SIZES), flush=True)


def _cost(read: Callable[[str], None], shape: str, size: int) -> str:
    text = shaped(shape, size)
    rounds = max(1, 50_000 // size)
    start = time.process_time()
    for place in range(rounds):
        read(f"{text}{place}")  # no two alike: some of what is read is remembered
    used = time.process_time() - start
    return f"{used / rounds / size * 1e6:12.3f}"


PARTS = {"letters": compare_letters, "rescore": rescore, "universe": universes, "survival": survival}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"== {part}")
        PARTS[part]()
