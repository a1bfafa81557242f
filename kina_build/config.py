"""Every number of the build, once: default, unit, source. `kina.toml` overrides them.

The numbers of the review side live in `review/kina_review/rubric.py`; its table of kina.toml is
carried here unread.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kina_build.errors import ConfigError
from kina_build.rows.jsonl import describe
from kina_build.rows.strict import IntakeRules

CONFIG_NAME = "kina.toml"


class Section(BaseModel):
    """Base of every table of kina.toml: frozen, unknown keys refused."""

    # the docstring under a field becomes its description, which `kina config` prints
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


SectionType = TypeVar("SectionType", bound=Section)


class ItemRules(Section):
    """Numbers of import, check and triage: table [items]."""

    columns: dict[str, str] = Field(default_factory=dict)
    """Item field to column of foreign files, as --map; the flag wins."""
    constants: dict[str, str] = Field(default_factory=dict)
    """Item field to a value that every imported row takes, as --set; the flag wins."""
    severity: dict[str, Literal["error", "warning", "info", "off"]] = Field(default_factory=dict)
    """Rule to severity, where it shall differ from the profile's."""
    option_count: int = Field(10, ge=2)
    """Options of a KINA item (arXiv 2606.05104)."""
    min_statements: int = Field(6, ge=2)
    """Statements that a combinatorial KINA item numbers at least (arXiv 2606.05104)."""
    statement_size_ratio: float = Field(4.0, ge=1)
    """Largest combination over smallest, in statements, before sizes count as unbalanced."""
    passage_characters: int = Field(400, ge=0)
    """Length from which a stem may hold the passage it speaks of."""
    cue_p: float = Field(0.01, gt=0, lt=1)
    """Level at which surface cues are reported, shared among all cues (Bonferroni)."""
    cue_min_items: int = Field(8, ge=1)
    """Items a cue must speak of before it can be reported."""
    balance_p: float = Field(0.01, gt=0, lt=1)
    """Level of the chi-square test of the keys' letters."""
    processes: int | None = Field(None, ge=1)
    """Processes that share the rules about single items; none: one a processor."""
    process_items: int = Field(5000, ge=1)
    """Items a process must get, or fewer are started: starting one takes as long as some 3,000 items."""
    strong_models: int = Field(10, ge=1)
    """Most accurate models whose agreement on another option puts a key in doubt."""
    rival_share: float = Field(0.8, gt=0, le=1)
    """Share of them that must agree: 8 of 10."""
    difficulty_low: float = Field(0.6, ge=0, le=1)
    """Least share of the panel that must be wrong: 3 of 5 (arXiv 2606.05104)."""
    difficulty_high: float = Field(1.0, ge=0, le=1)
    """Largest share of the panel that may be wrong."""

    @property
    def shaping(self) -> dict[str, Any]:
        """Return the numbers that shape results, for manifests: how many processes work is none."""
        return self.model_dump(mode="json", exclude={"processes", "process_items"})


class ChatRules(Section):
    """Numbers of calls to model endpoints: table [chat]."""

    concurrency: int = Field(8, ge=1)
    """Calls open at once."""
    timeout_s: float = Field(120.0, gt=0)
    """Seconds a call may take, end to end."""
    attempts: int = Field(5, ge=1)
    """Calls made for one request, the first included."""
    backoff_s: float = Field(1.0, ge=0)
    """Seconds before the second attempt, doubled for each later one; Retry-After wins over it."""
    max_wait_s: float = Field(60.0, ge=0)
    """Seconds waited at most between two attempts, whatever the server asks for."""
    idempotency_key: bool = True
    """Send the header Idempotency-Key with every call, the same for all calls of one request: an
    endpoint that honours it bills them once. false: for an endpoint that refuses it, or that gives
    a stored failure again and again."""
    drain_s: float = Field(10.0, ge=0)
    """Seconds that open calls are waited for after Ctrl-C or SIGTERM, since they are paid for; 0: none."""
    batch_calls: int = Field(500, ge=1)
    """Calls of one batch that a worker of --engine ray takes."""
    max_calls: int | None = Field(None, ge=0)
    """Calls made in all before a run stops; none: no cap."""
    prompt_price: float = Field(0.0, ge=0)
    """Price of a million prompt tokens, in the currency of your bill."""
    completion_price: float = Field(0.0, ge=0)
    """Price of a million completion tokens, in the same currency."""
    max_cost: float | None = Field(None, ge=0)
    """Cost in the same currency after which no further call is made; none: no cap."""


