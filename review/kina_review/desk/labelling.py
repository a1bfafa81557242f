"""The rubric as Label Studio labelling configurations, and one item as a reviewer's task.

Two desks, one source (review/kina_review/rubric.py): reviewers rate items, adjudicators grade reviews.
A task shows nothing of the author, the other reviewer or any model. A reviewer first gives
an answer of their own; only then does the page show the key and the explanations. That
keeps honest people from anchoring on the key; it is no lock, since the task's data holds
both and whoever looks for them in the server's other pages finds them.
"""

from __future__ import annotations

import html
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any, Literal, get_args

from kina_build.items.markup import show_item
from kina_build.items.model import LETTERS, Item
from kina_review.records import Review, Severity
from kina_review.rubric import CRITERIA, LEVELS, Criterion
from kina_review.words import FlawKind, Verdict

Purpose = Literal["review", "grading"]
"""What a desk is for: rating items, or grading reviews of them."""

WHOLE_ITEM = "item"
"""In the flaw tree, what stands where a flaw concerns no single option."""
CARD = "card"
"""Name of the task's displayed object, which every control points at."""
KEY_CARD = "key_card"
"""The item once more with its key, shown after the reviewer's own answer."""
OWN_ANSWER = "own_answer"
"""Control with which a reviewer answers the question before the key shows."""
NO_ANSWER = "none of these"
MARK_PREFIX = "mark_"
STYLE = (
    ".htx-richtext{font-size:16px;line-height:1.6}"
    # the page's own font has no radical sign, and a browser then draws roots without one
    " .htx-richtext math,.htx-richtext math *{font-family:math,serif!important;font-size:1.05em}"
    " .criterion{border-top:1px solid #ccc;padding-top:.6em;margin-top:.6em}"
)


def labelling_config(purpose: Purpose, option_count: int = 4) -> str:
    """Write the labelling configuration of a desk as XML.

    Args:
        purpose: which desk.
        option_count: options of the largest item of the batch; flaws can name each.

    Source:
        https://labelstud.io/tags
    """
    view = ET.Element("View")
    ET.SubElement(view, "Style").text = STYLE
    ET.SubElement(view, "HyperText", name=CARD, value=f"${CARD}", inline="true")
    if purpose == "review":
        _add_own_answer(view, option_count)
    for criterion in CRITERIA:
        _add_marks(view, criterion, purpose)
    if purpose == "review":
        _add_heading(view, "What should become of the item?")
        _add_choices(view, "verdict", dict.fromkeys(get_args(Verdict), ""), required=True)
        _add_flaws(view, option_count)
    _add_heading(view, "Why? Two or three sentences that a colleague could check.")
    ET.SubElement(
        view, "TextArea", name="rationale", toName=CARD, rows="3", maxSubmissions="1", editable="true",
        required="true", requiredMessage="Please say why.",
    )  # fmt: skip
    ET.indent(view)
    return ET.tostring(view, encoding="unicode")


def review_task(item: Item, assignment_id: str) -> dict[str, Any]:
    """Return the task data of one item: an opaque id, the card without the key, and the card with it."""
    return {
        "assignment_id": assignment_id,
        CARD: _card(item, keyed=False),
        KEY_CARD: _card(item, keyed=True),
    }


def grading_task(item: Item, review: Review, assignment_id: str) -> dict[str, Any]:
    """Return the task data of one review to grade: the item with its key, then what the review says."""
    shown = f"{_card(item, keyed=True)}<hr><h4>The review to grade</h4>{show_review(review)}"
    return {"assignment_id": assignment_id, CARD: shown}


def _card(item: Item, *, keyed: bool) -> str:
    path = html.escape(" › ".join(item.path))
    source = html.escape(item.question_source or "") if keyed else ""
    ending = f"<p><small>Source: {source}</small></p>" if source else ""
    return f"<p><small>{path}</small></p>{show_item(item, keyed=keyed)}{ending}"


def show_review(review: Review) -> str:
    """Return what a review says as HTML, without who wrote it."""
    titles = {criterion.name: criterion.title for criterion in CRITERIA}
    marks = "".join(
        f"<li>{titles[name]}: {mark} ({LEVELS[mark]})</li>" for name, mark in review.ratings.items()
    )
    flaws = "".join(
        f"<li>{html.escape(flaw.kind)}, {flaw.severity}, {html.escape(flaw.option or WHOLE_ITEM)}</li>"
        for flaw in review.flaws
    )
    return (
        f"<p>Verdict: <b>{html.escape(review.verdict or 'none')}</b></p><ul>{marks}</ul>"
        f"<p>Flaws named:</p><ul>{flaws or '<li>none</li>'}</ul>"
        f"<blockquote>{html.escape(review.rationale or '')}</blockquote>"
    )


def read_result(result: list[dict[str, Any]]) -> dict[str, Any]:
    """Turn an annotation's result list into {control name: value}, keeping unknown values as they are."""
    found: dict[str, Any] = {}
    for region in result:
        value: Mapping[str, Any] = region.get("value") or {}
        content = value.get(region.get("type", ""), next(iter(value.values()), None))
        found[str(region.get("from_name", ""))] = content
    return found


def _add_own_answer(view: ET.Element, option_count: int) -> None:
    _add_heading(view, "Your own answer, before the key shows")
    _add_choices(view, OWN_ANSWER, dict.fromkeys([*LETTERS[:option_count], NO_ANSWER], ""), required=True)
    shown = ET.SubElement(view, "View", visibleWhen="choice-selected", whenTagName=OWN_ANSWER)
    ET.SubElement(shown, "HyperText", name=KEY_CARD, value=f"${KEY_CARD}", inline="true")


def _add_marks(view: ET.Element, criterion: Criterion, purpose: Purpose) -> None:
    asks = criterion.asks if purpose == "review" else criterion.grading
    box = ET.SubElement(view, "View", className="criterion")
    _add_heading(box, f"{criterion.title}: {asks}")
    levels = {str(mark): name for mark, name in enumerate(LEVELS)}
    _add_choices(box, MARK_PREFIX + criterion.name, levels, required=True)


def _add_heading(view: ET.Element, text: str) -> None:
    ET.SubElement(view, "Header", value=text, size="5")


def _add_choices(view: ET.Element, name: str, choices: Mapping[str, str], *, required: bool) -> None:
    shown_name = name.removeprefix(MARK_PREFIX).replace("_", " ")
    control = ET.SubElement(
        view, "Choices", name=name, toName=CARD, choice="single-radio", showInline="true",
        required=str(required).lower(), requiredMessage=f"Please choose: {shown_name}.",
    )  # fmt: skip
    for value, meaning in choices.items():
        shown = f"{value} {meaning}".strip()
        ET.SubElement(control, "Choice", value=shown, alias=value)


def _add_flaws(view: ET.Element, option_count: int) -> None:
    _add_heading(view, "Flaws, if any: kind, then severity, then the option concerned")
    tree = ET.SubElement(
        view, "Taxonomy", name="flaws", toName=CARD, leafsOnly="true", placeholder="Name a flaw"
    )
    for kind in get_args(FlawKind):
        branch = ET.SubElement(tree, "Choice", value=kind)
        for severity in get_args(Severity):
            twig = ET.SubElement(branch, "Choice", value=severity)
            for place in (WHOLE_ITEM, *LETTERS[:option_count]):
                ET.SubElement(twig, "Choice", value=place)
