"""Known duplicates of the public corpora (mcq/SOURCE.txt): found / known; and what is none."""

from __future__ import annotations

import ast
import csv
import json
import re
from pathlib import Path

import pytest

from kina_build.dedup.encoded import read_corpus
from kina_build.dedup.find import find_copies
from kina_build.dedup.records import Duplicates
from kina_build.encode.loading import load_encoder
from kina_build.items.model import LETTERS, Item, Option

pytestmark = pytest.mark.real


def item(item_id: str, stem: str, options: list[str], key: str, passage: str | None = None) -> Item:
    keyed = tuple(Option(key=letter, answer=text) for letter, text in zip(LETTERS, options, strict=False))
    return Item(
        item_id=item_id,
        discipline=item_id.split("/", maxsplit=1)[0],
        question=stem,
        options=keyed,
        correct_answer=key,
        question_material=passage or None,
    )


def redux(folder: Path, subject: str) -> list[Item]:
    with (folder / f"mmlu_{subject}.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        item(
            f"{subject}/{n:03d}",
            row["question"],
            ast.literal_eval(row["choices"]),
            LETTERS[int(row["answer"])],
        )
        for n, row in enumerate(rows)
    ]


def jmmlu(folder: Path, subject: str) -> list[Item]:
    with (folder / f"{subject}.csv").open(encoding="utf-8-sig", newline="") as file:
        return [
            item(f"{subject}/{n:03d}", row[0], row[1:5], row[5].strip())
            for n, row in enumerate(csv.reader(file))
        ]


def agieval(folder: Path, name: str) -> list[Item]:
    rows = map(json.loads, (folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")[:-1])
    return [
        item(
            f"{name}/{n:03d}",
            row["question"],
            [re.sub(r"^\([A-Z]\)\s*", "", option) for option in row["options"]],
            row["label"],
            row["passage"],
        )
        for n, row in enumerate(rows)
    ]


def crossing(result: Duplicates) -> int:
    """Count the items of the first subject that have a copy in the second."""
    pairs = [p for p in result.pairs if p.status in {"duplicate", "conflict"} and p.cross_discipline]
    return len({p.item_id for p in pairs})


def test_mmlu_redux_19_of_19(shared: Path) -> None:
    folder = shared / "mcq" / "mmlu_redux"
    pool = redux(folder, "clinical_knowledge") + redux(folder, "college_medicine")
    assert crossing(find_copies(read_corpus(pool, None))) == 19


def test_jmmlu_6_of_6(shared: Path) -> None:
    folder = shared / "mcq" / "jmmlu_ja"
    pool = jmmlu(folder, "clinical_knowledge") + jmmlu(folder, "college_medicine")
    assert crossing(find_copies(read_corpus(pool, None))) == 6


def test_sat_with_and_without_passage_205_of_205(shared: Path) -> None:
    folder = shared / "mcq" / "agieval"
    result = find_copies(
        read_corpus(agieval(folder, "sat-en") + agieval(folder, "sat-en-without-passage"), None)
    )
    twins = {
        one.split("/")[1]
        for p in result.pairs
        if p.status in {"duplicate", "conflict"} and p.cross_discipline
        for one in (p.item_id, p.other_id)
        if one.startswith("sat-en/")
    }
    assert len(twins) >= 205
    assert all(name.startswith("sat-en/") for name in result.kept)  # the one with the passage stays


@pytest.mark.parametrize(("task", "copies"), [("snarks", 1), ("dyck_languages", 0), ("hyperbaton", 0)])
def test_templates_are_no_copies(shared: Path, task: str, copies: int) -> None:
    examples = json.loads((shared / "mcq" / "bbh" / f"{task}.json").read_text(encoding="utf-8"))["examples"]
    pool = []
    for n, example in enumerate(examples):
        stem, _, listed = example["input"].partition("Options:")
        options = [line[4:] for line in listed.strip().split("\n") if line]
        pool.append(
            item(
                f"{task}/{n:03d}",
                stem,
                options,
                example["target"].strip("()") if options else example["target"],
            )
        )
    result = find_copies(read_corpus(pool, None))
    assert len(result.dropped) == copies


def test_generic_chinese_stems_are_no_copies(shared: Path) -> None:
    pool = [
        i
        for name in ("gaokao-biology", "gaokao-chemistry")
        for i in agieval(shared / "mcq" / "agieval", name)
    ]
    generic = {i.item_id for i in pool if i.question.strip().startswith("下列说法正确的是")}
    result = find_copies(read_corpus(pool, None))
    assert len(generic) >= 5
    dropped = [(d.item_id, d.rule) for d in result.dropped if d.item_id in generic]
    assert dropped == [("gaokao-chemistry/041", "exact")]  # the corpus does hold this one twice


def test_a_subject_through_the_packaged_encoder(shared: Path) -> None:
    pool = redux(shared / "mcq" / "mmlu_redux", "global_facts")[60:]
    result = find_copies(read_corpus(pool, load_encoder("all-MiniLM-L6-v2")))
    siblings = [p for p in result.pairs if p.status == "template_sibling"]
    assert not result.dropped
    assert any("another" in p.reason or "name" in p.reason for p in siblings)


def test_a_fact_asked_the_other_way_round_is_found_by_meaning(shared: Path) -> None:
    """Wrong options in the encoded text hid such pairs: .9665 without them, below .8 with them."""
    geography = redux(shared / "mcq" / "mmlu_redux", "high_school_geography")
    pool = [i for i in geography if "primate city" in f"{i.question} {i.correct_text}"]
    result = find_copies(read_corpus(pool, load_encoder("all-MiniLM-L6-v2")))
    assert [(p.status, p.option_overlap) for p in result.pairs] == [("close", 0.0)]