class EngineRules(Section):
    """Numbers of where and within which memory work runs: table [engine]."""

    kind: Literal["local", "ray"] = "local"
    """local: this process; ray: the cluster of RAY_ADDRESS, or a local one (extra `ray`); as --engine."""
    workers: int = Field(0, ge=0)
    """Parts that run side by side, and stages of `kina build`; 0: one a core."""
    ahead: int = Field(2, ge=1)
    """Parts handed to Ray for each worker before the first result is waited for."""
    retries: int = Field(20, ge=0)
    """Times a part is started anew after its worker or node was lost."""
    spread_scores: int = Field(200_000_000, ge=0)
    """Scores of a domain (items x anchors) from which its selection is spread over Ray; below, one
    process is quicker: 300 domains of 80,000 scores took .16 s, on Ray .17 to .56 and 8 s to start."""
    memory_mb: int = Field(4000, ge=1)
    """Resident memory, in 10^6 bytes, that one process may take where the work can be streamed;
    what does not fit stays on disk and is read in blocks; as --memory."""


EncodeEngine = Literal["auto", "onnx", "sentence-transformers"]


class EncodeRules(Section):
    """How texts become vectors: table [encode]."""

    engine: EncodeEngine = "auto"
    """What runs the encoder: "auto" is ONNX Runtime for the packaged one (all-MiniLM-L6-v2 in float32),
    sentence-transformers for every other. Both give the same decisions: cosines differ by 6e-7."""


