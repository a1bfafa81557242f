"""The bodies of `kina score` for multiple choice and triples: read files, call the library, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli import scoring_views
from kina_build.cli.command import Run
from kina_build.cli.triage import with_order
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.scoring.lettering import Lettering
    from kina_build.scoring.multiple_choice import ItemScore, ModelReport


def need(**given: Any) -> None:
    """Ask for the options a task cannot do without.

    Raises:
        UsageError: names the first that is missing.
    """
    for name, value in given.items():
        if not value:
            raise UsageError(f"this task needs --{name.replace('_', '-')}", hint="see kina score --help")


def multiple_choice(
    run: Run,
    release: Path | None,
    split: str,
    items: Path | None,
    answers: Path | None,
    responses: Sequence[Path],
    allow_partial: bool,
    letters_of: Path | None,
    output: Path | None,
) -> None:
    """Mark responses.jsonl against a release, a pool, or the questions it carries itself."""
    from kina_build.scoring.replies import EXTRACTOR_VERSION
    from kina_build.scoring.prompts import PROMPT_VERSION

    need(responses=responses)
    if answers is not None and release is None:
        raise UsageError("--answers belongs to a --release whose answers are private")
    settings = run.settings.scoring
    stage = run.stage(
        "score",
        inputs=[*(path for path in (release, items, answers, letters_of) if path is not None), *responses],
        outputs=[output] if output else [],
        show=scoring_views.show_models,
        params={"task": "multiple-choice", "split": split, "allow_partial": allow_partial}
        | {"letters_of": letters_of and letters_of.name, "coverage_floor": settings.coverage_floor}
        | {"extractor_version": EXTRACTOR_VERSION, "prompt_version": PROMPT_VERSION},
    )
    if output is not None and stage.up_to_date():
        return
    scores, report = _mark(run, release, split, items, answers, responses, allow_partial, letters_of)
    report |= {"extractor_version": EXTRACTOR_VERSION, "prompt_version": PROMPT_VERSION}
    held_back = any(model["score"] is None for model in report["models"]) or not report["models"]
    if output is not None:
        from kina_build.jsonl import write_records

        write_records(output, with_order(scores, report.get("letters")))
        stage.finish(report, exit_code=int(held_back))
    else:
        run.report(report, scoring_views.show_models, int(held_back))


def _mark(
    run: Run,
    release: Path | None,
    split: str,
    items: Path | None,
    answers: Path | None,
    responses: Sequence[Path],
    allow_partial: bool,
    letters_of: Path | None,
) -> tuple[list[ItemScore], dict[str, Any]]:
    from kina_build.scoring.lettering import STATED, Forms, find_forms, refuse_unproven
    from kina_build.scoring.marking import mark_models
    from kina_build.scoring.questions import read_forms, read_items, read_release
    from kina_build.scoring.responses import read_responses, sift_responses

    files = [read_responses(path) for path in responses]
    if release is not None:
        questions = {question.item_id: question for question in read_release(release, split, answers)}
    elif items is not None:
        questions = {question.item_id: question for question in read_items(items)}
    else:
        questions = {question.item_id: question for file in files for question in file.questions}
        if not questions:
            raise UsageError("give --release or --items", hint="or a results file of the public KINA runner")
    rows = [response for file in files for response in file.responses]
    stated = read_forms(letters_of) if letters_of is not None else None
    lettering = find_forms((one.asked for one in rows if one.answered), Forms(questions, stated=stated))
    refuse_unproven(lettering, (items or release or Path("POOL")).name)
    _tell_foreign(run, lettering)
    sifted = sift_responses(rows, questions, lettering.foreign)
    names = sorted({response.model for response in rows})
    with run.console.progress("marking") as progress:
        scores, reports = mark_models(
            names,
            questions,
            sifted.responses,
            run.settings.scoring,
            asked=lettering.asked,
            allow_partial=allow_partial,
            on_progress=progress,
        )
    dropped = dict(sifted.dropped) | {"torn": sum(file.torn for file in files)}
    report = {
        "task": "multiple-choice",
        "models": [_model_report(one) for one in reports],
        "dropped": dropped,
    }
    if lettering.stated:
        report["letters"] = STATED
    if manifest := _release_manifest(release):
        report["dataset"] = {key: manifest.get(key) for key in ("version", "content_hash")}
    return scores, report


def _release_manifest(release: Path | None) -> dict[str, Any]:
    """Return the manifest of a release; empty where there is none."""
    if release is None or not (release / "release.json").exists():
        return {}
    from kina_build.jsonl import read_json

    manifest: dict[str, Any] = read_json(release / "release.json")
    return manifest


def _tell_foreign(run: Run, lettering: Lettering) -> None:
    """Warn of replies to another form: they are left out, and the coverage says what is missing."""
    if lettering.foreign:
        run.console.warn(
            f"{lettering.foreign.total()} replies were made on another form of their items (options in "
            "another order, or a changed text) and are left out: score them with the --release or --items "
            "that was asked"
        )


def _model_report(report: ModelReport) -> dict[str, Any]:
    return asdict(report) | {"coverage": report.coverage, "missing_count": len(report.missing)}


def triples(
    run: Run,
    predictions: Path | None,
    gold: Path | None,
    mode: str,
    relative_tolerance: float | None,
    output: Path | None,
) -> None:
    """Mark LM-KBC rows."""
    from kina_build.jsonl import read_records, write_records
    from kina_build.scoring.triples.mistakes import count_mistakes, find_mistakes
    from kina_build.scoring.triples.score import MODES, TripleRow, score_triples

    need(predictions=predictions, gold=gold)
    if mode not in MODES:
        raise UsageError(f"--mode {mode}: no such mode", hint=", ".join(MODES))
    if relative_tolerance is not None and mode != "strict":
        raise UsageError("--relative-tolerance belongs to --mode strict")
    stage = run.stage(
        "score",
        inputs=[path for path in (predictions, gold) if path],
        outputs=[output] if output else [],
        params={"task": "triples", "mode": mode, "relative_tolerance": relative_tolerance},
        show=scoring_views.show_triples,
    )
    said, truth = read_records(predictions or Path(), TripleRow), read_records(gold or Path(), TripleRow)
    scores = score_triples(said, truth, mode, relative_tolerance)  # type: ignore[arg-type]
    if mode == "strict" and scores.repeats:
        run.console.warn(f"{scores.repeats} predicted entries repeat another of their row; each counts once")
    report = {
        "task": "triples",
        "mode": mode,
        "macro": asdict(scores.macro),
        "relations": {name: {"n": n, **asdict(row)} for name, (n, row) in scores.relations.items()},
        "instance_macro": asdict(scores.instance_macro),
        "micro": asdict(scores.micro),
        "zero_object": asdict(scores.zero_object),
        "mistakes": count_mistakes(find_mistakes(said, truth)),
        "not_scored": {
            "repeats": scores.repeats,
            "gold_rows_replaced": scores.gold_repeated,
            "predictions_without_gold": scores.ignored,
        },
    }
    if output is not None:
        write_records(
            output,
            (
                {"subject": pair.subject, "relation": pair.relation, "score": min(1.0, pair.quality.f1)}
                | asdict(pair.quality)
                for pair in scores.pairs
            ),
        )
    stage.finish(report)
