"""JSON of any size, value by value. Pure.

Python's decoder reads each value; here is only what is around values, and where a text goes on.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from remembrancer.importers.parse import Notes, R, invalid, record

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"
_DEEP: Final = 4
"""How deep a value is taken apart to be skipped: an account, chats, a chat, its messages."""

_LONGEST: Final = 1 << 30
"""Characters of a value."""


class JsonReader:
    """Reads a JSON text that comes in parts. No more than one value is in memory, and a part."""

    def __init__(self, texts: Iterable[str], where: str) -> None:
        self._texts = iter(texts)
        self._where = where
        self._text, self._at, self._line = "", 0, 1

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._goes_on():
                return ""

    def value(self) -> Any:
        while True:
            self.peek()
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise invalid(self._where, "is nested too deeply") from None
            except ValueError as error:  # also a number of ten thousand digits
                if len(self._text) - self._at < _LONGEST and self._goes_on():
                    continue
                raise self._wrong(getattr(error, "pos", self._at)) from None
            # A number at the end of a part may have more digits.
            is_open = end == len(self._text) and not isinstance(value, dict | list | str)
            if not is_open or not self._goes_on():
                self._at = end
                return value

    def numbers(self) -> Iterator[int]:
        """Yield the number of each element of a list; the caller reads the element."""
        self._take("[")
        number = 0
        while number or self.peek() != "]":
            number += 1
            yield number
            if self.peek() != ",":
                break
            self._at += 1
        self._take("]")

    def names(self) -> Iterator[str]:
        """Yield the name of each field of an object; the caller reads its value."""
        self._take("{")
        is_first = True
        while not is_first or self.peek() != "}":
            is_first = False
            if self.peek() != '"':
                raise self._wrong(self._at)
            name: str = self.value()
            self._take(":")
            yield name
            if self.peek() != ",":
                break
            self._at += 1
        self._take("}")

    def skip(self, depth: int = _DEEP) -> None:
        mark = self.peek() if depth else ""
        if mark not in {"[", "{"}:
            self.value()
            return
        for _ in self.numbers() if mark == "[" else self.names():
            self.skip(depth - 1)

    def end(self) -> None:
        if self.peek():
            raise self._wrong(self._at)

    def _take(self, mark: str) -> None:
        if self.peek() != mark:
            raise self._wrong(self._at)
        self._at += 1

    def _goes_on(self) -> bool:
        """Read on: at least as much as is left, so that a long value is decoded few times."""
        left = len(self._text) - self._at
        parts = [self._text[self._at :]]
        for text in self._texts:
            parts.append(text)
            left -= len(text)
            if left < 0:
                break
        if not any(parts[1:]):
            return False
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = "".join(parts), 0
        return True

    def _wrong(self, at: int) -> Exception:
        line = self._line + self._text.count("\n", 0, at)
        return invalid(f"{self._where}, line {line}", "is not valid JSON")


def long_record(
    model: type[R],
    reader: JsonReader,
    long: str,
    first: Collection[str],
    where: str,
    notes: Notes,
) -> tuple[R, Iterator[object]]:
    """Return an object, and the elements of its field ``long``, which are read one by one.

    They are in memory if they stand before one of the fields ``first``.
    """
    fields: dict[str, Any] = {}
    if reader.peek() != "{":
        return record(model, reader.value(), where), iter(())
    names = reader.names()
    for name in names:
        if name == long and reader.peek() == "[" and fields.keys() >= set(first):
            parsed = record(model, {**fields, long: []}, where, notes)
            return parsed, _rest(model, reader, names, notes)
        fields[name] = reader.value()
    parsed = record(model, fields, where, notes)
    return parsed, iter(getattr(parsed, long))


def _rest(
    model: type[R], reader: JsonReader, names: Iterator[str], notes: Notes
) -> Iterator[object]:
    for _ in reader.numbers():
        yield reader.value()
    later = set()
    for name in names:
        reader.skip()
        later.add(name)
    for name in model.unknown_fields(later - model.model_fields.keys()):
        notes.unknown_field(name)


def parse_json(text: str, where: str) -> Any:
    reader = JsonReader((text,), where)
    value = reader.value()
    reader.end()
    return value


def elements(texts: Iterable[str], where: str) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a JSON list, or a single value, with their positions."""
    reader = JsonReader(texts, where)
    if reader.peek() == "[":
        for number in reader.numbers():
            yield f"{where}, {number}", reader.value()
        reader.end()
    else:
        value = reader.value()
        reader.end()
        yield where, value


def json_lines(lines: Iterable[str], where: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            position = f"{where}, line {number}"
            try:
                yield position, json.loads(line)
            except (ValueError, RecursionError):
                raise invalid(position, "is not valid JSON") from None