class DedupRules(Section):
    """Numbers of the near-duplicate search: table [dedup]."""

    encoder: str = "all-MiniLM-L6-v2"
    """Text encoder: "all-MiniLM-L6-v2" (English, its weights are installed with kina-build),
    "use-multilingual-v3" (16 languages, extra `multilingual`), a folder of a
    sentence-transformers model, or a hub name, where "name@revision" pins it."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of a sentence-transformers encoder: bfloat16 is 2.5 times as fast on
    processors that have it, many times slower on others, and moves cosines by less than .002
    (measured on MMLU-Redux)."""
    encode_batch: int = Field(64, ge=1)
    """Texts an encoder takes at once."""
    unknown_limit: float = Field(0.01, ge=0, le=1)
    """Share of tokens the encoder may not know: above it, different texts become one vector
    (MiniLM reads 63 % of the Chinese characters of AGIEval as unknown)."""
    unknown_sample: int = Field(5000, ge=1)
    """Texts, evenly spaced over the sorted pool, on which that share is measured."""
    scan_columns: int = Field(64, ge=1)
    """Principal axes of the bounded scan: 64 was fastest on MMLU, MMLU-Pro and AGIEval vectors."""
    scan_rows: int = Field(512, ge=1)
    """Rows of one tile of the scan; it is twice as wide (10 MB in all, fits the cache)."""
    block_rows: int = Field(65_536, ge=1)
    """Vectors of one block at most: two blocks are one part of the work, which a stopped run keeps
    and an engine can run elsewhere (about 8 s on one core)."""
    pair_limit: int = Field(5_000_000, ge=1)
    """Pairs above the threshold at which the scan gives up: the threshold is too low for the pool."""
    search: Literal["auto", "exact", "faiss"] = "auto"
    """What finds close pairs within a pool: "faiss" (a flat index), "exact" (the bounded scan), or "auto":
    faiss up to `faiss_up_to` items, the scan, which is faster on many, above. Both find the same pairs."""
    faiss_up_to: int = Field(5000, ge=0)
    """Items up to which "auto" takes faiss: 1 s on one core."""
    fast_overlap: float = Field(0.5, gt=0, le=1)
    """Cosine of TF-IDF over word pieces from which a text is encoded under --near fast."""
    fast_common: float = Field(0.1, gt=0, le=1)
    """Share of the texts from which on a word piece that stands in them tells nothing there."""
    fast_sample: float = Field(0.1, gt=0, le=1)
    """Share of the texts left out that are encoded all the same, to measure what --near fast misses."""
    fast_least: int = Field(300, ge=0)
    """Texts of that sample at least: in a small pool words tell too little, and all of it is encoded."""
    ivf_above: int = Field(2_000_000, ge=1)
    """Texts of a corpus from which contamination is looked for in a FAISS inverted file, which misses
    some and whose recall is reported; below, all are compared."""
    ivf_recall: float = Field(0.99, gt=0, le=1)
    """Least share of the true nearest neighbours, measured, that an inverted file must find."""
    threshold: float = Field(0.80, gt=0, le=1)
    """Cosine from which two items are compared; KINA paper, stage 1. True paraphrases sit down to
    .80 and different questions up to .99: the cosine finds candidates and decides nothing."""
    rule: Literal["evidence", "cosine"] = "evidence"
    """What decides about a pair: "evidence", or "cosine" as in the KINA paper, where every pair at or above
    the threshold is a copy, whatever its numbers and negations."""
    common_limit: int = Field(10, ge=2)
    """Items showing a text from which on it is too common to tell items apart."""
    group_limit: int = Field(200, ge=2)
    """Largest group with equal gold, options or passage that is compared pair by pair."""
    equal_listed: int = Field(20, ge=1)
    """Items of one text with equal options and key up to which each pair of them is listed: of more, each
    is listed with the one that stands for them all."""
    strong_options: float = Field(0.6, gt=0, le=1)
    """Option overlap (Jaccard) that, with the same right answer, is strong evidence of a copy."""
    strong_cosine: float = Field(0.70, gt=0, le=1)
    """Cosine below which equal options and answers are no evidence: MMLU asks unlike questions with
    the same years and percentages to choose from (.22 to .66)."""
    strong_action: Literal["review", "drop"] = "review"
    """What strong evidence short of equality leads to."""
    specific_words: int = Field(3, ge=1)
    """Words of a stem, those that frame any question apart, from which an equal stem asks the same
    question whatever its options ("Which of these is a mammal?" has one)."""
    template_share: float = Field(0.6, gt=0, le=1)
    """Share of the stems' tokens two template siblings have in common."""
    passage_overlap: float = Field(0.8, gt=0, le=1)
    """Overlap (Jaccard of 3-grams) from which two passages are one."""
    context_tokens: int = Field(30, ge=1)
    """Tokens of shared sentences from which two stems are questions about one passage."""
    review_floor: float = Field(0.1, ge=0, le=1)
    """Least chance of being a copy at which a pair that the encoder alone finds alike is put to review: on
    MMLU-Pro 28 of 249 such pairs, nearly all true; of the others 1 in 30 was. 0 puts all of them there."""
    conflict_statuses: tuple[str, ...] = ("duplicate", "conflict", "review", "close", "template_sibling")
    """Statuses whose pairs selection must not take together; KINA paper: no pair of the final set
    has duplicate risk above tau_dup."""
    checked_fields: tuple[str, ...] = ("key_checked", "expert_checked")
    """Metadata fields that, when true, say that an expert checked the key."""
    difficulty_fields: tuple[str, ...] = ("difficulty",)
    """Metadata fields that hold a known difficulty."""
    ngram: int = Field(13, ge=2)
    """Tokens of one run whose reappearance elsewhere is a trace; Brown et al. 2020, appendix C."""
    ngram_least: int = Field(8, ge=2)
    """Tokens of the shortest stem that is contaminated by standing there alone; ibid."""
    ngram_share: float = Field(0.5, gt=0, le=1)
    """Share of an item's stem found in one text from which the item is contaminated (ours)."""
    trace_least: int = Field(5, ge=1)
    """Tokens of the shortest stem that, standing there alone, is put to a person (ours)."""
    trace_words: int = Field(2, ge=1)
    """Words of a stem, those that frame any question apart, from which it is looked for by itself; a
    stem that tells less is looked for by its options."""
    trace_letters: int = Field(52, ge=20)
    """Letters from which a shared run is looked at: a run of 13 tokens is seldom shorter."""
    trace_options: int = Field(2, ge=1)
    """Options that make a short stem contaminated where they stand beside it."""
    trace_shown: int = Field(5, ge=1)
    """Places kept for one item and corpus."""
    recall_floor: float = Field(0.95, gt=0, le=1)
    """Least recall of labelled duplicates when a threshold is chosen from labels."""
    nearest_shown: int = Field(10, ge=1)
    """Neighbours that --explain prints."""
    cross_threshold: float = Field(0.60, gt=0, le=1)
    """Cosine from which items of two languages are candidates: parallel items sit at .59 to .83."""
    cross_margin: float = Field(0.05, ge=0)
    """How far the nearest item of the other language must lead the second, in cosine."""

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, values: Any) -> Any:
        """Read results of before --near fast gave up its 8 bits, with a sample by count."""
        if isinstance(values, dict) and "fast_slack" in values:
            return {key: value for key, value in values.items() if not key.startswith("fast_")}
        return values

    @property
    def shaping(self) -> dict[str, Any]:
        """Return the numbers that shape results: others only say how the work is cut and done."""
        return self.model_dump(mode="json", exclude={"block_rows", "search", "faiss_up_to"})


