"""The card of a release, every number in it taken from the manifest, and the files for harnesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import jinja2

from kina_build.escapes import in_markdown
from kina_build.release.files.datasheet import datasheet
from kina_build.release.proof.evidence import VERIFIER
from kina_build.release.record import ReleaseRecord, license_id
from kina_build.release.splits import DEV, TEST, parquet_file
from kina_build.release.standalone import checked_lines, chosen_lines, reached
from kina_build.scoring.prompts import INSTRUCTION

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Size categories of the hub, by least number of items that is too many."""
CHOSEN = ("asked", "released", "unit", "value", "bound_asked", "bound_released")
"""Figures of the released set that the header states, in whole steps of 1 / unit."""
CLAIMS = "kina_build"
"""Key of the YAML header under which the card states its numbers for machines."""


def write_card(record: ReleaseRecord) -> str:
    """Write the card: YAML header and text."""
    splits = [split for split, count in record.counts.items() if count.items]
    text = render(
        "card.md",
        record=record,
        facts=facts(record),
        splits=splits,
        paths=sorted({path for split in splits for path in record.counts[split].by_path}),
        languages=[name for name in record.languages if name],
        withheld=Counter(one.reason.partition(":")[0] for one in record.withheld),
        scored=scored_split(record),
        chosen="\n".join(chosen_lines(record.figures)).strip(),
        checked="\n".join(checked_lines(record.figures)),
        share=_share(record),
        fallen=record.withheld if record.provenance.selection else (),
        evidence=VERIFIER in record.files,
        citation=cite(record),
        funnel=tell_funnel(record),
        datasheet=datasheet(record),
    )
    return f"---\n{dump_yaml(header(record))}---\n\n{text}"


def header(record: ReleaseRecord) -> dict[str, Any]:
    """Return the card's YAML header, as the hub and `datasets` read it."""
    total = sum(count.items for count in record.counts.values())
    licenses = sorted({license_id(name) for name in record.licenses if name})
    splits = {split: count.items for split, count in record.counts.items() if count.items}
    files = [{"split": split, "path": parquet_file(split)} for split in splits]
    return {
        "pretty_name": record.title,
        "license": licenses[0] if len(licenses) == 1 else "other",
        **({"license_name": ", ".join(licenses)} if len(licenses) > 1 else {}),
        **({"language": spoken} if (spoken := languages(record)) else {}),
        "annotations_creators": ["expert-generated" if record.provenance.review else "no-annotation"],
        "source_datasets": ["original"],
        "task_categories": ["question-answering", "multiple-choice"],
        "tags": ["benchmark", "evaluation", "kina-build"],
        "size_categories": [next((name for limit, name in SIZES if total < limit), "1M<n<10M")],
        "configs": [{"config_name": "default", "data_files": files}],
        "dataset_info": {
            "config_name": "default",
            "splits": [{"name": split, "num_examples": count} for split, count in splits.items()],
        },
        CLAIMS: facts(record),
    }


def tell_funnel(record: ReleaseRecord) -> list[str]:
    """Tell how many questions fell at each step on the way, and how many were left; nothing if not stated."""
    found = record.provenance
    if found.left_out is None:
        return []
    fell = [f"{in_markdown(step)} {count:,}" for step, count in found.left_out.items()]
    left = found.pool_items - sum(found.left_out.values())
    chosen = [f"selected {found.selection['items']:,}"] if found.selection else []
    gone = [f"withheld {len(record.withheld):,}"] if record.withheld else []
    total = sum(count.items for count in record.counts.values())
    return [
        f"imported {found.pool_items:,}",
        *fell,
        f"eligible {left:,}",
        *chosen,
        *gone,
        f"released {total:,}",
    ]


def languages(record: ReleaseRecord) -> list[str]:
    """List the languages of a release; none where an item does not say its own."""
    return [] if "" in record.languages else sorted(record.languages)


def cite(record: ReleaseRecord) -> str:
    """Write a BibTeX entry of a release."""
    fields = {
        "title": record.title,
        **({"author": " and ".join(record.creators)} if record.creators else {}),
        **({"year": record.published[:4]} if record.published else {}),
        "version": record.version,
        **({"url": record.url} if record.url else {}),
        "note": f"content hash {record.content_hash}",
    }
    lines = [f"  {name} = {{{_in_bibtex(value)}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{record.name},", *lines, "}"])


def _in_bibtex(text: str) -> str:
    """Write a text that neither BibTeX nor a block of code in Markdown would obey."""
    return " ".join(text.split()).replace("\\", "").translate(str.maketrans("{}`", "()'"))


