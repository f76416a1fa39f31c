"""Takes the access rule out of every statement on its way to the database."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from helpers import rows
from psycopg import AsyncCursor

from remembrancer.access import visible
from remembrancer.db.pipeline import Session
from remembrancer.db.sql import NumberedSql
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall import item_cache

_RULE = re.compile(rf"\((\s*\((\w+)\.owner_id = '{SHARED_OWNER}' AND \(\2\.agent_id IS NULL)")
# Part of each copy of the rule, wherever its values come from.
_MARK = re.compile(r"\w+\.visibility = 'shared' AND \(\w+\.agent_id IS NULL")


@dataclass
class RuleRemoval:
    """Counts the copies of the rule that were taken out of statements."""

    count: int = 0

    def without_rule(self, statement: str) -> str:
        """Return a statement with every copy of the rule true; its values stay bound."""
        text, count = _RULE.subn(r"(TRUE OR \1", statement)
        assert count == len(_MARK.findall(text)), f"the rule is not gone from {text}"
        self.count += count
        return text

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Fail if no statement inside had the rule, so that there was nothing to take out."""
        before = self.count
        yield
        assert self.count > before, "no statement had the rule"


@contextmanager
def rule_removal() -> Iterator[RuleRemoval]:
    """Run every statement without the rule, whoever made it and when."""
    removal, execute, put = RuleRemoval(), AsyncCursor.execute, Session.put
    assert removal.without_rule(visible("m")).startswith("(TRUE OR")

    async def execute_without_rule(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        if isinstance(query, str):
            query = removal.without_rule(query)
        return await execute(cursor, query, *args, **options)

    def put_without_rule(session: Any, sql: NumberedSql, values: Any) -> int:
        return put(session, replace(sql, text=removal.without_rule(sql.text)), values)

    with (
        patch.object(AsyncCursor, "execute", execute_without_rule),
        patch.object(Session, "put", put_without_rule),
        patch.object(item_cache, "can_see", lambda *_: True),
    ):
        yield removal


@contextmanager
def row_security_off() -> Iterator[None]:
    """Switch row-level security off for every table, and on again. Not inside of an event loop."""
    tables = _secured_tables()
    try:
        _switch("DISABLE", tables)
        yield
    finally:
        _switch("ENABLE", tables)


@asynccontextmanager
async def row_security_off_meanwhile() -> AsyncIterator[None]:
    """The same in a thread: what the loop writes in the background must end for it to begin."""
    tables = _secured_tables()
    try:
        await asyncio.to_thread(_switch, "DISABLE", tables)
        yield
    finally:
        await asyncio.to_thread(_switch, "ENABLE", tables)


def _secured_tables() -> list[str]:
    found = rows("SELECT CAST(oid AS regclass)::text FROM pg_class WHERE relrowsecurity")
    tables = [name for (name,) in found]
    assert "memories" in tables
    return tables


def _switch(how: str, tables: list[str]) -> None:
    for table in tables:
        rows(f"ALTER TABLE {table} {how} ROW LEVEL SECURITY")
