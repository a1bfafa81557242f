"""The stages up to what selection takes: import, checks, copies, support, review."""

from __future__ import annotations

from typing import Any

from kina_build.items.importing.files import Layout
from kina_build.project.decisions import Rulings
from kina_build.project.folder import Project
from kina_build.project.graph.stages import (
    AGREEMENT,
    ANCHORS,
    ASSIGNMENTS,
    CONTAMINATION,
    CONTESTS,
    DECISIONS,
    DUPLICATES,
    FINDINGS,
    LEDGER,
    NO_REVIEWS,
    OVERRIDES,
    PANEL,
    POOL,
    SELECTION,
    SUPPORT,
    TRIAGE,
    Stage,
    each,
    given,
)
from kina_build.project.table import Source


def plan_import(project: Project, rulings: Rulings) -> list[Stage]:
    """Import each source by its own map, and join several to one pool."""
    sources = [_mapped(project, source, rulings) for source in project.table.source]
    patches = project.expand(project.table.patches)
    mended = each("--patch", patches)
    if len(sources) <= 1:
        own = [_import_one(project, "import", source, POOL, patches) for source in sources]
        return own or [
            Stage(
                "import",
                ("import", "-o", POOL),
                (),
                (POOL,),
                lacks=("[[project.source]] files: name the files of questions",),
            )
        ]
    parts = [
        _import_one(project, f"import {number}", source, f"pool-{number}.jsonl")
        for number, source in enumerate(sources, start=1)
    ]
    names = tuple(part.owns[0] for part in parts)
    return [*parts, Stage("import", ("import", *names, *mended, "-o", POOL), (*names, *patches), (POOL,))]


def _mapped(project: Project, source: Source, rulings: Rulings) -> Source:
    """Add to a source's map what people said of the columns of its files."""
    said = [rulings.columns[name] for name in project.expand(source.files) if name in rulings.columns]
    told = {key: column for one in said for key, column in one.items()}
    return source.model_copy(update={"map": {**source.map, **told}}) if told else source


def _import_one(
    project: Project, name: str, source: Source, output: str, patches: tuple[str, ...] = ()
) -> Stage:
    files = project.expand(source.files)
    columns = {
        key: column if isinstance(column, str) else ",".join(column) for key, column in source.map.items()
    }
    constants = dict(source.set)
    constants |= {
        key: value
        for key, value in (("license", source.license), ("question_source", source.source))
        if value
    }
    argv = ["import", *files]
    argv += each("--map", (f"{key}={column}" for key, column in columns.items()))
    argv += each("--set", (f"{key}={value}" for key, value in constants.items()))
    for option in ("format", "encoding", "delimiter", "key_form", "name_as", "cut_prefix"):
        argv += given(f"--{option.replace('_', '-')}", getattr(source, option))
    argv += ["--prefix-ids"] if source.prefix_ids else []
    argv += each("--patch", patches)
    argv += ["--keep-going"] if source.keep_going else []
    lacks = () if files else (f"project.source.files: no file is called {', '.join(source.files)}",)
    reads = (*files, *patches)
    return Stage(name, (*argv, "-o", output), reads, (output,), finds=source.keep_going, lacks=lacks)


def import_options(source: Source) -> Layout:
    """Return the options of `kina import` that a source's table stands for."""
    columns = {key: one if isinstance(one, str) else ",".join(one) for key, one in source.map.items()}
    constants = dict(source.set)
    constants |= {
        name: text for name, text in (("license", source.license), ("question_source", source.source)) if text
    }
    given: dict[str, Any] = {
        name: getattr(source, name)
        for name in ("format", "encoding", "delimiter", "key_form", "name_as", "cut_prefix")
        if getattr(source, name) is not None
    }
    return Layout(columns=columns, constants=constants, prefix_ids=source.prefix_ids, **given)


def plan_check(project: Project) -> Stage:
    """Check the pool; what it finds is left out later."""
    profile = "kina" if project.table.template == "kina" else "generic"
    argv = ("check", POOL, "--profile", profile, "-o", FINDINGS)
    return Stage("check", argv, (POOL,), (FINDINGS,), finds=True)


def plan_dedup(project: Project, rulings: Rulings) -> list[Stage]:
    """Find copies, by what people decided of pairs and keys, and the pool in other corpora."""
    found = []
    more: list[str] = []
    if rulings.overrides:
        files = rulings.files
        argv = ("overrides", *files, "--pool", POOL, "-o", OVERRIDES)
        found.append(Stage("overrides", argv, (POOL, *files), (OVERRIDES,)))
        more = ["--overrides", OVERRIDES]
    letters = [] if project.table.near else ["--no-near"]
    argv = ("dedup", POOL, *more, *letters, "-o", DUPLICATES)
    found.append(Stage("dedup", argv, (POOL, *more[1:]), (DUPLICATES,)))
    if project.table.contamination is not None:
        corpora = project.expand(project.table.contamination.against)
        argv = ("contamination", POOL, *each("--against", corpora), *letters, "-o", CONTAMINATION)
        found.append(Stage("contamination", argv, (POOL, *corpora), (CONTAMINATION,), finds=True))
    return found


