"""Copies of real questions, changed by rules of 27 kinds, and two kinds that are no copies.

There is nothing to run here: `python -m benchmarks.copies` and `python -m benchmarks.texts` plant them.
"""

from __future__ import annotations

import ast
import csv
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

from kina_build.items.model import Item, Option

DATA = Path(os.environ.get("KINA_SHARED_DATA", "../shared/data")) / "mcq" / "mmlu_redux"
LETTERS = "ABCDEFGHIJ"
EACH = 40
Change = Callable[[Item, random.Random], Item | None]


def read_redux(folder: Path) -> list[Item]:
    """Read every question of MMLU-Redux whose options are four different texts."""
    items = []
    for path in sorted(folder.glob("mmlu_*.csv")):
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            head = file.readline()
            file.seek(0)
            for number, row in enumerate(csv.DictReader(file, delimiter=";" if ";" in head else ",")):
                options = ast.literal_eval(row["choices"])
                if (
                    len(set(options)) == 4
                    and row["answer"] in set("0123")
                    and len(row["question"].split()) > 5
                ):
                    name = f"{path.stem}/{number:03d}"
                    items.append(made(name, row["question"], options, int(row["answer"])))
    return list({item.question: item for item in items}.values())


def made(name: str, question: str, options: list[str], right: int) -> Item:
    return Item(
        item_id=name,
        question=question,
        options=tuple(Option(key=LETTERS[n], answer=text) for n, text in enumerate(options)),
        correct_answer=LETTERS[right],
    )


def parts(item: Item) -> tuple[list[str], int]:
    return [option.answer for option in item.options], LETTERS.index(item.correct_answer)


def asked(change: Callable[[str, random.Random], str | None]) -> Change:
    """Change the stem only."""

    def run(item: Item, rng: random.Random) -> Item | None:
        text = change(item.question, rng)
        options, right = parts(item)
        return None if text is None or text == item.question else made("v", text, options, right)

    return run


def answered(change: Callable[[str], str], wanted: Callable[[str], bool] = lambda _: True) -> Change:
    """Change every option."""

    def run(item: Item, rng: random.Random) -> Item | None:
        options, right = parts(item)
        texts = [change(text) for text in options]
        fits = all(map(wanted, options)) and texts != options
        return made("v", item.question, texts, right) if fits else None

    return run


def in_words(least: int, change: Callable[[str, random.Random], str]) -> Change:
    """Change two words of at least so many letters."""

    def run(text: str, rng: random.Random) -> str | None:
        words = text.split(" ")
        places = [n for n, word in enumerate(words) if word.isalpha() and len(word) >= least and n]
        if len(places) < 2:
            return None
        for place in rng.sample(places, 2):
            words[place] = change(words[place], rng)
        return " ".join(words)

    return asked(run)


def swapped(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def glued(text: str, rng: random.Random) -> str | None:
    words = text.split(" ")
    if len(words) < 9:
        return None
    at = rng.randrange(2, len(words) - 2)
    return " ".join([*words[:at], words[at] + words[at + 1], *words[at + 2 :]])


def reordered(item: Item, rng: random.Random) -> Item:
    options, right = parts(item)
    return made("v", item.question, options[::-1], len(options) - 1 - right)


def other_key(item: Item, rng: random.Random) -> Item:
    options, right = parts(item)
    return made("v", item.question, options, (right + 1) % len(options))


def more_options(item: Item, rng: random.Random) -> Item:
    options, right = parts(item)
    return made("v", item.question, [*options, "the tide of the sea", "a lamp of tin", "none of it"], right)


def other_distractors(item: Item, rng: random.Random) -> Item:
    options, right = parts(item)
    texts = [options[right], "the tide of the sea", "a lamp of tin", "the old wall"]
    return made("v", item.question, texts, 0)


def other_options(item: Item, rng: random.Random) -> Item | None:
    if len([word for word in item.question.split() if len(word) > 6]) < 4:
        return None
    return made("v", item.question, ["a tide of the sea", "a lamp of tin", "an old wall", "a bag of rye"], 2)


def another_number(text: str, rng: random.Random) -> str | None:
    found = list(re.finditer(r"(?<![\d.,])\d{1,4}(?![\d.,])", text))
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.start()] + str(int(match.group()) + 7) + text[match.end() :]


