"""Say what a file that is no known export looks like, and what can be done. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from remembrancer.errors import InvalidInput
from remembrancer.importers.bundle import Bundle
from remembrancer.importers.captions import label
from remembrancer.importers.parse import invalid
from remembrancer.text import plural

_UNPACK: Final = "unpack it, and import the folder"
_AS_JSON: Final = "export the chats again, as JSON"
_OWN: Final = "name its format with --format, or bring it as JSONL (import-format.md)"
_BACKUPS: Final = (".backup", ".crypt14", ".crypt15")
_BYTES: Final = (
    (0, b"%PDF", "a PDF document", _AS_JSON),
    (0, b"SQLite format 3", "a database of an application", "export the chats in the application"),
    (0, b"\x1f\x8b", "a gzip archive", _UNPACK),
    (0, b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    (0, b"Rar!", "a RAR archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"\x89PNG", "a picture", _AS_JSON),
    (0, b"\xff\xd8\xff", "a picture", _AS_JSON),
    (0, b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (0, b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
)
_TEXTS: Final = (
    ("<!doctype html", "a web page", _AS_JSON),
    ("<html", "a web page", _AS_JSON),
    ("<smses", "SMS, or chats of an old Signal", f"export Signal on a computer; SMS: {_OWN}"),
    ("<?xml", "XML", _OWN),
    ("begin:vcard", "contacts", "import it with --format contacts"),
    ("begin:vcalendar", "a calendar", "import it with --format calendar"),
    ("from ", "a mailbox", "import it with --format mail"),
)
_FEW: Final = 5


def binary(content: bytes, where: str) -> InvalidInput:
    """Return the error for content that is not UTF-8."""
    for at, sign, what, remedy in _BYTES:
        if content[at : at + len(sign)] == sign:
            return invalid(where, f"is not UTF-8 text, but looks like {what}; {remedy}")
    if where.casefold().endswith(_BACKUPS):
        reason = "looks like a backup of a telephone, which is encrypted; export the chats instead"
        return invalid(where, reason)
    return invalid(where, "is not UTF-8 text; convert it to UTF-8")


def text(content: str, first: object, where: str) -> InvalidInput:
    """Return the error for a text, with its first JSON value if it has one."""
    if isinstance(first, Mapping):
        names = [name for name in map(str, first) if name.isidentifier()][:_FEW]
        fields = f" with the fields {', '.join(map(label, names))}" if names else ""
        return invalid(where, f"looks like JSON{fields}, but no known export; {_OWN}")
    start = content[:1000].lstrip().casefold()
    if start.startswith("<?xml"):
        start = start[max(0, start.find("<smses")) :]
    for sign, what, remedy in _TEXTS:
        if start.startswith(sign):
            return invalid(where, f"looks like {what}; {remedy}")
    line = start.partition("\n")[0]
    if max(map(line.count, ",;\t")) > 1:
        return invalid(where, f"looks like a table; {_OWN}")
    reason = "looks like text, but no line begins with a date and time as a WhatsApp chat does"
    return invalid(where, f"{reason}; {_OWN}")


def files(bundle: Bundle) -> InvalidInput:
    """Return the error for a folder or an archive."""
    names = [PurePosixPath(name) for name in bundle.names()]
    endings = {name.suffix.casefold() for name in names}
    shown = ", ".join(label(name.name) for name in names[:_FEW])
    if ".zip" in endings:
        remedy = "import the archives in it one by one"
    else:
        remedy = _AS_JSON if ".html" in endings and ".json" not in endings else _OWN
    count = plural(len(names), "file", "files")
    return invalid(bundle.name, f"is not a known export; it has {count}, such as {shown}: {remedy}")
