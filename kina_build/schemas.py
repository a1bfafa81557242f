"""JSON Schema of every file between two stages, generated from the records that read and write it.

    from kina_build.schemas import artefacts, schema_of
    schema_of("decisions.jsonl")            # of one line: a dictionary, JSON Schema 2020-12

A schema says what a reader takes: fields with a default may be left out. It is made from the records
each time, so that it cannot say anything else than they do; spellings that are folded on reading
("Accepted" for "accept") are not in it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from kina_build.errors import InputError

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Form = Literal["lines", "document", "list"]
"""JSON Lines (a record a line; a table with these columns is read as well), one JSON document, or one
JSON array of records."""


@dataclass(frozen=True)
class Artefact:
    """One kind of file that lies between two stages."""

    name: str
    """As the demo and the handbook call it; the command line takes any name."""
    record: type[BaseModel]
    """Of a line, of the document, or of an entry of the array."""
    holds: str
    """In a few words."""
    made_by: str
    """The command that writes it; "" where people or other tools do."""
    read_by: tuple[str, ...]
    """The commands that read it."""
    form: Form = "lines"


class Shape(BaseModel):
    """Base of the shapes of files that their writers build from plain values."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KinaOption(Shape):
    """An option in KINA's own JSON."""

    key: str
    answer: str
    explanation: str | None = None
    source: str | None = None


class KinaEntry(Shape):
    """An entry of KINA's own JSON, as the paper's release has it."""

    index: int | str
    """The item's id; a number where it is one."""
    discipline: str
    """Discipline, field and subfield, joined by " / "."""
    question: str
    options: tuple[KinaOption, ...]
    correct_answer: str | None
    """Key of the right option; null where the split's answers are private."""
    explanation: str | None = None
    question_source: str | None = None
    question_material: str | None = None
    license: str | None = None
    language: str | None = None


class Judged(Shape):
    """What reviewers and auditors said of the items, as a release carries it."""

    decisions: list[tuple[str, str, str | None]] | None
    """Item (or its salted hash), decision, split; null where no decisions were given."""
    audit: list[tuple[str, bool, str | None]] | None
    """Item (or its salted hash), whether it is flawed, split; null where no audit was given."""
    opinions: list[tuple[str, dict[str, int], str | None]] = []
    """Item (or its salted hash), how many reviewers hold each opinion, split."""


class Coefficient(Shape):
    """One coefficient of agreement beyond chance, or why it has no value."""

    name: str
    value: float | None
    low: float | None
    """Lower end of its interval."""
    high: float | None
    reason: str
    """Why there is no value; empty where there is one."""
    units: int
    """Items that at least two reviewers judged."""
    values: int
    """Judgements."""
    percent_agreement: float | None
    """Share of equal pairs of judgements, chance included."""


class Agreement(Shape):
    """How far reviewers agreed with each other."""

    reviews: int
    agreement: dict[str, Coefficient]
    """By what was judged and the coefficient's name."""


class Report(BaseModel):
    """Base of the documents that --json prints too: more fields may stand beside those promised."""

    model_config = ConfigDict(frozen=True, extra="allow")


class CertificateReport(Report):
    """What `kina certify` found."""

    verified: bool
    faults: list[str]
    checked: list[str]
    """What was recomputed."""
    items: int
    objective: float
    steps: int
    """The objective as a whole number of steps."""
    files: list[dict[str, Any]]
    """What was read, with the digest of each, and who said so."""


class VerificationReport(Report):
    """What `kina verify` found."""

    ok: bool
    faults: list[Any]
    checks: list[str]
    """What was looked at."""
    release: str
    version: str
    content_hash: str
    items: int
    figures: dict[str, Any]
    """Derived anew from rows and evidence, in whole numbers."""
    verifier: str
    """sha256 of the stand-alone verifier, as this version ships it."""


class InstanceAnchors(Shape):
    """The anchors of a selection problem."""

    ids: list[str]
    weights: list[int]
    """Whole numbers; `weight_unit` of them are one unit of weight."""


class InstanceItems(Shape):
    """The items of a selection problem, each list in the order of `ids`."""

    ids: list[str]
    """Ids of released items; of others, and of those in private splits, a salted hash."""
    split: list[str | None]
    """null: not released."""
    stratum: list[str]
    domain: list[str]


class InstanceThresholds(Shape):
    """Thresholds of the dual bound, one an anchor, in whole levels."""

    asked: list[int]
    """For the set that was asked for."""
    released: list[int]
    """For the set that is released."""


class InstanceDomain(Shape):
    """What was asked of one domain."""

    name: str
    k: int
    short: bool
    """Whether less was chosen than was asked for."""
    quotas: list[tuple[str, int, int | None]]
    """Stratum, lower, upper."""
    must: list[int]
    """Rows of items that had to be taken."""
    cliques: list[list[int]]
    """Rows of items of which one at most may be taken."""
    thresholds: InstanceThresholds
    folds: int = 1
    """Items that count for an anchor; left out where it is 1."""


