"""The words that announce, pick and confirm an answer, in many languages.

Tables only. Each entry is a piece of a regular expression, matched without regard to case;
"·" parts entries. Scripts that write no blanks need no word boundaries, the others get them.
"""

from __future__ import annotations

from kina_build.scoring.replies.patterns import listed

ANSWER_NOUNS = listed(
    r"""
    answer(?:answer){0,2} · answers · ans · antwort · antworten · réponses · respuestas · risposte ·
    respostas · antwoorden · odpowiedzi · ответы · відповіді · lösung · réponse · reponse · respuesta ·
    resposta ·
    risposta · antwoord · svar · svaret · svarið · odpowiedź · odpowiedz · odpověď · odpoveď · ответ ·
    відповідь ·
    отговор(?:ът|а)? · адказ · одговор · odgovor · cevap · cevabı · yanıt · cavab · jawaban · jawabannya ·
    jawapan · đáp án · câu trả lời · trả lời · απάντηση · răspuns · răspunsul · raspuns · válasz ·
    vastaus · vastus · atsakymas · atbilde · jibu · sagot · жауап · javob · الإجابة · الاجابة · إجابة ·
    اجابة · الجواب · جواب · پاسخ · התשובה · תשובה · उत्तर · जवाब · উত্তর · பதில் · விடை · సమాధానం · જવાબ ·
    ਜਵਾਬ · ഉത്തരം · ಉತ್ತರ · జవాబు · පිළිතුර · პასუხი · პასუხია · መልሱ · መልስ · պատասխան\w{0,2} · хариулт ·
    хариу · gabarito · megoldás · rješenje · riešenie · řešení · rozwiązanie · vastauksen ·
    erantzun\w{0,2} · ateb · responsum · respondo · ចម្លើយ · ຄຳຕອບ · အဖြေ · 答案 · 回答 · 解答 · 答え ·
    正解 · 故选 · 故選 · 应选 · 應選 · 选择 · 選擇 · 选 · 選 · 答 · 正确选项 · 正確選項 · 정답 · 답변 ·
    답안 · 답 · คำตอบ · เฉลย · ตอบ
    """
)
"""Words that announce an answer."""

OPTION_NOUNS = listed(
    r"""
    option · options · choice · choices · letter · alternative · one · statement · response · selection ·
    pick · conclusion · candidate · solution · opción · opcion · opção · opcao · opzione · alternativa ·
    lettre · letra · lettera · buchstabe · möglichkeit · aussage · optie · alternativ · alternativet ·
    alternatief · вариант · варіант · буква · пункт · opcja · možnosť · możliwość · možnost · seçenek ·
    şık · şıkkı ·
    pilihan · opsi · huruf · lựa chọn · phương án · επιλογή · varianta · vaihtoehto · vaihtoehdon ·
    chaguo · گزینهی · آپشن · గుర్తు · ఎంపిక · ఆప్షన్ · ಆಯ್ಕೆ · ഓപ്ഷൻ · ვარიანტი · አማራጭ · տարբերակ\w{0,2} ·
    сонголт · válasz · proposition · proposición · afirmación · afirmação · affermazione · affirmation ·
    bewering · утверждение · твердження · твърдение · stwierdzenie · zdanie · tvrzení · tvrdenie ·
    állítás · ifade · pernyataan · phát biểu · πρόταση · العبارة · عبارت · טענה · कथन · 陈述 · 说法 · 項 ·
    项 · 記述 · 문장 · ข้อความ · påståendet? · påstand\w{0,2} · väite · الخيار · خيار · الحرف · گزینه ·
    گزینۀ · گزینهٔ ·
    האפשרות · אפשרות · विकल्प · বিকল্প · விருப்பம் · 选项 · 選項 · 選択肢 · 보기 · 선택지 · 번 · ข้อ ·
    ตัวเลือก · 肢
    """
)
"""Words for an option: they may stand before its letter, and declare only beside a word of RIGHT."""

