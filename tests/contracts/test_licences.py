"""What Remembrancer uses may be used, and is named with its licence."""

import re
import subprocess
from pathlib import Path

import pytest

from docs.licences_page import PAGE, is_allowed, page

ROOT = Path(__file__).parents[2]
LISTED = re.findall(r"^\| ([\w.-]+) \| (.+) \|$", page().rpartition("## Packages")[2], re.MULTILINE)


def test_the_page_of_licences_has_every_package() -> None:
    """docs/licences.md is as docs/licences_page.py writes it, from the locked requirements."""
    assert PAGE.read_text("utf-8") == page(), "run `make licences`"


def test_each_licence_is_allowed() -> None:
    """A new package with other conditions is a decision, not an accident."""
    refused = {name: text for name, text in LISTED if name != "package" and not is_allowed(text)}
    assert refused == {}, "choose another package, or allow it in docs/licences_page.py"


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("unknown", False),
    ],
)
def test_of_two_licences_one_or_both_must_be_allowed(expression: str, allowed: bool) -> None:
    """As SPDX says it."""
    assert is_allowed(expression) is allowed


def test_nothing_of_others_is_copied_into_the_source() -> None:
    """A script or style sheet of others says whose it is: none does, NOTICE names no other part."""
    names = subprocess.run(
        ["git", "ls-files", "src"],  # noqa: S607 - the git of the path
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    marks = re.compile(r"@license|@preserve|copyright\s*(\(c\)|©|\d{4})|SPDX-", re.IGNORECASE)
    files = [ROOT / name for name in names if (ROOT / name).is_file()]
    assert [file.name for file in files if marks.search(file.read_text("utf-8", "ignore"))] == []
