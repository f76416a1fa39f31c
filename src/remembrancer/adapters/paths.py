"""Paths of memory files: checks and directory listings. Pure."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

ROOT: Final = "/memories"
LONGEST_NAME: Final = 200
DEEPEST: Final = 20
SHOWN_DEPTH: Final = 2
MOST_SHOWN: Final = 1000
"""Maximum lines of a directory listing."""

Names = tuple[str, ...]
"""A path below the root, name by name."""

_ESCAPED: Final = re.compile("%[0-9A-Fa-f]{2}")
# Characters that look like separators, or like the dots of a parent directory.
_LOOKALIKES: Final = frozenset("\u2044\u2215\u29f8\u2571\u27cb\u2216\u29f5\ufe68\uff3c\uff0f")
_DOTS: Final = frozenset(
    ". \u2024\u2025\u2026\ufe52\uff0e\uff61\u3002\u00b7\u2219\u22c5\u0701\u0702"
)
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of invisible characters."""


class FileRefused(Exception):
    """A command on a file is refused; the message is for the model."""


def names(path: str) -> Names:
    """Return the names of a path below the root; none for the root itself.

    Raises :class:`FileRefused` for a path with parent directories, escapes, separators of another
    system, or characters that look like them.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise FileRefused(f"Path must start with /memories, got: {path}")
    inside = path[len(ROOT) :].removeprefix("/").removesuffix("/")
    if not inside:
        return ()
    parts = tuple(unicodedata.normalize("NFC", name) for name in inside.split("/"))
    if len(parts) > DEEPEST:
        raise FileRefused(f"Path {path} has more than {DEEPEST} levels")
    for name in parts:
        if name and set(name) <= _DOTS:
            raise FileRefused(f"Path {path} would escape /memories directory")
        for unfit, reason in _UNFIT:
            if unfit(name):
                raise FileRefused(f"Path {path} cannot be used: {reason}")
    return parts


_UNFIT: Final[Sequence[tuple[Callable[[str], bool], str]]] = (
    (lambda name: not name, "a name is empty"),
    (lambda name: name != name.strip(), "a name begins or ends with a space"),
    (lambda name: "\\" in name, "a name has a backslash"),
    (lambda name: bool(_LOOKALIKES & set(name)), "a name has a character like a slash"),
    (lambda name: _ESCAPED.search(name) is not None, "a name is escaped"),
    (
        lambda name: any(unicodedata.category(c) in _UNSEEN for c in name),
        "a name has an invisible character",
    ),
    (
        lambda name: len(name) > LONGEST_NAME,
        f"a name is longer than {LONGEST_NAME} characters",
    ),
)
"""Tests for unusable names, with the reasons."""


def listing(path: str, below: Names, sizes: Mapping[Names, int]) -> str:
    """Return the listing of a directory; ``sizes`` are the bytes of all files below it."""
    lines = [f"{_size(sum(sizes.values()))}\t{path}"]
    entries = sorted(_entries(below, sizes).items())
    lines += [f"{_size(size)}\t{path}/{'/'.join(at)}{slash}" for (at, slash), size in entries]
    more = len(lines) - MOST_SHOWN
    if more > 0:
        lines = [*lines[:MOST_SHOWN], f"... and {more:,} more"]
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    )
    return "\n".join([head, *lines])


def _entries(below: Names, sizes: Mapping[Names, int]) -> dict[tuple[Names, str], int]:
    """Return the sizes of the files and directories, down to the depth of the listing."""
    entries: dict[tuple[Names, str], int] = {}
    for file, size in sizes.items():
        at = file[len(below) :]
        for depth in range(1, min(len(at), SHOWN_DEPTH) + 1):
            entry = at[:depth], "" if depth == len(at) else "/"
            if not any(name.startswith(".") for name in at[:depth]):
                entries[entry] = entries.get(entry, 0) + size
    return entries


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("K", "M", "G"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