RIGHT = listed(
    r"""
    correct · right · best · true · final · chosen · selected · appropriate · accurate · valid · likely ·
    only · my · suitable · intended · richtig · richtige · korrekt · korrekte · correcte? · bonne ·
    exacte? · juste · correct[ao] · corret[ao] · corrett[ao] · giust[ao] · cert[ao] · juist · juiste ·
    rätt · riktig · правильн\w{0,4} · верн\w{0,4} · вірн\w{0,4} · poprawn\w{0,3} · prawidłow\w{0,3} ·
    správn\w · doğru · benar · tepat · đúng · chính xác · σωστή · σωστό · corectă? · helyes · oikea ·
    sahihi · صحيحة? · الصحيحة? · درست · صحیح · נכונה · נכון · הנכונה · सही · সঠিক · சரியான · సరైన ·
    ಸರಿಯಾದ · ശരിയായ · ਸਹੀ · સાચો · නිවැරදි · სწორი · სწორია · ትክክለኛው · ትክክለኛ · ճիշտ · зөв · тачан ·
    тачна · исправан · točn\w{1,2} · pravi\w{0,3} · zutreffend\w{0,2} · richtige[rsnm] · korrekte[rsnm] ·
    riktige · rätta · duurs\w · дұрыс · to‘g‘ri · tamang · cywir · ĝusta · zuzena · 正确 · 正確 · 正しい ·
    正解 · 最佳 · 符合 · 适合 · 適切 · 옳 · 맞 · 올바른 · 정답 · ถูก · ถูกต้อง
    """
)
"""Words that confirm an option."""

SUBJECTS = listed(
    r"""
    which · it · exception · odd one out · intruder · winner · key · claim · claims · statement ·
    sentence · item · interpretation · explanation · description · assertion · pairing · remaining ·
    one that · option that · choice that · falsch · nicht zutreffend · unzutreffend · nicht richtig ·
    intrus · incorrect[ao] · fals[ao] · fausse · errad[ao] · incorret[ao] · errat[ao] · sbagliat[ao] ·
    quella · неверн\w{0,3} · неправильн\w{0,3} · ложн\w{0,3} · невірн\w{0,3} · лишн\w{0,3} ·
    błędn\w{0,2} · fałszyw\w{0,2} · yanlış · sai · salah · onjuist · fel · feil · forkert · virheellinen ·
    λανθασμένη · λάθος · hibás · hamis · nesprávn\w · nepravdiv\w · nisto\w+ · netočn\w · погрешн\w ·
    грешн\w\w? · câu · 的 · もの · こと · のは · 것은 · 것 · 올바른 ·
    (?:ال)?خاطئة? · (?:ال)?خطأ · غلط · نادرست · गलत · ভুল · ผิด · שגוי\w{0,2} · לא נכון
    """
)
"""Subjects of a sentence that names the option looked for, also where what does not hold is asked."""

ADVERBS = listed(
    """
    actually · in fact · finally · finalement · en fait · bien · plutôt · aber · jedoch · eigentlich ·
    nämlich ·
    doch · tatsächlich · finalmente · en realidad · realmente · más bien · invece · in realtà · infatti ·
    na verdade · afinal · egentligen · faktiskt · faktisk · toch · eigenlijk · jednak · właściwie · однако ·
    всё-таки · все-таки · на самом деле · aslında · ternyata · sebenarnya · thực ra · 其实 · 其實 ·
    实际上 · 実は ·
    사실 · في الواقع · در واقع · वास्तव में
    """
)
"""Adverbs that may stand between "is" and a letter."""

COPULAS = listed(
    r"""
    is · are · was · be · sind · sont · son · sono · são · zijn · są · являются · would be · must be ·
    should be · has to be · appears to be · seems to be · ist ·
    lautet · wäre · est · serait · es · sería · seria · sarebbe · é · è · is dus · är · er · to · és ·
    je · је · az · jest · это · є · това е · е · là · adalah · ialah · είναι · este · on · ni · ay · هي ·
    ir · yra · ste · هو · является · olarak · است · היא · הוא · है · ہے · ነው · է՝? · yw · estas · da ·
    হল · হলো · olan ·
    olmalı · 是 · 为 · 為 · 应为 · 應為 · は · が · 은 · 는 · 이 · คือ · ได้แก่
    """
)
"""Words that join an announcement to its letter."""

