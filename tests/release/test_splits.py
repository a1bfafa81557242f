"""Splits: every path shared out, copies together, earlier splits kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import ReleaseRules
from kina_build.items.model import Item, Option
from kina_build.release.splits import DEV, TEST, assign_splits, group

MakeItem = Callable[..., Item]


def item(item_id: str, subfield: str = "s") -> Item:
    options = (Option(key="A", answer="yes"), Option(key="B", answer="no"))
    return Item(item_id=item_id, subfield=subfield, question="?", options=options, correct_answer="A")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Item], list[list[str]]]:
    subfields = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40))
    items = [item(f"q{n}", subfield) for n, subfield in enumerate(subfields)]
    ids = [one.item_id for one in items]
    clusters = draw(st.lists(st.lists(st.sampled_from(ids), min_size=2, max_size=3), max_size=6))
    return items, clusters


@given(worlds(), st.integers(0, 1000), st.floats(0, 0.9), st.randoms(use_true_random=False))
def test_laws_of_splits(
    world: tuple[list[Item], list[list[str]]], seed: int, share: float, rnd: object
) -> None:
    items, clusters = world
    rules = ReleaseRules(dev_share=share)
    splits = assign_splits(items, clusters, seed=seed, rules=rules)
    assert set(splits) == {one.item_id for one in items}
    for cluster in clusters:
        assert len({splits[item_id] for item_id in cluster}) == 1, "a cluster never straddles"
    tested = {one.path for one in items if splits[one.item_id] == TEST}
    assert tested == {one.path for one in items}, "every path has a test item"
    shuffled = list(items)
    rnd.shuffle(shuffled)  # type: ignore[attr-defined]
    assert assign_splits(shuffled, clusters[::-1], seed=seed, rules=rules) == splits, "row order is nothing"


def test_each_path_gives_its_share_and_all_paths_together_too() -> None:
    items = [item(f"q{n}", f"s{n % 200}") for n in range(1000)]  # 5 items a path, half an item of dev each
    splits = assign_splits(items, seed=0)
    by_path: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for one in items:
        by_path[one.path][splits[one.item_id]] += 1
    assert {counts[DEV] for counts in by_path.values()} == {0, 1}
    assert 70 <= sum(counts[DEV] for counts in by_path.values()) <= 130


def test_dropping_an_item_moves_none_of_another_path() -> None:
    items = [item(f"q{n}", f"s{n % 7}") for n in range(210)]
    before = assign_splits(items, seed=4)
    after = assign_splits([one for one in items if one.item_id != "q0"], seed=4)
    changed = {i for i in after if after[i] != before[i]}
    assert all(int(i[1:]) % 7 == 0 for i in changed)
    assert len(changed) <= 1


def test_earlier_splits_are_kept_and_copies_of_dev_items_join_them() -> None:
    items = [item(f"q{n}") for n in range(40)]
    earlier = {f"q{n}": DEV if n < 5 else TEST for n in range(30)}
    splits = assign_splits(items, [["q0", "q35"]], seed=0, earlier=earlier)
    assert {i: splits[i] for i in earlier} == earlier
    assert splits["q35"] == DEV, "a copy of a public practice item is no fair test"


def test_clusters_that_share_an_item_are_one() -> None:
    groups = group(["b", "a", "10", "9", "x"], [["b", "10"], ["10", "9"], ["a", "missing"]])
    assert groups == {"b": "9", "10": "9", "9": "9", "a": "a", "x": "x"}
