"""The graph of stages: an edge from the stage that owns an artefact to each that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import networkx as nx

from kina_build.errors import UsageError
from kina_build.project.stages import Stage


def draw_graph(stages: Sequence[Stage]) -> nx.DiGraph[str]:
    """Draw the graph; each node carries its stage, each edge the artefacts that are read.

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
        for name in stage.reads:
            owner = owner_of(name, owners)
            if owner is not None and owner != stage.name:
                read = graph.get_edge_data(owner, stage.name, {"artefacts": ()})["artefacts"]
                graph.add_edge(owner, stage.name, artefacts=(*read, name))
    if not nx.is_directed_acyclic_graph(graph):
        names = ", ".join(sorted({one for edge in nx.find_cycle(graph) for one in edge[:2]}))
        raise UsageError(f"these stages wait for one another: {names}")
    return graph


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
