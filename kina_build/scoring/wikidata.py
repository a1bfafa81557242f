"""From a name to a Wikidata item: candidates from a client, and four ways to choose one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kina_build.chat import ChatReply, ChatRequest
from kina_build.errors import InputError
from kina_build.items.text import fold_stem
from kina_build.scoring.letters import extract_letter, labels

API = "https://www.wikidata.org/w/api.php"
USER_AGENT = "kina-build (dataset curation toolkit)"


@dataclass(frozen=True)
class Candidate:
    """One item that a name may mean."""

    qid: str
    label: str
    description: str = ""


@dataclass(frozen=True)
class Link:
    """What a name was linked to."""

    name: str
    target: str
    """A QID, or the name itself where nothing was found."""
    method: str
    """fixed, keyword, model, first, only, or none."""
    candidates: tuple[Candidate, ...] = ()


class WikidataClient(Protocol):
    """Whatever can list the items a name may mean, best first."""

    def search(self, name: str) -> Sequence[Candidate]:
        """Return candidates; none is an empty list."""
        ...


class OfflineClient:
    """Candidates from a table of (name, QID, description) rows; names compare without case."""

    def __init__(self, rows: Sequence[tuple[str, str, str]]) -> None:
        self._table: dict[str, list[Candidate]] = {}
        for name, qid, description in rows:
            known = self._table.setdefault(fold_stem(name), [])
            if all(candidate.qid != qid for candidate in known):
                known.append(Candidate(qid, name, description))

    def search(self, name: str) -> Sequence[Candidate]:
        """Return the rows of a name, in the table's order."""
        return self._table.get(fold_stem(name), [])


class LiveClient:
    """Candidates from Wikidata's search (action wbsearchentities).

    Raises:
        InputError: on search, if Wikidata cannot be reached or answers with an error.
    """

    def __init__(self, language: str = "en", limit: int = 7, timeout_s: float = 20.0, url: str = API) -> None:
        self.language, self.limit, self.timeout_s, self.url = language, limit, timeout_s, url
        self._seen: dict[str, list[Candidate]] = {}

    def search(self, name: str) -> Sequence[Candidate]:
        """Ask once a name; later calls are served from memory."""
        if name not in self._seen:
            self._seen[name] = [
                Candidate(str(hit["id"]), str(hit.get("label", "")), str(hit.get("description", "")))
                for hit in self._ask(name)
            ]
        return self._seen[name]

    def _ask(self, name: str) -> list[dict[str, Any]]:
        import httpx

        query = {
            "action": "wbsearchentities",
            "search": name,
            "language": self.language,
            "limit": str(self.limit),
            "format": "json",
        }
        try:
            reply = httpx.get(
                self.url, params=query, timeout=self.timeout_s, headers={"User-Agent": USER_AGENT}
            )
            reply.raise_for_status()  # a redirect is not followed: it raises too
            hits: list[dict[str, Any]] = [hit for hit in reply.json()["search"] if hit["id"]]
        except (httpx.HTTPError, ValueError, LookupError, TypeError, RecursionError) as error:
            why = str(error).replace("\n", ", ")
            raise InputError(
                f"Wikidata did not answer the search for {name!r}: {why}",
                hint="try again later, or link from a table with --names",
            ) from None
        return hits


def link_name(
    name: str,
    client: WikidataClient,
    *,
    keywords: Sequence[str] = (),
    fixed: Mapping[str, str] | None = None,
) -> Link:
    """Link one name: a fixed case first, then a keyword of the description, then the first hit.

    Args:
        name: as the model wrote it; numbers and "" stay as they are.
        client: where candidates come from.
        keywords: words one of which the right item's description holds ("river", "city").
        fixed: name -> QID for cases decided by hand.
    """
    if fixed and fold_stem(name) in fixed:
        return Link(name, fixed[fold_stem(name)], "fixed")
    if not name.strip() or name.strip().lstrip("+-").replace(".", "", 1).isdigit():
        return Link(name, name, "none")
    candidates = tuple(client.search(name))
    if not candidates:
        return Link(name, name, "none")
    for candidate in candidates:
        if any(word.casefold() in candidate.description.casefold() for word in keywords):
            return Link(name, candidate.qid, "keyword", candidates)
    return Link(name, candidates[0].qid, "only" if len(candidates) == 1 else "first", candidates)


def ask_for_link(link: Link, subject: str, relation: str, model: str) -> ChatRequest:
    """Write the question with which a model chooses among a link's candidates."""
    lines = [
        f"{letter}: {candidate.label} ({candidate.description or 'no description'})"
        for letter, candidate in zip(labels(len(link.candidates)), link.candidates, strict=True)
    ]
    text = (
        f"For the subject {subject!r} and the relation {relation!r} the object is named {link.name!r}.\n"
        f"Which of these Wikidata items is meant?\n" + "\n".join(lines) + "\nEnd with one line: Answer: X"
    )
    return ChatRequest(model=model, messages=({"role": "user", "content": text},), params={"temperature": 0})


def choose_link(link: Link, reply: ChatReply) -> Link:
    """Take the candidate a model chose; the link stays as it was if the reply names none."""
    letter = extract_letter(reply.text, len(link.candidates)).letter if link.candidates else None
    if letter is None:
        return link
    chosen = link.candidates[labels(len(link.candidates)).index(letter)]
    return Link(link.name, chosen.qid, "model", link.candidates)
