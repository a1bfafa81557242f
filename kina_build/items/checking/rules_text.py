"""The rules about the texts of items: lost, left over, unfinished, or leaning on what is not there."""

from __future__ import annotations

from collections.abc import Mapping

from kina_build.items.checking.rule import Rule, Sketch

SOUND = Sketch()

TEXT: Mapping[str, Rule] = {
    "replacement_character": Rule(
        "a character was lost in "
        "decoding", "warning", "warning", Sketch("Which caf\ufffd is it?"), Sketch("Which café is it?")
    ),
    "control_character": Rule(
        "an unprintable character, as damaged LaTeX leaves", "error", "warning",
        Sketch("What is \x0crac{1}{2}?"), Sketch("What is\t\\frac{1}{2}?"),
    ),
    "mojibake": Rule(
        "UTF-8 that was read as another encoding", "warning", "warning",
        Sketch(options="OrlÃ©ans|Lyon|Lille"), Sketch(options="São João|Ângela|Île|Été"),
    ),
    "mixed_letters": Rule(
        "a word that mixes Latin and Cyrillic letters that look alike", "warning", "warning",
        Sketch(options="b\u0435aver|otter|badger"), Sketch("Что значит SMS?", "служба|сеть|сон"),
    ),
    "option_in_other_script": Rule(
        "one option in another script than the question and the other options", "warning", "info",
        Sketch("Which animal builds "
        "dams?", "beaver|выдра|badger|weasel"), Sketch("Which sign is it?", "beta|λ|gamma|delta"),
    ),
    "html_tag": Rule(
        "an HTML tag in a text", "warning", "warning",
        Sketch("<p>Which is a noble gas?</p>"), Sketch("Which HTML tag breaks a line?", "<br>|<hr>|<p>"),
    ),
    "html_entity": Rule(
        "an HTML entity that was never turned into its character", "warning", "warning",
        Sketch("Is it liquid at 4&deg;C?"), Sketch("Who owns R&D; and why?"),
    ),
    "sheet_date": Rule(
        "an option that a spreadsheet turned into a date", "warning", "warning",
        Sketch("How many seeds does a pod "
        "hold?", "3-May|7-Jun|12"), Sketch("On which day is it?", "3-May|7-Jun|8-Jun"),
    ),
    "sheet_error": Rule(
        "an option that is a spreadsheet's error", "error", "error",
        Sketch("Which number is even?", "#REF!|eight|nine"), Sketch("What does this Excel cell "
        "show?", "#REF!|#N/A|0"),
    ),
    "option_is_placeholder": Rule(
        "an option nobody wrote yet", "error", "warning", Sketch(options="oxygen|TBD|neon"),
        Sketch("Option 1 costs $5, Option 2 costs $9. Which is cheaper?", "Option 1|Option 2"),
    ),
    "template_slot": Rule(
        "a template's slot that was never filled", "error", "warning",
        Sketch("How many days has {month_name}?"), Sketch("Which set is {red, blue}?"),
    ),
    "chatbot_residue": Rule(
        "what a chatbot says around an answer", "error", "warning",
        Sketch(options="oxygen|As an AI language model, I cannot tell|neon"),
        Sketch("Which is a language model?", "GPT|oak|sea"),
    ),
    "lost_amount": Rule(
        "an amount without its first digits, as templates leave of $1,500", "warning", "warning",
        Sketch("A fine may be up to ,500 a day."), Sketch("It may be 1 ,500 or 2 ,600 a day."),
    ),
    "answer_in_stem": Rule(
        "the question tells its answer", "error", "warning",
        Sketch("Which gas do plants give off? (Answer: A)"), Sketch("Which word is an answer to A?"),
    ),
    "asks_for_several": Rule(
        "the question asks for several options, and one is keyed", "error", "warning",
        Sketch("Which are metals? Select all that apply."), Sketch("Choose two.", "1 and 2|2 and 3|1 and 3"),
    ),
    "stem_cut_off": Rule(
        "the question breaks off", "error", "warning",
        Sketch("Which of the following gases is the most"), Sketch("The most common gas is the"),
    ),
    "time_bound": Rule(
        "the answer changes with the day it is asked", "warning", "info",
        Sketch("Who is the current mayor of Lisbon?"), Sketch("Which unit measures electric current?"),
    ),
    "missing_media": Rule(
        "the question needs a figure or table that is not there", "error", "warning",
        Sketch("Welche Landform zeigt die folgende Abbildung?"), Sketch("Which figure of speech is it?"),
    ),
    "missing_passage": Rule(
        "the question needs a passage that is not there", "error", "warning",
        Sketch("What does the passage above imply?"), Sketch("What does a bird of passage do?"),
    ),
    "refers_to_context": Rule(
        "the question speaks of a paper, lecture or question that is not there", "error", "warning",
        Sketch("According to the lecture, which gas is it?"), Sketch("Who invented paper?"),
    ),
    "role_play": Rule(
        "the question tells the reader who to be", "error", None,
        Sketch("You are an expert in lakes. Which gas is "
        "it?"), Sketch("You are in a lift. How heavy are you?"),
    ),
    "unbalanced_math": Rule(
        "a $ opens mathematics that nothing closes", "error", "warning",
        Sketch("What is $x^2?"), Sketch("What is $x^2$, for $5?"),
    ),
    "unbalanced_latex": Rule(
        "braces, \\left or environments do not pair", "error", "warning",
        Sketch(r"What is $\frac{6}{3$?"), Sketch(r"What is $\frac{6}{3}$?"),
    ),
    "malformed_latex": Rule(
        "LaTeX that cannot "
        "compile", "error", "warning", Sketch(r"What is $\sqrt$?"), Sketch(r"What is $\sqrt 2$?")
    ),
    "unknown_latex_command": Rule(
        "a LaTeX command that no common package knows", "warning", "info",
        Sketch(r"What is $\fracc{1}{2}$?"), Sketch(r"What is $\dfrac{1}{2}\,\mathrm{kg}$?"),
    ),
    "explanation_contradicts_key": Rule(
        "the explanation calls another option right than the key", "error", "warning",
        Sketch(explanation="Plants do so; the answer is C."), Sketch(explanation="The answer is A, not C."),
    ),
    "missing_explanation": Rule(
        "an option without "
        "explanation", "warning", None, Sketch(each="N/A"), Sketch(each="It follows from the table.")
    ),
    "one_explanation_for_all": Rule(
        "each option has the same "
        "explanation", "warning", None, Sketch(each="It follows from the table."), SOUND
    ),
    "missing_source": Rule("no source of the "
    "question", "warning", None, SOUND, Sketch(source="Gases, 2nd ed., p. 4")),
    "source_not_allowed": Rule(
        "a source that nobody can look up: a chatbot, \"internet\"", "error", None,
        Sketch(source="ChatGPT, answer of 3 "
        "May"), Sketch(source="On ChatGPT. Journal of Tests, vol. 3, 2024"),
    ),
}  # fmt: skip
"""Rule to what it means, for rules about texts."""
