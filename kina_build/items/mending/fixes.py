"""Repairs that need nobody's judgment: what they change, and the proof that it does no harm.

A repair proposes new texts; it is taken only where the item then breaks no rule of
`kina check` that it did not break before.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kina_build.config import ItemRules
from kina_build.errors import InputError, Refusal, UsageError
from kina_build.items.checking.leftovers import ABOUT_MARKUP, ENTITY, MOJIBAKE, is_entity, texts_of
from kina_build.items.checking.lint import check_item
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.mending.patch import (
    BY_RULE,
    Patch,
    apply_patches,
    change_item,
    field_of,
    make_patch,
    read_patches,
)
from kina_build.items.model import Item
from kina_build.items.options import FixOptions
from kina_build.items.questions import read_pool_or_import
from kina_build.rows.jsonl import dump_line, read_text, write_text

UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Soft hyphens, zero-width spaces and joiners of words, byte order marks: never part of a spelling.

Matches those of "oxy\u200bgen"; not the joiner that Persian and emoji need, nor marks of direction.
"""
HIGH = re.compile("[\u0080-\uffff]{2,}")
"""Where UTF-8 that was read as another encoding may stand: "Ã©" in "cafÃ©"; never "é" alone."""


@dataclass(frozen=True)
class Repair:
    """A repair: what it does, and whether it is done unasked."""

    meaning: str
    safe: bool
    mend: Callable[[str], str]
    where: Callable[[Item, str], bool] = lambda _item, _text: True


def _unescape(text: str) -> str:
    return ENTITY.sub(lambda found: html.unescape(found[0]) if is_entity(found) else found[0], text)


def _has_entity(item: Item, text: str) -> bool:
    return "&" in text and not ABOUT_MARKUP.search("\n".join(texts_of(item).values()))


