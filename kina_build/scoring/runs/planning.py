"""What a run asks: its calls, and how their replies become rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kina_build.chat import ChatReply
from kina_build.config import ScoringRules
from kina_build.errors import UsageError
from kina_build.rows.jsonl import read_records, read_text
from kina_build.scoring.lists import read_seeds
from kina_build.scoring.prompts import (
    CLOZE_PROMPT_VERSION,
    LIST_PROMPT_VERSION,
    PAIR_PROMPT_VERSION,
)
from kina_build.scoring.questions import Question, read_items, read_release
from kina_build.scoring.runs.calls import Call, collect_responses, plan_calls, plan_list_calls
from kina_build.scoring.runs.conditions import Condition, check_helps
from kina_build.scoring.runs.likeliest import (
    ECHO,
    LikeliestLabels,
    check_continuation,
    check_first_token,
    check_single,
    collect_continuations,
    label_params,
    plan_continuations,
)
from kina_build.scoring.runs.options import RunOptions
from kina_build.scoring.runs.targets import Target
from kina_build.scoring.runs.wording import Wording, choose_examples, read_template
from kina_build.scoring.triples.completion import Pair, collect_pairs, plan_pair_calls, read_prompts
from kina_build.scoring.triples.linking import NamedRow

AnswerRow = BaseModel | Mapping[str, Any]
Collect = Callable[[Sequence[Call], Sequence[ChatReply]], Sequence[AnswerRow]]


@dataclass(frozen=True)
class Inquiry:
    """What a run asks, and how its replies become rows."""

    calls: Sequence[Call]
    collect: Collect
    prompt_version: str
    samples: int
    """Calls a question."""
    params: Mapping[str, Any]
    """Sent with each call."""
    check: Callable[[ChatReply], None] | None = None
    """Looks at the reply to the first call before any other is made."""

    @property
    def items(self) -> int:
        """Return how many questions are asked."""
        return len({call.item_id for call in self.calls})


def plan_inquiry(
    options: RunOptions,
    rules: ScoringRules,
    target: Target | None = None,
    condition: Condition | None = None,
) -> Inquiry:
    """Read what is to be asked, and list its calls.

    Args:
        options: checked; which file is read.
        rules: samples, temperature, most tokens, those of the options included.
        target: the model; None: the one that the options name.
        condition: what the questions are given; None: nothing.

    Raises:
        UsageError: a parameter of the call that is not JSON.
        InputError, RowErrors: files that cannot be read, a template that does not hold.
    """
    model = target.model if target else options.model or ""
    params = call_params(rules) | params_of_call(options, target)
    if options.pairs is not None:
        return _plan_pairs(options, options.pairs, model, params)
    if options.questions is not None:
        samples = options.samples or 1
        seeds = read_seeds(options.questions, with_gold=False)[: options.limit]
        calls = plan_list_calls(seeds, model, samples, params)
        return Inquiry(calls, collect_responses, LIST_PROMPT_VERSION, samples, params)
    if options.release is not None:
        asked = read_release(options.release, options.split, keyed=False)
    else:
        asked = read_items(options.items or Path())
    asked = asked[: options.limit]
    if condition is not None and options.helps is not None:
        check_helps(options.helps, condition.helps, asked)
        asked = condition.put(asked)
    if options.likeliest:
        check_single(asked)
    if options.likeliest == "text":
        params = ECHO | params_of_call(options, target)
        calls = plan_continuations(asked, model, params)
        check = check_continuation
        return Inquiry(calls, collect_continuations, CLOZE_PROMPT_VERSION, 1, params, check)
    if options.likeliest == "label":
        params = label_params(options.max_tokens) | params_of_call(options, target)
    samples = options.samples or rules.samples
    return _plan_choices(options, asked, condition, model=model, samples=samples, params=params)


def _plan_choices(
    options: RunOptions,
    asked: Sequence[Question],
    condition: Condition | None,
    *,
    model: str,
    samples: int,
    params: dict[str, Any],
) -> Inquiry:
    """Plan multiple-choice questions, whose replies name labels."""
    wording = read_wording(options)
    shuffle_seed = options.seed if options.shuffle else None
    calls = plan_calls(asked, model, samples, params, shuffle_seed=shuffle_seed, wording=wording)
    calls = calls if condition is None else condition.mark(calls, asked)
    if options.likeliest == "label":
        collect = LikeliestLabels({one.item_id: one.labels for one in asked})
        return Inquiry(calls, collect, wording.version, samples, params, check_first_token)
    return Inquiry(calls, collect_responses, wording.version, samples, params)


def read_wording(options: RunOptions) -> Wording:
    """Read the words around a question: template, system prompt, solved examples.

    Raises:
        InputError: as read_template and read_release; fewer examples than are wanted.
    """
    examples: tuple[Question, ...] = ()
    if options.shots is not None and options.release is not None:
        solved = read_release(options.release, options.shots_from)
        place = str(options.release / f"{options.shots_from}.jsonl")
        examples = choose_examples(solved, options.shots, place)
    return Wording(
        read_template(options.template) if options.template is not None else None,
        str(options.template),
        read_text(options.system).strip() if options.system is not None else None,
        examples,
        options.direct,
        options.likeliest == "label",
    )


def _plan_pairs(options: RunOptions, pairs: Path, model: str, params: dict[str, Any]) -> Inquiry:
    """Plan subjects and relations of LM-KBC; a row of the output stands for one reply."""
    asked = read_records(pairs, Pair)[: options.limit]
    calls = plan_pair_calls(
        asked,
        model,
        params,
        examples=read_records(options.examples, NamedRow) if options.examples is not None else (),
        prompts=read_prompts(options.prompts) if options.prompts is not None else None,
        shots=options.shots,
        seed=options.seed,
    )
    return Inquiry(
        calls, lambda made, replies: collect_pairs(asked, made, replies), PAIR_PROMPT_VERSION, 1, params
    )


def call_params(rules: ScoringRules) -> dict[str, Any]:
    """Return what the settings send with each call."""
    params: dict[str, Any] = {"max_tokens": rules.max_tokens}
    return params if rules.temperature is None else params | {"temperature": rules.temperature}


def params_of_call(options: RunOptions, target: Target | None) -> dict[str, Any]:
    """Return what --param and the table of models send with each call.

    Raises:
        UsageError: a parameter that is not JSON.
    """
    return dict(map(_read_param, options.param)) | dict(target.params if target else {})


def _read_param(pair: str) -> tuple[str, Any]:
    name, _, text = pair.partition("=")
    try:
        return name, json.loads(text)
    except json.JSONDecodeError:
        raise UsageError(
            f"--param {pair}: the value is not JSON", hint="for instance --param 'stop=[\"\\n\\n\"]'"
        ) from None
