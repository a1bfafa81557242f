"""Harness files: the prompt of `kina run`, valid files, nothing where all answers are private."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
import yaml

from kina_build.release.admission import admit
from kina_build.release.build import Release, make_release
from kina_build.release.files.card import ANSWER_PATTERN, harness_files
from kina_build.release.plan import Request, plan_release
from kina_build.release.record import Provenance
from kina_build.scoring.prompts import build_prompt
from kina_build.scoring.questions import from_release_row
from kina_build.scoring.replies import extract_letter
from tests.release.pools import make, spread


def released(**request: Any) -> Release:
    pool = [
        *spread(30),
        make("m", ["one {braces}", 'two "quotes"', "three"], question=" Long? ", question_material="Text.\n"),
    ]
    plan = plan_release(admit(pool), Request(**request), provenance=Provenance(pool_items=31))
    return make_release(plan)


def load(text: str, **names: Any) -> dict[str, Any]:
    loaded = {"__file__": "/x/release/harness/lm_eval/task.py", **names}
    exec(compile(text.replace("import datasets\n", ""), "task.py", "exec"), loaded)
    return loaded


def test_lm_eval_asks_word_for_word_what_kina_run_asks() -> None:
    release = released()
    task = load(harness_files(release.record)["harness/lm_eval/task.py"])
    for row in (row for rows in release.rows.values() for row in rows):
        doc = row.model_dump()
        assert task["reply_prompt"](doc) == build_prompt(from_release_row(doc))


def test_every_file_is_what_its_name_says() -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    files = harness_files(released(name="my_bench", title='A "title": odd\nand long').record)
    assert len(files) == 5
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)
            compile(text, name, "exec")
        else:
            task = yaml.load(text, Loader)
            assert task["task"] in ("my_bench_mc", "my_bench_gen")
            assert task["metadata"]["version"] == "1.0.0"


@pytest.mark.parametrize(("private", "split"), [(frozenset[str](), "test"), (frozenset({"test"}), "dev")])
def test_the_split_that_is_scored_has_public_answers(private: frozenset[str], split: str) -> None:
    text = harness_files(released(private=private).record)["harness/lm_eval/benchmark_mc.yaml"]
    assert f"test_split: {split}\n" in text


def test_nothing_is_written_where_every_answer_is_private() -> None:
    assert harness_files(released(private=frozenset({"test", "dev"})).record) == {}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Because of x.\nAnswer: C", "C"),
        ("Answer: A\nNo, wait.\n**Answer: (B)**", "B"),
        ("answer: d.", "d"),
        ("I do not know", None),
        ("The answer is C", None),
    ],
)
def test_the_pattern_of_lm_eval(reply: str, letter: str | None) -> None:
    found = re.findall(ANSWER_PATTERN, reply)
    assert (found[-1] if found else None) == letter
    if letter:
        assert extract_letter(reply, 4).letter == letter.upper()
