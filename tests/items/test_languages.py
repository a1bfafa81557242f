"""Versions of one item in several languages: planted faults are found, and faithful translations are not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from kina_build.errors import UsageError
from kina_build.items import Item, Layout, check
from kina_build.items.importing.files import read_all, read_items
from kina_build.items.languages import ASKS_NEGATIVELY, DENIES, check_parallel, compare_versions, language_of
from kina_build.items.numerals import read_numbers, unmatched

Make = Callable[..., Item]


def rules(first: Item, other: Item) -> list[str]:
    return [fault.rule for fault in compare_versions(first, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("In 1,500 cases", "En 1.500 casos"),
        ("3.5 g of salt", "3,5 g de sal"),
        ("5 million cars", "500万台の車"),
        ("three cars and 12 buses", "車3台とバス12台"),
        ("on January 5", "1月5日に"),
        ("born in the 1940s", "nació en la década de 1940"),
        ("raised in the 70s", "creció en la década de 1970"),
        ("the number ٤٢", "the number 42"),
        ("the base-16 digit", "１６進数の数字"),
        ("a hexadecimal digit", "16進数"),
        ("a chance of .10", "una probabilidad de 0,10"),
        ("2 billion years", "20億年"),
        ("the 20th century", "20世紀"),
    ],
)
def test_numbers_are_matched_in_every_notation(one: str, other: str) -> None:
    assert unmatched(read_numbers(one), read_numbers(other)) == ([], [])


@pytest.mark.parametrize(
    ("one", "other", "lost", "found"),
    [
        ("in 1945", "1954年", 1945, 1954),
        ("worth $.50", "50ドル", Fraction(1, 2), 50),
        ("5 million cars", "5万台の車", 5_000_000, 50_000),
        ("3 cars", "4台の車", 3, 4),
    ],
)
def test_numbers_that_differ_are_named(one: str, other: str, lost: int | Fraction, found: int) -> None:
    ours, theirs = unmatched(read_numbers(one), read_numbers(other))
    assert any(lost in readings for readings in ours)
    assert any(found in readings for readings in theirs)


def test_planted_faults_are_found_one_by_one(make_item: Make) -> None:
    en = make_item("en:1", "Which gas has 14 electrons?", ["N2", "O2", "He"], "A")
    ja = make_item("ja:1", "14個の電子を持つ気体はどれか。", ["窒素", "酸素", "ヘリウム"], "A")
    assert rules(en, ja) == []
    assert rules(en, ja.model_copy(update={"correct_answer": "B"})) == ["parallel_key"]
    assert rules(en, ja.model_copy(update={"options": ja.options[:2]})) == ["parallel_options"]
    assert rules(en, ja.model_copy(update={"question": "41個の電子を持つ気体はどれか。"})) == [
        "parallel_numbers"
    ]
    asks = make_item("en:2", "Which is NOT a noble gas?", ["N2", "Ne", "He"], "A")
    says = make_item("ja:2", "次のうち希ガスはどれか。", ["窒素", "ネオン", "ヘリウム"], "A")
    assert rules(asks, says) == ["parallel_negation"]
    assert rules(says, asks) == ["parallel_negation"]
    assert rules(asks, says.model_copy(update={"question": "次のうち希ガスでないものはどれか。"})) == []


@pytest.mark.parametrize(
    ("language", "asks", "asks_not"),
    [
        ("en", "All are gases EXCEPT:", "Why is it not a gas?"),
        ("en", "Which of these statements is false?", "Which gas is lighter than air?"),
        ("ja", "正しくないものはどれか。", "重さがないとき何が起こるか。"),
        ("zh", "下列说法不正确的是", "下列说法正确的是"),
        ("es", "¿Cuál de estos no es un gas?", "¿Por qué no es un gas?"),
        ("fr", "Lequel est un gaz ? Tous SAUF", "Quel est ce gaz ?"),
        ("de", "Welches davon ist nicht gasförmig?", "Welches Gas ist leichter als Luft?"),
    ],
)
def test_each_language_knows_how_stems_ask_for_what_is_not_so(
    language: str, asks: str, asks_not: str
) -> None:
    import re

    pattern = re.compile(ASKS_NEGATIVELY[language], re.MULTILINE)
    assert pattern.search(asks)
    assert not pattern.search(asks_not)
    assert re.search(DENIES[language], asks, re.IGNORECASE)


def test_keys_are_compared_only_where_options_keep_their_order(make_item: Make) -> None:
    def pair(n: int, key: str) -> list[Item]:
        both = [
            make_item(f"en:{n}", f"Which gas is it, of the {n} here?", ["x", "y", "z"], "A"),
            make_item(f"es:{n}", f"¿Qué gas es, de los {n} de aquí?", ["x", "y", "z"], key),
        ]
        return [item.model_copy(update={"metadata": {"parallel": n}}) for item in both]

    mostly = [item for n in range(13, 25) for item in pair(n, "B" if n == 20 else "A")]
    assert [(item_id, fault.rule) for item_id, fault in check_parallel(mostly)] == [("es:20", "parallel_key")]
    shuffled = [item for n in range(13, 25) for item in pair(n, "ABC"[n % 3])]
    assert list(check_parallel(shuffled)) == []
    assert [one.item_id for one in check(mostly) if one.rule == "parallel_key"] == ["es:20"]


def test_numbers_in_options_pair_them_off_in_any_order(make_item: Make) -> None:
    en = make_item("en", "How long is it?", ["10 m", "25 m", "40 m"], "B")
    es = make_item("es", "¿Cuánto mide?", ["40 m", "10 m", "25 m"], "C")
    assert rules(en, es) == []
    assert rules(en, es.model_copy(update={"correct_answer": "B"})) == ["parallel_key"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which of the following is a gas?", "en"),
        ("¿Cuál de los siguientes es un gas?", "es"),
        ("次のうち気体はどれか。", "ja"),
        ("下列哪种是气体？", "zh"),
        ("다음 중 기체는?", "ko"),
        ("H2O", None),
    ],
)
def test_languages_are_told_by_letters_and_common_words(
    make_item: Make, text: str, language: str | None
) -> None:
    assert language_of(make_item("q", text)) == language
    assert language_of(make_item("q", text).model_copy(update={"language": "pt-BR"})) == "pt"


def test_import_links_versions_by_ids_or_by_rows(tmp_path: Path) -> None:
    en, es = tmp_path / "en.csv", tmp_path / "es.csv"
    en.write_text("id,question,A,B,answer\n7,Which gas?,x,y,A\n9,Which metal?,x,y,B\n")
    es.write_text("id,question,A,B,answer\n9,¿Qué metal?,x,y,B\n7,¿Qué gas?,x,y,B\n")
    pool = read_all([en, es], Layout(parallel=True, prefix_ids=True))
    assert {item.item_id: item.metadata["parallel"] for item in pool} == {
        "en:7": "7", "en:9": "9", "es:7": "7", "es:9": "9",
    }  # fmt: skip
    assert [(one.item_id, one.rule) for one in check(pool) if "parallel" in one.rule] == [
        ("es:7", "parallel_key")
    ]
    en.write_text("question,A,B,answer\nWhich gas?,x,y,A\n")
    assert read_items(en, Layout(parallel=True))[0].metadata["parallel"] == "row 1"
    (tmp_path / "torn.jsonl").write_text(
        '{"question": "x"\n{"question": "q", "A": "x", "B": "y", "answer": "A"}\n'
    )
    with pytest.raises(UsageError, match="rows cannot be read"):
        read_items(tmp_path / "torn.jsonl", Layout(parallel=True))
