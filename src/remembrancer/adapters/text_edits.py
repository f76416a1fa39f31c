"""Edits on the text of a file, with the answers that Claude is trained on. Pure."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from remembrancer.adapters.paths import FileRefused

_WIDTH: Final = 6
"""Columns of a line number."""
_AROUND: Final = 2
"""Lines shown before and after an edit."""


def numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return a file with line numbers; a range counts from 1, and -1 is the last line."""
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:
        first, last = max(1, view_range[0]), view_range[1]
        last = len(lines) if last == -1 else last
    numbered_lines = "\n".join(_lines(lines[first - 1 : last], first))
    return f"Here's the content of {path} with line numbers:\n{numbered_lines}"


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, str]:
    """Return a text with ``old`` replaced, and the answer for the model.

    Raises :class:`FileRefused` unless ``old`` occurs exactly once.
    """
    count = text.count(old) if old else 0
    if count == 0:
        raise FileRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if count > 1:
        before = (part.count("\n") for part in text.split(old)[:-1])
        starts = accumulate(before, lambda line, breaks: line + old.count("\n") + breaks)
        numbers = ", ".join(str(line + 1) for line in starts)
        raise FileRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{numbers}. Please ensure it is unique"
        )
    changed = text.replace(old, new)
    at = text.count("\n", 0, text.index(old))
    first = max(0, at - _AROUND)
    snippet = _lines(changed.split("\n")[first : at + _AROUND + 1], first + 1)
    head = (
        "The memory file has been edited. Here is the snippet showing the change "
        "(with line numbers):"
    )
    return changed, "\n".join([head, *snippet])


def inserted(text: str, line: int, new: str) -> str:
    """Return a text with ``new`` after a line; 0 is the beginning."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not 0 <= line <= len(lines):
        raise FileRefused(
            f"Invalid `insert_line` parameter: {line}. "
            f"It should be within the range [0, {len(lines)}]."
        )
    changed = "\n".join([*lines[:line], new.rstrip("\n"), *lines[line:]])
    return changed if changed.endswith("\n") else f"{changed}\n"


def _lines(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]
