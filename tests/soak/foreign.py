"""The files of the small world that other tools write: their logs, their exports, their lists of payments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.soak.byhand import Rows

NOON = "2026-03-02T12:00:00Z"
CHOICES = ["cats", "dogs", "fish"]


def write_foreign(pool: Rows, payments: Rows) -> None:
    """Write every such file into this folder, for items of the pool and payments of a batch."""
    ids = [row["id"] for row in pool[:4]]
    for name, value in (logs(ids) | exports(ids) | lists(payments)).items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        many = isinstance(value, list) and path.suffix == ".jsonl"
        lines = value if many else [value]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def logs(ids: Sequence[str]) -> dict[str, Any]:
    """Return logs of evaluation tools, each as its own tool writes it."""
    right = list(enumerate(ids))
    return {
        "inspect.json": {
            "status": "success",
            "eval": {"model": "openai/m", "task": "toy", "metadata": {"content_hash": "c0"}},
            "results": {"scores": [{"name": "choice", "metrics": {"accuracy": {"value": 0.5}}}]},
            "samples": [_inspect_sample(item, n) for n, item in right],
        },
        "harness/samples_toy_1.jsonl": [_harness_sample(item, n) for n, item in right],
        "harness/results_1.json": {
            "results": {"toy": {"acc,none": 0.5}},
            "configs": {"toy": {"metadata": {"content_hash": "c0"}}},
            "config": {"model": "hf", "model_args": "pretrained=org/m"},
        },
        "helm/run_spec.json": {"name": "toy:model=org_m", "adapter_spec": {"model": "org/m"}},
        "helm/per_instance_stats.json": [
            {"instance_id": item, "perturbation": None, "train_trial_index": 0,
             "stats": [_helm_stat("exact_match", n % 2), _helm_stat("num_tokens", 4)]}
            for n, item in right
        ],
        "helm/stats.json": [_helm_stat("exact_match", 0.5)],
        "ever/samples.jsonl": [_ever_row(item, n) for n, item in right],
        "ever/eval.json": {
            "schema_version": "0.2.1", "evaluation_id": "toy/m/1",
            "evaluation_results": [{"evaluation_name": "toy", "score_details": {"score": 0.5}}],
        },
        "model_outputs_m_5shots.json": [
            {"question_id": n, "question": "Which?", "options": CHOICES, "answer": "B", "category": "law",
             "pred": "BC"[n % 2], "model_outputs": "The answer is (B)."}
            for n, _ in right
        ],
        "runner.jsonl": [
            {"id": n, "responses": [{"content": "Answer: B"}, {"content": None}],
             "metadata": {"question": "Which?", "category": "Law/Civil", "ground_truth": "B",
                          "options": {"A": {"answer": "cats"}, "B": {"answer": "dogs"}}}}
            for n, _ in right
        ],
    }  # fmt: skip


def _inspect_sample(item: str, n: int) -> Mapping[str, Any]:
    return {
        "id": item, "epoch": 1, "choices": CHOICES, "target": "B",
        "messages": [{"role": "user", "content": "Which?"},
                     {"role": "assistant", "content": [{"type": "text", "text": "ANSWER: B"}]}],
        "output": {"completion": "ANSWER: B", "usage": {"input_tokens": 5, "output_tokens": 2}},
        "scores": {"choice": {"value": "CI"[n % 2], "answer": "BC"[n % 2]}},
        "started_at": NOON, "completed_at": "2026-03-02T12:00:01+00:00",
    }  # fmt: skip


def _harness_sample(item: str, n: int) -> Mapping[str, Any]:
    return {
        "doc_id": n, "doc": {"id": item, "question": "Which?", "choices": CHOICES, "answer": "B"},
        "target": "1", "arguments": {"gen_args_0": {"arg_0": "Which?", "arg_1": " A"}},
        "resps": [[["-1.5", "False"]], [["-0.5", "True"]], [["-2.0", "False"]]],
        "filter": "none", "metrics": ["acc"], "acc": float(n % 2),
    }  # fmt: skip


def _helm_stat(name: str, value: float) -> Mapping[str, Any]:
    return {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}


def _ever_row(item: str, n: int) -> Mapping[str, Any]:
    return {
        "schema_version": "0.2.1", "evaluation_id": "toy/m/1", "model_id": "org/m", "evaluation_name": "toy",
        "sample_id": item, "interaction_type": "single_turn",
        "input": {"raw": "Which?", "reference": ["B"], "choices": CHOICES}, "output": {"raw": ["It is B."]},
        "answer_attribution": [{"turn_idx": 0, "extracted_value": "B", "is_terminal": True}],
        "evaluation": {"score": float(n % 2), "is_correct": bool(n % 2)},
    }  # fmt: skip


def exports(ids: Sequence[str]) -> dict[str, Any]:
    """Return the same review of each item as four labelling tools export it."""
    return {
        "studio.json": [
            {"id": n, "data": {"item_id": item}, "annotations": [_annotation(n)]}
            for n, item in enumerate(ids)
        ],
        "studio_flat.json": [
            {"item_id": item, "id": n, "annotator": 3, "annotation_id": n, "verdict": "revise",
             "factuality": [{"rating": 1}], "created_at": NOON}
            for n, item in enumerate(ids)
        ],
        "argilla.json": [
            {"id": item, "verdict.suggestion": "reject", "verdict.responses": ["accept"],
             "verdict.responses.users": ["ann"], "verdict.responses.status": ["submitted"],
             "rationale.responses": ["Read."], "rationale.responses.users": ["ann"],
             "rationale.responses.status": ["submitted"]}
            for item in ids
        ],
        "doccano_ann.jsonl": [
            {"id": n, "text": "?", "item_id": item, "label": ["reject"], "Comments": ["No."]}
            for n, item in enumerate(ids)
        ],
    }  # fmt: skip


def _annotation(n: int) -> Mapping[str, Any]:
    return {
        "id": n, "completed_by": 3, "updated_by": 3, "was_cancelled": False, "created_at": NOON,
        "lead_time": 90.5,
        "result": [{"from_name": "verdict", "type": "choices", "value": {"choices": ["accept"]}},
                   {"from_name": "factuality", "type": "rating", "value": {"rating": 4}},
                   {"from_name": "rationale", "type": "textarea", "value": {"text": ["Checked."]}}],
    }  # fmt: skip


def lists(payments: Rows) -> dict[str, Any]:
    """Return what four providers say of a batch's first payments."""
    paid = [(row["payee_id"], row["amount"], row["payment_id"]) for row in payments[:3]]
    return {
        "paypal.json": {"batch_header": {}, "items": [_payout(*one) for one in paid]},
        "wise.json": [
            {"id": n, "targetAccount": payee, "targetValue": float(amount), "targetCurrency": "USD",
             "status": "outgoing_payment_sent", "details": {"reference": f"pay {payment}"}, "created": NOON}
            for n, (payee, amount, payment) in enumerate(paid)
        ],
        "prolific.json": {
            "results": [
                {"id": f"s{payee}", "participant_id": payee, "status": "APPROVED",
                 "bonus_payments": [round(float(amount) * 100)]}
                for payee, amount, _ in paid
            ]
        },
        "mturk.json": {
            "NumResults": len(paid),
            "BonusPayments": [
                {"WorkerId": payee, "BonusAmount": amount, "AssignmentId": f"as-{payee}", "GrantTime": NOON}
                for payee, amount, _ in paid
            ],
        },
    }  # fmt: skip


def _payout(payee: str, amount: str, payment: str) -> Mapping[str, Any]:
    return {
        "payout_item_id": f"I{payee}", "transaction_id": f"T{payee}", "transaction_status": "SUCCESS",
        "payout_item_fee": {"currency": "USD", "value": "0.25"}, "time_processed": NOON,
        "payout_item": {"receiver": payee, "sender_item_id": payment,
                        "amount": {"currency": "USD", "value": amount}},
    }  # fmt: skip
