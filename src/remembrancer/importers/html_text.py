"""The text of HTML that a program has cleaned, line by line. Pure.

Python's parser takes time in the square of a text with many open tags, so marks are only sought.
"""

from html import unescape
from typing import Final

_BLOCKS: Final = frozenset(
    {
        *("address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "footer", "header"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table"),
        *("tr", "ul"),
    }
)
_CELLS: Final = frozenset({"td", "th"})


def html_text(html: str) -> str:
    """Return what HTML says: a line for each block, a dash before each point of a list."""
    pieces, at = [], 0
    while (begin := html.find("<", at)) >= 0:
        pieces.append(_unescaped(html[at:begin]))
        at = begin + 1
        first = html[at : at + 1]
        if not first.isalpha() and first not in {"/", "!"}:
            pieces.append("<")
        elif (end := html.find(">", at)) >= 0:
            pieces.append(_gap(html[at:end]))
            at = end + 1
        else:
            break
    pieces.append(_unescaped(html[at:]))
    lines = (line.strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line.strip("- "))


def _gap(tag: str) -> str:
    name = tag.strip("/").partition(" ")[0].casefold()
    if name in _BLOCKS:
        return "\n- " if name == "li" and not tag.startswith("/") else "\n"
    return "\t" if name in _CELLS else ""


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:
        return text  # such as a number of ten thousand digits
