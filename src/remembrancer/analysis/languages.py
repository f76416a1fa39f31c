# ruff: noqa: RUF001 - words of other scripts look like Latin ones
"""Detect the language of a text for stemming, and stem words.

The script decides if it can. Texts in Latin letters are decided by a count of function words,
with English as the default. A library such as py3langid is no better on a line of chat and costs
more than the rest of the analysis. A wrong language does no harm: a query has the stems of every
language, so it finds a word in a text of any detected language.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice

import Stemmer

DEFAULT = "english"
_SAMPLE = 400
"""Words counted to detect the language; more would not change the result."""

# Words of grammar, including question words, as folded by ``segments.fold``: without accents.
_FUNCTION_WORDS = {
    "english": "a an the and or but if of to in on at by for with from as into about than then is"
    " are was were be been being am do does did has have had having it its this that these those i"
    " you he she we they me him her us them my your his our their mine yours not no so too very"
    " can could will would should may might shall must just there here what when where which who"
    " whom whose why how any some all ever don didn doesn isn wasn aren hasn haven",
    "german": "der die das den dem des ein eine einen einem einer und oder aber ich du er sie es"
    " wir ihr mich mir dich dir ihn ihm uns mein meine dein deine sein seine ist bin bist sind war"
    " waren hat habe hast haben nicht kein zu mit auf von im in an aus fur bei nach auch noch so"
    " wie was wer wen wem wo wann warum welche welcher welches dass wenn als am um doch",
    "dutch": "de het een en of maar ik je jij hij ze zij we wij mij me jou hem haar ons mijn jouw"
    " zijn is ben bent was waren heb heeft hebt hebben niet geen te met op van in aan uit voor bij"
    " naar ook nog zo hoe wat wie waar wanneer waarom welke dat dit die als om er",
    "french": "le la les l un une des de du d et ou mais je j tu il elle on nous vous ils elles me"
    " te se lui mon ma mes ton ta tes son sa ses ce cette ces est suis es sont etait ai as a ont"
    " avait ne n pas que qui quoi quand comment pourquoi quel quelle quels quelles dans en au aux"
    " sur pour par avec c s y plus est-ce",
    "spanish": "el la los las un una unos unas de del al y o pero yo tu el ella nosotros ellos me"
    " te se le lo les mi mis su sus es soy eres son era fue esta estoy ha he han no que quien"
    " quienes cuando donde como cual cuales cuanto por para porque en con a muy mas ya",
    "portuguese": "o a os as um uma de do da dos das no na nos nas e ou mas eu tu ele ela voce nos"
    " eles me te se lhe meu minha seu sua e sou sao era foi esta estou tem nao que quem quando"
    " onde como qual quais quanto por para porque em com ao muito mais ja",
    "italian": "il lo la i gli le un uno una di del della dei al alla da in nel nella con su per e"
    " o ma io tu lui lei noi voi loro mi ti si ci mio mia tuo tua suo sua e sono sei era ha ho"
    " hai hanno non che chi cosa quando dove come perche quale quali quanto piu",
    "romanian": "un o si sau dar de la in pe cu din pentru eu tu el ea noi ei ma te se imi iti mea"
    " meu ta tau lui este sunt esti era am ai are nu ca ce cine cand unde cum care sa mai",
    "catalan": "el la els les un una de del al i o pero jo tu ell ella em et es meu meva seu seva"
    " soc ets es son era ha he no que qui quan on com quin quina per amb en molt mes",
    "swedish": "en ett och eller men jag du han hon vi ni de mig dig honom henne oss min mitt din"
    " sin ar var har hade inte av pa i till fran med for om som att det den vad vem nar hur varfor"
    " vilken kan ska sa",
    "danish": "en et og eller men jeg du han hun vi i de mig dig ham hende os min mit din sin er"
    " var har havde ikke af pa til fra med for om som at det den hvad hvem hvor hvornar hvordan"
    " hvorfor hvilken kan skal sa",
    "norwegian": "en et ei og eller men jeg du han hun vi dere de meg deg ham henne oss min mitt"
    " din sin er var har hadde ikke av pa til fra med for om som at det den hva hvem hvor nar"
    " hvordan hvorfor hvilken kan skal sa",
    "finnish": "ja tai mutta mina sina han me te he minun sinun hanen on olen olet ovat oli ei en"
    " et etta kun jos niin myos se ne tama mita mika kuka missa milloin miten miksi kanssa",
    "hungarian": "a az egy es vagy de en te o mi ti ok engem teged van vagyok vagy volt nem is hogy"
    " ha mert mit mi ki hol mikor hogyan miert melyik ez csak mar meg el nekem",
    "polish": "i w na z do od o u a ale lub ja ty on ona my wy oni mnie mi ci ciebie moj moja moje"
    " twoj jest sa jestem jestes byl byla nie to ten ta ze sie co kto gdzie kiedy jak dlaczego czy"
    " po dla za",
    "czech": "a i v na z do od o u ale nebo ja ty on ona my vy oni me mi ti muj moje tvuj je jsou"
    " jsem jsi byl byla ne to ten ta ze se si co kdo kde kdy jak proc po pro za",
    "turkish": "ve veya ama bir bu su o ben sen biz siz onlar beni bana benim senin var yok degil"
    " mi mu icin ile gibi de da ne kim nerede ne zaman nasil neden hangi cok daha",
    "indonesian": "dan atau tetapi saya aku kamu dia kami kita mereka ini itu yang di ke dari"
    " untuk dengan pada adalah ada tidak bukan sudah akan apa siapa mana kapan bagaimana mengapa",
}
_OTHER_SCRIPTS = {
    "russian": "и в во не на я ты он она оно мы вы они что это с со как у по но за к из а то мне"
    " меня тебя его ее мой моя мои твой был была были есть кто где когда почему какой какая ли же",
    "greek": "ο η το οι τα του της των και η σε με για απο ειναι ηταν εχω εχει δεν να θα που τι"
    " ποιος ποια ποτε πως γιατι εγω εσυ μου σου",
    "arabic": "في من على الى عن مع هذا هذه ذلك التي الذي هو هي انا انت نحن هم كان كانت لا ما هل"
    " ماذا متى اين كيف لماذا و او ان",
}
LATIN = tuple(_FUNCTION_WORDS)
"""Languages that a text in Latin letters may have."""

_BY_SCRIPT = (
    (0x0370, 0x0400, "greek"),
    (0x0400, 0x0530, "russian"),
    (0x0530, 0x0590, "armenian"),
    (0x0600, 0x0780, "arabic"),
    (0x0900, 0x0980, "hindi"),
    (0x0B80, 0x0C00, "tamil"),
)
_local = threading.local()


def of_script(word: str) -> str | None:
    """Return the language of a word's script; null for a script of several languages."""
    point = ord(word[0])
    return next((name for low, high, name in _BY_SCRIPT if low <= point < high), None)


