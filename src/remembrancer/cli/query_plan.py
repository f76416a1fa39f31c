"""The query plan of a recall, from Postgres' EXPLAIN."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.db.engine import Database
from remembrancer.db.sql import Statement, statement
from remembrancer.recall.schemas import RecallQuery
from remembrancer.recall.service import Recall

_EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
_WATCHED = {"recall_items", "postings", "messages", "memories"}
_OF_OWNER = ("pk_recall_items", "ix_recall_items", "pk_postings")


@dataclass(frozen=True, slots=True)
class Plan:
    items: int
    planning: float
    execution: float
    indexes: list[str] = field(default_factory=list)
    whole_tables: dict[str, int] = field(default_factory=dict)
    """Tables that were read completely, with their number of rows."""


class _ExplainedError(Exception):
    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__("explained")
        self.plan = plan


class _ExplainDatabase:
    """A database that explains a statement instead of running it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def identify(self, actor: Actor) -> Actor:
        return actor

    async def one_round_trip(self, actor: Actor, *statements: Statement) -> Any:
        *earlier, last = statements
        sql = replace(last.sql, text=_EXPLAIN + last.sql.text)
        explained = replace(last, sql=sql, row_type=None)
        *_, rows = await self._database.one_round_trip(actor, *earlier, explained)
        raise _ExplainedError(rows[0][0][0])


async def recall_plan(app: Remembrancer) -> Plan | None:
    """Explain a recall for the user with the most items; null without items."""
    query = statement(__package__, "doctor", "largest_owner")
    async with app.database.system() as connection:
        owner = (await connection.execute(query)).first()
    if owner is None:
        return None
    backend = replace(app.backend, database=cast("Database", _ExplainDatabase(app.database)))
    recall = Recall(backend, app.embedder, app.access_counts)
    actor = Actor(Role.SERVICE, user_id=owner.owner_id, entry_point="cli")
    await _explained(recall, actor)  # the first run warms the cache
    return _read(await _explained(recall, actor), owner.items)


async def _explained(recall: Recall, actor: Actor) -> dict[str, Any]:
    try:
        await recall.recall(actor, RecallQuery(query="When did we last talk about travelling?"))
    except _ExplainedError as explained:
        return explained.plan
    raise AssertionError("a recall asks the database")  # pragma: no cover


def _read(explained: dict[str, Any], items: int) -> Plan:
    nodes = list(_nodes(explained["Plan"]))
    indexes = {node["Index Name"] for node in nodes if "Index Name" in node}
    indexes = {name for name in indexes if name.startswith(_OF_OWNER)}
    whole = {
        node["Relation Name"]: int(node["Actual Rows"]) + int(node.get("Rows Removed by Filter", 0))
        for node in nodes
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in _WATCHED
    }
    return Plan(
        items=items,
        planning=explained["Planning Time"],
        execution=explained["Execution Time"],
        indexes=sorted(indexes),
        whole_tables=whole,
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)