class SupportRules(Section):
    """Numbers of item-to-anchor support: table [support]."""

    weighting: Literal["stratum", "given"] = "stratum"
    """How anchor weights become mu: mass shared by strata (KINA, Appendix B), or as given."""
    stratum_mass: dict[str, float] = Field(default_factory=dict)
    """omega: relative mass of a stratum in its domain; strata not named count 1 (uniform)."""
    cosine_floor: float = Field(default=0.15, ge=-1, le=1)
    """Cosine that scores 0; MiniLM puts 92 % of item-anchor pairs of unlike domains below it."""
    cosine_ceiling: float = Field(default=0.70, ge=-1, le=1)
    """Cosine that scores 1; MiniLM puts 10 % of items' best anchors of the demo above it."""
    scale: int = Field(default=1000, ge=1, le=1_000_000)
    """Levels a unit of score, as --scale: up to 255 a score takes one byte, up to 65535 two, else four."""
    part_items: int = Field(default=100_000, ge=1)
    """Items of one part, at most, where support is written as a folder of parts: they, their vectors and
    their scores are what is in memory at a time (600 MB at 384 dimensions and 100 anchors)."""
    prefilter_anchors: int = Field(default=24, ge=0)
    """Anchors, nearest by embedding, that a judge is asked about for each item; 0: all of them."""
    prefilter_items: int = Field(default=10, ge=0)
    """Items, nearest by embedding, that a judge is asked about for each anchor, on top of those."""
    judge_batch: int = Field(default=12, ge=1)
    """Anchors in one call, at most."""
    judge_rounds: int = Field(default=3, ge=1)
    """Times a pair is asked about when replies leave it out or spoil it, the first included."""
    judge_form: Literal["json_schema", "json_object", "text"] = "json_schema"
    """How the endpoint is made to answer in JSON; "text" where it supports neither of the two."""
    judge_tokens: int = Field(default=80, ge=1)
    """Tokens a reply may take for each anchor (a quote of 40 words and its frame)."""
    judge_quote: int | None = Field(default=None, ge=1)
    """Characters of a quote that the JSON schema allows; none: no limit (some endpoints refuse one)."""
    judge_temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature of judges."""
    judge_params: dict[str, Any] = Field(default_factory=dict)
    """More parameters of the call, sent as they are; they win over the ones above."""
    characters_a_token: float = Field(default=4.0, gt=0)
    """For estimates only: English text in common tokenizers."""
    unjudged_limit: float = Field(default=0.0, ge=0, le=1)
    """Share of items that may be left out because a pair of theirs got no rating."""
    agreement_floor: float = Field(default=0.0, ge=-1, le=1)
    """Weighted kappa that a judge must surpass with some other judge, and the judges with the experts, by
    its one-sided 95 % lower bound; 0 is chance, -1 lets all pass."""
    agreement_pairs: int = Field(default=30, ge=4)
    """Pairs both rated from which two are held to that; fewer say too little."""
    calibration_labels: int = Field(default=30, ge=1)
    """Pairs rated by experts from which judges are calibrated on them."""
    calibration_prior: float = Field(default=2.0, gt=0)
    """Imagined labels at each level of the judges that agree with them."""
    calibration_folds: int = Field(default=5, ge=2)
    """Folds, by item, in which the gain of calibrating is measured."""
    bootstraps: int = Field(default=200, ge=1)
    """B: refits of each calibrator of the reference bank (KINA, Appendix B; number ours)."""
    lower_quantile: float = Field(default=0.10, gt=0, lt=1)
    """delta: quantile over the refits that stands for "at least"."""
    ridge: float = Field(default=1.0, gt=0)
    """Penalty of the logistic calibrators, on standardised features."""
    labels_least: int = Field(default=20, ge=2)
    """Labels without which no calibrator is fitted (KINA uses 120-160 for items, 60-80 for pairs)."""
    class_least: int = Field(default=3, ge=1)
    """Labels of each class without which no calibrator is fitted."""
    domain_item_labels: int = Field(default=120, ge=2)
    """Item labels from which a domain has an alignment calibrator of its own (KINA: 120 to 160)."""
    domain_pair_labels: int = Field(default=60, ge=2)
    """Pair labels from which a domain has pair calibrators of its own (KINA: 60 to 80)."""
    bank_alignment: float = Field(default=0.7, ge=0, le=1)
    """alpha_ref: lower quantile of alignment from which an item may join the reference bank."""
    bank_duplicate: float = Field(default=0.5, ge=0, le=1)
    """tau_dup: duplicate risk from which an item does not join a bank that holds its like, and above which
    two items of the shortlist are in conflict (--save-conflicts)."""
    neighbours: int = Field(default=20, ge=1)
    """k: nearest bank items that an item is compared with, and nearest items that a bank item is."""
    spread_near: int = Field(20, ge=1)
    """Items, itself among them, that show an item where --spread makes it an anchor (ours)."""
    duplicate_discount: float = Field(default=0.5, ge=0)
    """lambda_dup: support = max(0, shared support - lambda_dup * duplicate risk)."""
    shortlist_alignment: float = Field(default=0.6, ge=0, le=1)
    """alpha_A: lower quantile of alignment that a candidate needs."""
    shortlist_percentile: float = Field(default=25.0, ge=0, le=100)
    """alpha_C: percentile of its domain's lower centralities that a candidate's must reach."""
    difficulty_least: float = Field(default=0.0, ge=0, le=1)
    """Lower end of I_d, for items whose metadata give a difficulty in [0, 1]."""
    difficulty_most: float = Field(default=1.0, ge=0, le=1)
    """Upper end of I_d."""
    draw_items: int = Field(default=140, ge=1)
    """Items drawn for labelling (KINA: 120 to 160)."""
    draw_pairs: int = Field(default=80, ge=1)
    """Pairs drawn for labelling (KINA: 60 to 80), half of them near by embedding."""
    label_overlap: int = Field(default=40, ge=0)
    """Items and pairs that stand on the sheets of all experts where --experts are several."""


class SelectionRules(Section):
    """Numbers of selection and certificate: table [selection]."""

    compiled_from_items: int = Field(5000, ge=0)
    """Items from which the compiled kernel is used: below, loading it costs more than it saves."""
    block_items: int = Field(128, ge=1)
    """Items a block of stale bounds (512 was slower on 100,000 x 500, 32 no faster)."""
    dual_rounds: int = Field(12, ge=0)
    """Passes over all items while the dual bound is tightened; 0 leaves the online bound only."""
    dual_steps: int = Field(150, ge=1)
    """Subgradient steps on the active items between two passes."""
    active_items: int = Field(2000, ge=1)
    """Items priced highest by the dual that are active between two passes."""
    search_rounds: int = Field(60, ge=0)
    """Ruin-and-refill rounds of --improve after the first swap descent."""
    search_items: int = Field(600, ge=1)
    """Items priced highest by the dual that --improve may bring in."""
    search_ruin: float = Field(0.2, gt=0, le=1)
    """Largest share of the set that one round takes out."""
    exact_items: int = Field(5000, ge=1)
    """Items left after fixing by the dual up to which HiGHS is asked for the optimum."""
    exact_seconds: float = Field(60.0, gt=0)
    """Time HiGHS is given; what it has not proven by then is reported as not proven."""
    random_draws: int = Field(100, ge=1)
    """Stratified random sets of the same size that a selection is compared with."""
    stratum_floor: int = Field(1, ge=0)
    """Least items of a stratum in a budget: L_h = min(this, eligible items)."""
    stratum_ceiling: int = Field(3, ge=1)
    """Least upper quota of a stratum: U_h = max(this, stratum_spread x K_d / strata, rounded up)."""
    stratum_spread: float = Field(1.5, ge=1)
    """Most items of a stratum, as a multiple of an even share."""


class ReleaseRules(Section):
    """Numbers of the exported splits: table [release]."""

    dev_share: float = Field(0.10, ge=0, lt=1)
    """Share of every taxonomy path that goes to the dev split."""
    last_uses: int = Field(10, ge=2)
    """Items with an option of one text, from which on it can be a text that belongs last."""
    last_share: float = Field(0.9, gt=0.5, le=1)
    """Share of those items in which it must stand last; ordinary texts stand there as often as anywhere."""
    committed_answers: int = Field(64, ge=1)
    """Private answers needed before their hash is published: fewer could be found by trying
    (64 answers of two options each are 2^64 trials)."""


class ScoringRules(Section):
    """Numbers of model runs and scoring: table [scoring]."""

    samples: int = Field(1, ge=1)
    """Replies asked for per item (k of AVG@k), each of them paid for; the KINA paper, section 5, uses 4."""
    temperature: float | None = Field(None, ge=0)
    """Sent with each call; none: the endpoint's default."""
    max_tokens: int = Field(16384, ge=1)
    """Tokens a reply may have, as in the public KINA run."""
    coverage_floor: float = Field(0.95, ge=0, le=1)
    """Share of items that must be answered before a score is given."""


