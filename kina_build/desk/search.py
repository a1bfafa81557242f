"""Full-text search over the items, with facets: an SQLite file in the user's cache folder."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kina_build.desk.bench import Bench
from kina_build.encode.vectorcache import default_cache
from kina_build.items.model import Item
from kina_build.rows.jsonl import canonical
from kina_build.rows.kept import ask_kept, clean_text

FORM = 1
"""Of the file: another form is another file."""
ITEMS_A_PAGE = 50
WORD = re.compile(r"\w+")
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of a script that does not put spaces between words: such texts are searched letter by letter."""
SCHEMA = """
CREATE TABLE items (n INTEGER PRIMARY KEY, item_id TEXT, question TEXT, body TEXT);
CREATE TABLE tags (n INTEGER, facet TEXT, value TEXT);
CREATE VIRTUAL TABLE words USING fts5(
  item_id, body, content='items', content_rowid='n', tokenize="unicode61 remove_diacritics 2"
);
"""
FACETS = ("domain", "status", "finding", "difficulty", "disagreement", "language")
"""In the order in which they are shown."""


@dataclass(frozen=True)
class Query:
    """What is asked for."""

    text: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Facet to value."""
    page: int = 1


@dataclass(frozen=True)
class Hits:
    """One page of what was found, and how the rest divides."""

    item_ids: tuple[str, ...]
    total: int
    facets: Mapping[str, tuple[tuple[str, int], ...]]
    """Facet to its values with the number of items found, the most common first."""

    @property
    def pages(self) -> int:
        """Return how many pages there are."""
        return max(1, -(-self.total // ITEMS_A_PAGE))


Rows = tuple[tuple[Item, tuple[tuple[str, str], ...]], ...]
"""Items with their facets and values."""


@dataclass(frozen=True)
class Index:
    """The index of one flow."""

    folder: Path
    name: str
    rows: Rows = field(repr=False)
    """What it is made of, should it be lost."""

    def find(self, query: Query) -> Hits:
        """Find items by words and facets; words match from their beginning, all of them must."""
        return ask_kept(self.folder, self.name, self.fill, partial(_find, query))

    def fill(self, base: sqlite3.Connection) -> None:
        """Write all items and what they are found by."""
        base.executescript(SCHEMA)
        items = enumerate(item for item, _ in self.rows)
        texts = ((n, clean_text(i.item_id), clean_text(i.question), clean_text(_body(i))) for n, i in items)
        base.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", texts)
        facets = enumerate(found for _, found in self.rows)
        tags = ((n, facet, clean_text(value)) for n, found in facets for facet, value in found)
        base.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
        base.execute("INSERT INTO words(words) VALUES ('rebuild')")
        base.execute("CREATE INDEX by_tag ON tags (facet, value, n)")
        base.execute("CREATE INDEX by_item ON tags (n)")


def open_index(bench: Bench, folder: Path | None = None) -> Index:
    """Build the index of a flow, or take the one of an earlier run over the same texts.

    Args:
        bench: the flow.
        folder: where index files are kept; default: the user's cache folder.
    """
    rows = tuple((item, tuple(bench.facets(item))) for item in bench.items.values())
    total = hashlib.sha256(canonical([FORM]).encode())
    for item, tags in rows:
        total.update(canonical([item.item_id, _body(item), tags]).encode("utf-8", "surrogatepass"))
    index = Index(folder or default_cache().parent / "desk", total.hexdigest()[:32], rows)
    index.find(Query())
    return index


def _find(query: Query, base: sqlite3.Connection) -> Hits:
    base.execute("PRAGMA temp_store = MEMORY")
    base.execute("CREATE TEMP TABLE found (n INTEGER PRIMARY KEY)")
    condition, values = _condition(query)
    base.execute(f"INSERT INTO found SELECT n FROM items WHERE {condition}", values)  # noqa: S608
    (total,) = base.execute("SELECT count(*) FROM found").fetchone()
    start = (max(1, query.page) - 1) * ITEMS_A_PAGE
    rows = base.execute(
        "SELECT item_id FROM items JOIN found USING (n) ORDER BY n LIMIT ? OFFSET ?", (ITEMS_A_PAGE, start)
    )
    return Hits(tuple(str(item_id) for (item_id,) in rows), int(total), _facets(base))


def _body(item: Item) -> str:
    texts = [item.question, item.question_material or "", *(option.answer for option in item.options)]
    return "\n".join([*texts, item.explanation or "", item.question_source or ""])


def _condition(query: Query) -> tuple[str, list[str]]:
    """Write what a row must fulfil, with the values; no text of the query becomes SQL."""
    parts, values = ["1"], []
    for facet, value in query.tags.items():
        parts.append("n IN (SELECT n FROM tags WHERE facet = ? AND value = ?)")
        values += [facet, value]
    text = clean_text(query.text).strip()
    if UNSPACED.search(text):
        for word in text.split():
            parts.append("instr(item_id || char(10) || body, ?)")
            values.append(word)
    elif words := WORD.findall(text):
        parts.append("n IN (SELECT rowid FROM words WHERE words MATCH ?)")
        values.append(" ".join(f'"{word}"*' for word in words))
    return " AND ".join(parts), values


def _facets(base: sqlite3.Connection) -> dict[str, tuple[tuple[str, int], ...]]:
    rows = base.execute(
        "SELECT facet, value, count(*) FROM tags JOIN found USING (n) GROUP BY facet, value"
        " ORDER BY count(*) DESC, value"
    ).fetchall()
    found = {facet: tuple((v, int(count)) for f, v, count in rows if f == facet) for facet in FACETS}
    return {facet: values for facet, values in found.items() if values}


def read_query(pairs: Sequence[tuple[str, str]]) -> Query:
    """Read a query from an address; what is no facet of ours is passed over."""
    given = dict(_first(pairs))
    page = given.get("page", "1")
    tags = {facet: given[facet] for facet in FACETS if given.get(facet)}
    return Query(
        given.get("q", ""), tags, int(page) if page.isascii() and page.isdigit() and len(page) < 8 else 1
    )


def _first(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for name, value in pairs:
        if name not in seen:
            seen.add(name)
            yield name, value
