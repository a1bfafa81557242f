"""The plan of a project: its stages, as kina.toml and the decisions of people shape them."""

from __future__ import annotations

from dataclasses import replace

from kina_build.config import CONFIG_NAME
from kina_build.project.decisions import Rulings
from kina_build.project.graph.lists import plan_lists
from kina_build.project.graph.pool import (
    plan_check,
    plan_dedup,
    plan_import,
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
from kina_build.project.graph.stages import Stage
from kina_build.project.table import Project


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
        *plan_import(project),
        plan_check(project),
        *plan_dedup(project, rulings),
        *plan_suspicions(project),
        *plan_support(project),
        *plan_review(project),
        plan_left_out(project, rulings),
        *plan_selection(project),
        *plan_release(project, rulings.gates),
        *plan_scores(project),
    ]
    return [_configured(project, stage) for stage in (*found, plan_report(project, found))]


def _configured(project: Project, stage: Stage) -> Stage:
    """Name the settings file on the line where the command would not find it by itself."""
    if project.file == CONFIG_NAME:
        return stage
    return replace(stage, argv=(*stage.argv, "--config", project.file))
