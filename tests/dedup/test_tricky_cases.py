"""The tricky cases of the design: pairs that a cosine alone would get wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.compare.canonical import equal_quantities, read_quantity, stem_form
from kina_build.dedup.compare.lexical import read_item
from kina_build.dedup.compare.verdict import Verdict
from kina_build.items.model import Item

MILL = (
    "The mill stood by the river. Each night the miller counted his sacks twice and wrote the number "
    "on the door. In the third year of the drought nobody came, and the wheel stood still until the rains."
)


def ask(question: str, options: str = "", key: str = "A", **more: Any) -> dict[str, Any]:
    """Write an item: options are parted by "|"."""
    return {
        "question": question,
        "options": options.split("|") if options else [],
        "correct_answer": key,
        **more,
    }


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another mass": (
        ask("What is the weight of a body of mass 2 kg?", "9.8 N|19.6 N|29.4 N|4.9 N", "B"),
        ask("What is the weight of a body of mass 3 kg?", "9.8 N|19.6 N|29.4 N|4.9 N", "C"),
        "template_sibling",
    ),
    "another mass, same letter and options": (
        ask("A body of 2 kg falls freely; its acceleration is?", "9.8 N|19.6 N|29.4 N|4.9 N"),
        ask("A body of 3 kg falls freely; its acceleration is?", "9.8 N|19.6 N|29.4 N|4.9 N"),
        "template_sibling",
    ),
    "correct against incorrect": (
        ask(
            "Which statement about cell division is correct?",
            "mitosis halves the chromosomes|meiosis makes gametes|cells never divide|DNA is a lipid",
            "B",
        ),
        ask(
            "Which statement about cell division is incorrect?",
            "mitosis halves the chromosomes|meiosis makes gametes|cells never divide|DNA is a lipid",
            "A",
        ),
        "template_sibling",
    ),
    "is against is NOT": (
        ask("Which of these is a noble gas?", "neon|iron|zinc|tin"),
        ask("Which of these is NOT a noble gas?", "neon|argon|zinc|xenon", "C"),
        "template_sibling",
    ),
    "is against isn't": (
        ask("Which element is a halogen of period three?", "chlorine|argon"),
        ask("Which element isn't a halogen of period three?", "chlorine|argon", "B"),
        "template_sibling",
    ),
    "another country in a template": (
        ask("About what share of people in China had safe water in 2015?", "95%|75%"),
        ask("About what share of people in Mexico had safe water in 2015?", "95%|75%"),
        "template_sibling",
    ),
    "roles swapped": (
        ask("The cook thanked the baker. Whom was thanked?", "the baker|the cook"),
        ask("The baker thanked the cook. Whom was thanked?", "the baker|the cook", "B"),
        "template_sibling",
    ),
    "another power": (
        ask("What is the derivative of x² + 1?", "2x|3x²|x"),
        ask("What is the derivative of x³ + 1?", "2x|3x²|x", "B"),
        "template_sibling",
    ),
    "another sign": (
        ask("For which x does x ≠ 4 hold?", "all but four|four only"),
        ask("For which x does x = 4 hold?", "all but four|four only", "B"),
        "template_sibling",
    ),
    "a negative number": (
        ask("What is the absolute value of 5 plus 2?", "7|3"),
        ask("What is the absolute value of -5 plus 2?", "7|3", "B"),
        "template_sibling",
    ),
    "another amount of substance": (
        ask("A solution holds 0.0025 mol in 1 L. What is its molarity?", "0.0025 M|0.25 M"),
        ask("A solution holds 0.25 mol in 1 L. What is its molarity?", "0.0025 M|0.25 M", "B"),
        "template_sibling",
    ),
    "strong against weak electrolyte": (
        ask("下列物质属于强电解质的是", "NaCl|CH3COOH|NH3·H2O|H2CO3"),
        ask("下列物质属于弱电解质的是", "NaCl|CH3COOH|NH3·H2O|H2CO3", "B"),
        "template_sibling",
    ),
    "options permuted, same key text": (
        ask("Which planet is largest?", "Mars|Jupiter|Venus", "B"),
        ask("Which planet is largest?", "Jupiter|Venus|Mars", "A"),
        "duplicate",
    ),
    "same stem, other options": (
        ask("Which of these is a mammal?", "whale|shark|trout"),
        ask("Which of these is a mammal?", "robin|otter|adder", "B"),
        "distinct",
    ),
    "shared passage, other question": (
        ask("Where did the mill stand?", "by the river|on a hill", question_material=MILL),
        ask("What did the miller count?", "sacks|coins", question_material=MILL),
        "same_passage",
    ),
    "shared passage within the stems": (
        ask(f"{MILL} Where did the mill stand?", "by the river|hill"),
        ask(f"{MILL} What was counted by him?", "sacks|coins"),
        "same_passage",
    ),
    "with and without the passage": (
        ask("What did the miller count?", "sacks|coins", question_material=MILL),
        ask("What did the miller count?", "sacks|coins"),
        "duplicate",
    ),
    "same item in two subjects": (
        ask("Which gland makes insulin?", "pancreas|thymus", discipline="anatomy"),
        ask("Which gland makes insulin?", "pancreas|thymus", discipline="clinic"),
        "duplicate",
    ),
    "same item, other key": (
        ask("Which gland makes insulin?", "pancreas|thymus", "A"),
        ask("Which gland makes insulin?", "thymus|pancreas", "A"),
        "conflict",
    ),
    "LaTeX against words": (
        ask("Solve $x^2 - 4 = 0$ for positive $x$.", "two|four"),
        ask("Which positive number has a square that equals four?", "two|four"),
        "review",
    ),
    "full width against ASCII": (
        ask("Ｗｈａｔ ｉｓ ２＋２？", "４|５"),
        ask("What is 2+2?", "4|5"),
        "duplicate",
    ),
    "Kangxi radical against the ordinary character": (
        ask("下列关于⽔的说法正确的是", "⽔是液体|冰是液体"),
        ask("下列关于水的说法正确的是", "水是液体|冰是液体"),
        "duplicate",
    ),
    "full stops and a capital": (
        ask("Which gas do plants take in?", "Oxygen.|Carbon dioxide.", "B"),
        ask("Which gas do plants take in", "carbon dioxide|oxygen"),
        "duplicate",
    ),
    "genotypes by letter case": (
        ask("Which genotype shows the recessive trait?", "gg|Gg|GG"),
        ask("Which genotype shows the recessive trait?", "GG|gg|Gg"),
        "conflict",
    ),
    "stems that only letter case tells apart": (
        ask("Cross Gg with GG: how many types?", "two types|one type"),
        ask("Cross GG with Gg: how many types?", "two types|one type"),
        "review",
    ),
    "brackets are the question": (
        ask("Close the brackets: [ ( <", "", "> ) ]"),
        ask("Close the brackets: [ < (", "", ") > ]"),
        "template_sibling",
    ),
    "same question with more options": (
        ask("Which metal is liquid at room temperature?", "mercury|iron|zinc|tin"),
        ask("Which metal is liquid at room temperature?", "mercury|gold|lead|silver|nickel|cobalt"),
        "review",
    ),
    "a paraphrase": (
        ask("Which vitamin prevents scurvy?", "vitamin C|vitamin D|vitamin K"),
        ask("Scurvy can be avoided by taking which vitamin?", "vitamin D|vitamin C|vitamin K", "B"),
        "review",
    ),
    "a key that names no option": (
        ask("Which gland makes insulin?", "pancreas|thymus", "E"),
        ask("Which gland makes insulin?", "pancreas|thymus"),
        "review",
    ),
    "units with and without a blank": (
        ask("What is the molar mass of calcium carbonate?", "100 g/mol|56 g/mol|44 g/mol|74 g/mol"),
        ask("What is the molar mass of calcium carbonate?", "100g/mol|56g/mol|44g/mol|74g/mol"),
        "review",
    ),
    "percent as a sign and as a word": (
        ask("Which share of the mill's rye was lost in the flood?", "10%|30%|50%"),
        ask("Which share of the mill's rye was lost in the flood?", "10 percent|30 per cent|50 percent"),
        "review",
    ),
    "labels on the options": (
        ask("Which gland beside the gut makes insulin?", "pancreas|thymus"),
        ask("Which gland beside the gut makes insulin?", "(A) pancreas|(B) thymus"),
        "review",
    ),
    "a frame around the options": (
        ask("Which gland beside the gut makes insulin?", "pancreas|thymus"),
        ask("Which gland beside the gut makes insulin?", "It is the pancreas here|It is the thymus here"),
        "review",
    ),
    "numbers in LaTeX": (
        ask("A cube of side 2 feet takes 16 quarts; how many does 1,000 take?", "8|13"),
        ask("A cube of side $2$ feet takes $16$ quarts; how many does $1,000$ take?", "$8$|$13$"),
        "review",
    ),
    "marks of HTML": (
        ask("Which lock of the canal fills fastest?", "the north lock|the mill lock"),
        ask("Which <b>lock</b> of the canal fills fastest?", "the north lock|the mill lock"),
        "review",
    ),
    "words cut by hyphens": (
        ask("What does a valid disjunctive syllogism of this kind affirm?", "a premise|nothing"),
        ask("What does a valid disj- unctive syll- ogism of this kind affirm?", "a premise|nothing"),
        "review",
    ),
    "glued words": (
        ask("The number of gamboge particles in water was monitored; what is k?", "the constant|a ratio"),
        ask("The number ofgambogeparticles in water wasmonitored; what is k?", "the constant|a ratio"),
        "review",
    ),
    "letters of another alphabet that look alike": (
        ask("How many people of the town were homeless that year?", "55,000|550,000"),
        ask("How mаny pеoplе of thе town were homeless that year?", "55,000|550,000"),
        "review",
    ),
    "a typing error in a name": (
        ask("In 1965 how many Americans thought the war a mistake?", "one quarter|one half"),
        ask("In 1965 how many Amreicans thought the war a mistake?", "one quarter|one half"),
        "review",
    ),
    "two names that differ in one letter": (
        ask("What was the largest export of Gambia that year?", "cotton cloth|copper ore"),
        ask("What was the largest export of Zambia that year?", "cotton cloth|copper ore"),
        "template_sibling",
    ),
    "another word of the same pole": (
        ask("Which process in the cell releases the most energy?", "oxidation|fermentation"),
        ask("Which process in the cell releases the largest energy?", "oxidation|fermentation"),
        "review",
    ),
    "a word of the other pole": (
        ask("Which process in the cell releases the most energy?", "oxidation|fermentation"),
        ask("Which process in the cell releases the least energy?", "oxidation|fermentation"),
        "template_sibling",
    ),
    "an instruction in front": (
        ask("How many ways can three of eighty teachers speak in turn?", "592,620|592,704"),
        ask(
            "Choose the one best answer. How many ways can three of eighty teachers speak in turn?",
            "592,620|592,704",
        ),
        "review",
    ),
    "a denial in front": (
        ask("The jurisdiction of the higher court over tolls was settled by treaty?", "so it was|by war"),
        ask(
            "It is not so: the jurisdiction of the higher court over tolls was settled by treaty?",
            "so it was|by war",
        ),
        "template_sibling",
    ),
    "a telling stem with other options": (
        ask("Which foramina pierce the sphenoid bone?", "ovale and rotundum|magnum"),
        ask("Which foramina pierce the sphenoid bone?", "two of the skull base|the jugular one", "B"),
        "review",
    ),
    "a number that cannot be right beside the other": (
        ask("What is the height of a gallium column in the barometer?", "1697 mm|1750 mm"),
        ask("What is the height of a gallium column in the barometer?", "1400 mm|1600 mm"),
        "conflict",
    ),
    "a number rounded": (
        ask("What is the height of a gallium column in the barometer?", "1.697 m|1.750 m"),
        ask("What is the height of a gallium column in the barometer?", "1.70 m|1.60 m"),
        "review",
    ),
    "each calls the other's answer wrong": (
        ask("Who built the old mill beside the canal?", "the abbot|the miller|a duke"),
        ask("Who built the old mill beside the canal?", "the miller|the abbot|a merchant"),
        "conflict",
    ),
    "close texts, nothing else": (
        ask("Why do leaves look green in summer?", "chlorophyll reflects green|they are cold"),
        ask("What makes the foliage of trees green?", "pigments of the leaf|the blue sky"),
        "review",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_letters_decide_whatever_the_encoder_says(
    name: str, make_item: Callable[..., Item], judged: Callable[..., Verdict]
) -> None:
    left, right, status = CASES[name]
    one, other = make_item("a", **left), make_item("b", **right)
    assert judged(one, other).status == status
    assert judged(other, one).status == status


def test_a_cosine_of_one_drops_nothing(
    make_item: Callable[..., Item], judged: Callable[..., Verdict]
) -> None:
    rules = DedupRules(strong_action="drop")
    for left, right, status in CASES.values():
        verdict = judged(make_item("a", **left), make_item("b", **right), 1.0, rules)
        if status != "duplicate" and verdict.status == "duplicate":
            assert verdict.rule == "strong"  # as configured: same answer among the same options


def test_strong_evidence_drops_when_the_user_says_so(
    make_item: Callable[..., Item], judged: Callable[..., Verdict]
) -> None:
    left, right, _ = CASES["a paraphrase"]
    one, other = make_item("a", **left), make_item("b", **right)
    assert judged(one, other, 0.82, DedupRules(strong_action="drop")).status == "duplicate"
    assert judged(one, other, 0.75, DedupRules(strong_action="drop")).status == "review"


def test_equal_years_to_choose_from_are_no_evidence(
    make_item: Callable[..., Item], judged: Callable[..., Verdict]
) -> None:
    years = ["1970s", "1980s", "1990s", "2000s"]
    mail = make_item("a", "When was electronic mail first in common use?", years)
    war = make_item("b", "In which decade did the border dispute end?", years)
    assert judged(mail, war, 0.46).status == "distinct"


def test_a_generic_stem_with_generic_options_is_no_conflict(make_item: Callable[..., Item]) -> None:
    from kina_build.dedup.encoded import read_corpus
    from kina_build.dedup.find import find_copies

    pool = [
        make_item(f"q{n:02d}", "Is the statement true?", ["True", "False"], "AB"[n % 2], discipline=str(n))
        for n in range(12)
    ]
    result = find_copies(read_corpus(pool, None))
    assert not result.held


def test_shared_instructions_do_not_make_items_alike(make_item: Callable[..., Item]) -> None:
    from kina_build.dedup.encoded import EncodedPool, read_corpus
    from kina_build.dedup.find import compare_rows

    acts = (
        "watered roses|fed a pigeon|sold bread|read aloud|drew maps|lit lamps|mended nets|rang bells|cut hay"
    )
    acts += "|baked pies"
    task = "For which of these scenarios does the main character do something wrong by ordinary standards? "
    pool = [
        make_item(f"q{n}", f"{task}I {act} near town.", ["Wrong", "Not wrong"], "B")
        for n, act in enumerate(acts.split("|"))
    ]
    corpus: EncodedPool = read_corpus(pool, None)
    verdict = compare_rows(corpus, (0, 5), 0.9, DedupRules())
    assert (verdict.status, verdict.rule) == ("distinct", "boilerplate")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("1.38 × 10^-23 J/K", "1.38×10⁻²³ J / K", True),
        ("$\\frac{3}{4}$", "3/4", True),
        ("0.94", "0.938", True),
        ("5 kg", "5 g", False),
        ("200 cm", "196 cm", False),
        ("7", "7.4", False),
        ("1,000 J", "1000 J", True),
        ("-2 m", "2 m", False),
        ("50 percent", "50%", True),
    ],
)
def test_numbers_are_compared_by_value_and_unit(one: str, other: str, equal: bool) -> None:
    left, right = read_quantity(one), read_quantity(other)
    assert left is not None
    assert right is not None
    assert equal_quantities(left, right) is equal


@pytest.mark.parametrize("answer", ["between 2 and 3 m", "", "two", "A", "3/0", "1 × 10^999"])
def test_what_is_no_single_number_is_not_read_as_one(answer: str) -> None:
    assert read_quantity(answer) is None


def test_options_that_would_become_one_keep_their_form(make_item: Callable[..., Item]) -> None:
    assert read_item(make_item("a", "Which?", ["x-1", "x 1"])).forms == ("x-1", "x 1")
    assert read_item(make_item("b", "Which?", ["GG", "Gg"])).forms == ("GG", "Gg")


@given(st.text(max_size=40))
def test_the_form_of_a_stem_forgets_its_blanks(words: str) -> None:
    assert stem_form(f" {words}") == stem_form(words)
