"""The words that reject, suppose, take back or refuse, in many languages; tables as in cues.py."""

from __future__ import annotations

import re

from kina_build.scoring.replies.patterns import Cues, any_of, listed

REJECTS_BEFORE = listed(
    r"""
    not · \w+n['’]t · cannot · neither · nor · never · rather than · instead of · rul(?:e|es|ed|ing) out ·
    eliminat\w{1,4} · exclud\w{1,4} · discard\w{0,3} · reject\w{0,3} · dismiss\w{0,3} · except · unlike ·
    apart from · wrong · incorrect · cross(?:ed|ing)? out · distractors? · trap · no longer · nicht ·
    kein · weder · noch · statt · pas · ni · plutôt que · no es · en vez de · não · non · не · ни ·
    вместо · nie · zamiast · değil · bukan · tidak · không · ليس · ليست · لا · नहीं · 不是 · 不选 · 不選 ·
    并非 · 並非 · 排除 · 而非 · 而不是 · 不 · ไม่ใช่
    """
)
"""Words before a letter that reject it."""

PASSES_OVER = listed(
    r"""
    than · over · versus · vs · against · besides · without · other than · beats · unlike · als · que ·
    чем · niż · di · daripada · hơn · 比
    """
)
"""Words that reject a letter right behind them."""

VERDICT_WRONG = listed(
    r"""
    incorrect · wrong · false · no · fails · falsch · faux · incorrecto · falso · неверно · 错误 · 錯誤 ·
    誤り · 오답 · ✗ · ✘ · ❌ · ☒
    """
)
"""Words and signs behind a letter that heads a line."""

REJECTING_ADJECTIVES = listed(
    r"""
    wrong · incorrect · not · false · out · excluded · eliminated · ruled out · discarded · rejected ·
    too · a distractor · a trap · the trap · the distractor · impossible · invalid · inert · unlikely ·
    irrelevant · tempting · off · never
    """
)
"""Words that reject a letter when joined to it by a form of "to be"."""

REJECTS_AFTER_ALONE = listed(
    r"""
    is the only (?:one|option|choice|answer|statement)
    (?:(?:that|which|i|we|you|can|would|could|may) ){0,4}(?:be )?(?:ruled?|eliminat\w+|exclud\w+|reject\w*) ·
    isn'?t · aren'?t · wasn'?t · fails? · failed · contradicts · conflicts · cannot · can'?t · won'?t ·
    does(?:n'?t| not) · do(?:n'?t| not) · would not · wouldn'?t · could not · confus\w+ · wrong ·
    incorrect · ist (?:\w+ )?(?:falsch|nicht) · est (?:faux|fausse|incorrecte?) · n'est ·
    es incorrect[ao] · no es · está errad[ao] · é incorret[ao] · è sbagliat[ao] · неверн\w* ·
    неправильн\w* · yanlış · salah · sai · 错误 · 錯誤 · 不正确 · 不正確 · 不符合 · 不对 · 不對 · 不完整 ·
    均错 · 错 · 틀 · 誤り · ではなく · じゃなく · は誤 · ではない · 가 아니 · 이 아니 · ผิด · ไม่ถูก ·
    خاطئة? · غلط · गलत
    """
)
"""Words behind a letter that reject it by themselves."""

TURNS = listed(
    r"""
    so · but · остаётся · остается · queda · resta · reste · bleibt · zostaje · only · hence · thus ·
    therefore · leaving · leaves · it is · it's · instead · rather, · 而是 · 应是 · 所以 · 因此 ·
    sondern · mais · sino · mas · ma · а · lecz · but rather · tapi · then · melainkan · mà là · بل ·
    なく · 아니라 · แต่ · bensì · aber · donc · → · ->
    """
)
"""Words that end the reach of a rejection before them."""

HYPOTHETICAL = listed(
    r"""
    if · whether · suppose · supposing · assume · assuming · unless · while · although · though · wenn ·
    falls · ob · obwohl · si · aunque · se · если · хотя · eğer · jika · nếu · could be · might be ·
    may be · maybe · perhaps · 可能 · かもしれ · 如果 · 假如 · 假设 · 虽然 · 若 · もし · 만약 · ถ้า ·
    إذا · यदि
    """
)
"""Words that make what follows in their sentence a supposition."""

SUPERSEDED = listed(
    r"""
    first (?:thought|answer|guess|instinct|impression|idea) · at first · initial(?:ly)? · originally ·
    (?:was|were) (?:about|going|tempted|inclined) to · my earlier · previous(?:ly)? · i (?:had )?thought ·
    先前 · 最初 · 原来 · 起初 · 一开始 · 原本 · zuerst · anfangs · d'abord · al principio · сначала ·
    처음에 · primero pensé · inizialmente · başta
    """
)
"""Words that say that what follows was an earlier answer."""

OTHERS = listed(
    r"""
    students · people · candidates · pupils · learners · beginners · examinees · readers? · many · most ·
    some · others · anyone · everyone · someone · whoever · they · examiners? · novices · respondents ·
    test[- ]takers · you might · one might · one may · why · siswa · orang · 同学 · 学生 · 考生 · 误 ·
    誤 · 容易 · alumnos · estudiantes · alunos · estudantes · étudiants · élèves · studenten · schüler ·
    viele · studenti · студенты · многие · studenci · öğrenciler · học sinh · 受験者 · 학생 · nhiều ·
    muchos · beaucoup · muitos · molti · wielu
    """
)
"""Words of a sentence that tells of somebody else's choice."""

