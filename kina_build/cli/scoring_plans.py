"""What `kina run` asks, from each kind of file, and how its replies become rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kina_build.chat import ChatReply
    from kina_build.scoring.runs import Call

Collect = Callable[
    ["Sequence[Call]", "Sequence[ChatReply]"], "Sequence[BaseModel] | Sequence[Mapping[str, Any]]"
]


@dataclass(frozen=True)
class Plan:
    """What a run asks, and how its replies become rows."""

    calls: Sequence[Call]
    collect: Collect
    prompt_version: str
    samples: int
    """Calls a question."""
    inputs: Sequence[Path]


def one_source(**given: Path | None) -> None:
    """Require exactly one source of questions.

    Raises:
        UsageError: none or several are given.
    """
    named = [f"--{name}" for name, path in given.items() if path is not None]
    if len(named) != 1:
        shown = " and ".join(named) or "none"
        raise UsageError(
            f"give one of --release or --items, --questions or --pairs ({shown} given)",
            hint="kina export writes a release folder",
        )


def plan_choice(
    release: Path | None,
    items: Path | None,
    split: str,
    limit: int | None,
    model: str,
    samples: int,
    params: dict[str, Any],
    shuffle_seed: int | None,
) -> Plan:
    """Plan the multiple-choice questions of a release or a pool."""
    from kina_build.scoring.prompts import PROMPT_VERSION
    from kina_build.scoring.questions import read_items, read_release
    from kina_build.scoring.runs import collect_responses, plan_calls

    asked = read_release(release, split, keyed=False) if release is not None else read_items(items or Path())
    calls = plan_calls(asked[:limit], model, samples, params, shuffle_seed=shuffle_seed)
    return Plan(calls, collect_responses, PROMPT_VERSION, samples, [release or items or Path()])


def plan_lists(questions: Path, limit: int | None, model: str, samples: int, params: dict[str, Any]) -> Plan:
    """Plan enumeration questions."""
    from kina_build.scoring.prompts import LIST_PROMPT_VERSION
    from kina_build.scoring.runs import collect_responses, plan_list_calls
    from kina_build.scoring.lists import read_seeds

    seeds = read_seeds(questions, with_gold=False)[:limit]
    calls = plan_list_calls(seeds, model, samples, params)
    return Plan(calls, collect_responses, LIST_PROMPT_VERSION, samples, [questions])


def plan_pairs(
    pairs: Path,
    examples: Path | None,
    prompts: Path | None,
    limit: int | None,
    model: str,
    samples: int | None,
    params: dict[str, Any],
) -> Plan:
    """Plan subjects and relations of LM-KBC.

    Raises:
        UsageError: several samples are asked for; a row of the output stands for one reply.
    """
    from kina_build.jsonl import read_records
    from kina_build.scoring.triples.completion import Pair, collect_pairs, plan_pair_calls, read_prompts
    from kina_build.scoring.triples.linking import NamedRow
    from kina_build.scoring.prompts import PAIR_PROMPT_VERSION

    if samples not in (None, 1):
        raise UsageError(f"--samples {samples}: a pair is asked once", hint="write one file a sample")
    asked = read_records(pairs, Pair)[:limit]
    calls = plan_pair_calls(
        asked,
        model,
        params,
        examples=read_records(examples, NamedRow) if examples is not None else (),
        prompts=read_prompts(prompts) if prompts is not None else None,
    )
    return Plan(
        calls,
        lambda made, replies: collect_pairs(asked, made, replies),
        PAIR_PROMPT_VERSION,
        1,
        [path for path in (pairs, examples, prompts) if path is not None],
    )
