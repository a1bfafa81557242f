r"""Numbers and formulas in options, written plainly or in LaTeX: are two of them the same?

A small parser of our own: sympy's LaTeX parser (lark) needs .1 to 1 s an expression,
reads neither "2\pi r" nor "\sqrt 3" and gives wrong trees for "\sin(x)+\cos(2x)" (sympy
1.14), and sympy's other parsers run what they read. Here nothing is run, input length
and number sizes are bounded, and arithmetic is exact as long as it stays rational.

Two formulas are the same when they agree at fixed sample values of their symbols
(Schwartz, J. ACM 1980: distinct polynomials of low degree hardly ever agree at a point).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Number = Fraction | float

LONGEST = 120
"""Characters of the longest text that is read as a formula."""
LARGEST_BITS = 2048
"""Size of numerators and denominators kept exact; beyond it the text is no formula to us."""
LARGEST_EXPONENT = 128
DEEPEST = 30
"""Nested brackets followed."""
MOST_SYMBOLS = 6
TOLERANCE = 1e-12
"""Relative difference up to which inexact values are equal."""

HINT = re.compile(r"[\d\\^√π½⅓¼¾²³]")
"""What a text without any of these cannot be: a number or a formula worth reading."""
SPELLED = re.compile("[⁰¹²³⁴-⁹⁺⁻⁽⁾ⁿⁱ¼½¾⅐-⅞√π≤≥]")
FOREIGN = re.compile(r"[\"#&?@`°:]")
"""Characters that no number or formula has."""
WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
MOST_WORDS = 3
"""Words outside LaTeX commands beyond which a text is prose: quicker than finding out by parsing."""
AMBIGUOUS = re.compile(
    r"\d\s*%?\s*[-–]\s*[\d.,]+\s*%?(?![\d.,%\s]*[-+*/^=])$"  # 45%-50% is a range
    r"|\^\{?[0o]\b|\d\s*\(\d|(?<![A-Za-z\\])[^\W\d_]\("  # 30^0 are degrees, 2(1/2) is 2.5, f(2) is no product
    r"|[A-Za-z]{2,}\s*-\s*\d"  # mol-1 is a unit
    r"|(?<!\\)\b[A-Za-z](?:sin|cos|tan|log|ln|exp)\s*\("  # tcos(2t) is no symbol "tcos"
)
"""Notations with two readings: texts that hold one are not compared in value."""
PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""Numbers that need no parser."""
TOKEN = re.compile(
    r"""(?x) (?P<number> \d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d) | \d+(?:\.\d+)? | \.\d+ )
    | (?P<command> \\[A-Za-z]+ ) | (?P<symbol> [A-Za-z\u0370-\u03ff]+(?:_(?:\{\w+\}|\w))?'* )
    | (?P<sign> <=|>=|[-+*/^(){}\[\]=<>%!|] ) | (?P<blank> \s+ )"""
)
SIGNS = str.maketrans(
    {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/", "⁄": "/"}
)
MARKUP = re.compile(
    r"\\left\b|\\right\b|\\[,;:! ]|\\displaystyle\b|\\limits\b|\\quad\b|\\qquad\b|(?<!\\)\$|~"
)
"""What only changes looks."""
FONT = re.compile(
    r"\\(?:mathrm|mathbf|mathit|mathsf|text|textrm|textbf|operatorname|boldsymbol|rm|bf)\s*\{([^{}]*)\}"
)
RELATIONS = {
    "=": "=",
    "<": "<",
    ">": ">",
    "<=": "<=",
    ">=": ">=",
    "\\le": "<=",
    "\\leq": "<=",
    "\\ge": ">=",
    "\\geq": ">=",
}
PRODUCTS = {"*", "\\times", "\\cdot"}
QUOTIENTS = {"/", "\\div"}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp, "ln": math.log, "log": math.log10,
    "arcsin": math.asin, "arccos": math.acos, "arctan": math.atan,
}  # fmt: skip
QUANTITY = re.compile(
    r"(?:var)?(?:[Dd]elta|[Gg]amma|[Tt]heta|[Ll]ambda|[Xx]i|[Pp]i|[Ss]igma|[Uu]psilon|[Pp]hi|[Pp]si|[Oo]mega)"
    r"|(?:var)?(?:epsilon|rho)|alpha|beta|zeta|eta|iota|kappa|mu|nu|tau|chi|hbar|ell|circ|degree|infty"
)
"""Commands that stand for a quantity or a unit; others may be signs of logic or of sets."""
CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Formula:
    """A number, a formula or a relation between formulas, as its values at the sample points."""

    relations: tuple[str, ...]
    values: tuple[Number, ...]
    """One for each side of the relations."""
    plain: bool
    """One number, however written (1/2, .5, 50 %, 5 × 10^-1), with or without a unit: no sum or power."""

    def same(self, other: Formula) -> bool:
        """Tell whether two formulas are the same."""
        return self.relations == other.relations and all(map(_same_number, self.values, other.values))


