"""Universes of names: parsing, the three tiers, one-to-one matching, the judge."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from kina_build.chat import ChatReply
from kina_build.errors import RowErrors
from kina_build.scoring.lists import ListReply, Seed, match_names, match_replies, parse_names, sum_up
from kina_build.scoring.lists.marking import apply_judge, ask_judge, read_verdict
from kina_build.scoring.lists.normalise import safe_tiers, tier_one
from kina_build.scoring.lists.parse import conjunction
from kina_build.scoring.lists.score import rate_match, read_seeds
from tests.servers import said, scripted


@pytest.mark.parametrize(
    ("response", "names"),
    [
        ('["Paris", "Rome"]', ["Paris", "Rome"]),
        ('Here it is:\n```json\n["Paris", "Rome"]\n```', ["Paris", "Rome"]),
        ('{"cities": ["Paris", "Rome"]}', ["Paris", "Rome"]),
        ("- Paris\n- Rome", ["Paris", "Rome"]),
        ("The cities are:\n1. Paris\n2. Rome\n\nThat is all.", ["Paris", "Rome"]),
        ("１．東京\n２．大阪", ["東京", "大阪"]),
        ("๑. กรุงเทพฯ\n๒. เชียงใหม่", ["กรุงเทพฯ", "เชียงใหม่"]),
        ("١- القاهرة\n٢- دمشق", ["القاهرة", "دمشق"]),
        ("Cities:\nParis\nRome", ["Paris", "Rome"]),
        ("Washington, D.C.; Paris", ["Washington, D.C.", "Paris"]),
        ("1,000; 2,500", ["1,000", "2,500"]),
        ("1,000, 2,500", ["1,000", "2,500"]),
        ("トリニダード・トバゴ", ["トリニダード・トバゴ"]),
        ("東京、大阪、京都", ["東京", "大阪", "京都"]),
        ("北京；上海", ["北京", "上海"]),
        ("القاهرة، دمشق", ["القاهرة", "دمشق"]),
        ("بغداد؛ دمشق", ["بغداد", "دمشق"]),
        ("Georgia (country, Caucasus), Armenia", ["Georgia (country, Caucasus)", "Armenia"]),
        ("C, C++, C#", ["C", "C++", "C#"]),
        ("Paris | Rome", ["Paris", "Rome"]),
        ("<think>Oslo, Bergen</think>Paris, Rome", ["Paris", "Rome"]),
        ("**Paris**, *Rome*", ["Paris", "Rome"]),
        ("", []),
        ("[]", []),
        ("Paris", ["Paris"]),
    ],
)
def test_parse(response: str, names: list[str]) -> None:
    assert parse_names(response) == names


def test_names_with_commas_are_put_together_again() -> None:
    assert parse_names("Marlow, D.X., Pell", known=["Marlow, D.X.", "Pell"]) == ["Marlow, D.X.", "Pell"]


@pytest.mark.parametrize(
    ("language", "response", "names"),
    [
        ("en", "red, green, and blue", ["red", "green", "blue"]),
        ("en", "red, green and blue", ["red", "green", "blue"]),
        ("de", "rot, grün und blau", ["rot", "grün", "blau"]),
        ("es", "rojo, verde y azul", ["rojo", "verde", "azul"]),
        ("xx", "red, green and blue", ["red", "green and blue"]),
    ],
)
def test_the_last_and_is_cut_by_language(language: str, response: str, names: list[str]) -> None:
    assert parse_names(response, language) == names


def test_an_and_within_a_gold_is_kept() -> None:
    golds = ["France", "Bosnia and Herzegovina"]
    assert parse_names("France, Bosnia and Herzegovina", "en", golds) == golds
    assert conjunction("de") == "und"


# (language, names that mean the same, names that do not)
LANGUAGES: list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]] = [
    (
        "en",
        [("The Hague", "hague"), ("O'Brien", "O’Brien"), ("naïve", "naive")],
        [("C", "C++"), ("3.5", "35")],
    ),
    (
        "de",
        [("Straße", "STRASSE"), ("der Rhein", "Rhein"), ("Köln", "Koln")],
        [("Mann", "Bann"), ("Rhein", "Rein")],
    ),
    ("fr", [("L’Équateur", "équateur"), ("la Seine", "Seine"), ("Évian", "Evian")], [("pêche", "poche")]),
    ("es", [("El Salvador", "Salvador"), ("Perú", "Peru"), ("¡Olé!", "olé")], [("Chile", "Chiles")]),
    ("it", [("l'Aquila", "Aquila"), ("Città", "citta"), ("lo Stelvio", "stelvio")], [("Roma", "Rome")]),
    ("pt", [("São Paulo", "Sao Paulo"), ("o Brasil", "Brasil"), ("Açores", "acores")], [("Faro", "Farol")]),
    ("nl", [("het IJ", "ij"), ("’s-Gravenhage", "'s-gravenhage"), ("de Maas", "Maas")], [("Maas", "Waas")]),
    ("ru", [("Ёлка", "елка"), ("МОСКВА", "Москва"), ("«Мир»", "мир")], [("мой", "мои"), ("й", "и")]),
    ("el", [("Αθήνα", "ΑΘΗΝΑ"), ("η Κρήτη", "Κρητη"), ("Σάμος", "σαμοσ")], [("Σάμος", "Σάμη")]),
    ("tr", [("İstanbul", "istanbul"), ("IĞDIR", "ığdır"), ("Şırnak", "şırnak")], [("kın", "kon")]),
    ("ar", [("القاهرة", "قاهرة"), ("مُحَمَّد", "محمد"), ("١٩٧٣", "1973")], [("تونس", "يونس"), ("حلب", "خلب")]),
    ("he", [("הגליל", "גליל"), ("«חיפה»", "חיפה"), ("תל־אביב", "תל אביב")], [("חיפה", "יפה")]),
    ("fa", [("ایران", "ایران\u200c"), ("۱۲", "12"), ("(تهران)", "تهران")], [("تهران", "تهرانی")]),
    ("hi", [("दिल्ली", "दिल्ली।"), ("१२", "12"), (" मुंबई ", "मुंबई")], [("क", "क्"), ("कल", "काल")]),
    ("bn", [("ঢাকা", "ঢাকা।"), ("১২", "12"), ("«খুলনা»", "খুলনা")], [("কালি", "কলি")]),
    ("th", [("กรุงเทพ", "กรุงเทพ "), ("๑๒", "12"), ("(เชียงใหม่)", "เชียงใหม่")], [("ใกล้", "ไกล"), ("มา", "ม้า")]),
    ("zh", [("北京", "「北京」"), ("ＡＢＣ", "abc"), ("上海。", "上海")], [("北京", "南京")]),
    (
        "ja",
        [("ﾄｳｷｮｳ", "トウキョウ"), ("『源氏物語』", "源氏物語"), ("１２", "12")],
        [("パリ", "バリ"), ("はし", "ばし")],
    ),
    ("ko", [("서울", "서울."), ("《심청전》", "심청전"), ("ＫＢＳ", "kbs")], [("강", "장")]),
    ("vi", [("Hà Nội", "HÀ NỘI"), ("Hà Nội", "Ha Noi"), ("Đà Lạt", "đà lạt")], [("Huế", "Hué2")]),
    (
        "id",
        [("Jakarta", "JAKARTA"), ("Sumatera-Utara", "sumatera utara"), ("“Bali”", "bali")],
        [("Bali", "Mali")],
    ),
    ("sw", [("Dar es Salaam", "dar es salaam"), ("Ng'ombe", "ng’ombe"), ("Mji.", "mji")], [("mtu", "watu")]),
]
SAME = [
    pytest.param(language, one, other, id=f"{language}-{n}")
    for language, same, _ in LANGUAGES
    for n, (one, other) in enumerate(same)
]
DIFFERENT = [
    pytest.param(language, one, other, id=f"{language}-{n}")
    for language, _, different in LANGUAGES
    for n, (one, other) in enumerate(different)
]


def matches(gold: str, predicted: str, language: str) -> bool:
    return len(match_names([predicted], [[gold]], language).pairs) == 1


@pytest.mark.parametrize(("language", "one", "other"), SAME)
def test_names_that_mean_the_same(language: str, one: str, other: str) -> None:
    assert matches(one, other, language)
    assert matches(other, one, language)


@pytest.mark.parametrize(("language", "one", "other"), DIFFERENT)
def test_names_that_differ(language: str, one: str, other: str) -> None:
    assert not matches(one, other, language)
    assert not matches(other, one, language)


def test_at_least_seventeen_languages_with_three_examples_each() -> None:
    assert len(LANGUAGES) >= 17
    assert all(len(same) + len(different) >= 3 for _, same, different in LANGUAGES)


def count(predicted: list[str], golds: list[Any], language: str = "", **more: Any) -> tuple[int, int, int]:
    entries = [gold if isinstance(gold, list) else [gold] for gold in golds]
    found = match_names(predicted, entries, language, **more)
    return len(found.pairs), len(found.predicted), len(found.golds)


def test_a_prediction_that_fits_two_golds_leaves_the_one_another_needs() -> None:
    golds = [["A", "x", "y"], ["B", "x"]]
    assert count(["x", "y"], golds)[0] == count(["y", "x"], golds)[0] == 2


def test_greedy_matching_takes_what_comes_first() -> None:
    golds = [["A", "x", "y"], ["B", "x"]]
    assert count(["x", "y"], golds, matching="greedy")[0] == 1


def test_tiers_that_would_merge_golds_are_off() -> None:
    assert count(["C", "C++", "C#"], ["C", "C++", "C#"]) == (3, 3, 3)
    assert count(["!!!"], ["C", "C++", "C#"])[0] == 0
    assert len(safe_tiers([["resume"], ["résumé"]], "en")) == 2
    assert count(["Resume"], ["resume", "résumé"], "en")[0] == 1
    assert len(safe_tiers([["a"], ["the a"]], "en")) == 2


def test_letters_that_look_like_articles_survive() -> None:
    for gold, predicted, right in (("A", "A", 1), ("A", "B", 0), ("B", "A", 0)):
        assert count([predicted], [gold], "en")[0] == right
    assert count(["NA"], ["NA", "Namibia"], "en")[0] == 1


def test_repeats_collapse_and_are_counted() -> None:
    found = match_names(["Paris", "PARIS", "paris "], [["Paris"]])
    assert (len(found.predicted), found.repeats) == (1, 2)


names = st.lists(st.text(alphabet="ab é'-", min_size=1, max_size=4), max_size=6)


@given(names, names, st.randoms(use_true_random=False))
def test_order_never_matters(predicted: list[str], golds: list[str], shuffle: random.Random) -> None:
    entries = [[gold] for gold in golds]
    one = match_names(predicted, entries, "en")
    shuffle.shuffle(predicted)
    shuffle.shuffle(entries)
    other = match_names(predicted, entries, "en")
    assert (one.pairs, one.golds) == (other.pairs, other.golds)
    assert [tier_one(name) for name in one.predicted] == [tier_one(name) for name in other.predicted]


@given(names, names)
def test_scores_are_bounded(predicted: list[str], golds: list[str]) -> None:
    rated = rate_match(match_names(predicted, [[gold] for gold in golds], "en"))
    assert 0 <= rated.f1 <= 1
    assert rated.f1 <= max(rated.p, rated.r) + 1e-12


SEEDS = [
    Seed(id="1", question="Which?", gold=(("Paris",), ("Rome",)), language="en", domain="geo"),
    Seed(id="2", gold=(("A",), ("B",), ("C",), ("D",)), language="fr", domain="letters"),
]


def test_headline_is_the_mean_over_questions() -> None:
    outcomes, unanswered, ignored = match_replies(
        SEEDS, [ListReply(id="1", response="Paris, Rome"), ListReply(id="9", response="x")]
    )
    scores = sum_up(outcomes, unanswered, ignored)
    assert (scores.overall.f1, scores.by_language["fr"].f1, scores.by_domain["geo"].f1) == (0.5, 0, 1)
    assert scores.micro.r == pytest.approx(2 / 6)
    assert (scores.unanswered, scores.ignored) == (("2",), 1)


def test_samples_of_a_question_are_averaged_in_any_order() -> None:
    texts = ["Paris, Rome", "Paris", "Oslo"]
    numbered = [ListReply(id="1", response=text, sample=n, model="m") for n, text in enumerate(texts)]
    bare = [ListReply(id="1", response=text) for text in texts]
    (score,) = sum_up(*match_replies(SEEDS[:1], numbered)).seeds
    assert (score.samples, score.quality.p, score.quality.r) == pytest.approx((3, 2 / 3, 0.5))
    assert score.quality.f1 == pytest.approx((1 + 2 / 3 + 0) / 3)
    for replies in (numbered[::-1], bare, bare[::-1]):
        assert sum_up(*match_replies(SEEDS[:1], replies)).seeds == (score,)


def test_a_question_weighs_the_same_however_often_it_was_asked() -> None:
    replies = [ListReply(id="1", response="Paris, Rome", sample=n) for n in range(4)]
    scores = sum_up(*match_replies(SEEDS, [*replies, ListReply(id="2", response="")]))
    assert (scores.overall.f1, scores.unanswered) == (0.5, ())


def test_a_failed_call_is_no_sample_and_a_repeated_number_no_second_one() -> None:
    replies = [
        ListReply(id="1", status="timeout", sample=0),
        ListReply(id="1", response="Oslo", sample=1),
        ListReply(id="1", response="Paris, Rome", sample=1),
        ListReply(id="2", status="server_error"),
    ]
    scores = sum_up(*match_replies(SEEDS, replies))
    assert [(seed.samples, seed.quality.f1) for seed in scores.seeds] == [(1, 1), (0, 0)]
    assert scores.unanswered == ("2",)


def test_the_judge_sees_leftovers_only_and_uses_a_gold_up() -> None:
    outcomes, _, _ = match_replies(
        SEEDS[:1], [ListReply(id="1", response="Rome; Lutetia; Paname; City of Light")]
    )
    asked = ask_judge(outcomes, "judge")
    assert len(asked) == 3
    assert all("Rome" not in r.messages[0]["content"].split("entries")[1] for r in asked.values())
    replies = {key: ChatReply(key=r.key, status="ok", text="Answer: 1") for key, r in asked.items()}
    (judged,) = apply_judge(outcomes, replies)
    rated = rate_match(judged.matched)
    assert (len(judged.matched.pairs), rated.r, rated.p) == (2, 1, 0.5)


@pytest.mark.parametrize(
    ("text", "place"),
    [("Answer: 2", 1), ("Answer: none", None), ("Answer: 9", None), ("hm", None), ("", None)],
)
def test_verdicts(text: str, place: int | None) -> None:
    assert read_verdict(text, 3) == place


def test_command(kina: Callable[..., Result], tmp_path: Path) -> None:
    questions, replies = tmp_path / "q.csv", tmp_path / "r.jsonl"
    questions.write_text("id,gold,language,domain\n1,NA;Rome,en,geo\n2,A;B,en,geo\n")
    replies.write_text('{"id": 1, "response": "NA, Rome"}\n{"id": 2, "response": "A"}\n')
    result = kina("score", "--task", "universe", "--questions", questions, "--replies", replies, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (report["precision"], report["recall"]) == (1, 0.75)
    assert report["f1"] == pytest.approx(5 / 6)
    assert [row["id"] for row in report["per_question"]] == ["1", "2"]
    replies.write_text("".join(reversed(replies.read_text().splitlines(keepends=True))))
    again = kina("score", "--task", "universe", "--questions", questions, "--replies", replies, "--json")
    assert again.stdout == result.stdout


def test_command_with_a_judge_replayed(
    kina: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, replies, log = tmp_path / "q.jsonl", tmp_path / "r.jsonl", tmp_path / "judge.jsonl"
    questions.write_text('{"id": "1", "gold": ["Paris", "Rome"], "language": "en"}\n')
    replies.write_text('{"id": "1", "response": "Lutetia, Rome"}\n')
    arguments = ("score", "--task", "universe", "--questions", questions, "--replies", replies)
    judge = ("--judge", "m", "--judge-log", log, "--json")
    with scripted(lambda _prompt, _times: said("Answer: 1")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        live = json.loads(kina(*arguments, *judge).stdout)
    monkeypatch.delenv("OPENAI_BASE_URL")
    replayed = json.loads(kina(*arguments, *judge).stdout)
    assert live | {"reused": {"replies": 1}} == replayed
    assert (live["f1"], live["rule_only"]["f1"]) == (1, 0.5)


def test_replies_of_several_models_are_refused(kina: Callable[..., Result], tmp_path: Path) -> None:
    questions, replies = tmp_path / "q.jsonl", tmp_path / "r.jsonl"
    questions.write_text('{"id": "1", "gold": ["x"]}\n')
    replies.write_text(
        '{"id": "1", "model": "a", "response": "x"}\n{"id": "1", "model": "b", "response": "y"}\n'
    )
    mixed = kina("score", "--task", "universe", "--questions", questions, "--replies", replies)
    assert (mixed.exit_code, "replies of 2 models ('a', 'b'" in mixed.stderr) == (2, True)


def test_command_names_what_is_wrong(kina: Callable[..., Result], tmp_path: Path) -> None:
    questions, replies = tmp_path / "q.jsonl", tmp_path / "r.jsonl"
    questions.write_text('{"id": "1", "gold": []}\n')
    replies.write_text('{"id": "1", "response": "x"}\n')
    empty = kina("score", "--task", "universe", "--questions", questions, "--replies", replies)
    assert (empty.exit_code, "'1' has no gold" in empty.stderr) == (2, True)
    questions.write_text('{"gold": ["x"]}\n')
    nameless = kina("score", "--task", "universe", "--questions", questions, "--replies", replies)
    assert (nameless.exit_code, "q.jsonl:1: id" in nameless.stderr) == (2, True)


@pytest.mark.parametrize("gold", [2, 2.5, True, {"a": 1}])
def test_a_gold_that_is_no_text_is_one_line(tmp_path: Path, gold: Any) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"id": "1", "gold": gold}) + "\n")
    with pytest.raises(RowErrors, match=r"q\.jsonl:1: gold: .*give a text or a list of texts"):
        read_seeds(path)
