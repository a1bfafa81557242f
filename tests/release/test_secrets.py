"""What a release must not tell: names of hidden items, and private keys."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.items.pool import write_pool
from kina_build.release import build_release
from kina_build.release.proof.evidence import SALT, Naming, Salt
from kina_build.rows.jsonl import read_json
from tests.release.pools import spread
from tests.release.test_export_command import digest

Kina = Callable[..., Result]

FALLEN = ("i3", "i17", "i30")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a pool of which three items were rejected, and one key corrected in each split."""
    write_pool(tmp_path / "pool.jsonl", spread(40))
    rows = [
        {"item_id": f"i{n}", "decision": "reject" if f"i{n}" in FALLEN else "accept"}
        | ({"corrected_answer": "ABCD"[(n + 1) % 4]} if n < 10 else {})
        for n in range(40)
    ]
    (tmp_path / "decisions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def export(kina: Kina, *more: str, to: str = "release") -> Result:
    done = kina("export", "pool.jsonl", "--decisions", "decisions.jsonl", *more, "-o", to)
    assert done.exit_code == 0, done.output
    return done


def names(release: Path) -> set[str]:
    return {name for name, *_ in read_json(release / "evidence" / "judged.json")["decisions"]}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_salt_and_private_answers_are_for_their_owner_only(kina: Kina, place: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        export(kina, "--private", "dev")
    finally:
        os.umask(old)
    for name in (SALT, "release.answers.jsonl"):
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE((place / "release" / "test.jsonl").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((place / "release" / "evidence").stat().st_mode) == 0o777 & ~mask


def test_hidden_names_stay_from_export_to_export_and_cannot_be_made_from_the_pool(
    kina: Kina, place: Path
) -> None:
    assert "salt of hidden ids: kina.salt" in export(kina).stdout
    export(kina, to="again")
    assert digest(place / "release") == digest(place / "again")
    hidden = {name for name in names(place / "release") if name.startswith("salted:")}
    assert len(hidden) == len(FALLEN)
    (place / SALT).unlink()
    export(kina, to="other")
    assert len(names(place / "other") & hidden) == 0
    assert kina("verify", "other").exit_code == 0


def test_the_next_version_calls_hidden_items_by_the_same_names(kina: Kina, place: Path) -> None:
    (place / "one").mkdir()
    (place / "two").mkdir()
    export(kina, to="one/release")
    write_pool(place / "pool.jsonl", spread(41))
    with (place / "decisions.jsonl").open("a") as out:
        out.write('{"item_id": "i40", "decision": "accept"}\n')
    export(kina, "--previous", "one/release", to="two/release")
    assert names(place / "one" / "release") < names(place / "two" / "release")
    assert not (place / "two" / SALT).exists()
    found = json.loads(kina("diff", "one/release", "two/release", "--json").stdout)
    assert (found["added"], found["removed"], found["bump"]) == (["i40"], [], "minor")
    hidden = next(name for name in names(place / "two" / "release") if name.startswith("salted:"))
    salt = Salt(place / "one" / SALT)
    assert hidden in {Naming("benchmark", salt, {}, frozenset()).name(item_id) for item_id in FALLEN}
    assert hidden not in {Naming("another", salt, {}, frozenset()).name(item_id) for item_id in FALLEN}


def test_what_a_killed_run_left_of_the_salt_is_swept(kina: Kina, place: Path) -> None:
    (place / f".{SALT}.abcd1234.part").write_text("0" * 64 + "\n")
    export(kina)
    (place / f".{SALT}.abcd1235.part").write_text("0" * 64 + "\n")
    export(kina, to="again")
    assert not list(place.glob(f".{SALT}*"))
    assert digest(place / "release") == digest(place / "again")


def test_no_salt_is_made_where_nothing_is_hidden(kina: Kina, place: Path) -> None:
    done = kina("export", "pool.jsonl", "-o", "release")
    assert done.exit_code == 0, done.output
    assert not (place / SALT).exists()


@pytest.mark.parametrize(
    ("more", "text", "message"),
    [
        (("--salt", "release/kina.salt"), None, "does not belong in the release folder"),
        (("--salt", "mine"), "password\n", "mine: no salt of kina"),
        (("--salt", "no/such"), None, "no/such: cannot write"),
    ],
)
def test_a_salt_that_would_be_published_or_is_none_is_refused(
    kina: Kina, place: Path, more: tuple[str, ...], text: str | None, message: str
) -> None:
    if text is not None:
        (place / "mine").write_text(text)
    done = kina("export", "pool.jsonl", "--decisions", "decisions.jsonl", "-o", "release", *more)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert not (place / "release").exists()


def test_python_keeps_the_same_salt_as_the_command(kina: Kina, place: Path) -> None:
    export(kina)
    build_release(place / "pool.jsonl", decisions=place / "decisions.jsonl").write(place / "again")
    assert digest(place / "release") == digest(place / "again")


def test_nothing_in_a_release_tells_a_private_key_that_was_corrected(kina: Kina, place: Path) -> None:
    export(kina, "--private", "test", "--keep-letters", "--allow", "key_position=as they came")
    record = read_json(place / "release" / "release.json")
    hidden = {json.loads(line)["id"] for line in (place / "release" / "test.jsonl").read_text().splitlines()}
    told = record["provenance"]
    assert not hidden & told["corrected_keys"].keys()
    corrected = {f"i{n}" for n in range(10)} - set(FALLEN)
    assert told.get("corrected_private", 0) == len(hidden & corrected) > 0
    assert f"Keys corrected in review: {len(corrected)}." in (place / "release" / "README.md").read_text()
    assert kina("verify", "release", "--answers", "release.answers.jsonl").exit_code == 0


def test_a_gate_that_is_let_pass_counts_no_private_keys(kina: Kina, tmp_path: Path) -> None:
    write_pool(
        tmp_path / "pool.jsonl", [one.model_copy(update={"correct_answer": "A"}) for one in spread(80)]
    )
    shown = {}
    for private in ((), ("--private", "test")):
        more = ("--keep-letters", "--allow", "key_position=as they came", *private)
        done = kina("export", "pool.jsonl", *more, "-o", "release", "--overwrite")
        assert done.exit_code == 0, done.output
        shown[private] = read_json(tmp_path / "release" / "release.json")["exemptions"][0]["message"]
    assert "A 80" in shown[()]
    assert not any(sign.isdigit() for sign in shown["--private", "test"])


def test_few_private_keys_draw_nothing_that_is_published(kina: Kina, tmp_path: Path) -> None:
    """Whoever has the rest of the pool could try such keys until the letters of the open split come out."""
    items = spread(40)
    export = ("export", "pool.jsonl", "--private", "dev", "-o", "release", "--overwrite")
    write_pool(tmp_path / "pool.jsonl", items)
    assert kina(*export).exit_code == 0
    drawn = [json.loads(line) for line in (tmp_path / "release" / "test.jsonl").read_text().splitlines()]
    hidden = json.loads((tmp_path / "release" / "dev.jsonl").read_text().splitlines()[0])["id"]
    other = "ABCD"[(int(hidden[1:]) + 1) % 4]
    changed = [i.model_copy(update={"correct_answer": other}) if i.item_id == hidden else i for i in items]
    write_pool(tmp_path / "pool.jsonl", changed)
    assert kina(*export).exit_code == 0
    again = [json.loads(line) for line in (tmp_path / "release" / "test.jsonl").read_text().splitlines()]
    assert [row["choices"] for row in drawn] == [row["choices"] for row in again]


def test_items_that_are_anchors_too_are_hidden_as_both(kina: Kina, tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl", spread(12))
    scores = [f"i{n},i{a},{1.0 if n == a else 0.1 * ((n + a) % 7)}" for n in range(12) for a in range(12)]
    (tmp_path / "support.csv").write_text("\n".join(["item_id,anchor_id,score", *scores]) + "\n")
    weights = [f"i{a},{a + 1}" for a in range(12)]
    (tmp_path / "anchors.csv").write_text("\n".join(["anchor_id,weight", *weights]) + "\n")
    files = ("--support", "support.csv", "--anchors", "anchors.csv", "-k", "5", "-o", "selection.json")
    assert kina("select", *files).exit_code == 0
    done = kina("export", "pool.jsonl", "--selection", "selection.json", "-o", "release")
    assert done.exit_code == 0, done.output
    instance = read_json(tmp_path / "release" / "evidence" / "instance.json")
    chosen = set(read_json(tmp_path / "selection.json")["item_ids"])
    assert {one for one in instance["anchors"]["ids"] if not one.startswith("salted:")} == chosen
    assert instance["anchors"]["ids"] == sorted(instance["anchors"]["ids"])
    assert kina("verify", "release").exit_code == 0
    figures = read_json(tmp_path / "release" / "release.json")["figures"]["selection"]
    certified = read_json(tmp_path / "selection.json")["certificate"]["tightest"]["upper_bound"]
    assert figures["bound_asked"] / figures["unit"] == pytest.approx(certified, abs=1e-9)
