"""How a question is put: our words or a template's, a system prompt, solved examples before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.errors import InputError
from kina_build.items.model import named_keys
from kina_build.rows.jsonl import canonical, read_text
from kina_build.scoring.prompts import (
    DIRECT_PROMPT_VERSION,
    LABEL_PROMPT_VERSION,
    PROMPT_VERSION,
    build_prompt,
    instruct,
    prompt_digest,
)
from kina_build.scoring.questions import Question, hash_option

if TYPE_CHECKING:
    from jinja2 import Template

Message = dict[str, str]

VARIABLES = ("instruction", "question", "material", "options", "labels", "discipline")
"""What a template may show; each option has a label and a text."""


@dataclass(frozen=True)
class Wording:
    """The words around a question."""

    template: str | None = None
    """Jinja text; None: our own prompt."""
    name: str = "template"
    """Of the template's file, for messages."""
    system: str | None = None
    examples: tuple[Question, ...] = ()
    """Solved questions, shown as turns of the talk."""
    direct: bool = False
    """Ask for the answer alone, without reasoning."""
    label: bool = False
    """Ask for the label alone, as the first token."""

    @property
    def plain(self) -> bool:
        """Tell whether the question is put in our own words and nothing else."""
        return self == Wording(name=self.name)

    @property
    def version(self) -> str:
        """Return what names these words in reports: ours by version, others by their digest."""
        own = DIRECT_PROMPT_VERSION if self.direct else PROMPT_VERSION
        if self.label:
            own = LABEL_PROMPT_VERSION
        base = own if self.template is None else f"template-{prompt_digest(self.template)[:12]}"
        parts = [f"{len(self.examples)}-shot"] if self.examples else []
        if self.system is not None:
            parts.append(f"system-{prompt_digest(self.system)[:12]}")
        return "+".join([base, *parts])

    def messages(self, question: Question, order: Sequence[int] | None = None) -> tuple[Message, ...]:
        """Write the messages of a call.

        Args:
            question: what is asked; an example that is the question itself is left out.
            order: places of its options in the order shown; None keeps theirs.

        Raises:
            InputError: a template that does not hold, or shows what there is not.
        """
        talk: list[Message] = [] if self.system is None else [{"role": "system", "content": self.system}]
        for one in self.examples:
            if one.item_id != question.item_id:
                talk.append({"role": "user", "content": self._put(one, None)})
                told = ", ".join(named_keys(one.answer, one.labels))
                talk.append({"role": "assistant", "content": told if self.label else f"Answer: {told}"})
        talk.append({"role": "user", "content": self._put(question, order)})
        return tuple(talk)

    def digest(self, question: Question) -> str:
        """Return the digest of what is asked, in the question's own order of options."""
        if self.plain:
            return prompt_digest(build_prompt(question))
        return prompt_digest(canonical([self.version, *self.messages(question)]))

    def option_hashes(self, question: Question) -> tuple[str, ...] | None:
        """Return the digests of the options where the prompt is not our own, which proves them itself."""
        return None if self.plain else tuple(map(hash_option, question.choices))

    def _put(self, question: Question, order: Sequence[int] | None) -> str:
        instruction = instruct(question, direct=self.direct, label=self.label)
        if self.template is None:
            return build_prompt(question, order, instruction)
        shown = [question.choices[place] for place in order or range(len(question.choices))]
        return render(
            self.template,
            self.name,
            instruction=instruction,
            question=question.question,
            material=question.material,
            options=[
                {"label": label, "text": text} for label, text in zip(question.labels, shown, strict=True)
            ],
            labels=list(question.labels),
            discipline=question.discipline,
        )


def render(template: str, name: str, **values: Any) -> str:
    """Fill a template, in a sandbox: it reaches no attribute beyond what it is given.

    Raises:
        InputError: bad syntax, an unknown variable, or something the sandbox refuses.
    """
    from jinja2 import TemplateError

    try:
        return _compiled(template).render(**values).strip()
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            f"{name}{f':{line}' if line else ''}: {error}", hint=f"a template may show {', '.join(VARIABLES)}"
        ) from None
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise InputError(f"{name}: {error}", hint="the template's own arithmetic fails") from None


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # no autoescape: a prompt is no web page
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template)


def read_template(path: Path) -> str:
    """Read a template, and fill it once with a question of two options to see that it holds.

    Raises:
        InputError: as render, or a template that shows no question or no options.
    """
    text = read_text(path)
    probe = Question(
        item_id="probe", question="probed question", choices=("one probe", "two probe"), answer="A"
    )
    filled = Wording(template=text, name=str(path)).messages(probe)[-1]["content"]
    for needed, what in ((probe.question, "question"), *((text, "options") for text in probe.choices)):
        if needed not in filled:
            raise InputError(
                f"{path}: the template does not show the {what}", hint="{{ question }}, {{ options }}"
            )
    return text


def choose_examples(solved: Sequence[Question], count: int, place: str) -> tuple[Question, ...]:
    """Take the first questions of a split, by id, as examples.

    Raises:
        InputError: there are not so many.
    """
    if len(solved) < count:
        raise InputError(f"{place}: {len(solved)} questions, and {count} examples are wanted")
    return tuple(solved[:count])
