"""The stages from selection on: certificate, release, scores, pages."""

from __future__ import annotations

from kina_build.project.decisions import GateRulings, Rulings
from kina_build.project.folder import Project
from kina_build.project.graph.stages import (
    AGREEMENT,
    ANCHORS,
    BUDGET,
    CERTIFICATE,
    CONTAMINATION,
    DECISIONS,
    DUPLICATES,
    FINDINGS,
    LEADERBOARD,
    LEFT_OUT,
    PANEL,
    POOL,
    RELEASE,
    REPORT,
    SCORES,
    SELECTION,
    SUPPORT,
    TOPPED,
    VERIFICATION,
    Stage,
    each,
    given,
    slug,
)


def plan_left_out(project: Project, rulings: Rulings) -> Stage:
    """List what may not be selected, and why."""
    reviewed = (DECISIONS,) if project.batch is not None and project.table.top_up is None else ()
    panel = (PANEL,) if project.table.panel else ()
    argv = ["leave-out", POOL, "--findings", FINDINGS, "--duplicates", DUPLICATES]
    corpora = (CONTAMINATION,) if project.table.contamination else ()
    argv += each("--contamination", corpora) + each("--panel", panel)
    argv += each("--reviewed", reviewed) + each("--ruling", rulings.files)
    reads = (POOL, FINDINGS, DUPLICATES, *corpora, *panel, *reviewed, *rulings.files)
    return Stage("leave-out", (*argv, "-o", LEFT_OUT), reads, (LEFT_OUT,))


def plan_selection(project: Project) -> list[Stage]:
    """Select by anchors, top up what review took out, certify; without anchors draw a sample."""
    table = project.table
    lacks = () if table.size else ("project.size: say how many items to select",)
    reviewed = [DECISIONS] if project.batch is not None and table.top_up is None else []
    if table.top_up and (project.batch is None or table.anchors is None):
        lacks = (*lacks, "project.top_up: a selection by anchors is topped up after [review.batch]")
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
    final = SELECTION
    if table.top_up is not None:
        final, reads = TOPPED, (SELECTION, *reads, DECISIONS)
        argv = ["top-up", SELECTION, "--decisions", DECISIONS]
        argv += ["--accepted-only"] if table.top_up.accepted_only else []
        argv += given("--seed", table.seed or None)
        found.append(Stage("top-up", (*argv, "-o", TOPPED), reads, (TOPPED,)))
    certify = ("certify", final, "-k", str(table.size), "-o", CERTIFICATE)
    return [*found, Stage("certify", certify, (final, *reads), (CERTIFICATE,))]


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


def plan_release(project: Project, gates: GateRulings) -> list[Stage]:
    """Export and verify what was written."""
    table, release = project.table, project.table.release
    final = SELECTION if table.top_up is None else TOPPED
    argv = ["export", POOL, "--selection", final, "--duplicates", DUPLICATES, "--left-out", LEFT_OUT]
    reads = [POOL, final, *([] if final == SELECTION else [SELECTION]), DUPLICATES, LEFT_OUT]
    if project.batch is not None:
        argv += ["--decisions", DECISIONS, "--agreement", AGREEMENT]
        reads += [DECISIONS, AGREEMENT]
    if table.anchors is not None:  # nothing is released whose certificate does not hold
        reads += [CERTIFICATE, SUPPORT, ANCHORS, *_quota(project, ())[2][1:]]
    for option, file in (("--previous", release.previous), ("--estimator", release.estimator)):
        argv += given(option, file)
        reads += [file] if file else []
    argv += each("--filter-model", table.panel.names if table.panel else ())
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
        f"[[project.source]] {number}: {field} is empty: fill it in"
        for number, source in enumerate(table.source, start=1)
        for field in ("license", "source")
        if getattr(source, field) == ""
    )
    checked = ("verify", RELEASE, *each("--answers", owns[1:]))
    return [
        Stage("export", (*argv, "-o", RELEASE), tuple(reads), owns, lacks=lacks),
        Stage("verify", checked, owns, (VERIFICATION,), reported=True),
    ]


def plan_scores(project: Project) -> list[Stage]:
    """Ask the models of the project, or take the replies that are there; score and rank."""
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
        of, reads = ["--items", POOL, "--letters-of", POOL], [POOL, *replies]
        ranked, behind = ["--only", f"{RELEASE}/test.jsonl"], [f"{RELEASE}/test.jsonl"]
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


def plan_report(project: Project) -> Stage:
    """Write pages about all that there is."""
    title = project.table.title or project.table.name
    return Stage("report", ("report", ".", "-o", REPORT, "--title", title), (), (REPORT,), last=True)
