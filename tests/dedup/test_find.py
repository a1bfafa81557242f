from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from kina_build.config import DedupRules
from kina_build.dedup.compare.lexical import read_item
from kina_build.dedup.encoded import read_corpus
from kina_build.dedup.explain import explain_item, in_order, render_clusters
from kina_build.dedup.find import find_copies
from kina_build.dedup.overrides import Override, content_hash
from kina_build.dedup.reading import spread_edges
from kina_build.dedup.records import Duplicates
from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from tests.dedup.conftest import WordEncoder

Make = Callable[..., Item]


@pytest.fixture
def pool(make_item: Make) -> list[Item]:
    gland = ("Which gland makes insulin?", ["pancreas", "thymus", "spleen"])
    return [
        make_item("a1", *gland, "A", discipline="anatomy"),
        make_item("a2", gland[0], ["spleen", "pancreas", "thymus"], "B", discipline="clinic"),
        make_item("k1", "Which lock fills fastest?", ["north", "mill"], "A"),
        make_item("k2", "Which lock fills fastest?", ["mill", "north"], "A"),
        make_item("n1", "A lamp draws 2 A at 12 V. What power is that?", ["24 W", "6 W"], "A"),
        make_item("n2", "A lamp draws 3 A at 12 V. What power is that?", ["36 W", "4 W"], "A"),
        make_item("s1", "Who wrote the last of the letters?", ["the abbot", "a clerk"], "A"),
    ]


def test_copies_conflicts_and_siblings_each_get_their_own_fate(pool: list[Item], words: WordEncoder) -> None:
    result = find_copies(read_corpus(pool, words))
    assert result.kept == ("a1", "n1", "n2", "s1")
    assert [(d.item_id, d.kept_id, d.rule) for d in result.dropped] == [("a2", "a1", "folded")]
    assert [held.item_id for held in result.held] == ["k1", "k2"]
    assert {(p.item_id, p.other_id): p.status for p in result.pairs} == {
        ("a1", "a2"): "duplicate",
        ("k1", "k2"): "conflict",
        ("n1", "n2"): "template_sibling",
    }
    assert result.conflict_edges == (("a1", "a2"), ("k1", "k2"), ("n1", "n2"))


def test_an_item_in_two_subjects_notes_both_paths(pool: list[Item]) -> None:
    result = find_copies(read_corpus(pool[:2], None))
    (cluster,) = result.clusters
    assert (cluster.cross_discipline, cluster.needs_decision) == (True, True)
    assert cluster.paths == ("anatomy", "clinic")
    assert "different paths" in result.dropped[0].reason


def test_row_order_changes_nothing(pool: list[Item]) -> None:
    expected = find_copies(read_corpus(pool, WordEncoder())).model_dump_json()
    for seed in range(5):
        shuffled = random.Random(seed).sample(pool, len(pool))
        assert find_copies(read_corpus(shuffled, WordEncoder())).model_dump_json() == expected


def test_people_win_over_evidence(pool: list[Item], words: WordEncoder) -> None:
    rows = [
        Override(decision="keep", item_id="k2"),
        Override(decision="same", item_id="n2", other_id="n1"),
        Override(decision="different", item_id="a1", other_id="a2"),
        Override(decision="keep", item_id="gone"),
    ]
    result = find_copies(read_corpus(pool, words, overrides=rows))
    assert result.kept == ("a1", "a2", "k2", "n1", "s1")
    assert [(d.item_id, d.kept_id, d.rule) for d in result.dropped] == [
        ("k1", "k2", "key"),
        ("n2", "n1", "override"),
    ]
    assert result.held == ()
    assert result.unused_overrides == ("keep gone",)