def is_function_word(word: str, latin: str) -> bool:
    """Return whether a folded word is a function word of its language, by default ``latin``."""
    language = of_script(word) or latin
    return word in _stop_words().get(language, ())


def detect(words: Iterable[str]) -> str:
    """Detect the language of folded words in Latin letters; ``english`` if unclear.

    A function word of several languages gives each of them a part of a vote. One such word alone
    decides nothing: "care" is Romanian too.
    """
    votes: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    shares = _shares()
    for word in dict.fromkeys(islice(words, _SAMPLE)):
        for language, share in shares.get(word, ()):
            votes[language] += share
            seen[language] += 1
    best = max(LATIN, key=lambda language: votes[language])
    return best if seen[best] > 1 and votes[best] > votes[DEFAULT] else DEFAULT


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    lists = {**_FUNCTION_WORDS, **_OTHER_SCRIPTS}
    return {language: frozenset(words.split()) for language, words in lists.items()}


@cache
def _shares() -> dict[str, list[tuple[str, int]]]:
    owners: dict[str, list[str]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in dict.fromkeys(words.split()):
            owners.setdefault(word, []).append(language)
    # Integers, so that the sum does not depend on the order of the words.
    return {
        word: [(name, 720_720 // len(names)) for name in names] for word, names in owners.items()
    }


def stem(words: Sequence[str], language: str) -> list[str]:
    """Stem folded words; safe to call from any thread."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        # Two threads must not share a PyStemmer object.
        stemmers[language] = Stemmer.Stemmer(language)
    stems: list[str] = stemmers[language].stemWords(words)
    return stems
