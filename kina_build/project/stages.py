"""The stages of a project: each a plain command line, what it reads, and the artefacts it owns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kina_build.project.decisions import GateRulings, Rulings
from kina_build.project.table import Project, Source

POOL = "pool.jsonl"
FINDINGS = "findings.jsonl"
OVERRIDES = "overrides.jsonl"
DUPLICATES = "duplicates.json"
CONTAMINATION = "contamination.json"
TRIAGE = "triage.jsonl"
ANCHORS = "anchors.jsonl"
SUPPORT = "support.npz"
ASSIGNMENTS = "assignments.jsonl"
CONTESTS = "contests.jsonl"
DECISIONS = "decisions.jsonl"
LEDGER = "ledger.db"
AGREEMENT = "agreement.json"
LEFT_OUT = "left-out.json"
BUDGET = "budget.jsonl"
SELECTION = "selection.json"
CERTIFICATE = "certificate.json"
RELEASE = "release"
VERIFICATION = "verification.json"
SCORES = "scores.jsonl"
LEADERBOARD = "leaderboard.json"
REPORT = "report"


@dataclass(frozen=True)
class Stage:
    """One command of the flow."""

    name: str
    argv: tuple[str, ...]
    """As a user types it after `kina`, in the project's folder."""
    reads: tuple[str, ...]
    """Artefacts of other stages, and files of the project."""
    owns: tuple[str, ...]
    """What it writes; the first carries the manifest."""
    keeps: tuple[str, ...] = ()
    """What it adds to, and must find again: a ledger."""
    finds: bool = False
    """Exit code 1 is a finding, which the stages behind it can go on with."""
    reported: bool = False
    """The command writes no file: its document is kept as the artefact."""
    once: tuple[str, ...] = ()
    """Files that tell that people work with the artefact: from then on it is not made anew."""
    lacks: tuple[str, ...] = ()
    """Lines of kina.toml that are not filled in, without which it cannot run."""

    @property
    def line(self) -> str:
        """Return the command line as it is typed."""
        return shlex.join(["kina", *self.argv])


def plan(project: Project, rulings: Rulings) -> list[Stage]:
    """List the stages of a project; what people decided so far shapes their lines.

    Args:
        project: what kina.toml says.
        rulings: the decisions of people that hold.
    """
    from kina_build.project import lists

    table = project.table
    if table.template in ("universe", "triples"):
        return [_configured(project, stage) for stage in lists.plan(project)]
    found = [
        *_import(project),
        _check(project),
        *_dedup(project, rulings),
        *_suspicions(project),
        *_support(project),
        *_review(project),
        _left_out(project, rulings),
        *_select(project),
        *_release(project, rulings.gates),
        *_score(project),
    ]
    return [_configured(project, stage) for stage in (*found, _report(project, found))]


def _configured(project: Project, stage: Stage) -> Stage:
    """Name the settings file on the line where the command would not find it by itself."""
    from dataclasses import replace

    if project.file == "kina.toml":
        return stage
    return replace(stage, argv=(*stage.argv, "--config", project.file))


def each(option: str, values: Iterable[object]) -> list[str]:
    """Repeat an option for each value."""
    return [part for value in values for part in (option, str(value))]


def given(option: str, value: object) -> list[str]:
    """Return an option with its value; nothing where there is none."""
    return [] if value in (None, "") else [option, str(value)]


def _import(project: Project) -> list[Stage]:
    sources = project.table.source
    if len(sources) <= 1:
        own = [_import_one(project, "import", source, POOL) for source in sources]
        return own or [Stage("import", ("import", "-o", POOL), (), (POOL,), lacks=("project.source",))]
    parts = [
        _import_one(project, f"import {number}", source, f"pool-{number}.jsonl")
        for number, source in enumerate(sources, start=1)
    ]
    names = tuple(part.owns[0] for part in parts)
    return [*parts, Stage("import", ("import", *names, "-o", POOL), names, (POOL,))]