class InstanceSelection(Shape):
    """Which selection.json this is of."""

    seal: str
    inputs: dict[str, str]


class Instance(Shape):
    """A selection problem as a release carries it, beside its levels in support.npz."""

    format: int
    full: bool
    """Whether all eligible items are in it, or the released ones only."""
    scale: int
    """Levels a unit of score."""
    weight_unit: int
    weight_step: int = 1
    """Units of weight a step, where weights are heavy; left out where it is 1."""
    slack: int = 0
    """Steps by which rounding may have moved the objective of a domain, for each item that counts."""
    anchors: InstanceAnchors
    items: InstanceItems
    domains: list[InstanceDomain]
    selection: InstanceSelection


@functools.cache
def artefacts() -> Mapping[str, Artefact]:
    """Return every kind of file by name, in the order of the flow."""
    return {one.name: one for one in (*_questions(), *_selection(), *_review(), *_release(), *_models())}


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of an artefact: of one line, of the document, or of the array.

    Args:
        name: as in `artefacts()`, such as "pool.jsonl".

    Raises:
        InputError: there is no artefact of that name.
    """
    found = artefacts().get(name)
    if found is None:
        raise InputError(f"there is no artefact {name!r}", hint=f"known: {', '.join(artefacts())}")
    generator = _Lines if found.form == "lines" else _Described
    schema = found.record.model_json_schema(mode="validation", schema_generator=generator)
    if found.form == "list":
        definitions = schema.pop("$defs", {})
        schema = {"type": "array", "items": schema} | ({"$defs": definitions} if definitions else {})
    return {"$schema": DIALECT, "title": name, "description": found.holds} | {
        key: value for key, value in schema.items() if key not in ("title", "description")
    }


class _Described(GenerateJsonSchema):
    """Give each field the docstring below it as its description."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Describe a model and its fields."""
        made = super().model_schema(schema)
        notes = notes_of(schema["cls"])
        for name, field in made.get("properties", {}).items():
            if name in notes and "description" not in field:
                field["description"] = notes[name]
        return made


class _Lines(_Described):
    """Fields that may be null need not be there: a line holds only what is known."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Describe a model, and require only what cannot be null."""
        made = super().model_schema(schema)
        fields = made.get("properties", {})
        required = [name for name in made.get("required", []) if not _may_be_null(fields[name])]
        return {key: value for key, value in made.items() if key != "required"} | (
            {"required": required} if required else {}
        )


def _may_be_null(field: Mapping[str, Any]) -> bool:
    return {"type": "null"} in field.get("anyOf", [])


def notes_of(kind: type) -> dict[str, str]:
    """Return what stands below each field of a class and of the classes it is made from."""
    notes: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one in (object, BaseModel) or "__annotations__" not in vars(one):
            continue
        notes |= _notes_in(textwrap.dedent(inspect.getsource(one)))
    return notes


def _notes_in(source: str) -> dict[str, str]:
    body = getattr(ast.parse(source).body[0], "body", [])
    return {
        field.target.id: " ".join(note.value.value.split())
        for field, note in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(note, ast.Expr)
        and isinstance(note.value, ast.Constant)
        and isinstance(note.value.value, str)
    }


def _questions() -> tuple[Artefact, ...]:
    from kina_build.dedup.contamination.records import Contamination
    from kina_build.dedup.overrides import Override
    from kina_build.dedup.records import Duplicates
    from kina_build.items.checking.rule import Finding
    from kina_build.items.mending.patch import Patch
    from kina_build.items.model import Item
    from kina_build.items.triage import Difficulty, Suspicion
    from kina_build.project.decisions import Ruling
    from kina_build.repair.consensus import ItemConsensus
    from kina_build.repair.diagnosis import Diagnosis

    readers = ("check", "dedup", "contamination", "triage", "support", "select", "review assign", "export")
    return (
        Artefact("pool.jsonl", Item, "the questions, in one form", "import", (*readers, "score")),
        Artefact("findings.jsonl", Finding, "what is wrong with items", "check", ("report",)),
        Artefact(
            "duplicates.json",
            Duplicates,
            "copies, conflicts, and which items stay",
            "dedup",
            ("select", "export", "report"),
            "document",
        ),
        Artefact("rulings.jsonl", Ruling, "what a person decided", "decide", ("overrides", "leave-out")),
        Artefact("overrides.jsonl", Override, "decisions on pairs and items", "overrides", ("dedup",)),
        Artefact(
            "contamination.json",
            Contamination,
            "items that stand in other corpora",
            "contamination",
            ("select", "report"),
            "document",
        ),
        Artefact("triage.jsonl", Suspicion, "keys that models contradict", "triage", ("report",)),
        Artefact("patches.jsonl", Patch, "changes of questions, with reasons", "fix", ("import",)),
        Artefact("diagnoses.jsonl", Diagnosis, "what models say is wrong with items", "repair", ("fix",)),
        Artefact("consensus.jsonl", ItemConsensus, "what judges say of items together", "consensus", ()),
        Artefact("difficulty.jsonl", Difficulty, "what a panel of models answers", "panel", ()),
    )


