"""Read a transcript file, whichever format it has."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from remembrancer.importing.lines import is_lines, read_documents, read_lines
from remembrancer.importing.locomo import looks_like, read_locomo
from remembrancer.importing.transcript import Defaults, Transcript, wrong


class Format(StrEnum):
    """How a transcript is written."""

    AUTO = "auto"
    """Found out from the file."""
    JSONL = "jsonl"
    """One message per line."""
    JSON = "json"
    """A list of conversations with their messages."""
    LOCOMO = "locomo"
    """The LoCoMo benchmark's files."""


def read(
    path: Path,
    written_as: Format = Format.AUTO,
    *,
    platform: str = "import",
) -> list[Transcript]:
    """Return the conversations in a file, all checked.

    ``platform`` is that of conversations that name none. Raises ``InvalidInput`` naming
    the file, the place in it and the reason, never what was said.
    """
    text = _text(path)
    found = parse(text, written_as, Defaults(platform, path.stem[:255]), path.name)
    if not found:
        raise wrong(path.name, "holds no messages")
    return found


def parse(text: str, written_as: Format, defaults: Defaults, file: str) -> list[Transcript]:
    """Return the conversations in the text of a file called ``file``."""
    if written_as is Format.JSONL or (written_as is Format.AUTO and is_lines(text)):
        return read_lines(text, defaults, file)
    content = _json(text, file)
    if written_as is Format.LOCOMO or (written_as is Format.AUTO and looks_like(content)):
        return read_locomo(content, file)
    return read_documents(content, defaults, file)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise wrong(str(path), (error.strerror or "cannot be read").lower()) from None
    except UnicodeDecodeError:
        raise wrong(path.name, "is not UTF-8 text") from None


def _json(text: str, file: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise wrong(f"{file}, line {error.lineno}", "is not valid JSON") from None
    except RecursionError:
        raise wrong(file, "is nested too deeply") from None
