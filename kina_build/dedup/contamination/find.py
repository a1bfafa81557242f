"""Items of a pool that stand in other corpora: exact, folded, near, or letter for letter in any text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.compare.boilerplate import Common, count_common, drop_boilerplate
from kina_build.dedup.compare.evidence import Evidence, compare
from kina_build.dedup.compare.lexical import Reading, read_item
from kina_build.dedup.compare.verdict import Verdict, judge
from kina_build.dedup.contamination.corpora import Corpus
from kina_build.dedup.contamination.index import Index, build_index
from kina_build.dedup.contamination.leaks import judge_traces, write_leak
from kina_build.dedup.contamination.packed import Tally
from kina_build.dedup.contamination.records import Contamination, Finding, Hit
from kina_build.dedup.contamination.traces import find_traces
from kina_build.dedup.encoded import check_ids
from kina_build.dedup.search.across import find_across
from kina_build.dedup.search.candidates import RowPair
from kina_build.encode.embedding import check_known, embed
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.texts import item_text
from kina_build.errors import InputError
from kina_build.items.model import Item
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
Vectorise = Callable[[Sequence[str]], Vectors]

LETTERS = frozenset({"options", "key", "strong"})
"""Rules that compare options and keys, which running text has not."""


@dataclass(frozen=True)
class Side:
    """One of the two sets of texts, read for comparison."""

    items: tuple[Item, ...]
    readings: tuple[Reading, ...]


def find_in_corpora(
    pool: Sequence[Item],
    corpora: Mapping[str, Corpus],
    encoder: Encoder | None,
    rules: DedupRules = DedupRules(),
    *,
    cache: Path | None = None,
    on_progress: Progress = silent,
    on_bytes: Progress = silent,
    reuse: Reuse | None = None,
) -> Contamination:
    """Find what of a pool stands in other corpora.

    Args:
        pool: items with unique ids.
        corpora: what else there is, by name.
        encoder: for near copies; None compares letters only.
        rules: threshold and limits.
        cache: file of kept vectors.
        on_progress: told (texts encoded, texts to encode), corpus by corpus.
        on_bytes: told (bytes looked through, bytes of all corpora).
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        InputError: an id of the pool stands twice, or a corpus holds no text.
        Refusal: the encoder does not know the script of a side.
    """
    check_ids(pool)
    items = tuple(sorted(pool, key=lambda item: item.item_id))
    vectorise = None
    if encoder:
        encoding = partial(embed, encoder=encoder, cache=cache, on_progress=on_progress, reuse=reuse)
        vectorise = _vectoriser(encoder, rules, encoding)
    readings = tuple(map(read_item, items))
    index = build_index(readings, rules)
    hits: list[Hit] = []
    recalls = [1.0]
    tallies: dict[str, Tally] = {}
    total, done = sum(corpus.size for corpus in corpora.values()), 0
    for name, corpus in sorted(corpora.items()):
        others = tuple(sorted(corpus.items, key=lambda item: item.item_id))
        found, recall = _search(name, (items, others), vectorise, rules)
        tallies[name] = Tally(on_bytes=partial(_told, on_bytes, done, total))
        hits += _with_leaks(found, _find_leaks(name, corpus, index, readings, tallies[name], rules=rules))
        recalls.append(recall)
        done += corpus.size
    worst: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        worst[hit.finding].add(hit.item_id)
    doubtful = worst["review"] - worst["contaminated"]
    return Contamination(
        contaminated=tuple(sorted(worst["contaminated"])),
        review=tuple(sorted(doubtful)),
        clean=len(items) - len(worst["contaminated"]) - len(doubtful),
        hits=tuple(hits),
        corpora={name: tally.texts for name, tally in tallies.items()},
        unread={name: tally.unread for name, tally in tallies.items() if tally.unread},
        unsearchable=index.unsearchable,
        as_text=tuple(sorted(name for name, corpus in corpora.items() if not corpus.items)),
        counts=dict(sorted(Counter(hit.finding for hit in hits).items())),
        encoder=encoder.name if encoder else "",
        revision=encoder.revision if encoder else "",
        threshold=rules.threshold,
        recall=min(recalls),
        rules=DedupRules(**rules.shaping),
    )


def _told(on_bytes: Progress, before: int, total: int, count: int) -> None:
    on_bytes(before + count, total)


def _vectoriser(encoder: Encoder, rules: DedupRules, encoding: Vectorise) -> Vectorise:
    def vectorise(texts: Sequence[str]) -> Vectors:
        check_known(texts, encoder, rules)
        return encoding(texts)

    return vectorise


def _search(
    name: str,
    texts: tuple[tuple[Item, ...], tuple[Item, ...]],
    vectorise: Vectorise | None,
    rules: DedupRules,
) -> tuple[list[Hit], float]:
    here, there, common = read_sides(*texts, rules)
    cosines, recall = _near(here, there, vectorise, rules) if vectorise else ({}, 1.0)
    hits: list[Hit] = []
    for row, other in sorted({*cosines, *lexical_matches(here, there, common)}):
        left, right = here.readings[row], there.readings[other]
        evidence = compare(left, right, cosines.get((row, other)), common, rules)
        judged = _judge(evidence, rules)
        if judged is not None and not right.options and left.options and judged[1].rule in LETTERS:
            continue  # running text: what its letters say is found and told below
        if judged is not None:
            hits.append(_hit((left.item_id, name, right.item_id), evidence, judged))
    return hits, recall


def _find_leaks(
    name: str, corpus: Corpus, index: Index, readings: Sequence[Reading], tally: Tally, *, rules: DedupRules
) -> list[Hit]:
    traces = find_traces(index, corpus.texts(tally), rules)
    leaks = judge_traces(traces, readings, rules)
    if not tally.texts:
        raise InputError(f"{name}: holds no text")
    return [write_leak(leak, readings[leak.row], name) for leak in leaks]


def _with_leaks(hits: list[Hit], leaks: Sequence[Hit]) -> list[Hit]:
    """Add what was found letter for letter, unless the comparison of questions says as much or more."""
    findings: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        findings[hit.item_id].add(hit.finding)
    siblings = {"template_sibling", "same_passage"}
    fresh = [
        leak
        for leak in leaks
        if "contaminated" not in findings[leak.item_id]
        and leak.finding not in findings[leak.item_id]
        and not (leak.rule == "ngram" and siblings & findings[leak.item_id])
    ]
    return sorted([*hits, *fresh], key=lambda hit: (hit.item_id, hit.other_id))


def read_sides(
    items: tuple[Item, ...], others: tuple[Item, ...], rules: DedupRules
) -> tuple[Side, Side, Common]:
    """Read both sides, with one count of what is too common to tell."""
    plain = [tuple(map(read_item, texts)) for texts in (items, others)]
    # a text that stands once on each side is a hit, not common
    common = count_common((*plain[0], *plain[1]), 2 * rules.common_limit)
    here, there = (tuple(drop_boilerplate(reading, common) for reading in side) for side in plain)
    return Side(items, here), Side(others, there), common


def lexical_matches(here: Side, there: Side, common: Common) -> set[RowPair]:
    """Pair items with equal letters across two sides: equal stems, unless many items ask so."""
    places: dict[object, list[int]] = defaultdict(list)
    for row, reading in enumerate(there.readings):
        places[reading.stem, reading.loose_options].append(row)
        if not common.generic_stem(reading.stem):
            places[reading.stem_form].append(row)
    return {
        (row, other)
        for row, reading in enumerate(here.readings)
        for key in ((reading.stem, reading.loose_options), reading.stem_form)
        for other in places.get(key, ())
    }


def _near(
    here: Side, there: Side, vectorise: Vectorise, rules: DedupRules
) -> tuple[dict[RowPair, float], float]:
    queries, corpus = (vectorise([item_text(item) for item in side.items]) for side in (here, there))
    near, recall = find_across(queries, corpus, rules.threshold, rules)
    pairs = zip(near.left.tolist(), near.right.tolist(), strict=True)
    return dict(zip(pairs, near.cosines.tolist(), strict=True)), recall


def _judge(evidence: Evidence, rules: DedupRules) -> tuple[Finding, Verdict] | None:
    """Tell what two questions come to; siblings share most of their text by nature."""
    verdict = judge(evidence, rules)
    if verdict.status in {"duplicate", "conflict"} or _stands_without_key(evidence, verdict):
        return "contaminated", verdict
    if verdict.status in {"template_sibling", "same_passage"}:
        return verdict.status, verdict
    return ("review", verdict) if verdict.status in {"review", "close"} else None


def _stands_without_key(evidence: Evidence, verdict: Verdict) -> bool:
    """Tell whether stem and options stand there: a corpus need not know the answer to give them away."""
    common = evidence.generic_stem and not evidence.telling
    return verdict.rule == "key" and evidence.gold == "unknown" and not common


def _hit(ids: tuple[str, str, str], evidence: Evidence, judged: tuple[Finding, Verdict]) -> Hit:
    finding, verdict = judged
    return Hit(
        item_id=ids[0],
        corpus=ids[1],
        other_id=ids[2],
        finding=finding,
        rule=verdict.rule,
        reason=verdict.reason,
        cosine=evidence.cosine,
        stem_overlap=evidence.stem_overlap,
        option_overlap=evidence.option_overlap,
        gold=evidence.gold,
        passage=evidence.passage,
        ngram_share=0.0,
        shared_text="",
    )
