"""Words that somebody else chose, made safe to stand on one line of a prompt. Pure."""

import re
from typing import Final

_BREAKS: Final = re.compile(
    # Controls, line ends, and what hides or reorders text: zero-width and direction marks, tags.
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\\s]+"
)
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


# Most words are fine as they are; seeing that is cheaper than putting them together anew.
_ODD: Final = re.compile("[^ !-;=?-Z\\\\^_a-~\u00a1-\u00ac\u00ae-\u02ff\u2018-\u201d]").search


def one_line(words: str) -> str:
    """Return ``words`` on one line, without what a model could take for markup.

    They read as before; angle brackets, square brackets and back-ticks get a look-alike that no
    template gives a meaning to. What cannot be seen, or reorders what can, becomes a space.
    """
    if _ODD(words) is None and "  " not in words:
        return words.strip(" ")
    return _BREAKS.sub(" ", words).translate(_MARKUP).strip()


def quotation(words: str) -> str:
    """Return ``words`` on one line between quotation marks that they cannot close."""
    return f'"{one_line(words).translate(_QUOTES)}"'


_QUOTES: Final = str.maketrans({'"': "'", "\u201c": "'", "\u201d": "'"})
