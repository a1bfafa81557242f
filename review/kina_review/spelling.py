"""Whether two names could be one: equal but for case, blanks, Unicode form, or letters that look alike.

Who is paid hangs on ids being equal letter for letter, and people see letters, not their numbers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal

from kina_build.errors import Refusal

UNSEEN = ("Cc", "Cf")
"""Categories of signs without a glyph: a zero-width space, a soft hyphen, a mark of direction."""

LOOKS: Mapping[int, str] = str.maketrans(
    {
        **dict(zip("АВЕЅІЈКМНОРСТУХԌԚԜӀ", "ABESIJKMHOPCTYXGQWI", strict=True)),  # Cyrillic
        **dict(zip("аеѕіјкорсухһԁԛԝӏ", "aesijkopcyxhdqwl", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϏ", "ABEZHIKMNOPTYXCK", strict=True)),  # Greek
        **dict(zip("αικνορυϲϳ", "aikvopucj", strict=True)),
        **dict(zip("ՕօսհոցɑɡıԼ", "OouhngagiL", strict=True)),  # Armenian, phonetic, dotless
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc\u00b4\u2032", "'"),
    }
)
"""Letters and dashes to the Latin ones that they cannot be told from on a screen (Unicode TR 39)."""


def fold(name: str) -> str:
    """Return a name without case, blanks, unseen signs and Unicode form: what two spellings share."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(sign for sign in plain if not sign.isspace() and unicodedata.category(sign) not in UNSEEN)


def look(name: str) -> str:
    """Return a folded name with all its letters Latin that look so."""
    return fold(unicodedata.normalize("NFKC", name.translate(LOOKS)).translate(LOOKS))


def check_spelling(what: str, names: Iterable[str]) -> None:
    """Check that no two names differ only by case or Unicode form, or by letters that look alike.

    Raises:
        Refusal: two do.
    """
    seen: dict[str, str] = {}
    looks: dict[str, str] = {}
    for name in sorted(set(names)):
        other = seen.setdefault(fold(name), name)
        if other != name:
            raise _twins(what, other, name, "differ only by case, blanks or Unicode form")
        other = looks.setdefault(look(name), name)
        if other != name:
            odd = ascii(other if name.isascii() else name)
            raise _twins(what, other, name, f"look alike, and are written with other letters ({odd})")


def check_rounds(places: Iterable[tuple[str, str]]) -> None:
    """Check that no round of an item is one number written in two ways, such as 1 and 1.0.

    Args:
        places: items and rounds.

    Raises:
        Refusal: one is.
    """
    seen: dict[tuple[str, str], str] = {}
    for item_id, round_ in sorted(set(places)):
        other = seen.setdefault((item_id, _number(round_)), round_)
        if other != round_:
            raise _twins(f"item {item_id!r}: round", other, round_, "are one number")


def _number(text: str) -> str:
    plain = fold(text)
    try:
        return str(Decimal(plain).normalize())
    except ArithmeticError:  # no number, or one beyond all numbers
        return plain


def _twins(what: str, one: str, other: str, how: str) -> Refusal:
    return Refusal(
        f"{what} ids {one!r} and {other!r} {how}: they may be the same",
        hint="spell one the same everywhere, or give the other an id of its own",
    )
