"""Patches: proposed by repairs or made by hand, applied again after every import, refused on other text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import Refusal, UsageError
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.mending.fixes import REPAIRS, fix, names_of, propose_fixes
from kina_build.items.mending.patch import Patch, apply_patches, make_patch, read_patches, text_digest
from kina_build.items.model import Item
from kina_build.items.options import FixOptions, ImportOptions
from kina_build.items.pool import write_pool
from kina_build.items.questions import import_questions
from kina_build.rows.jsonl import write_records

Make = Callable[..., Item]
SAFE = names_of((), ())


def placed(*patches: Patch) -> list[tuple[str, int, Patch]]:
    return [("patches.jsonl", row, patch) for row, patch in enumerate(patches, start=1)]


@pytest.mark.parametrize(
    ("name", "text", "mended"),
    [
        ("entities", "R&amp;D at 4&deg;C", "R&D at 4°C"),
        ("entities", "R&D; at 4", None),
        ("blanks", " oxygen\n", "oxygen"),
        ("blanks", "two  words", None),
        ("unicode", "oxy\u200bgen", "oxygen"),
        ("unicode", "cafe\u0301", "café"),
        ("unicode", "x² and \u06f0\u200c\u0645", None),
        ("mojibake", "OrlÃ©ans â€“ Lyon", "Orléans – Lyon"),
        ("mojibake", "São João", None),
    ],
)
def test_each_repair_mends_its_fault_and_spares_the_rest(
    make_item: Make, name: str, text: str, mended: str | None
) -> None:
    item = make_item("q", "Which of these is it, here?", [text, "other", "third"], "B")
    found = list(propose_fixes([item], [name]))
    if mended is None:
        assert found == []
    else:
        (patch,) = found
        assert [(c.field, c.old, c.new, c.why) for c in patch.changes] == [("options.A", text, mended, name)]


def test_mojibake_is_mended_only_when_asked_for() -> None:
    assert "mojibake" not in names_of((), ())
    assert names_of((), ["mojibake"]) == list(REPAIRS)
    assert names_of(["blanks"], ()) == ["blanks"]
    with pytest.raises(UsageError, match="no repair 'spelling'"):
        names_of(["spelling"], ())


def test_a_repair_that_would_break_a_rule_is_not_proposed(make_item: Make) -> None:
    """Without its entities, the option would hold an HTML tag."""
    item = make_item("q", "Which word is it?", ["&lt;b&gt;x&lt;/b&gt; &amp; y", "z", "w"], "B")
    assert list(propose_fixes([item], ["entities"])) == []


def test_entities_that_are_the_subject_stay(make_item: Make) -> None:
    item = make_item("q", "Which entity is shown in HTML as an ampersand?", ["&amp;", "&lt;", "&gt;"], "A")
    assert list(propose_fixes([item], SAFE)) == []


def test_patches_apply_one_after_the_other_and_only_once(make_item: Make) -> None:
    item = make_item("q", "Which gas? ", ["oxygen", "argon"], "A")
    (first,) = propose_fixes([item], SAFE)
    once = apply_patches([item], placed(first)).items[0]
    second = make_patch(once, [("options.B", "neon", "argon is right as well")], "anna")
    both = placed(first, second)
    done = apply_patches([item], both)
    assert done.changed == 1
    assert (done.items[0].question, done.items[0].options[1].answer) == ("Which gas?", "neon")
    for state in (item, once, done.items[0]):
        assert apply_patches([state], both).items == done.items
    assert apply_patches(done.items, both).changed == 0


def test_a_patch_for_another_text_is_refused(make_item: Make) -> None:
    (patch,) = propose_fixes([make_item("q", "Which gas? ")], SAFE)
    changed = apply_patches([make_item("q", "Which metal? ")], placed(patch))
    assert changed.items == ()
    assert [(r.reason, r.file, r.line, r.item_id) for r in changed.rejects] == [
        ("patch_stale", "patches.jsonl", 1, "q")
    ]
    absent = apply_patches([make_item("other")], placed(patch))
    assert len(absent.items) == 1
    assert [r.reason for r in absent.rejects] == ["patch_without_item"]


def test_a_patch_edited_by_hand_is_refused(make_item: Make) -> None:
    item = make_item("q", "Which gas? ")
    (patch,) = propose_fixes([item], SAFE)
    (change,) = patch.changes
    forged = patch.model_copy(update={"changes": (change.model_copy(update={"new": "Which metal?"}),)})
    (reject,) = apply_patches([item], placed(forged)).rejects
    assert "edited by hand" in reject.message
    gap = apply_patches([item], placed(patch, make_patch(make_item("q", "x"), [("question", "y", "w")], "a")))
    assert "do not follow" in gap.rejects[0].message


def test_a_new_key_takes_the_explanation_with_it(make_item: Make) -> None:
    item = make_item("q").model_copy(update={"explanation": "The answer is A."})
    key = ("correct_answer", "B", "p. 12")
    with pytest.raises(RowRefused, match="explanation does not: name it too"):
        make_patch(item, [key], "anna")
    with pytest.raises(RowRefused, match="calls A right, the key is B"):
        make_patch(item, [key, ("explanation", "The answer is A.", "stays")], "anna")
    patch = make_patch(item, [key, ("explanation", "The answer is B.", "p. 12")], "anna")
    (after,) = apply_patches([item], placed(patch)).items
    assert (after.correct_answer, after.explanation) == ("B", "The answer is B.")


@pytest.mark.parametrize(
    ("field", "new", "said"),
    [
        ("correct_answer", "Z", "names no option"),
        ("question", None, "without a text"),
        ("options.A", None, "without a text"),
        ("options.Z", "x", "cannot change 'options.Z'"),
        ("item_id", "x", "cannot change 'item_id'"),
    ],
)
def test_unsound_patches_are_refused(make_item: Make, field: str, new: str | None, said: str) -> None:
    with pytest.raises(RowRefused, match=said):
        make_patch(make_item("q"), [(field, new, "why")], "anna")


def test_a_patch_survives_a_re_import(tmp_path: Path) -> None:
    csv, patches = tmp_path / "q.csv", tmp_path / "patches.jsonl"
    csv.write_text("question,A,B,answer\nIs it 4&deg;C?,yes, no,A\nsound?,x,y,B\n")
    write_pool(tmp_path / "pool.jsonl", import_questions(ImportOptions(files=(csv,), output=Path("-"))).items)
    fixes = fix(FixOptions(pool=tmp_path / "pool.jsonl", output=patches))
    fixes.add_to(patches)
    again = ImportOptions(files=(csv,), output=Path("-"), patch=(patches,))
    pool = import_questions(again)
    assert pool.report["patched"] == 1
    assert sorted(item.question for item in pool) == ["Is it 4°C?", "sound?"]
    assert fix(FixOptions(pool=tmp_path / "pool.jsonl", output=patches)).patches == ()
    csv.write_text(csv.read_text().replace("Is it", "Was it"))
    assert [reject.reason for reject in import_questions(again).rejects] == ["patch_without_item"]


def test_the_command_adds_patches_and_keeps_what_stands_there(
    make_item: Make, tmp_path: Path, kina: Any
) -> None:
    write_pool(tmp_path / "pool.jsonl", [make_item("q", " Which gas?")])
    patches = tmp_path / "patches.jsonl"
    options = ["fix", str(tmp_path / "pool.jsonl"), "-o", str(patches), "--json"]
    assert kina(*options, "--dry-run").exit_code == 0
    assert not patches.exists()
    assert json.loads(kina(*options).stdout)["by_reason"] == {"blanks": 1}
    first = patches.read_text()
    by_hand = ["--item", "q", "--set", "options.A=ozone", "--by", "anna", "--why", "p. 3"]
    assert kina(*options, *by_hand).exit_code == 0
    assert patches.read_text().startswith(first)
    row = json.loads(patches.read_text().splitlines()[1])
    assert row["by"] == "anna"
    assert row["text_sha"] == json.loads(first)["result_sha"]
    assert kina(*options, *by_hand[:4]).exit_code == 2
    write_pool(tmp_path / "pool.jsonl", [make_item("q", " Which metal?")])
    refused = kina(*options)
    assert refused.exit_code == 1
    assert "its text is not the one" in refused.output


def test_digests_tell_texts_apart(make_item: Make) -> None:
    item = make_item("q")
    assert text_digest(item) == text_digest(item.model_copy(update={"language": "en"}))
    for field in ("question", "explanation", "question_material", "question_source", "correct_answer"):
        assert text_digest(item) != text_digest(item.model_copy(update={field: "B"}))


def test_patches_that_do_not_fit_stop_the_command(make_item: Make, tmp_path: Path) -> None:
    write_pool(tmp_path / "a.jsonl", [make_item("q", "Which gas? ")])
    write_pool(tmp_path / "b.jsonl", [make_item("p", "Which gas? ")])
    patches = tmp_path / "patches.jsonl"
    fix(FixOptions(pool=tmp_path / "a.jsonl", output=patches)).add_to(patches)
    with pytest.raises(Refusal, match="no item 'q' is here"):
        fix(FixOptions(pool=tmp_path / "b.jsonl", output=patches))


def test_a_patch_that_gives_a_text_where_there_was_none_is_read_again(
    tmp_path: Path, make_item: Make
) -> None:
    item = make_item("q", "Which?", ["one", "two"], "A")
    patch = make_patch(item, [("explanation", "The first.", "asked for")], "ann")
    write_records(tmp_path / "patches.jsonl", [patch])
    ((_, _, again),) = read_patches([tmp_path / "patches.jsonl"])
    assert again == patch
    assert apply_patches([item], placed(again)).items[0].explanation == "The first."
