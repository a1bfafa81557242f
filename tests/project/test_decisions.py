"""What people decide: kept with who, when, why and on which texts; followed, contradicted, asked again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item, Option
from kina_build.project.deciding import make_ruling, record_ruling
from kina_build.project.decisions import Ruling, check_texts, read_rulings, text_hash
from tests.project.conftest import ran, run_kina

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def item(name: str, question: str = "Which?", key: str = "A") -> Item:
    options = (Option(key="A", answer="one"), Option(key="B", answer="two"))
    return Item(item_id=name, question=question, options=options, correct_answer=key)


ITEMS = {name: item(name) for name in ("q1", "q2", "q3")}


def say(
    root: Path, who: str, kind: str, subject: list[str], verdict: str, letter: str | None = None
) -> Ruling:
    ruling = make_ruling(
        kind,  # type: ignore[arg-type]
        subject, verdict, who=who, reason="looked it up", at=NOON, items=ITEMS, letter=letter,
    )  # fmt: skip
    record_ruling(root, ruling)
    return ruling


def test_the_last_word_of_a_person_counts_and_all_words_are_kept(tmp_path: Path) -> None:
    say(tmp_path, "ann", "key", ["q1"], "right")
    say(tmp_path, "ann", "key", ["q1"], "wrong", "B")
    found = read_rulings(tmp_path)
    assert [one.says for one in found.holding] == ["wrong (B)"]
    assert len((tmp_path / "decisions" / "key-ann.jsonl").read_text().splitlines()) == 2
    (override,) = found.overrides
    assert (override.decision, override.item_id, override.letter) == ("wrong_key", "q1", "B")
    assert override.note == "ann: looked it up"


def test_two_people_who_differ_are_shown_and_neither_is_followed(tmp_path: Path) -> None:
    say(tmp_path, "ann", "pair", ["q2", "q1"], "same")
    say(tmp_path, "bob", "pair", ["q1", "q2"], "different")
    say(tmp_path, "bob", "item", ["q3"], "drop")
    found = read_rulings(tmp_path)
    assert [[one.who for one in group] for group in found.torn] == [["ann", "bob"]]
    assert [one.about for one in found.holding] == ["item q3"]
    say(tmp_path, "ann", "pair", ["q1", "q2"], "different")
    assert read_rulings(tmp_path).torn == ()


def test_a_decision_on_a_text_that_changed_is_asked_again(tmp_path: Path) -> None:
    say(tmp_path, "ann", "key", ["q1"], "right")
    say(tmp_path, "ann", "key", ["q2"], "right")
    say(tmp_path, "ann", "gate", ["selection_reduced"], "allow")
    found = check_texts(read_rulings(tmp_path), {**ITEMS, "q1": item("q1", key="B")})
    assert [one.about for one in found.changed] == ["key q1"]
    assert {one.about for one in found.holding} == {"key q2", "gate selection_reduced"}
    gone = check_texts(read_rulings(tmp_path), {"q1": ITEMS["q1"]})
    assert [one.about for one in gone.changed] == ["key q2"]


def test_the_hash_is_of_what_is_shown_and_of_nothing_else() -> None:
    assert text_hash([item("q1"), item("q2")]) == text_hash([item("q2"), item("q1")])
    filed = item("q1").model_copy(update={"license": "MIT", "field": "law"})
    assert text_hash([filed]) == text_hash([item("q1")])
    assert (
        len({text_hash([item("q1")]), text_hash([item("q1", "What?")]), text_hash([item("q1", key="B")])})
        == 3
    )


@pytest.mark.parametrize(
    ("kind", "subject", "verdict", "more", "said"),
    [
        ("key", ["q9"], "right", {}, "'q9' is no item of the pool"),
        ("key", ["q1"], "drop", {}, "'drop' cannot be said of a key"),
        ("pair", ["q1"], "same", {}, "a pair is two different items"),
        ("pair", ["q1", "q1"], "same", {}, "a pair is two different items"),
        ("key", ["q1"], "wrong", {"letter": "E"}, "q1 has no such option"),
        ("key", ["q1"], "right", {"who": "../ann"}, "use small letters"),
        ("key", ["q1"], "right", {"reason": " "}, "a decision needs a --reason"),
    ],
)
def test_what_cannot_be_decided_is_refused(
    kind: str, subject: list[str], verdict: str, more: dict[str, str], said: str
) -> None:
    told = {"who": "ann", "reason": "so", "letter": None} | more
    with pytest.raises(UsageError, match=said):
        make_ruling(kind, subject, verdict, at=NOON, items=ITEMS, **told)  # type: ignore[arg-type]


def test_a_torn_last_line_is_not_added_to(tmp_path: Path) -> None:
    say(tmp_path, "ann", "key", ["q1"], "right")
    path = tmp_path / "decisions" / "key-ann.jsonl"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match="its last line is torn"):
        say(tmp_path, "ann", "key", ["q2"], "right")


def released(project: Path) -> set[str]:
    lines = [line for split in ("test", "dev") for line in _lines(project / "release" / f"{split}.jsonl")]
    return {json.loads(line)["id"] for line in lines}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def decide(project: Path, *words: str) -> None:
    done = run_kina(project, "decide", *words, "--reason", "looked it up")
    assert done.exit_code == 0, done.output


def test_stages_follow_decisions_and_a_changed_mind(project: Path) -> None:
    chosen = json.loads((project / "selection.json").read_text())["item_ids"][0]
    decide(project, "item", chosen, "drop", "--who", "ann")
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 0, done.output
    assert ran(done)[:3] == ["overrides", "dedup", "leave-out"]
    assert chosen not in released(project)
    told = run_kina(project, "why", chosen).stdout
    assert f"item {chosen}: drop: looked it up" in told
    assert "left out as decided: ann: item drop: looked it up" in told

    decide(project, "item", chosen, "keep", "--who", "bob")
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 1
    (case,) = json.loads(done.stdout)["decisions"]
    assert case["message"] == f"item {chosen}: ann says drop: looked it up; bob says keep: looked it up"
    assert chosen in released(project)  # nobody is followed: it stands as it was found

    decide(project, "item", chosen, "keep", "--who", "ann")
    assert run_kina(project, "build", "-q").exit_code == 0


def test_an_exception_for_a_gate_and_a_withdrawn_item_reach_the_card(project: Path) -> None:
    one, two = sorted(released(project))[:2]
    decide(project, "gate", "selection_reduced", "allow", "--who", "ann")
    decide(project, "item", one, "withdraw", "--who", "ann")
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 0, done.output
    line = next(x["line"] for x in json.loads(done.stdout)["stages"] if x["stage"] == "export")
    assert "--allow 'selection_reduced=looked it up'" in line
    assert f"--take-down '{one}=looked it up'" in line
    assert one not in released(project)
    assert two in released(project)


def test_a_gate_that_no_reason_lets_pass_is_not_decided_on(project: Path) -> None:
    done = run_kina(project, "decide", "gate", "withheld", "allow", "--who", "ann", "--reason", "so")
    assert done.exit_code == 2
    assert "withheld: no gate that may be let pass" in done.stderr


def test_an_item_that_stands_elsewhere_is_left_out_until_a_person_keeps_it(project: Path) -> None:
    chosen = json.loads((project / "selection.json").read_text())["item_ids"][0]
    rows = {json.loads(line)["item_id"]: json.loads(line) for line in _lines(project / "pool.jsonl")}
    (project / "other.jsonl").write_text(json.dumps({"text": rows[chosen]["question"]}) + "\n")
    with (project / "kina.toml").open("a") as out:
        out.write('[project.contamination]\nagainst = ["other.jsonl"]\n')
    done = run_kina(project, "build", "--json")
    assert done.exit_code == 0, done.output
    assert ran(done)[:2] == ["contamination", "leave-out"]
    assert chosen not in released(project)
    assert {"step": "contaminated", "count": 1, "lost": True} in json.loads(done.stdout)["funnel"]
    assert "left out as contaminated: stands in other.jsonl" in run_kina(project, "why", chosen).stdout

    decide(project, "item", chosen, "keep", "--who", "ann")
    assert run_kina(project, "build", "-q").exit_code == 0
    assert "eligible" in run_kina(project, "why", chosen).stdout
