"""An export as named texts: a file, a folder or a zip archive. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Protocol

from remembrancer.importers.captions import label
from remembrancer.importers.json_stream import JsonReader, elements, json_lines, parse_json
from remembrancer.importers.parse import Notes


class Bundle(Protocol):
    """A file, a folder or a zip archive."""

    is_stopped: bool
    """Set to let a thread that reads it end."""

    @property
    def name(self) -> str: ...

    def names(self) -> Sequence[str]:
        """Return the paths of its files in order, with ``/`` between the parts."""
        ...

    def content(self, name: str) -> bytes:
        """Return the bytes of a file; raise ``InvalidInput`` if it is too large."""
        ...

    def text(self, name: str) -> str:
        """Return the text of a file; raise ``InvalidInput`` if it is not UTF-8 or too large."""
        ...

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file of any size in parts."""
        ...

    def texts(self, name: str) -> Iterator[str]:
        """Yield the text of a file of any size in parts; raise ``InvalidInput`` if it is none."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    bundle: Bundle
    name: str

    @property
    def where(self) -> str:
        """The position for errors: the file, or the archive and the file."""
        alone = len(self.bundle.names()) == 1 and self.name == self.bundle.name
        return self.name if alone else f"{self.bundle.name}, {self.name}"

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.name)

    def content(self) -> bytes:
        return self.bundle.content(self.name)

    def text(self) -> str:
        return self.bundle.text(self.name)

    def chunks(self) -> Iterator[bytes]:
        return self.bundle.chunks(self.name)

    def texts(self) -> Iterator[str]:
        return self.bundle.texts(self.name)

    def start(self) -> tuple[str, bool]:
        """Return the beginning of a text, and whether that is all of it."""
        texts = self.texts()
        start, following = next(texts, ""), next(texts, "")
        return (start, False) if following else (start, True)

    def lines(self) -> Iterator[str]:
        begun: list[str] = []
        for text in self.texts():
            *whole, rest = text.split("\n")
            for line in whole:
                yield "".join((*begun, line))
                begun.clear()
            begun.append(rest)
        yield "".join(begun)

    def json(self) -> Any:
        return parse_json(self.text(), self.where)

    def json_reader(self) -> JsonReader:
        return JsonReader(self.texts(), self.where)

    def json_lines(self) -> Iterator[tuple[str, Any]]:
        return json_lines(self.lines(), self.where)

    def elements(self) -> Iterator[tuple[str, Any]]:
        return elements(self.texts(), self.where)


def find(bundle: Bundle, name: str) -> Member | None:
    """Return the file of this name, in any case, with the shortest path; null without one."""
    paths = [n for n in bundle.names() if PurePosixPath(n).name.casefold() == name.casefold()]
    path = min(paths, key=lambda n: (n.count("/"), n), default=None)
    return Member(bundle, path) if path is not None else None


def main(bundle: Bundle, name: str = "") -> Member:
    return find(bundle, name) or Member(bundle, bundle.names()[0])


def parts(bundle: Bundle, name: str) -> list[Member]:
    """Return the file of this name and its numbered parts, ``conversations-000.json`` and so on.

    Without any, the first file of the bundle.
    """
    found = [
        (PurePosixPath(path).parent.as_posix(), number, path)
        for path in bundle.names()
        if (number := part_number(path, name)) is not None
    ]
    return [Member(bundle, path) for _, _, path in sorted(found)] or [main(bundle)]


def files(bundle: Bundle, *endings: str) -> list[Member]:
    """Return the files with these endings, or the only file whatever it is called."""
    names = bundle.names()
    return [
        Member(bundle, name)
        for name in names
        if len(names) == 1 or PurePosixPath(name).suffix.casefold() in endings
    ]


def part_number(path: str, name: str) -> int | None:
    """Return the number of a part of the file ``name``, -1 for the file; null for any other."""
    file, stem, ending = PurePosixPath(path).name.casefold(), *name.rsplit(".", 1)
    if file == name:
        return -1
    number = file.removeprefix(f"{stem}-").removesuffix(f".{ending}")
    is_part = file == f"{stem}-{number}.{ending}" and number.isdecimal() and len(number) < 10
    return int(number) if is_part else None


def within(bundle: Bundle, folder: str) -> list[Member]:
    """Return the JSON file of this name, and those in the folder of this name."""
    return [
        Member(bundle, name)
        for name in bundle.names()
        if (path := PurePosixPath(name)).suffix == ".json"
        and folder in {path.stem, path.parent.name}
    ]


def note_unread(bundle: Bundle, read: Collection[Member], notes: Notes) -> None:
    """Count the files of an export that its reader does not read, so that they are named."""
    known = {member.name for member in read}
    folders = {member.path.parent for member in read}
    for path in (PurePosixPath(name) for name in bundle.names() if name not in known):
        ending = path.suffix.casefold().removeprefix(".")
        if ending not in {"json", "html", "txt", "md", "csv"}:
            notes.skip(f"{ending} file".strip())
        elif path.parent not in folders:
            notes.skip(f"file in {label(path.parent.name)}")
        else:
            notes.skip(f"file {label(path.name)}")


def only(bundle: Bundle, *suffixes: str) -> Member | None:
    names = [n for n in bundle.names() if PurePosixPath(n).suffix.casefold() in suffixes]
    return Member(bundle, names[0]) if len(names) == 1 else None
