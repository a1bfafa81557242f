"""What many stems of a pool share, and so says nothing of two that share it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kina_build.dedup.compare.lexical import Reading

FORMULAIC = re.compile(
    r"(?:true|false|yes|no|correct|incorrect|right|wrong|both|neither|cannot be determined|valid|invalid"
    r"|(?:all|none|both|neither|any|either)(?: of)?(?: the)?(?: \w+)? (?:above|these|them|options|statements)"
    r"|(?:only )?\(?(?:[ivx]+|\d|[a-j])\)?(?:(?:,| and|, and|&)? ?\(?(?:[ivx]+|\d|[a-j])\)?)*(?: only)?"
    r"|(?:(?:yes|no|wrong|not wrong|true|false),? ?)+"
    r"|正确|错误|对|错|是|否|以上都对|以上都不对|以上皆是|以上皆非|(?:はい|いいえ| )+|[①-⑩]+)\.?"
)
"""Option texts that any item may have: they tell nothing about which item it is."""


@dataclass(frozen=True)
class Common:
    """How often stems, their sentences and option texts stand in a corpus."""

    stems: Counter[str]
    segments: Counter[str]
    """Items whose stem holds this sentence."""
    options: Counter[str]
    """Items that show this option text."""
    limit: int
    """From this many items on, a text is too common to tell items apart."""

    def tells(self, option: str) -> bool:
        """Tell whether an option text is evidence of which item shows it."""
        return self.options[option] < self.limit and not _formulaic(option)

    def generic_stem(self, stem: str) -> bool:
        """Tell whether many items ask with these same words."""
        return self.stems[stem] >= self.limit


def _formulaic(option: str) -> bool:
    return FORMULAIC.fullmatch(option.casefold()) is not None


def count_common(readings: Iterable[Reading], limit: int) -> Common:
    """Count stems, their sentences and option texts over a corpus, each different question once.

    A question that stands there twenty times is not common for that: it is one question. Where its
    options are those of any question ("True", "False"), what tells the twenty apart may be missing.
    """
    stems: Counter[str] = Counter()
    segments: Counter[str] = Counter()
    options: Counter[str] = Counter()
    seen: set[object] = set()
    for reading in readings:
        shown = (reading.stem, reading.options, reading.material)
        if shown in seen and not all(map(_formulaic, reading.options)):
            continue
        seen.add(shown)
        stems[reading.stem] += 1
        segments.update(set(reading.segments))
        options.update(set(reading.options))
    return Common(stems, segments, options, limit)


def drop_boilerplate(reading: Reading, common: Common) -> Reading:
    """Leave out of a stem's content the sentences that many items share, unless nothing is left.

    Long instructions ("For which of these two scenarios ...") make unlike items look alike.
    """
    own = [segment for segment in reading.segments if common.segments[segment] < common.limit]
    if not own or len(own) == len(reading.segments):
        return reading
    return replace(reading, content=" ".join(own))
