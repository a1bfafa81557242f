"""How the reports of run, extract, score and link look on a terminal: key figure first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kina_build.cli.console import Console
from kina_build.cli.models.ranking_views import show_leaderboard

SHOWN_MISSING = 10
"""Missing ids named on the terminal; --json names all."""


def show_plan(report: dict[str, Any], console: Console) -> None:
    """Show what a run would do, and what it would take."""
    console.line(f"{report['calls']} calls for {report['items']} items; replies go to {report['log']}")
    rows = [
        [
            one["model"],
            one["calls"],
            one["prompt_tokens"],
            one["completion_tokens"],
            one["cost"] or None,
            one["hours"],
        ]
        for one in report["estimates"]
    ]
    columns = ["model", "calls left", "prompt tokens", "completion tokens", "cost", "hours"]
    console.table("estimate", columns, rows)
    if any(one["sampled"] == 0 for one in report["estimates"]):
        console.say(
            "completion tokens are the most there may be: run with --limit 20 first, and the estimate rests "
            "on the replies in the log"
        )


def show_run(report: dict[str, Any], console: Console) -> None:
    """Show how a run went."""
    console.line(f"{report['answered']} of {report['calls']} calls answered ({report['items']} items)")
    for one in report.get("models", [report]):
        _show_model(one, console)
    if report["failed"]:
        console.say(f"first error: {report['first_error']}")
        console.say("run the same command again to ask only what failed")


def _show_model(report: Mapping[str, Any], console: Console) -> None:
    rows = [[status, n] for status, n in report["statuses"].items()]
    console.table(f"replies of {report['model']}", ["status", "replies"], rows)
    cost = f", cost {report['cost']:.4f}" if report["cost"] else ""
    console.line(
        f"{report['prompt_tokens']} prompt tokens, {report['completion_tokens']} completion tokens{cost}"
    )
    others = [name for name in report["served"] if not _same_model(name, report["model"])]
    if others or len(report["served"]) > 1:
        console.warn(f"asked for {report['model']}, answered by {', '.join(report['served'])}")
    if report["tool_calls"]:
        console.warn(
            f"{report['tool_calls']} replies call a tool instead of answering, the first "
            f"{report['first_tool_call']}"
        )


def _same_model(served: str, asked: str) -> bool:
    """Tell whether one name is the other with a version or a provider before or behind it."""
    return served in asked or asked in served


def show_rows(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Show the letter of each reply."""
    cells = [[row["id"], row["letter"], row["status"], row["rule"]] for row in rows]
    console.table("letters", ["id", "letter", "status", "rule"], cells)


def show_extraction(report: dict[str, Any], console: Console) -> None:
    """Show how many letters were read."""
    rows = [[status, n] for status, n in report["statuses"].items()]
    console.table(f"{report['replies']} replies", ["status", "replies"], rows)


def show_models(report: dict[str, Any], console: Console) -> None:
    """Show accuracy per model, its breakdown, and what could not be marked."""
    if report.get("letters"):
        console.line(f"letters: {report['letters']}")
    rows = [
        [m["model"], m["score"], m["pass_at_1"], m["macro"], m["chance"], m["answered"], m["items"], m["k"]]
        for m in report["models"]
    ]
    columns = ["model", "AVG@k", "Pass@1", "macro", "chance", "answered", "items", "k"]
    console.table("accuracy (mean over items; macro: mean over disciplines)", columns, rows)
    _show_several(report, console)
    _show_samples(report["models"], console)
    if report.get("estimates"):
        table = [[e["model"], e["score"], e["estimate"], e["low"], e["high"]] for e in report["estimates"]]
        columns = ["model", "on the form", "on the pool", "low", "high"]
        console.table("estimated score on the whole pool, with its interval", columns, table)
    if report.get("extractors"):
        columns = ["rule", "model", "accuracy", "rank", "unread", "with random letters", "other than ours"]
        table = [
            [one["extractor"], one["model"], one["accuracy"], one["rank"], one["unread"], one["with_random"],
             one["other_letters"]]
            for one in report["extractors"]
        ]  # fmt: skip
        console.table("the same replies by every rule", columns, table)
    for level in ("discipline", "field", "subfield"):
        _show_level(report["models"], level, console)
    unread = [
        [m["model"], status, n]
        for m in report["models"]
        for status, n in (m["letter_statuses"] | _failures(m["reply_statuses"])).items()
        if status != "ok"
    ]
    if unread:
        console.table("not read, or not answered", ["model", "status", "replies"], unread)
        _show_open(report["models"], console)
    dropped = [[reason, n] for reason, n in report["dropped"].items() if n]
    if dropped:
        console.table("rows left out", ["reason", "rows"], dropped)
    for model in report["models"]:
        _explain(model, console)


