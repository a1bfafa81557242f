"""The datasheet of a release, from its manifest: what is not known there says so.

Sections and questions follow Gebru et al., "Datasheets for Datasets", Communications of the ACM 64(12), 2021.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kina_build.escapes import in_markdown
from kina_build.release.record import ReleaseRecord

UNKNOWN = "Not stated by the author."

Answered = tuple[str, str]
"""A question and its answer, in Markdown."""
Section = tuple[str, tuple[Answered, ...]]


def datasheet(record: ReleaseRecord) -> list[Section]:
    """Answer the questions of a datasheet, section by section, in Markdown without markup of strangers."""
    parts = {
        "Motivation": _motivation,
        "Composition": _composition,
        "Collection": _collection,
        "Preprocessing": _preprocessing,
        "Uses": _uses,
        "Distribution": _distribution,
        "Maintenance": _maintenance,
    }
    return [(name, tuple(answer(record))) for name, answer in parts.items()]


def _motivation(record: ReleaseRecord) -> Iterator[Answered]:
    yield "For what was it made?", "Evaluation of language models; not for training."
    yield "Who made it?", _named(record.creators)
    yield "Who paid for it?", UNKNOWN


def _composition(record: ReleaseRecord) -> Iterator[Answered]:
    private = [split for split, count in record.counts.items() if count.private and count.items]
    sizes = ", ".join(f"{count.items} {split}" for split, count in record.counts.items() if count.items)
    known = record.provenance
    yield "What is an instance?", "A multiple-choice question with its options."
    yield "How many are there?", f"{sum(count.items for count in record.counts.values())} ({sizes})."
    yield "Is it a sample of something larger?", _sampled(record)
    kept = f" The author keeps those of {' and '.join(private)}." if private else ""
    yield "Is there a label?", f"The letter of the right option.{kept}"
    apart = "Near-copies, as far as they were found, never stand in different splits."
    yield "How do instances hang together?", apart if known.duplicates else UNKNOWN
    audited = (
        "See the audit above." if known.audit else "Nobody drew a random audit, so the rate is not known."
    )
    yield "Are there errors?", audited
    yield "Does it rest on something outside?", "No, each row is whole; passages stand in `material`."
    yield "Is anything in it personal, confidential or offensive?", UNKNOWN


def _collection(record: ReleaseRecord) -> Iterator[Answered]:
    passed = {one.rule for one in record.exemptions}
    sourced = "Some rows name no source." if "missing_source" in passed else "Each row names its source."
    review = "Reviewers, whose decisions are counted above." if record.provenance.review else UNKNOWN
    yield "Where do the questions come from?", sourced
    yield "Who judged them?", review
    yield "How were these people paid?", UNKNOWN
    yield "Over what time were they collected?", UNKNOWN
    yield "Did an ethics board look at it?", UNKNOWN
    yield "Did those whom the data is about consent?", UNKNOWN


def _preprocessing(record: ReleaseRecord) -> Iterator[Answered]:
    known = record.provenance
    corrected = known.corrected_keys or known.corrected_private
    done = [
        "near-copies were dropped" if known.duplicates else "",
        "keys were corrected in review" if corrected else "",
        "the order of the options was drawn" if record.letters.shuffled else "",
        "letters in texts were carried along" if record.letters.rewritten else "",
    ]
    told = ", ".join(filter(None, done))
    yield "What was done to the data?", f"{told[0].upper()}{told[1:]}." if told else "Nothing that is known."
    yield "Is the raw data kept?", UNKNOWN


def _uses(record: ReleaseRecord) -> Iterator[Answered]:
    models = record.provenance.filter_models
    biased = f"Comparing others with {_named(models)}, whose wrong answers let questions in; and training."
    yield "What has it been used for?", UNKNOWN
    yield "What should it not be used for?", biased if models else "Training."


def _distribution(record: ReleaseRecord) -> Iterator[Answered]:
    yield "Where is it published?", in_markdown(record.url) if record.url else UNKNOWN
    yield "When?", f"{in_markdown(record.published)}." if record.published else UNKNOWN
    yield "Under which licence?", _named(sorted(filter(None, record.licenses)))
    yield "Do others restrict it?", UNKNOWN


def _maintenance(record: ReleaseRecord) -> Iterator[Answered]:
    before = (
        f"It follows version {in_markdown(record.earlier.version)}." if record.earlier else "None is named."
    )
    yield "Who maintains it, and how are they reached?", UNKNOWN
    yield "Are there earlier versions?", before
    yield (
        "How is it corrected?",
        "By a new version: a changed question is a major one, and ids are never reused.",
    )
    yield "Can others extend it?", UNKNOWN


def _sampled(record: ReleaseRecord) -> str:
    chosen = record.provenance.selection
    if not chosen:
        return "No selection was made: it holds all admitted questions of a pool."
    if chosen.get("statement"):
        return "A random sample of a pool; see above how it was drawn."
    return "A selection from a pool, not drawn at random; see above how it was made."


def _named(names: Iterable[str]) -> str:
    told = ", ".join(map(in_markdown, names))
    return f"{told}." if told else UNKNOWN
