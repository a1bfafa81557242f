"""Rows of predicted names turned into rows of Wikidata ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.chat import ChatReply, ChatRequest, Endpoint, Meter, ReplyLog, complete
from kina_build.config import ChatRules
from kina_build.items.text import fold_stem
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import read_records, write_records
from kina_build.rows.tables import read_typed
from kina_build.scoring.options import LinkOptions
from kina_build.scoring.triples.searches import SearchCache
from kina_build.scoring.triples.wikidata import (
    Link,
    LiveClient,
    OfflineClient,
    WikidataClient,
    ask_for_link,
    choose_link,
    link_name,
)


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


@dataclass(frozen=True)
class Links:
    """Rows of names, each with what it was linked to."""

    rows: Sequence[LinkedRow]
    reused: int = 0
    """Replies of a choosing model that the log held already."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina link --json` prints."""
        methods = Counter(one.method for row in self.rows for one in row.links or ())
        return {"rows": len(self.rows), "methods": dict(sorted(methods.items()))}

    def write(self, path: Path) -> None:
        """Write LM-KBC rows."""
        write_records(path, (row.as_lm_kbc() for row in self.rows))


def link_files(
    options: LinkOptions,
    log: ReplyLog | None = None,
    *,
    rules: ChatRules = ChatRules(),
    on_progress: Progress = silent,
) -> Links:
    """Link the names of a file, from a table or from Wikidata's search.

    Args:
        options: checked.
        log: of the model that chooses among candidates.
        rules: of calls.
        on_progress: told of the model's calls.

    Raises:
        InputError, RowErrors: files that cannot be read; a search that is not answered.
    """
    linked = link_rows(
        read_records(options.predictions, NamedRow),
        _client(options, rules),
        fixed=read_cases(options.fixed) if options.fixed is not None else {},
        keywords=read_keywords(options.keywords) if options.keywords is not None else {},
    )
    if options.model is None:
        return Links(linked)
    asked, meter = questions_for_model(linked, options.model), Meter()
    endpoint = Endpoint.from_environment(options.base_url)
    received = complete(
        list(asked.values()),
        endpoint,
        ReplyLog() if log is None else log,
        rules=rules,
        meter=meter,
        on_progress=on_progress,
    )
    return Links(with_choices(linked, dict(zip(asked, received, strict=True))), meter.reused)


def _client(options: LinkOptions, rules: ChatRules) -> WikidataClient:
    if options.names is not None:
        return OfflineClient(read_names(options.names))
    return LiveClient(cache=SearchCache(options.cache), rules=rules)


def read_names(path: Path) -> list[tuple[str, str, str]]:
    """Read a table of names to link from.

    Raises:
        InputError: an unreadable file, or rows that are not of this form.
    """
    return [(row.name, row.qid, row.description) for row in read_typed(path, NameRow)]


def read_cases(path: Path) -> dict[str, str]:
    """Read cases decided by hand: folded name -> QID.

    Raises:
        InputError: an unreadable file, or rows that are not of this form.
    """
    return {fold_stem(row.name): row.qid for row in read_typed(path, NameRow)}


def read_keywords(path: Path) -> dict[str, list[str]]:
    """Read the keywords of each relation.

    Raises:
        InputError: an unreadable file, or rows that are not of this form.
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
