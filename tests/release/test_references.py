"""Which options and explanations speak of others, and stay true after the letters are drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kina_build.items.mentions import find_mention
from kina_build.items.model import LETTERS, Item
from kina_build.items.wordings import PINNED
from kina_build.release.lettering.order import Lettering, letter_items
from kina_build.release.lettering.references import find_doubt, find_last_texts

MakeItem = Callable[..., Item]
PLAIN = ["pale moss", "grey slate", "red ochre"]

MENTIONS = (
    """
a and c|b, c|(a) or (b)|a/c|a & c|neither a nor b|options a and c|a combination of b and c|a. and c.|AC
A和C|A与C都正确
AとCの両方|A와 C|A oraz C|Sia A sia C|A и C|A i B|B sowie C|A, B and C are correct
(A) and (B) but not (C)|A plus B, C
only b|C only|all but (b)|not A|same as C|只有A|Ａ和Ｃ|A、C|A ve C|A và C|A dan C|A أو C|A och B|A og C
both A as well as C, B
""".strip()
    .replace("\n", "|")
    .split("|")
)

PLACES = (
    """
the first two|The last two of these three|first and third|Option 2|the other two|the second answer|前两项
后两者|第一和第三项
最初の二つ|처음 두 가지|les deux premières|la première et la troisième|las dos primeras|as duas primeiras
le prime due
die ersten beiden|die letzten zwei|de eerste twee|de första två|первые два|pierwsze dwa|první dvě|ilk iki
hai câu đầu|dua pertama
1 and 3|1, 2|I and III only|(i) and (ii)|2 and 3 are correct|①和③|1 e 3
""".strip()
    .replace("\n", "|")
    .split("|")
)

TOGETHER = (
    """
All of the above|None of these|All the above|Geen van bovenstaande|Všechny výše uvedené|Όλα τα παραπάνω
Niciuna dintre cele de mai sus|Żadna z powyższych|उपरोक्त सभी|Tất cả các đáp án trên
مندرجہ بالا میں سے کوئی نہیں
Alle oben genannten|Toutes les réponses ci-dessus|以上都不是|כל התשובות שלעיל|Ninguna de las anteriores
Todas as anteriores
Tutte le precedenti|Ничего из вышеперечисленного|Yukarıdakilerin hepsi|Semua di atas benar|جميع ما سبق
لا شيء مما سبق
위의 모두|上記のすべて|ถูกทุกข้อ|Alla ovanstående|Ingen av de ovennevnte|Kaikki edellä mainitut
Egyik sem a fentiek közül
Жоден із перелічених|همه موارد|উপরের সবগুলো|மேற்கண்ட அனைத்தும்|Všetky uvedené
""".strip()
    .replace("\n", "|")
    .split("|")
)

ORDINARY = (
    """