NOT_COPULAS = listed(
    r"""
    isn'?t · is not · wasn'?t · is neither · can'?t be · cannot be · ist nicht · n'est pas · no es ·
    não é · non è · не · nie jest · değil · bukan · không phải là · ليست · ليس · 不是 · 不为 · ではなく
    """
)
"""Words that join an announcement to a letter it is not."""

PICKS = listed(
    r"""
    choose · choosing · chose · pick · picking · picked · select · selecting · selected · say · go with ·
    going with · went with · go for · opt for · settle on · settle for · vote for · lean towards? ·
    leaning towards? · answer · conclude · conclude that · guess · bet on · stick with · wähle · nehme ·
    choisis · je retiens · elijo · escojo · selecciono · escolho · scelgo · kies · väljer · velger ·
    vælger · выбираю ·
    обираю · wybieram · volím · vybírám · seçiyorum · memilih · pilih · chọn · επιλέγω · aleg ·
    választom · valitsen · nachagua · أختار · اختر · انتخاب · בוחר · चुनता हूँ · recommend · prefer ·
    mark · circle · vote is for · tick · entscheide mich für · tippe auf · tippe aber auf ·
    glaube,? es ist · je dirais · choisir · il faut choisir · je pense que c'est · diría que es · diría ·
    direi · penso sia · acho que é · diria · myślę,? że · ik denk dat het · sanırım · думаю,? что ·
    думаю · gok · i suspect · key (?:presumably |probably )?says · предполагаю · εκλέγω · 选择 · 選擇 ·
    选 · 選 · เลือก · 선택
    """
)
"""Verbs of choosing that stand before the letter."""

LEADS_TO = listed(
    r"""
    so · thus · hence · therefore · it'?s · it is · that'?s · that is · this is · it must be ·
    leaves? · leaving · left with · remains? · points? to · pointing to · narrows? (?:it )? · down to ·
    corresponds? to · supports? · favou?rs? · indicates? · suggests? · gives? · implies · but · matches ·
    yields? · means · is therefore · is thus · is hence · am at · now · actually · we have · we get ·
    we obtain · we find · we arrive at · i\.e\.,? · leaves us with · comes down to · points? towards? ·
    bleibt(?: nur)? · queda · solo queda · resta · reste que · il ne reste que · rimane · sobra ·
    остаётся · остается · zostaje · pozostaje · kalan · remains only · → · ⟹ · ⇒ · 即 · 即为 · namely ·
    by elimination · in favou?r of · decides for · comes? down to · i mean · make that · make it ·
    change (?:it |my answer )?to · changed to · changed? (?:it|that|my answer|my mind) to · only · just ·
    yaitu · yakni · artinya · c'est-à-dire · correspond à · entspricht · corresponde a · соответствует ·
    instead · correction · also · sondern · donc · c'est · mais · entonces · sino · logo · mas · quindi ·
    ma · dus · значит · итак · поэтому · а · więc · lecz · yani · jadi · maka · vậy · 所以 · 因此 · 而是 ·
    故 · 应该是 · 应为 · 是 · 为 · よって · したがって · つまり · 따라서 · ดังนั้น · إذن · بل · لذلك ·
    इसलिए · אלא · לכן · ではなく · じゃなくて · 아니라
    """
)
"""Words that lead from reasoning to a letter."""