def _share(record: ReleaseRecord) -> str:
    """Return the share of the best that a release of all selected questions reaches; else nothing."""
    found = record.figures.get("selection")
    if not found or found["bound_asked"] is None or found["released"] < found["asked"]:
        return ""
    return reached(found, "bound_asked")


def facts(record: ReleaseRecord) -> dict[str, Any]:
    """Return the numbers a card states, from the manifest."""
    counts = record.counts.values()
    found = record.figures.get("selection")
    sizes = {int(size) for count in counts for size in count.option_counts}
    return {
        "version": record.version,
        "content_hash": record.content_hash,
        "canary": record.canary,
        "items": sum(count.items for count in counts),
        "splits": {split: count.items for split, count in record.counts.items()},
        "options_per_item": f"{min(sizes)}-{max(sizes)}" if len(sizes) > 1 else next(iter(sizes), 0),
        "paths": len({path for count in counts for path in count.by_path}),
        "filter_models": len(record.provenance.filter_models),
        **({"selection": {name: found[name] for name in CHOSEN}} if found else {}),
        **({"pool_error": record.pool_error.model_dump(mode="json")} if record.pool_error else {}),
    }


def claim_faults(claims: Mapping[str, Any], truth: Mapping[str, Any]) -> list[str]:
    """List the numbers of a card that are not those of the data."""
    return [name for name, claimed in claims.items() if name in truth and claimed != truth[name]]


def dump_yaml(value: Any) -> str:
    """Write YAML with plain tags only, keys in the order given."""
    import yaml

    return yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True, width=100)


def plain(value: Any) -> Any:
    """Turn numpy scalars and arrays, tuples and sets into plain numbers and lists.

    Raises:
        TypeError: a value that YAML has no plain tag for.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(one) for one in value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, str | int | float):  # subclasses carry tags of their own
        return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
    raise TypeError(f"{type(value).__name__} has no plain YAML form")


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("kina_build.release"),
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701  Markdown, YAML and Python, not HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def tell(counts: Mapping[str, int]) -> str:
    """Write counts as "A 12, B 9" in Markdown; a blank name is "none given"."""
    return ", ".join(f"{in_markdown(name) or 'none given'} {count}" for name, count in counts.items())


def figure(number: float) -> str:
    """Write a number with four significant digits."""
    return f"{number:.4g}"


ENVIRONMENT.filters.update(told=tell, markdown=in_markdown, figure=figure)


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package."""
    return ENVIRONMENT.get_template(f"{template}.jinja").render(**values)


ANSWER_PATTERN = r"(?im)^\W*answer\W*:\W*([A-Z])\b"
"""How lm-eval finds the letter: the last line that starts with "Answer:"."""


def harness_files(record: ReleaseRecord) -> dict[str, str]:
    """Write the harness files of a release.

    They find the data through their own place in the folder, so the folder may be moved.

    Returns:
        Text by relative name; none where no split with public answers has items.
    """
    scored = scored_split(record)
    if scored is None:
        return {}
    values = {
        "record": record,
        "scored": scored,
        "splits": [split for split in record.counts if _open(record, split)],
        "shots": DEV if scored == TEST and _open(record, DEV) else None,
        "instruction": INSTRUCTION,
        "pattern": ANSWER_PATTERN,
        "refusal": _refusal(record),
    }
    name = record.name
    return {
        "harness/lm_eval/task.py": render("lm_eval.py", **values),
        f"harness/lm_eval/{name}_mc.yaml": render("lm_eval_mc.yaml", **values),
        f"harness/lm_eval/{name}_gen.yaml": render("lm_eval_gen.yaml", **values),
        f"harness/inspect_ai/{name}.py": render("inspect_ai.py", **values),
        f"harness/lighteval/{name}.py": render("lighteval.py", **values),
    }


def _refusal(record: ReleaseRecord) -> str:
    """Say why harnesses, which mark one letter a reply, cannot run a release; empty where they can."""
    several = sum(len(one.item_ids) for one in record.exemptions if one.rule == "several_keys")
    if not several:
        return ""
    return f"{several} items have several right answers: ask and mark them with kina run and kina score"


def scored_split(record: ReleaseRecord) -> str | None:
    """Return the split that anyone can score models on: test, else dev, else none."""
    return next((split for split in (TEST, DEV) if _open(record, split)), None)


def _open(record: ReleaseRecord, split: str) -> bool:
    count = record.counts.get(split)
    return count is not None and count.items > 0 and not count.private
