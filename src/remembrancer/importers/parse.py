"""Check the records of an export, and count unknown fields and skipped records. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from remembrancer.errors import InvalidInput
from remembrancer.importers.ignored_fields import IGNORED_FIELDS
from remembrancer.reasons import wrong_field

_LONGEST_NAME = 60

Model = TypeVar("Model", bound=BaseModel)


def invalid(where: str, reason: str) -> InvalidInput:
    return InvalidInput(reason, field=where)


@dataclass(slots=True)
class Notes:
    read: int = 0
    """Messages that were read."""
    unknown: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str) -> None:
        self.skipped[_short(kind)] += 1

    def unknown_field(self, name: str) -> None:
        self.unknown[_short(name)] += 1


def _short(name: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in name)
    if len(printable) <= _LONGEST_NAME:
        return printable
    return f"{printable[: _LONGEST_NAME - 1]}…"


class Record(BaseModel):
    """An object in an export; ``ignored_fields.py`` has the fields that are not read."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def unknown_fields(cls, names: Iterable[str]) -> Iterator[str]:
        """Yield the names that are neither read nor ignored, after the name of the record."""
        kind = cls.__name__.removeprefix("_").lower()
        ignored = IGNORED_FIELDS.get(cls.__module__.rpartition(".")[2], {}).get(kind, "")
        yield from (f"{kind}.{name}" for name in set(names) - set(ignored.split()))


R = TypeVar("R", bound=Record)


def validated(model: type[Model], value: Any, where: str) -> Model:
    """Return ``value`` as a model; raise ``InvalidInput`` with the first error, never a value."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        parts, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
        raise invalid(", ".join(filter(None, [where, ".".join(parts)])), reason) from None
    except RecursionError:
        raise invalid(where, "is nested too deeply") from None


def record(model: type[R], value: Any, where: str, notes: Notes | None = None) -> R:
    """Return ``value`` as a record, and count its unknown fields in ``notes``."""
    if not isinstance(value, dict):
        raise invalid(where, "is not an object")
    parsed = validated(model, value, where)
    if notes is not None:
        for name in model.unknown_fields(parsed.model_extra or ()):
            notes.unknown_field(name)
    return parsed


def in_years(at: datetime) -> bool:
    return 1 < at.year < 9999
