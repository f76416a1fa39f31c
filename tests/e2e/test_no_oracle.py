"""What is foreign is answered like what is not there."""

import asyncio
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from uuid import uuid4

import pytest
from helpers import person, rows
from psycopg import AsyncCursor
from test_bad_input import Json, Operation, Rest, rest

from remembrancer import Remembrancer
from remembrancer.db import engine

__all__ = ["rest"]  # a fixture

UNKNOWN = {
    "memory_id": "zzzzzzz9",
    "fact_id": "zzzzzzz9",
    "target_id": "zzzzzzz9",
    "place_id": "none",
    "job_id": "9999999",
    "platform_user_id": "nobody",
}
"""Ids like the others that nobody has; for all others, a new UUID."""
KNOWN_TO_ALL = {"agent_id", "name", "invitee"}
"""Agents and tools are no secret; an invitee is a name that its inviter made up."""
OF_THE_ANSWER = {"content-length", "date", "server-timing", "x-request-id"}
"""Headers that differ from one answer to the next, or follow from the text."""

_recorded: dict[asyncio.Task[Any] | None, list[str]] = {}
"""Statements of the requests that are compared, by task; the background has tasks of its own."""


def _record(text: object) -> None:
    if (statements := _recorded.get(asyncio.current_task())) is not None:
        statements.append(str(text))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    pipelined, execute = engine.pipelined, AsyncCursor.execute

    async def recorded_trip(driver: Any, statements: Any, *settings: Any) -> Any:
        for statement in statements:
            _record(statement.sql.text)
        return await pipelined(driver, statements, *settings)

    async def recorded_execute(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        _record(query)
        return await execute(cursor, query, *args, **options)

    monkeypatch.setattr(engine, "pipelined", recorded_trip)
    monkeypatch.setattr(AsyncCursor, "execute", recorded_execute)


async def _observed(
    rest: Rest, headers: dict[str, str], operation: Operation, ids: dict[str, str]
) -> Json:
    """What an asker learns, and what happens behind it; with every id masked."""
    names = {name for name, _ in operation.parameters("query")} - {"user_id"}
    body = {k: ids.get(k, v) for k, v in rest.good_body(operation).items() if k != "user_id"}
    [(before,)] = rows("SELECT count(*) FROM audit_log")
    _recorded[asyncio.current_task()] = statements = []
    answer = await rest.client.request(
        operation.method,
        operation.path.format(**ids),
        params={k: v for k, v in rest._query(operation).items() if k in names},
        json=body if operation.body else None,
        headers=headers,
    )
    del _recorded[asyncio.current_task()]
    lines = rows(
        "SELECT action, outcome, owner_id::text, target_ids::text FROM audit_log"
        " ORDER BY at, id OFFSET %s",
        before,
    )
    masked = {value: "?" for value in {*ids.values(), *rest.ids.values()} if len(value) > 6}
    told = f"{answer.text} {lines}"
    for value in masked:
        told = told.replace(value, "?")
    kept = {k: v for k, v in answer.headers.items() if k not in OF_THE_ANSWER}
    return {"status": answer.status_code, "headers": kept, "told": told, "sql": statements}


def _secrets(rest: Rest, operation: Operation) -> Iterator[tuple[str, ...]]:
    """Every choice of the ids that a request names."""
    names = set(re.findall(r"{(\w+)}", operation.path))
    names |= rest.good_body(operation).keys() & rest.ids.keys() - {"user_id"}
    secret = sorted(names - KNOWN_TO_ALL)
    for count in range(1, len(secret) + 1):
        yield from combinations(secret, count)


@pytest.mark.usefixtures("recorder")
async def test_what_is_foreign_is_answered_like_what_is_not_there(
    rest: Rest, memory: Remembrancer
) -> None:
    """The same answer, headers and lines in the log after the same statements, on every route.

    So neither the answer nor its time says which ids exist.
    """
    mallory = await rest.api.key_of(await person(memory, "Mallory"))
    await rest.client.get("/api/agents", headers=mallory)  # the key is known from here on
    told: dict[str, Json] = {}
    tried = 0
    for operation in rest.operations:
        for missing in _secrets(rest, operation):
            unknown = {name: UNKNOWN.get(name, str(uuid4())) for name in missing}
            foreign = await _observed(rest, mallory, operation, rest.ids)
            nowhere = await _observed(rest, mallory, operation, rest.ids | unknown)
            tried += bool(foreign["sql"])
            if foreign != nowhere:
                differences = {k: (v, nowhere[k]) for k, v in foreign.items() if v != nowhere[k]}
                told[f"{operation.method} {operation.path} {missing}"] = differences
    assert told == {}
    assert tried > 60
