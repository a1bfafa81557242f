"""A taxonomy that is sound, one that is not, and a pool beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.items.taxonomy import Coverage, Leaf, cover, read_taxonomy
from kina_build.selection.inputs import read_quotas

Make = Callable[..., Item]


def leaf(code: str, *path: str, **more: Any) -> Leaf:
    return Leaf(code=code, discipline=path[0], field=path[1], subfield=path[2], **more)


OPTICS = leaf("1.1.1", "Science", "Physics", "Optics", items=1)
SOUND = leaf("1.1.2", "Science", "Physics", "Acoustics")
CARBON = leaf("1.2.1", "Science", "Chemistry", "Carbon", uncovered="no reviewers")


def rules(found: Coverage) -> list[tuple[str, str]]:
    return [(fault.rule, fault.place) for fault in found.faults]


def items(make_item: Make, *paths: tuple[str, str, str]) -> list[Item]:
    return [
        make_item(f"q{n}").model_copy(
            update=dict(zip(("discipline", "field", "subfield"), path, strict=True))
        )
        for n, path in enumerate(paths)
    ]


def test_a_sound_taxonomy_that_a_pool_covers(make_item: Make) -> None:
    found = cover([OPTICS, SOUND, CARBON], items(make_item, OPTICS.path, SOUND.path, SOUND.path))
    assert found.faults == ()
    assert found.counts == {"1.1.1": 1, "1.1.2": 2, "1.2.1": 0}
    assert found.report["disciplines"] == {"Science": {"leaves": 3, "covered": 2, "items": 3}}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (leaf("1.1.1", "Science", "Physics", "Heat"), ("code_repeated", "1.1.1")),
        (leaf("1.1.3", "Science", "Physics", "Optics"), ("leaf_repeated", "1.1.3")),
        (leaf("1.1.3", "Science", "Biology", "Cells"), ("code_out_of_step", "1.1.3")),
        (leaf("2.1.3", "Science", "Physics", "Heat"), ("code_out_of_step", "2.1.3")),
        (leaf("1.1.3", "Science", "physics", "Heat"), ("spelled_twice", "1.1.3")),
    ],
)
def test_faults_of_a_taxonomy_are_named(wrong: Leaf, expected: tuple[str, str]) -> None:
    assert expected in rules(cover([OPTICS, SOUND, wrong]))
    assert cover([OPTICS, SOUND]).faults == ()


def test_codes_without_dots_need_no_order() -> None:
    assert cover([leaf("x", "S", "P", "O"), leaf("a", "S", "P", "H"), leaf("m", "T", "P", "O")]).faults == ()


def test_a_pool_that_does_not_fit_is_told_leaf_by_leaf(make_item: Make) -> None:
    pool = items(make_item, ("Science", "Physics", "Optic"), CARBON.path, ("", "", ""))
    found = cover([OPTICS, SOUND, CARBON], pool)
    assert rules(found) == [
        ("unknown_path", "q0"),
        ("unknown_path", "q2"),
        ("leaf_uncovered", "1.1.1"),
        ("leaf_uncovered", "1.1.2"),
        ("covered_after_all", "1.2.1"),
    ]
    assert found.faults[0].message.endswith("perhaps Science > Physics > Optics")
    short = cover([OPTICS.model_copy(update={"items": 3})], items(make_item, OPTICS.path))
    assert rules(short) == [("leaf_short", "1.1.1")]


def test_rows_of_a_taxonomy_have_three_levels_and_counts_in_order(tmp_path: Path) -> None:
    file = tmp_path / "taxonomy.csv"
    file.write_text("code,discipline,field,subfield,items,most\n1,S,P,O,2,1\n2,S,,O,,\n")
    with pytest.raises(InputError, match="needs 2 items and may have 1") as caught:
        read_taxonomy(file)
    assert "field" in caught.value.message
    file.write_text("code,discipline,field,subfield,items,uncovered\n1,S,P,O,2,why\n")
    with pytest.raises(InputError, match="listed as uncovered and needs 2"):
        read_taxonomy(file)


def test_the_command_writes_quotas_that_select_reads(
    make_item: Make, tmp_path: Path, kina: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taxonomy.csv").write_text(
        "code,discipline,field,subfield,items,most,uncovered\n"
        "1.1.1,Science,Physics,Optics,1,2,\n1.1.2,Science,Physics,Acoustics,,,\n"
        "1.2.1,Science,Chemistry,Carbon,,,no reviewers\n"
    )
    write_pool(Path("pool.jsonl"), items(make_item, OPTICS.path))
    line = ["taxonomy", "taxonomy.csv", "--pool", "pool.jsonl", "-o", "quotas.csv"]
    said = kina(*line, "--json")
    assert said.exit_code == 1
    assert [one["rule"] for one in json.loads(said.stdout)["faults"]] == ["leaf_uncovered"]
    assert not Path("quotas.csv").exists()
    write_pool(Path("pool.jsonl"), items(make_item, OPTICS.path, SOUND.path))
    done = kina(*line)
    assert done.exit_code == 0, done.output
    quotas = {one.stratum: (one.lower, one.upper) for one in read_quotas(Path("quotas.csv"))}
    assert quotas == {"Optics": (1, 2), "Acoustics": (0, None), "Carbon": (0, 0)}
    assert "1 listed as uncovered" in kina("taxonomy", "taxonomy.csv").stdout


def test_a_stratum_that_would_mean_two_leaves_is_refused(tmp_path: Path) -> None:
    found = cover([leaf("a", "S", "P", "General"), leaf("b", "S", "C", "General")])
    with pytest.raises(Refusal, match="'General' stands in 2 leaves"):
        found.write_quotas(tmp_path / "quotas.csv")
