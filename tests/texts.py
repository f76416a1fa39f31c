"""The texts of pages: those that stand in the code, and a language made of them for tests."""

import re
import tomllib
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "src/remembrancer/web/locale"
KEYWORDS: Any = {
    "gettext": None, "_": None, "ngettext": (1, 2), "lazy": None,
    "counted": (1, 2), "marked": (1, 2), "say": None,
}  # fmt: skip
_GREEK = str.maketrans("abcdefghijklmnopqrstuvwxyz", "αβψδεφγηιξκλμνοπχρστυωςθζϑ")
_KEPT = re.compile(r"%\(\w+\)s|<[^>]*>|&\w+;")


@cache
def extracted() -> Catalog:
    """All texts in the code and the templates of the pages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["babel"]["mappings"]
    methods = [(one["pattern"], one["method"]) for one in settings]
    options = {one["pattern"]: {key: str(value) for key, value in one.items()} for one in settings}
    catalog = Catalog()
    for file, _, message, _, context in extract_from_dir(ROOT, methods, options, KEYWORDS):
        assert not str(message).startswith(" "), (file, message)
        catalog.add(message, context=context)
    return catalog


def translated(language: str) -> Catalog:
    """The texts of a language that is part of the package."""
    with (LOCALE / f"{language}.po").open("rb") as lines:
        return read_po(lines, locale=language, abort_invalid=True)


def greek(text: str) -> str:
    """A text that says the same in another script, with what is put into it left alone."""
    parts, last = [], 0
    for kept in _KEPT.finditer(text):
        parts += [text[last : kept.start()].lower().translate(_GREEK), kept[0]]
        last = kept.end()
    return "".join([*parts, text[last:].lower().translate(_GREEK)])


def write_greek(directory: Path) -> None:
    """Write a file with all texts in Greek letters."""
    catalog = Catalog(locale="el")
    for message in extracted():
        if not message.id:
            continue
        forms = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = tuple(greek(form) for form in forms)
        catalog.add(
            message.id,
            strings if isinstance(message.id, tuple) else strings[0],
            context=message.context,
        )
    written = BytesIO()
    write_po(written, catalog)
    (directory / "el.po").write_bytes(written.getvalue())