class RankingRules(Section):
    """Numbers of leaderboards: table [ranking]."""

    level: float = Field(default=0.95, gt=0.5, lt=1)
    """Confidence of every interval and rank set, two-sided."""
    samples: int = Field(default=10_000, ge=100)
    """Bootstrap resamples: the bounds of a 95 % set are then known to about .2 points."""
    top_ks: tuple[int, ...] = (1, 3, 5, 10)
    """The k of P(rank <= k)."""
    min_discipline: int = Field(default=20, ge=2)
    """Items a discipline needs before ranks are shown for it (ours)."""
    power_factor: float = Field(default=2.8, gt=0)
    """z of a 5 % two-sided test plus z of 80 % power, 1.96 + .84: minimum detectable difference."""
    split_halves: int = Field(default=200, ge=1)
    """Random halvings behind the split-half figures."""
    thinning_rates: tuple[float, ...] = (0.5, 0.7, 0.9)
    """Subsampling rates of the KINA paper's stability table."""
    thinning_samples: int = Field(default=1000, ge=1)
    """Subsamples a rate; KINA paper."""


class FidelityRules(Section):
    """Numbers of short forms and item difficulty: table [fidelity]."""

    level: float = Field(default=0.95, gt=0.5, lt=1)
    """Confidence of every interval, two-sided."""
    seeds: int = Field(default=20, ge=2)
    """Draws of each method by whose mean error a short form is chosen."""
    draws: int = Field(default=300, ge=1)
    """Stratified random forms of the same size that a form is set beside."""
    bins: int = Field(default=5, ge=2)
    """Bins of difficulty inside a stratum."""
    models_1pl: int = Field(default=30, ge=2)
    """Models below which difficulties are told with a warning (rule of thumb of item response theory)."""
    models_2pl: int = Field(default=100, ge=2)
    """The same for discriminations."""


