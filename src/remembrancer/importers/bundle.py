"""What an export is to those who read it: some named texts, whatever they lie in. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Protocol

from remembrancer.importers.exported_conversations import wrong

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


class Bundle(Protocol):
    """A file, a folder or a zip archive."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    def names(self) -> Sequence[str]:
        """Return the paths of the files in it, in order, with ``/`` between the parts."""
        ...

    def text(self, name: str) -> str:
        """Return the text of one; raise ``InvalidInput`` for what is no UTF-8 or too large."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a bundle."""

    bundle: Bundle
    name: str

    @property
    def where(self) -> str:
        """What errors call it: the file, or the archive and what is in it."""
        alone = len(self.bundle.names()) == 1 and self.name == self.bundle.name
        return self.name if alone else f"{self.bundle.name}, {self.name}"

    @property
    def path(self) -> PurePosixPath:
        """Where it lies in the bundle."""
        return PurePosixPath(self.name)

    def text(self) -> str:
        """Return its text."""
        return self.bundle.text(self.name)

    def json(self) -> Any:
        """Return what it holds as JSON."""
        return parsed(self.text(), self.where)

    def elements(self) -> Iterator[tuple[str, Any]]:
        """Yield the elements of a JSON list and where they stand, one in memory at a time.

        An object that is no list is one element.
        """
        yield from elements(self.text(), self.where)


def parsed(text: str, where: str) -> Any:
    """Return a JSON text as values; the error says where it is none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise wrong(f"{where}, line {error.lineno}", "is not valid JSON") from None
    except RecursionError:
        raise wrong(where, "is nested too deeply") from None
    except ValueError:
        # such as a number of ten thousand digits
        raise wrong(where, "is not valid JSON") from None


def elements(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a JSON list and where they stand; of anything else, itself."""
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        yield where, parsed(text, where)
        return
    at, number = _after_space(text, at + 1), 0
    while number == 0 or text[at : at + 1] == ",":
        at = _after_space(text, at + (number > 0))
        if number == 0 and text[at : at + 1] == "]":
            break
        number += 1
        value, at = _decoded(text, at, where)
        yield f"{where}, {number}", value
        at = _after_space(text, at)
    if text[at : at + 1] != "]" or _after_space(text, at + 1) < len(text):
        raise _not_json(text, at, where)


def _decoded(text: str, at: int, where: str) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _not_json(text, error.pos, where) from None
    except RecursionError:
        raise wrong(where, "is nested too deeply") from None
    except ValueError:
        raise _not_json(text, at, where) from None


def _not_json(text: str, at: int, where: str) -> Exception:
    line = text.count("\n", 0, at) + 1
    return wrong(f"{where}, line {line}", "is not valid JSON")


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def find(bundle: Bundle, name: str) -> Member | None:
    """Return the file of this name, in any case, that lies the least deep; null for none."""
    same = [n for n in bundle.names() if PurePosixPath(n).name.casefold() == name.casefold()]
    best = min(same, key=lambda n: (n.count("/"), n), default=None)
    return Member(bundle, best) if best is not None else None


def main(bundle: Bundle, name: str) -> Member:
    """Return the file of this name; of a bundle that is one file, that file."""
    return find(bundle, name) or Member(bundle, bundle.names()[0])


def only(bundle: Bundle, *endings: str) -> Member | None:
    """Return the one file with one of the endings; null where there are several or none."""
    same = [n for n in bundle.names() if PurePosixPath(n).suffix.casefold() in endings]
    return Member(bundle, same[0]) if len(same) == 1 else None
