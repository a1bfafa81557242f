"""Words that turn a question when they come, go or give way: negations, opposites, families, units."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

Axes = Sequence[Sequence[Collection[str]]]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(text.split())


_NEGATIONS = """
not no never none nor neither without except cannot false incorrect wrong least untrue
不 非 无 無 没 未 错 誤 误 否 除
nicht kein keine keiner keines keinem keinen nie niemals ohne außer ausser falsch weder niet geen nooit zonder
behalve ikke inte aldrig ingen uten utan uden
ne pas jamais sans sauf aucun aucune excepté nunca jamás ningún ninguna ninguno excepto salvo falso falsa non
nessun nessuna nessuno senza tranne eccetto não nunca nenhum nenhuma sem exceto fără
nie nigdy bez oprócz не нет ни никогда кроме без неверно ні немає крім nem soha kivéve nélkül
değil değildir hariç yoktur δεν όχι χωρίς εκτός
لا ليس ليست لم لن غير باستثناء לא אינו אינה אינם ללא नहीं सिवाय không bukan tidak kecuali tanpa
"""

NEGATIONS = words_of(_NEGATIONS)
"""Words that turn a question round wherever they are added or taken away. Left out, as they are other
words elsewhere: Spanish "sin", Italian "mai", Finnish "ei", Romanian "nu"."""

NEGATED_FORMS = re.compile("ない(?!し)|なかった|なく|ません|なければ|間違|않|아닌|아니|없|못하|못한|틀린")
"""Japanese and Korean forms that turn a verb round: matches in "面していない" and in "접하지 않은"."""

_AXES = """
most more greater larger higher maximum max highest largest greatest longest bigger biggest increase
increases increased increasing rise rises gain|less fewer smaller lower minimum min lowest smallest least
shortest decrease decreases decreased decreasing fall falls loss; before|after; above over|below under;
strong stronger strongest|weak weaker weakest; positive positively|negative negatively; first earliest
early earlier|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last latest late later;
always|sometimes|often|rarely; best good|worst bad; acid acidic|base basic; all|some|any; must|may; true
correct right|false incorrect wrong; with|without; even|odd; open opened|closed; up|down; on|off;
left|right|front|rear; north northern|south southern|east eastern|west western;
northeast|southeast|northwest|southwest; horizontal horizontally|vertical vertically;
parallel|perpendicular|series; inside inner within interior|outside outer exterior; internal
internally|external externally; top upper|bottom lower; upward upwards|downward downwards; forward
forwards|backward backwards; near nearest closest|far farthest furthest; hot hotter hottest warm|cold
colder coldest cool; wet|dry; full|empty; fast faster fastest|slow slower slowest; heavy heavier
heaviest|light lighter lightest; thick thicker|thin thinner; wide wider|narrow narrower; young younger
youngest|old older oldest; day|night; summer|winter|spring|autumn; solid|liquid|gas; male males man men
boy boys|female females woman women girl girls; husband|wife; father|mother; son|daughter; brother|sister;
king|queen; buyer buyers|seller sellers; demand|supply; debit|credit; asset assets|liability liabilities;
employer|employee; plaintiff|defendant; landlord|tenant; teacher|student; mean average|median|mode; sin
sine|cos cosine|tan tangent; row rows|column columns; numerator|denominator; necessary|sufficient;
oxidation|reduction; oxidized oxidised|reduced; proton protons|neutron neutrons|electron electrons;
dominant|recessive; artery arteries|vein veins; predator|prey; mitosis mitotic|meiosis meiotic;
genotype|phenotype; singular|plural; domestic|foreign; public|private; urban|rural; compression
compressed|tension stretched; sender|receiver; absorbs absorbed|emits emitted; lost loses|gained gains
wins won; buy buys bought|sell sells sold; won|lost; morning|evening; ancestor ancestors|descendant
descendants; input|output; red|blue|green|yellow|black|white|brown|orange|purple;
nördlich norden|südlich süden|östlich osten|westlich westen; grösste grössten|kleinste kleinsten; vor|nach;
mehr|weniger; links|rechts; nord|sud|ouest; plus|moins; grand grande|petit petite; avant|après;
gauche|droite; norte|sur sul|oeste; más mais|menos; mayor maior|menor; antes|después depois;
derecha direita|izquierda esquerda; più|meno; maggiore|minore; prima|dopo;
больше|меньше; северу север|югу юг|западу запад|востоку восток; до|после;
强 強|弱; 大|小; 多|少; 增 加|减 減; 升|降; 前|后 後; 左|右; 高|低; 正|负 負; 上|下;
内 內|外; 东 東|西|南|北; 男|女; 长 長|短; 快|慢;
最|较 較; 加|除|乘; 冷|热 熱; 始|终 終; 进 進|出; 买 買|卖 賣
"""

OPPOSITES = tuple(tuple(map(words_of, axis.split("|"))) for axis in _AXES.split(";"))
"""Axes of words that turn a question when one pole stands in place of another: "most" and "largest"
stand on one pole, "most" and "least" on two."""

OPPOSITE_SIGNS = tuple(
    tuple(map(words_of, axis.split("|"))) for axis in ["+|-", "<|>|=|≠|≤|≥", "∪|∩", "∧|∨", "∀|∃", "→|←|↔"]
)
"""Axes of signs, looked at where no word differs: among words signs come and go with the way of writing."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a", "anti", "counter", "ne")