class Settings(Section):
    """The resolved page of numbers."""

    intake: IntakeRules = IntakeRules()
    items: ItemRules = ItemRules()
    chat: ChatRules = ChatRules()
    engine: EngineRules = EngineRules()
    encode: EncodeRules = EncodeRules()
    dedup: DedupRules = DedupRules()
    support: SupportRules = SupportRules()
    selection: SelectionRules = SelectionRules()
    release: ReleaseRules = ReleaseRules()
    scoring: ScoringRules = ScoringRules()
    ranking: RankingRules = RankingRules()
    fidelity: FidelityRules = FidelityRules()
    review: dict[str, Any] = Field(default_factory=dict)
    """Table [review], checked by review/kina_review/rubric.py."""
    project: dict[str, Any] = Field(default_factory=dict)
    """Table [project], checked by project/table.py."""


def find_config(start: Path) -> Path | None:
    """Return the nearest kina.toml in a folder or above it."""
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder / CONFIG_NAME
    return None


def load_settings(path: Path | None = None) -> Settings:
    """Read settings from a file, else from the nearest kina.toml, else the defaults.

    Raises:
        ConfigError: unreadable file, bad TOML, unknown key or bad value; names the key.
    """
    found = path or find_config(Path.cwd())
    return Settings() if found is None else parse_settings(_read_toml(found), str(found))


