"""Rows of predicted names turned into rows of Wikidata ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.chat import ChatReply, ChatRequest
from kina_build.items.text import fold_stem
from kina_build.scoring.triples.wikidata import Link, WikidataClient, ask_for_link, choose_link, link_name
from kina_build.tables import read_typed


class NamedRow(BaseModel):
    """One subject and relation with the names a model gave."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    subject: str = Field(alias="SubjectEntity")
    relation: str = Field(alias="Relation")
    names: list[Any] | None = Field(alias="ObjectEntities")
    """None where no reply could be read."""


class NameRow(BaseModel):
    """One name of one item, in a table to link from."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    name: str
    qid: str
    description: str = ""


class KeywordRow(BaseModel):
    """One word that the right item's description holds, for one relation."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    relation: str
    keyword: str


@dataclass(frozen=True)
class LinkedRow:
    """One row with what each of its names was linked to."""

    subject: str
    relation: str
    links: tuple[Link, ...] | None
    """None where no reply could be read."""

    def as_lm_kbc(self) -> dict[str, Any]:
        """Return the row as LM-KBC writes it."""
        links = self.links
        return {
            "SubjectEntity": self.subject,
            "Relation": self.relation,
            "ObjectEntities": None if links is None else [link.name for link in links],
            "ObjectEntitiesID": None if links is None else [link.target for link in links],
        }


def read_names(path: Path) -> list[tuple[str, str, str]]:
    """Read a table of names to link from.

    Raises:
        InputError: as read_typed.
    """
    return [(row.name, row.qid, row.description) for row in read_typed(path, NameRow)]


def read_cases(path: Path) -> dict[str, str]:
    """Read cases decided by hand: folded name -> QID.

    Raises:
        InputError: as read_typed.
    """
    return {fold_stem(row.name): row.qid for row in read_typed(path, NameRow)}


def read_keywords(path: Path) -> dict[str, list[str]]:
    """Read the keywords of each relation.

    Raises:
        InputError: as read_typed.
    """
    table: dict[str, list[str]] = {}
    for row in read_typed(path, KeywordRow):
        table.setdefault(row.relation, []).append(row.keyword)
    return table


def link_rows(
    rows: Sequence[NamedRow],
    client: WikidataClient,
    *,
    fixed: Mapping[str, str] | None = None,
    keywords: Mapping[str, Sequence[str]] | None = None,
) -> list[LinkedRow]:
    """Link every name of every row."""
    words = keywords or {}
    return [
        LinkedRow(row.subject, row.relation, _link(row, client, words.get(row.relation, ()), fixed))
        for row in rows
    ]


def _link(
    row: NamedRow, client: WikidataClient, keywords: Sequence[str], fixed: Mapping[str, str] | None
) -> tuple[Link, ...] | None:
    if row.names is None:
        return None
    return tuple(link_name(str(name), client, keywords=keywords, fixed=fixed) for name in row.names)


def questions_for_model(rows: Sequence[LinkedRow], model: str) -> dict[tuple[int, int], ChatRequest]:
    """Write a question for each name that has several candidates and no fixed case or keyword."""
    return {
        (place, number): ask_for_link(link, row.subject, row.relation, model)
        for place, row in enumerate(rows)
        for number, link in enumerate(row.links or ())
        if link.method == "first"
    }


def with_choices(rows: Sequence[LinkedRow], replies: Mapping[tuple[int, int], ChatReply]) -> list[LinkedRow]:
    """Put the model's choices in place; a name whose reply names none keeps its first hit."""
    return [
        replace(
            row,
            links=row.links
            and tuple(
                choose_link(link, replies[place, number]) if (place, number) in replies else link
                for number, link in enumerate(row.links)
            ),
        )
        for place, row in enumerate(rows)
    ]
