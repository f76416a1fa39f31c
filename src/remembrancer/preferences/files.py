"""Files of preferences: JSON and CSV. Pure."""

import csv
import io
from enum import StrEnum
from typing import Any, Final

from pydantic import ValidationError

from remembrancer.errors import InvalidInput
from remembrancer.preferences.schemas import MOST_ROWS, PreferenceEntry, PreferenceFile
from remembrancer.reasons import wrong_field

COLUMNS: Final = tuple(PreferenceEntry.model_fields)
"""Columns of a CSV file, in order."""


class FileFormat(StrEnum):
    JSON = "json"
    CSV = "csv"


def to_csv(file: PreferenceFile) -> str:
    """Return CSV (RFC 4180) with a header."""
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, COLUMNS)
    writer.writeheader()
    writer.writerows(
        {**row.model_dump(), "allow_agent_specific_memory": _word(row.allow_agent_specific_memory)}
        for row in file.preferences
    )
    return written.getvalue()


def _word(value: bool) -> str:
    return "true" if value else "false"


def from_csv(content: bytes | str) -> PreferenceFile:
    """Raise ``InvalidInput`` with row and field.

    The first line names the columns, in any order. An empty ``user_id`` counts as missing.
    """
    rows = _rows(content)
    try:
        return PreferenceFile.model_validate({"preferences": rows})
    except ValidationError as error:
        path, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
    # Not chained: pydantic's own error quotes the value.
    raise InvalidInput(reason, field=".".join(path))


def _rows(content: bytes | str) -> list[dict[str, Any]]:
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        _check_header(reader.fieldnames or ())
        rows = []
        for index, cells in enumerate(reader):
            if None in cells:
                raise InvalidInput(
                    "must not have more cells than columns", field=f"preferences.{index}"
                )
            if index == MOST_ROWS:
                raise InvalidInput(f"must have at most {MOST_ROWS:,} rows", field="preferences")
            rows.append({name: cell for name, cell in cells.items() if cell})
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput("cannot be read as CSV in UTF-8", field="body") from None
    return rows


def _check_header(columns: Any) -> None:
    if len(set(columns)) < len(columns) or not set(columns) <= set(COLUMNS):
        raise InvalidInput(
            f"must have no columns but {', '.join(COLUMNS)}, each once", field="header"
        )
    for column in COLUMNS:
        if PreferenceEntry.model_fields[column].is_required() and column not in columns:
            raise InvalidInput(f"must have the column {column}", field="header")
