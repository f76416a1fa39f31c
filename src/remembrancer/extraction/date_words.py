# ruff: noqa: RUF001
"""Words for days, weeks, months and years in languages other than English. Pure."""

import re
from typing import Final

_WORDS: Final = {
    ("day", -2): "vorgestern eergisteren avant-hier anteayer antier anteontem позавчера"
    " przedwczoraj 前天 一昨日 おととい 그저께 그제",
    ("day", -1): "gestern gisteren hier ayer ieri ontem вчера wczoraj dün أمس البارحة"
    " 昨天 昨晚 昨日 昨夜 きのう 어제",
    ("day", 0): "heute vandaag aujourd'hui hoy oggi hoje сегодня dzisiaj bugün आज"
    " 今天 今晚 今日 きょう 오늘",
    ("day", 1): "morgen demain mañana domani amanhã завтра jutro yarın غدا غدًا غداً"
    " 明天 明日 あした 내일",
    ("day", 2): "übermorgen overmorgen après-demain pasado_mañana dopodomani послезавтра"
    " pojutrze 后天 後天 明後日 あさって 모레",
    ("week", -1): "letzte_woche vorige_woche vorige_week la_semaine_dernière la_semana_pasada"
    " la_settimana_scorsa na_semana_passada на_прошлой_неделе 上周 上週 上个星期 先週 지난주",
    ("week", 1): "nächste_woche volgende_week la_semaine_prochaine la_próxima_semana"
    " la_settimana_prossima на_следующей_неделе 下周 下週 下个星期 来週 다음_주",
    ("month", -1): "letzten_monat vorigen_monat vorige_maand le_mois_dernier el_mes_pasado"
    " il_mese_scorso no_mês_passado в_прошлом_месяце 上个月 上個月 先月 지난달",
    ("month", 1): "nächsten_monat volgende_maand le_mois_prochain el_próximo_mes"
    " il_mese_prossimo в_следующем_месяце 下个月 下個月 来月 다음_달",
    ("year", -1): "letztes_jahr voriges_jahr vorig_jaar l'année_dernière l'an_dernier"
    " el_año_pasado l'anno_scorso no_ano_passado в_прошлом_году 去年 昨年 작년",
    ("year", 0): "dieses_jahr dit_jaar cette_année este_año quest'anno в_этом_году 今年 올해",
    ("year", 1): "nächstes_jahr volgend_jaar l'année_prochaine l'an_prochain el_próximo_año"
    " l'anno_prossimo в_следующем_году 明年 来年 내년",
}
"""Words by unit and step; ``_`` is a space."""

STEPS: Final = {
    word.replace("_", " "): place for place, words in _WORDS.items() for word in words.split()
}
"""Unit and step by word."""

_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_NAMES_AND_OTHERS: Final = {"明日": "(?!香)", "今日": "(?!子)", "오늘": "(?!날)"}
_ALTERNATIVES: Final = sorted(STEPS, key=len, reverse=True)
WORDS: Final = re.compile(
    "|".join(
        [
            re.escape(word) + _NAMES_AND_OTHERS.get(word, "")
            for word in _ALTERNATIVES
            if _UNSPACED.match(word)
        ]
        + [
            rf"(?<![\w'-])(?:{'|'.join(map(re.escape, words))})(?![\w'-])"
            for words in [[word for word in _ALTERNATIVES if not _UNSPACED.match(word)]]
        ]
    ),
    re.IGNORECASE,
)
"""One of the words, the longest that fits."""

BEFORE_ANOTHER_MEANING: Final = re.compile(
    r"\b(?:guten|jeden|am|la|esta|una|cada|toda|goede|elke|van|de)\s+$", re.IGNORECASE
)
"""Words before "morgen" and "mañana" that make it a morning."""
FRENCH: Final = re.compile(
    r"\b(?:est|et|le|les|une?|du|au|elle|il|je|a|à|avec|pour|dans)\b|\b[ldjn]'"
)
GERMANIC: Final = re.compile(
    r"\b(?:ist|und|der|die|das|ein|nicht|het|een|en|ik|ich|wohnt|woont|niet)\b"
)
"""Marks of languages in which "hier" is a place."""

SINCE: Final = re.compile(r"\b(?:seit|sinds|depuis|desde|dal?|со?)\s+$|[从從自]$", re.IGNORECASE)
UNTIL: Final = re.compile(r"\b(?:bis|tot|jusqu'à|hasta|até|fino a|до)\s+$|到$", re.IGNORECASE)
