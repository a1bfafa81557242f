"""How options speak of the other options together or by place, in the languages items come in."""

from __future__ import annotations

import re


def _joined(*patterns: str) -> str:
    return " | ".join(pattern.strip() for pattern in patterns)


TOGETHER = _joined(
    # English: "none of the above", "all of these", "both of the above are true", "all the above"
    r"""(?:all|none|any|some|most|both|neither|either|two|three|one) \s+ (?:\w+\s+)? of \s+ (?:the\s+)?
        (?:above|below|following|preceding|previous|other|others|these|those|them|options?|answers?
          |choices?|statements?|listed|mentioned) \b .*""",
    r"(?:all|none|both) \s+ (?:of\s+)? (?:the\s+)? above \b .*",
    r"none | all | no \s+ (?:correct|right) \s+ (?:answer|option|choice) | no \s+ other \s+ option .*",
    # Chinese, Japanese, Korean
    r"(?:以上|上述|上記|上面|前述).* | (?:都|均|皆|全部?)不?(?:正确|正確|对|對|是|错|錯)[。.]?",
    r"いずれも.* | どれでもない | すべて(?:正しい|該当).* | (?:該当|正解)なし | どれも.*",
    r"(?:위의?|위에|이상|상기|보기)\s*.*(?:모두|없|아니|아님|전부|정답).* | 모두\s*(?:정답|맞|해당"
    r"|옳).* | 해당\s*없음 | 정답\s*없음",
    # Spanish, Portuguese, Italian, French, Romanian, Catalan
    r"(?:ningun[oa]|tod[oa]s|ambas?|ambos) \s+ (?:de\s+)?(?:l[oa]s|ellas?|ellos?|estas|estos) \b .* "
    r"| ningun[oa] | todas",
    r"(?:nenhuma?|tod[oa]s|ambas?|ambos) \s+ (?:d?[oa]s|delas|deles|destas|dessas|as) \b .*",
    r"(?:nessun[ao]|tutt[ei]|entramb[ei]) \s+ (?:delle|dei|degli|di|le|i|gli) \b .*",
    r"(?:aucune?|toutes?|tous) \s+ (?:de\s+|des\s+|d')? (?:ces|les|celles|ce|réponses|propositions"
    r"|choix) \b .*",
    r"(?:niciun[aul]* | nici\s+un[aul]* | toate | toți | ambele) \s+ .*(?:de\s+mai\s+sus|anterioare"
    r"|variant|răspuns|dintre).*",
    r"(?:cap|totes|tots) \s+ (?:de\s+)? (?:les|els) \s+ .*",
    # German, Dutch, Scandinavian
    r"""(?:keine?r?s?|alle|beide) \s+ (?:der|die|davon|dieser|oben|obigen?|antworten|genannten|vorgenannten
          |vorherigen|aufgeführten) \b .* | keine | alle | nichts \s+ davon .*""",
    r"""(?:geen|alle|al|beide|allemaal|elk) (?:\s+van)? (?:\s+(?:de|het|deze|die))?
        \s+ (?:bovenstaande|bovengenoemde|voorgaande|vorige|hierboven|genoemde|opties|antwoorden)\w* \b .*""",
    r"""(?:ingen|inget|intet|alla|alle|samtliga|begge|båda|både) (?:\s+(?:av|af))? (?:\s+(?:de|dessa|disse
          |det))?
        \s+ (?:ovan\w*|oven\w*|nevnte|nämnda|nævnte|alternativ\w*|svar\w*) \b .*""",
    # Russian, Ukrainian, Bulgarian, Polish, Czech, Slovak, Serbo-Croatian, Slovene
    r"""(?:ни\s+один|ни\s+одно|ни\s+одна|ничего|все|всё|оба|обе|нет\s+верн\w+|нет\s+правильн\w+|жоден
          |жодн\w+|усі|всі|всичк\w+
          |нито\s+едн\w+) \s+ (?:из\s+|з\s+|із\s+|от\s+)? (?:выше|перечисл|вариант|ответ|предложен|назван
          |указан|них|этих|эти
          |вище|перелічен|зазначен|варіант|відповід|наведен|горн|посочен|изброен)\w* .*""",
    r"(?:żad[ne]\w*|wszystki\w+|wszystko|oba|obie|obydw\w+) \b .*(?:powyższ|wymienion|wyżej|odpowied"
    r"|podan)\w* .*",
    r"(?:všechn\w*|vše|žádn\w*|nic|obě|oba|všetk\w*|žiadn\w*|nič|obe) \b .*(?:výše|vyššie|uveden|zmíněn"
    r"|předchoz|predchádz|možnost|odpověd|odpoved)\w* .*",
    r"(?:sv[eai]|nijedn\w*|ništa|nobe\w*|vse|oba|obje) \b .*(?:naveden\w*|gore|zgoraj|odgovor\w*)\b .*",
    # Greek, Hungarian, Finnish, Turkish
    r"(?:όλ\w+|κανέν\w*|καμ[ίι]α|τίποτα|και\s+τα\s+δύο) \b .*(?:παραπάνω|ανωτέρω|προηγούμεν|απαντήσ)\w* .*",
    r"(?:mind\w*|egyik\s+sem|egyik|az\s+összes|összes|valamennyi) \b .*(?:fenti\w*|előző\w*|felsorolt\w*"
    r"|válasz\w*) .*",
    r"egyik\s+sem | mindegyik | egyik\s+sem\s+(?:helyes|igaz) .* | mindegyik\s+(?:helyes|igaz) .*",
    r"(?:lahat|wala) \s+ (?:ng|sa) \s+ (?:nabanggit|mga|itaas|mga\s+ito|pagpipilian)\b .*",
    r"(?:kaikki|ei\s+mikään|mikään|molemmat|ei\s+yksikään) \b .*(?:edell|yllä|vaihtoeh|mainit)\w* .*",
    r"(?:yukarıdak\w+|hepsi|hiçbiri|tümü|her\s+ikisi)(?:\s+\w+){0,3}",
    # Arabic, Persian, Urdu, Hebrew
    r"(?:جميع|كل|كافة|لا\s*شيء|ليس|لا\s+أحد|أي|كلا) .*(?:ما\s*سبق|مما\s*سبق|أعلاه|سبق|المذكور|الإجابات"
    r"|الخيارات|ذكر).*",
    r"(?:همه|هیچ|تمام|هر\s*دو) .*(?:موارد|گزینه|بالا|فوق|هیچ).* | هیچکدام | هیچ\s*کدام",
    r"(?:مندرجہ\s*بالا|مذکورہ|اوپر|درج\s*بالا).* | ان\s*میں\s*سے\s*کوئی.* | (?:تمام|سب)\s*(?:درست|صحیح).*",
    r"""(?:כל|אף|שום|שתי|אין) .*(?:לעיל|הנ"ל|הנ״ל|התשובות
          |תשובה\s+(?:אינה|לא|נכונה)|מהן|מאלה|מהתשובות|הנזכר).*""",
    # Hindi, Bengali, Marathi, Tamil, Telugu
    r"(?:उपरोक्त|उपर्युक्त|उपयुक्त|ऊपर|ऊपरोक्त).* | इनमें\s*से\s*(?:कोई|सभी).* | सभी\s*(?:सही|विकल्प).* "
    r"| वरील.* | यापैकी.*",
    r"(?:উপরের|উপরোক্ত|উল্লিখিত).* | কোনোটিই.* | কোনটিই.* | সবগুলো(?:ই)?.*",
    r"மேற்கண்ட.* | மேலே.* | மேலுள்ள.* | இவை\s*அனைத்தும்.* | పైవన్నీ.* | పై\s*.* | ఏదీ\s*కాదు",
    # Vietnamese, Thai, Indonesian and Malay, Swahili
    r"(?:tất\s*cả|cả|không|chẳng|mọi) .*(?:ở\s+trên|trên|đáp\s*án|câu\s*trả\s*lời|phương\s*án|lựa\s*chọn).*",
    r"(?:ถูกทุกข้อ|ผิดทุกข้อ|ทุกข้อ|ไม่มีข้อ|ข้อ.*ถูก|ทั้งหมดข้างต้น|ไม่มีคำตอบ).*|.*(?:ข้างต้น)",
    r"(?:semua|tidak\s+ada|bukan|tiada|kedua|keduanya) \b .*(?:di\s*atas|jawaban|jawapan|pilihan|tersebut"
    r"|benar|salah)\b.*",
    r"(?:zote|yote|hakuna|hamna) .*(?:juu|jibu|majibu|hapo).*",
)
"""Phrases for all, none or both of the others."""