def test_what_a_person_decided_is_not_asked_again(make_item: Callable[..., Item]) -> None:
    ask = "Which gland beside the gut makes insulin?"
    pool = [
        make_item("c1", ask, ["pancreas", "thymus"], "A"),
        make_item("c2", ask, ["pancreas", "thymus"], "B"),
        make_item("p1", "Which lock fills first?", ["mill", "north"], discipline="water"),
        make_item("p2", "Which lock fills first?", ["mill", "north"], discipline="stone"),
    ]
    corpus = read_corpus(pool, None)
    open_ones = [cluster.item_ids for cluster in find_copies(corpus).clusters if cluster.needs_decision]
    assert open_ones == [("c1", "c2"), ("p1", "p2")]
    rows = [
        Override(decision="wrong_key", item_id="c2", letter="A", note="see the handbook"),
        Override(decision="keep", item_id="p2"),
    ]
    result = find_copies(read_corpus(pool, None, overrides=rows))
    assert (result.kept, result.held) == (("c1", "p2"), ())
    assert [(d.item_id, d.kept_id, d.reason) for d in result.dropped] == [
        ("c2", "", "a person said: its key is wrong, A is right (see the handbook)"),
        ("p1", "p2", "a copy of p2: equal byte for byte; the two are filed under different paths"),
    ]
    assert not any(cluster.needs_decision for cluster in result.clusters)


def test_what_is_only_close_is_looked_at_last(make_item: Make, words: WordEncoder) -> None:
    pool = [
        make_item("a1", "green leaves of summer trees look bright because", ["of light"]),
        make_item("a2", "green leaves of summer trees stay so cool because", ["of wind"]),
        make_item("b1", "Which foramina pierce the sphenoid bone?", ["ovale and rotundum", "magnum"]),
        make_item("b2", "Which foramina pierce the sphenoid bone?", ["two of the base", "the jugular one"]),
    ]
    rules = DedupRules(threshold=0.5, template_share=0.9, review_floor=0)
    result = find_copies(read_corpus(pool, words), rules)
    assert {(pair.item_id, pair.rule) for pair in result.pairs} == {("a1", "cosine"), ("b1", "options")}
    assert [cluster.item_ids for cluster in in_order(result)] == [("b1", "b2"), ("a1", "a2")]
    floor = rules.model_copy(update={"review_floor": 0.1})
    result = find_copies(read_corpus(pool, words), floor)
    likely = {pair.item_id: pair.probability for pair in result.pairs}
    assert [(pair.item_id, pair.status) for pair in result.pairs] == [("a1", "close"), ("b1", "review")]
    assert likely["a1"] < 0.1 < 0.5 < likely["b1"]
    assert [cluster.item_ids for cluster in result.clusters] == [("b1", "b2")]
    assert ("a1", "a2") in result.conflict_edges  # never selected together, though nobody is asked
    assert result.report["review"]["pairs"] == 1
    said = [Override(decision="same", item_id="a1", other_id="a2")]
    again = find_copies(read_corpus(pool, words, overrides=said), floor)
    assert again.pairs[1].probability > likely["b1"]  # what people decide moves the chances of the others


def test_a_file_of_an_older_version_is_read(make_item: Make) -> None:
    pool = [make_item(name, "Which lock fills first?", ["mill", "north"]) for name in "ab"]
    document = json.loads(find_copies(read_corpus(pool, None)).model_dump_json())
    for name in ("groups", "fast"):
        document.pop(name)
    for name in ("review_floor", "equal_listed"):
        document["rules"].pop(name)
    assert Duplicates.model_validate(document).groups == ()
    assert "probability" not in document["pairs"][0]


def test_a_dropped_item_holds_no_place_for_its_copies(make_item: Callable[..., Item]) -> None:
    pool = [make_item(name, "Which lock fills first?", ["mill", "north"]) for name in "abc"]
    result = find_copies(read_corpus(pool, None, overrides=[Override(decision="drop", item_id="b")]))
    assert result.kept == ("a",)
    assert [(d.item_id, d.kept_id) for d in result.dropped] == [("b", ""), ("c", "a")]


