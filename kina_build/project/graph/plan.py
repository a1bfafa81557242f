"""The plan of a project: its stages, as kina.toml and the decisions of people shape them, and their graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import networkx as nx

from kina_build.config import CONFIG_NAME
from kina_build.errors import UsageError
from kina_build.project.decisions import Rulings
from kina_build.project.folder import Project
from kina_build.project.graph.pool import (
    plan_check,
    plan_dedup,
    plan_import,
    plan_panel,
    plan_review,
    plan_support,
    plan_suspicions,
)
from kina_build.project.graph.release import (
    plan_left_out,
    plan_release,
    plan_report,
    plan_scores,
    plan_selection,
)
from kina_build.project.graph.stages import Stage, each, given, slug
from kina_build.project.table import Model

ONE_FILE = "one file of questions or gold triples (replies or predictions stand in [project.responses])"


def plan(project: Project, rulings: Rulings) -> list[Stage]:
    """List the stages of a project; what people decided so far shapes their lines.

    Args:
        project: what kina.toml says.
        rulings: the decisions of people that hold.
    """
    table = project.table
    if table.template in ("universe", "triples"):
        return [_configured(project, stage) for stage in plan_lists(project)]
    found = [
        *plan_import(project, rulings),
        plan_check(project),
        *plan_dedup(project, rulings),
        *plan_suspicions(project),
        *plan_panel(project),
        *plan_support(project),
        *plan_review(project),
        plan_left_out(project, rulings),
        *plan_selection(project),
        *plan_release(project, rulings.gates),
        *plan_scores(project),
    ]
    return [_configured(project, stage) for stage in (*found, plan_report(project))]


def _configured(project: Project, stage: Stage) -> Stage:
    """Name the settings file on the line where the command would not find it by itself."""
    if project.file == CONFIG_NAME:
        return stage
    return replace(stage, argv=(*stage.argv, "--config", project.file))


def plan_lists(project: Project) -> list[Stage]:
    """List the stages of a project of the template universe or triples.

    Its source is one file of questions, or of gold triples; replies and predictions come from the
    models of the project, or from the files of [project.responses].
    """
    questions = [name for source in project.table.source for name in project.expand(source.files)]
    lacks = () if len(questions) == 1 else (f"project.source.files: name {ONE_FILE}",)
    asked = [_ask(project, model, questions, lacks) for model in project.table.model]
    files = project.expand(project.table.responses.files) if project.table.responses else ()
    if not (asked or files):
        lacks = (*lacks, "project.model: name a model to ask, or files of replies in [project.responses]")
        return [_score(project, questions, "replies.jsonl", "scores.jsonl", lacks)]
    found = [stage for stages in asked for stage in stages]
    answers = [stages[-1].owns[0] for stages in asked] + list(files)
    for name in answers:
        output = "scores.jsonl" if len(answers) == 1 else f"scores-{slug(name.rpartition('.')[0])}.jsonl"
        found.append(_score(project, questions, name, output, lacks))
    return found


def _ask(project: Project, model: Model, questions: list[str], lacks: tuple[str, ...]) -> list[Stage]:
    triples = project.table.template == "triples"
    output = f"replies-{slug(model.name)}.jsonl"
    option = "--pairs" if triples else "--questions"
    argv = ["run", *each(option, questions), "--model", model.name, *given("--base-url", model.base_url)]
    argv += [*given("--samples", model.samples), "-o", output]
    asked = [Stage(f"run {model.name}", tuple(argv), tuple(questions), (output,), lacks=lacks)]
    if triples:
        linked = f"linked-{slug(model.name)}.jsonl"
        asked.append(Stage(f"link {model.name}", ("link", output, "-o", linked), (output,), (linked,)))
    return asked


def _score(
    project: Project, questions: list[str], replies: str, output: str, lacks: tuple[str, ...]
) -> Stage:
    if project.table.template == "triples":
        argv = ["score", "--task", "triples", "--predictions", replies, *each("--gold", questions)]
    else:
        argv = ["score", "--task", "universe", *each("--questions", questions), "--replies", replies]
        argv += given("--judge", project.table.judge)
    name = "score" if output == "scores.jsonl" else f"score {replies}"
    return Stage(name, (*argv, "-o", output), (*questions, replies), (output,), lacks=lacks)


def draw_graph(stages: Sequence[Stage]) -> nx.DiGraph[str]:
    """Draw the graph: an edge from the stage that owns an artefact to each that reads it.

    Each node carries its stage, each edge the artefacts that are read; none where it only orders.

    Raises:
        UsageError: two stages own one artefact, or they wait for each other.
    """
    owners: dict[str, str] = {}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for stage in stages:
        graph.add_node(stage.name, stage=stage)
        for artefact in stage.artefacts:
            if owners.setdefault(artefact, stage.name) != stage.name:
                raise UsageError(f"{artefact} would be written by {owners[artefact]} and by {stage.name}")
    for stage in stages:
        _join(graph, stage, owners)
    if not nx.is_directed_acyclic_graph(graph):
        names = ", ".join(sorted({one for edge in nx.find_cycle(graph) for one in edge[:2]}))
        raise UsageError(f"these stages wait for one another: {names}")
    return graph


def _join(graph: nx.DiGraph[str], stage: Stage, owners: dict[str, str]) -> None:
    """Draw the edges that lead to a stage."""
    for name in stage.reads:
        owner = owner_of(name, owners)
        if owner is not None and owner != stage.name:
            read = graph.get_edge_data(owner, stage.name, {"artefacts": ()})["artefacts"]
            graph.add_edge(owner, stage.name, artefacts=(*read, name))
    if stage.last:
        others = [one for one in graph if one != stage.name and not graph.has_edge(one, stage.name)]
        graph.add_edges_from(((one, stage.name) for one in others), artefacts=())


def owner_of(name: str, owners: dict[str, str]) -> str | None:
    """Return the stage that owns a file, or the folder that it lies in."""
    path = PurePosixPath(name)
    return next((owners[one] for one in (str(path), *map(str, path.parents)) if one in owners), None)


def in_order(graph: nx.DiGraph[str], target: str | None = None) -> list[Stage]:
    """Return the stages in an order in which they can run; with a target, those it needs and itself.

    Raises:
        UsageError: there is no such stage.
    """
    if target is not None and target not in graph:
        raise UsageError(f"there is no stage {target!r}", hint=f"they are: {', '.join(graph)}")
    wanted = set(graph) if target is None else {target, *nx.ancestors(graph, target)}
    place = {name: at for at, name in enumerate(graph)}
    ordered = nx.lexicographical_topological_sort(graph, key=lambda name: place[name])
    return [graph.nodes[name]["stage"] for name in ordered if name in wanted]
