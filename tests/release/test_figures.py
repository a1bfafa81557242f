"""Figures of a release: derived from what is released, checked by anyone, not to be edited."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from kina_build.items.pool import write_pool
from kina_build.release import standalone
from kina_build.release.folder import write_sums
from kina_build.release.proof.thresholds import lower_bound
from kina_build.release.record import ReleaseRecord
from kina_build.rows.jsonl import read_json, write_document
from tests.release.pools import spread

Kina = Callable[..., Result]

ITEMS, ANCHORS = 24, 6
FALLEN = "selection_reduced=review withdrew them"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a pool, its support, a selection of 10 with quotas, and decisions that reject two of these."""
    from kina_build.cli.main import app

    folder = tmp_path_factory.mktemp("world")
    rng = random.Random(4)
    fields = ("hills", "rivers")
    items = [i.model_copy(update={"subfield": fields[n % 2]}) for n, i in enumerate(spread(ITEMS))]
    write_pool(folder / "pool.jsonl", items)
    scores = [
        f"i{n},a{a},0.{rng.randrange(1, 9)}"
        for n in range(ITEMS)
        for a in range(ANCHORS)
        if rng.random() < 0.5
    ]
    (folder / "support.csv").write_text("\n".join(["item_id,anchor_id,score", *scores]) + "\n")
    weights = [f"a{a},{a + 1}" for a in range(ANCHORS)]
    (folder / "anchors.csv").write_text("\n".join(["anchor_id,weight", *weights]) + "\n")
    (folder / "quota.csv").write_text("stratum,lower,upper\nhills,5,6\nrivers,4,9\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        files = "--support support.csv --anchors anchors.csv --strata pool.jsonl --quota quota.csv"
        done = CliRunner().invoke(app, ["select", *files.split(), "-k", "10", "-o", "selection.json"])
        assert done.exit_code == 0, done.output
        chosen = read_json(Path("selection.json"))["item_ids"]
        gone = [one for one in chosen if int(one[1:]) % 2 == 0][:2]
        rows = [f"i{n},{'reject' if f'i{n}' in gone else 'accept'}" for n in range(ITEMS)]
        (folder / "decisions.csv").write_text("\n".join(["item_id,decision", *rows]) + "\n")
        (folder / "audit.csv").write_text(f"item_id,flawed\n{gone[0]},true\n{chosen[-1]},false\n")
        export = ["export", "pool.jsonl", "--selection", "selection.json", "--decisions", "decisions.csv"]
        export += ["--audit", "audit.csv"]
        done = CliRunner().invoke(app, [*export, "--allow", FALLEN, "-o", "release"])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def place(world: Path, tmp_path: Path) -> Path:
    """Copy that world to where `kina` runs."""
    shutil.copytree(world, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rows_of(release: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        split: [json.loads(line) for line in (release / f"{split}.jsonl").read_text().splitlines()]
        for split in ("test", "dev")
        if (release / f"{split}.jsonl").exists()
    }


def objective(world: Path, ids: set[str], folds: int | None = None) -> float:
    """Add the objective up from the files, by no code of ours; 10 items are more than the anchors carry."""
    count = folds or read_json(world / "selection.json")["domains"][0]["folds"]
    best: dict[str, list[float]] = {f"a{a}": [] for a in range(ANCHORS)}
    for line in (world / "support.csv").read_text().splitlines()[1:]:
        item_id, anchor, score = line.split(",")
        if item_id in ids:
            best[anchor].append(float(score))
    weight = {f"a{a}": a + 1 for a in range(ANCHORS)}
    return sum(weight[anchor] * sum(sorted(scores)[-count:]) for anchor, scores in best.items())


def test_the_figures_are_those_of_the_released_items(world: Path) -> None:
    release = world / "release"
    found = read_json(release / "release.json")["figures"]["selection"]
    rows = rows_of(release)
    ids = {row["id"] for kept in rows.values() for row in kept}
    assert (found["asked"], found["released"], len(ids)) == (10, 8, 8)
    assert found["value"] / found["unit"] == pytest.approx(objective(world, ids), abs=1e-6)
    assert found["coverage"] / found["unit"] == pytest.approx(objective(world, ids, 1), abs=1e-6)
    for split, kept in rows.items():
        said = found["splits"][split]
        assert said["value"] / found["unit"] == pytest.approx(
            objective(world, {r["id"] for r in kept}), abs=1e-6
        )
    assert found["value"] <= found["bound_released"] <= found["bound_asked"]
    certified = read_json(world / "selection.json")["certificate"]["tightest"]["upper_bound"]
    assert found["bound_asked"] / found["unit"] == pytest.approx(certified, abs=1e-9)


def test_shares_carry_the_rounding_as_the_certificate_does_and_earlier_evidence_tells_none(
    place: Path,
) -> None:
    release, folds = place / "release", read_json(place / "selection.json")["domains"][0]["folds"]
    rows, instance = rows_of(release), read_json(place / "release" / standalone.INSTANCE)
    write_document(release / standalone.INSTANCE, instance | {"slack": 7_777_777})
    found = standalone.derive(release, rows, set())["selection"]
    slack, step = 7_777_777 * folds, found["unit"]
    assert found["slack"] == slack
    shown = "\n".join(standalone.selection_lines(found))
    least = 10_000 * (found["value"] - slack) // (found["bound_released"] + slack)
    most = -((found["bound_released"] + slack) * -(10**9) // step)
    assert f"| {most // 10**9}.{most % 10**9:09} | {least // 100}.{least % 100:02} % |" in shown

    del instance["slack"]
    write_document(release / standalone.INSTANCE, instance | {"format": 1})
    earlier = standalone.derive(release, rows, set())["selection"]
    assert earlier == {name: value for name, value in found.items() if name != "slack"}
    tenths = 1000 * found["value"] // found["bound_released"]
    assert f"| {tenths // 10}.{tenths % 10} % |" in "\n".join(standalone.selection_lines(earlier))


def test_heavy_weights_are_stated_in_their_own_unit(kina: Kina, place: Path) -> None:
    """Weights that are counts of page views: a step then stands for many units."""
    shutil.rmtree(place / "release")
    (place / "anchors.csv").write_text(
        "\n".join(["anchor_id,weight", *(f"a{a},{(a + 1) * 10**13}" for a in range(ANCHORS))]) + "\n"
    )
    select = "select --support support.csv --anchors anchors.csv --strata pool.jsonl --quota quota.csv -k 10"
    assert kina(*select.split(), "-o", "heavy.json").exit_code == 0
    done = kina("export", "pool.jsonl", "--selection", "heavy.json", "-o", "release")
    assert done.exit_code == 0, done.output
    assert kina("verify", "release").exit_code == 0
    found = read_json(place / "release" / "release.json")["figures"]["selection"]
    assert found["weight_step"] > 1
    objective = read_json(place / "heavy.json")["objective"]
    assert float(standalone.amount(found, found["value"])) == pytest.approx(objective, rel=1e-9)


def test_the_bound_at_the_released_size_holds_for_every_such_set(world: Path) -> None:
    found = read_json(world / "release" / "release.json")["figures"]["selection"]
    short = {row["stratum"]: row["released"] for row in found["quotas"]}
    best = 0.0
    rng = random.Random(1)
    hills, rivers = ([f"i{n}" for n in range(rest, ITEMS, 2)] for rest in (0, 1))
    for _ in range(300):
        some = {*rng.sample(hills, short["hills"]), *rng.sample(rivers, short["rivers"])}
        best = max(best, objective(world, some))
    assert best <= found["bound_released"] / found["unit"] + 1e-6


def test_card_names_what_fell_and_what_is_short_and_never_the_old_share(world: Path) -> None:
    card = (world / "release" / "README.md").read_text()
    figures = read_json(world / "release" / "release.json")["figures"]
    for line in standalone.card_lines(figures):
        assert line in card.split("\n")
    fallen = [one["item_id"] for one in read_json(world / "release" / "release.json")["withheld"]]
    assert len(fallen) == 2
    assert all(f"- {one}: review: reject" in card for one in fallen)
    assert "- short: hills: " in card
    assert not re.search(r"at least [\d.]+ ?% of the best|guarantee", card)
    assert "- objective: each anchor counts through its " in card
    assert "1 of 2 were flawed" in card
    assert "0 of 1 were flawed" in card


def test_no_number_of_the_card_comes_from_elsewhere(world: Path) -> None:
    """Outside the block of what the author states, the stand-alone verifier gives every number."""
    release = world / "release"
    card = (release / "README.md").read_text().split("---\n", 2)[2]
    before, _, rest = card.partition("## Stated by the author")
    text = before + rest.partition("\n## ")[2]
    record = read_json(release / "release.json")
    known = json.dumps([standalone.faults_of(release)[0], record["counts"], rows_of(release)])
    known += "\n".join(standalone.card_lines(record["figures"])) + record["version"] + record["content_hash"]
    known += json.dumps([record["withheld"], record["exemptions"], len(rows_of(release)["test"]) + 1])
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    totals = {8, 2, 100, 25.0, *range(len(record["exemptions"]) + 3)}
    numbers = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", known)} | totals
    strange = [
        one for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)", text) if float(one) not in numbers
    ]
    assert strange == []


def test_a_selected_item_that_fell_stops_the_export_unless_allowed(kina: Kina, place: Path) -> None:
    shutil.rmtree(place / "release")
    export = (
        "export",
        "pool.jsonl",
        "--selection",
        "selection.json",
        "--decisions",
        "decisions.csv",
        "-o",
        "release",
    )
    stopped = kina(*export)
    assert stopped.exit_code == 1
    assert "kina top-up" in stopped.stderr
    assert not (place / "release").exists()
    named = kina(*export[:4], "--take-down", "i1=asked by its author", "--allow", FALLEN, "-o", "release")
    assert named.exit_code == 0, named.output


def test_a_selection_that_was_edited_or_lacks_its_files_is_refused(kina: Kina, place: Path) -> None:
    shutil.rmtree(place / "release")
    export = ("export", "pool.jsonl", "--selection", "selection.json", "-o", "release")
    whole = (place / "selection.json").read_text()
    document = json.loads(whole)
    for change in ({"objective": 0.99}, {"item_ids": document["item_ids"][:-1]}, {"seal": ""}):
        (place / "selection.json").write_text(json.dumps(document | change))
        assert kina(*export).exit_code == 1
    (place / "selection.json").write_text(whole)
    (place / "support.csv").rename(place / "kept.csv")
    lost = kina(*export)
    assert (lost.exit_code, "support.csv: the selection was made from it" in lost.stderr) == (2, True)
    (place / "kept.csv").rename(place / "support.csv")
    changed = (place / "support.csv").read_text().replace("0.8", "0.7")
    (place / "support.csv").write_text(changed)
    other = kina(*export)
    assert (other.exit_code, "does not hold against its files" in other.stderr) == (1, True)
    silent = kina(*export, "--evidence", "none")
    assert silent.exit_code == 0, silent.output
    assert "no figure of it is stated" in (place / "release" / "README.md").read_text()
    assert kina("verify", "release").exit_code == 0


def test_the_verifier_runs_alone(world: Path) -> None:
    release = world / "release"
    done = subprocess.run(
        [sys.executable, "-I", "-S", release / "evidence" / "verify.py", release],
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (
        json.loads(done.stdout.partition(b"\n}\n")[0] + b"}")
        == read_json(release / "release.json")["figures"]
    )


def test_ids_that_are_not_released_are_hashes(world: Path) -> None:
    instance = read_json(world / "release" / "evidence" / "instance.json")
    plain = {name for name in instance["items"]["ids"] if not name.startswith("salted:")}
    assert plain == {row["id"] for kept in rows_of(world / "release").values() for row in kept}
    assert len(instance["items"]["ids"]) == ITEMS
    judged = (world / "release" / "evidence" / "judged.json").read_text()
    assert not any(f'"i{n}"' in judged for n in range(ITEMS) if f"i{n}" not in plain)


def test_a_private_split_is_hashed_in_the_evidence_too(kina: Kina, place: Path) -> None:
    more = ("--private", "test", "--allow", FALLEN, "-o", "private")
    done = kina(
        "export", "pool.jsonl", "--selection", "selection.json", "--decisions", "decisions.csv", *more
    )
    assert done.exit_code == 0, done.output
    names = set(read_json(place / "private" / "evidence" / "instance.json")["items"]["ids"])
    rows = rows_of(place / "private")
    assert not names & {row["id"] for row in rows["test"]}
    public = read_json(place / "release" / "release.json")["figures"]["selection"]["value"]
    assert read_json(place / "private" / "release.json")["figures"]["selection"]["value"] == public
    assert kina("verify", "private").exit_code == 0


def edits(release: Path, rng: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield files with one field of them, or one byte, changed."""
    files = sorted(path for path in release.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    for _ in range(count):
        path = rng.choice(files)
        data = path.read_bytes()
        if path.suffix == ".json" and isinstance(document := json.loads(data), dict):
            _change(document, rng)
            yield str(path.relative_to(release)), json.dumps(document, indent=2).encode()
        else:
            at = rng.randrange(len(data))
            yield str(path.relative_to(release)), data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _change(document: Any, rng: random.Random) -> None:
    """Change one leaf of a JSON document."""
    while True:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = rng.choice(keys) if keys else None
        if key is None:
            document["extra" if isinstance(document, dict) else slice(0, 0)] = [1]
            return
        value = document[key]
        if isinstance(value, dict | list) and value:
            document = value
            continue
        document[key] = _other(value)
        return


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.parametrize("seed", range(4))
def test_every_edit_is_refused_though_the_sums_are_made_anew(kina: Kina, place: Path, seed: int) -> None:
    release = place / "release"
    for name, data in edits(release, random.Random(seed), 25):
        whole = (release / name).read_bytes()
        if data == whole:
            continue
        (release / name).write_bytes(data)
        write_sums(release)
        done = kina("verify", "release")
        assert done.exit_code in (1, 2), (name, done.output)
        assert not done.exception or isinstance(done.exception, SystemExit), name
        (release / name).write_bytes(whole)
    write_sums(release)
    assert kina("verify", "release").exit_code == 0


def test_a_forger_who_seals_anew_is_found_by_the_figures(kina: Kina, place: Path) -> None:
    release = place / "release"
    record = ReleaseRecord.model_validate(read_json(release / "release.json"))
    figures = json.loads(json.dumps(record.figures))
    figures["selection"]["value"] += 1
    write_document(release / "release.json", record.model_copy(update={"figures": figures}).sealed())
    write_sums(release)
    found = json.loads(kina("verify", "release", "--json").stdout)["faults"]
    assert "figures" in {fault["check"] for fault in found}
    assert standalone.faults_of(release)[1] != []


@given(st.integers(0, 10**6))
def test_a_bound_lies_above_every_set_that_the_quotas_allow(seed: int) -> None:
    """Walked thresholds too; against all sets of small instances."""
    rng = np.random.default_rng(seed)
    count, anchors, size = 8, 4, int(rng.integers(1, 6))
    levels = rng.integers(0, 11, (count, anchors)) * rng.integers(0, 2, (count, anchors))
    stratum = [str(one) for one in rng.integers(0, 2, count)]
    lower = int(rng.integers(0, 2))
    upper = int(rng.integers(max(1, lower), size + 1))
    limits = {"0": (lower, upper), "1": (0, None)}
    clique = [0, 1] if rng.random() < 0.5 else []
    allowed = [
        rows
        for rows in itertools.combinations(range(count), size)
        if lower <= sum(stratum[row] == "0" for row in rows) <= upper and not (clique and {0, 1} <= set(rows))
    ]
    if not allowed:
        return
    released = allowed[int(rng.integers(len(allowed)))]
    domain = pose(levels, stratum, size, limits, [clique] if clique else [], released)
    domain.folds = int(rng.integers(1, 4))
    value = {rows: domain.instance.value(rows, domain.folds) for rows in allowed}
    for rows in allowed:
        tops = np.sort(levels[list(rows)], axis=0)[-domain.folds :].sum(axis=0)
        assert value[rows] == tops @ np.array(domain.instance.weights)
    start = rng.integers(0, 11, anchors).tolist()
    best = max(value.values())
    assert domain.bound(size, start, None) >= best
    walked = lower_bound(domain, [start])
    assert best_held(domain, value) <= domain.bound(size, walked, domain.counts(released))
    assert domain.bound(size, walked, domain.counts(released)) <= domain.bound(
        size, start, domain.counts(released)
    )


def best_held(domain: standalone.Domain, value: dict[tuple[int, ...], int]) -> int:
    """Return the best of the sets that hold what the released set holds of the lower quotas."""
    need = {n: low for n, (low, _) in domain.limits(domain.asked, domain.counts(domain.released)).items()}
    fits = [v for rows, v in value.items() if all(domain.counts(rows)[n] >= low for n, low in need.items())]
    return max(fits)


def pose(
    levels: Any,
    stratum: list[str],
    size: int,
    limits: dict[str, Any],
    cliques: list[list[int]],
    released: Any,
) -> standalone.Domain:
    instance = standalone.Instance.__new__(standalone.Instance)
    instance.full, instance.scale, instance.weight_unit = True, 10, 1
    instance.weights = list(range(1, levels.shape[1] + 1))
    instance.names = [str(row) for row in range(len(levels))]
    instance.split = ["test" if row in released else None for row in range(len(levels))]
    instance.stratum, instance.domain = stratum, [""] * len(levels)
    at, column = np.nonzero(levels)
    instance.starts = [0, *np.bincount(at, minlength=len(levels)).cumsum().tolist()]
    instance.anchor, instance.level = column.tolist(), levels[at, column].tolist()
    told = {"name": "", "k": size, "short": False, "must": [], "cliques": cliques, "thresholds": {}}
    return standalone.Domain(instance, told | {"quotas": [[n, *pair] for n, pair in limits.items()]})


def test_agreement_on_the_released_questions_is_derived_and_names_nobody(kina: Kina, tmp_path: Path) -> None:
    items = spread(40)
    write_pool(tmp_path / "pool.jsonl", items)
    rows = [
        {"item_id": one.item_id, "decision": "accept", "opinions": {"rev-ann": "accept", "rev-bob": "accept"}}
        for one in items
    ]
    rows[0]["opinions"] = {"rev-ann": "accept", "rev-bob": "revise"}
    rows[1] |= {"decision": "reject", "opinions": {"rev-ann": "reject", "rev-bob": "accept"}}
    (tmp_path / "decisions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = kina("export", "pool.jsonl", "--decisions", "decisions.jsonl", "-o", "release", "--private", "dev")
    assert done.exit_code == 0, done.output
    release = tmp_path / "release"
    found = read_json(release / "release.json")["figures"]["review"]["agreement_released"]
    assert found == {"items": 39, "pairs": 39, "equal": 38, "alpha": [0, 1]}
    card = (release / "README.md").read_text()
    assert "- reviewers' agreement on the questions of this release: 38 of 39 pairs of opinions" in card
    for file in release.rglob("*"):
        assert not file.is_file() or b"rev-" not in file.read_bytes(), file.name
    assert kina("verify", "release").exit_code == 0
    told = json.loads((release / "evidence" / "judged.json").read_text())
    told["opinions"][0][1] = {"accept": 9}
    write_document(release / "evidence" / "judged.json", told)
    write_sums(release)
    assert kina("verify", "release").exit_code == 1


def test_alpha_is_krippendorffs() -> None:
    items = [
        {"accept": 2},
        {"accept": 2},
        {"accept": 2},
        {"accept": 1, "reject": 1},
        {"reject": 2},
        {"reject": 1},
    ]
    found = standalone.agreement_figures(items)
    assert found == {"items": 5, "pairs": 5, "equal": 4, "alpha": [4, 7]}
    assert standalone.agreement_line(found).endswith("(80.0 %), Krippendorff's alpha 0.571")
    assert standalone.agreement_figures([{"accept": 2}])["alpha"] is None
    assert standalone.agreement_figures([]) == {"items": 0, "pairs": 0, "equal": 0, "alpha": None}
