"""Text without characters that hide, reorder or break it. Pure.

Every text that a model, a terminal, a chat or a page gets comes from here, so that all have the
same set of hidden characters. ``revealed`` is for those who judge a text: it says what is hidden.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Final

_CONTROL: Final = re.compile(
    # Also the code points that are no characters, which HTML forbids.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]|\r(?!\n)"
)
_BREAKS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u2800\\s]+")
_HIDDEN: Final = re.compile(
    # Soft hyphen, grapheme joiner, fillers, zero width, direction marks, variation selectors,
    # annotations, shorthand and music controls, tags.
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SELECTOR: Final = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_GRAPHEME_MARKS: Final = "\u034f\u180b\u180c\u180d\u180e\u180f"
_MOST_STYLES: Final = 3
_ESCAPED: Final = re.compile("[<>\x7f-\x9f\u2028\u2029]")
_ESCAPED_CONTROL: Final = re.compile("[\x7f-\x9f\u2028\u2029]")
_JOINERS: Final = "\u200c\u200d"
_EMOJI_STYLE: Final = "\ufe0e\ufe0f"
_KEYCAP: Final = "\u20e3"
# Emoji that Unicode does not class as symbols.
_EMOJI: Final = "\u203c\u2049\u2139\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030\u303d"

_MARKUP: Final = str.maketrans(
    {
        # Tags, special tokens and role marks of chat templates.
        "<": "\u2039",
        ">": "\u203a",
        # The ids of other lines, links, [INST] and its like.
        "[": "(",
        "]": ")",
        # Fences.
        "`": "'",
    }
)
_QUOTES: Final = str.maketrans({'"': "'", "\u201c": "'", "\u201d": "'"})
# Most text needs no change; a search is cheaper than the changes.
_ODD: Final = re.compile("[^ !-;=?-Z\\\\^_a-~\u00a1-\u00ac\u00ae-\u02ff\u2018-\u201d]").search


def visible(text: str) -> str:
    """Return ``text`` without hidden characters.

    A joiner stays inside an emoji or a word of a script that needs it, and an emoji's style
    after the emoji.
    """
    return _replace_hidden(text, lambda _: "")


def visible_text(text: str) -> str:
    """Return ``text`` without hidden characters, and with a space for each control character.

    Line feeds and tabs stay.
    """
    return _CONTROL.sub(" ", visible(text))


def visible_json(value: Any) -> Any:
    """Return a JSON value without hidden characters at any depth."""
    if isinstance(value, str):
        return visible_text(value)
    if isinstance(value, list):
        return [visible_json(item) for item in value]
    if isinstance(value, dict):
        return {visible_json(name): visible_json(item) for name, item in value.items()}
    return value


def visible_line(text: str) -> str:
    """Return ``text`` on one line, with a space for hidden characters and line breaks."""
    return _BREAKS.sub(" ", _replace_hidden(text, _space)).strip()


def prompt_line(text: str) -> str:
    """Return ``text`` on one line, without what a model could take for markup.

    Angle brackets, square brackets and back-ticks become look-alikes that no chat template uses.
    """
    if _ODD(text) is None and "  " not in text:
        return text.strip(" ")
    return visible_line(text).translate(_MARKUP)


def quotation(text: str) -> str:
    """Return ``text`` as a prompt line in quotation marks that it cannot close."""
    return f'"{prompt_line(text).translate(_QUOTES)}"'


def escaped_json(encoded: str, *, markup: bool = True) -> str:
    """Return JSON text with hidden characters and controls escaped, and angle brackets too.

    Without ``markup`` angle brackets stay: for terminals and programs.
    """
    shown = _replace_hidden(encoded, _escape)
    return (_ESCAPED if markup else _ESCAPED_CONTROL).sub(lambda match: _escape(match[0]), shown)


def _replace_hidden(text: str, replace: Callable[[str], str]) -> str:
    if _HIDDEN.search(text) is None:
        return text
    parts: list[str] = []
    before, end = "", 0
    for match in _HIDDEN.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
            before = text[match.start() - 1]
        end = match.end()
        if _is_needed(match[0], before, text[end : end + 1]):
            parts.append(match[0])
            before = match[0]
        else:
            parts.append(replace(match[0]))
            before = ""
    parts.append(text[end:])
    return "".join(parts)


def _is_needed(character: str, before: str, after: str) -> bool:
    if character in _EMOJI_STYLE:
        return _is_emoji(before) or (after == _KEYCAP and before in {*"0123456789#*"})
    if character not in _JOINERS or not before or not after:
        return False
    emoji = (_is_emoji(before) or before in _EMOJI_STYLE) and _is_emoji(after)
    return emoji or (_is_joined(before) and _is_joined(after))


def _is_emoji(character: str) -> bool:
    # Skin tones are modifiers of emoji.
    if not character or character in "\u2800^`\xa8":
        return False
    return unicodedata.category(character) in {"So", "Sk"} or character in _EMOJI


def _is_joined(character: str) -> bool:
    """Say whether a letter's script, from Arabic to Mongolian, has joiners in its words."""
    return "\u0600" <= character < "\u1900" and unicodedata.category(character)[0] in "LM"


def _space(character: str) -> str:
    # A variation selector belongs to the character before it.
    return "" if _SELECTOR.match(character) else " "


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"


_NOT_ASCII: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+|[^\x00-\x7f]")
_TAGS: Final = range(0xE0020, 0xE007F)


def revealed(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """Return what a text says, hidden text included, and where in it each character comes from.

    Tags and variation selectors stand for the letters and bytes that they encode; a line break
    parts them from the words before. Compatibility forms, such as bold or wide letters, become
    letters, and other hidden characters are left out. Without a change, the places are null.
    """
    if text.isascii() or (not _HIDDEN.search(text) and unicodedata.is_normalized("NFKC", text)):
        return text, None
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for part, start, end in _parts(text):
        letters.append(part)
        # A character of plain text has a place of its own.
        if end - start == len(part):
            places += ((at, at + 1) for at in range(start, end))
        else:
            places += [(start, end)] * len(part)
    return "".join(letters), places


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what each part of a text says, and where the part begins and ends."""
    at, in_tags = 0, False
    for match in _NOT_ASCII.finditer(text):
        start, end = match.span()
        if start > at:
            yield text[at:start], at, start
            in_tags = False
        is_tag = ord(match[0][0]) in _TAGS
        if is_tag and not in_tags:
            yield "\n", start, end
        in_tags, at = is_tag, end
        yield _said(match[0]), start, end
    if at < len(text):
        yield text[at:], at, len(text)


def _said(part: str) -> str:
    """Return what a character that is not ASCII says, or a run of variation selectors."""
    if ord(part[0]) in _TAGS:
        return chr(ord(part) - 0xE0000)
    if _SELECTOR.match(part) and part[0] not in _GRAPHEME_MARKS:
        points = (ord(c) for c in part)
        said = bytes(p - 0xFE00 if p < 0xFE10 else p - 0xE0100 + 16 for p in points)
        # One selector alone, or a few, choose a look.
        return f"\n{said.decode('utf-8', 'ignore')}" if len(said) > _MOST_STYLES else ""
    return "" if _HIDDEN.match(part) else unicodedata.normalize("NFKC", part)
