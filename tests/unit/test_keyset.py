"""Cursors of keyset pages."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, DateTime, Float, Text, Uuid, column

from remembrancer.db.keyset import Keyset
from remembrancer.errors import InvalidInput

ORDER = Keyset(
    "examples",
    column("at", DateTime(timezone=True)),
    column("weight", Float),
    column("number", BigInteger),
    column("owner_id", Uuid),
    column("id", Text),
)


@dataclass(frozen=True)
class ExampleRow:
    """A row with one column of each type."""

    at: datetime
    weight: float
    number: int
    owner_id: UUID
    id: str

    @property
    def values(self) -> list[object]:
        """The columns, in order."""
        return [self.at, self.weight, self.number, self.owner_id, self.id]


def _encode(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


rows = st.builds(
    ExampleRow,
    at=st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    weight=st.floats(allow_nan=False, allow_infinity=False),
    number=st.integers(-(2**63) + 1, 2**63 - 1),
    owner_id=st.uuids(),
    id=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
)


@given(rows)
def test_a_cursor_holds_the_position_of_the_last_row(row: ExampleRow) -> None:
    """The next page starts after exactly that row."""
    page = ORDER.cut([row, row], 1)
    assert page.items == [row]
    position = ORDER.position(page.next_cursor)
    assert position is not None
    assert list(position) == row.values


def test_the_last_page_has_no_cursor() -> None:
    """No row is left, so there is nothing to go on with."""
    row = ExampleRow(datetime.now(UTC), 0.5, 1, uuid4(), "x")
    assert ORDER.cut([row], 1).next_cursor is None
    assert ORDER.cut([], 1).next_cursor is None
    assert ORDER.position(None) is None


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_breaks_the_cursor_reader(cursor: str) -> None:
    """Whatever is no cursor is refused, naming the field."""
    with suppress(InvalidInput):
        ORDER.position(cursor)


GOOD = ("examples", "2026-01-01T00:00:00Z", 0.5, 1, str(UUID(int=7)), "x")


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, "others"),
        (1, "0001-01-01T00:00:00Z"),
        (1, "9999-12-31T23:59:59-23:59"),
        (1, "2026-01-01T00:00:00"),
        (2, float("nan")),
        (2, float("inf")),
        (2, None),
        (3, 2**63),
        (3, "9" * 5000),
        (4, "x"),
        (5, "\x00"),
        (5, "\ud800"),
        (5, 7),
    ],
)
def test_a_cursor_with_a_value_that_no_row_has_is_refused(index: int, value: object) -> None:
    """Nothing reaches the database that it could not compare with the column."""
    values = list(GOOD)
    assert ORDER.position(_encode(*values)) is not None
    values[index] = value  # type: ignore[call-overload]
    for cursor in (_encode(*values), _encode(*GOOD[:-1]), _encode(*GOOD, "more"), _encode()):
        with pytest.raises(InvalidInput) as caught:
            ORDER.position(cursor)
        assert caught.value.field == "cursor"