def test_an_override_by_content_outlives_new_ids(pool: list[Item]) -> None:
    names = [content_hash(read_item(item)) for item in pool[:2]]
    rows = [Override(decision="different", item_id=names[0], other_id=names[1])]
    renamed = [item.model_copy(update={"item_id": f"new-{item.item_id}"}) for item in pool[:2]]
    assert find_copies(read_corpus(renamed, None, overrides=rows)).dropped == ()
    edited = [renamed[0].model_copy(update={"question": "Which gland is this?"}), renamed[1]]
    assert find_copies(read_corpus(edited, None, overrides=rows)).unused_overrides


def test_contradictory_overrides_are_refused(pool: list[Item]) -> None:
    both = [
        Override(decision="same", item_id="n1", other_id="n2"),
        Override(decision="different", item_id="n2", other_id="n1"),
    ]
    with pytest.raises(InputError, match="both same and different"):
        read_corpus(pool, None, overrides=both)
    torn = [Override(decision="keep", item_id="n1"), Override(decision="drop", item_id="n1")]
    with pytest.raises(InputError, match="both keep and drop 'n1'"):
        read_corpus(pool, None, overrides=torn)
    with pytest.raises(InputError, match="names no other_id"):
        read_corpus(pool, None, overrides=[Override(decision="same", item_id="n1")])
    with pytest.raises(InputError, match="names 'n1' twice"):
        read_corpus(pool, None, overrides=[Override(decision="same", item_id="n1", other_id="n1")])
    for letter, said in (("Z", "no option 'Z'"), ("A", "A is its key already")):
        with pytest.raises(InputError, match=said):
            read_corpus(pool, None, overrides=[Override(decision="wrong_key", item_id="k2", letter=letter)])


def test_an_encoder_that_cannot_read_the_items_is_refused(pool: list[Item]) -> None:
    class Blind(WordEncoder):
        def count_unknown(self, texts: list[str]) -> tuple[int, int]:
            return 5, 100

    with pytest.raises(Refusal, match=r"does not know 5\.0% of the tokens"):
        read_corpus(pool, Blind())
    assert read_corpus(pool, Blind(), DedupRules(unknown_limit=1)).unknown_rate == 0.05


def test_parallel_items_of_two_languages_are_candidates(make_item: Make) -> None:
    encoder = WordEncoder(translations={"gas": "气体", "lightest": "最轻", "king": "国王", "first": "第一"})
    pool = [
        make_item("en1", "gas lightest", [], "hydrogen", language="en"),
        make_item("en2", "king first", [], "Alfred", language="en"),
        make_item("zh1", "气体 最轻", [], "氢", language="zh"),
        make_item("zh2", "国王 老 城", [], "甲", language="zh-Hans"),
    ]
    found = {(p.item_id, p.other_id): p for p in find_copies(read_corpus(pool, encoder)).pairs}
    assert found["en1", "zh1"].rule == "cross_lingual"
    assert found["en1", "zh1"].status == "review"
    assert ("en1", "zh2") not in found


def test_copies_hang_together_in_clusters_and_chains_are_shown(make_item: Make) -> None:
    stem, options = "What did the miller count?", ["sacks", "coins"]
    pool = [
        make_item("p1", stem, options, question_material="The mill stood by the river, and it was old."),
        make_item("p2", stem, options, question_material="A ship came in from Lisbon with oranges."),
        make_item("q0", stem, options),
    ]
    result = find_copies(read_corpus(pool, None))
    chain = next(cluster.chain for cluster in result.clusters if cluster.status == "duplicate")
    assert chain == ("p1", "q0", "p2")
    assert result.kept == ("p1", "p2")  # q0 is a copy of both, they are none of each other


def test_one_item_is_explained(pool: list[Item], words: WordEncoder) -> None:
    corpus = read_corpus(pool, words)
    result = find_copies(corpus)
    told = explain_item("a2", corpus, result)
    assert (told.decision, told.nearest[0].item_id) == ("dropped", "a1")
    assert len(told.nearest) == 6
    assert explain_item("a1", corpus, result).reason == "stands for a2"
    assert explain_item("k1", corpus, result).decision == "held"
    with pytest.raises(InputError, match="no item 'zz'"):
        explain_item("zz", corpus, result)


