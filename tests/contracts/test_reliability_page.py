"""docs/reliability.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
DEFINED = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
}
NAMED = set(re.findall(r"`(test_\w+)`", PAGE))


def test_each_named_test_exists() -> None:
    """A test that gets another name gets it on the page too."""
    assert len(NAMED) > 100
    assert set() == NAMED - DEFINED


def _cases(names: set[str]) -> set[str]:
    return {match[1] for name in names if (match := re.match(r"test_case_(\d+)_", name))}


def test_each_case_is_on_the_page() -> None:
    """By one of its tests at least."""
    missing = _cases(DEFINED) - _cases(NAMED)
    assert not missing, f"docs/reliability.md needs a row with a test of the cases {missing}"