def plan_suspicions(project: Project) -> list[Stage]:
    """Doubt keys, where replies of models are there."""
    if project.table.responses is None:
        return []
    files = project.expand(project.table.responses.files)
    argv = ("triage", *files, "--pool", POOL, "--letters-of", POOL, "-o", TRIAGE)
    return [Stage("triage", argv, (POOL, *files), (TRIAGE,))]


def plan_panel(project: Project) -> list[Stage]:
    """Admit what most models of a panel answer wrongly, where the project has one."""
    panel = project.table.panel
    if panel is None:
        return []
    replies = project.table.responses
    files = project.expand(replies.files) if replies else ()
    lacks = () if files else ("project.responses.files: name the replies of the panel to the pool",)
    argv = ("panel", *files, "--pool", POOL, "--letters-of", POOL, *each("--model", panel.models))
    return [Stage("panel", (*argv, "-o", PANEL), (POOL, *files), (PANEL,), lacks=lacks)]


def plan_support(project: Project) -> list[Stage]:
    """Weigh anchors and measure how much each item shows of them."""
    table = project.table
    if table.anchors is None:
        return []
    lists = project.expand(table.anchors.files)
    lacks = () if lists else ("project.anchors.files: name the experts' lists",)
    how = table.support
    files = {
        name: project.expand(getattr(how, name))
        for name in ("ratings", "labels", "item_labels", "pair_labels")
    }
    argv = ["support", POOL, "--anchors", ANCHORS]
    argv += [] if how.method == "embedding" else ["--method", how.method]
    argv += each("--judge", how.judges) + given("--base-url", how.base_url)
    for name, paths in files.items():
        argv += each(f"--{name.replace('_', '-')}", paths)
    argv += ["--all-domains"] if how.all_domains else []
    argv += given("--seed", table.seed or None)
    return [
        Stage("anchors", ("anchors", *lists, "-o", ANCHORS), lists, (ANCHORS,), lacks=lacks),
        Stage(
            "support",
            (*argv, "-o", SUPPORT),
            (POOL, ANCHORS, *(path for paths in files.values() for path in paths)),
            (SUPPORT,),
        ),
    ]


def plan_review(project: Project) -> list[Stage]:
    """Assign, settle and measure agreement, where the project has a batch."""
    batch = project.batch
    if batch is None:
        return []
    reviews = project.expand([path.as_posix() for path in batch.reviews])
    found = []
    if batch.reviewers is not None:
        people = batch.reviewers.as_posix()
        reviewed = POOL if project.table.panel is None else PANEL
        argv = ["review", "assign", reviewed, "--reviewers", people, "--open-cap", str(batch.open_cap)]
        chosen = _reviewed_only(project)
        argv += each("--only", chosen) + given("--seed", project.table.seed or None)
        found.append(
            Stage(
                "assign",
                (*argv, "-o", ASSIGNMENTS),
                (reviewed, people, *chosen),
                (ASSIGNMENTS,),
                once=("desk.json", *reviews),
            )
        )
    single = {
        name: project.expand([p.as_posix() for p in getattr(batch, name)]) for name in ("scores", "findings")
    }
    named = (batch.draw, batch.rules, batch.scarcity, batch.items)
    files = [path.as_posix() for path in named if path is not None]
    argv = ["review", "settle", *each("--reviews", reviews)]
    for name, paths in single.items():
        argv += each(f"--{name}", paths)
    for name in (
        "rules",
        "rule_version",
        "base",
        "bonus",
        "grade_pay",
        "currency",
        "bar",
        "tie",
        "deadline",
        "penalty",
        "seed",
        "draw",
        "scarcity",
    ):
        argv += given(f"--{name.replace('_', '-')}", getattr(batch, name))
    by_pool = batch.scarcity is not None and batch.items is None
    argv += given("--items", POOL if by_pool else batch.items)
    argv += given("--awards", batch.awards)
    argv += ["--ledger", LEDGER, "--contests", CONTESTS, "--decisions", DECISIONS]
    reads = (
        *reviews,
        *(path for paths in single.values() for path in paths),
        *files,
        *((POOL,) if by_pool else ()),
    )
    lacks = () if reviews else (_no_reviews(project),)
    pay = tuple(
        f"review.batch.{key} is empty: fill it in" for key in ("base", "bonus") if getattr(batch, key) == ""
    )
    owns = (CONTESTS, DECISIONS, *([batch.awards.as_posix()] if batch.awards else []))
    found.append(Stage("settle", tuple(argv), reads, owns, keeps=(LEDGER,), lacks=(*pay, *lacks)))
    agreed = ("review", "agreement", *reviews, "-o", AGREEMENT)
    return [*found, Stage("agreement", agreed, reviews, (AGREEMENT,), lacks=lacks)]


def _reviewed_only(project: Project) -> tuple[str, ...]:
    """Name the selection where it is made before the reviews, and only its items need any.

    Holes that may be filled with accepted items alone need a reserve: then the whole pool is reviewed.
    """
    top_up = project.table.top_up
    return (SELECTION,) if top_up is not None and not top_up.accepted_only else ()


def _no_reviews(project: Project) -> str:
    names = ", ".join(path.as_posix() for path in project.batch.reviews) if project.batch else ""
    return f"{NO_REVIEWS} ({names or 'name the files'})"
