"""Decide whether two statements are the same. Pure.

Statements are the same only if nothing that can carry meaning differs. A sign, a symbol, an emoji,
a digit, an accent, a question mark, a short word and a capital letter can all carry it. These
differences cannot, and nothing else is ignored:

- spaces and tabs at the ends and their number, and the kind of a line break;
- one full stop at the end;
- the Unicode normal form, the width of East Asian characters and the joined forms of Arabic ones;
- the style of quotation marks, apostrophes, dashes and ellipses;
- variation selectors of emoji, soft hyphens and other marks without a shape;
- the capital of the first word, unless the word means something else without it ("Polish");
- a few words written in capitals for emphasis ("THE");
- short forms of English verbs ("don't").

In doubt two statements are different: a duplicate costs less than a lost fact.
"""

import re
import unicodedata
from typing import Final

_SAME_LETTER: Final = frozenset(
    {"<wide>", "<narrow>", "<noBreak>", "<initial>", "<medial>", "<final>", "<isolated>"}
)
"""Compatibility forms that only change how a character looks. A superscript is not among them."""
_LIGATURES: Final = {0xFB00 + at: text for at, text in enumerate("ff fi fl ffi ffl".split())}  # noqa: SIM905
_QUOTES: Final = {ord(mark): "'" for mark in "\u2018\u2019\u201a\u201b\u02bc"} | {
    ord(mark): '"' for mark in "\u201c\u201d\u201e\u201f\u00ab\u00bb"
}
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u061c\u200e\u200f\u2060\ufeff\ufe0e\ufe0f"), "")
_MARKS: Final = _LIGATURES | _QUOTES | _INVISIBLE | {0x2026: "...", 0x2010: "-", 0x2011: "-"}

_LINE_BREAK: Final = re.compile(r"\r\n|[\n\r\u0085\u2028\u2029]")
_SPACES: Final = re.compile(r"(?<=\S)(?: [^\S\n]+|[^\S\n ][^\S\n]*)")
"""Gaps other than one space."""
_DASH: Final = re.compile(r"(?<=\w)\u2013(?=\w)|(?<=\s)[\u2013\u2014](?=\s)")
_MINUS: Final = re.compile(r"(?<![^\s(\[{=<>:/*+~,;\"'])\u2212(?=\.?\d)")
_STOPS: Final = ".\u3002\u0964\u06d4\u0589\u1362\u104b\u17d4"
"""Full stops: Latin, East Asian, Devanagari, Urdu, Armenian, Ethiopic, Burmese, Khmer."""
_FULL_STOP: Final = re.compile(rf"(?<=[^\s{_STOPS}])[{_STOPS}]\Z")

_FIRST_WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]{1,2})?(?=[ ,])")
_SHORT_WORDS: Final = frozenset(
    "he we my it in on at if is as so to of by do an el la le il er es un mi su tu мы он".split()  # noqa: SIM905
)
"""Words of two letters that are the same words with a capital; others may be units or codes."""
_CASE_TELLS: Final = frozenset(
    """
    march may august sun wed sat
    polish turkey turkish china chile jordan guinea jersey chad mali cuba georgia brazil panama
    dutch danish swede finish lima nice reading bath cork essen halle siegen bergen paris
    will mark bill rose grace hope joy faith frank jack rob sue pat bob art ray dean earl guy jay
    lance miles nick pierce rich rusty skip stew victor wade ward ginger ivy lily daisy violet olive
    heather holly hazel iris jasmine poppy ruby pearl amber crystal jade opal robin april june dawn
    eve summer autumn brook cliff clay dale dusty forest glen heath reed rock sandy stone angel
    charity chance destiny felicity harmony melody mercy patience prudence serenity trinity gene
    drew don max mike josh chip chuck dick harry peter willy penny
    brown white black green gray grey young king long small baker cook smith miller mason carter
    taylor fisher hunter porter potter shepherd turner walker weaver page price rice wood woods hill
    field fields banks bush church cross day fox lamb wolf bird swan drake hawk berry
    apple amazon python swift rust java ruby perl scratch basic windows word excel access teams
    outlook shell target gap visa oracle meta alphabet slack zoom discord signal telegram chrome
    safari edge opera brave notion linear stripe square cursor gemini claude copilot bard
    who queen cream heart rush kiss journey foreigner genesis yes cure police doors eagles
    guardian times sun mirror independent economist nature science cell
    mercury earth mars venus saturn moon catholic liberal conservative democrat republican labour
    lent mass god lord bible scripture lady internet web congress parliament state union
    sie ihr ihre ihren ihrem ihrer ihnen morgen weg arm dank laut recht
    rosa mercedes dolores paz luz esperanza consuelo pilar soledad estrella leon león angela
    pierre marguerite colombe marine france aurore claire constant victoire blanche
    вера надежда любовь лев роза лилия слава майя марс орел орёл мир правда земля луна победа
    """.split()  # noqa: SIM905
)
"""Words that are names, or other words, with a capital."""
_EMPHASIS: Final = re.compile(r"(?<![\w'-])(?:THE|NEVER|ALWAYS|VERY|REALLY)(?![\w'-])")
_TURKISH_I: Final = frozenset("ıİğĞşŞ")

_SHORT_FORMS: Final = (
    (re.compile(r"\b(can)'t\b", re.IGNORECASE), r"\1not"),
    (re.compile(r"\b(w)on't\b", re.IGNORECASE), r"\1ill not"),
    (
        re.compile(
            r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should|must)n't\b",
            re.IGNORECASE,
        ),
        r"\1 not",
    ),
    (re.compile(r"\b(i)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(you|we|they)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(i|you|we|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|it|we|they)'ll\b", re.IGNORECASE), r"\1 will"),
)


def canonical(statement: str) -> str:
    """Return the form that all statements that are the same have in common."""
    text = statement
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = "".join(map(_plain, text)).translate(_MARKS)
        text = unicodedata.normalize("NFC", text)
    text = "\n".join(map(str.rstrip, _LINE_BREAK.split(text)))
    text = _SPACES.sub(" ", text).strip()
    if not text.isascii():
        text = _MINUS.sub("-", _DASH.sub("-", text))
    text = _FULL_STOP.sub("", text)
    if any(map(str.islower, text)):
        text = _EMPHASIS.sub(lambda word: word[0].lower(), text)
    text = _with_small_start(text)
    if "'" in text:
        for short, long in _SHORT_FORMS:
            text = short.sub(long, text)
    return text


def says_the_same(statement: str, other: str) -> bool:
    """Say whether two statements are one statement."""
    return canonical(statement) == canonical(other)


def _plain(character: str) -> str:
    if character.isascii():
        return character
    form, _, code_points = unicodedata.decomposition(character).partition(" ")
    if form not in _SAME_LETTER:
        return character
    return "".join(chr(int(point, 16)) for point in code_points.split())


def _with_small_start(text: str) -> str:
    match = _FIRST_WORD.match(text)
    if match is None or _TURKISH_I.intersection(text):
        return text
    word, rest = match[0], text[match.end() :]
    small = word.lower()
    if word[1:] != small[1:] or not _is_same_word(small, rest):
        return text
    return small + rest


def _is_same_word(small: str, rest: str) -> bool:
    """Say whether a first word is the same word with a capital."""
    stem, apostrophe, _ = small.partition("'")
    if stem == "i":
        # The unit, the numeral and the imaginary number have no verb but "is" after them.
        return bool(apostrophe) or re.match(r" (?!is\b|was\b)[a-z]{2,}", rest) is not None
    return stem in _SHORT_WORDS if len(stem) < 3 else stem not in _CASE_TELLS
