"""The text of HTML, line by line. Pure.

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
_HIDDEN: Final = frozenset({"script", "style", "template", "title"})


def html_text(html: str) -> str:
    """Return what HTML says: a line for each block, a dash before each point of a list."""
    pieces, at, hidden = [], 0, ""
    while (begin := html.find("</" if hidden else "<", at)) >= 0:
        if not hidden:
            pieces.append(_unescaped(html[at:begin]))
        at = begin + 1
        mark = "-->" if html.startswith("!--", at) else ">"
        first = html[at : at + 1]
        if not first.isalpha() and first not in {"/", "!"}:
            pieces.append("<")
        elif (end := html.find(mark, at)) >= 0:
            tag, at = html[at:end], end + len(mark)
            name = next(iter(tag.strip("/").split(maxsplit=1)), "").casefold()
            if hidden:
                hidden = "" if name == hidden else hidden
            elif name in _HIDDEN and not tag.startswith("/"):
                hidden = name
            else:
                pieces.append(_gap(name, tag.startswith("/")))
        else:
            at = begin
            break
    pieces.append("" if hidden else _unescaped(html[at:]))
    lines = (line.strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line.strip("- "))


def _gap(name: str, is_end: bool) -> str:
    if name in _BLOCKS:
        return "\n- " if name == "li" and not is_end else "\n"
    return "\t" if name in _CELLS and not is_end else ""


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:
        return text  # such as a number of ten thousand digits