PINNED = re.compile(rf"(?xi) \W* (?: {TOGETHER} ) \W*")
"""A whole option that speaks of the other options together ("none of the above"); "all metals" is none."""

_COUNT = r"(?:two|three|four|five|2|3|4|5)"
_NTH = r"(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)"

PLACES = re.compile(
    rf"\b{_NTH}\s+{_COUNT}\b|\b(?:other|previous|preceding|above|next)\s+{_COUNT}\b"
    rf"|\b{_NTH}\s*(?:,|and|or|&|nor)\s*(?:the\s+)?{_NTH}\b"
    rf"|\b(?:options?|answers?|choices?)\s+(?:{_COUNT}|one|1)\b"
    rf"|\b(?:{_NTH}|previous|preceding|next|other)\s+(?:option|answer|choice|one|alternative)s?\b"
    rf"|\b(?:same|identical|equal|equivalent)\s+(?:as|to)\s+the\s+{_NTH}\b|\b(?:option|answer"
    rf"|choice)s?\s+(?:above|below)\b"
    r"|[前后後最][两兩二三四2-4]\s*[项項个個者种種]|第[一二三四五1-5][项項个個]?\s*(?:和|与|與"
    r"|、|或|及)\s*第?[一二三四五1-5]"
    r"|(?:最初|最後|初め|前|後)の\s*(?:二|三|2|3|２|３)つ"
    r"|[1-5１-５一二三四五]番?[目]?と[1-5１-５一二三四五]番"
    r"|(?:처음|앞|마지막|뒤|앞의|뒤의)\s*(?:두|세|2|3)"
    r"|\b(?:deux|trois)\s+(?:premi|derni)\w+|\b(?:premi|deuxi|seconde?"
    r"|troisi)\w*\s+et\s+(?:l[ae]s?\s+)?(?:seconde?|deuxi|troisi|quatri|derni)"
    r"|\b(?:dos|tres|duas|dois|três|due|tre|dous)\s+(?:primer|últim|ultim|primeir|prim)\w*"
    r"|\b(?:primer|primeir|prim|últim|ultim)\w*\s+(?:dos|tres|duas|dois|três|due|tre)\b"
    r"|\b(?:primer|primeir|prim|segund|second)[oaie]\w*\s+[eyi]\s+(?:[loai]\w{0,2}\s+)?(?:segund"
    r"|tercer|terceir|second|terz|cuart|quart|últim|ultim)\w*"
    r"|\b(?:ersten?|letzten?|vorigen)\s+(?:beiden|zwei|drei)\b|\b(?:beiden|zwei|drei)\s+(?:ersten"
    r"|letzten)\b"
    r"|\berste\w*\s+und\s+(?:d\w+\s+)?(?:zweite|dritte|vierte|letzte)"
    r"|\bzweite\w*\s+und\s+(?:d\w+\s+)?(?:dritte|vierte|letzte)"
    r"|\b(?:eerste|laatste)\s+(?:twee|drie)\b|\beerste\s+en\s+(?:de\s+|het\s+)?(?:tweede|derde"
    r"|laatste)"
    r"|\b(?:första|sista|første|siste|sidste)\s+(?:två|to|tre)\b|\b(?:två|to|tre)\s+(?:första|sista"
    r"|første|siste|sidste)\b"
    r"|\b(?:перв|последн|перш|останн)\w+\s+(?:два|две|дві|три|пункт|вариант)|\b(?:два|две|дві"
    r"|три)\s+(?:перв|последн|перш|останн)"
    r"|\bперв\w+\s+и\s+(?:втор|трет|четв|послед)"
    r"|\b(?:pierwsz|ostatni)\w*\s+(?:dw|trz)|\b(?:dw\w+|trzy)\s+(?:pierwsz|ostatni)"
    r"|\bpierwsz\w+\s+i\s+(?:drug|trzec|ostat)"
    r"|\b(?:první|poslední|prvé|posledné)\s+(?:dvě|dva|tři|tri|dve)|\bprvní\s+a\s+(?:druh|třet"
    r"|posledn)"
    r"|\b(?:ilk|son)\s+(?:iki|üç)|\b(?:hai|ba)\s+\S+\s+(?:đầu|cuối)|\b(?:dua"
    r"|tiga)\s+(?:yang\s+)?(?:pertama|terakhir)|\bpertama\s+dan\s+(?:kedua|ketiga|terakhir)"
    r"|(?:أول|آخر)\s+(?:اثن|خيار|إجاب|ثلاث)|(?:الأول|الأولى)\s+و\s*(?:الثان|الثالث|الأخير)"
    r"|(?:पहले|पहली|अंतिम|आखिरी)\s+(?:दो|तीन)|(?:πρώτ|τελευταί)\w*\s+(?:δύο|δυο|τρ)|\b(?:δύο"
    r"|τρ[ίε]\w*)\s+(?:πρώτ|τελευταί)"
    r"|\bprim(?:ele|ii)\s+(?:două|doi|trei)|\bultim(?:ele|ii)\s+(?:două|doi|trei)|\bels?\s+(?:dos"
    r"|tres)\s+primers",
    re.IGNORECASE,
)
"""Words for options by their place: "the first two" and "the first and the third"; "first law" is none."""