class _NotAFormula(Exception):
    """Say that a text is no formula, or none that is worth its cost."""


def read_formula(text: str) -> Formula | None:
    """Read a text as a number or formula; None where it is anything else, or too large."""
    if not may_be_formula(text):
        return None
    if PLAIN.fullmatch(text):
        return Formula((), (Fraction(text),), plain=True)
    markup = fold_markup(text)
    if AMBIGUOUS.search(markup):
        return None
    try:
        return _Parser(_tokenise(markup)).read()
    except (_NotAFormula, ArithmeticError, ValueError):
        return None


def may_be_formula(text: str) -> bool:
    """Tell quickly that a text is no formula, from its characters and words; True decides nothing."""
    if len(text) > LONGEST or not HINT.search(text) or FOREIGN.search(text):
        return False
    if "$" in text and "\\" not in text and text.count("$") == 1:  # money, not markup
        return False
    return len(WORD.findall(text)) <= MOST_WORDS


def fold_markup(text: str) -> str:
    r"""Drop LaTeX that only changes looks: "$\dfrac{1}{2}$" and "\frac{1}{2}", "\mathrm{Fe}" and "Fe"."""
    if "\\" in text or text.count("$") >= 2:
        plain = (
            MARKUP.sub(" ", re.sub(r"\\[dt]frac(?![a-z])", r"\\frac", text))
            .replace("\\(", " ")
            .replace("\\)", " ")
            .replace("\\%", "%")
        )
        for _ in range(3):
            plain = FONT.sub(r"\1", plain)
        text = plain
    return re.sub(r"([_^])\{(\w)\}", r"\1\2", text).strip() if "{" in text else text.strip()


def _tokenise(text: str) -> list[str]:
    text = _spell_out(text).translate(SIGNS)
    found = [match[0] for match in TOKEN.finditer(text)]
    if sum(map(len, found)) < len(text):  # something between two tokens is none
        raise _NotAFormula
    tokens = [token for token in found if not token.isspace()]
    symbols = {token for token in tokens if token[0].isalpha()}
    # products of capitals may be of matrices or genes, where the order counts
    words = sum(len(symbol) > 2 and symbol.isalpha() for symbol in symbols)
    if words > 1 or len(symbols) > MOST_SYMBOLS or sum(symbol[0].isupper() for symbol in symbols) > 1:
        raise _NotAFormula
    return tokens


def _spell_out(text: str) -> str:
    """Write superscripts and fraction characters in plain signs."""
    if text.isascii() or not SPELLED.search(text):
        return text
    out: list[str] = []
    for char in text:
        kind = unicodedata.decomposition(char).partition(" ")[0]
        if kind == "<super>":
            out.append("^" + unicodedata.normalize("NFKC", char))
        elif kind == "<fraction>":
            out.append("(" + unicodedata.normalize("NFKC", char) + ")")
        else:
            out.append({"√": "\\sqrt ", "π": "\\pi ", "≤": "<=", "≥": ">="}.get(char, char))
    # x²³ is x to the 23, not (x²)³
    return re.sub(r"(?<=\^\d)\^(?=\d)", "", "".join(out))