def _selection() -> tuple[Artefact, ...]:
    from kina_build.project.eligible import LeftOut
    from kina_build.project.log import Entry
    from kina_build.selection.records import Quota, Selection
    from kina_build.support.anchors import Anchor
    from kina_build.support.judge.ratings import Rating

    return (
        Artefact("anchors.jsonl", Anchor, "what experts say a field is made of", "anchors", ("support",)),
        Artefact(
            "ratings.jsonl", Rating, "how much items show of anchors, by judges", "support", ("support",)
        ),
        Artefact(
            "left-out.json",
            LeftOut,
            "items that may not be selected, and why",
            "leave-out",
            ("budget", "select"),
            "document",
        ),
        Artefact("budget.jsonl", Quota, "how many items of a stratum are taken", "budget", ("select",)),
        Artefact(
            "selection.json",
            Selection,
            "the chosen items with their certificate",
            "select",
            ("certify", "top-up", "export", "report"),
            "document",
        ),
        Artefact(
            "certificate.json", CertificateReport, "what certify found", "certify", ("report",), "document"
        ),
        Artefact("log.jsonl", Entry, "what a build ran when", "build", ("log",)),
    )


def _review() -> tuple[Artefact, ...]:
    from kina_review import records
    from kina_review.pay.payees import PayeeBook

    return (
        Artefact("reviewers.csv", records.Reviewer, "who reviews what", "", ("review assign",)),
        Artefact(
            "assignments.jsonl",
            records.Assignment,
            "who reviews which item",
            "review assign",
            ("review push", "review status"),
        ),
        Artefact(
            "reviews.jsonl",
            records.Review,
            "what reviewers handed in",
            "review pull",
            ("review settle", "review agreement", "review graders"),
        ),
        Artefact(
            "agreement.json",
            Agreement,
            "how far reviewers agree",
            "review agreement",
            ("export", "report"),
            "document",
        ),
        Artefact("scores.csv", records.Grade, "blind scores of reviews", "review pull", ("review settle",)),
        Artefact("contests.jsonl", records.Contest, "two reviews compared", "review settle", ("report",)),
        Artefact(
            "decisions.jsonl",
            records.Decision,
            "what becomes of each item",
            "review settle",
            ("select", "top-up", "export", "review audit draw", "report"),
        ),
        Artefact(
            "audit.json",
            records.Audit,
            "accepted items drawn for an audit",
            "review audit draw",
            (),
            "document",
        ),
        Artefact("audited.jsonl", records.Finding, "what an audit found", "", ("review settle", "export")),
        Artefact(
            "ledger.db.payees.json",
            PayeeBook,
            "who is behind the ledger's payees; for its owner only",
            "review settle",
            ("review statement", "review pay plan"),
            "document",
        ),
    )


def _release() -> tuple[Artefact, ...]:
    from kina_build.manifest import Manifest
    from kina_build.release.record import ReleaseRecord
    from kina_build.release.rows import Answer, Row

    return (
        Artefact(
            "release.json",
            ReleaseRecord,
            "what a release is",
            "export",
            ("verify", "diff", "run"),
            "document",
        ),
        Artefact(
            "test.jsonl", Row, "a split: dev.jsonl has the same form", "export", ("run", "score", "rank")
        ),
        Artefact("answers.jsonl", Answer, "private answers, kept apart", "export", ("score", "verify")),
        Artefact("KINA.json", KinaEntry, "the split in the paper's form", "export", ("import",), "list"),
        Artefact(
            "instance.json", Instance, "evidence: the selection problem", "export", ("verify",), "document"
        ),
        Artefact("judged.json", Judged, "evidence: decisions and audit", "export", ("verify",), "document"),
        Artefact("verification.json", VerificationReport, "what verify found", "verify", (), "document"),
        Artefact("manifest.json", Manifest, "how an output came to be", "", (), "document"),
    )


def _models() -> tuple[Artefact, ...]:
    from kina_build.ranking.itemanalysis import ItemFigures
    from kina_build.ranking.leaderboard import Leaderboard
    from kina_build.scoring.estimator import Estimator
    from kina_build.scoring.logs.trials import Trial
    from kina_build.scoring.multiple_choice import ItemScore
    from kina_build.scoring.responses import Response

    return (
        Artefact("responses.jsonl", Response, "models' raw replies", "run", ("score", "triage", "extract")),
        Artefact("trials.jsonl", Trial, "scores from other tools' logs", "results", ("rank",)),
        Artefact("scores.jsonl", ItemScore, "marks by item and model", "score", ("rank",)),
        Artefact(
            "leaderboard.json", Leaderboard, "ranks, and which are ties", "rank", ("report",), "document"
        ),
        Artefact(
            "estimator.json",
            Estimator,
            "what a score on a short form says of its pool",
            "shrink",
            ("score", "export", "rank"),
            "document",
        ),
        Artefact("item_analysis.jsonl", ItemFigures, "how items tell models apart", "rank", ("report",)),
    )