PLACE_WORDS = 9
"""Words beyond which an option's "first two" is about something else than options."""


HINTS = re.compile(
    r"first|second|third|same|identical|equal|equivalent|[1-5][snrt][tdh]|last|other|previous|preceding|above|below|next|option|answer"
    r"|choice|[项項个個者第の番두세]"
    r"|premi|derni|deuxi|prim|[uú]ltim|erst|letzt|vorig|zweit|eerst|laatst|första|sista|første|siste"
    r"|sidste|перв|последн|перш"
    r"|останн|pierwsz|ostatni|první|poslední|prvé|posledné|ilk|son|đầu|cuối|pertama|terakhir|أول|آخر"
    r"|पहल|अंतिम|आखिर|πρώτ|τελευτ",
    re.IGNORECASE,
)
"""Pieces without one of which no option speaks of a place: looking for them is quick."""

ABOVE = re.compile(
    r"(?i)above|below|preced|previous|oben|obig|vor(?:her|genan)|ci-dessus|précéd|anterior|préced|выше"
    r"|вище|горн|powyż|wyżej"
    r"|výše|vyššie|předch|predch|gore|zgoraj|παραπ|ανωτ|mai\s+sus|fenti|előző|yukar|以上|上述|上記"
    r"|上面|前述|위|이상|상기"
    r"|उपर|उपयु|ऊपर|वरील"
    r"|উপর|مندرج|مذکور|اوپر|سبق|أعلاه|بالا|فوق|לעיל|trên|atas|bovens|voorg|hierboven|ovan|oven|edell|yllä"
    r"|ข้างต้น|juu"
)
"""Words for what stands before: such an option means nothing where others stand behind it."""


def names_places(text: str) -> bool:
    """Tell whether a whole option speaks of others by their place."""
    if len(text.split()) > PLACE_WORDS or HINTS.search(text) is None:
        return False
    return PLACES.search(text) is not None
