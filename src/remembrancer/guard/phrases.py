"""Find passwords and keys stated in words: "my password is ...", "api key: ..."."""

import re
from collections.abc import Iterator
from typing import Final

from remembrancer.guard import lines_of
from remembrancer.guard.schemas import SensitiveKind, Span

_CODEWORDS: Final = (
    r"pass ?words?|pass ?phrase|pass ?code|passwd|pwd|pin(?: code| number)?|cvv2?|cvc2?|"
    r"(?:security|log ?in|door|gate|alarm|safe|lock) code|"
    r"passwort|kennwort|mot de passe|contraseña|contrasena|senha|wachtwoord|lösenord|"
    r"adgangskode|salasana|hasło|heslo|jelszó|parol[aă]|şifre|пароль|κωδικός|"
    r"पासवर्ड|비밀번호|كلمة المرور|كلمة السر|סיסמה"
)
_UNSPACED: Final = r"パスワード|暗証番号|密码|密碼|รหัสผ่าน"
"""The same in scripts without spaces between words."""
_KEY: Final = (
    r"api[ _-]?(?:key|token|secret)|"
    r"(?:access|secret|auth|bearer|session|refresh|deploy|client|encryption|signing|account|"
    r"service|license)[ _-]?(?:key|token|secret)|"
    r"secret[ _-]access[ _-]key|recovery (?:key|code)|bearer|token|secret"
)
_PHRASE: Final = r"(?:seed|recovery|mnemonic|backup)[ -]phrase|pass ?phrase"

_ABOUT: Final = r"(?:[ \t]+(?:for|to|of|on|at|in|für|pour|para|de)(?:[ \t]+[\w'.@-]{1,40}){1,5}?)?"
_LINK: Final = (
    r"(?:[ \t]*(?:=>|:=|[:=\uff1a])[ \t]*"
    r"|[ \t]+(?:is|was|are|will be|to|ist|lautet|est|es|é|è|är|er|on|jest|je|это)[ \t]*:?[ \t]+"
    r"|[ \t]*[は是為为\u2013\u2014][ \t]*|[ \t]+-[ \t]+)"
)
_VALUE: Final = (
    r"(?P<value>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`|\u201c[^\u201d\n]{1,200}\u201d"
    r"|\S{1,400})"
)


def _statement(words: str, value: str = _VALUE) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<![^\W_])(?:{words})|{_UNSPACED})[\"']?{_ABOUT}{_LINK}{value}", re.IGNORECASE
    )


_PASSWORD_STATEMENT: Final = _statement(_CODEWORDS)
_KEY_STATEMENT: Final = _statement(_KEY)
_PHRASE_STATEMENT: Final = _statement(
    _PHRASE, r"(?P<value>(?:[a-z]{2,12}[ \t,]+){2,23}[a-z]{2,12})"
)
_AS_PASSWORD: Final = re.compile(
    r"(?<!\S)(?P<value>\S{4,200})[ \t]+(?:is|as)[ \t]+(?:my|the|your|our|his|her|their)[ \t]+"
    rf"(?:[\w'-]{{1,40}}[ \t]+){{0,3}}(?:{_CODEWORDS})(?!\w)",
    re.IGNORECASE,
)
_HINTS: Final = (
    *("pass", "pwd", "pin", "cvv", "cvc", "code", "kennwort", "contrase", "senha", "wacht"),
    *("lösen", "adgang", "sala", "hasło", "heslo", "jelszó", "parol", "şifre", "пароль", "κωδικός"),
    *("पासवर्ड", "비밀번호", "كلمة", "סיסמה", "パスワード", "暗証番号", "密码", "密碼"),
    "รหัสผ่าน",
    *("key", "token", "secret", "bearer", "phrase"),
)
"""Every text that matches a pattern contains one of these."""

_NOT_PASSWORDS: Final = frozenset(" ".join(lines_of("not_passwords.txt")).split())
"""Words of four letters or more that may follow "the password is" and are no password."""

_PLAIN: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_MIXED_CASE: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}.*[a-z]")
_SYMBOLS: Final = frozenset("!@#$%^&*_+=~<>|\\{}[]?")
_CLAUSE_ENDS: Final = re.compile(r"\s*(?:$|[.,;!?)\n\"])")
_NUMBERS_ONLY: Final = re.compile(r"[\d/.:,%$€£-]+")
_QUOTES: Final = "\"'`\u201c\u201d"
_TRAILING: Final = ".,;:!?)]}>\"'"


def find(text: str) -> Iterator[Span]:
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return
    for pattern, is_secret in (
        (_PASSWORD_STATEMENT, _is_password),
        (_KEY_STATEMENT, _is_key),
        (_AS_PASSWORD, _is_odd_word),
        (_PHRASE_STATEMENT, _is_phrase),
    ):
        for match in pattern.finditer(text):
            start, end = match.span("value")
            if text[start] not in _QUOTES:
                end = start + len(text[start:end].rstrip(_TRAILING))
            if is_secret(text[start:end], text[end : end + 20]):
                yield Span(start, end, SensitiveKind.SECRET)


def _is_password(value: str, after: str) -> bool:
    bare = value.strip(_QUOTES)
    if bare.casefold() in _NOT_PASSWORDS or "://" in bare or len(bare) < 3:
        return False
    if len(bare) < 4:
        return bare.isdigit()
    # A plain word counts only at the end of a clause: "is swordfish." but not "is kept in ...".
    return value != bare or not _PLAIN.fullmatch(bare) or bool(_CLAUSE_ENDS.match(after))


def _is_key(value: str, _after: str) -> bool:
    bare = value.strip(_QUOTES)
    long_enough = len(bare) >= 8 and "://" not in bare and not _NUMBERS_ONLY.fullmatch(bare)
    return long_enough and any(c.isdigit() for c in bare)


def _is_odd_word(value: str, _after: str) -> bool:
    if "://" in value or len(value) < 4:
        return False
    return bool(_MIXED_CASE.search(value)) or any(c.isdigit() or c in _SYMBOLS for c in value)


def _is_phrase(value: str, _after: str) -> bool:
    return value.split(maxsplit=1)[0].casefold() not in {"too", "so", "not", "very", "a", "the"}