def _show_open(models: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Say where replies that were not read could change who is ahead."""
    known = [m for m in models if m["accuracy_answered"] is not None]
    if not known:
        return
    best = max(m["accuracy_answered"] for m in known)
    open_to = [m for m in known if m["accuracy_answered"] < best <= m["unread_right"]]
    for m in open_to:
        console.say(
            f"{m['model']}: with every reply right that was not read it would score {m['unread_right']:.4f}, "
            "and be ahead or level"
        )


def _show_samples(models: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Show what several samples an item tell, and AVG@k over all that was asked."""
    several = [m for m in models if m["k"] > 1 or m["coverage"] < 1]
    if several:
        columns = ["model", "over all asked", "coverage", "Pass@k", "majority", "sd over samples"]
        rows = [
            [m["model"], m["accuracy_all"], m["coverage"], m["pass_at_k"], m["majority"], m["sd"]]
            for m in several
        ]
        console.table("over samples", columns, rows)


def _show_several(report: dict[str, Any], console: Console) -> None:
    """Say how replies to questions with several right answers were marked."""
    if several := report.get("several_right"):
        console.line(
            f"{several['questions']} questions have several right answers; credit: {several['credit']}"
        )


def _failures(statuses: Mapping[str, int]) -> dict[str, int]:
    answered = ("ok", "refused", "empty", "reasoning_only", "truncated")
    return {status: n for status, n in statuses.items() if status not in answered}


def _show_level(models: Sequence[Mapping[str, Any]], level: str, console: Console) -> None:
    names = sorted({name for model in models for name in model["groups"][level]})
    if not names or len(names) > 60:
        return
    rows: list[list[Any]] = []
    for name in names:
        found = [model["groups"][level].get(name) for model in models]
        rows.append([name, max(g["n"] for g in found if g), *(g["score"] if g else None for g in found)])
    console.table(f"by {level}", [level, "items", *(model["model"] for model in models)], rows)


def _explain(model: Mapping[str, Any], console: Console) -> None:
    if model["missing"]:
        shown = ", ".join(model["missing"][:SHOWN_MISSING])
        more = (
            f" and {len(model['missing']) - SHOWN_MISSING} more"
            if len(model["missing"]) > SHOWN_MISSING
            else ""
        )
        console.say(f"{model['model']}: no answer to {shown}{more}")
    if model["score"] is None:
        console.warn(
            f"{model['model']}: {model['answered']} of {model['items']} items answered: no score "
            "below the coverage floor (--allow-partial gives one)"
        )


def show_triples(report: dict[str, Any], console: Console) -> None:
    """Show the macro row, the relations, kinds of mistakes and what was left out."""
    columns = ["relation", "n", "P", "R", "F1"]
    rows = [[name, row["n"], row["p"], row["r"], row["f1"]] for name, row in report["relations"].items()]
    macro = report["macro"]
    of_pairs = ("lm-kbc-2024", "lm-kbc-2025", "lm-kbc-2026")
    mean_of = "pairs" if report["mode"] in of_pairs else "relations"
    head = [f"all (mean of {mean_of})", sum(row[1] for row in rows), macro["p"], macro["r"], macro["f1"]]
    micro = report["micro"]
    pooled = ["all (counts pooled)", head[1], micro["p"], micro["r"], micro["f1"]]
    console.table(f"triples, {report['mode']}", columns, [head, pooled, *rows])
    kinds = [[kind, n] for kind, n in report["mistakes"]["all"].items()]
    if kinds:
        console.table("mistakes", ["kind", "objects"], kinds)
    left_out = [[reason, n] for reason, n in report["not_scored"].items() if n]
    if left_out:
        console.table("beside the score", ["what", "rows"], left_out)


def show_universe(report: dict[str, Any], console: Console) -> None:
    """Show mean F1, by language and domain, with and without the judge."""
    columns = ["", "P", "R", "F1"]
    rows = [["all (mean over questions)", report["precision"], report["recall"], report["f1"]]]
    if report["judge"]:
        rule = report["rule_only"]
        rows.append(["by rules only", rule["precision"], rule["recall"], rule["f1"]])
    micro = report["micro"]
    rows.append(["micro", micro["precision"], micro["recall"], micro["f1"]])
    for kind in ("languages", "domains"):
        rows += [
            [f"{name}", row["precision"], row["recall"], row["f1"]] for name, row in report[kind].items()
        ]
    console.table(f"universes, form {report['form']}", columns, rows)
    unread = [[status, n] for status, n in report["statuses"].items() if status != "ok"]
    if unread:
        console.table("replies without names (each scores 0)", ["status", "replies"], unread)
        console.say(f"unparsed: {report['unparsed_rate']:.1%} of replies")
    if report["unanswered"]:
        console.say(f"{len(report['unanswered'])} questions without a reply score 0")
    if report["replies_without_question"]:
        console.say(f"{report['replies_without_question']} replies belong to no question")


def show_stages(report: dict[str, Any], console: Console) -> None:
    """Show accuracy under each condition and what is lost at each stage."""
    given = ["question", "universe", "operations", "both"]
    lost = ["completeness", "awareness", "application"]
    rows = [
        [
            one["model"],
            *(one[stage] for stage in lost),
            *(one["accuracy"][name] for name in given),
            one["items"],
        ]
        for one in report["stages"]
    ]
    title = "accuracy lost at each stage, and accuracy given the question, more, and all"
    console.table(title, ["model", *lost, *given, "items"], rows)
    for one in report["stages"]:
        if one["left_out"]:
            console.say(f"{one['model']}: {one['left_out']} questions are not marked under all four")


def show_links(report: dict[str, Any], console: Console) -> None:
    """Show how names were linked."""
    rows = [[method, n] for method, n in report["methods"].items()]
    console.table(f"names of {report['rows']} rows", ["linked by", "names"], rows)


def show_results(report: dict[str, Any], console: Console) -> None:
    """Show what was read of each log, and whether its accuracy is what its scores give."""
    console.line(f"{report['models']} models on {report['items']} items, {report['rows']} trials")
    columns = ["model", "task", "tool", "accuracy", "stated", "items", "no score"]
    rows = [
        [one["model"], one["task"], one["tool"], one["counted"], one["stated"], one["items"], one["failed"]]
        for one in report["logs"]
    ]
    console.table("", columns, rows)
    for one in report["logs"]:
        if not one["agrees"]:
            stated, counted = one["stated"], one["counted"]
            console.warn(f"{one['model']}, {one['task']}: its log states {stated}, its scores give {counted}")
    for note in report["notes"]:
        console.say(note)
    if report["passed_over"]:
        console.say(f"passed over: {', '.join(report['passed_over'])}")
    if report.get("board"):
        show_leaderboard(report["board"], console)
