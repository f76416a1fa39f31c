"""What WhatsApp itself writes into a chat, in the languages of ``whatsapp.toml``. Pure."""

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

MARKS: Final = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
"""Characters of the direction of text, which are not seen."""
_LONGEST: Final = 160
"""Characters. What WhatsApp writes is short."""
_KINDS: Final = ("photo", "video", "audio", "sticker", "gif", "file", "contact", "media")
_ENDS: Final = ("", *".,\u3002\u06d4\u0964\u060c")
_UNSEEN = dict.fromkeys(map(ord, f"{MARKS}\u200c\u200d"))


@dataclass(frozen=True, slots=True)
class Words:
    titles: tuple[str, ...]
    notices: tuple[str, ...]
    deleted: frozenset[str]
    edited: frozenset[str]
    attached: frozenset[str]
    omitted: Mapping[str, str]
    """The kind of a file that was not exported, by the text that stands for it."""

    def is_notice(self, text: str) -> bool:
        """Return whether a text is a notice, or has one as its first sentence."""
        start = normal(text[:_LONGEST])
        return start.startswith(self.notices) and any(
            start.startswith(notice) and start[len(notice) :][:1] in _ENDS
            for notice in self.notices
        )

    def is_deleted(self, text: str) -> bool:
        return _short(text) in self.deleted

    def is_edited(self, text: str) -> bool:
        return _short(text) in self.edited

    def is_attached(self, text: str) -> bool:
        return _short(text) in self.attached

    def kind_omitted(self, text: str) -> str | None:
        return self.omitted.get(_short(text))

    def title(self, name: str) -> str:
        """Return the name of the chat in the name of its file."""
        for title in self.titles:
            if name.casefold().startswith(title):
                return name[len(title) :]
        return name


@cache
def _tables() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(files(__package__).joinpath("whatsapp.toml").read_text("utf-8"))


def table(name: str) -> Mapping[str, list[str]]:
    return _tables()[name]


@cache
def vocabulary() -> Words:
    def each(name: str) -> list[str]:
        return [text for language in _tables().values() for text in language.get(name, ())]

    def normals(name: str) -> frozenset[str]:
        return frozenset(map(normal, each(name)))

    return Words(
        tuple(title.casefold() for title in each("title")),
        tuple(map(normal, each("notice"))),
        normals("deleted"),
        normals("edited"),
        normals("attached"),
        {text: kind for kind in _KINDS for text in normals(kind)},
    )


def normal(text: str) -> str:
    """Return text without invisible marks, case and the last full stop."""
    seen = unicodedata.normalize("NFC", text.translate(_UNSEEN)).casefold()
    return " ".join(seen.split()).rstrip(".\u3002\u06d4\u0964 ")


def _short(text: str) -> str:
    return normal(text) if len(text) <= _LONGEST else ""
