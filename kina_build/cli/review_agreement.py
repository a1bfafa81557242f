"""kina review agreement: agreement beyond chance, and reviewers' habits."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kina_review.desk.agreement import Coefficient
    from kina_review.records import Review


def agreement(
    run: Run,
    reviews: Annotated[
        list[Path], typer.Argument(help="Reviews: reviews.jsonl, CSV, or an export of another desk; several.")
    ],
    seeded: Annotated[
        Path | None,
        typer.Option("--seeded-bad", help="CSV or JSONL of item_id: items planted with a known flaw."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the figures, without reviewers, for `kina export`."),
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Measure agreement on verdicts and ratings, and show each reviewer beside their peers.

    Flags are reasons for a person to look; none blocks pay.
    """
    stage = run.stage(
        "review agreement",
        inputs=[*reviews, *([seeded] if seeded else ())],
        outputs=[output] if output else [],
        params={"seed": seed, "rules": review_rules(run.settings).model_dump(mode="json")},
        show=_show,
    )
    if stage.up_to_date():
        return
    from dataclasses import asdict

    from kina_build.jsonl import write_document
    from kina_build.tables import read_table
    from kina_review.desk.profiles import profile_reviewers
    from kina_review.intake import read_reviews

    table = read_reviews(reviews)
    rows = [review for review in table.records if _is_own(review)]
    planted = [str(row.values.get("item_id", "")) for row in read_table(seeded)] if seeded else []
    report = {
        "reviews": len(rows),
        "agreement": {
            name: asdict(found) for name, found in _coefficients(rows, table.ratings, seed).items()
        },
        "profiles": [
            asdict(profile) for profile in profile_reviewers(rows, planted, review_rules(run.settings))
        ],
    }
    if output:
        write_document(output, {name: report[name] for name in ("reviews", "agreement")})
    stage.finish(report)


def _is_own(review: Review) -> bool:
    return review.status == "submitted" and review.updated_by in (None, review.reviewer_id)


def _coefficients(
    rows: Sequence[Review], ratings: Mapping[tuple[str, str], Mapping[str, Any]], seed: int
) -> dict[str, Coefficient]:
    from kina_review.desk.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha
    from kina_review.rubric import CRITERION_NAMES

    verdicts: dict[str, list[str | float]] = defaultdict(list)
    marks: dict[str, dict[str, list[str | float]]] = {name: defaultdict(list) for name in CRITERION_NAMES}
    for review in rows:
        if review.verdict:
            verdicts[review.item_id].append(review.verdict)
        # ratings of another tool need not be on our scale: agreement asks only for their order
        for name, mark in {**ratings.get((review.item_id, review.reviewer_id), {}), **review.ratings}.items():
            marks[name][review.item_id].append(mark)
    found = {
        "verdict, alpha": krippendorff_alpha(verdicts, seed=seed),
        "verdict, AC1": gwet_ac1(verdicts, seed=seed),
    }
    people = sorted({review.reviewer_id for review in rows})
    if len(people) == 2:  # kappa is about two fixed raters
        one, two = ({r.item_id: r.verdict for r in rows if r.reviewer_id == p and r.verdict} for p in people)
        found["verdict, kappa"] = cohen_kappa(one, two, seed=seed)
    for name, units in marks.items():
        found[f"{name}, alpha (ordinal)"] = krippendorff_alpha(units, "ordinal", seed=seed)
    return found


def _show(report: dict[str, Any], console: Console) -> None:
    rows = []
    for name, found in report["agreement"].items():
        value = "undefined" if found["value"] is None else f"{found['value']:.3f}"
        interval = (
            f"[{found['low']:.3f}, {found['high']:.3f}]" if found["low"] is not None else found["reason"]
        )
        same = "" if found["percent_agreement"] is None else f"{found['percent_agreement']:.0%}"
        rows.append([name, value, interval, same, found["units"]])
    console.table(
        f"agreement over {report['reviews']} reviews",
        ["of", "value", "95 % interval", "equal", "items"],
        rows,
    )
    people = [
        [p["reviewer_id"], p["reviews"], p["accepts"], p["rejects"], p["median_lead_time_s"],
         p["partner_agreement"], ", ".join(p["flags"])]
        for p in report["profiles"]
    ]  # fmt: skip
    console.table(
        "reviewers (flags are for a person to look at; none blocks pay)",
        ["reviewer", "reviews", "accept", "reject", "median s", "agrees", "flags"],
        people,
    )


def register(app: typer.Typer) -> None:
    """Add `kina review agreement`."""
    command(app, "agreement", example="kina review agreement reviews.jsonl")(agreement)