CONDITIONAL = listed(
    r"""
    would · \w{1,4}['’]d · wouldn['’]t · might · could · wäre · würde · serait · sería · seria · sarebbe ·
    бы · byłby · byłaby · byłoby · olurdu · akan · thì · skulle · zou · olisi · volna · lenne · ar fi ·
    bi bil\w · by byl\w* · 则 · 則 · となる · になる · 였을
    """
)
"""Verbs of what would hold."""

CONDITIONS = listed(
    r"""
    if · suppose · supposing · unless · wenn · falls · si · se · если · якби · gdyby · kdyby · ha · jika ·
    seandainya · nếu · om · als · jos · dacă · 如果 · 假如 · 若 · もし · 만약 · ถ้า · لو · اگر · यदि ·
    অলে · אם · εάν · αν
    """
)
"""Words that open a condition."""

CORRECTIONS = listed(
    r"""
    no · wait · actually · correction · sorry · oops · hmm · scratch that · i mean · i meant · make that ·
    on second thought · on reflection · rather · let me correct · correcting myself · my mistake · nein ·
    non · pardon · perdón · нет · точнее · 不对 · 不， · 更正 · いや · 아니
    """
)
"""Words with which a writer takes something back."""

REFUSALS = listed(
    r"""
    i (?:do not|don'?t|cannot|can'?t|am not able|am unable|won'?t) · unable to · not able to ·
    i'?m not sure · i'?m (?:sorry|unable) ·
    (?:can ?not|can'?t|could not|couldn'?t) (?:be )?(?:determine|answer|decide|say|tell) · cannot ·
    none of (?:the|these|them|those) · none · neither · n/?a · unknown · no (?:correct )?answer ·
    not (?:sure|enough|possible|given|listed|applicable|available|provided) · insufficient ·
    impossible to · undetermined · indeterminate · any of the · all of the · as an ai · skip · pass ·
    unsure · keine (?:der|davon) · ich wei(?:ß|ss) (?:es )?nicht · weiß nicht · leider ·
    je ne (?:sais|peux) · aucune? (?:des|de) · no (?:lo )?sé · ninguna? de · no puedo ·
    não (?:sei|posso) · nenhuma? d · non (?:lo )?so · nessuna · не знаю · не могу · ни один · nie wiem ·
    nie mogę · bilmiyorum · hiçbiri · tidak (?:tahu|dapat) · không (?:biết|thể) · لا أعرف · لا أستطيع ·
    i will leave this · leave (?:it|this one) blank · नहीं पता · 无法 · 無法 · 不知道 · 抱歉 · 对不起 ·
    以上都不 · 都不 · わかりません · 分かりません · できません · 申し訳 · 모르 · 없습니다 · 죄송 ·
    ไม่ทราบ · ขออภัย · ไม่สามารถ
    """
)
"""Phrases with which a reply declines."""

NAMED_WITH_LETTERS = listed(
    r"""
    vitamin · vitamins · hepatitis · plan · group · type · war · class · block · figure · fig · table ·
    case · phase · stage · vertex · point · part · section · appendix · grade · factor · protein ·
    chapter · volume · act · king · pope · influenza · streptococcus · schedule · category · team · line ·
    segment · angle · side · set · matrix · event · node · gate · system · company · person · country ·
    city · state · sample · species · gene · drug · region · field · constant · variable · function ·
    force · mr · dr · mrs · ms · st · world war · elizabeth · george · let · define · call · denote ·
    consider · where · given · at · henry · charles · william · napoleon · john · malcolm · nicholas ·
    ramesses · edward
    """
)
"""Words behind which a lone capital is a name or a symbol, not an option."""

REASONS = listed(
    r"""
    because · since · as · for · by · due · given · from · based · while · whereas · which · that · is ·
    was · are · and · or · but · not · rather · instead · with · the · weil · da · denn · car · parce ·
    porque · pues · perché · omdat · потому · так · ponieważ · çünkü · karena · vì · on · matches · fits ·
    holds · works · would · seems · looks · should · must · it · in · over · than · however · though ·
    although · if · when · so · then · therefore · where · has · states · says · correct · only · alone ·
    here · again · after · too · definitely · being · und · oder · et · ou · y · o · e · и · или · lub ·
    ve · veya · dan · atau · och · en
    """
)
"""Lower-case words that may follow a letter A or I which is an option."""

_CONDITION = Cues(CONDITIONS)
_IRREAL_VERB = Cues(CONDITIONAL)
_FORCED = re.compile(
    r"\bif i (?:had to|have to|must|were to|was to)|\bif (?:forced|pressed|asked)", re.IGNORECASE
)
_IRREAL = re.compile(r"\w*s[ae]yd[ıi]|\bolurdu\b|\bif\b.*\bwould\b", re.IGNORECASE)
_CONCLUDES = re.compile(
    any_of(("but", "so", "therefore", "thus", "hence", "所以", "因此", "故", "而是")), re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[!?;。！？；\n]|\.(?=\s|$)")


def imagined(before: str, behind: str) -> bool:
    """Tell whether a sentence tells of what would hold under a condition that does not."""
    sentence = f"{before} {_SENTENCE_END.split(behind)[0]}"
    if _FORCED.search(sentence):
        return False
    return _IRREAL.search(sentence) is not None or (
        _CONDITION.occurs(before) and _IRREAL_VERB.occurs(sentence) and _CONCLUDES.search(before) is None
    )
