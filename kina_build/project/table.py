"""Table [project] of kina.toml: what a benchmark is made of. No clock and no machine path is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from kina_build.config import Section
from kina_build.project.options import Template
from kina_review.pay.batch import Batch

Files = Annotated[tuple[str, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]
"""Names or globs, seen from the project's folder: one or several."""


class Source(Section):
    """A set of question files that are read alike: [[project.source]]."""

    files: Files = Field(min_length=1)
    """Names or globs, in this order."""
    map: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Item field to column, or to several for options, as `kina import --map`."""
    set: dict[str, str] = Field(default_factory=dict)
    """Item field to a value for all rows, as `kina import --set`."""
    license: str | None = None
    """Licence of rows that name none of their own column; empty: not stated yet, and waited for."""
    source: str | None = None
    """Where the questions come from, likewise."""
    format: str | None = None
    """As `kina import --format`."""
    encoding: str | None = None
    """As `kina import --encoding`."""
    delimiter: str | None = None
    """As `kina import --delimiter`."""
    key_form: str | None = None
    """As `kina import --key-form`."""
    name_as: str | None = None
    """As `kina import --name-as`."""
    cut_prefix: str | None = None
    """As `kina import --cut-prefix`."""
    prefix_ids: bool = False
    """As `kina import --prefix-ids`."""
    keep_going: bool = False
    """Leave out the rows that cannot be read; false: they are waited for."""


class FileList(Section):
    """Files alone: [project.anchors]."""

    files: Files = ()
    """Names or globs; empty: not stated yet, and waited for."""


class Support(Section):
    """How support is measured: [project.support]."""

    method: Literal["embedding", "judge", "ratings", "bank"] = "embedding"
    """As `kina support --method`."""
    judges: tuple[str, ...] = ()
    """Models that judge."""
    base_url: str | None = None
    """Endpoint of the judges; none: OPENAI_BASE_URL."""
    ratings: Files = ()
    """Files of ratings."""
    labels: Files = ()
    """Experts' ratings that judges are calibrated on."""
    item_labels: Files = ()
    """bank: labelled items."""
    pair_labels: Files = ()
    """bank: labelled pairs."""
    all_domains: bool = False
    """Compare anchors with the items of every domain."""


class QuotaTable(Section):
    """How the items are shared over strata: [project.quota]."""

    by: str = "subfield"
    """Field that is the stratum."""
    domain_by: str = "field"
    """Field that is the domain."""
    shares: Literal["strata", "items", "even", "coverage"] = "strata"
    """What a domain's share follows."""
    file: str | None = None
    """A quota file of your own, in place of a budget; or `proportional`."""


class Corpora(Section):
    """Where the questions may stand already: [project.contamination]."""

    against: Files = Field(min_length=1)
    """Other corpora: files or folders."""


class Replies(Section):
    """Replies of models to the pool that exist already: [project.responses]."""

    files: Files = Field(min_length=1)
    """Their letters follow the pool, unless the rows say otherwise."""


class Panel(Section):
    """Models whose wrong answers let items in: [project.panel]; their replies are [project.responses]."""

    models: Files = Field(min_length=1)
    """NAME or NAME@DATE, as `kina panel --model`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the models' names."""
        return tuple(one.partition("@")[0] for one in self.models)


class TopUp(Section):
    """Select first, review what was selected, refill what that takes out: [project.top_up]."""

    accepted_only: bool = False
    """As `kina top-up --accepted-only`: the whole pool is reviewed, to have a reserve; false: only what was
    selected is reviewed, items that nobody reviewed may come in, and their reviews are waited for."""


class ReleaseTable(Section):
    """What is written for others: [project.release]."""

    version: str = "auto"
    """As `kina export --release-version`; auto: 1.0.0, or what the changes since `previous` ask for."""
    previous: str | None = None
    """Folder of the release before."""
    estimator: str | None = None
    """What scores on the release say of the pool: estimator.json of `kina shrink`."""
    private: Files = ()
    """Splits whose answers are kept apart."""
    license: Files = ()
    """Licences the card claims; none: those of the rows."""
    published: str | None = None
    """Date in the card, YYYY-MM-DD."""
    creators: Files = ()
    """Whom to cite."""
    url: str | None = None
    """Where it will be published."""
    letters: Literal["shuffle", "keep"] = "shuffle"
    """Whether the order of options is drawn or kept."""


class Model(Section):
    """A model that is asked the released questions: [[project.model]]. Calls cost money."""

    name: str = Field(min_length=1)
    """As the endpoint knows it."""
    base_url: str | None = None
    """Endpoint; none: OPENAI_BASE_URL."""
    samples: int | None = Field(None, ge=1)
    """Replies an item; none: scoring.samples."""


class ProjectTable(Section):
    """Table [project] of kina.toml."""

    name: str = "benchmark"
    """Short name, also of the harness tasks: letters, digits and underscores."""
    title: str = ""
    """Title of card and pages; empty: the name."""
    template: Template = "mcq"
    """mcq: any multiple-choice questions; kina: with the rules of KINA items; universe: lists that models
    complete; triples: subjects and relations."""
    size: int = Field(0, ge=0)
    """Items to select; 0: not stated yet, and waited for."""
    seed: int = Field(0, ge=0)
    """Of everything random."""
    source: tuple[Source, ...] = ()
    patches: Files = ()
    """Patches of `kina fix`, which the import applies."""
    anchors: FileList | None = None
    """None: no anchors, a random sample is drawn."""
    support: Support = Support()
    quota: QuotaTable | None = None
    """None: no strata."""
    near: bool = True
    """Whether copies are looked for by an encoder too; false: by letters only, as `kina dedup --no-near`."""
    contamination: Corpora | None = None
    responses: Replies | None = None
    panel: Panel | None = None
    """None: items are let in however easy they are."""
    top_up: TopUp | None = None
    """None: only what reviewers accepted is selected from."""
    release: ReleaseTable = ReleaseTable()
    model: tuple[Model, ...] = ()
    judge: str | None = None
    """universe: model that judges leftovers."""


class ReviewBatch(Batch, Section):
    """Table [review.batch]: who reviews, and what `kina review settle` is told of the batch."""

    reviewers: Path | None = None
    """The reviewers; none: the reviews were made elsewhere."""
    open_cap: int = Field(0, ge=0)
    """Most unfinished items a reviewer; 0: no cap."""
