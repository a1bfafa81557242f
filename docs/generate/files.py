"""The pages of files: every artefact's fields and its JSON Schema, made from the records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docs.generate.markdown import cell, code, page, slug, table
from kina_build.schemas import Artefact, artefacts, schema_of

INTRO = """One file lies between two stages, so that any stage can be swapped for a file of your own. These pages and
the schemas are made from the records that read and write the files; in Python,
`kina_build.schemas.schema_of("pool.jsonl")` returns a schema as a dictionary (JSON Schema 2020-12).

A schema says what is *read*: what has a default may be left out, and what may be null is left out of
lines. Spellings that reading folds ("Accepted" for "accept") are not in it. Tables (`.csv`, `.parquet`)
with the same columns are read wherever JSON Lines of a flat record are.
"""
FORMS = {
    "lines": "JSON Lines: one such object a line",
    "document": "one JSON document",
    "list": "one JSON array of such objects",
}
OTHERS = """## Files of other kinds

| file | kind |
|---|---|
| `support.npz` | a NumPy archive: `item_ids`, `anchor_ids`, whole-number weights and levels, and the levels a unit of score; of a million levels or more, under 5 % of them above 0, only these: `starts`, `columns`, `values` |
| `ledger.db` | SQLite: append-only lines with a keyed hash chain, see [SECURITY](../../security.md) |
| `ledger.db.key`, `ledger.db.mark` | key of the chain and its last head; for their owner only |
| `kina.salt` | 64 hex digits, for their owner only: the ids of hidden items in `evidence/` are hashed under it |
| `croissant.json` | [Croissant](https://docs.mlcommons.org/croissant/), the standard's own vocabulary |
| `dev.parquet`, `test.parquet` | the columns of `test.jsonl` |
| `payments.csv` | what the provider's upload takes: `participant_id,amount` for Prolific |
| `report/`, `handbook.html`, `statements/` | pages for people |
"""


def pages() -> dict[str, str]:
    """Make the index, one page an artefact and one schema an artefact."""
    found = {}
    rows = []
    for artefact in artefacts().values():
        schema = schema_of(artefact.name)
        name = _name(artefact)
        found[f"files/{name}.md"] = _page(artefact, schema)
        found[f"files/{name}.schema.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        rows.append([f"[{artefact.name}]({name}.md)", cell(artefact.holds), _commands([artefact.made_by])])
    toc = "```{toctree}\n:hidden:\n\n" + "\n".join(_name(one) for one in artefacts().values()) + "\n```\n"
    index = page("Files", INTRO, table(["file", "holds", "written by"], rows), OTHERS, toc)
    return {"files/index.md": index} | found


def _name(artefact: Artefact) -> str:
    return slug(artefact.name)


def _page(artefact: Artefact, schema: Mapping[str, Any]) -> str:
    told = [
        f"{artefact.holds[:1].upper()}{artefact.holds[1:]}. {FORMS[artefact.form]}.\n",
        f"- written by: {_commands([artefact.made_by])}",
        f"- read by: {_commands(artefact.read_by)}",
        f"- schema: {{download}}`{_name(artefact)}.schema.json`\n",
    ]
    own = schema["items"] if artefact.form == "list" else schema
    tables = [_fields(own)]
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("properties"):
            tables += [
                f"(field-{_name(artefact)}-{slug(name)})=\n## {name}\n",
                _about(definition),
                _fields(definition),
            ]
    return page(artefact.name, "\n".join(told), *tables)


def _about(definition: Mapping[str, Any]) -> str:
    return cell(definition.get("description", "").partition("\n\n")[0]) + "\n"


def _fields(schema: Mapping[str, Any]) -> str:
    required = set(schema.get("required", []))
    rows = [
        [
            code(name),
            cell(_kind(field)),
            "yes" if name in required else "",
            cell(field.get("description", "")),
        ]
        for name, field in schema["properties"].items()
    ]
    return table(["field", "kind", "must be there", "meaning"], rows)


def _kind(field: Mapping[str, Any]) -> str:
    """Say in words what a field may hold."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if "anyOf" in field:
        kinds = list(dict.fromkeys(_kind(one) for one in field["anyOf"]))
        return " or ".join(kinds)
    return "".join(_parts(field)) or "anything"


def _parts(field: Mapping[str, Any]) -> Iterator[str]:
    kind = field.get("type", "")
    if kind == "array":
        inner = field.get("items") or {}
        several = field.get("prefixItems")
        yield f"[{', '.join(map(_kind, several))}]" if several else f"list of {_kind(inner)}"
    elif kind == "object" and isinstance(field.get("additionalProperties"), Mapping):
        yield f"map to {_kind(field['additionalProperties'])}"
    elif kind:
        yield {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, str(kind))
    limits = [
        ("minimum", "from"),
        ("exclusiveMinimum", "above"),
        ("maximum", "to"),
        ("exclusiveMaximum", "below"),
    ]
    for key, word in limits:
        if key in field:
            yield f" {word} {field[key]}"
    if field.get("format") == "date-time":
        yield ", an instant"


def _commands(names: Any) -> str:
    told = [code(f"kina {name}") for name in names if name]
    return ", ".join(told) or "people and other tools"
