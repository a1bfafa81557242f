"""The whole of dedup: read, encode, pair, judge, decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kina_build.config import DedupRules
from kina_build.dedup.clusters import Decision, Members, build_clusters, decide, rank_item
from kina_build.dedup.compare.evidence import compare
from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.compare.probability import learn_shift, log_odds, probability
from kina_build.dedup.compare.verdict import Verdict, judge, judge_by_cosine, write_pair
from kina_build.dedup.encoded import EncodedPool
from kina_build.dedup.records import Dropped, DuplicatePair, Duplicates, Held
from kina_build.dedup.search.candidates import RowPair, cosines_of, cross_lingual_pairs, lexical_pairs
from kina_build.dedup.search.place import Scan
from kina_build.dedup.search.scan import pairs_above
from kina_build.encode.loading import PACKAGED
from kina_build.progress import Progress, silent


def find_copies(
    corpus: EncodedPool,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
    scan: Scan = pairs_above,
) -> Duplicates:
    """Find copies in a corpus and decide which items stay.

    Args:
        corpus: items, read and encoded, and what people decided about them.
        rules: threshold and limits.
        on_progress: told (rows scanned, rows).
        scan: finds the close pairs; `blocks.pairs_in_files` where vectors are in files.

    Raises:
        Refusal: too many pairs above the threshold.
    """
    decided = corpus.decided
    candidates, crossing, skipped = find_candidates(corpus, rules, on_progress, scan)
    shift = _shift_of(corpus, candidates, rules)
    judged = [
        compare_rows(corpus, rows, cosine, rules, crossing=rows in crossing, shift=shift)
        for rows, cosine in candidates.items()
    ]
    pairs = [pair for pair in judged if pair.status != "distinct" or pair.rule == "override"]
    open_pairs = [pair for pair in pairs if not decided.dropped.keys() & {pair.item_id, pair.other_id}]
    decision = decide(
        {
            item.item_id: rank_item(item, decided.kept, rules)
            for item in corpus.items
            if item.item_id not in decided.dropped
        },
        [(pair.item_id, pair.other_id) for pair in open_pairs if pair.status == "duplicate"],
        [(pair.item_id, pair.other_id) for pair in open_pairs if pair.status == "conflict"],
        decided.kept,
    )
    equal = compare_equal(corpus, rules)
    decision = _follow(decision, corpus, equal)
    pairs = sorted([*pairs, *equal], key=lambda pair: (pair.item_id, pair.other_id)) if equal else pairs
    by_ids = {(pair.item_id, pair.other_id): pair for pair in pairs}
    members = Members(
        kept=frozenset(decision.kept),
        held=frozenset(decision.held),
        pinned=decided.kept,
        removed=frozenset(decided.dropped),
        paths={item.item_id: " > ".join(item.path) for item in corpus.all_items},
        rows=corpus.rows,
        vectors=corpus.vectors,
    )
    return Duplicates(
        kept=decision.kept,
        dropped=_all_dropped(decision, corpus, by_ids),
        held=tuple(_held(decision)),
        clusters=tuple(build_clusters(pairs, members)),
        pairs=tuple(pairs),
        conflict_edges=tuple(
            (pair.item_id, pair.other_id) for pair in pairs if pair.status in rules.conflict_statuses
        ),
        counts=dict(sorted(Counter(pair.status for pair in (*judged, *equal)).items())),
        unused_overrides=decided.unused,
        skipped_groups=skipped,
        encoder=corpus.encoder,
        revision=corpus.revision,
        dimension=0 if corpus.vectors is None else corpus.vectors.shape[1],
        unknown_rate=corpus.unknown_rate,
        threshold=rules.threshold,
        rules=DedupRules(**rules.shaping),
        groups=tuple(
            (corpus.items[group.row].item_id, *(item.item_id for item in group.items))
            for group in corpus.groups
        ),
        fast=corpus.fast,
    )


def find_candidates(
    corpus: EncodedPool,
    rules: DedupRules,
    on_progress: Progress = silent,
    scan: Scan = pairs_above,
) -> tuple[dict[RowPair, float | None], frozenset[RowPair], int]:
    """Collect the pairs worth comparing, with their cosines.

    Returns:
        Candidates in order of rows; those of them that were found across languages; how
        many lexical groups were too large to be paired.
    """
    lexical, skipped = lexical_pairs(corpus.readings, corpus.common, rules.group_limit)
    said = corpus.decided.same | corpus.decided.different
    lexical |= {(corpus.rows[one], corpus.rows[other]) for one, other in said}
    if corpus.vectors is None:
        return dict.fromkeys(sorted(lexical)), frozenset(), skipped
    ordered = sorted(lexical)
    found: dict[RowPair, float | None] = dict(
        zip(ordered, cosines_of(corpus.vectors, ordered).tolist(), strict=True)
    )
    near = scan(corpus.vectors, rules.threshold, rules, on_progress)
    found.update(
        zip(zip(near.left.tolist(), near.right.tolist(), strict=True), near.cosines.tolist(), strict=True)
    )
    crossing: dict[RowPair, float] = {}
    if corpus.encoder != PACKAGED:  # which knows English only
        languages = [reading.language for reading in corpus.readings]
        crossing = cross_lingual_pairs(corpus.vectors, languages, rules)
        found.update(crossing)
    return dict(sorted(found.items())), frozenset(crossing), skipped


def compare_rows(
    corpus: EncodedPool,
    rows: RowPair,
    cosine: float | None,
    rules: DedupRules,
    *,
    crossing: bool = False,
    shift: float = 0.0,
) -> DuplicatePair:
    """Compare two items of a corpus and give the verdict."""
    left, right = (corpus.readings[row] for row in rows)
    return compare_readings(corpus, (left, right), cosine, rules, crossing=crossing, shift=shift)


def compare_readings(
    corpus: EncodedPool,
    readings: tuple[Reading, Reading],
    cosine: float | None,
    rules: DedupRules,
    *,
    crossing: bool = False,
    shift: float = 0.0,
) -> DuplicatePair:
    """Compare the readings of two items, the smaller id first, and give the verdict."""
    left, right = readings
    decided = corpus.decided
    evidence = compare(left, right, cosine, corpus.common, rules)
    ids = (left.item_id, right.item_id)
    if ids in decided.same:
        verdict = Verdict("duplicate", "override", "a person said: the same")
    elif ids in decided.different:
        verdict = Verdict("distinct", "override", "a person said: different")
    elif crossing:
        verdict = Verdict("review", "cross_lingual", "each is the other's nearest in its language")
    else:
        verdict = judge_by_cosine(evidence, rules) if rules.rule == "cosine" else judge(evidence, rules)
    chance = None
    if verdict.status == "review" and verdict.rule != "cross_lingual":
        chance = probability(evidence, shift)
        if verdict.rule == "cosine" and chance < rules.review_floor:
            verdict = replace(verdict, status="close")
    return write_pair(ids, evidence, verdict, chance)


def _shift_of(corpus: EncodedPool, cosines: Mapping[RowPair, float | None], rules: DedupRules) -> float:
    """Learn from what people decided about pairs of this pool."""
    odds, said = [], []
    for same, pairs in ((True, corpus.decided.same), (False, corpus.decided.different)):
        for one, other in sorted(pairs):
            rows = (corpus.rows[one], corpus.rows[other])
            left, right = (corpus.readings[row] for row in rows)
            odds.append(log_odds(compare(left, right, cosines.get(rows), corpus.common, rules)))
            said.append(same)
    return learn_shift(odds, said)


def compare_equal(corpus: EncodedPool, rules: DedupRules) -> list[DuplicatePair]:
    """Compare each item that another one stands for with that one."""
    cosine = None if corpus.vectors is None else 1.0
    pairs = []
    for group in corpus.groups:
        first = corpus.readings[group.row]
        for other in group.readings:
            left, right = sorted((first, other), key=lambda reading: reading.item_id)
            pairs.append(compare_readings(corpus, (left, right), cosine, rules))
    return pairs


def _follow(decision: Decision, corpus: EncodedPool, equal: Sequence[DuplicatePair]) -> Decision:
    """Give equal items the fate of the one that stands for them; what is no copy of it stays."""
    copies = {name for pair in equal if pair.status == "duplicate" for name in (pair.item_id, pair.other_id)}
    kept, dropped, held = list(decision.kept), dict(decision.dropped), dict(decision.held)
    for first, name in _stood_for(corpus):
        if name in corpus.decided.dropped:
            continue
        if name not in copies:
            kept.append(name)
        elif first in held:
            held[name] = (first, *decision.held[first])
        else:
            dropped[name] = dropped.get(first, first)
    return Decision(tuple(sorted(kept)), dict(sorted(dropped.items())), dict(sorted(held.items())))


def _stood_for(corpus: EncodedPool) -> Iterator[tuple[str, str]]:
    """Yield each item that another one stands for, after that one."""
    for group in corpus.groups:
        for item in group.items:
            yield corpus.items[group.row].item_id, item.item_id


def _all_dropped(
    decision: Decision, corpus: EncodedPool, by_ids: Mapping[tuple[str, str], DuplicatePair]
) -> tuple[Dropped, ...]:
    first_of = {name: first for first, name in _stood_for(corpus)}
    found = []
    for name, kept in decision.dropped.items():
        pair = by_ids.get(_ids(name, kept)) or by_ids[_ids(first_of[name], kept)]
        found.append(_dropped(name, kept, pair))
    found += [
        Dropped(item_id=name, kept_id="", rule="override", reason=reason, score=None)
        for name, reason in corpus.decided.dropped.items()
    ]
    return tuple(sorted(found, key=lambda one: one.item_id))


def _ids(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _dropped(name: str, kept: str, pair: DuplicatePair) -> Dropped:
    reason = f"a copy of {kept}: {pair.reason}"
    if pair.status == "conflict":
        reason = f"a person kept {kept}: {pair.reason}"
    if pair.cross_discipline:
        reason += "; the two are filed under different paths"
    return Dropped(item_id=name, kept_id=kept, rule=pair.rule, reason=reason, score=pair.cosine)


def _held(decision: Decision) -> list[Held]:
    reason = "its key, or that of a copy, is at odds with the others: a person must decide"
    return [Held(item_id=name, other_ids=others, reason=reason) for name, others in decision.held.items()]