class _Parser:
    """Recursive descent over the tokens of one text; computes as it reads."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.operations = 0

    def read(self) -> Formula:
        values, relations = [self.sum()], []
        while (token := self.peek()) in RELATIONS:
            self.at += 1
            relations.append(RELATIONS[token])
            values.append(self.sum())
        if self.at < len(self.tokens):
            raise _NotAFormula
        return Formula(tuple(relations), tuple(values), plain=not relations and self.operations == 0)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        found = self.peek() == token
        self.at += found
        return found

    def sum(self) -> Number:
        total = self.product()
        while (sign := self.peek()) in ("+", "-"):
            self.at += 1
            self.operations += 1
            term = self.product()
            total = _bounded(total + term if sign == "+" else total - term)
        return total

    def product(self) -> Number:
        total = self.factor()
        while token := self.peek():
            if token in QUOTIENTS:
                self.at += 1
                literal = self.peek()[:1].isdigit()
                total = _bounded(total / self.factor())
                if not literal:
                    self._refuse_factor()  # 1/xy: y over x, or one over xy?
                if self.peek() in QUOTIENTS:  # .2/.3/.5: a list of shares, rather
                    raise _NotAFormula
            elif token in PRODUCTS:
                self.at += 1
                self.operations += self.peek() != "10"
                total = _bounded(total * self.factor())
            elif self._starts_factor(token):
                total = _bounded(total * self.power())
            else:
                break
        return total

    def _starts_factor(self, token: str) -> bool:
        """Tell whether a factor may follow without a sign; "3 4" and "x 3" are no products."""
        if token[0].isdigit() or token[0] == ".":
            return False
        return token in ("(", "{") or token[0].isalpha() or (token[0] == "\\" and token not in RELATIONS)

    def _refuse_factor(self) -> None:
        following = self.peek()
        if following and self._starts_factor(following):
            raise _NotAFormula

    def factor(self) -> Number:
        if self.take("-"):
            return -self.factor()
        return self.factor() if self.take("+") else self.power()

    def power(self) -> Number:
        base = self.atom()
        while self.take("%"):
            base = base / 100
        if not self.take("^"):
            return base
        self.operations += base != 10
        return _raise(base, self.exponent())

    def exponent(self) -> Number:
        """Read what stands behind "^": a bracket, or one sign and one atom; 10^23 is read whole."""
        if self.take("-"):
            return -self.atom()
        self.take("+")
        return self.atom()

    def atom(self) -> Number:
        token = self.peek()
        self.at += 1
        if token in ("(", "{"):
            return self.bracket(CLOSING[token])
        if token[:1].isdigit() or token[:1] == ".":
            return _number(token)
        if token[:1] == "\\":
            return self.command(token[1:])
        if token in FUNCTIONS:
            return self.command(token)
        if token[:1].isalpha():
            return _sample(token)
        raise _NotAFormula

    def bracket(self, closing: str) -> Number:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _NotAFormula
        value = self.sum()
        if not self.take(closing):
            raise _NotAFormula
        self.depth -= 1
        return value

    def command(self, name: str) -> Number:
        if name == "frac":
            return _bounded(self.argument() / self.argument())
        if name == "sqrt":
            root: Number = Fraction(2)
            if self.take("["):
                root = self.bracket("]")
            return _root(self.argument(), root)
        if name == "pi":
            return math.pi
        if name in FUNCTIONS:
            self.operations += 1
            value = FUNCTIONS[name](float(self.argument()))
            self._refuse_factor()  # sin 2x: of 2, or of 2x?
            if self.peek() == "^":  # log n^2: of n, or of n^2?
                raise _NotAFormula
            return value
        if not QUANTITY.fullmatch(name):  # \\neg p \\wedge q is no product
            raise _NotAFormula
        return _sample(name)

    def argument(self) -> Number:
        r"""Read a command's argument: a bracket, one atom, or one digit of a number (\frac12)."""
        token = self.peek()
        if token.isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return Fraction(int(token[0]))
        return self.atom()


def _number(token: str) -> Fraction:
    plain = token.replace(",", "")
    if len(plain) > 1 and plain[0] == "0" and plain[1] != ".":
        raise _NotAFormula  # 007 is a code, not the number 7
    whole, _, decimals = plain.partition(".")
    return Fraction(int(whole + decimals), 10 ** len(decimals))


@lru_cache(maxsize=4096)  # units and unknowns are few, and stand in option after option
def _sample(symbol: str) -> Fraction:
    """Return a symbol's sample value: fixed by its name, positive, and no simple fraction."""
    seed = 0
    for char in symbol:
        seed = (seed * 1_000_003 + ord(char)) % 998_244_353
    return Fraction(1009 + seed % 99_991, 9973)


def _raise(base: Number, exponent: Number) -> Number:
    whole = isinstance(exponent, Fraction) and exponent.denominator == 1
    if isinstance(base, Fraction) and whole:
        power = int(exponent)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(power) > LARGEST_EXPONENT or bits * abs(power) > LARGEST_BITS:
            raise _NotAFormula
        return base**power
    return math.pow(base, exponent)  # raises where the result is complex or too large


def _root(value: Number, root: Number) -> Number:
    if root == 2 and isinstance(value, Fraction) and value >= 0:
        exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if exact * exact == value:
            return exact
    return _raise(float(value), 1 / root)


def _bounded(value: Number) -> Number:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > LARGEST_BITS:
            raise _NotAFormula
    elif not math.isfinite(value):
        raise _NotAFormula
    return value


def _same_number(one: Number, other: Number) -> bool:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-15)