def test_the_page_shows_clusters_and_runs_nothing_of_the_items(make_item: Make) -> None:
    bad = "<script>alert(1)</script> Which gland?"
    pool = [make_item("a", bad, ["x", "y"]), make_item("b", bad, ["x", "y"]), make_item("c", "Alone?")]
    page = render_clusters(find_copies(read_corpus(pool, None)), pool)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Copies: 2 items" in page
    assert "http" not in page.replace("http-equiv", "")


def test_an_empty_list_has_no_duplicates() -> None:
    result = find_copies(read_corpus([], None))
    assert (result.kept, result.pairs, result.clusters) == ((), (), ())


@pytest.mark.parametrize("near", [True, False])
def test_of_many_equal_items_each_is_listed_with_the_first_alone(
    near: bool, make_item: Make, words: WordEncoder
) -> None:
    ask, options = "Which gland beside the gut makes insulin?", ["pancreas", "thymus"]
    pool = [
        *(make_item(f"e{n:02}", ask, options, "A") for n in range(24)),
        make_item("e99", ask, options[::-1], "B", license="CC0"),  # the same in another order: it is kept
        make_item("k", ask, options, "B"),
        make_item("z", "Why do leaves turn red in autumn?", ["pigments", "frost"]),
    ]
    encoder = words if near else None
    rows = [Override(decision="different", item_id="k", other_id="e00")]
    for overrides, names in (([], 25), (rows, 24)):
        result = find_copies(read_corpus(pool, encoder, overrides=overrides))
        (group,) = result.groups
        assert (group[0], len(group)) == ("e99", names)
        assert len([pair for pair in result.pairs if pair.status == "duplicate"]) == 24
        assert result.clusters[0].item_ids == (*(f"e{n:02}" for n in range(24)), "e99", "k")
        assert result.kept == ("z",)
        assert (len(result.held), len(result.held[3].other_ids)) == (26, 2 + len(overrides))
        edges = set(spread_edges(result.conflict_edges, result.groups))
        assert len(edges) == 25 * 24 / 2 + 25 - len(overrides)
    settled = [Override(decision="wrong_key", item_id="k", letter="A")]
    result = find_copies(read_corpus(pool, encoder, overrides=settled))
    assert result.kept == ("e99", "z")
    assert {drop.kept_id for drop in result.dropped} == {"", "e99"}
    gone = {drop.item_id for drop in result.dropped}
    assert list(spread_edges([("e99", "y")], result.groups, gone)) == [("e99", "y")]


def test_equal_items_without_a_key_are_put_to_review_and_stay(make_item: Make) -> None:
    ask = "Which gland beside the gut makes insulin?"
    pool = [make_item(f"e{n:02}", ask, ["pancreas", "thymus"], "C") for n in range(30)]
    result = find_copies(read_corpus(pool, None))
    assert (len(result.kept), len(result.pairs), result.counts) == (30, 29, {"review": 29})
    (cluster,) = result.clusters
    assert (len(cluster.item_ids), cluster.chain) == (30, ())


def test_an_item_that_another_stands_for_is_explained(make_item: Make, words: WordEncoder) -> None:
    ask, options = "Which gland beside the gut makes insulin?", ["pancreas", "thymus"]
    pool = [make_item(f"e{n:02}", ask, options) for n in range(30)] + [make_item("k", ask, options, "B")]
    corpus = read_corpus(pool, words)
    told = explain_item("e07", corpus, find_copies(corpus))
    assert told.decision == "held"
    assert [(pair.item_id, pair.other_id, pair.status) for pair in told.nearest] == [
        ("e00", "e07", "duplicate"),
        ("e07", "k", "conflict"),
    ]