CONFIRMS_AFTER = listed(
    r"""
    is what (?:i|we)(?:['’]d| would| will|['’]ll)? (?:pick|choose|select|go (?:for|with)|say|answer) ·
    is where i(?:['’]d| would)? (?:land|settle) ·
    the (?:\w+ ){0,2}(?:correct|right|best|answer|winner) · matches · fits · holds · works · survives ·
    remains · wins · stands · applies · satisfies · agrees · follows · zu(?=[.!]) · qui convient ·
    must be (?:the )?(?:\w+ )?(?:answer|one|right|correct|choice) · it is · is it · should be selected ·
    should be chosen · it must be · is the (?:only|exception|odd|intruder|best|closest|most)\b ·
    (?:is|seems|looks|appears|would be)(?: to be)?
    (?:the )?(?:most|best|better|more) (?:\w+ )?(?:supported|plausible|likely) ·
    (?:is|seems|looks|appears|would be)(?: to be)?
    (?:the )?(?:most|best|better|more) (?:\w+ )?(?:answer|choice|option|match) ·
    (?:is|seems|looks|appears|would be)(?: to be)? the (?:most|best)
    (?:\w+ )?(?:fitting|accurate|appropriate|suitable) ·
    the (?:only|most|best|closest) · is better · would be the (?:answer|choice) · says so · seems right ·
    is (?:the |a |my |our )?(?:\w+ ){0,2}(?:correct|right|best|true|answer|winner|choice|one|match) ·
    (?:is|seems|looks|appears|would be|must be|are|was) (?:the |a )?(?:\w+ ){0,2}(?:correct|right|true|best) ·
    ist (?:\w+ )?(?:richtig|korrekt) · est (?:la |le )?(?:\w+ )?(?:bonne|correcte?|exacte?|juste) ·
    trifft (?:\w+ )?zu · zutrifft · die einzig(?:e)? (?:richtige|korrekte) · la seule (?:\w+ )?correcte ·
    la única (?:\w+ )?correcta · ist (?:\w+ )?zutreffend · zutreffend · korrekt ·
    är (?:\w+ )?(?:rätt|korrekt) ·
    er (?:\w+ )?(?:riktig|rett|korrekt) · (?:a )?(?:helyes|jó)\b ·
    (?:je|jest) (?:\w+ )?(?:točan|tačan|ispravan|správně) · on (?:\w+ )?oike\w+ ·
    (?:صحیح|درست|صحيح)(?: است| ہے)? · (?:هي|هو) ال?صحيح\w* · هو الصحيح · სწორია · ճիշտ է · ትክክል\w* ·
    यह सही · सही है · সঠিক · சரி · సరైనది · es (?:la |el )?(?:\w+ )?correct[ao] ·
    é (?:a |o )?(?:\w+ )?(?:corret|cert)[ao] · está corret[ao] ·
    è (?:la |il )?(?:\w+ )?(?:corrett|giust)[ao] · (?:is|zijn) (?:het )?juiste? · är rätt · er riktig ·
    (?:является |— |- )?(?:правильн|верн)\w{0,4} · jest (?:poprawn|prawidłow)\w{0,3} · je správn\w ·
    doğru · (?:adalah |yang )?(?:jawaban yang )?(?:benar|tepat) · là (?:đáp án )?đúng ·
    είναι (?:η )?σωστή · (?:是|为|最)?(?:正确|正確|最佳|答案|对的|合适) ·
    (?:项)?(?:正确|正確|符合|当选|最) · (?:が|は)(?:正解|正しい|答え|最も|適切) ·
    (?:이|가|은|는|번이|번)?\s?(?:정답|맞|옳|답) · (?:เป็น)?(?:คำตอบ)?(?:ที่)?ถูก ·
    (?:هي |هو )?(?:الإجابة )?(?:ال)?صحيحة? · (?:सही|उत्तर) · درست است · צحيح · נכונה · を選
    """
)
"""Words behind a letter that confirm it."""

VERDICT_RIGHT = listed(
    r"""
    correct · right · true · yes · works · richtig · vrai · juste · correcto · verdadero · верно · 正确 ·
    正確 · 正解 · 对 · 정답 · ✓ · ✔ · ✅ · ☑
    """
)