SHORT_WORD = 3
"""Letters up to which a prefix says nothing ("a" and "are", "in" and "into")."""

_PREFIXES = """
hyper hypo|endo exo ecto|intra inter extra|pre post|ante post|pro epi|macro micro|homo hetero|in de|in
ex|im ex|con di|over under|mono di tri tetra penta hexa poly|uni multi|sub super supra|as des|clock
counterclock anticlock|cis trans|para ortho meta|eu pro|af ef|ab ad|max min|en ex|out in|up down
"""

PREFIXES = tuple(tuple(axis.split()) for axis in _PREFIXES.split("|"))
"""Beginnings of which another one makes another word: "hypertension" and "hypotension"."""

FAMILIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"((?:per|hypo|bi|thio|di|tri)?(?:nitr|sulf|sulph|phosph|chlor|brom|iod|ars|selen|carbon))(ate|ite|ide|ic|ous)s?",
        r"((?:silic|chrom|mangan|ox|ferr|cupr|plumb|stann|mercur))(ate|ite|ide|ic|ous)s?",
        r"((?:cyclo)?(?:meth|eth|prop|but|pent|hex|hept|oct|non|dec))(ane|ene|yne|anol|anal|anone|yl|anoic)s?",
        r"([a-z]{3,})(ase|ose|in)s?",
    )
)
"""Names that differ in their end alone and are different things: "nitrate" and "nitrite"."""

_UNITS = """
m metre metres meter meters|g gram grams|s second seconds sec|L l litre litres liter liters|F farad
farads|V volt volts|A ampere amperes amp amps|W watt watts|J joule joules|N newton newtons|Pa pascal
pascals|Hz hertz|Ω ohm ohms|eV electronvolt electronvolts|mol mole moles|T tesla teslas|cal calorie
calories
"""
_PREFIXED = "p pico|n nano|μ micro|m milli|c centi|k kilo|M mega|G giga"
_OTHER_UNITS = """
mile miles mi|foot feet ft|inch inches|yard yards|pound pounds lb lbs|ounce ounces oz|ton tons tonne
tonnes|min minute minutes|h hour hours hr hrs|day days|week weeks|month months|year years|decade
decades|century centuries|gallon gallons|atm atmospheres|bar|torr|K kelvin kelvins|C celsius|° degree
degrees|rad radian radians|%|‰|dollar dollars usd $|euro euros eur €|bit bits|byte bytes
"""


def _units() -> dict[str, str]:
    plain = [names.split() for names in _UNITS.split("|")]
    scaled = [
        [f"{short}{symbol}", *(f"{long}{name}" for name in names if len(name) > 2)]
        for short, long in map(str.split, _PREFIXED.split("|"))
        for symbol, *names in plain
    ]
    others = [names.split() for names in _OTHER_UNITS.split("|")]
    return {name.lower(): names[0] for names in (*scaled, *plain, *others) for name in names}


UNITS = _units()
"""Names of units in small letters, each with the symbol that stands for all of its spellings."""

ROMAN = words_of("i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx")
"""Roman numerals: "Type I" and "Type II"."""


def is_negation(word: str) -> bool:
    """Tell whether a word turns a question round wherever it stands."""
    return word in NEGATIONS or word.endswith(("n't", "n’t"))


def opposed(minus: Collection[str], plus: Collection[str], axes: Axes = OPPOSITES) -> bool:
    """Tell whether a word gave way to one of another pole of its axis, and to none of its own."""
    gone_words, came_words = set(minus), set(plus)
    for axis in axes:
        gone = {pole for pole, words in enumerate(axis) if gone_words.intersection(words)}
        came = {pole for pole, words in enumerate(axis) if came_words.intersection(words)}
        if gone and came and gone != came:
            return True
    return False


def prefixed(minus: Collection[str], plus: Collection[str]) -> bool:
    """Tell whether a word gave way to itself with another beginning, or with a negating one."""
    both = {*minus, *plus}
    for word in both:
        for prefix in NEGATING_PREFIXES:
            if (
                word.startswith(prefix)
                and len(word) > len(prefix) + SHORT_WORD
                and word[len(prefix) :] in both
            ):
                return True
    return any(_swapped(word, set(plus)) for word in minus)


def _swapped(word: str, others: set[str]) -> bool:
    for prefixes in PREFIXES:
        for prefix in prefixes:
            rest = word[len(prefix) :]
            longer = word.startswith(prefix) and len(rest) > SHORT_WORD
            if longer and any(other + rest in others for other in prefixes if other != prefix):
                return True
    return False


def of_one_family(minus: Collection[str], plus: Collection[str]) -> bool:
    """Tell whether a name gave way to another one of its family."""
    for family in FAMILIES:
        gone, came = (_ends(family, words) for words in (minus, plus))
        if any(came.get(root, end) != end for root, end in gone.items()):
            return True
    return False


def _ends(family: re.Pattern[str], words: Collection[str]) -> dict[str, str]:
    found = (family.fullmatch(word) for word in words)
    return {match.group(1): match.group(2) for match in found if match}


def other_units(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether units gave way to other ones; a unit written otherwise is none."""
    gone, came = (sorted(UNITS[word] for word in words if word in UNITS) for words in (minus, plus))
    return len(gone) == len(came) > 0 and gone != came
