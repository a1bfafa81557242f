"""kina run --helps: each question under KnowledgeBerg's four conditions, and where reasoning breaks down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.servers import Served, said, scripted

Kina = Callable[..., Result]
RUN = ("run", "--release", "release", "--model", "m", "-o", "r.jsonl", "--json")
NAMES = {"question": "r", "universe": "r.universe", "operations": "r.operations", "both": "r.both"}


def write(universe: object = ("iron", "gold", "zinc")) -> None:
    """Write two questions whose answer is B, and what helps with them."""
    Path("release").mkdir()
    rows = [
        {"id": name, "question": f"Which, {name}?", "choices": ["cats", "dogs", "fish"], "answer": "B"}
        for name in ("q1", "q2")
    ]
    Path("release/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    helps = [
        {"item_id": name, "universe": universe, "operations": "Sort by weight, then take the second."}
        for name in ("q1", "q2")
    ]
    Path("helps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in helps))


def needs(prompt: str, times: int) -> Served:
    """Answer q1 only with the universe at hand, q2 only with both."""
    universe, operations = "- gold\n" in prompt, "Sort by weight" in prompt
    right = universe if "q1" in prompt else universe and operations
    return said(f"Answer: {'B' if right else 'C'}")


def test_four_conditions_in_one_command_and_the_stages_they_tell(kina: Kina) -> None:
    write()
    with scripted(needs) as server:
        done = kina(*RUN, "--helps", "helps.jsonl", "--base-url", server.url)
        assert done.exit_code == 0, done.stderr
        kina(*RUN, "--helps", "helps.jsonl", "--base-url", server.url)
    assert (len(server.asked), max(server.prompts.values())) == (8, 1)
    report = json.loads(done.stdout)
    assert (report["calls"], report["answered"]) == (8, 8)
    assert [one["model"] for one in report["models"]] == [f"m, {name}" for name in NAMES]
    for condition, name in NAMES.items():
        marked = kina("score", "--task", "multiple-choice", "--release", "release",
                      "--responses", f"{name}.jsonl", "-o", f"{condition}.jsonl")  # fmt: skip
        assert marked.exit_code == 0, marked.stderr
    given = [f"--stages={name}={name}.jsonl" for name in NAMES]
    [stages] = json.loads(kina("score", "--task", "universe", *given, "--json").stdout)["stages"]
    assert stages["accuracy"] == {"question": 0, "universe": 0.5, "operations": 0, "both": 1}
    assert (stages["completeness"], stages["application"]) == (0.5, 0)


def test_the_question_alone_is_the_plain_run(kina: Kina) -> None:
    write()
    with scripted(needs) as server:
        kina(*RUN, "--helps", "helps.jsonl", "--base-url", server.url)
        alone = Path("r.jsonl").read_text()
        done = kina("run", "--release", "release", "--model", "m", "-o", "plain.jsonl", "--log",
                    "r.replies.jsonl", "--base-url", server.url)  # fmt: skip
    assert (done.exit_code, Path("plain.jsonl").read_text(), len(server.asked)) == (0, alone, 8)


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ('{"item_id": "q1", "universe": ["a"], "operations": "x"}\n', "no help for 1 of the questions"),
        ('{"item_id": "q1", "universe": ["a"], "operations": "x"}\n' * 2, "item 'q1' stands twice"),
        ('{"item_id": "q1", "universe": [], "operations": "x"}\n', "helps.jsonl:1: universe"),
    ],
)  # fmt: skip
def test_helps_that_do_not_fit_are_refused_before_any_call(spoilt: str, said: str, kina: Kina) -> None:
    write()
    Path("helps.jsonl").write_text(spoilt)
    with scripted(needs) as server:
        done = kina(*RUN, "--helps", "helps.jsonl", "--base-url", server.url)
    assert (done.exit_code, len(server.asked)) == (2, 0)
    assert said in done.stderr


def test_a_universe_in_one_text_is_read_as_a_list(kina: Kina) -> None:
    write("iron; gold; zinc")
    with scripted(needs) as server:
        assert kina(*RUN, "--helps", "helps.jsonl", "--base-url", server.url).exit_code == 0
    assert any("- iron\n- gold\n- zinc" in prompt for prompt in server.prompts)
