from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from kina_build.chat import ReplyLog, complete
from kina_build.errors import InputError, Refusal
from kina_build.support.bank.signatures import (
    Signature,
    answer_type,
    ask_signatures,
    derive_anchor_signature,
    derive_signature,
    read_signature,
    read_signatures,
    write_signatures,
)
from tests.servers import EMPTY, SERVER_ERROR, said, scripted
from tests.support.test_judge import QUICK

GOOD = {
    "method_family": "Newton's Laws",
    "core_principle": "F = ma",
    "answer_type": "Number",
    "constraints": ["SI units", "si  units"],
    "alignment": 3,
}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("12", "-3.5", "7 %", "$1,200"), "number"),
        (("3 m", "4 kg"), "number"),
        (("x = 2", "y^2 < 1"), "formula"),
        (("True, False", "Not wrong, wrong"), "truth"),
        (("red", "light blue"), "word"),
        (("the left ventricle", "an enlarged right atrium"), "phrase"),
        (("It falls because the force of gravity acts on it.",), "sentence"),
        ((), ""),
    ],
)
def test_the_form_of_an_answer_is_told_by_its_options(options, wanted, make_item):
    assert answer_type(make_item(options=options)) == wanted


def test_a_derived_signature_rests_on_the_wording_alone(make_item):
    item = make_item(
        question="Which is NOT a cause of 3 fires?",
        options=("rain", "heat"),
        correct_answer="A",
        subfield="x",
    )
    signature = derive_signature(item)
    assert signature.method_family == "cause"
    assert signature.core_principle == "rain"
    assert signature.constraints == ("negated", "numeric")
    assert signature == derive_signature(item.model_copy(update={"subfield": "y", "field": "z"}))


def test_an_anchor_has_no_answer_type(make_anchor):
    assert derive_anchor_signature(make_anchor("u", "Why stars shine")).answer_type == ""


def test_signatures_come_back_from_json_lines_and_from_csv(tmp_path: Path):
    one = Signature(
        item_id="q",
        method_family="m",
        core_principle="p",
        answer_type="t",
        constraints=("a", "b"),
        alignment=0.5,
    )
    write_signatures(tmp_path / "s.jsonl", [one])
    assert read_signatures(tmp_path / "s.jsonl") == {"q": one}
    (tmp_path / "s.csv").write_text(
        "item_id,method_family,core_principle,answer_type,constraints,alignment\nq,m,p,t,a; b,0.5\n"
    )
    assert read_signatures(tmp_path / "s.csv") == {"q": one}
    (tmp_path / "s.csv").write_text("item_id,method_family,core_principle,answer_type\nq,m,p,t\nq,m,p,t\n")
    with pytest.raises(InputError, match="'q' stands on more than one row"):
        read_signatures(tmp_path / "s.csv")


def test_a_reply_becomes_a_signature_with_folded_words():
    signature = read_signature("q", f"Sure:\n```json\n{json.dumps(GOOD)}\n```")
    assert signature == Signature(
        item_id="q",
        method_family="newton's laws",
        core_principle="F = ma",
        answer_type="number",
        constraints=("si units",),
        alignment=0.75,
    )


@pytest.mark.parametrize(
    "change", [{"alignment": 5}, {"alignment": None}, {"method_family": ""}, {"core_principle": 7}]
)
def test_a_reply_with_a_spoilt_part_is_no_signature(change):
    assert read_signature("q", json.dumps(GOOD | change)) is None


def test_each_item_is_asked_about_once_and_spoilt_replies_again(make_item):
    items = [make_item("q1", "One?"), make_item("q2", "Two?")]

    def script(prompt: str, times: int):
        return said("no") if "Two?" in prompt and times == 0 else said(json.dumps(GOOD))

    with scripted(script) as server:
        ask = partial(complete, endpoint=server.endpoint(), log=ReplyLog(), rules=QUICK)
        found = ask_signatures(items, "m", ask)
        assert len(server.asked) == 3
    assert [signature.item_id for signature in found] == ["q1", "q2"]


@pytest.mark.parametrize(("trouble", "why"), [(EMPTY, "empty"), (SERVER_ERROR, "q2: ")], ids=["empty", "500"])
def test_an_item_without_a_signature_stops_the_run(trouble, why, make_item):
    items = [make_item("q1", "One?"), make_item("q2", "Two?")]
    with scripted(lambda prompt, _: trouble if "Two?" in prompt else said(json.dumps(GOOD))) as server:
        rules = QUICK.model_copy(update={"attempts": 1})
        ask = partial(complete, endpoint=server.endpoint(), log=ReplyLog(), rules=rules)
        with pytest.raises(Refusal, match=f"1 of 2 items have no signature .*{why}"):
            ask_signatures(items, "m", ask)
