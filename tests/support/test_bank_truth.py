"""Appendix B on a pool whose truth is known: topics, stray items and copies are planted, and found again."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.support.anchors import Anchor, write_anchors
from tests.servers import said, scripted
from tests.support.conftest import WordEncoder

TOPICS, EACH, STRAYS, COPIES = 12, 12, 40, 12
DOMAINS = ("law", "art")

Kina = Callable[..., Any]


class Truth:
    """A planted pool: who is on a topic, and who is a copy of whom."""

    def __init__(self, make_item: Callable[..., Item], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.topic: dict[str, int] = {}
        self.copies: set[tuple[str, str]] = set()
        self.items: list[Item] = []
        for n in range(TOPICS * EACH):
            # the topics of a domain alternate; its words are fixed, the rest is the item's own
            topic = n % TOPICS
            words = [f"t{topic}w{k}" for k in rng.permutation(8)[:5]]
            own = [f"own{n}x{k}" for k in range(rng.integers(2, 5))]
            self._add(make_item, f"q{n:03}", [*words, *own], topic)
        for n in range(STRAYS):
            self._add(make_item, f"s{n:03}", [f"stray{n}x{k}" for k in range(7)], -1, DOMAINS[n % 2])
        for n in rng.choice(TOPICS * EACH, COPIES, replace=False).tolist():
            first = self.items[n]
            copy = first.model_copy(update={"item_id": f"z{n:03}", "question": first.question + " indeed?"})
            self.items.append(copy)
            self.topic[copy.item_id] = self.topic[first.item_id]
            self.copies.add((first.item_id, copy.item_id))

    def _add(
        self, make_item: Callable[..., Item], name: str, words: list[str], topic: int, field: str = ""
    ) -> None:
        field = field or DOMAINS[topic % 2]
        answer = f"t{topic}w0" if topic >= 0 else name
        item = make_item(name, " ".join(words), (answer, "none"), field=field, subfield=field)
        self.items.append(item)
        self.topic[name] = topic

    def label(self, folder: Path, expert: str, errs: float, seed: int) -> None:
        """Fill in the sheets of one expert, who errs at a stated rate."""
        rng = np.random.default_rng(seed)
        for kind in ("items", "pairs"):
            with (folder / f"{kind}-{expert}.csv").open() as sheet:
                rows = list(csv.DictReader(sheet))
            for row in rows:
                one, two = row["item_id"], row.get("other_id", "")
                said = {"aligned": self.topic[one] >= 0} if kind == "items" else self._of_pair(one, two)
                row.update({name: str(int(value ^ (rng.random() < errs))) for name, value in said.items()})
            with (folder / f"{kind}-{expert}.csv").open("w", newline="") as out:
                writer = csv.DictWriter(out, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)

    def _of_pair(self, one: str, two: str) -> dict[str, bool]:
        same = self.topic[one] == self.topic[two] >= 0
        return {"support": same, "duplicate": (min(one, two), max(one, two)) in self.copies}


@pytest.fixture
def planted(make_item: Callable[..., Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Truth:
    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: WordEncoder())
    truth = Truth(make_item, seed=5)
    write_pool(tmp_path / "pool.jsonl", truth.items)
    anchors = [
        Anchor(
            anchor_id=f"u{t:02}", domain=DOMAINS[t % 2], kind="concept", stratum=DOMAINS[t % 2],
            statement=" ".join(f"t{t}w{k}" for k in range(8)),
        )
        for t in range(TOPICS)
    ]  # fmt: skip
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    (tmp_path / "kina.toml").write_text("[support]\nbootstraps = 40\ndraw_items = 140\ndraw_pairs = 80\n")
    return truth


BANK = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--method", "bank", "--cache", "v.sqlite")


def drawn_and_labelled(kina: Kina, truth: Truth, folder: Path, errs: float) -> list[str]:
    """Draw sheets for two experts, have them filled in, and return the options that name them."""
    done = kina(*BANK, "--draw", "sheets", "--experts", "2")
    assert done.exit_code == 0, done.stderr
    for seed, expert in enumerate("12"):
        truth.label(folder / "sheets", expert, errs, seed)
    return [
        part
        for kind in ("item", "pair")
        for expert in "12"
        for part in (f"--{kind}-labels", f"sheets/{kind}s-{expert}.csv")
    ]


def test_what_was_planted_is_found_again(kina: Kina, planted: Truth, tmp_path: Path) -> None:
    labels = drawn_and_labelled(kina, planted, tmp_path, errs=0.03)
    done = kina(*BANK, *labels, "-o", "s.npz", "--details", "d.jsonl", "--save-conflicts", "c.json", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["labels"]["items"]["overlap"] == 40
    assert report["labels"]["items"]["agreement"]["aligned"][0]["kappa"] > 0.7

    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    bank = [row["item_id"] for row in rows if row["in_bank"]]
    assert len(bank) > 60
    assert np.mean([planted.topic[name] >= 0 for name in bank]) > 0.97
    listed = {row["item_id"] for row in rows if not row["reason"]}
    assert np.mean([planted.topic[name] >= 0 for name in listed]) > 0.97
    assert {planted.topic[name] for name in listed} >= set(range(TOPICS))

    found = {tuple(edge) for edge in json.loads((tmp_path / "c.json").read_text())["conflict_edges"]}
    there = {pair for pair in planted.copies if listed.issuperset(pair)}
    assert len(found & there) >= 0.9 * len(there)
    assert len(found - planted.copies) <= 0.2 * len(found)

    line = ("select", "--support", "s.npz", "--conflicts", "c.json", "-k", TOPICS, "-o", "selection.json")
    assert kina(*line).exit_code == 0
    document = json.loads((tmp_path / "selection.json").read_text())
    names = document["item_ids"]
    reached = {planted.topic[name] for name in names}
    assert len(reached) >= TOPICS - 1, "one pick a topic, or nearly"
    assert not any(set(pair) <= set(names) for pair in planted.copies)


def test_experts_who_guess_stop_the_run(kina: Kina, planted: Truth, tmp_path: Path) -> None:
    labels = drawn_and_labelled(kina, planted, tmp_path, errs=0.5)
    done = kina(*BANK, *labels, "-o", "s.npz")
    assert (done.exit_code, (tmp_path / "s.npz").exists()) == (1, False)
    assert "agrees with no other better than by chance" in done.stderr
    assert kina(*BANK, *labels, "-o", "s.npz", "--allow-disagreement").exit_code in {0, 1}


def test_a_budget_of_calls_goes_to_uncertain_items(kina: Kina, planted: Truth, tmp_path: Path) -> None:
    labels = drawn_and_labelled(kina, planted, tmp_path, errs=0.1)

    def script(prompt: str, _times: int) -> Any:
        rating = 0 if "stray" in prompt else 3
        return said(json.dumps({"method_family": "m", "core_principle": prompt[-40:], "answer_type": "word",
                                "constraints": [], "alignment": rating}))  # fmt: skip

    with scripted(script) as server:
        judge = (
            "--judge",
            "m",
            "--base-url",
            server.url,
            "--calls",
            "calls.jsonl",
            "--recheck",
            "9",
            "--json",
        )
        done = kina(*BANK, *labels, *judge, "-o", "s.npz")
        assert done.exit_code == 0, done.stderr
        told = json.loads(done.stdout)["rechecked"]
        assert told["asked"] == told["read"] == min(9, told["uncertain"]) > 0
        assert len(server.asked) == len(planted.items) + told["asked"]
    refused = kina(*BANK, *labels, "--recheck", "9", "-o", "s.npz")
    assert (refused.exit_code, "--recheck needs --judge" in refused.stderr) == (2, True)
