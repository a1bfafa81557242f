"""Items planted in texts: what `kina contamination` finds of them, how fast, and in how much memory.

    python -m benchmarks.texts                 # 16 forms of text, beside a scan for runs of 13 words
    python -m benchmarks.texts --megabytes 60  # and the command on so much text: MB a CPU second, peak memory

50 of 500 items of MMLU-Redux are planted in each form of file, a fifth of them with a stem of under eight
words, among source code of this environment.

Measured (seed 30): 50 of 50 in 15 of the 16 forms, 40 where each wrapped line is a row of its own (a short
stem is not told with options that stand in other rows), none of 450 falsely; the scan for runs of 13 words
finds 10 where words are hyphenated at line ends and 27 in rows of lines, else 50. 60 MB of text: 24 MB
a CPU second, start and end of the command included, 143 MB held at most.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.planted import DATA, parts, read_redux
from kina_build.dedup.contamination.corpora import open_corpus
from kina_build.dedup.contamination.find import find_in_corpora
from kina_build.dedup.contamination.packed import Tally
from kina_build.items.model import Item
from kina_build.items.pool import write_pool

POOL, PLANTED = 500, 50


def shown(item: Item) -> str:
    options = "\n".join(f"{option.key}. {option.answer}" for option in item.options)
    return f"{item.question}\n{options}\nAnswer: {item.correct_answer}"


def filler(rng: random.Random) -> Iterator[str]:
    """Yield paragraphs of the standard library's source."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    while True:
        blocks = rng.choice(files).read_text(encoding="utf-8", errors="replace").split("\n\n")
        yield from (block for block in blocks if len(block) > 100)


def hyphened(text: str) -> str:
    return re.sub(r"\b(\w{4})(\w{4,})", r"\1-\n\2", text)


def rows(make: Callable[[str, Item | None], Any]) -> Callable[[list[tuple[str, Item | None]]], bytes]:
    return lambda texts: "".join(json.dumps(make(*text)) + "\n" for text in texts).encode()


def text(change: Callable[[str], str] = str) -> Callable[[list[tuple[str, Item | None]]], bytes]:
    return lambda texts: "\n\n".join(change(body) if item else body for body, item in texts).encode()


def tuned(body: str, item: Item | None) -> dict[str, str]:
    if item is None:
        return {"instruction": body, "input": "", "output": "x"}
    return {"instruction": item.question, "input": "\n".join(parts(item)[0]), "output": "x"}


def in_lines(texts: list[tuple[str, Item | None]]) -> bytes:
    """Write each line of a text as a row of its own, wrapped."""
    lines = [line for body, _ in texts for line in textwrap.wrap(body, 60)]
    return "".join(json.dumps({"text": line}) + "\n" for line in lines).encode()


