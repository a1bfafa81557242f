"""kina run's words: templates, system prompts, examples, several models, what it would take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.errors import InputError
from kina_build.scoring.prompts import build_prompt, prompt_digest
from kina_build.scoring.questions import Question
from kina_build.scoring.runs.wording import Wording, read_template, render
from tests.servers import Served, said, scripted

Kina = Callable[..., Result]
LINES = "{% for o in options %}\n({{ o.label }}) {{ o.text }}\n{% endfor %}\n"
TEMPLATE = "Q: {{ question }}\n" + LINES + "Reply 'Answer: X'."
OPTIONS = ("cats", "dogs", "fish")
MARK = ("score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl", "--json")


def question(item_id: str, answer: str = "B") -> Question:
    return Question(
        item_id=item_id, question=f"Which, {item_id}?", choices=("cats", "dogs", "fish"), answer=answer
    )


def write_release(folder: Path) -> Path:
    folder.mkdir()
    for split, names in (("test", ("q1", "q2")), ("dev", ("d1", "d2"))):
        rows = [
            {"id": name, "question": f"Which, {name}?", "choices": OPTIONS, "answer": "B"} for name in names
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_plain_words_keep_their_digest_and_others_have_their_own() -> None:
    asked = question("q1")
    assert Wording().digest(asked) == prompt_digest(build_prompt(asked))
    assert Wording().option_hashes(asked) is None
    worded = [
        Wording(template=TEMPLATE),
        Wording(system="Be brief."),
        Wording(examples=(question("d1"),)),
        Wording(direct=True),
    ]
    assert len({one.digest(asked) for one in (*worded, Wording())}) == 5
    assert len({one.version for one in (*worded, Wording())}) == 5


def test_a_talk_has_system_examples_and_the_question_in_order() -> None:
    talk = Wording(system="Be brief.", examples=(question("d1", "C"), question("q1"))).messages(
        question("q1")
    )
    assert [one["role"] for one in talk] == ["system", "user", "assistant", "user"]  # never its own example
    assert talk[2]["content"] == "Answer: C"


def test_a_template_shows_options_in_the_order_asked() -> None:
    [message] = Wording(template=TEMPLATE).messages(question("q1"), (2, 0, 1))
    assert message["content"] == "Q: Which, q1?\n(A) fish\n(B) cats\n(C) dogs\nReply 'Answer: X'."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ question", "t.j2:1"),
        ("{{ answer }} {{ question }}", "'answer' is undefined"),
        ("{{ question.__class__.__mro__ }}", "unsafe"),
        ("{{ question }}", "does not show the options"),
        ("{{ options[0].text }}{{ options[1].text }}", "does not show the question"),
        ("{{ question }}{{ options }}{{ 1 // 0 }}", "zero"),
    ],
)
def test_templates_that_do_not_hold_are_one_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "t.j2"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        read_template(path)


def test_what_a_question_says_in_braces_is_not_filled_in() -> None:
    assert (
        render("{{ question }}", "t", question="{{ 7 * 7 }} $\\frac{{1}}{2}$")
        == "{{ 7 * 7 }} $\\frac{{1}}{2}$"
    )


def test_a_worded_run_is_asked_and_marked_by_its_options(
    kina: Kina, tmp_path: Path, monkeypatch: Any
) -> None:
    write_release(tmp_path / "release")
    (tmp_path / "t.j2").write_text(TEMPLATE)
    (tmp_path / "s.txt").write_text("Be brief.\n")
    with scripted(lambda _prompt, _times: said("Answer: B")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = kina("run", "--release", "release", "--model", "m", "-o", "r.jsonl", "--samples", "1",
                   "--template", "t.j2", "--system", "s.txt", "--shots", "2", "--json")  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    assert [one["role"] for one in server.asked[0]["messages"]] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert all(len(row["option_hashes"]) == 3 for row in rows)
    assert rows[0]["served_model"] == "scripted"
    marked = kina(
        "score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl", "--json"
    )
    assert json.loads(marked.stdout)["models"][0]["score"] == 1.0, marked.stderr


def test_several_models_from_a_table(kina: Kina, tmp_path: Path, monkeypatch: Any) -> None:
    write_release(tmp_path / "release")
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with (
        scripted(lambda _prompt, _times: said("Answer: B")) as one,
        scripted(lambda _prompt, _times: said("Answer: A")) as other,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", one.url)
        rows = [
            {"model": "m1", "prompt_price": 1000, "completion_price": 0},
            {"model": "m2", "base_url": other.url, "api_key_env": "OTHER_KEY", "params": '{"top_p": 0.5}'},
        ]
        (tmp_path / "models.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        ran = kina("run", "--release", "release", "--models", "models.jsonl", "-o", "r.jsonl",
                   "--samples", "1", "--json")  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert (report["calls"], report["answered"], report["cost"]) == (4, 4, pytest.approx(0.014))
    assert [one["model"] for one in report["models"]] == ["m1", "m2"]
    assert other.keys == {"Bearer sk-other"}
    assert {body["top_p"] for body in other.asked} == {0.5}
    marked = json.loads(
        kina(
            "score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl", "--json"
        ).stdout
    )
    assert [(one["model"], one["score"]) for one in marked["models"]] == [("m1", 1.0), ("m2", 0.0)]


def test_a_table_of_models_that_does_not_hold(kina: Kina, tmp_path: Path) -> None:
    write_release(tmp_path / "release")
    line = (
        "run",
        "--release",
        "release",
        "--models",
        "models.csv",
        "-o",
        "r.jsonl",
        "--base-url",
        "http://x.invalid",
    )
    (tmp_path / "models.csv").write_text("model\nm\nm\n")
    assert "the model 'm' stands twice" in kina(*line).stderr
    (tmp_path / "models.csv").write_text("model,api_key_env\nm,NO_SUCH_KEY\n")
    assert "NO_SUCH_KEY is not set" in kina(*line).stderr
    (tmp_path / "models.csv").write_text("model,params\nm,[1]\n")
    assert "params of 'm': not a JSON object" in kina(*line).stderr
    both = kina("run", "--release", "release", "--model", "m", "--models", "models.csv", "-o", "r.jsonl")
    assert (both.exit_code, "give one of --model and --models" in both.stderr) == (2, True)


def test_what_a_run_would_take_rests_on_the_replies_in_the_log(
    kina: Kina, tmp_path: Path, monkeypatch: Any
) -> None:
    write_release(tmp_path / "release")
    (tmp_path / "kina.toml").write_text("[chat]\nprompt_price = 1.0\ncompletion_price = 2.0\n")
    line = ("run", "--release", "release", "--model", "m", "-o", "r.jsonl", "--samples", "1", "--json")
    [blind] = json.loads(kina(*line, "--max-tokens", "100", "--dry-run").stdout)["estimates"]
    assert (blind["calls"], blind["completion_tokens"], blind["hours"], blind["sampled"]) == (2, 200, None, 0)
    assert blind["cost"] == pytest.approx((blind["prompt_tokens"] + 400) / 1e6)
    with scripted(lambda _prompt, _times: said("Answer: B")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        kina(*line, "--max-tokens", "100", "--limit", "1")
    log = (tmp_path / "r.replies.jsonl").read_bytes()
    [told] = json.loads(kina(*line, "--max-tokens", "100", "--dry-run").stdout)["estimates"]
    assert (told["calls"], told["prompt_tokens"], told["completion_tokens"], told["sampled"]) == (1, 7, 3, 1)
    assert told["hours"] > 0
    assert (tmp_path / "r.replies.jsonl").read_bytes() == log


def test_a_call_of_a_tool_is_shown_as_it_came(kina: Kina, tmp_path: Path, monkeypatch: Any) -> None:
    write_release(tmp_path / "release")
    call = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]

    def script(_prompt: str, _times: int) -> Served:
        return said(None, finish="tool_calls", tool_calls=call)

    with scripted(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = kina("run", "--release", "release", "--model", "scripted", "-o", "r.jsonl", "--samples", "1")
    assert "2 replies call a tool instead of answering" in ran.stderr
    assert '"name": "search"' in ran.stderr
    assert len(server.asked) == 2  # answered, and not paid for again
