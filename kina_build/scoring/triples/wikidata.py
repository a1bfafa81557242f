"""From a name to a Wikidata item: candidates from a client, and four ways to choose one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kina_build.chat import ChatReply, ChatRequest
from kina_build.chat.reading import retry_after_s
from kina_build.config import ChatRules
from kina_build.errors import InputError
from kina_build.items.text import fold_stem
from kina_build.scoring.replies import extract_letter, labels
from kina_build.scoring.replies.patterns import UNSPACED
from kina_build.scoring.triples.searches import Candidate, SearchCache

API = "https://www.wikidata.org/w/api.php"
USER_AGENT = "kina-build (dataset curation toolkit)"
MAX_LAG_S = 5
"""Seconds that Wikidata's copies may be behind before it asks us to wait, as its manual recommends."""

_BARE_SCRIPT = re.compile(f"[{UNSPACED}]")


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

    curated: bool
    """Whether the names were chosen for the task, so that even a number among them is a name."""

    def search(self, name: str) -> Sequence[Candidate]:
        """Return candidates; none is an empty list."""
        ...


class OfflineClient:
    """Candidates from a table of (name, QID, description) rows; names compare without case."""

    curated = True
    """The table was made for these names: a number it holds is a name."""

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

    A search that fails for a passing reason is tried again, after the time the server asks
    for; each search that was answered is kept in the cache, so that a later run goes on.

    Raises:
        InputError: on search, if Wikidata cannot be reached or answers with an error.
    """

    curated = False

    def __init__(
        self,
        *,
        language: str = "en",
        limit: int = 7,
        timeout_s: float = 20.0,
        url: str = API,
        cache: SearchCache | None = None,
        rules: ChatRules = ChatRules(),
    ) -> None:
        self.language, self.limit, self.timeout_s, self.url = language, limit, timeout_s, url
        self.rules = rules
        self._cache = cache or SearchCache()

    def search(self, name: str) -> Sequence[Candidate]:
        """Ask once a name; later calls are served from the cache."""
        key = (self.url, self.language, self.limit, name)
        found = self._cache.find(key)
        if found is None:
            found = [
                Candidate(str(hit["id"]), str(hit.get("label", "")), str(hit.get("description", "")))
                for hit in self._ask(name)
            ]
            self._cache.keep(key, found)
        return found

    def _ask(self, name: str) -> list[dict[str, Any]]:
        """Search, and again after a pause where the server is busy."""
        for attempt in range(self.rules.attempts - 1):
            try:
                return self._ask_once(name)
            except _Busy as busy:
                pause = self.rules.backoff_s * 2**attempt if busy.wait_s is None else busy.wait_s
                time.sleep(min(pause, self.rules.max_wait_s))
        try:
            return self._ask_once(name)
        except _Busy as busy:
            raise _unanswered(name, str(busy)) from None

    def _ask_once(self, name: str) -> list[dict[str, Any]]:
        import httpx

        query = {
            "action": "wbsearchentities",
            "search": name,
            "language": self.language,
            "limit": str(self.limit),
            "format": "json",
            "maxlag": str(MAX_LAG_S),
        }
        try:
            reply = httpx.get(
                self.url, params=query, timeout=self.timeout_s, headers={"User-Agent": USER_AGENT}
            )
            wait_s = retry_after_s(reply.headers.get("retry-after"))
            if reply.status_code == 429 or reply.status_code >= 500:
                raise _Busy(f"status {reply.status_code}", wait_s)
            reply.raise_for_status()  # a redirect is not followed: it raises too
            document = reply.json()
            if (document.get("error") or {}).get("code") in ("maxlag", "ratelimited"):
                raise _Busy(str(document["error"].get("info", "busy")), wait_s)
            hits: list[dict[str, Any]] = [hit for hit in document["search"] if hit["id"]]
        except httpx.TransportError as error:
            raise _Busy(str(error).replace("\n", ", "), None) from None
        except (httpx.HTTPError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _unanswered(name, str(error).replace("\n", ", ")) from None
        return hits


class _Busy(Exception):
    """A failure that may pass, and the seconds the server asks to wait."""

    def __init__(self, why: str, wait_s: float | None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


def _unanswered(name: str, why: str) -> InputError:
    return InputError(
        f"Wikidata did not answer the search for {name!r}: {why}",
        hint="try again later (with --cache what was found is kept), or link from a table with --names",
    )


def link_name(
    name: str,
    client: WikidataClient,
    *,
    keywords: Sequence[str] = (),
    fixed: Mapping[str, str] | None = None,
) -> Link:
    """Link one name: a fixed case first, then a keyword of the description, then the first hit.

    Args:
        name: as the model wrote it; "" stays as it is, and so do numbers, but for those a table names.
        client: where candidates come from.
        keywords: words one of which the right item's description holds ("river", "city").
        fixed: name -> QID for cases decided by hand.
    """
    if fixed and fold_stem(name) in fixed:
        return Link(name, fixed[fold_stem(name)], "fixed")
    is_number = name.strip().lstrip("+-").replace(".", "", 1).isdigit()
    if not name.strip() or (is_number and not client.curated):
        return Link(name, name, "none")
    candidates = tuple(client.search(name))
    if not candidates:
        return Link(name, name, "none")
    for candidate in candidates:
        if any(holds_word(candidate.description, word) for word in keywords):
            return Link(name, candidate.qid, "keyword", candidates)
    return Link(name, candidates[0].qid, "only" if len(candidates) == 1 else "first", candidates)


def holds_word(text: str, word: str) -> bool:
    """Tell whether a text holds a word or phrase as such, or its plural: "river" is not in "driver".

    Scripts that write no blanks have no words to tell apart: there any occurrence counts.
    """
    said, wanted = text.casefold(), word.strip().casefold()
    if not wanted:
        return False
    if _BARE_SCRIPT.search(wanted):
        return wanted in said
    return re.search(rf"(?<!\w){re.escape(wanted)}(?:e?s)?(?!\w)", said) is not None


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
