"""Records of exports: checked where we read them, counted where we do not. Pure."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from remembrancer.importers.exported_conversations import first_reason, wrong

_NAME = 60


class DateOrder(StrEnum):
    """The order of day, month and year in a written date."""

    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


@dataclass(frozen=True, slots=True)
class Options:
    """What a person says of a file, where the file does not say it itself.

    ``me`` is the name or platform id, in the file, of whom the import is for. ``longest`` is
    how many characters a message may have; a longer one becomes several.
    """

    platform: str = "import"
    conversation: str = "import"
    me: str | None = None
    date_order: DateOrder | None = None
    time_zone: tzinfo | None = None
    longest: int = 32_000


@dataclass(frozen=True, slots=True)
class Account:
    """Whose export it is, as the platform names them."""

    platform: str
    platform_user_id: str
    name: str = ""


@dataclass(slots=True)
class Notes:
    """What was not taken over, by name: fields nobody here knows, and kinds of records."""

    unknown: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str) -> None:
        """Count a record that is left out."""
        self.skipped[_short(kind)] += 1

    def strange(self, name: str) -> None:
        """Count a field, or a kind of something, that is not known here."""
        self.unknown[_short(name)] += 1


def _short(name: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in name)
    return shown if len(shown) <= _NAME else f"{shown[: _NAME - 1]}…"


class Record(BaseModel):
    """An object in an export. Fields in ``LEFT`` are known and not needed."""

    model_config = ConfigDict(extra="allow")

    LEFT: ClassVar[Collection[str]] = ()


R = TypeVar("R", bound=Record)


def record(model: type[R], value: Any, where: str, notes: Notes) -> R:
    """Return ``value`` as a record; raise ``InvalidInput`` for a field that is not as it must be.

    Fields that the model does not know are noted.
    """
    if not isinstance(value, dict):
        raise wrong(where, "is not an object")
    try:
        found = model.model_validate(value)
    except ValidationError as error:
        raise first_reason(where, error) from None
    except RecursionError:
        raise wrong(where, "is nested too deeply") from None
    for name in found.model_extra or ():
        if name not in model.LEFT:
            notes.strange(f"{model.__name__.removeprefix('_').lower()}.{name}")
    return found


def clean(text: str) -> str:
    """Return ``text`` without what cannot be stored: NUL, and halves of characters."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode().strip()


def label(text: str | None) -> str:
    """Return a name or title on one line, 200 characters at most; empty for none."""
    if not text:
        return ""
    line = "".join(c if c.isprintable() else " " for c in clean(text))
    return " ".join(line.split())[:200].strip()


def caption(kind: str, name: str = "") -> str:
    """Return what stands for something that is not text, such as ``[photo: cat.jpg]``."""
    shown = label(name).replace("[", "(").replace("]", ")")
    return f"[{kind}: {shown}]" if shown else f"[{kind}]"


def kind_of(mime_type: str | None) -> str:
    """Return what a file is called in its caption, by its MIME type."""
    kind = (mime_type or "").partition("/")[0]
    return {"image": "photo", "video": "video", "audio": "audio"}.get(kind, "file")


def joined(*parts: str) -> str:
    """Return captions and text as one message."""
    return "\n".join(part for part in (clean(p) for p in parts) if part)


def in_years(at: datetime) -> bool:
    """Say whether a time can be stored."""
    return 1 < at.year < 9999
