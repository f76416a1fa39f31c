"""Look at every row of the store, and change nothing."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Executable,
    ForeignKeyConstraint,
    and_,
    column,
    exists,
    func,
    select,
)
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.rules import WINDOW
from remembrancer.db.engine import Database
from remembrancer.db.rows import CountRow, all_rows, one_row
from remembrancer.db.sql import statement, statement_text
from remembrancer.db.tables import metadata
from remembrancer.integrity import rules
from remembrancer.integrity.rows import FoundRow, ItemText, MemoryText
from remembrancer.integrity.rules import Problem, Rule

BATCH: Final = 500
SHOWN: Final = 3
"""Ids that a problem names."""

Row = TypeVar("Row", MemoryText, ItemText)

_sql = partial(statement, __package__, "integrity")
_BLANK: Final = "".join(c for c in map(chr, range(0x3001)) if c.isspace())


async def check(
    database: Database, advanced: Callable[[int, int], None] = lambda *_: None
) -> list[Problem]:
    """Return what is wrong in a store; ``advanced`` gets the steps done, and how many there are.

    A step is a rule, a memory or a search entry. It reads all rows, in a transaction that cannot
    write, while others write.
    """
    async with database.system() as connection:
        await connection.execute(sql("SET TRANSACTION READ ONLY"))
        return [problem async for problem in problems(connection, advanced)]


async def problems(
    connection: AsyncConnection, advanced: Callable[[int, int], None]
) -> AsyncIterator[Problem]:
    """Yield what is wrong, as it is found."""
    queries = [*((rule, _query(rule)) for rule in rules.RULES), *_foreign_keys()]
    counts = [await one_row(connection, CountRow, _sql(name)) for name in _COUNTS]
    done, total = 0, len(queries) + sum(row.count for row in counts)
    for rule, query in queries:
        found = await all_rows(connection, FoundRow, query)
        if found:
            yield Problem(rule, found[0].count, tuple(row.id for row in found))
        done += 1
        advanced(done, total)
    for rule, wrong in (
        (
            rules.MEMORY_HASHES,
            _wrong(connection, "next_memories", MemoryText, rules.wrong_memory, first=""),
        ),
        (rules.ITEM_HASHES, _wrong(connection, "next_items", ItemText, rules.wrong_item, first=-1)),
    ):
        ids: list[str] = []
        async for size, found_ids in wrong:
            ids += found_ids
            done += size
            advanced(done, total)
        if ids:
            yield Problem(rule, len(ids), tuple(ids[:SHOWN]))


_COUNTS: Final = ("memory_count", "item_count")


def _query(rule: Rule) -> Executable:
    body = statement_text(__package__, "integrity", rule.name)
    known = {"window_size": WINDOW, "blank": _BLANK}
    binds = {name: value for name, value in known.items() if f":{name}" in body}
    found = sql(body).bindparams(**binds).columns(column("id")).subquery()
    return select(func.count().over().label("count"), found.c.id).order_by(found.c.id).limit(SHOWN)


def _foreign_keys() -> Iterator[tuple[Rule, Executable]]:
    """Yield the rule of each foreign key. Postgres keeps them, unless the disk does not."""
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            broken = rules.FOREIGN_KEY.broken.format(
                child=table.name, parent=key.referred_table.name
            )
            yield replace(rules.FOREIGN_KEY, broken=broken), _dangling(key)


def _dangling(key: ForeignKeyConstraint) -> Executable:
    parent = key.referred_table.alias()
    pairs = [(part.parent, parent.c[part.column.name]) for part in key.elements]
    is_set: list[ColumnElement[bool]] = [child.is_not(None) for child, _ in pairs]
    there = exists().where(and_(*(child == column for child, column in pairs)))
    ids = func.concat_ws(" ", *(child for child, _ in pairs))
    return (
        select(func.count().over().label("count"), ids.label("id"))
        .where(*is_set, ~there)
        .limit(SHOWN)
    )


async def _wrong(
    connection: AsyncConnection,
    name: str,
    row_type: type[Row],
    wrong: Callable[[Row], bool],
    *,
    first: object,
) -> AsyncIterator[tuple[int, list[str]]]:
    """Yield the number of rows of each page, and the ids of those that are wrong."""
    after: dict[str, object] = {"owner_id": UUID(int=0), "id": first}
    while rows := await all_rows(connection, row_type, _sql(name), {**after, "batch": BATCH}):
        yield len(rows), [str(row.id) for row in rows if wrong(row)]
        after = {"owner_id": rows[-1].owner_id, "id": rows[-1].id}