def table(texts: list[tuple[str, Item | None]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([("id", "body"), *enumerate(body for body, _ in texts)])
    return out.getvalue().encode()


def columns(texts: list[tuple[str, Item | None]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    turns = [[{"role": "user", "content": body}] for body, _ in texts]
    pq.write_table(pa.table({"id": range(len(turns)), "turns": turns}), out)
    return out.getvalue()


FORMS: dict[str, Callable[[list[tuple[str, Item | None]]], bytes]] = {
    "verbatim.txt": text(),
    "blank_lines.txt": text(lambda body: body.replace(" ", "\n\n", 3)),
    "wrapped.txt": text(lambda body: textwrap.fill(body, 40)),
    "hyphens.txt": text(hyphened),
    "verbatim.txt.gz": lambda texts: gzip.compress(text()(texts)),
    "page.html": text(
        lambda body: "<p>" + re.sub(r"(\w{6,})", r"<b>\1</b>", body.replace("&", "&amp;")) + "</p>"
    ),
    "notes.md": text(lambda body: re.sub(r"\b(\w{6,})", r"**\1**", body)),
    "text.jsonl": rows(lambda body, _: {"text": body}),
    "raw.jsonl": rows(lambda body, _: {"url": "u", "raw_content": body}),
    "instruction.jsonl": rows(tuned),
    "chat.jsonl": rows(lambda body, _: {"messages": [{"role": "user", "content": body}]}),
    "lines.jsonl": in_lines,
    "table.csv": table,
    "columns.parquet": columns,
    "wide.txt": lambda texts: text()(texts).decode().encode("utf-16"),
    "nested.json": lambda texts: json.dumps({"data": [{"a": [{"b": body}]} for body, _ in texts]}).encode(),
}


def scan_13_grams(pool: list[Item], texts: Iterator[str]) -> set[str]:
    """Name the items of which a run of 13 words stands in a text, or the whole stem where it has 5 to 12."""
    wanted: dict[tuple[str, ...], set[str]] = {}
    for item in pool:
        words = words_of(item.question)
        size = min(13, len(words))
        for at in range(len(words) - size + 1 if size >= 5 else 0):
            wanted.setdefault(tuple(words[at : at + size]), set()).add(item.item_id)
    sizes = {len(run) for run in wanted}
    found: set[str] = set()
    for text in texts:
        words = words_of(text)
        for size in sizes:
            runs = zip(*(words[start:] for start in range(size)), strict=False)
            found.update(*(wanted[run] for run in runs if run in wanted))
    return found


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def contamination(items: list[Item], rng: random.Random) -> None:
    short = [item for item in items if len(item.question.split()) < 8]
    long = [item for item in items if len(item.question.split()) >= 8]
    planted = [*rng.sample(short, PLANTED // 5), *rng.sample(long, PLANTED - PLANTED // 5)]
    names = {item.item_id for item in planted}
    pool = [*planted, *rng.sample([item for item in items if item.item_id not in names], POOL - PLANTED)]
    source = filler(rng)
    texts: list[tuple[str, Item | None]] = [(shown(item), item) for item in planted]
    texts += [(next(source), None) for _ in range(20 * PLANTED)]
    rng.shuffle(texts)
    print("| form | found of 50 | contaminated | false of 450 | CPU s | 13-grams: found | false | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FORMS.items():
            path = Path(folder) / name
            path.write_bytes(write(texts))
            begun = time.process_time()
            result = find_in_corpora(pool, {name: open_corpus(path, near=False)}, None)
            middle = time.process_time()
            corpus = open_corpus(path, near=False)
            peer = scan_13_grams(pool, (text.text for text in corpus.texts(Tally())))
            ended = time.process_time()
            named = {*result.contaminated, *result.review}
            sure = len(names & set(result.contaminated))
            ours = f"{len(named & names)} | {sure} | {len(named - names)} | {middle - begun:.1f}"
            theirs = f"{len(peer & names)} | {len(peer - names)} | {ended - middle:.1f}"
            print(f"| {name} | {ours} | {theirs} |", flush=True)


def speed(items: list[Item], rng: random.Random, megabytes: int) -> None:
    """Run the command on source code, with the pool's items among it now and then."""
    with tempfile.TemporaryDirectory() as folder:
        pool, text = Path(folder) / "pool.jsonl", Path(folder) / "web.txt"
        write_pool(pool, rng.sample(items, POOL))
        source, size = filler(rng), 0
        with text.open("w", encoding="utf-8") as out:
            while size < megabytes * 1e6:
                size += out.write(next(source) + "\n\n")
        argv = [
            "contamination",
            str(pool),
            "--against",
            str(text),
            "--no-near",
            "-o",
            f"{folder}/c.json",
            "-q",
        ]
        subprocess.run([sys.executable, "-m", "kina_build", *argv], check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = used.ru_utime + used.ru_stime
        megabytes_held = used.ru_maxrss / 1024
        print(f"{size / 1e6:.0f} MB in {spent:.1f} CPU s, start and end included:")
        print(f"{size / 1e6 / spent:.0f} MB a CPU second")
        print(f"at most {megabytes_held:.0f} MB held")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--megabytes", type=int, default=0)
    given = parser.parse_args()
    items = read_redux(DATA)
    if given.megabytes:
        speed(items, random.Random(given.seed), given.megabytes)
    else:
        contamination(items, random.Random(given.seed))


if __name__ == "__main__":
    main()