def negated(text: str, rng: random.Random) -> str | None:
    found = re.search(r"\b(?:is|are|was|were)\b", text)
    if found is None or re.search(r"\bnot\b|n't|except", text, re.IGNORECASE):
        return None
    return f"{text[: found.end()]} not{text[found.end() :]}"


def replaced(old: str, new: str) -> Change:
    return asked(lambda text, _: re.sub(old, new, text, count=1) if re.search(old, text) else None)


COPIES: dict[str, Change] = {
    "byte for byte": lambda item, _: item,
    "option order": reordered,
    "letter case": asked(lambda text, _: text.upper()),
    "zero-width": asked(lambda text, _: text.replace(" ", " \u200b", 3)),
    "full width": asked(lambda text, _: text.translate({n: n + 0xFEE0 for n in range(33, 127)})),
    "no-break blanks": asked(lambda text, _: text.replace(" ", "\u00a0")),
    "punctuation": asked(lambda text, _: text.rstrip(" .?:") + " ..."),
    "HTML marks": asked(lambda text, _: re.sub(r"(\w{5,})", r"<b>\1</b>", text, count=1)),
    "instruction": asked(
        lambda text, _: f"Answer the multiple choice question. Choose the best answer. {text}"
    ),
    "question number": asked(lambda text, rng: f"{rng.randrange(2, 90)}. {text}"),
    "UK spelling": replaced(r"(?<=[a-z]{3})(?:ization|izing|ized)\b", "isation"),
    "synonym": replaced(r"\bbest\b", "most accurately"),
    "typing errors": in_words(6, swapped),
    "homoglyphs": in_words(4, lambda word, _: word.translate(str.maketrans("aeo", "аео"))),
    "split words": in_words(7, lambda word, _: f"{word[:4]}- {word[4:]}"),
    "glued words": asked(glued),
    "numbers in LaTeX": asked(lambda text, _: re.sub(r"(?<!\$)\b(\d+)\b", r"$\1$", text)),
    "LaTeX answers": answered(lambda text: f"${text}$", lambda text: text.isdigit()),
    "unit form": answered(
        lambda text: re.sub(r"(?<=\d) (?=[a-zA-Z])", "", text), lambda text: text[:1].isdigit()
    ),
    "percent": answered(lambda text: text.replace("%", " percent"), lambda text: text.endswith("%")),
    "answer frame": answered(lambda text: f"It is {text.rstrip('.')}, as stated in the text."),
    "option labels": lambda item, _: made(
        "v",
        item.question,
        [f"({LETTERS[n]}) {text}" for n, text in enumerate(parts(item)[0])],
        parts(item)[1],
    ),
    "options added": more_options,
    "other distractors": other_distractors,
    "other options": other_options,
    "truncated": asked(lambda text, _: " ".join(text.split()[-14:]) if len(text.split()) > 20 else None),
    "another key": other_key,
}
UNLIKE: dict[str, Change] = {"another number": asked(another_number), "negation": asked(negated)}


def plant(items: list[Item], rng: random.Random) -> tuple[list[Item], list[tuple[str, str, str]]]:
    """Draw items of each kind and change them; return the pool and (kind, item, variant)."""
    pool: dict[str, Item] = {}
    pairs = []
    for kind, change in {**COPIES, **UNLIKE}.items():
        count = 0
        for item in rng.sample(items, len(items)):
            variant = None if item.item_id in pool or count == EACH else change(item, rng)
            if variant is not None:
                name = f"v/{kind}/{item.item_id}"
                pool |= {item.item_id: item, name: variant.model_copy(update={"item_id": name})}
                pairs.append((kind, item.item_id, name))
                count += 1
    return list(pool.values()), pairs