def parse_settings(table: dict[str, Any], origin: str = CONFIG_NAME) -> Settings:
    """Check a parsed kina.toml.

    Raises:
        ConfigError: unknown key (with the nearest known one as hint) or bad value.
    """
    return check_section(Settings, table, origin)


def check_section(model: type[SectionType], table: dict[str, Any], origin: str) -> SectionType:
    """Validate one table of settings; `origin` starts each message.

    Raises:
        ConfigError: as parse_settings.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        unknown = [".".join(map(str, e["loc"])) for e in error.errors() if e["type"] == "extra_forbidden"]
        lines = [text.replace("Extra inputs are not permitted", "unknown key") for text in describe(error)]
        raise ConfigError(
            *(f"{origin}: {text}" for text in lines),
            hint=_nearest(unknown, model) if unknown else "`kina config` prints every key with its value",
        ) from None


def explain(settings: BaseModel, prefix: str = "") -> list[tuple[str, Any, str]]:
    """List every number as (dotted key, value, meaning)."""
    rows: list[tuple[str, Any, str]] = []
    for name, info in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            rows += explain(value, f"{prefix}{name}.")
        else:
            rows.append((prefix + name, value, info.description or ""))
    return rows


def known_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """List the dotted keys of a settings model."""
    keys: list[str] = []
    for name, info in model.model_fields.items():
        nested = info.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            keys += [prefix + name, *known_keys(nested, f"{prefix}{name}.")]
        else:
            keys.append(prefix + name)
    return keys


def _nearest(unknown: list[str], model: type[BaseModel]) -> str:
    near = [m for key in unknown for m in difflib.get_close_matches(key, known_keys(model), n=1, cutoff=0.5)]
    return f"did you mean {', '.join(near)}?" if near else "`kina config` prints every key"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: lists or tables stand too deep inside each other") from None
    except ValueError as error:  # no TOML, or a number of more digits than Python reads
        raise ConfigError(f"{path}: {error}") from None