def _import_one(project: Project, name: str, source: Source, output: str) -> Stage:
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
    for option in ("format", "encoding", "delimiter", "key_form", "name_as"):
        argv += given(f"--{option.replace('_', '-')}", getattr(source, option))
    argv += ["--prefix-ids"] if source.prefix_ids else []
    argv += ["--keep-going"] if source.keep_going else []
    lacks = () if files else (f"project.source.files: no file is called {', '.join(source.files)}",)
    return Stage(name, (*argv, "-o", output), files, (output,), finds=source.keep_going, lacks=lacks)


def _check(project: Project) -> Stage:
    profile = "kina" if project.table.template == "kina" else "generic"
    argv = ("check", POOL, "--profile", profile, "-o", FINDINGS)
    return Stage("check", argv, (POOL,), (FINDINGS,), finds=True)


def _dedup(project: Project, rulings: Rulings) -> list[Stage]:
    found = []
    more: list[str] = []
    if rulings.overrides:
        files = rulings.files
        argv = ("overrides", *files, "--pool", POOL, "-o", OVERRIDES)
        found.append(Stage("overrides", argv, (POOL, *files), (OVERRIDES,)))
        more = ["--overrides", OVERRIDES]
    argv = ("dedup", POOL, *more, "-o", DUPLICATES)
    found.append(Stage("dedup", argv, (POOL, *more[1:]), (DUPLICATES,)))
    if project.table.contamination is not None:
        corpora = project.expand(project.table.contamination.against)
        argv = ("contamination", POOL, *each("--against", corpora), "-o", CONTAMINATION)
        found.append(Stage("contamination", argv, (POOL, *corpora), (CONTAMINATION,), finds=True))
    return found


def _suspicions(project: Project) -> list[Stage]:
    if project.table.responses is None:
        return []
    files = project.expand(project.table.responses.files)
    argv = ("triage", *files, "--pool", POOL, "-o", TRIAGE)
    return [Stage("triage", argv, (POOL, *files), (TRIAGE,))]


def _support(project: Project) -> list[Stage]:
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


def _review(project: Project) -> list[Stage]:
    batch = project.batch
    if batch is None:
        return []
    reviews = project.expand([path.as_posix() for path in batch.reviews])
    found = []
    if batch.reviewers is not None:
        people = batch.reviewers.as_posix()
        argv = ["review", "assign", POOL, "--reviewers", people, "--open-cap", str(batch.open_cap)]
        argv += given("--seed", project.table.seed or None)
        found.append(
            Stage(
                "assign",
                (*argv, "-o", ASSIGNMENTS),
                (POOL, people),
                (ASSIGNMENTS,),
                once=("desk.json", *reviews),
            )
        )
    single = {
        name: project.expand([p.as_posix() for p in getattr(batch, name)]) for name in ("scores", "findings")
    }
    files = [path.as_posix() for path in (batch.draw, batch.rules) if path is not None]
    argv = ["review", "settle", *each("--reviews", reviews)]
    for name, paths in single.items():
        argv += each(f"--{name}", paths)
    for name in (
        "rules",
        "rule_version",
        "base",
        "bonus",
        "currency",
        "bar",
        "tie",
        "deadline",
        "penalty",
        "seed",
        "draw",
    ):
        argv += given(f"--{name.replace('_', '-')}", getattr(batch, name))
    argv += given("--awards", batch.awards)
    argv += ["--ledger", LEDGER, "--contests", CONTESTS, "--decisions", DECISIONS]
    reads = (*reviews, *(path for paths in single.values() for path in paths), *files)
    lacks = () if reviews else (_no_reviews(project),)
    pay = tuple(
        f"review.batch.{key}: an empty line is no pay; fill it in"
        for key in ("base", "bonus")
        if getattr(batch, key) == ""
    )
    owns = (CONTESTS, DECISIONS, *([batch.awards.as_posix()] if batch.awards else []))
    found.append(Stage("settle", tuple(argv), reads, owns, keeps=(LEDGER,), lacks=(*pay, *lacks)))
    agreed = ("review", "agreement", *reviews, "-o", AGREEMENT)
    return [*found, Stage("agreement", agreed, reviews, (AGREEMENT,), lacks=lacks)]


