"""How replies end: a line that leads up to a lettered option, or a line that is the letter alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kina_build.scoring.replies import cues
from kina_build.scoring.replies.claims import Claim, run_of_letters
from kina_build.scoring.replies.clean import BOX_CLOSE, BOX_OPEN
from kina_build.scoring.replies.labels import is_a_word, to_label
from kina_build.scoring.replies.mentions import NATIVE
from kina_build.scoring.replies.patterns import CLOSERS, OPENERS, any_of, listed

LINES_READ = 40
"""Lines at the end that are looked at: what is declared stands there."""

LONGEST_LEAD = 400
"""Characters of a line that leads up to an option."""

_SIGNS = f"A-Za-z{NATIVE}АВСЕНІКМОРТХБГДабвгдежΑΒΓΔΕΗΙΚΜαβγδεζ"
_POINTER = "✔✓✅☑👉➡→⇒➔▶★⭐🎯"
_OPTION = rf"(?:(?i:{any_of(cues.OPTION_NOUNS)})\s*[{OPENERS}]*)?"
_LETTERED = re.compile(
    rf"[\s\-•–—{_POINTER}{BOX_OPEN}]*+(?P<open>[{OPENERS}]*+){_OPTION}(?P<sign>[{_SIGNS}])"
    rf"(?:[{CLOSERS}]+\s?[.:：]?|\s?[.:：、．](?=\s|$|[^\W\d_a-z])|\s[-–—](?=\s))\s*(?P<rest>\S.*)",
)
_ALONE = re.compile(
    rf"[\s{OPENERS}$.:：=>→•–—\-{_POINTER}{BOX_OPEN}]*+{_OPTION}"
    rf"(?:(?P<sign>[{_SIGNS}])(?:[\s,]+(?P=sign)){{0,9}}|(?P<run>[A-Z]{{2,5}})|(?P<number>\d{{1,3}}))"
    rf"[\s{CLOSERS}.。,!$\-{_POINTER}{BOX_CLOSE}]*"
)
_ENDED = re.compile(rf"[.,!?;。，！？；…][\s{CLOSERS}]*$")
_NO_LEAD = re.compile(
    r"\W*(?:let['’]?s|let me|let us|now|first|next|consider|look|why|options?|choices|here (?:are"
    r"|is)|given|question|"
    r"note|step|to begin|start|go(?:ing)?|evaluat\w+|analy[sz]\w+|examin\w+|compare|recall|tempting"
    r"|distractors?|"
    r"rejected|eliminat\w+|exclud\w+|incorrect|wrong|which (?:of|one|option|statement)|what|best"
    r" regards|sincerely|选项|逐项|分析)\b"
    r"|.*\b(?:options|choices|statements|candidates|answers) (?:are|one by one|in turn|given|below)\b"
    r"|.*\bdistractors?\b",
    re.IGNORECASE,
)
_NOT_IT = re.compile(
    r"\b(?:not|isn['’]t|cannot be|incorrect|wrong|eliminated?|ruled out|rejected?|options are"
    r"|choices are|options?|choices?)\s*(?:is|are)?\s*[:：]?$",
    re.IGNORECASE,
)
_BEST = re.compile(r"\b(?:best|closest|right|correct|most \w+)\b(?!.*\bnot\b)", re.IGNORECASE)
"""Matches "the best fit among the given options"."""
_HEDGE = any_of(
    listed(
        r"""
        no · wait · actually · rather · must be · it must be · it should be · should be · es muss ·
        clearly · definitely · probably ·
        presumably · tentatively · likely · most likely · certainly · obviously · maybe · perhaps · hmm+ ·
        hence · so · thus · therefore · yes · conclusion · result · answer · by elimination ·
        all things considered · on balance · overall · i'?d say · i say · i guess · i think · i believe ·
        in short · finally · namely · this is · it'?s · it is · that is · i\.e\. · скорее всего ·
        вероятно · думаю · наверное · sanırım · muhtemelen · myślę,? że · chyba · prawdopodobnie ·
        wahrscheinlich · vermutlich · also · probablement · sans doute · donc · probablemente · quizás ·
        provavelmente · probabilmente · forse · おそらく · たぶん · 아마도 · 아마 · 可能是 · 大概是 ·
        应该是 · 所以 · 因此 · 故 · 即 · vậy · có lẽ · mungkin · jadi · mais probable · troligen ·
        antagligen · waarschijnlijk · dus · talán · ehkä
        """
    )
)
_HEDGED_AFTER = (
    r"(?:\s*,?\s*(?:i guess|i think|i believe|i suppose|i'd say|probably|perhaps|maybe|presumably|sein"
    r"|だと思います|でしょう|です|"
    r"일 것입니다|입니다|是对的))?"
)
_NOUN = rf"(?:(?i:{any_of(cues.OPTION_NOUNS)}|choice|the answer)\s*)"
_LAST_SIGN = rf"[{OPENERS}]*(?P<sign>[A-Z{NATIVE}БГД])[{CLOSERS}]*(?i:{_HEDGED_AFTER})[\s.!?。…{CLOSERS}]*$"
_LAST_CLAUSE = re.compile(
    rf"(?:(?:^|[.;:!?…→⟹⇒⟶∴\n]|=>|[-–—](?=\s))\s*(?:(?i:{_HEDGE})[\s,:…]*){{0,3}}{_NOUN}?"
    rf"|[,(]\s*(?:(?:(?i:{_HEDGE})[\s,:]+){{1,3}}{_NOUN}?|{_NOUN})|\s(?=[(]))" + _LAST_SIGN
)
_LONE = re.compile(r"(?<![Nn]ot )(?<!\w)[A-Z]\W{0,3}$")
CLAUSE_REACH = 90
"""Characters at the end that are searched for a last clause which is the letter."""


def read_last_clause(text: str) -> Claim | None:
    """Take a letter that is the last clause of a reply: "... → D", "Probably B.", "..., i.e. option C"."""
    stripped = text.rstrip()
    if stripped.endswith(("?", "？")):
        return None
    offset = max(0, len(stripped) - CLAUSE_REACH)
    tail = stripped[offset:]
    for match in _LAST_CLAUSE.finditer(tail):
        opening = tail[match.start() : match.start("sign")]
        if opening[:1] in ":：" and _NOT_IT.search(tail[: match.start() + 1]):
            return None  # "Wrong: B"
        plainly = not re.search(r"[^\W_]|[→⟹⇒⟶?]", opening)
        if plainly and _LONE.search(tail[: match.start()].rstrip(" ,;")):
            return None
        if offset and match.start() == 0 and match[0][:1].isalnum():
            continue
        start = offset + match.start("sign")
        return Claim((to_label(match["sign"]),), span=(start, start + 1))
    return None


_REMARK_OPTION = re.compile(rf"[\s\-•]*[{OPENERS}]*(?:(?i:option)\s+)?[A-Z][{CLOSERS}]*[.:)]\s")


@dataclass(frozen=True)
class _Line:
    start: int
    text: str


def read_lead_in(text: str, index: Mapping[str, int]) -> Claim | None:
    """Take a lettered option that stands alone under a line that leads up to it."""
    lines = list(_lines(text))[-LINES_READ:]
    for place in range(len(lines) - 1, 0, -1):
        match = _LETTERED.fullmatch(lines[place].text)
        if match is None or not _opens(match):
            continue
        if place + 1 < len(lines) and _LETTERED.fullmatch(lines[place + 1].text):
            return None
        if not _leads(lines[place - 1].text):
            return None
        label = to_label(match["sign"])
        if label not in index and len(label) == 1 and label.isascii():
            return None
        start = lines[place].start + match.start("sign")
        return Claim((label,), span=(start, start + 1))
    return None


def _opens(match: re.Match[str]) -> bool:
    """Tell whether a line begins with a label and not with a word of one letter."""
    sign, behind = match["sign"], match.string[match.end("sign") :]
    if sign.islower() and not (match["open"] or behind[:1] in ").:"):
        return False
    return behind[:1] in f".:：、．{CLOSERS}" or not is_a_word(
        match.string, sign, match.start("sign"), match.end("sign")
    )


def _leads(line: str) -> bool:
    stripped = line.strip()
    if len(stripped) > LONGEST_LEAD or _LETTERED.fullmatch(stripped):
        return False
    if _NOT_IT.search(stripped) and not _BEST.search(stripped):
        return False
    if stripped.endswith((":", "：", "-", "–", "—")):
        return not _NO_LEAD.match(stripped)
    if re.search(r"(?:次のとおりです|次の通りです|以下のとおりです|如下)[。:：]?$", stripped):
        return True
    words = stripped.split()
    return (
        len(words) >= 2
        and not _ENDED.search(stripped)
        and not _NO_LEAD.match(stripped)
        and words[0] != "Option"
    )


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        if line.strip(" -—_=*"):
            yield _Line(start, line)
        start += len(line) + 1


def read_own_line(text: str, index: Mapping[str, int]) -> Claim | None:
    """Take a last line, or a first line above remarks, that is nothing but a letter."""
    lines = list(_lines(text))
    if not lines:
        return None
    claim = _alone(lines[-1], index)
    if claim is None and len(lines) > 1 and not any(_REMARK_OPTION.match(line.text) for line in lines[1:]):
        following = lines[1].text
        claim = (
            None if following[:1].isspace() and following.lstrip()[:1].islower() else _alone(lines[0], index)
        )
        if claim is not None and claim.labels[0].isdigit():
            return None
    return claim


def _alone(line: _Line, index: Mapping[str, int]) -> Claim | None:
    match = _ALONE.fullmatch(line.text)
    if match is None:
        return None
    if match["run"]:
        start = line.start + match.start("run")
        return run_of_letters(match["run"], (start, start + len(match["run"])), index)
    if match["number"]:
        start = line.start + match.start("number")
        return Claim((match["number"],), span=(start, start + 1)) if match["number"] in index else None
    start = line.start + match.start("sign")
    return Claim((to_label(match["sign"]),), span=(start, start + 1))
