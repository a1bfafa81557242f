"""The grammar of a formula: tokens, and a parser that gives its value or its tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from kina_build.items.checking.mathmarkup import SIGNS, spell_out
from kina_build.items.checking.quantities import (
    NotAFormula,
    Number,
    bounded,
    raise_to,
    read_number,
    root_of,
    same_number,
    sample,
)

DEEPEST = 30
"""Nested brackets followed."""
MOST_SYMBOLS = 6
TOKEN = re.compile(
    r"""(?x) (?P<number> \d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d) | \d+(?:\.\d+)? | \.\d+ )
    | (?P<command> \\[A-Za-z]+ ) | (?P<symbol> [A-Za-z\u0370-\u03ff]+(?:_(?:\{\w+\}|\w))?'* )
    | (?P<sign> <=|>=|[-+*/^(){}\[\]=<>%!|] ) | (?P<blank> \s+ )"""
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
        return self.relations == other.relations and all(map(same_number, self.values, other.values))


def parse_formula(text: str) -> Formula:
    """Parse a text without the markup that only shapes it.

    Raises:
        NotAFormula: it is anything else, or too large.
        ArithmeticError: it has no value, such as 1/0.
        ValueError: a function is taken outside its domain.
    """
    return _Parser(_tokenise(text)).read()


def _tokenise(text: str) -> list[str]:
    text = spell_out(text).translate(SIGNS)
    found = [match[0] for match in TOKEN.finditer(text)]
    if sum(map(len, found)) < len(text):  # something between two tokens is none
        raise NotAFormula
    tokens = [token for token in found if not token.isspace()]
    symbols = {token for token in tokens if token[0].isalpha()}
    # products of capitals may be of matrices or genes, where the order counts
    words = sum(len(symbol) > 2 and symbol.isalpha() for symbol in symbols)
    if words > 1 or len(symbols) > MOST_SYMBOLS or sum(symbol[0].isupper() for symbol in symbols) > 1:
        raise NotAFormula
    return tokens


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
            raise NotAFormula
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
            total = bounded(total + term if sign == "+" else total - term)
        return total

    def product(self) -> Number:
        total = self.factor()
        while token := self.peek():
            if token in QUOTIENTS:
                self.at += 1
                literal = self.peek()[:1].isdigit()
                total = bounded(total / self.factor())
                if not literal:
                    self._refuse_factor()  # 1/xy: y over x, or one over xy?
                if self.peek() in QUOTIENTS:  # .2/.3/.5: a list of shares, rather
                    raise NotAFormula
            elif token in PRODUCTS:
                self.at += 1
                self.operations += self.peek() != "10"
                total = bounded(total * self.factor())
            elif self._starts_factor(token):
                total = bounded(total * self.power())
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
            raise NotAFormula

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
        return raise_to(base, self.exponent())

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
            return read_number(token)
        if token[:1] == "\\":
            return self.command(token[1:])
        if token in FUNCTIONS:
            return self.command(token)
        if token[:1].isalpha():
            return sample(token)
        raise NotAFormula

    def bracket(self, closing: str) -> Number:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotAFormula
        value = self.sum()
        if not self.take(closing):
            raise NotAFormula
        self.depth -= 1
        return value

    def command(self, name: str) -> Number:
        if name == "frac":
            return bounded(self.argument() / self.argument())
        if name == "sqrt":
            root: Number = Fraction(2)
            if self.take("["):
                root = self.bracket("]")
            return root_of(self.argument(), root)
        if name == "pi":
            return math.pi
        if name in FUNCTIONS:
            self.operations += 1
            value = FUNCTIONS[name](float(self.argument()))
            self._refuse_factor()  # sin 2x: of 2, or of 2x?
            if self.peek() == "^":  # log n^2: of n, or of n^2?
                raise NotAFormula
            return value
        if not QUANTITY.fullmatch(name):  # \\neg p \\wedge q is no product
            raise NotAFormula
        return sample(name)

    def argument(self) -> Number:
        r"""Read a command's argument: a bracket, one atom, or one digit of a number (\frac12)."""
        token = self.peek()
        if token.isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return Fraction(int(token[0]))
        return self.atom()
