"""Pages of the command line: one a group of the contents page, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from docs.generate.markdown import cell, code, page, slug, table
from kina_build.cli.contents import CONTENTS
from kina_build.cli.main import app

EXAMPLE = re.compile(r"^Example: `(.*)`$", re.DOTALL | re.MULTILINE)
COMMON = ("config", "json", "quiet", "verbose", "force", "overwrite", "help")
"""Options that mean one thing everywhere: described once, on the first page."""
INTRO = """The pages of this part are made from the commands themselves, so they say what
`kina COMMAND --help` says. Data goes to stdout, talk to stderr; `-` and pipes stand for any file that
is read. Exit codes: 0 done; 1 the data was read and found wanting; 2 wrong usage, settings or file;
130 interrupted.
"""


def pages() -> dict[str, str]:
    """Make the index of commands and one page a group."""
    found: dict[str, str] = {}
    index = [INTRO, "## Options of every command\n", _options(_walk_one(("check",)), common=True)]
    for top, groups in CONTENTS.items():
        for title, lines in groups.items():
            named = f"{title} (kina review)" if top != "kina" else title
            name = slug(f"{top.removeprefix('kina')} {title}")
            sections = [_section(path) for first in lines for path in _below((*top.split()[1:], first), top)]
            if not sections:
                continue
            found[f"cli/{name}.md"] = page(named, *sections)
            rows = [[code(f"{top} {one}"), cell(what)] for one, what in lines.items()]
            index += [f"## [{named}]({name}.md)\n", table(["command", "does"], rows)]
    left = [
        path
        for path in commands()
        if not any(f"## kina {' '.join(path)}\n" in text for text in found.values())
    ]
    if left:  # `kina --help` lists them under "More"
        found["cli/more.md"] = page("More", *map(_section, left))
        index.append("## [More](more.md)\n")
    toc = "```{toctree}\n:hidden:\n\n" + "\n".join(f"{n[4:-3]}" for n in found) + "\n```\n"
    return {"cli/index.md": page("Commands", *index, toc)} | found


def commands() -> dict[tuple[str, ...], Any]:
    """Return every command by its path."""
    return dict(_walk(get_command(app), ()))


def _walk(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, (*path, name))
        else:
            yield (*path, name), command


def _below(path: tuple[str, ...], top: str) -> list[tuple[str, ...]]:
    """List the commands at or below a name; `review`, which has pages of its own, counts as none."""
    if " ".join(("kina", *path)) in CONTENTS:
        return []
    return [one for one in commands() if one[: len(path)] == path]


def _walk_one(path: tuple[str, ...]) -> Any:
    return commands()[path]


def _section(path: tuple[str, ...]) -> str:
    command = _walk_one(path)
    text = command.help or ""
    example = EXAMPLE.search(text)
    about = EXAMPLE.sub("", text).strip()
    shown = f"```sh\n{' '.join(example.group(1).split())}\n```\n" if example else ""
    usage = " ".join(["kina", *path, *_arguments(command), "[options]"])
    parts = [
        f"## kina {' '.join(path)}\n",
        about + "\n",
        f"```text\n{usage}\n```\n",
        shown,
        _options(command),
    ]
    return "\n".join(part for part in parts if part)


def _arguments(command: Any) -> list[str]:
    return [one.name.upper() for one in command.params if one.param_type_name == "argument"]


def _options(command: Any, *, common: bool = False) -> str:
    context = command.context_class(command, info_name=command.name)
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or (parameter.name in COMMON) != common:
            continue
        name, meaning = record
        rows.append([code(_plain(name)), cell(meaning)])
    return table(["option", "means"], rows) if rows else ""


def _plain(name: str) -> str:
    """Write the kind of a value as words: Python's names of types say nothing to most people."""
    return re.sub(r"<list\[(\w+)\]>", r"<\1>", name).replace("<Path>", "<path>").replace("<str>", "<text>")
