r"""LaTeX commands that are known: those our renderer knows, and common ones of text and packages."""

from __future__ import annotations

from functools import cache

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
