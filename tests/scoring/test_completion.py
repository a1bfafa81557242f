"""Knowledge-base pairs: what is asked, what a reply names, and the way to a score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.chat import ChatReply
from kina_build.errors import InputError
from kina_build.rows.jsonl import read_records
from kina_build.scoring.prompts import build_pair_prompt
from kina_build.scoring.triples.completion import (
    Pair,
    RelationPrompt,
    choose_shots,
    draw_shots,
    plan_pair_calls,
    read_objects,
)
from kina_build.scoring.triples.linking import NamedRow
from tests import servers
from tests.servers import Served, said, scripted


def pair(subject: str, relation: str = "CountryBordersCountry") -> Pair:
    return Pair(SubjectEntity=subject, Relation=relation)


def example(subject: str, *names: str, relation: str = "CountryBordersCountry") -> NamedRow:
    return NamedRow(SubjectEntity=subject, Relation=relation, ObjectEntities=list(names))


def talk(calls: list[Any]) -> list[str]:
    (call,) = calls
    return [f"{message['role']}: {message['content']}" for message in call.request.messages]


def test_the_default_question_shows_the_relation_in_words() -> None:
    text = build_pair_prompt("Peru", "CountryBordersCountry")
    assert "Subject: Peru\nRelation: country borders country\n" in text
    assert "JSON list" in text


def test_a_question_of_the_relation_replaces_the_default_and_nothing_else() -> None:
    (call,) = plan_pair_calls(
        [pair("P{x}")], "m", prompts={"CountryBordersCountry": "Who borders {subject}?"}
    )
    assert call.request.messages[-1]["content"].startswith("Who borders P{x}?\n\nReply with one JSON list")


def test_examples_of_the_relation_come_first_once_each_and_never_the_asked_pair() -> None:
    shown = [
        example("Chile", "Peru"),
        example("Chile", "Peru"),
        example("Peru", "Chile"),
        example("Malta"),
        example("Ann", "2", relation="PersonHasNumberOfChildren"),
    ]
    turns = talk(plan_pair_calls([pair("Peru")], "m", examples=shown))
    assert [turn.split(":")[0] for turn in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert (turns[1], turns[3]) == ('assistant: ["Peru"]', 'assistant: [""]')
    assert "Subject: Peru" in turns[-1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('["Peru", "Chile"]', ["Peru", "Chile"]),
        ("- Peru\n- Chile", ["Peru", "Chile"]),
        ("[2]", ["2"]),
        ('[""]', [""]),
        ("[]", [""]),
        ("None.", [""]),
        ("Nonesuch", ["Nonesuch"]),
        ("***", None),
    ],
)
def test_names_of_a_reply(text: str, names: list[str] | None) -> None:
    assert read_objects(ChatReply(key="k", status="ok", text=text)) == names


@pytest.mark.parametrize("status", ["truncated", "refused", "empty", "reasoning_only"])
def test_what_was_not_said_to_its_end_is_not_read(status: Any) -> None:
    assert read_objects(ChatReply(key="k", status=status, text='["Peru", "Chi')) is None


def rows_of(*told: tuple[str, list[str]]) -> list[NamedRow]:
    relation = "CountryBordersCountry"
    return [
        NamedRow.model_validate({"SubjectEntity": name, "Relation": relation, "ObjectEntities": names})
        for name, names in told
    ]


EXAMPLES = rows_of(*((f"s{n}", ["x"] if n % 2 else [""]) for n in range(20)), ("Peru", ["Chile"]))
ASKED = Pair.model_validate({"SubjectEntity": "Peru", "Relation": "CountryBordersCountry"})


@pytest.mark.parametrize(("count", "none"), [(1, 0), (2, 1), (4, 2), (19, 10), (20, 10)])
def test_examples_are_chosen_with_the_share_of_none_they_have(count: int, none: int) -> None:
    shown = choose_shots(draw_shots(EXAMPLES, 7), ASKED, count)
    assert (len(shown), sum(not any(row.names or []) for row in shown)) == (count, none)
    assert "Peru" not in {row.subject for row in shown}


def test_the_choice_depends_on_the_seed_and_not_on_the_order_of_the_file() -> None:
    one, back = draw_shots(EXAMPLES, 7), draw_shots(EXAMPLES[::-1], 7)
    assert choose_shots(one, ASKED, 4) == choose_shots(back, ASKED, 4)
    assert choose_shots(one, ASKED, 4) != choose_shots(draw_shots(EXAMPLES, 8), ASKED, 4)
    assert len(choose_shots(EXAMPLES, ASKED, None)) == 20
    with pytest.raises(InputError, match="--shots wants 21"):
        choose_shots(EXAMPLES, ASKED, 21)


def test_rare_none_is_shown_once_and_nothing_else_is_all_there_is() -> None:
    rare = rows_of(("a", [""]), *((f"s{n}", ["x"]) for n in range(9)))
    assert sum(not any(row.names or []) for row in choose_shots(rare, ASKED, 3)) == 1
    assert len(choose_shots(rows_of(("a", [""]), ("b", [""])), ASKED, 2)) == 2


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


GOLD = {"Peru": ["Q298"], "Malta": [""], "Chile": ["Q419"]}


def answer(prompt: str, _times: int) -> Served:
    if "Peru" in prompt:
        return said('["Chile"]')
    return said('[""]') if "Malta" in prompt else servers.REFUSED


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    blank = {"Relation": "CountryBordersCountry", "ObjectEntities": [""], "ObjectEntitiesID": [""]}
    write(tmp_path / "in.jsonl", *({"SubjectEntityID": "Q1", "SubjectEntity": s} | blank for s in GOLD))
    write(
        tmp_path / "gold.jsonl",
        *(
            {"SubjectEntity": s, "Relation": blank["Relation"], "ObjectEntitiesID": o}
            for s, o in GOLD.items()
        ),
    )
    (tmp_path / "names.csv").write_text("name,qid\nChile,Q298\nPeru,Q419\n")
    return tmp_path


RUN = ("run", "--pairs", "in.jsonl", "--model", "m", "-o", "p.jsonl", "--json")
LINK = ("link", "p.jsonl", "--names", "names.csv", "-o", "l.jsonl")
SCORE = ("score", "--task", "triples", "--predictions", "l.jsonl", "--gold", "gold.jsonl", "--json")


def test_run_link_score(kina: Callable[..., Result], inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = kina(*RUN)
    assert (ran.exit_code, json.loads(ran.stdout)["statuses"]) == (0, {"ok": 2, "refused": 1})
    rows = [json.loads(line) for line in (inputs / "p.jsonl").read_text().splitlines()]
    assert [row["ObjectEntities"] for row in rows] == [["Chile"], [""], None]
    assert [row["response"] for row in rows] == ['["Chile"]', '[""]', "I will not."]
    assert rows[0]["SubjectEntityID"] == "Q1"
    assert kina(*LINK).exit_code == 0
    report = json.loads(kina(*SCORE).stdout)
    assert report["macro"] == pytest.approx({"p": 2 / 3, "r": 2 / 3, "f1": 2 / 3})


def test_a_failed_call_leaves_no_row_and_is_asked_again(
    kina: Callable[..., Result], inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(lambda p, _t: servers.BAD_REQUEST if "Malta" in p else said('["Chile"]')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert kina(*RUN).exit_code == 1
    kina(*LINK)
    unscored = kina(*SCORE)
    assert (unscored.exit_code, "no prediction for subject 'Malta'" in unscored.stderr) == (2, True)
    with scripted(lambda _p, _t: said('[""]')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert kina(*RUN).exit_code == 0
    assert len(server.asked) == 1


def test_command_names_what_is_wrong(kina: Callable[..., Result], inputs: Path) -> None:
    (inputs / "prompts.csv").write_text("relation,prompt\nCountryBordersCountry,Who borders it?\n")
    prompt = kina(*RUN, "--prompts", "prompts.csv")
    assert (prompt.exit_code, "prompts.csv:2: prompt" in prompt.stderr) == (2, True)
    several = kina(*RUN, "--samples", "3")
    assert (several.exit_code, "asked once" in several.stderr) == (2, True)
    both = kina(*RUN, "--questions", "q.jsonl")
    assert (both.exit_code, "--questions and --pairs given" in both.stderr) == (2, True)
    strange = kina("run", "--items", "i.jsonl", "--examples", "e.jsonl", "--model", "m", "-o", "o.jsonl")
    assert (strange.exit_code, "belong to --pairs" in strange.stderr) == (2, True)


@pytest.mark.real
def test_public_inputs_and_examples(
    kina: Callable[..., Result], shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = shared / "lmkbc"
    asked = ("run", "--pairs", folder / "test.inputs.jsonl", "--model", "m", "-o", "p.jsonl")
    few_shot = ("--examples", folder / "llmke.fewshot-examples.jsonl", "--limit", "40", "--json")
    with scripted(lambda _p, _t: said('["Renault"]')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert kina(*asked, *few_shot).exit_code == 0
    assert {len(body["messages"]) for body in server.asked} <= {9, 11}
    assert [row.names for row in read_records(tmp_path / "p.jsonl", NamedRow)] == [["Renault"]] * 40


def test_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown placeholder {contxt}"):
        RelationPrompt(relation="R", prompt="{contxt} {subject}?")


def test_a_prompt_shows_the_context_of_its_subject() -> None:
    row = {"SubjectEntity": "Peru {subject}", "Relation": "R", "Context": "Lima"}
    prompts = {"R": "{context}: {subject} {relation}?"}
    call = plan_pair_calls([Pair.model_validate(row)], "m", prompts=prompts)[0]
    assert call.request.messages[-1]["content"].startswith("Lima: Peru {subject} r?")
    with pytest.raises(InputError, match="shows {context}, and 'Peru' has none"):
        plan_pair_calls(
            [Pair.model_validate({"SubjectEntity": "Peru", "Relation": "R"})], "m", prompts=prompts
        )
