"""The commented kina.toml that `kina init` writes: what was understood, and empty lines for what was not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from kina_build.items.model import Item
from kina_build.project.options import Template
from kina_build.project.start.propose import Proposal, Understood

TENTH = 10
"""Items of the pool for each item of the proposed size."""
LEVELS = ("subfield", "field", "discipline")
COMMENTS_AT = 26
"""Column of the comments in kina.toml."""


def propose_size(items: Sequence[Item]) -> int:
    """Return a tenth of the pool, and at least one for each stratum."""
    strata = {tuple(item.path) for item in items}
    return min(len(items), max(1, -(-len(items) // TENTH), len(strata))) if items else 0


def write_toml(proposal: Proposal, name: str, template: Template = "mcq") -> str:
    """Write a commented kina.toml with what was understood; what is not known is an empty line."""
    return "\n".join(_lines(proposal, name, template)) + "\n"


def _lines(proposal: Proposal, name: str, template: Template) -> Iterator[str]:
    items = proposal.items
    chosen = template in ("mcq", "kina")
    yield "# What this benchmark is made of. `kina build` makes it, `kina status` says what is left to do."
    yield "[project]"
    yield f"name = {_text(re.sub(r'[^A-Za-z0-9_]+', '_', name).strip('_') or 'benchmark')}"
    yield _line('title = ""', "of the card and the pages; empty: the name")
    yield f"template = {_text(template)}"
    if chosen:
        told = f"items to select: a tenth of the pool's {len(items)}, at least one per stratum"
        yield _line(f"size = {propose_size(items)}", told)
    yield "seed = 0"
    for one in proposal.questions:
        yield ""
        yield from _source(one) if chosen else ("[[project.source]]", f"files = [{_text(one.name)}]")
    if chosen:
        yield ""
        yield from _choice(proposal, items)
        yield ""
        yield from _review(proposal)
    if proposal.responses:
        yield from ("", "[project.responses]", f"files = {_list(proposal.responses)}")
    if chosen:
        yield from ("", "[project.release]", 'version = "auto"')
        yield _line('# private = ["test"]', "keep the answers of a split apart")
    yield from MODELS


MODELS = (
    "",
    "# Models that are asked the questions; the calls cost money.",
    "# [[project.model]]",
    '# name = "my-model"',
    '# base_url = "http://127.0.0.1:8080/v1"',
)


def _line(text: str, comment: str) -> str:
    return f"{text:<{COMMENTS_AT}}# {comment}"


def _source(one: Understood) -> Iterator[str]:
    yield "[[project.source]]"
    yield f"files = [{_text(one.name)}]"
    if one.proposed:
        yield "# a proposal, computed from the rows: look at it"
        yield f"map = {_table(one.proposed)}"
    if one.first:
        told = f"{one.rejects} rows are not read, the first: " if one.rejects else ""
        yield f"# {' '.join((told + one.first).split())}"
        if one.column:
            yield f"# map = {_table(one.column)} # most rows can be read by this column alone"
        if one.rejects:
            yield "# keep_going = true       # leave them out; else the build waits until they are mended"
    for key, named, meaning in (
        ("license", "license", "the licence of these questions, such as CC-BY-4.0"),
        ("source", "question_source", "where they come from"),
    ):
        lacking = sum(not (getattr(item, named) or "").strip() for item in one.items)
        if lacking or not one.items:
            yield _line(f'{key} = ""', f"fill in: {meaning} ({lacking} rows do not say)")
    if one.items and not any(item.path for item in one.items):
        yield _line(
            '# set = { field = "..." }', "no row names a field; quotas go by it, and anchors with a domain"
        )


def _choice(proposal: Proposal, items: Sequence[Item]) -> Iterator[str]:
    filed = bool(items) and all(item.path for item in items)
    yield "[project.anchors]"
    if proposal.anchors:
        yield f"files = {_list(proposal.anchors)}"
    else:
        yield _line("files = []", "fill in: experts' lists of what the field is made of, one a person;")
        yield _line("", "without this table a random sample is drawn, which has no certificate")
    if items and not any(item.field for item in items):
        yield from ("", "[project.support]")
        yield _line("all_domains = true", "no row names a field, so each anchor is compared with all items")
    if not filed:
        return
    by = next((level for level in LEVELS if all(getattr(item, level) for item in items)), "subfield")
    yield from ("", "[project.quota]")
    yield _line(f"by = {_text(by)}", "the stratum: each gets its share")
    if by == "discipline":
        yield f"domain_by = {_text(by)}"


def _review(proposal: Proposal) -> Iterator[str]:
    if not (proposal.reviewers or proposal.reviews):
        yield "# Without this table nothing is reviewed: every item is eligible, and the card says so."
        yield "# [review.batch]"
        yield '# reviewers = "reviewers.csv"'
        yield '# reviews = ["reviews/*.jsonl"]'
        yield '# scores = ["grades.jsonl"] # blind scores of the reviews, where the reviews hold none'
        yield '# base = "2.00"'
        yield '# bonus = "5.00"'
        return
    yield "[review.batch]"
    if proposal.reviewers:
        yield f"reviewers = {_text(proposal.reviewers[0])}"
    yield f"reviews = {_list(proposal.reviews or ('reviews/*.jsonl',))}"
    yield '# scores = ["grades.jsonl"] # blind scores of the reviews, where the reviews hold none'
    yield _line('base = ""', "fill in: pay for a complete review, such as 2.00")
    yield _line('bonus = ""', "fill in: pay for the better of two, such as 5.00")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _table(mapped: dict[str, str]) -> str:
    told = (f"{key} = {_list(one.split(',')) if ',' in one else _text(one)}" for key, one in mapped.items())
    return f"{{ {', '.join(told)} }}"
