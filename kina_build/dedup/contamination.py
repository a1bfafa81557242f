"""Items of a pool that stand in other corpora: exact, folded, near, or by shared runs of text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.candidates import RowPair
from kina_build.dedup.checks import check_ids, check_known
from kina_build.dedup.corpora import Texts
from kina_build.dedup.embedding import embed
from kina_build.dedup.encoders import Encoder
from kina_build.dedup.evidence import Evidence, compare
from kina_build.dedup.lexical import Common, Reading, count_common, drop_boilerplate, item_text, read_item
from kina_build.dedup.neighbours import find_across
from kina_build.dedup.ngrams import Overlap, find_overlaps
from kina_build.dedup.records import Contamination, Finding, Hit
from kina_build.dedup.reuse import Reuse
from kina_build.dedup.verdict import Verdict, judge
from kina_build.items.model import Item
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
Vectorise = Callable[[Sequence[str]], Vectors]

SHOWN_TEXT = 300


@dataclass(frozen=True)
class Side:
    """One of the two sets of texts, read for comparison."""

    items: tuple[Item, ...]
    readings: tuple[Reading, ...]


def find_contamination(
    pool: Sequence[Item],
    corpora: Mapping[str, Texts],
    encoder: Encoder | None,
    rules: DedupRules = DedupRules(),
    *,
    cache: Path | None = None,
    on_progress: Progress = silent,
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
        reuse: whether kept vectors may be used, and the count of those that were.

    Raises:
        InputError: an id of the pool stands twice.
        Refusal: the encoder does not know the script of a side.
    """
    check_ids(pool)
    items = tuple(sorted(pool, key=lambda item: item.item_id))
    vectorise = None
    if encoder:
        encoding = partial(embed, encoder=encoder, cache=cache, on_progress=on_progress, reuse=reuse)
        vectorise = _vectoriser(encoder, rules, encoding)
    hits: list[Hit] = []
    recalls = [1.0]
    for name, corpus in sorted(corpora.items()):
        others = tuple(sorted(corpus.items, key=lambda item: item.item_id))
        found, recall = _search(name, (items, others), vectorise, rules)
        hits += found
        recalls.append(recall)
    worst: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        worst[hit.finding].add(hit.item_id)
    doubtful = worst["review"] - worst["contaminated"]
    return Contamination(
        contaminated=tuple(sorted(worst["contaminated"])),
        review=tuple(sorted(doubtful)),
        clean=len(items) - len(worst["contaminated"]) - len(doubtful),
        hits=tuple(hits),
        corpora={name: len(corpus.items) for name, corpus in sorted(corpora.items())},
        unread={name: corpus.unread for name, corpus in sorted(corpora.items()) if corpus.unread},
        counts=dict(sorted(Counter(hit.finding for hit in hits).items())),
        encoder=encoder.name if encoder else "",
        revision=encoder.revision if encoder else "",
        threshold=rules.threshold,
        recall=min(recalls),
        rules=DedupRules(**rules.shaping),
    )


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
    overlaps = find_overlaps(*texts, (rules.ngram, rules.ngram_least), rules.common_limit)
    hits: list[Hit] = []
    for row, other in sorted({*cosines, *overlaps, *lexical_matches(here, there, common)}):
        left, right = here.readings[row], there.readings[other]
        evidence = compare(left, right, cosines.get((row, other)), common, rules)
        judged = _judge(evidence, overlaps.get((row, other)), rules, plain=not right.options)
        if judged is not None:
            hits.append(
                _hit((left.item_id, name, right.item_id), evidence, judged, overlaps.get((row, other)))
            )
    return hits, recall


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
        if reading.gold and not common.generic_stem(reading.stem):
            places["gold", reading.stem, reading.gold].append(row)
    return {
        (row, other)
        for row, reading in enumerate(here.readings)
        for key in ((reading.stem, reading.loose_options), ("gold", reading.stem, reading.gold))
        for other in places.get(key, ())
    }


def _near(
    here: Side, there: Side, vectorise: Vectorise, rules: DedupRules
) -> tuple[dict[RowPair, float], float]:
    queries, corpus = (vectorise([item_text(item) for item in side.items]) for side in (here, there))
    near, recall = find_across(queries, corpus, rules.threshold, rules)
    pairs = zip(near.left.tolist(), near.right.tolist(), strict=True)
    return dict(zip(pairs, near.cosines.tolist(), strict=True)), recall


def _judge(
    evidence: Evidence, overlap: Overlap | None, rules: DedupRules, *, plain: bool
) -> tuple[Finding, Verdict] | None:
    """Let the worse of verdict and shared runs count; siblings share most of their text by nature.

    Args:
        evidence: of the two texts.
        overlap: the runs of tokens they share.
        rules: from which share of runs a question has leaked.
        plain: the other text has no options, so it cannot be another question with this stem.
    """
    verdict = judge(evidence, rules)
    if verdict.status in {"duplicate", "conflict"} or _stands_without_key(evidence, verdict):
        return "contaminated", verdict
    if verdict.status in {"template_sibling", "same_passage"}:
        return verdict.status, verdict
    if overlap is not None:
        reason = f"{overlap.share:.0%} of its runs of tokens stand there"
        other_question = verdict.status == "distinct" and not plain
        leaked = overlap.share >= rules.ngram_share and not other_question
        worse: Finding = "contaminated" if leaked else "review"
        if other_question:
            reason += f"; {verdict.reason}"
        return worse, Verdict("review", "ngram", reason)
    return ("review", verdict) if verdict.status == "review" else None


def _stands_without_key(evidence: Evidence, verdict: Verdict) -> bool:
    """Tell whether stem and options stand there: a corpus need not know the answer to give them away."""
    common = evidence.generic_stem and not evidence.telling
    return verdict.rule == "key" and evidence.gold == "unknown" and not common


def _hit(
    ids: tuple[str, str, str], evidence: Evidence, judged: tuple[Finding, Verdict], overlap: Overlap | None
) -> Hit:
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
        ngram_share=overlap.share if overlap else 0.0,
        shared_text=overlap.longest[:SHOWN_TEXT] if overlap else "",
    )
