"""Accuracy with everything beside it that could not be marked; runs that can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.config import ScoringRules
from kina_build.errors import InputError, RowErrors
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.scoring.marking import mark_models
from kina_build.scoring.multiple_choice import score_items
from kina_build.scoring.prompts import build_prompt, prompt_digest, shuffled_order
from kina_build.scoring.questions import Question, chance_level, from_item, read_release
from kina_build.scoring.reports import majority_letter, report_model
from kina_build.scoring.responses import Response, read_responses, sift_responses
from kina_build.scoring.runs.calls import plan_calls
from tests import servers
from tests.servers import said, scripted


def question(item_id: str, answer: str = "A", n: int = 4, **more: Any) -> Question:
    choices = tuple(f"choice {k}" for k in range(n))
    return Question(item_id=item_id, question=f"What is {item_id}?", choices=choices, answer=answer, **more)


def replied(item_id: str, text: str | None, sample: int = 0, **more: Any) -> Response:
    return Response(item_id=item_id, model=more.pop("model", "m"), sample=sample, response=text, **more)


def asked(*questions: Question) -> dict[str, Question]:
    return {one.item_id: one for one in questions}


def test_avg_at_k_and_pass_at_1() -> None:
    questions = asked(question("i1", "B"), question("i2", "C"))
    texts = {
        "i1": ["Answer: B", "Answer: A", "Answer: B", "hm."],
        "i2": ["Answer: A", "Answer: C", "Answer: C", "C"],
    }
    responses = [replied(i, text, s) for i, rows in texts.items() for s, text in enumerate(rows)]
    scores = score_items(questions, responses)
    report = report_model("m", questions, scores, responses)
    assert [row.score for row in scores] == [0.5, 0.75]
    assert (report.score, report.pass_at_1, report.majority, report.k) == (0.625, 0.5, 1.0, 4)
    assert report.letter_statuses == {"ok": 7, "unreadable": 1}


def test_an_unread_reply_is_wrong_and_an_unanswered_call_is_missing() -> None:
    questions = asked(question("i1"), question("i2"), question("i3"))
    responses = [
        replied("i1", "", status="empty"),
        replied("i2", None, status="timeout"),
        replied("i3", "Answer: A"),
    ]
    scores = score_items(questions, responses)
    report = report_model("m", questions, scores, responses)
    assert (report.answered, report.missing, report.score) == (2, ("i2",), None)
    assert (report.status, report.accuracy_answered) == ("below_floor", 0.5)
    assert report.reply_statuses == {"empty": 1, "ok": 1, "timeout": 1}
    partial = report_model("m", questions, scores, responses, allow_partial=True)
    assert partial.score == 0.5


def test_a_cut_reply_counts_only_what_it_had_declared() -> None:
    questions = asked(question("i1"), question("i2"))
    responses = [
        replied("i1", "Answer: A\n\nTo explain,", status="truncated"),
        replied("i2", "A. Because of", status="truncated"),
    ]
    assert [row.statuses for row in score_items(questions, responses)] == [{"ok": 1}, {"truncated": 1}]


def test_shuffled_options_are_marked_in_the_items_own_labels() -> None:
    one = question("i1", "A")
    response = replied("i1", "Answer: C", option_order=(1, 2, 0, 3))
    (score,) = score_items(asked(one), [response])
    assert (score.letters, score.score) == (("A",), 1)
    in_words = replied("i1", "Answer: choice 0", option_order=(1, 2, 0, 3))
    assert score_items(asked(one), [in_words])[0].score == 1


def test_shuffles_depend_on_seed_and_item_only() -> None:
    one, other = question("i1", n=10), question("i2", n=10)
    assert shuffled_order(one, 1) == shuffled_order(one, 1)
    assert len({shuffled_order(one, 1), shuffled_order(one, 2), shuffled_order(other, 1)}) == 3
    assert sorted(shuffled_order(one, 1)) == list(range(10))


def test_groups_of_one_name_under_two_disciplines_stay_apart() -> None:
    questions = asked(
        question("i1", discipline="law", field="theory"), question("i2", discipline="art", field="theory")
    )
    responses = [replied("i1", "Answer: A"), replied("i2", "Answer: B")]
    report = report_model("m", questions, score_items(questions, responses), responses)
    assert {name: group.score for name, group in report.groups["field"].items()} == {
        "art / theory": 0,
        "law / theory": 1,
    }
    assert report.macro == 0.5


def test_processes_give_what_one_process_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = asked(question("i1"), question("i2"))
    responses = [replied(i, "Answer: A", model=m) for i in questions for m in ("m1", "m2")]
    alone = mark_models(["m1", "m2"], questions, responses)
    monkeypatch.setattr("kina_build.scoring.marking.WORTH_A_PROCESS", 0)
    assert mark_models(["m1", "m2"], questions, responses) == alone


def test_prompt_shows_passage_question_and_options_in_order() -> None:
    one = Question(item_id="i", question="Which?", material="A text.", choices=("x", "y"), answer="A")
    text = build_prompt(one, (1, 0))
    assert text.endswith("A text.\n\nWhich?\n\nA: y\nB: x")
    assert "Answer: X" in text
    assert prompt_digest(text) != prompt_digest(build_prompt(one))


def test_samples_are_calls_of_their_own_and_raise_the_seed() -> None:
    calls = plan_calls([question("i1")], "m", 2, {"seed": 7})
    assert [call.request.params["seed"] for call in calls] == [7, 8]
    assert len({call.request.key for call in calls}) == 2


def test_an_item_whose_key_names_no_option_is_refused(make_item: Callable[..., Item]) -> None:
    with pytest.raises(InputError, match="names none of its options"):
        from_item(make_item(correct_answer="Z"))


def test_an_item_with_one_option_is_refused_in_a_line(make_item: Callable[..., Item]) -> None:
    one = make_item()
    with pytest.raises(InputError, match="it has 1 option, so there is nothing to choose"):
        from_item(one.model_copy(update={"options": one.options[:1], "correct_answer": "A"}))


def test_majority() -> None:
    assert majority_letter(["A", "A", "A", "B"]) == "A"
    assert majority_letter(["A", "B"]) is None
    assert majority_letter([None, "B"]) == "B"
    assert majority_letter([]) is None


def rows(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def test_public_results_of_the_kina_runner_are_read_and_marked(
    kina: Callable[..., Result], tmp_path: Path
) -> None:
    folder = tmp_path / "results" / "lab--model" / "n2_tokens64"
    folder.mkdir(parents=True)
    metadata = {
        "id": 5,
        "question": "Which?",
        "options": {"A": {"id": "A", "answer": "x"}, "B": {"id": "B", "answer": "y"}},
        "ground_truth": "B",
        "category": "Law/Civil law",
    }
    replies = [{"content": "Answer: B", "reasoning": None}, {"content": None, "reasoning": None}]
    path = rows(folder / "KINA-899.jsonl", {"id": 5, "responses": replies, "metadata": metadata})
    report = json.loads(kina("score", "--task", "multiple-choice", "--responses", path, "--json").stdout)
    (model,) = report["models"]
    assert (model["model"], model["score"], model["k"]) == ("lab--model", 1, 1)
    assert model["reply_statuses"] == {"ok": 1, "server_error": 1}
    assert model["groups"]["field"] == {"Law / Civil law": {"n": 1, "score": 1}}


def release_row(item_id: str, answer: str) -> dict[str, Any]:
    return {
        "id": item_id,
        "question": f"What is {item_id}?",
        "choices": ["x", "y", "z"],
        "answer": answer,
        "answer_index": "ABC".index(answer),
        "discipline": "law",
        "field": "civil",
        "subfield": "",
        "source": "s",
        "license": "CC0-1.0",
        "canary": "c",
    }


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    rows(folder / "test.jsonl", *(release_row(f"q{n}", "ABC"[n % 3]) for n in range(6)))
    (folder / "release.json").write_text('{"version": "1.0.0", "content_hash": "abc"}')
    return folder


def test_release_rows_are_checked(release: Path) -> None:
    rows(release / "test.jsonl", release_row("q1", "A") | {"answer": "D"}, {"id": "q2"})
    with pytest.raises(RowErrors, match=r"test\.jsonl:1: answer: 'D' names no choice") as caught:
        read_release(release)
    assert "test.jsonl:2" in str(caught.value)


def test_a_record_of_a_release_that_is_none_is_one_line(
    kina: Callable[..., Result], release: Path, tmp_path: Path
) -> None:
    (release / "release.json").write_text("[]")
    told = [{"item_id": f"q{n}", "model": "m", "response": "A"} for n in range(6)]
    rows(tmp_path / "r.jsonl", *told)
    score = ("score", "--task", "multiple-choice", "--release", release, "--letters-of", release)
    done = kina(*score, "--responses", tmp_path / "r.jsonl", "-o", tmp_path / "scores.jsonl")
    assert (done.exit_code, (tmp_path / "scores.jsonl").exists()) == (2, False)
    assert "release.json" in done.stderr


def test_run_is_resumed_without_repeating_a_call(
    kina: Callable[..., Result], release: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    run = ("run", "--release", release, "--model", "m", "-o", "responses.jsonl", "--samples", "2", "--json")
    with scripted(lambda p, _t: servers.BAD_REQUEST if "q3" in p else said("Answer: A")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        first = kina(*run)
    assert first.exit_code == 1
    assert json.loads(first.stdout)["statuses"] == {"bad_request": 2, "ok": 10}
    with scripted(lambda _p, _t: said("Answer: A")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        second = kina(*run)
    assert (second.exit_code, len(server.asked)) == (0, 2)
    assert json.loads(second.stdout)["prompt_tokens"] == 84
    assert all("q3" in body["messages"][0]["content"] for body in server.asked)
    with scripted(lambda _p, _t: said("Answer: B")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        before = (tmp_path / "responses.jsonl").read_bytes()
        assert kina(*run).exit_code == 0
    assert server.asked == []
    assert (tmp_path / "responses.jsonl").read_bytes() == before
    assert not any("sk-secret" in path.read_text() for path in tmp_path.glob("*.json*"))


def test_run_then_score(
    kina: Callable[..., Result], release: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with scripted(lambda _p, _t: said("I think it is x.\n\nAnswer: A")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = kina("run", "--release", release, "--model", "m", "-o", "responses.jsonl", "--samples", "1")
    assert ran.exit_code == 0
    score = ("score", "--task", "multiple-choice", "--release", release, "--responses", "responses.jsonl")
    report = json.loads(kina(*score, "--json", "-o", "scores.jsonl").stdout)
    (model,) = report["models"]
    assert (model["score"], model["chance"], model["coverage"]) == pytest.approx((1 / 3, 1 / 3, 1))
    assert report["dataset"] == {"version": "1.0.0", "content_hash": "abc"}
    assert {"extractor_version", "prompt_version"} <= set(report)
    written = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [row["item_id"] for row in written] == [f"q{n}" for n in range(6)]
    assert {row["score"] for row in written} == {0.0, 1.0}
    assert "up to date" in kina(*score, "-o", "scores.jsonl").stderr
    shown = kina(*score).stdout
    assert "AVG@k" in shown
    assert "by discipline" in shown


def test_a_changed_question_makes_its_replies_unmarkable(
    kina: Callable[..., Result], release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(lambda _p, _t: said("Answer: A")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        kina("run", "--release", release, "--model", "m", "-o", "responses.jsonl", "--samples", "1")
    rows(
        release / "test.jsonl", *(release_row(f"q{n}", "A") | {"choices": ["z", "y", "x"]} for n in range(6))
    )
    result = kina(
        "score", "--task", "multiple-choice", "--release", release, "--responses", "responses.jsonl", "--json"
    )
    report = json.loads(result.stdout)
    assert (result.exit_code, report["dropped"]["prompt_changed"]) == (1, 6)
    assert (report["models"][0]["score"], report["models"][0]["status"]) == (None, "no_scored_items")


UNPROVEN = ("score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl")


def relettered(release: Path, **letters: Any) -> None:
    manifest = {"version": "1.0.0", "content_hash": "abc", "letters": letters}
    (release / "release.json").write_text(json.dumps(manifest))
    answers = ({"item_id": f"q{n}", "model": "m", "response": "Answer: A"} for n in range(6))
    rows(release.parent / "r.jsonl", *answers)


def test_replies_that_do_not_say_which_letters_they_mean_are_refused_or_marked_as_stated(
    kina: Callable[..., Result], release: Path, tmp_path: Path
) -> None:
    relettered(release, shuffled=True, kept={"q1": "refers to a letter"})
    refused = kina(*UNPROVEN, "-o", "scores.jsonl")
    assert refused.exit_code == 2
    assert "6 replies to 6 items carry no prompt_sha or option_hashes" in refused.stderr
    assert "--letters-of release" in refused.stderr
    assert not (tmp_path / "scores.jsonl").exists()
    stated = kina(*UNPROVEN, "--letters-of", "release", "--json", "-o", "scores.jsonl")
    assert stated.exit_code == 0, stated.stderr
    report = json.loads(stated.stdout)
    assert report["models"][0]["score"] == pytest.approx(1 / 3)
    assert report["letters"] == "order as stated, not proven"
    written = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert {row["letters_order"] for row in written} == {"order as stated, not proven"}
    board = json.loads(kina("rank", "--scores", "scores.jsonl", "--samples", "100", "--json").stdout)
    assert "letters: order as stated, not proven" in board["notes"]


def test_a_failed_call_has_no_letter_to_doubt(kina: Callable[..., Result], release: Path) -> None:
    relettered(release, shuffled=True, kept={})
    rows(release.parent / "r.jsonl", {"item_id": "q0", "model": "m", "status": "timeout"})
    done = kina(*UNPROVEN)
    assert (done.exit_code, "prompt_sha" in done.stderr) == (1, False)


def test_score_of_a_pool(kina: Callable[..., Result], make_item: Callable[..., Item], tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl", [make_item("q1", correct_answer="B"), make_item("q2")])
    rows(tmp_path / "r.jsonl", {"item_id": "q1", "model": "m", "sample": 0, "response": "B"})
    score = ("score", "--task", "multiple-choice", "--items", "pool.jsonl", "--responses", "r.jsonl")
    score += ("--letters-of", "pool.jsonl")
    below = kina(*score)
    assert below.exit_code == 1
    assert "below the coverage floor" in below.stderr
    assert kina(*score, "--allow-partial").exit_code == 0


def test_commands_name_what_is_wrong(kina: Callable[..., Result], release: Path, tmp_path: Path) -> None:
    nothing = kina("score", "--task", "multiple-choice", "--release", release)
    assert (nothing.exit_code, "--responses" in nothing.stderr) == (2, True)
    task = kina("score", "--task", "sums")
    assert (task.exit_code, "no such task" in task.stderr) == (2, True)
    (tmp_path / "r.jsonl").write_text('{"item_id": "q1", "response": "A"}\nrubbish\n{"item_id": "q2"}\n')
    bad = kina("score", "--task", "multiple-choice", "--release", release, "--responses", "r.jsonl")
    assert (bad.exit_code, "r.jsonl:2" in bad.stderr) == (2, True)
    both = kina("run", "--model", "m", "-o", "o.jsonl")
    assert (both.exit_code, "--release or --items" in both.stderr) == (2, True)
    param = kina(
        "run", "--release", release, "--model", "m", "-o", "o.jsonl", "--param", "stop=x", "--dry-run"
    )
    assert (param.exit_code, "not JSON" in param.stderr) == (2, True)


def test_dry_run_asks_nothing(kina: Callable[..., Result], release: Path, tmp_path: Path) -> None:
    result = kina(
        "run", "--release", release, "--model", "m", "-o", "o.jsonl", "--limit", "2", "--dry-run", "--json"
    )
    report = json.loads(result.stdout)
    assert (report["calls"], report["items"], report["log"]) == (2, 2, "o.replies.jsonl")
    assert not (tmp_path / "o.jsonl").exists()


def test_extract_command(kina: Callable[..., Result], tmp_path: Path) -> None:
    rows(
        tmp_path / "r.jsonl",
        {"id": "1", "response": "Answer: B", "n_options": 4},
        {"id": 2, "response": "gold", "options": ["iron", "gold"]},
        {"id": "3", "response": "A or B", "n_options": 4},
        {"id": "4", "response": None, "n_options": 4},
    )
    lines = [json.loads(line) for line in kina("extract", "r.jsonl", "--json").stdout.splitlines()]
    assert [(row["id"], row["letter"], row["status"]) for row in lines] == [
        ("1", "B", "ok"),
        ("2", "B", "ok"),
        ("3", None, "multiple"),
        ("4", None, "empty"),
    ]
    assert all(set(row) == {"id", "letter", "status", "rule"} for row in lines)
    rows(tmp_path / "r.jsonl", {"id": "1", "response": "B"})
    bad = kina("extract", "r.jsonl")
    assert (bad.exit_code, "n_options or options" in bad.stderr) == (2, True)


def test_list_questions_can_be_run_and_scored(
    kina: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(tmp_path / "q.jsonl", {"id": "1", "question": "Name both.", "gold": ["x", "y"], "language": "en"})
    with scripted(lambda _p, _t: said('["x", "y"]')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = kina("run", "--questions", "q.jsonl", "--model", "m", "-o", "r.jsonl")
    assert ran.exit_code == 0
    result = kina("score", "--task", "universe", "--questions", "q.jsonl", "--replies", "r.jsonl", "--json")
    assert json.loads(result.stdout)["f1"] == 1


def test_floor_comes_from_the_settings() -> None:
    questions = asked(question("i1"), question("i2"))
    responses = [replied("i1", "Answer: A")]
    scores = score_items(questions, responses)
    report = report_model("m", questions, scores, responses, ScoringRules(coverage_floor=0.5))
    assert (report.status, report.score) == ("scored", 1)


def test_sifting_keeps_an_answer_before_a_failed_retry() -> None:
    responses = [replied("i1", "Answer: A"), replied("i1", None, status="timeout")]
    sifted = sift_responses(responses, {"i1": None})
    assert (sifted.responses[0].response, sifted.dropped["repeat"]) == ("Answer: A", 1)


def test_reading_tolerates_a_torn_last_line_only(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"item_id": "i1", "response": "A"}\n{"item_id": "i2", "resp')
    file = read_responses(path)
    assert (len(file.responses), file.torn) == (1, 1)
    assert chance_level([question("i1", n=10), question("i2", n=4), question("i3", n=2)]) == pytest.approx(
        0.283333, abs=1e-6
    )


def test_avg_over_all_asked_pass_at_k_majority_and_spread_over_samples() -> None:
    """Three samples of two items: right, right, failed call; wrong, right, wrong."""
    questions = {n: Question(item_id=n, question="?", choices=("x", "y"), answer="A") for n in ("q1", "q2")}
    said = {"q1": ("A", "A", None), "q2": ("B", "A", "B")}
    rows = [
        Response(item_id=n, model="m", sample=k, response=letter and f"Answer: {letter}",
                 status="ok" if letter else "timeout")
        for n, letters in said.items()
        for k, letter in enumerate(letters)
    ]  # fmt: skip
    scores = score_items(questions, rows)
    assert [(one.samples, one.asked) for one in scores] == [(2, 3), (3, None)]
    report = report_model("m", questions, scores, rows)
    assert report.score == pytest.approx((1 + 1 / 3) / 2)
    assert report.accuracy_all == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert (report.pass_at_1, report.pass_at_k, report.majority) == (0.5, 1.0, 0.5)
    assert (report.reply_characters["p50"], report.reply_characters["mean"]) == (9, 9)
    assert report.sd == pytest.approx(0.5 / 2**0.5)  # the first samples give .5, the second 1


def test_items_on_one_passage_say_so() -> None:
    asked = {"choices": ("x", "y"), "answer": "A", "question": "?"}
    questions = {
        n: Question(item_id=n, material=text, **asked)
        for n, text in (("q1", "A  text."), ("q2", "A text."), ("q3", ""))
    }
    rows = [Response(item_id=n, model="m", response="Answer: A") for n in questions]
    first, second, third = score_items(questions, rows)
    assert first.passage == second.passage is not None
    assert third.passage is None


def test_what_unread_replies_leave_open() -> None:
    questions = {n: Question(item_id=n, question="?", choices=("x", "y"), answer="A") for n in ("q1", "q2")}
    rows = [
        Response(item_id="q1", model="m", response="Answer: A"),
        Response(item_id="q2", model="m", response="..."),
    ]
    report = report_model("m", questions, score_items(questions, rows), rows)
    assert (report.score, report.unread_right) == (0.5, 1.0)