def _compose(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", UNSEEN.sub("", text))


def _read_again(text: str) -> str:
    """Read what was UTF-8 once more, run by run."""
    return HIGH.sub(lambda run: _as_utf8(run[0]), text)


def _as_utf8(run: str) -> str:
    try:
        raw = b"".join(
            char.encode("cp1252" if not "\u0080" <= char <= "\u009f" else "latin-1") for char in run
        )
        return raw.decode("utf-8")
    except UnicodeError:
        return run


REPAIRS: Mapping[str, Repair] = {
    "entities": Repair("HTML entities become their characters", True, _unescape, _has_entity),
    "blanks": Repair("blanks at both ends are cut", True, str.strip),
    "unicode": Repair("characters are composed (NFC), invisible ones dropped", True, _compose),
    "mojibake": Repair(
        "UTF-8 that was read as another encoding is read again",
        False,
        _read_again,
        lambda _item, text: MOJIBAKE.search(text) is not None,
    ),
}
"""Name to repair, in the order they are done."""


@dataclass(frozen=True)
class Fixes:
    """Patches that were made, and those of the file before them."""

    patches: tuple[Patch, ...]
    earlier: int
    items: int

    def add_to(self, path: Path) -> None:
        """Add the new patches to a file; what stands in it stays as it is."""
        before = read_text(path) if _has_rows(path) else ""
        ends = "" if before.endswith("\n") or not before else "\n"
        write_text(path, before + ends + "".join(dump_line(one) + "\n" for one in self.patches))

    @property
    def report(self) -> dict[str, object]:
        """Return what `kina fix --json` prints."""
        changes = [change for patch in self.patches for change in patch.changes]
        return {
            "items": self.items,
            "earlier": self.earlier,
            "patches": [patch.model_dump() for patch in self.patches],
            "by_reason": {
                why: sum(one.why == why for one in changes) for why in dict.fromkeys(c.why for c in changes)
            },
        }


def fix(options: FixOptions, rules: ItemRules = ItemRules()) -> Fixes:
    """Make patches of a pool, over those that the file of patches has already.

    Raises:
        InputError: a file that cannot be read.
        Refusal: the patches that are there do not fit the pool, or the one that is asked for is not sound.
        UsageError: an unknown repair or item, or half of a patch by hand.
    """
    items, earlier = read_patched(options)
    if options.item is not None or options.set_:
        made: tuple[Patch, ...] = (_by_hand(items, options),)
    else:
        made = tuple(propose_fixes(items, names_of(options.only, options.also), rules))
    return Fixes(made, earlier, len(items))


def read_patched(options: FixOptions) -> tuple[Sequence[Item], int]:
    """Read a pool as its patches leave it, and count those.

    Raises:
        InputError: a file that cannot be read.
        Refusal: the patches do not fit the pool.
    """
    items, _ = read_pool_or_import(options.pool)
    earlier = read_patches([options.output]) if _has_rows(options.output) else []
    patched = apply_patches(items, earlier)
    if patched.rejects:
        raise Refusal(
            *(f"{one.file}:{one.line}: {one.message}" for one in patched.rejects[:5]),
            hint="give the pool that they were made for, or name another file for the patches",
        )
    return patched.items, len(earlier)


def names_of(only: Sequence[str], also: Sequence[str]) -> list[str]:
    """Return the repairs to do: the safe ones, or those named, and some more.

    Raises:
        UsageError: no such repair.
    """
    for name in (*only, *also):
        if name not in REPAIRS:
            raise UsageError(f"no repair {name!r}", hint=f"repairs: {', '.join(REPAIRS)}")
    return [name for name, one in REPAIRS.items() if name in also or (name in only if only else one.safe)]


def propose_fixes(
    items: Sequence[Item], names: Collection[str], rules: ItemRules = ItemRules()
) -> Iterator[Patch]:
    """Make the patches of some repairs: one an item that needs any."""
    for item in items:
        changes: dict[str, tuple[str, list[str]]] = {}
        mended = item
        for name in names:
            for field, new in _mend(mended, REPAIRS[name]):
                after = change_item(mended, {field: new})
                if not _does_harm(mended, after, rules):
                    reasons = changes.get(field, ("", []))[1]
                    changes[field] = (new, [*reasons, name])
                    mended = after
        if changes:
            yield make_patch(
                item, [(field, new, "+".join(why)) for field, (new, why) in changes.items()], BY_RULE
            )


def _mend(item: Item, repair: Repair) -> Iterator[tuple[str, str]]:
    options = [f"options.{one.key}{part}" for one in item.options for part in ("", ".explanation")]
    for field in ("question", "question_material", "explanation", *options):
        text = field_of(item, field)
        if text and repair.where(item, text):
            new = repair.mend(text)
            if new and new != text:
                yield field, new


def _does_harm(before: Item, after: Item, rules: ItemRules) -> bool:
    """Tell whether an item breaks a rule, or at a place, that it did not break before."""
    old = {(fault.rule, fault.field) for fault in check_item(before, rules)}
    return any((fault.rule, fault.field) not in old for fault in check_item(after, rules))


def _by_hand(items: Sequence[Item], options: FixOptions) -> Patch:
    if not (options.item and options.set_ and options.by and options.why):
        raise UsageError(
            "a patch by hand needs --item, --set, --by and --why",
            hint="kina fix pool.jsonl --item q7 --set correct_answer=C --by anna --why 'see p. 12'",
        )
    item = next((one for one in items if one.item_id == options.item), None)
    if item is None:
        raise UsageError(f"no item {options.item!r} in {options.pool}")
    changes = [(*_read_setting(one), options.why) for one in options.set_]
    if all(field_of_or_refuse(item, field) == new for field, new, _ in changes):
        raise UsageError(f"item {item.item_id!r} says so already: nothing would change")
    try:
        return make_patch(item, changes, options.by)
    except RowRefused as fault:
        raise Refusal(f"item {item.item_id!r}: {fault.message}") from None


def field_of_or_refuse(item: Item, field: str) -> str | None:
    """Return a field's text.

    Raises:
        UsageError: a patch cannot change such a field.
    """
    try:
        return field_of(item, field)
    except RowRefused as fault:
        raise UsageError(
            fault.message, hint="question, explanation, correct_answer, options.B, ..."
        ) from None


def _has_rows(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _read_setting(text: str) -> tuple[str, str | None]:
    """Read FIELD=TEXT, as the command line gives a change.

    Raises:
        InputError: no "=".
    """
    field, equals, new = text.partition("=")
    if not equals or not field.strip():
        raise InputError(f"{text}: not of the form FIELD=TEXT")
    return field.strip(), new or None
