r"""Rules about LaTeX in texts: does it close what it opens, and could it compile?

"$5" is money: a dollar sign before an amount opens nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from kina_build.items.checking.rule import Fault
from kina_build.items.model import Item

MONEY = re.compile(
    r"(?<!\\)\$\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:[kKmMbB]|bn|mn|million|billion|trillion|thousand)\b)?"
    r"(?=$|[\s.,;:!?)\]\"'’”/%–—-])(?!\s*[=^_\\*<>])(?!\.?\d)"
    r"|(?<!\\)\$[A-Z]\b(?!\s*[=^_\\+*<>(-])(?=[\s.,;:?]|$)"  # by $X
)
DOLLAR = re.compile(r"(?<!\\)\$")
OPENS_MATH = re.compile(r"(?<!\\)\$(?=[A-Za-z\\({|\[-]|\d+[A-Za-z^_=+*/\\ ]*[\^_=\\+*])")
COMMAND = re.compile(r"\\[A-Za-z]{2,}")
BRACE = re.compile(r"(?<!\\)[{}]")
ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
MATHEMATICS = re.compile(r"\$[^$]+\$|\\\(.+\\\)|\\\[.+\\\]", re.DOTALL)
MALFORMED = (
    (re.compile(r"\\[dt]?frac\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*(?:$|[$+=)\]},])"), "\\frac with one argument"),
    (re.compile(r"\\(?:[dt]?frac|sqrt)\s*(?:$|\$)"), "a command without its argument"),
    (re.compile(r"\^\s*(?:\{[^{}]*\}|\w)\s*\^"), "a double superscript"),
    (re.compile(r"_\s*(?:\{[^{}]*\}|[A-Za-z0-9])\s*_(?=[{A-Za-z0-9])"), "a double subscript"),
    (re.compile(r"[\^_]\s*(?:\$|$|\})"), "a script without its text"),
)
"""What no LaTeX compiles, and its name."""


def check_math(item: Item) -> Iterator[Fault]:
    """Check each text of an item that has LaTeX in it; one fault a text and rule."""
    texts = {"question": item.question} | {f"options.{option.key}": option.answer for option in item.options}
    for where, text in texts.items():
        if "$" in text and _opens_unclosed(text):
            yield Fault("unbalanced_math", where, "a $ opens mathematics that nothing closes")
        if "\\" in text and COMMAND.search(text):
            yield from _check_pairs(where, text)
            yield from _check_commands(where, text)
            yield from _check_names(where, text)


def _opens_unclosed(text: str) -> bool:
    """Tell whether an odd dollar sign is left that is neither money nor closed."""
    if len(DOLLAR.findall(text)) % 2 == 0:
        return False
    left = MONEY.sub("", text)
    return len(DOLLAR.findall(left)) % 2 == 1 and bool(OPENS_MATH.search(left))


def _check_pairs(where: str, text: str) -> Iterator[Fault]:
    depth = lowest = 0
    for brace in BRACE.findall(text.replace("\\\\", "  ")):
        depth += 1 if brace == "{" else -1
        lowest = min(lowest, depth)
    if depth or lowest < 0:
        yield Fault("unbalanced_latex", where, "braces do not pair")
    left, right = len(re.findall(r"\\left\b", text)), len(re.findall(r"\\right\b", text))
    if left != right:
        yield Fault("unbalanced_latex", where, f"{left} \\left and {right} \\right")
    open_: list[str] = []
    for kind, name in ENVIRONMENT.findall(text):
        if kind == "begin":
            open_.append(name)
        elif not open_ or open_.pop() != name:
            yield Fault("unbalanced_latex", where, f"\\end{{{name}}} closes nothing")
            return
    if open_:
        yield Fault("unbalanced_latex", where, f"\\begin{{{open_[-1]}}} is not closed")


def _check_commands(where: str, text: str) -> Iterator[Fault]:
    for pattern, name in MALFORMED:
        if pattern.search(text):
            yield Fault("malformed_latex", where, name)
            return


def _check_names(where: str, text: str) -> Iterator[Fault]:
    """Find a command that no common package knows, in a text that holds mathematics at all."""
    names = [found[0] for found in COMMAND.finditer(text.replace("\\\\", "  "))]
    unknown = [name for name in names if not is_known_command(name[1:])]
    if (unknown and len(unknown) < len(names)) or (unknown and MATHEMATICS.search(text)):
        yield Fault("unknown_latex_command", where, f"no command {unknown[0]}", {"words": unknown[0]})


TEXT_COMMANDS = """
AA AE LaTeX TeX OE O S P aa ae oe ss l L i j dag ddag copyright pounds textregistered texttrademark
textdegree textasciitilde textasciicircum textbackslash textless textgreater textbar textquoteleft
textquoteright textquotedblleft textquotedblright textendash textemdash textellipsis textbullet textmu
textohm textsuperscript textsubscript textit textsl textsc textsf texttt textup textmd textnormal emph
underline uline sout par noindent indent newline linebreak pagebreak newpage clearpage smallskip medskip
bigskip vspace hspace hfill vfill hrule vrule hline cline toprule midrule bottomrule cmidrule multicolumn
multirow centering raggedright raggedleft tiny scriptsize footnotesize small normalsize large Large LARGE
huge Huge bf it rm sf tt sc sl em bfseries itshape rmfamily sffamily ttfamily scshape mdseries upshape
item itemize enumerate begin end label ref eqref cite footnote caption includegraphics input include
section subsection paragraph title author date url href verb verbatim lstinline usepackage documentclass
newcommand renewcommand def let relax color textcolor colorbox fbox framebox mbox makebox parbox minipage
raisebox rotatebox scalebox resizebox phantom hphantom vphantom ce pu cee chemfig SI si qty unit num ang
SIrange numrange per kilo mega giga milli micro nano pico centi deci metre meter gram kilogram second
ampere kelvin mole candela hertz newton pascal joule watt coulomb volt farad ohm siemens weber tesla
henry celsius degreeCelsius degree degrees lumen lux becquerel gray sievert litre liter minute hour day
percent squared cubed square cubic tothe raiseto bar angstrom electronvolt dv pdv dd abs norm ket bra
braket mel ev expval order grad curl div laplacian Tr tr rank erf Res operatorname operatornamewithlimits
DeclareMathOperator mathbb mathbbm mathds mathcal mathfrak mathscr mathrm mathbf mathit mathsf mathtt
boldsymbol bm pmb text intertext shortintertext tag notag nonumber tfrac dfrac cfrac frac binom tbinom
dbinom choose over atop substack overset underset stackrel sideset prescript xrightarrow xleftarrow
xleftrightarrow xRightarrow xlongequal xrightleftharpoons overbrace underbrace overline overrightarrow
overleftarrow overleftrightarrow underrightarrow underleftarrow widehat widetilde widebar wideparen
overparen overarc arc parallelogram euro textcelsius permil perthousand checkmark cancel bcancel xcancel
cancelto not slashed lvert rvert lVert rVert vert Vert lfloor rfloor lceil rceil langle rangle llbracket
rrbracket left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm biggm
Biggm limits nolimits displaystyle textstyle scriptstyle scriptscriptstyle quad qquad enspace thinspace
negthinspace medspace thickspace mathstrut strut smash mod bmod pmod pod arccot arcsec arccsc sech csch
arsinh arcosh artanh sgn sign lcm card supp diag Var Cov Pr max min sup inf lim limsup liminf det dim deg
exp gcd hom ker lg ln log arg sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan injlim
projlim varlimsup varliminf varinjlim varprojlim Re Im iff implies impliedby to gets land lor lnot ne le
ge leq geq neq gt lt colon dots cdots ldots vdots ddots dotsc dotsb dotsm dotsi dotso mathellipsis prime
backslash lbrace rbrace lbrack rbrack sqrt root hat check breve acute grave tilde vec dot ddot dddot
ddddot mathring mathop mathbin mathrel mathord mathopen mathclose mathpunct mathinner bigcirc hdotsfor
genfrac array matrix pmatrix bmatrix vmatrix Vmatrix smallmatrix cases align aligned gather gathered
split multline eqnarray equation tabular iint iiint oiint idotsint oint surd wr amalg vartriangle
triangleq trianglelefteq multimap rightleftharpoons leftrightharpoons leadsto upharpoonright restriction
varnothing emptyset complement nexists Finv Game eth hslash hbar imath jmath ell wp mho Bbbk therefore
because qed qedsymbol blacksquare Box Diamond lozenge star bigstar diamondsuit heartsuit clubsuit
spadesuit flat natural sharp dagger ddagger circledR circledS circledast circledcirc circleddash bullet
circ ast cdot times divideontimes and or neg sim nsim approx cong ncong equiv nequiv propto varpropto
simeq asymp doteq Doteq models vdash dashv Vdash vDash Vvdash nvdash perp parallel nparallel mid nmid
smile frown bowtie Join ltimes rtimes leftthreetimes rightthreetimes subset supset subseteq supseteq
nsubseteq nsupseteq subsetneq supsetneq in ni notin owns setminus smallsetminus cup cap uplus sqcup sqcap
vee wedge oplus ominus otimes oslash odot bigcup bigcap bigsqcup bigvee bigwedge bigoplus bigotimes
bigodot biguplus prod coprod sum int partial nabla infty forall exists angle measuredangle sphericalangle
aleph beth gimel daleth triangle triangledown bigtriangleup bigtriangledown triangleleft triangleright
mapsto longmapsto hookrightarrow hookleftarrow rightharpoonup rightharpoondown leftharpoonup
leftharpoondown rightarrow leftarrow Rightarrow Leftarrow leftrightarrow Leftrightarrow longrightarrow
longleftarrow Longrightarrow Longleftarrow longleftrightarrow Longleftrightarrow uparrow downarrow
Uparrow Downarrow updownarrow Updownarrow nearrow searrow swarrow nwarrow rightleftarrows leftrightarrows
twoheadrightarrow rightsquigarrow rightrightarrows nrightarrow nleftarrow nRightarrow nLeftarrow alpha
beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi omicron
pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega digamma Gamma Delta Theta Lambda
Xi Pi Sigma Upsilon Phi Psi Omega varGamma varDelta varTheta varLambda varXi varPi varSigma varUpsilon
varPhi varPsi varOmega Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi ulcorner urcorner
llcorner lrcorner lgroup rgroup lmoustache rmoustache prec succ preceq succeq ll gg lll ggg lesssim
gtrsim lessgtr gtrless leqslant geqslant nleq ngeq nless ngtr leqq geqq lneq gneq pm mp newenvironment
hskip vskip kern mkern mskip hbox vbox hss hfil vfil rule ensuremath protect usebox tabularnewline
arraystretch setlength unicode char symbol ding textquotesingle textasciigrave textcent textyen texteuro
textasteriskcentered textonehalf textonequarter textthreequarters textpm texttimes textdiv textlangle
textrangle epsiv
"""
"""Commands of LaTeX, amsmath, mathtools, siunitx, mhchem, physics and text."""


@cache
def _known() -> frozenset[str]:
    from latex2mathml import commands
    from latex2mathml.symbols_parser import parse_symbols

    names = set(parse_symbols())
    for value in vars(commands).values():
        if isinstance(value, str):
            names.add(value)
        elif isinstance(value, (tuple, list, set, frozenset, dict)):
            names.update(one for one in value if isinstance(one, str))
    return frozenset(name.lstrip("\\") for name in names).union(TEXT_COMMANDS.split())


def is_known_command(name: str) -> bool:
    """Tell whether a LaTeX command, without its backslash, is one of a common package."""
    known = _known()
    return name in known or (name.startswith("text") and name[4:] in known)


SPELLED = re.compile("[⁰¹²³⁴-⁹⁺⁻⁽⁾ⁿⁱ¼½¾⅐-⅞√π≤≥]")
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


def spell_out(text: str) -> str:
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