def _no_reviews(project: Project) -> str:
    names = ", ".join(path.as_posix() for path in project.batch.reviews) if project.batch else ""
    return f"review.batch.reviews: no review is in yet ({names or 'name the files'})"


def _left_out(project: Project, rulings: Rulings) -> Stage:
    reviewed = (DECISIONS,) if project.batch is not None else ()
    argv = ("leave-out", POOL, "--findings", FINDINGS, "--duplicates", DUPLICATES)
    argv += tuple([*each("--reviewed", reviewed), *each("--ruling", rulings.files)])
    reads = (POOL, FINDINGS, DUPLICATES, *reviewed, *rulings.files)
    return Stage("leave-out", (*argv, "-o", LEFT_OUT), reads, (LEFT_OUT,))


def _select(project: Project) -> list[Stage]:
    table = project.table
    lacks = () if table.size else ("project.size: say how many items to select",)
    reviewed = [DECISIONS] if project.batch is not None else []
    if table.anchors is None:
        if table.quota is None:
            lacks = (*lacks, "project.anchors: without anchors a random sample needs strata: [project.quota]")
        by = table.quota.by if table.quota else "subfield"
        argv = ["sample", POOL, "--total", str(table.size), "--by", by, "--exclude", LEFT_OUT]
        argv += each("--decisions", reviewed) + given("--seed", table.seed or None)
        reads = (POOL, LEFT_OUT, *reviewed)
        return [Stage("select", (*argv, "-o", SELECTION), reads, (SELECTION,), lacks=lacks)]
    found, quota, reads = _quota(project, lacks)
    argv = ["select", "--support", SUPPORT, "--anchors", ANCHORS, "-k", str(table.size), *quota]
    argv += ["--conflicts", DUPLICATES, "--exclude", LEFT_OUT, *each("--decisions", reviewed)]
    argv += given("--seed", table.seed or None)
    reads = (SUPPORT, ANCHORS, *reads, DUPLICATES, LEFT_OUT, *reviewed)
    found.append(Stage("select", (*argv, "-o", SELECTION), reads, (SELECTION,), lacks=lacks))
    certify = ("certify", SELECTION, "-k", str(table.size), "-o", CERTIFICATE)
    return [*found, Stage("certify", certify, (SELECTION, *reads), (CERTIFICATE,))]


def _quota(project: Project, lacks: tuple[str, ...]) -> tuple[list[Stage], list[str], tuple[str, ...]]:
    """Return the stage that bounds strata, what `kina select` is told of them, and the files behind it."""
    quota = project.table.quota
    if quota is None:
        return [], [], ()
    by = (["--by", quota.by] if quota.by != "subfield" else []) + (
        ["--domain-by", quota.domain_by] if quota.domain_by != "field" else []
    )
    told = ["--strata", POOL, *by, "--quota", quota.file or BUDGET]
    if quota.file:
        return [], told, (POOL, *([] if quota.file == "proportional" else [quota.file]))
    argv = ["budget", POOL, "--total", str(project.table.size), *by]
    argv += [] if quota.shares == "strata" else ["--shares", quota.shares]
    reads: list[str] = [POOL]
    if quota.shares == "coverage":
        argv += ["--support", SUPPORT, "--anchors", ANCHORS]
        reads += [SUPPORT, ANCHORS]
    argv += ["--exclude", LEFT_OUT, "-o", BUDGET]
    return [Stage("budget", tuple(argv), (*reads, LEFT_OUT), (BUDGET,), lacks=lacks)], told, (POOL, BUDGET)