Vitamin C|a dog and a cat|A dog|x and y|plan B for energy|hepatitis B|the first law of motion|two thirds
1.5|1/3|all metals
e-mail|X-ray|f(a)|U.S. troops|a cup of tea|don't|none-linear growth|Everything ends|kun
alle Vögel fliegen|todo el mundo
semua orang Indonesia|всегда|všechno nejlepší|the last emperor|the other side
""".strip()
    .replace("\n", "|")
    .split("|")
)


def lettered(item: Item, seed: int, last: frozenset[str] = frozenset()) -> Lettering:
    return letter_items([item], seed=seed, secret=str(seed), last=last)[0]


@pytest.mark.parametrize("text", MENTIONS + PLACES)
def test_options_that_may_speak_of_others_keep_the_order_or_are_renamed(
    text: str, make_item: MakeItem
) -> None:
    item = make_item("q", "Which of these fits?", [*PLAIN, text], "B")
    assert find_doubt(item), text
    assert all(lettered(item, seed).item == item for seed in range(6))


@pytest.mark.parametrize("text", TOGETHER)
def test_all_and_none_of_the_above_stay_last(text: str, make_item: MakeItem) -> None:
    assert PINNED.fullmatch(text), text
    item = make_item("q", "Which of these fits?", [*PLAIN, text], "B")
    orders = {tuple(o.answer for o in lettered(item, seed).item.options) for seed in range(12)}
    assert {order[-1] for order in orders} == {text}
    assert len(orders) > 1, "the others are drawn"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_options_are_drawn(text: str, make_item: MakeItem) -> None:
    item = make_item("q", "Which of these fits?", [*PLAIN, text], "B")
    assert find_doubt(item) == "", find_doubt(item)
    assert not PINNED.fullmatch(text)
    assert len({lettered(item, seed).item.options[3].answer for seed in range(40)}) > 1


def test_all_of_the_above_in_the_middle_means_the_ones_above(make_item: MakeItem) -> None:
    assert find_doubt(make_item("q", "Which?", ["iron", "wood", "All of the above", "glass"], "A"))
    assert find_doubt(make_item("q", "Which?", ["iron", "wood", "None of these", "glass"], "A")) == ""
    assert find_doubt(make_item("q", "Which?", [*PLAIN, "Both of the above"], "A"))


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (
            "Runners A, B and C race. A beats B. Who wins?",
            ["A or B", "B or C", "nobody knows it", "all three win"],
        ),
        (
            "1. Iron rusts. 2. Gold rusts. 3. Tin rusts. Which hold?",
            ["1 and 2", "1 and 3", "all three hold", "2"],
        ),
        ("Solve (x - 1)(x - 3) = 0.", ["1 and 3", "2 and 4", "-1 and 3", "0"]),
        ("Which hex digit follows 9?", ["A", "B", "F", "10"]),
    ],
)
def test_names_of_the_questions_own_are_no_references(
    question: str, options: list[str], make_item: MakeItem
) -> None:
    item = make_item("q", question, options, "B")
    assert find_mention(item) is None
    if options[0] not in LETTERS:  # a lone letter alone is left in its place
        assert find_doubt(item) == ""


STALE = (
    """
So the answer is {}.|Answer - {}|Ans: {}|Answer={}|{} is the correct answer.|The key is {}.|Hence, {}.
故选{}。|正解は{}である。
Resposta: letra {}|Richtig ist {}.|La bonne réponse est la {}.|Правильный ответ: {}|We pick {} here.
Ans. ({})|So {}, as before.
정답은 {}입니다.|答案：{}|الإجابة {}|Odpowiedź {}.|Thus {} follows.|{} fits best.|Clearly {}!|[{}]
It must be {}|Option {} holds.
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.mark.parametrize("wording", STALE)
@pytest.mark.parametrize("key", "ABCD")
def test_an_explanation_names_the_key_after_the_draw(wording: str, key: str, make_item: MakeItem) -> None:
    options = [*PLAIN, "blue clay"]
    text = "Look at the plate. " + wording
    item = make_item("q", "Which of these fits?", options, key, explanation=text.format(key))
    for seed in range(6):
        made = lettered(item, seed).item
        assert made.explanation == text.format(made.correct_answer)
        assert made.correct_text == item.correct_text


@pytest.mark.parametrize(
    "explanation",
    [
        "Vitamin C is an acid.", "A dog barks.", "It is a dog. A cat purrs.", "Not in the U.S. at all.",
        "Type B lasts longer.", "An X-ray shows it.",
    ],
)  # fmt: skip
def test_ordinary_explanations_leave_the_draw_free(explanation: str, make_item: MakeItem) -> None:
    assert find_doubt(make_item("q", "Which?", [*PLAIN, "blue clay"], "C", explanation=explanation)) == ""


def test_an_article_behind_a_cue_is_not_renamed(make_item: MakeItem) -> None:
    item = make_item("q", "Which?", PLAIN, "B", explanation="The answer: A dog can smell it.")
    assert find_doubt(item)


@pytest.mark.parametrize("explanation", ["Правильный ответ — Б.", "Ответ: В", "الجواب ب.", "התשובה: ב"])
def test_letters_of_other_scripts_keep_the_order(explanation: str, make_item: MakeItem) -> None:
    assert find_doubt(make_item("q", "Which?", PLAIN, "B", explanation=explanation))


def test_a_text_that_stands_last_all_over_the_pool_stays_last(make_item: MakeItem) -> None:
    items = [make_item(f"q{n}", options=[f"x{n}", f"y{n}", "It depends"]) for n in range(12)]
    assert find_last_texts(items) == {"It depends"}
    assert find_last_texts(items[:5]) == frozenset()
    last = find_last_texts(items)
    assert all(lettered(i, 2, last).item.options[2].answer == "It depends" for i in items)
