"""Letters follow the texts that were shown: from the pool's order to a release's and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item, Option
from kina_build.scoring.lettering import Forms, find_forms, match_places, translate
from kina_build.scoring.prompts import build_prompt, prompt_digest
from kina_build.scoring.questions import Question, from_item, hash_option
from kina_build.scoring.responses import Asked
from kina_build.scoring.votes import read_votes

TEXTS = ("spring", "gorge", "delta", "weir")
POOL = Question(item_id="q", question="Which part lies north?", choices=TEXTS, answer="A")
RELEASE = POOL.model_copy(update={"choices": ("weir", "spring", "gorge", "delta"), "answer": "B"})


def sha(question: Question) -> str:
    return prompt_digest(build_prompt(question))


def as_item(question: Question) -> Item:
    options = tuple(Option(key=key, answer=text) for key, text in zip("ABCD", question.choices, strict=True))
    return Item(item_id="q", question=question.question, options=options, correct_answer="A")


def put(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@given(st.permutations(range(4)), st.sampled_from("ABCD"))
def test_a_letter_names_the_same_text_in_every_order(order: list[int], letter: str) -> None:
    shown = POOL.model_copy(update={"choices": tuple(TEXTS[place] for place in order)})
    own = translate(letter, shown, POOL)
    assert TEXTS["ABCD".index(own or "")] == shown.choices["ABCD".index(letter)]


def test_options_that_were_renamed_with_the_letters_are_matched_by_what_they_name() -> None:
    own = ("moss", "slate", "ochre", "both A and C", "both A and B")
    asked = ("slate", "ochre", "both C and B", "moss", "both D and A")
    assert match_places(asked, own) is None, "the letters of a third order are nobody's"
    asked = ("slate", "ochre", "moss", "both C and B", "both C and A")
    assert match_places(asked, own) == (1, 2, 0, 3, 4)


@pytest.mark.parametrize(
    ("asked", "own"), [(("a", "b"), ("a", "c")), (("a", "a"), ("a", "b")), (("a", "b", "c"), ("a", "b"))]
)
def test_other_or_equal_texts_cannot_be_matched(asked: tuple[str, ...], own: tuple[str, ...]) -> None:
    assert match_places(asked, own) is None


def test_a_reply_is_matched_to_the_form_it_answers() -> None:
    of_release = Asked("q", sha(RELEASE), None)
    hashed = Asked("q", None, tuple(hash_option(text)[:16] for text in RELEASE.choices))
    both = Forms({"q": POOL}, [{"q": RELEASE}])
    assert find_forms([of_release], both).asked == {of_release: RELEASE}
    assert find_forms([hashed], Forms({"q": POOL})).asked[hashed].choices == RELEASE.choices
    assert find_forms([of_release, of_release], Forms({"q": POOL})).foreign == {of_release: 2}
    bare = Asked("q", None, None)
    assert find_forms([bare], both).unproven == {"q": 1}
    stated = find_forms([bare, of_release], Forms({"q": POOL}, [{"q": RELEASE}], {"q": RELEASE}))
    assert (stated.stated, stated.asked) == (1, {bare: RELEASE, of_release: RELEASE})


def test_votes_on_a_release_are_votes_for_texts(tmp_path: Path) -> None:
    reply = {"item_id": "q", "model": "m", "response": "Answer: A", "prompt_sha": sha(RELEASE)}
    replies = put(tmp_path / "r.jsonl", reply)
    pool = [as_item(POOL)]
    assert read_votes([replies], pool, {"q": RELEASE}).matrix.letters.tolist() == [["D"]]
    with pytest.raises(InputError, match="another form") as refused:
        read_votes([replies], pool)
    assert "--release" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "row",
    [
        {"item_id": "q", "model": "m", "letter": "A"},
        {"item_id": "q", "model": "m", "response": "Answer: A"},
        {"model": "m", "answers": "A"},
    ],
)
def test_bare_letters_are_read_in_a_stated_order_only(tmp_path: Path, row: dict[str, str]) -> None:
    path, pool = put(tmp_path / "r.jsonl", row), [as_item(POOL)]
    with pytest.raises(UsageError) as refused:
        read_votes([path], pool)
    assert "--letters-of" in (refused.value.hint or "")
    votes = read_votes([path], pool, stated={"q": RELEASE})
    assert (votes.matrix.letters.tolist(), votes.stated) == ([["D"]], 1)


def test_letter_rows_may_say_what_they_mean(tmp_path: Path) -> None:
    hashes = [hash_option(text) for text in RELEASE.choices]
    row = {"item_id": "q", "model": "m", "letter": "A", "option_hashes": hashes}
    votes = read_votes([put(tmp_path / "r.jsonl", row)], [as_item(POOL)])
    assert (votes.matrix.letters.tolist(), votes.stated) == ([["D"]], 0)


def test_the_prompt_of_a_pool_item_is_its_own_form() -> None:
    question = from_item(as_item(POOL))
    assert find_forms([Asked("q", sha(question), None)], Forms({"q": question})).asked == {}


def exported(kina: Callable[..., Result], folder: Path) -> dict[str, dict[str, object]]:
    """Write a pool of twelve and its release, and replies that choose the option after the key."""
    put(
        folder / "raw.jsonl",
        *(
            {
                "id": f"r{n:02}", "question": f"Which part of river {n} lies north?",
                "options": [f"river {n} {text}" for text in TEXTS], "answer": "ABCD"[n % 4],
                "license": "CC0-1.0", "source": "own",
            }
            for n in range(12)
        ),
    )  # fmt: skip
    assert kina("import", "raw.jsonl", "-o", "pool.jsonl").exit_code == 0
    allowed = ("--allow", "key_position=x", "--allow", "length_cue=x")
    assert kina("export", "pool.jsonl", "-o", "release", *allowed).exit_code == 0
    rows = [json.loads(line) for line in (folder / "release/test.jsonl").read_text().splitlines()]
    replies = []
    for row in rows:
        wrong = row["choices"].index(f"river {int(row['id'][1:])} {TEXTS[(int(row['id'][1:]) + 1) % 4]}")
        question = Question(item_id=row["id"], question=row["question"], choices=row["choices"], answer="A")
        reply = {"item_id": row["id"], "model": "m", "response": f"Answer: {'ABCD'[wrong]}"}
        replies.append(reply | {"prompt_sha": sha(question)})
    put(folder / "replies.jsonl", *replies)
    return {row["id"]: row for row in rows}


def test_triage_and_panel_of_a_shuffled_release(kina: Callable[..., Result], tmp_path: Path) -> None:
    released = exported(kina, tmp_path)
    refused = kina("triage", "replies.jsonl", "--pool", "pool.jsonl")
    assert (refused.exit_code, "--release" in refused.stderr) == (2, True)
    given = ("replies.jsonl", "--pool", "pool.jsonl", "--release", "release")
    assert kina("triage", *given, "-o", "queue.jsonl").exit_code == 0
    queue = [json.loads(line) for line in (tmp_path / "queue.jsonl").read_text().splitlines()]
    after = {"A": "B", "B": "C", "C": "D", "D": "A"}
    assert {row["item_id"] for row in queue} == set(released)
    assert all(row["rival"] == after[row["key"]] for row in queue)
    assert kina("panel", *given, "--model", "m", "-o", "hard.jsonl").exit_code == 0
    assert len((tmp_path / "hard.jsonl").read_text().splitlines()) == len(released)
    alone = json.loads(kina("triage", "replies.jsonl", "--release", "release", "--json").stdout)
    for row in alone["queue"]:
        shown = released[row["item_id"]]["choices"]
        number = int(row["item_id"][1:])
        assert shown["ABCD".index(row["rival"])] == f"river {number} {TEXTS[(number + 1) % 4]}"


def test_results_of_the_public_runner_are_marked_by_their_own_texts(
    kina: Callable[..., Result], tmp_path: Path
) -> None:
    options = {key: {"answer": text} for key, text in zip("ABCD", RELEASE.choices, strict=True)}
    metadata = {"question": POOL.question, "options": options, "ground_truth": "B", "category": "x"}
    put(
        tmp_path / "results.jsonl", {"id": "q", "metadata": metadata, "responses": [{"content": "Answer: B"}]}
    )
    put(tmp_path / "pool.jsonl", as_item(POOL).model_dump())
    score = ("score", "--task", "multiple-choice", "--items", "pool.jsonl", "--responses", "results.jsonl")
    report = json.loads(kina(*score, "--json").stdout)
    assert report["models"][0]["score"] == 1
    assert "letters" not in report


def test_rank_reads_strings_of_letters_in_the_stated_order(
    kina: Callable[..., Result], tmp_path: Path
) -> None:
    asked = [{"id": f"i{n}", "choices": ["x", "y"], "answer": "A"} for n in range(20)]
    mended = [{"id": f"i{n}", "choices": ["y", "x"], "answer": "AB"[n % 2]} for n in range(20)]
    put(tmp_path / "asked.jsonl", *asked)
    put(tmp_path / "mended.jsonl", *mended)
    put(tmp_path / "a.jsonl", {"model": "m", "answers": "A" * 20}, {"model": "n", "answers": "BA" * 10})
    rank = ("rank", "--answers", "a.jsonl", "--samples", "100", "--json")
    assert kina(*rank, "--items", "asked.jsonl").exit_code == 2
    first = json.loads(kina(*rank, "--letters-of", "asked.jsonl").stdout)
    assert {row["model"]: row["accuracy"] for row in first["standings"]} == {"m": 1, "n": 0.5}
    assert "letters: order as stated, not proven" in first["notes"]
    other = json.loads(kina(*rank, "--letters-of", "asked.jsonl", "--items", "mended.jsonl").stdout)
    assert {row["model"]: row["accuracy"] for row in other["standings"]} == {"m": 0.5, "n": 1}


def test_letters_scored_in_another_order_are_no_letters_of_these_items(
    kina: Callable[..., Result], tmp_path: Path
) -> None:
    items = [{"id": f"i{n}", "choices": ["x", "y"], "answer": "AB"[n % 2]} for n in range(20)]
    put(tmp_path / "items.jsonl", *items)
    row = {"model": "m", "score": 1, "samples": 1, "letters": ["A"], "answer": "A"}
    put(tmp_path / "s.jsonl", *(row | {"item_id": f"i{n}", "model": m} for n in range(20) for m in "mn"))
    done = kina("rank", "--scores", "s.jsonl", "--items", "items.jsonl", "--samples", "100")
    assert (done.exit_code, "another right letter" in done.stderr) == (1, True)
