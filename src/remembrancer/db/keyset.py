"""Keyset paging: the next page starts after the last row of this one, whatever was added since."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, Field, FiniteFloat, TypeAdapter, ValidationError
from sqlalchemy import BigInteger, ColumnElement, Select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows
from remembrancer.errors import InvalidInput
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.text import Instant, check_range, storable

T = TypeVar("T")

_VALUE: Final[dict[type, Any]] = {
    str: Annotated[str, AfterValidator(storable)],
    float: FiniteFloat,
    datetime: Instant,
    UUID: UUID,
}
_BIGINT: Final = 2**63 - 1
_INTEGER: Final = 2**31 - 1


class Keyset:
    """The order of a list, and the cursors of its pages.

    The columns together are unique. Each row of a page has them as attributes, by name. A cursor
    holds the list's name and their values; that of another list is refused.
    """

    def __init__(self, name: str, *columns: ColumnElement[Any], descending: bool = False) -> None:
        self._name = name
        self._columns = columns
        self._descending = descending
        types = (Literal[name], *map(_value_type, columns))
        self._cursor: TypeAdapter[Any] = TypeAdapter(tuple[types])  # type: ignore[valid-type]

    async def page(
        self,
        connection: AsyncConnection,
        row_type: type[T],
        statement: Select[Any],
        limit: int,
        cursor: str | None,
    ) -> Page[T]:
        """Return up to ``limit`` rows of ``statement`` in this order, those after ``cursor``."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = self.position(cursor)
        if after is not None:
            here, there = tuple_(*self._columns), tuple_(*after)
            statement = statement.where(here < there if self._descending else here > there)
        order = [column.desc() if self._descending else column for column in self._columns]
        statement = statement.order_by(*order).limit(limit + 1)
        return self.cut(await all_rows(connection, row_type, statement), limit)

    def cut(self, rows: Sequence[T], limit: int) -> Page[T]:
        """Return a page of ``rows``; one row over ``limit`` shows that there are more."""
        items = list(rows[:limit])
        return Page(items=items, next_cursor=self._after(items[-1]) if len(rows) > limit else None)

    def position(self, cursor: str | None) -> Sequence[Any] | None:
        """Return the values of the columns that a page starts after; null at the start."""
        if cursor is None:
            return None
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            position = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
            values: Sequence[Any] = self._cursor.validate_json(position)
        except (UnicodeEncodeError, binascii.Error, ValidationError):
            raise InvalidInput(
                "is not a cursor of this list; send the next_cursor of an earlier page",
                field="cursor",
            ) from None
        return values[1:]

    def _after(self, row: object) -> str:
        values = [getattr(row, column.key or "") for column in self._columns]
        position = self._cursor.dump_json((self._name, *values))
        return base64.urlsafe_b64encode(position).decode().rstrip("=")


def _value_type(column: ColumnElement[Any]) -> Any:
    """Return the type of the values that Postgres can compare with the column."""
    python_type = column.type.python_type
    if python_type is int:
        largest = _BIGINT if isinstance(column.type, BigInteger) else _INTEGER
        return Annotated[int, Field(ge=-largest, le=largest)]
    return _VALUE[python_type]
