"""Every format of exports is documented, tried, and offered on the pages."""

import re
from pathlib import Path

from remembrancer.importers import Format
from remembrancer.web import labels

PAGE = Path("docs/importing.md").read_text("utf-8")
OWN = {Format.JSONL, Format.JSON, Format.LOCOMO}
FORMATS = {*Format} - {Format.AUTO}


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table that begins with this heading."""
    _, _, rest = PAGE.partition(f"| {heading} |")
    lines = rest.partition("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_both_tables_have_every_format() -> None:
    """What comes along, what is named and left, and which version of the file is in the tests."""
    whole, versions = rows_of("`--format`"), rows_of("format")
    named = [name for row in whole for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(named) == sorted(FORMATS)
    assert [row[0] for row in whole if not all(row)] == ["`jsonl`, `json`, `locomo`"]
    tried = [name for row in versions if all(row) for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(tried) == sorted(FORMATS - OWN)


def test_the_pages_name_every_format() -> None:
    """And say where people get an export."""
    assert labels.FORMATS.keys() == FORMATS
    assert labels.EXPORTS.keys() == FORMATS - OWN
