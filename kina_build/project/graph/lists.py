"""The stages of projects without a selection: lists that models complete, and triples."""

from __future__ import annotations

from kina_build.project.graph.stages import Stage, each, given, slug
from kina_build.project.table import Model, Project

ONE_FILE = "one file of questions or gold triples (replies or predictions stand in [project.responses])"


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
