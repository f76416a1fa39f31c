"""`make audit` tells "nothing is known" from "nobody was asked"."""

import pytest

from requirements.audit import NO_SOURCE, verdict

GOOD = {"name": "anyio", "version": "4", "vulns": []}
UNKNOWN = {"name": "ours", "skip_reason": "not found"}
BAD = GOOD | {"vulns": [{"id": "PYSEC-1", "fix_versions": ["5"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "told"),
    [
        ([GOOD, GOOD], 0, ["osv knows nothing against 2 packages."]),
        ([], NO_SOURCE, ["osv does not answer."]),
        ([UNKNOWN], NO_SOURCE, ["osv knows 0 of 1 packages."]),
        ([GOOD, UNKNOWN], NO_SOURCE, ["osv knows 1 of 2 packages."]),
        ([BAD, UNKNOWN], 1, ["osv knows 1 advisories:", "anyio 4: PYSEC-1 (fixed in 5)"]),
    ],
)
def test_what_was_not_asked_about_is_not_clean(
    packages: list[dict[str, object]], code: int, told: list[str]
) -> None:
    """An advisory ends with 1, a service that does not know all packages with 3."""
    assert verdict("osv", packages) == (code, told)
