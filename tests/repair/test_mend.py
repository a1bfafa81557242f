"""Diagnoses of planted faults, proposals that only a person can accept, and sound items left alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import Refusal, UsageError
from kina_build.items.answers import build_matrix, spread_strings
from kina_build.items.checking.lint import check
from kina_build.items.checking.rulebook import RULES
from kina_build.items.mending.patch import apply_patches
from kina_build.items.model import Item
from kina_build.items.options import FixOptions
from kina_build.items.pool import write_pool
from kina_build.repair.diagnosis import KIND_OF_RULE, Diagnosis, weigh_votes
from kina_build.repair.mend import accept, diagnose

Make = Callable[..., Item]
TEXTS = ["oxygen", "argon", "neon", "xenon"]


def vote(items: Sequence[Item], letters: Sequence[str]) -> list[Diagnosis]:
    """Diagnose with ten models; each string holds the letters that they give one item."""
    rows = [{"model": f"m{n}", "answers": "".join(one[n] for one in letters)} for n in range(10)]
    return diagnose(items, check(items), weigh_votes(items, build_matrix(items, spread_strings(rows, items))))


def kinds(found: Sequence[Diagnosis]) -> dict[str, list[str]]:
    return {one.item_id: [issue.kind for issue in one.issues] for one in found}


PLANTED = {
    "no_key": {"correct_answer": "E"},
    "wrong_key": {"explanation": "The answer is C."},
    "several_keys": {"question": "Which are noble gases? Select all that apply."},
    "unclear": {"question": "Which of the following gases is the most"},
    "missing_context": {"question": "What does the passage above imply of oxygen?"},
    "outdated": {"question": "Who is the current mayor of Lisbon?"},
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_faults_are_named_by_their_kinds(make_item: Make, kind: str) -> None:
    sound = make_item("sound", "Which gas do plants give off in daylight?", TEXTS, "A")
    faulty = sound.model_copy(update={"item_id": "faulty", "question": "Which gas burns?", **PLANTED[kind]})
    assert kinds(diagnose([sound, faulty], check([sound, faulty]))) == {"faulty": [kind]}


def test_a_flawed_distractor_is_named_with_its_field(make_item: Make) -> None:
    item = make_item("q", "Which gas do plants give off?", ["oxygen", "argon", "argon ", "TBD"], "A")
    (found,) = diagnose([item], check([item]))
    (issue,) = found.issues
    assert issue.kind == "flawed_distractor"
    assert set(issue.fields) == {"options.B", "options.D"}


def test_a_source_is_asked_for_by_the_kina_profile(make_item: Make) -> None:
    item = make_item("q").model_copy(update={"question_source": "ChatGPT, answer of 3 May"})
    (found,) = diagnose([item], check([item], "kina"))
    assert found.issues[-1].kind == "source"
    assert diagnose([item], check([item])) == []


def test_every_rule_that_is_mapped_exists() -> None:
    assert KIND_OF_RULE.keys() <= RULES.keys()


def test_models_name_wrong_and_several_keys(make_item: Make) -> None:
    items = [
        make_item(name, f"Which gas is {name}?", TEXTS, "A") for name in ("fine", "wrong", "split", "weak")
    ]
    found = vote(items, ["AAAAAAAAAA", "CCCCCCCCAC", "AAAAABBBBB", "ABCDABCDAB"])
    assert kinds(found) == {"wrong": ["wrong_key"], "split": ["several_keys"]}
    wrong = found[0]
    assert wrong.rank == 1
    assert wrong.issues[0].evidence[0].message == "9 of 10 strong models agree on C, 1 on the key"
    assert wrong.proposal is not None
    assert [(one.field, one.old, one.new) for one in wrong.proposal.changes] == [("correct_answer", "A", "C")]
    assert (wrong.share_right, wrong.share_right_after, wrong.easier) == (0.1, 0.9, True)
    assert found[1].proposal is None


def test_a_key_is_not_proposed_over_an_explanation_that_must_be_written_anew(make_item: Make) -> None:
    items = [make_item("q", "Which gas?", TEXTS, "A"), make_item("other", "Which metal?", TEXTS, "B")]
    votes = ["CCCCCCCCCC", "BBBBBBBBBB"]
    explained = items[0].model_copy(update={"explanation": "Plants split water."})
    (found,) = vote([explained, items[1]], votes)
    assert (found.issues[0].kind, found.proposal) == ("wrong_key", None)
    in_step = items[0].model_copy(update={"explanation": "The answer is C."})
    (found,) = vote([in_step, items[1]], votes)
    assert found.proposal is not None
    assert [one.field for one in found.proposal.changes] == ["correct_answer", "explanation"]
    assert {one.by for one in found.issues[0].evidence} == {"explanation_contradicts_key", "models"}


def test_votes_for_the_key_outweigh_an_explanation_that_denies_it(make_item: Make) -> None:
    items = [make_item("q", "Which gas?", TEXTS, "A").model_copy(update={"explanation": "The answer is C."})]
    items.append(make_item("other", "Which metal?", TEXTS, "B"))
    (found,) = vote(items, ["AAAAAAAAAA", "BBBBBBBBBB"])
    assert found.issues[0].kind == "wrong_key"
    assert found.proposal is None
    (alone,) = diagnose(items, check(items))
    assert alone.proposal is not None


def test_a_proposal_touches_only_the_fields_of_the_diagnosis(make_item: Make) -> None:
    item = make_item("q", "Is water liquid at 4&deg;C?", ["yes ", "no", "maybe", "never"], "A")
    (found,) = diagnose([item], check([item]))
    assert found.proposal is not None
    assert [one.field for one in found.proposal.changes] == ["question"]
    assert found.share_right is None


@pytest.fixture
def folder(make_item: Make, tmp_path: Path) -> Path:
    items = [make_item("q1", "Which gas?", TEXTS, "A"), make_item("q2", "Which metal?", TEXTS, "B")]
    write_pool(tmp_path / "pool.jsonl", items)
    rows = [
        {"model": f"m{n}", "item_id": i, "letter": x}
        for n in range(10)
        for i, x in (("q1", "C"), ("q2", "B"))
    ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_a_proposal_changes_nothing_until_a_person_accepts_it(
    folder: Path, kina: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    said = kina("repair", "pool.jsonl", "--responses", "votes.jsonl", "--letters-of", "pool.jsonl", "--json")
    assert said.exit_code == 0, said.output
    report = json.loads(said.stdout)
    assert (report["doubtful"], report["proposals"], report["by_kind"]) == (1, 1, {"wrong_key": 1})
    assert report["letters"] == "order as stated, not proven"
    refused = kina("import", "pool.jsonl", "--patch", "diagnoses.jsonl", "-o", "out.jsonl")
    assert refused.exit_code == 2
    assert not Path("out.jsonl").exists()
    options = ["fix", "pool.jsonl", "--accept", "diagnoses.jsonl", "--item", "q1"]
    assert kina(*options).exit_code == 2
    assert kina(*options, "--by", "anna", "--why", "p. 12").exit_code == 0
    row = json.loads(Path("patches.jsonl").read_text())
    assert (row["by"], row["changes"][0]["why"]) == ("anna", "p. 12")
    assert kina("import", "pool.jsonl", "--patch", "patches.jsonl", "-o", "out.jsonl").exit_code == 0
    keys = {
        one["item_id"]: one["correct_answer"]
        for one in map(json.loads, Path("out.jsonl").read_text().splitlines())
    }
    assert keys == {"q1": "C", "q2": "B"}
    again = kina(*options, "--by", "anna")
    assert again.exit_code == 1
    assert "is not what the proposal was made for" in again.output


def test_only_what_was_proposed_can_be_accepted(folder: Path) -> None:
    (folder / "d.jsonl").write_text("")
    with pytest.raises(UsageError, match="accepted with --accept, --item and --by"):
        accept(FixOptions(pool=folder / "pool.jsonl", accept=folder / "d.jsonl", item="q2"))


def test_sound_items_are_never_proposed_for_whatever_models_err(make_item: Make) -> None:
    """Strong models that err apart from each other agree on nothing."""
    items = [make_item(f"q{n}", f"Which gas is number {n}?", TEXTS, "ABCD"[n % 4]) for n in range(40)]
    letters = ["".join("ABCD"[(n + (n * m) % 3 * (m % 2)) % 4] for m in range(10)) for n in range(40)]
    assert [one.item_id for one in vote(items, letters) if one.proposal is not None] == []


def test_an_accepted_patch_fits_the_item(make_item: Make) -> None:
    items = [make_item("q", "Which gas?", TEXTS, "A"), make_item("other", "Which metal?", TEXTS, "B")]
    (found,) = vote(items, ["CCCCCCCCCC", "BBBBBBBBBB"])
    assert found.proposal is not None
    done = apply_patches(items, [("d", 1, found.proposal)])
    assert done.rejects == ()
    assert done.items[0].correct_answer == "C"


def test_a_refusal_names_the_item(folder: Path, make_item: Make) -> None:
    items = [make_item("q1", "Which gas?", TEXTS, "A"), make_item("q2", "Which metal?", TEXTS, "B")]
    (found,) = vote(items, ["CCCCCCCCCC", "BBBBBBBBBB"])
    (folder / "d.jsonl").write_text(found.model_dump_json() + "\n")
    write_pool(folder / "pool.jsonl", [items[0].model_copy(update={"correct_answer": "D"}), items[1]])
    with pytest.raises(Refusal, match="item 'q1'"):
        accept(FixOptions(pool=folder / "pool.jsonl", accept=folder / "d.jsonl", item="q1", by="anna",
                          output=folder / "p.jsonl"))  # fmt: skip
