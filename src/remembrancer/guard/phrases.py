# ruff: noqa: RUF001
"""Find passwords and keys stated in words: "my password is ...", "api key: ..."."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final

from remembrancer.guard import lines_of
from remembrancer.guard.schemas import SensitiveKind, Span

_ENGLISH: Final = r"pass ?words?|pass ?phrase|passwd|pwd?|pass"
_OTHERS: Final = (
    r"passwort|kennwort|mot de passe|mdp|contraseñas?|contrasena|clave|parola d'ordine|senha|"
    r"palavra[- ]passe|wachtwoord|lösenord(?:et)?|passord(?:et)?|adgangskode[nr]?|kodeord|"
    r"salasana(?:ni|mme)?|hasło|heslo|jelsz(?:ó|av\w{1,4})|parol[aăa](?:m|mız|sı)?|"
    r"şifre(?:m|miz|si)?|парол[ья]|κωδικός|पासवर्ड|كلمة المرور|كلمة السر|ה?סיסמ[הא]|"
    r"mật khẩu|(?:kata )?sandi"
)
_UNSPACED: Final = "비밀번호|비번|패스워드|パスワード|暗証番号|密码|密碼|口令|รหัสผ่าน"
"""Words in scripts whose words are not apart; a password in ASCII follows."""
_CODE: Final = (
    r"pass ?code|pin(?: code| number)?|cvv2?|cvc2?|otp|tan|geheimzahl|zugangscode|"
    r"one[- ]time (?:code|pin|password)|code (?:du portail|de la porte|d'accès|secret)|"
    r"(?:security|log ?in|door|gate|alarm|safe|lock|entry|access|unlock|verification|backup|"
    r"recovery|2fa|mfa|authenticat(?:ion|or)|sms) codes?|combination|الرقم السري"
)
"""Words for codes, which have a digit."""
_KEY: Final = (
    r"api[ _-]?(?:key|token|secret)|"
    r"(?:shared ?)?(?:access|secret|auth|bearer|session|refresh|deploy|client|encryption|signing|"
    r"account|service|license|private|master)[ _-]?(?:key|token|secret|id(?==))|"
    r"secret[ _-]access[ _-]key|recovery (?:key|code)|bearer|token|secret|sig(?==)"
)
_SEED: Final = (
    r"(?:totp|2fa|mfa|otp|two[ -]factor|authenticator)(?:[ _-](?:setup|seed|secret|key|code)){0,2}"
)
_PHRASE: Final = r"(?:seed|recovery|mnemonic|backup)[ -]phrase|pass ?phrase"

_ABOUT: Final = (
    r"(?:[ \t]+(?:for|to|of|on|at|in|für|zum|vom|von|pour|du|des?|del|della|di|da|do|para|van|"
    r"voor|til|till|för|na|od|pro|от|для|на|к|mitt|mio|mia|mea|meu|minha|saya|của|μου|שלי)"
    r"(?:[ \t]+[\w'.@-]{1,40}){0,5}?)?"
)
_SIGN: Final = r"[ \t]*(?:=>|:=|[:=\uff1a])[ \t]*|[ \t]*[\u2013\u2014][ \t]*|[ \t]+-[ \t]+"
_IS: Final = r"[ \t]+(?:is|was|are|will be|to)[ \t]*:?[ \t]+"
_VERB: Final = (
    r"[ \t]+(?:is|was|are|will be|to|ist|lautet|est|es|é|è|är|er|on|jest|je|este|это|є|είναι|"
    r"היא|هي|هو|là|adalah)[ \t]*:?[ \t]+"
)
_VALUE: Final = (
    r"(?P<value>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`|\u201c[^\u201d\n]{1,200}\u201d"
    r"|\S{1,400})"
)
_BETWEEN: Final = r"[^\n\x21-\x7e]{0,12}"
_ASCII: Final = r"(?P<value>[\x21-\x7e]{4,200})"
_BASE32: Final = r"(?P<value>(?-i:[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{2,4}){3,20}))"
_TWELVE_WORDS: Final = r"(?P<value>(?:[a-z]{2,12}[ \t,]+){2,23}[a-z]{2,12})"
_OPTION: Final = r"(?P<value>[^\s\"'|]{3,200})"
_SECRETS: Final = r"password|passwd|pwd?|pass|passwort|пароль|contraseña|mdp|senha|şifre"
_NAMES: Final = (
    r"user(?:name)?|login|account|machine|benutzer(?:name)?|usuario|identifiant|utente|логин"
)


def _words(words: str) -> str:
    return rf"(?<![^\W_])(?:{words})[\"']?"


_ENGLISH_HINTS: Final = ("pass", "pw")
_OTHER_HINTS: Final = (
    *("pass", "kennwort", "mdp", "contrase", "clave", "parol", "senha", "wacht", "lösen", "kode"),
    *("salasana", "hasło", "heslo", "jelsz", "şifre", "парол", "κωδικός", "पासवर्ड", "كلمة", "סיסמ"),
    *("mật khẩu", "sandi"),
)
_CODE_HINTS: Final = ("code", "pin", "cvv", "cvc", "otp", "tan", "geheim", "combin", "السري", "2fa")
_KEY_HINTS: Final = ("key", "token", "secret", "bearer", "sig=", "id=")
_SEED_HINTS: Final = ("otp", "2fa", "mfa", "factor", "authenticator")
"""Every text that matches a pattern contains one of its hints, in lower case."""

_NOT_PASSWORDS: Final = frozenset(" ".join(lines_of("not_passwords.txt")).split())
"""Words of four letters or more that may follow "the password is" and are no password."""

_PLAIN: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_MIXED_CASE: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}.*[a-z]")
_SYMBOLS: Final = frozenset("!@#$%^&*_+=~<>|\\{}[]?")
_CLAUSE_ENDS: Final = re.compile(r"\s*(?:$|[.,;!?)\n\"])")
_NUMBERS_ONLY: Final = re.compile(r"[\d/.:,%$€£-]+")
_STANDS_FOR_ONE: Final = re.compile(
    # A variable, a template, stars, a parameter, a call, a type.
    r"\$[\w{(].*|[<{%].*|[*x\u2022.\u2026]+|:[a-z_]+|your[-_ ].*|[a-z_.]+[(\[].*|"
    r"process\.env\..*",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'`\u201c\u201d"
_EMPHASIS: Final = "*_~"
_TRAILING_OF_EMPHASIS: Final = ".,;:!?"
_TRAILING: Final = ".,;:!?)]}>\"'"


def find(text: str) -> Iterator[Span]:
    lower = text.lower()
    hinted = (forms for hints, forms in _patterns() if any(map(lower.__contains__, hints)))
    for pattern, is_secret in chain.from_iterable(hinted):
        for match in pattern.finditer(text):
            start, end = match.span("value")
            if text[start] not in _QUOTES and end == match.end():
                end = start + len(text[start:end].rstrip(_TRAILING))
            value = text[start:end].strip(_EMPHASIS).rstrip(_TRAILING_OF_EMPHASIS)
            if not stands_for_one(value) and is_secret(value, text[end : end + 20]):
                yield Span(start, end, SensitiveKind.SECRET)


def stands_for_one(value: str) -> bool:
    """Return whether a value is a placeholder, or code, and no secret."""
    bare = value.strip(_QUOTES)
    return bare.casefold() in _NOT_PASSWORDS or _STANDS_FOR_ONE.fullmatch(bare) is not None


def _is_password(value: str, after: str) -> bool:
    bare = value.strip(_QUOTES)
    if "://" in bare or len(bare) < 3:
        return False
    if len(bare) < 4:
        return bare.isdigit()
    # A plain word counts only at the end of a clause: "is swordfish." but not "is kept in ...".
    return value != bare or not _PLAIN.fullmatch(bare) or bool(_CLAUSE_ENDS.match(after))


def _is_code(value: str, _after: str) -> bool:
    return len(value) >= 3 and any(map(str.isdigit, value)) and "://" not in value


def _is_key(value: str, _after: str) -> bool:
    bare = value.strip(_QUOTES)
    long_enough = len(bare) >= 8 and "://" not in bare and not _NUMBERS_ONLY.fullmatch(bare)
    return long_enough and any(c.isdigit() for c in bare)


def _is_odd_word(value: str, _after: str) -> bool:
    if "://" in value or len(value) < 4:
        return False
    return bool(_MIXED_CASE.search(value)) or any(c.isdigit() or c in _SYMBOLS for c in value)


def _is_mixed(value: str, _after: str) -> bool:
    """Return whether a word has letters and digits, or letters and signs, as in no language."""
    signs = sum(c in _SYMBOLS for c in value) + sum(map(str.isdigit, value))
    return len(value) >= 4 and signs > 0 and any(map(str.isalpha, value)) and "://" not in value


def _is_option(value: str, _after: str) -> bool:
    return not _NUMBERS_ONLY.fullmatch(value) or len(value) > 5


def _is_phrase(value: str, _after: str) -> bool:
    return value.split(maxsplit=1)[0].casefold() not in {"too", "so", "not", "very", "a", "the"}


def _any(_value: str, _after: str) -> bool:
    return True


_Check = Callable[[str, str], bool]


@cache
def _patterns() -> Sequence[tuple[Sequence[str], Sequence[tuple[re.Pattern[str], _Check]]]]:
    """Return the patterns by their hints, each with the check of its value."""
    link = rf"(?:{_SIGN}|{_VERB})"
    any_language, all_hints = _words(f"{_ENGLISH}|{_OTHERS}"), (*_ENGLISH_HINTS, *_OTHER_HINTS)
    forms: list[tuple[Sequence[str], str, _Check]] = [
        (_ENGLISH_HINTS, rf"{_words(_ENGLISH)}{_ABOUT}(?:{_SIGN}|{_IS}){_VALUE}", _is_password),
        (_OTHER_HINTS, rf"{_words(_OTHERS)}{_ABOUT}(?:{_SIGN}){_VALUE}", _is_password),
        # The words that follow "is" in other languages are too many to know.
        (all_hints, rf"{any_language}{_ABOUT}{_VERB}{_VALUE}", _is_odd_word),
        (
            all_hints,
            rf"{any_language}(?:[ \t]+[\w'-]{{1,20}}){{1,2}}(?:{_SIGN}){_VALUE}",
            _is_odd_word,
        ),
        (all_hints, rf"{any_language}[ \t]+{_VALUE}", _is_mixed),
        (_UNSPACED.split("|"), rf"(?:{_UNSPACED}){_BETWEEN}[:=]?{_BETWEEN}{_ASCII}", _is_odd_word),
        (_CODE_HINTS, rf"{_words(_CODE)}{_ABOUT}{link}{_VALUE}", _is_code),
        (_KEY_HINTS, rf"{_words(_KEY)}{_ABOUT}{link}{_VALUE}", _is_key),
        (_SEED_HINTS, rf"{_words(_SEED)}(?:{link}|[ \t]+){_BASE32}(?!\w)", _any),
        (["phrase"], rf"{_words(_PHRASE)}{_ABOUT}{link}{_TWELVE_WORDS}", _is_phrase),
        (
            (*_ENGLISH_HINTS, *_CODE_HINTS),
            r"(?<!\S)(?P<value>\S{4,200})[ \t]+(?:is|as)[ \t]+(?:my|the|your|our|his|her|their)"
            rf"[ \t]+(?:[\w'-]{{1,40}}[ \t]+){{0,3}}(?:{_ENGLISH}|{_CODE})(?!\w)",
            _is_odd_word,
        ),
        # "user bob and password ...", "login bob / ..."
        (
            all_hints,
            rf"{_words(_NAMES)}[ \t:=]*\S{{1,60}}[ \t,;/]+(?:and |und |y |et |e |и )?(?:the )?"
            rf"(?:{_SECRETS})[ \t:=]+{_VALUE}",
            _is_odd_word,
        ),
        (
            ["login", "cred"],
            rf"{_words('login|creds?|credentials')}[ \t:]*[^\s:/]{{1,60}}[ \t]*[/:][ \t]*{_VALUE}",
            _is_mixed,
        ),
        # A private key as JSON (JWK).
        (['"d"'], r"\"d\"[ \t]*:[ \t]*\"(?P<value>[\w-]{40,800})\"", _any),
    ]
    commands = lines_of("secret_commands.txt")
    hints = ("-u", "-a", "-p", "-w", "-k", "b ", "/user", "sudo")
    forms += [(hints, line.replace("{VALUE}", _OPTION), _is_option) for line in commands]
    by_hints: dict[Sequence[str], list[tuple[re.Pattern[str], _Check]]] = {}
    for each, form, check in forms:
        by_hints.setdefault(tuple(each), []).append((re.compile(form, re.IGNORECASE), check))
    return list(by_hints.items())
