"""Violations that are known: each may only disappear, and then leaves the list."""

import json
from collections.abc import Collection
from pathlib import Path

FILE = Path(__file__).with_name("known.json")


def assert_known(contract: str, violations: Collection[str], *, details: str = "") -> None:
    """Fail for a new violation, and for a known one that is gone and still listed."""
    known = set(json.loads(FILE.read_text(encoding="utf-8")).get(contract, []))
    new, fixed = sorted(set(violations) - known), sorted(known - set(violations))
    assert not new, f"new: {new}\n{details}"
    assert not fixed, f"fixed; remove from {FILE.name}: {fixed}"
