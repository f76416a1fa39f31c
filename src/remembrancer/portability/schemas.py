"""Formats of an export, and the records that all of them consist of."""

from enum import StrEnum
from typing import Any, Final

Record = dict[str, Any]
"""A user, conversation, message or memory as JSON values, with its ``type``."""

SHOWN: Final = 80
"""Characters of a memory that its name in another one is made of."""
VERSION: Final = 1
"""Of the records, in that of the user."""


class ExportFormat(StrEnum):
    """The format of a person's whole memory as a file."""

    JSON = "json"
    """JSON Lines: a user, conversations, messages and memories, one a line."""
    MARKDOWN = "markdown"
    """A zip archive of notes, such as Obsidian reads."""
    JSON_LD = "json-ld"
    """JSON-LD with the vocabulary of schema.org."""

    @property
    def media_type(self) -> str:
        """The type of the file for HTTP."""
        return _FILES[self][0]

    @property
    def ending(self) -> str:
        """The end of its name."""
        return _FILES[self][1]


_FILES: Final = {
    ExportFormat.JSON: ("application/jsonl", "jsonl"),
    ExportFormat.MARKDOWN: ("application/zip", "zip"),
    ExportFormat.JSON_LD: ("application/ld+json", "jsonld"),
}
