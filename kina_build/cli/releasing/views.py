"""What the release's commands print for people."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console
from kina_build.release.standalone import amount, bounds_of, part_of, reached

REDUCED = "selection_reduced"
"""The gate that items of the selection fell."""
SHOWN_IDS = 10
"""Items named on the terminal before the rest is only counted."""


def show_export(report: dict[str, Any], console: Console) -> None:
    """Print what was released, what was withheld and what was let pass."""
    console.line(f"{report['items']} items, version {report['version']}, in {report['release']}/")
    rows = [
        [
            split,
            count["items"],
            len(count["by_path"]),
            count["chance"],
            "private" if count["private"] else "open",
        ]
        for split, count in report["splits"].items()
    ]
    console.table("splits", ["split", "items", "paths", "chance", "answers"], rows)
    _show_figures(report["figures"], console)
    off = report.get("pool_error")
    if off:
        console.line(
            f"estimates of the score on the pool are off by {off['error']:.2f} points on average "
            f"({off['low']:.2f} to {off['high']:.2f}); raw scores of {' and '.join(off['splits'])} lie "
            f"{off['raw_bias']:+.2f} points off it, at most {off['raw_most']:.2f}"
        )
    if report["withheld"]:
        from kina_build.release.admission import count_reasons

        told = count_reasons(one["reason"] for one in report["withheld"])
        console.line(f"withheld {len(report['withheld'])} items: {told}")
    for one in report["exemptions"]:
        console.line(f"let pass {one['rule']} ({one['message']}): {one['reason']}")
    kept = report["letters"]["kept"]
    if kept:
        console.line(f"{len(kept)} items keep their own letters: {_ids(list(kept))}")
    if report["difference"]:
        console.line(_changes(report["difference"]))
    if report["answers"]:
        console.line(f"private answers: {report['answers']} (keep it out of what you publish)")
    if report.get("salt"):
        console.line(f"salt of hidden ids: {report['salt']} (keep it, and out of what you publish)")


def show_blocked(report: dict[str, Any], console: Console) -> None:
    """Print which gates stopped the export."""
    gates = len(report["gates"])
    console.line(f"nothing written: {gates} gate{'s' * (gates > 1)} stopped {report['items']} items")
    rows = [
        [gate["rule"], len(gate["items"]) or "all", gate["message"], _ids(list(gate["items"]))]
        for gate in report["gates"]
    ]
    console.table("gates", ["rule", "items", "what", "which"], rows)
    if any(gate["rule"] == REDUCED for gate in report["gates"]):
        console.say(
            f"hint: `kina top-up` fills the places that are free; --allow {REDUCED}='reason' leaves them"
        )
        return
    console.say("hint: mend or withdraw the items, or let a gate pass with --allow RULE='reason'")


def show_diff(report: dict[str, Any], console: Console) -> None:
    """Print what changed, and what it does to the version."""
    old, new = report["old"]["version"], report["new"]["version"]
    console.line(f"{old} -> {new}: {_changes(report)}")
    if not report["version_says_enough"]:
        console.line(f"the new version should be {report['least_version']} or above")
    kinds = ("changed_key", "changed_text", "changed_options", "changed_details", "moved", "added", "removed")
    rows = [[kind.replace("_", " "), len(report[kind]), _ids(list(report[kind]))] for kind in kinds]
    console.table("changes", ["what", "items", "which"], [row for row in rows if row[1]])


def show_verify(report: dict[str, Any], console: Console) -> None:
    """Print what is not as the release says."""
    state = "as it says" if report["ok"] else f"{len(report['faults'])} faults"
    console.line(f"{report['release']}, version {report['version']}, {report['items']} items: {state}")
    _show_figures(report["figures"] if report["ok"] else {}, console)
    if report["faults"]:
        rows = [[f["check"], f["message"], _ids(f["item_ids"])] for f in report["faults"]]
        console.table("faults", ["check", "what", "which"], rows)
    for one in report["exemptions"]:
        console.line(f"let pass at export: {one['rule']} ({one['message']}): {one['reason']}")
    console.line(f"sha256 of the stand-alone verifier: {report['verifier']}")


def show_publish(report: dict[str, Any], console: Console) -> None:
    """Print what would be published, and what to look at first."""
    size = f"{report['bytes'] / 1e6:.1f} MB" if report["bytes"] >= 1e5 else f"{report['bytes']:,} bytes"
    console.line(f"{len(report['files'])} files, {size}, version {report['version']}, in {report['folder']}/")
    for point in report["checklist"]:
        console.line(f"{'done' if point['done'] else 'look'}  {point['what']}")
    if report["uploaded"]:
        console.line(f"uploaded: {report['uploaded']}")
    else:
        console.line("nothing was uploaded: --upload --repo OWNER/NAME does that")


def _show_figures(figures: dict[str, Any], console: Console) -> None:
    """Print how well the released items, and each split's, cover the anchors."""
    found = figures.get("selection")
    if not found:
        return
    rows, own = [], amount(found, found["value"])
    for size, bound in bounds_of(found):
        if found[bound] is not None:
            most, told = amount(found, found[bound], up=True), f"any {found[size]} items"
            rows.append(["release", found["released"], own, told, most, reached(found, bound)])
    for split, one in found["splits"].items():
        shown = [split, one["items"], amount(found, one["value"]), "the release", own]
        rows.append([*shown, part_of(found, split)])
    console.table(
        "how well it covers the anchors", ["set", "items", "objective", "of", "at most", "share"], rows
    )
    for row in found["quotas"]:
        if row["short"]:
            console.line(f"short: {row['stratum']}: {row['released']} of {row['lower']}")


def _changes(difference: dict[str, Any]) -> str:
    scores = "comparable" if difference["scores_comparable"] else "not comparable"
    return f"{difference['bump']} change, scores {scores}"


def _ids(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
    return ", ".join(ids[:SHOWN_IDS]) + more
