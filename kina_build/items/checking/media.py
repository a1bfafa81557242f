"""Figures, tables and passages that a question needs, by language: words that point at them.

Each language has words that bring its pattern into play, and a pattern in which a word for a
figure stands with one that points ("below", "shown", "following"): the word alone is no sign.
English, Chinese and Japanese have more of them, in stems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Pointers:
    """How one language points at what stands beside a question."""

    words: tuple[str, ...]
    """Lower-case stems one of which a question holds if the patterns can match."""
    media: re.Pattern[str]
    passage: re.Pattern[str] | None = None


def _pointers(words: str, media: str, passage: str | None = None) -> Pointers:
    compiled = re.compile(passage, re.IGNORECASE) if passage else None
    return Pointers(tuple(words.split()), re.compile(media, re.IGNORECASE), compiled)


LANGUAGES = {
    "en": _pointers(
        "shaded marked labelled labeled arrow circled highlighted diagram graph map figure picture table"
        " recording"
        " circuit apparatus",
        r"\b(?:shaded|marked|labell?ed|circled|highlighted|numbered|indicated|coloured"
        r"|colored)\b[^.?!]{0,40}?"
        r"\b(?:on|in) (?:the|this) (?:map|diagram|figure|picture|chart|image|photograph)\b(?! of)"
        r"|\b(?:point|region|area|structure|letter|number|arrow|part|layer) (?-i:[A-Z])\b (?:on"
        r"|in) (?:the|this) "
        r"(?:map|diagram|figure|graph|picture|chart|image|photograph)\b"
        r"|\bthe arrows? (?:labell?ed|marked) (?-i:[A-Z]\b)|\baccording to (?:the|this) (?:map|diagram"
        r"|figure|chart|graph|table(?! of))\b|\blisten to the (?:recording|audio|conversation|dialogue)\b"
        r"|\bin the (?:circuit|apparatus|figure|diagram|graph|picture) (?:shown|pictured|depicted)\b(?!"
        r" (?:that|to|by)\b)"
        r"|\b(?:on|in) (?:the|this) (?:map|diagram|figure|picture|chart|image) (?:above|below|shown"
        r"|provided)\b",
    ),
    "es": _pointers(
        "figura imagen gráfic mapa diagrama fotografía ilustración esquema texto fragmento tabla",
        r"\b(?:(?:siguiente|presente) (?:figura|imagen|gráfic[oa]|mapa|diagrama|fotografía|ilustración"
        r"|esquema|tabla)"
        r"|(?:figura|imagen|gráfic[oa]|mapa|diagrama|fotografía|ilustración|esquema|tabla) "
        r"(?:siguiente|adjunt[oa]|anterior|de (?:abajo|arriba)|que se muestra|mostrad[oa])"
        r"|(?:se (?:observa|muestra|ve|indica|señala)|mostrad[oa]|representad[oa]|señalad[oa]) "
        r"(?:en|por) (?:la|el|esta|este) (?:figura|imagen|gráfic[oa]|mapa|diagrama|fotografía"
        r"|ilustración|esquema))\b",
        r"\b(?:según|de acuerdo con|en) (?:el|este) (?:texto|fragmento|pasaje) (?:anterior"
        r"|siguiente)?(?=[\s,])|\btexto anterior\b",
    ),
    "fr": _pointers(
        "figure image graphique carte schéma diagramme illustration photo texte tableau document extrait",
        r"\b(?:(?:figure|image|graphique|carte|schéma|diagramme|illustration|photo(?:graphie)?|tableau"
        r"|document) "
        r"(?:ci-(?:contre|dessous|dessus|après|joint)|suivante?)"
        r"|(?:représentée?s?|montrée?s?|indiquée?s?|illustrée?s?) (?:sur|dans|par) (?:la|le|l['’]|cette|ce) ?"
        r"(?:figure|image|graphique|carte|schéma|diagramme|illustration|photo(?:graphie)?))",
        r"\b(?:d['’]après|selon) (?:le|ce) (?:texte|passage|document)\b|\b(?:texte|extrait"
        r"|passage) ci-(?:dessus|dessous|contre)",
    ),
    "de": _pointers(
        "abbildung diagramm grafik karte bild skizze schaubild text tabelle abschnitt",
        r"\b(?:(?:folgende[nrs]?|obige[nrs]?|untenstehende[nrs]?|nebenstehende[nrs]?|abgebildete[nrs]?"
        r"|gezeigte[nrs]?) "
        r"(?:abbildung|diagramm|grafik|karte|bild|skizze|schaubild|tabelle)"
        r"|(?:abbildung|diagramm|grafik|karte|bild|skizze|schaubild|tabelle) (?:oben|unten|rechts|links"
        r"|zeigt)"
        r"|(?:in|auf) der (?:abbildung|grafik|karte|skizze) (?:gezeigt|dargestellt|markiert|mit))\b",
        r"\b(?:obige[nrm]?|vorliegende[nrm]?|folgende[nrm]?) (?:text|abschnitt|auszug)\b|\b(?:laut"
        r"|gemäß) (?:dem )?text\b",
    ),
    "pt": _pointers(
        "figura imagem gráfico mapa diagrama fotografia ilustração esquema texto trecho tabela charge",
        r"\b(?:(?:seguinte) (?:figura|imagem|gráfico|mapa|diagrama|fotografia|ilustração|esquema|tabela)"
        r"|(?:figura|imagem|gráfico|mapa|diagrama|fotografia|ilustração|esquema|tabela|charge) "
        r"(?:abaixo|acima|a seguir|ao lado|seguinte|anterior)"
        r"|(?:mostrad[oa]s?|representad[oa]s?|indicad[oa]s?|ilustrad[oa]s?) (?:na|no|pela|pelo) "
        r"(?:figura|imagem|gráfico|mapa|diagrama|fotografia|ilustração|esquema))\b",
        r"\b(?:texto|trecho) (?:acima|abaixo|a seguir|anterior)\b|\b(?:de acordo com|segundo) o texto\b",
    ),
    "it": _pointers(
        "figura immagine grafico mappa cartina diagramma illustrazione schema fotografia brano testo tabella",
        r"\b(?:(?:seguente) (?:figura|immagine|grafico|mappa|cartina|diagramma|illustrazione|schema|tabella)"
        r"|(?:figura|immagine|grafico|mappa|cartina|diagramma|illustrazione|schema|fotografia|tabella) "
        r"(?:qui )?(?:sotto|sopra|seguente|a fianco|accanto|riportat[oa]|allegat[oa])"
        r"|(?:mostrat[oaie]|rappresentat[oaie]|indicat[oaie]|raffigurat[oaie]) (?:nella|nel|dalla|sulla"
        r"|sul|in) "
        r"(?:figura|immagine|grafico|mappa|cartina|diagramma|illustrazione|schema|fotografia))\b",
        r"\b(?:brano|testo) (?:precedente|seguente|sopra|riportato)\b|\bsecondo il (?:brano|testo)\b",
    ),
    "pl": _pointers(
        "mapie rysunk diagram wykres zdjęci ilustracj schemat fotografii tabel tekst tekś fragment",
        r"\b(?:zaznaczon\w+|przedstawion\w+|pokazan\w+|oznaczon\w+|widoczn\w+)\s+(?:jest\s+|są\s+)?na "
        r"(?:\w+ )?(?:mapie|rysunku|diagramie|wykresie|zdjęciu|ilustracji|schemacie|fotografii)"
        r"|\bna (?:powyższ\w+|poniższ\w+|załączon\w+) (?:mapie|rysunku|diagramie|wykresie|zdjęciu"
        r"|ilustracji|schemacie|tabeli)",
        r"\b(?:powyższ\w+|poniższ\w+) (?:tekst|fragment)\w*|\bzgodnie z tekstem\b",
    ),
    "ru": _pointers(
        "рисунк карт диаграмм график схем изображени фото таблиц текст отрыв",
        r"(?:показан\w*|изображ[её]н\w*|представлен\w*|обозначен\w*|отмечен\w*|указан\w*"
        r"|приведен\w*)\s+(?:на|в)\s+(?:\w+\s+)?"
        r"(?:рисунк|карт|диаграмм|график|схем|изображени|фото|таблиц)\w*"
        r"|на (?:этом |данном |следующем |приведенном |приведённом )(?:рисунк|карт|диаграмм|график|схем"
        r"|изображени|фото)\w*"
        r"|(?:рисун|карт|диаграмм|график|схем|таблиц)\w* (?:ниже|выше)\b",
        r"\b(?:согласно|из) (?:приведенного |данного )?(?:тексту|текста|отрывка)\b|\bтекст\w* (?:выше"
        r"|ниже)\b",
    ),
    "uk": _pointers(
        "малюнк рисунк карті діаграм графік схемі зображенн",
        r"(?:показан\w*|зображен\w*|позначен\w*|наведен\w*)\s+на\s+(?:\w+\s+)?(?:малюнк|рисунк|карт"
        r"|діаграм|графік|схем|зображенн)\w*",
    ),
    "nl": _pointers(
        "afbeelding figuur diagram grafiek kaart foto tekst tabel",
        r"\b(?:(?:onderstaande|bovenstaande|volgende) (?:afbeelding|figuur|grafiek|kaart|foto|diagram|tabel)"
        r"|(?:afbeelding|figuur|grafiek|kaart|foto|diagram) (?:hieronder|hierboven|toont))\b",
        r"\b(?:onderstaande|bovenstaande|volgende) (?:tekst|passage)\b",
    ),
    "tr": _pointers(
        "şekil şekl grafi harita resim resm diyagram tablo parça metin",
        r"\b(?:yukarıda|aşağıda|yanda)ki (?:\w+ )?(?:şek|grafi|harita|resim|resm|diyagram|tablo|görsel)\w*",
        r"\b(?:yukarıda|aşağıda)ki (?:parça|metin|metn)\w*|\bparçaya göre\b",
    ),
    "vi": _pointers(
        "hình biểu bản sơ đồ đoạn bảng",
        r"\b(?:hình vẽ|hình ảnh|hình|biểu đồ|đồ thị|bản đồ|sơ đồ|bảng) (?:bên|dưới đây|sau đây|trên|dưới"
        r"|sau)(?![\w])(?! mặt)",
        r"\b(?:đoạn (?:văn|trích|thơ)|văn bản) (?:trên|sau|dưới đây)\b",
    ),
    "id": _pointers(
        "gambar grafik peta diagram bagan tabel bacaan teks",
        r"\b(?:gambar|grafik|peta|diagram|bagan|tabel) (?:di (?:bawah|atas|samping)(?: ini)?"
        r"|berikut(?: ini)?|tersebut)\b",
        r"\b(?:bacaan|teks|paragraf|wacana) (?:di (?:atas|bawah)|tersebut|berikut)\b",
    ),
    "tl": _pointers(
        "larawan mapa", r"\b(?:nasa|sa) (?:larawan|mapa|dayagram) (?:sa (?:itaas|ibaba)|na ito)\b"
    ),
    "sw": _pointers(
        "mchoro picha ramani", r"\b(?:mchoro|picha|ramani) (?:hapa chini|hapo juu|ifuatayo|huu)\b"
    ),
    "el": _pointers(
        "σχήμα εικόνα χάρτη διάγραμμα πίνακα κείμενο",
        r"(?:παρακάτω|παραπάνω|ακόλουθ\w+|διπλαν\w+) (?:σχήμα|εικόνα|χάρτη|διάγραμμα|γράφημα|πίνακα)",
        r"(?:παρακάτω|παραπάνω) (?:κείμενο|απόσπασμα)",
    ),
    "ar": _pointers(
        "الشكل الخريطة الصورة الرسم المخطط الجدول النص الفقرة",
        r"(?:الموضح\w*|المبين\w*|الظاهر\w*|المشار|يظهر|تظهر)\s+(?:\S+\s+){0,2}?(?:في|على) (?:الشكل"
        r"|الخريطة|الصورة|الرسم|المخطط)"
        r"|(?:الشكل|الخريطة|الصورة|الرسم|المخطط|الجدول)(?: البياني)? (?:أدناه|أعلاه|التالي\w*|المجاور\w*"
        r"|المقابل\w*)",
        r"(?:النص|الفقرة|القطعة) (?:أدناه|أعلاه|السابق\w*|التالي\w*)",
    ),
    "fa": _pointers(
        "شکل تصویر نمودار نقشه", r"(?:شکل|تصویر|نمودار|نقشه)\u200c?ی? (?:زیر|بالا|مقابل|روبه‌رو|داده شده)"
    ),
    "ur": _pointers(
        "تصویر نقشے خاکے شکل", r"(?:نیچے|اوپر|درج ذیل)(?: دی گئی| دیے گئے| دیئے گئے)? (?:تصویر|نقشے|خاکے|شکل)"
    ),
    "hi": _pointers(
        "चित्र आरेख मानचित्र ग्राफ नक्शे तालिका गद्यांश",
        r"(?:नीचे|ऊपर|निम्न\S*|उपरोक्त|दिए गए|दिये गये|इस)(?: (?:दिए|दिये|दी|दर्शाए) (?:गए|गये"
        r"|गई))? (?:चित्र|आरेख|मानचित्र|ग्राफ|नक्शे|तालिका)"
        r"|(?:चित्र|आरेख|मानचित्र|ग्राफ|नक्शे) में (?:दिखा|दर्शा|अंकित)\S*",
        r"(?:उपरोक्त|ऊपर दिए गए|निम्नलिखित|दिए गए) (?:गद्यांश|अनुच्छेद)",
    ),
    "mr": _pointers("आकृती चित्रात नकाशा", r"(?:खालील|वरील|दिलेल्या|सोबतच्या) (?:आकृती|चित्र|नकाशा|आलेख)\S*"),
    "bn": _pointers(
        "চিত্র মানচিত্র ছবি",
        r"(?:নিচের|নিম্নের|উপরের|প্রদত্ত) (?:চিত্র|মানচিত্র|ছবি"
        r"|লেখচিত্র)\S*",
    ),
    "ta": _pointers(
        "படத்தி வரைபட",
        r"(?:கீழே|கீழ்க்காணும்|மேலே|கொடுக்கப்பட்ட)\s*(?:உள்ள |கொடுக்கப்பட்ட )?(?:படத்தி"
        r"|வரைபட)\S*",
    ),
    "te": _pointers("చిత్రం చిత్రంలో పటంలో", r"(?:క్రింది|కింది|పై|ఇచ్చిన) (?:చిత్ర|పట)\S*"),
    "th": _pointers(
        "ภาพ รูป แผนที่ แผนภูมิ กราฟ",
        r"(?:จาก|ใน|ดัง)?(?:ภาพ|รูป|แผนที่|แผนภูมิ|กราฟ|แผนภาพ)(?:ด้านล่าง|ด้านบน|ต่อไปนี้|ข้างล่าง"
        r"|ข้างต้น|ที่กำหนดให้)",
    ),
    "ko": _pointers(
        "그림 지도 그래프 사진 도표 지문 글",
        r"(?:아래|다음|위|제시된)(?:의)? ?(?:그림|지도|그래프|사진|도표|표)"
        r"(?:에|은|는|의|을|를|이|과|와|으로)",
        r"(?:윗글|위 글|위의 글|위 지문|제시문)",
    ),
    "ja": _pointers(
        "図 グラフ 写真 地図 表",
        r"(?:次の|下の|上の|右の|左の|以下の|上記の)(?:図|グラフ|写真|地図|表(?![現面情すし記計題示皮層敬紙]))",
    ),
}
"""Language to its pointers."""


@dataclass(frozen=True)
class AnyLanguage:
    """The patterns of all languages for one thing that may be missing."""

    pointers: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]

    @cached_property
    def plain(self) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
        """Return the pointers whose words a text in ASCII can hold."""
        ascii_only = ((tuple(filter(str.isascii, words)), pattern) for words, pattern in self.pointers)
        return tuple((words, pattern) for words, pattern in ascii_only if words)

    def search(self, text: str, lowered: str) -> str | None:
        """Return the first words that point at it in any of the languages, blanks squeezed."""
        for words, pattern in self.plain if lowered.isascii() else self.pointers:
            if any(map(lowered.__contains__, words)):
                found = pattern.search(text)
                if found:
                    return " ".join(found[0].split())
        return None


POINTS_AT_MEDIA = AnyLanguage(tuple((one.words, one.media) for one in LANGUAGES.values()))
POINTS_AT_PASSAGE = AnyLanguage(tuple((one.words, one.passage) for one in LANGUAGES.values() if one.passage))