def _release(project: Project, gates: GateRulings) -> list[Stage]:
    table, release = project.table, project.table.release
    argv = ["export", POOL, "--selection", SELECTION, "--duplicates", DUPLICATES]
    reads = [POOL, SELECTION, DUPLICATES]
    if project.batch is not None:
        argv += ["--decisions", DECISIONS, "--agreement", AGREEMENT]
        reads += [DECISIONS, AGREEMENT]
    if table.anchors is not None:  # nothing is released whose certificate does not hold
        reads += [CERTIFICATE, SUPPORT, ANCHORS, LEFT_OUT, *_quota(project, ())[2][1:]]
    argv += given("--previous", release.previous)
    reads += [release.previous] if release.previous else []
    argv += ["--name", table.name, *given("--title", table.title)]
    argv += given("--release-version", "" if release.version == "auto" else release.version)
    argv += each("--private", release.private) + each("--license", release.license)
    argv += (
        given("--published", release.published)
        + each("--creator", release.creators)
        + given("--url", release.url)
    )
    argv += ["--keep-letters"] if release.letters == "keep" else []
    argv += each("--allow", (f"{rule}={reason}" for rule, reason in gates.allowed.items()))
    argv += each("--take-down", (f"{item}={reason}" for item, reason in gates.taken_down.items()))
    argv += given("--seed", table.seed or None)
    owns = (RELEASE, *([f"{RELEASE}.answers.jsonl"] if release.private else []))
    lacks = tuple(
        f"project.source {number}: {field}: an empty line is no {field}; fill it in"
        for number, source in enumerate(table.source, start=1)
        for field in ("license", "source")
        if getattr(source, field) == ""
    )
    checked = ("verify", RELEASE, *each("--answers", owns[1:]))
    return [
        Stage("export", (*argv, "-o", RELEASE), tuple(reads), owns, lacks=lacks),
        Stage("verify", checked, owns, (VERIFICATION,), reported=True),
    ]


def _score(project: Project) -> list[Stage]:
    table = project.table
    asked = [_ask(project, number) for number in range(len(table.model))]
    if asked:
        replies = [stage.owns[0] for stage in asked]
        of = [
            "--release",
            RELEASE,
            *(["--answers", f"{RELEASE}.answers.jsonl"] if table.release.private else []),
        ]
        reads = [RELEASE, *of[3:], *replies]
        ranked, behind = ["--release", RELEASE], [RELEASE]
    elif table.responses is not None:
        replies = list(project.expand(table.responses.files))
        of, reads = ["--items", POOL], [POOL, *replies]
        ranked, behind = ["--only", f"{RELEASE}/test.jsonl"], [RELEASE]
    else:
        return []
    score = ("score", "--task", "multiple-choice", *of, *each("--responses", replies), "-o", SCORES)
    rank = ("rank", "--scores", SCORES, *ranked, *given("--seed", table.seed or None), "-o", LEADERBOARD)
    return [
        *asked,
        Stage("score", score, tuple(reads), (SCORES,)),
        Stage("rank", rank, (SCORES, *behind), (LEADERBOARD,)),
    ]


def _ask(project: Project, number: int) -> Stage:
    model = project.table.model[number]
    output = f"responses-{slug(model.name)}.jsonl"
    argv = ["run", "--release", RELEASE, "--model", model.name, *given("--base-url", model.base_url)]
    argv += given("--samples", model.samples) + given("--seed", project.table.seed or None)
    return Stage(f"run {model.name}", (*argv, "-o", output), (RELEASE,), (output,))


def slug(name: str) -> str:
    """Return a name of a model as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"


def _report(project: Project, stages: Sequence[Stage]) -> Stage:
    """Write pages about all that there is."""
    from kina_build.report.artefacts import FILES

    shown = {*FILES.values(), LEDGER}
    reads = tuple(name for stage in stages for name in (*stage.owns, *stage.keeps) if name in shown)
    title = project.table.title or project.table.name
    return Stage("report", ("report", ".", "-o", REPORT, "--title", title), reads, (REPORT,))
