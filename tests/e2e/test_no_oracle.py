"""What is foreign is answered like what is not there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import combinations
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi import FastAPI
from helpers import person, rows
from pages import browsing
from psycopg import AsyncCursor
from test_bad_input import Json, Operation, Rest, rest
from test_web import _routes

from remembrancer import Remembrancer, User, as_actor
from remembrancer.db import engine, trips
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.web import routes

__all__ = ["rest"]  # a fixture

UNKNOWN = {
    "memory_id": "zzzzzzz9",
    "fact_id": "zzzzzzz9",
    "target_id": "zzzzzzz9",
    "place_id": "none",
    "job_id": "9999999",
    "platform_user_id": "nobody",
    "platform_message": "platform:tea-2",
    "platform_chat": "tea-room-2",
    "ada": "discord:Nobody-1",
}
"""Ids like the others that nobody has; for all others, a new UUID."""
KNOWN_TO_ALL = {"agent_id", "name", "invitee"}
"""Agents and tools are no secret; an invitee is a name that its inviter made up."""
OF_THE_ANSWER = {"content-length", "date", "server-timing", "x-request-id"}
"""Headers that differ from one answer to the next, or follow from the text."""

FACT = {"content": "A fact"}
TALK, MESSAGE = {"conversation_id": "<conversation_id>"}, {"message_id": "<message_id>"}
MEMORY = "<memory_id>"
BY_PLATFORM = "/api/conversations/by-platform?platform=discord&platform_conversation_id="
NAMED: list[tuple[str, str, Json | None]] = [
    ("POST", "/api/memory/", FACT | {"space_id": "<space_id>"}),
    ("POST", "/api/memory/", FACT | TALK),
    ("POST", "/api/memory/", FACT | MESSAGE),
    ("POST", "/api/memory/", FACT | {"pending": True, "revises": MEMORY}),
    ("POST", "/api/memory/", FACT | {"associations": [{"target_id": MEMORY}]}),
    ("POST", "/api/memory/bulk", {"memories": [FACT | TALK]}),
    ("POST", "/api/memory/bulk", {"memories": [FACT | {"space_id": "<space_id>"}]}),
    ("PUT", "/api/memory/%(mine)s", {"content": "Changed"} | TALK),
    ("PUT", "/api/memory/%(mine)s", {"content": "Changed"} | MESSAGE),
    ("POST", "/api/memory/%(mine)s/associations", {"target_id": MEMORY}),
    ("PUT", "/api/memory/%(mine)s/associations", {"target_id": MEMORY}),
    ("GET", "/api/memory/?space_id=<space_id>", None),
    ("POST", "/api/memory/recall", {"query": "tea"} | TALK),
    ("POST", "/api/memory/recall", {"query": "tea", "space_id": "<space_id>"}),
    ("POST", "/api/memory/context", {"message": "tea"} | TALK),
    ("POST", "/api/memory/forget", {"memory_ids": [MEMORY]}),
    ("POST", "/api/memory/review", {"decisions": [{"memory_id": MEMORY, "decision": "confirm"}]}),
    ("POST", "/api/conversations", {"space_id": "<space_id>"}),
    ("GET", f"{BY_PLATFORM}<platform_chat>", None),
    ("DELETE", "/api/conversations/%(talk)s/messages/<platform_message>", None),
    ("PATCH", "/api/conversations/%(talk)s/messages/<platform_message>", {"content": "No"}),
    ("POST", "/api/spaces/%(ours)s/memories", FACT | TALK),
    ("POST", "/api/spaces/%(ours)s/memories", FACT | {"associations": [{"target_id": MEMORY}]}),
    ("POST", "/api/spaces/%(ours)s/invitations", {"user_id": "<user_id>"}),
    ("DELETE", "/api/spaces/%(ours)s/members/<user_id>", None),
    ("POST", "/api/spaces", {"name": "Another", "member_ids": ["<user_id>"]}),
    ("POST", "/api/users/%(me)s/places", {"place_id": "hut", "place_name": "Hut"} | TALK),
    ("POST", "/api/tools/update_memory", {"arguments": {"memory_id": MEMORY, "content": "No"}}),
    ("POST", "/api/tools/forget_memory", {"arguments": {"memory_id": MEMORY}}),
    ("POST", "/api/tools/memory_save", {
        "arguments": {"content": "A fact", "associations": [{"target_id": MEMORY}]}
    }),
    ("POST", "/api/tools/add_to_memory", {
        "arguments": {"content": "A fact", "category": "other"}, **TALK
    }),
    ("GET", "/api/audit?target_id=<memory_id>", None),
    ("GET", "/api/audit?actor_user_id=<user_id>", None),
    ("GET", "/api/users/<ada>", None),
    ("GET", "/api/memory/?user_id=<ada>", None),
    ("POST", "/api/memory/recall", {"query": "tea", "user_id": "<ada>"}),
]  # fmt: skip
"""Requests of Mallory about herself, with the name of an id of somebody else."""
MADE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z?|(?<=\"id\":\")\w{8}(?=\")")
"""Ids and times that an answer makes."""

_recorded: dict[asyncio.Task[Any] | None, list[str]] = {}
"""Statements of the requests that are compared, by task; the background has tasks of its own."""


def _record(text: object) -> None:
    if text == "SELECT pg_backend_pid()":  # a new connection, whatever is asked
        return
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

    for module in (engine, trips):
        monkeypatch.setattr(module, "pipelined", recorded_trip)
    monkeypatch.setattr(AsyncCursor, "execute", recorded_execute)


async def _observed(
    client: httpx2.AsyncClient,
    memory: Remembrancer,
    masked: Iterable[str],
    *request: str,
    **sent: Any,
) -> Json:
    """What an asker learns, and what happens behind it; with every id masked."""
    [(before,)] = rows("SELECT count(*) FROM audit_log")
    _recorded[asyncio.current_task()] = statements = []
    answer = await client.request(*request, **sent)
    del _recorded[asyncio.current_task()]
    await memory.reads.flush()  # otherwise once a second
    lines = rows(
        "SELECT action, outcome, owner_id::text, target_ids::text FROM audit_log"
        " ORDER BY at, id OFFSET %s",
        before,
    )
    headers = {k: v for k, v in answer.headers.items() if k not in OF_THE_ANSWER}
    told = f"{answer.text} {headers} {lines}"
    for value in masked:
        told = told.replace(value, "?")
    return {"status": answer.status_code, "told": MADE.sub("new", told), "sql": statements}


def _secrets(rest: Rest, operation: Operation) -> Iterator[tuple[str, ...]]:
    """Every choice of the ids that a request names."""
    names = set(re.findall(r"{(\w+)}", operation.path))
    names |= rest.good_body(operation).keys() & rest.ids.keys() - {"user_id"}
    secret = sorted(names - KNOWN_TO_ALL)
    for count in range(1, len(secret) + 1):
        yield from combinations(secret, count)


@pytest.fixture
async def mallory(rest: Rest, memory: Remembrancer) -> User:
    return await person(memory, "Mallory")


@pytest.mark.usefixtures("recorder")
async def test_what_is_foreign_is_answered_like_what_is_not_there(
    rest: Rest, mallory: User
) -> None:
    """The same answer, headers and lines in the log after the same statements, on every route.

    So neither the answer nor its time says which ids exist.
    """
    headers = await rest.api.key_of(mallory)
    await rest.client.get("/api/agents", headers=headers)  # the key is known from here on
    told: dict[str, Json] = {}
    tried = 0
    for operation in rest.operations:
        names = {name for name, _ in operation.parameters("query")} - {"user_id"}
        query = {k: v for k, v in rest._query(operation).items() if k in names}
        good = rest.good_body(operation)
        for missing in _secrets(rest, operation):
            unknown = {name: UNKNOWN.get(name, str(uuid4())) for name in missing}
            foreign, nowhere = [
                await _observed(
                    rest.client,
                    rest.api.memory,
                    {value for value in {*ids.values(), *rest.ids.values()} if len(value) > 6},
                    operation.method,
                    operation.path.format(**ids),
                    params=query,
                    headers=headers,
                    json={k: ids.get(k, v) for k, v in good.items() if k != "user_id"}
                    if operation.body
                    else None,
                )
                for ids in (rest.ids, rest.ids | unknown)
            ]
            tried += bool(foreign["sql"])
            if foreign != nowhere:
                told[f"{operation.method} {operation.path} {missing}"] = _difference(
                    foreign, nowhere
                )
    assert told == {}
    assert tried > 60


@pytest.mark.usefixtures("recorder")
async def test_what_is_foreign_in_a_request_about_oneself_is_answered_alike(
    rest: Rest, memory: Remembrancer, mallory: User
) -> None:
    """The source, the space, the target or the person that one's own request names."""
    headers = await rest.api.key_of(mallory)
    await rest.client.get("/api/agents", headers=headers)
    rows("UPDATE messages SET platform_message_id = 'tea-1' RETURNING id")
    own = {
        "me": str(mallory.id),
        "talk": rest.ids["conversation_id"],  # Ada's
        "mine": (await memory.remember("Mallory sings.", user=mallory)).memory.id,
        "ours": str((await memory.spaces.create(as_actor(mallory), name="Ours")).id),
    }
    # What is in memory decides what a context and a recall send.
    await rest.client.post("/api/memory/context", json={"message": "tea"}, headers=headers)
    await memory.reads.flush()
    foreign_ids = rest.ids | {
        "platform_message": "platform:tea-1",
        "platform_chat": "tea-room-1",
        "ada": "discord:Ada-1",
    }
    told: dict[str, Json] = {}
    for method, path, body in NAMED:
        [name] = re.findall(r"<(\w+)>", f"{path} {body}")
        unknown = UNKNOWN.get(name, str(uuid4()))
        found = []
        for value in (foreign_ids[name], unknown):
            filled_path, filled_body = (
                text.replace(f"<{name}>", value) % own for text in (path, json.dumps(body))
            )
            sent = {"json": json.loads(filled_body)} if body else {}
            masked = (value.removeprefix("platform:"), *own.values())
            found.append(
                await _observed(
                    rest.client, memory, masked, method, filled_path, headers=headers, **sent
                )
            )
        if found[0] != found[1]:
            told[f"{method} {path} {body}"] = _difference(*found)
    assert told == {}


@pytest.mark.usefixtures("recorder")
async def test_a_page_shows_what_is_foreign_like_what_is_not_there(
    rest: Rest, memory: Remembrancer, app: FastAPI, mallory: User, ada: User
) -> None:
    """Every page and form with an id in its address: below one's own and below somebody else's."""
    saved = await memory.saved_filters.save(as_actor(ada), "Tea", MemoryFilter())

    async def parts() -> AsyncIterator[bytes]:
        yield b"[]"

    upload = await memory.uploads.create(as_actor(ada), "chat.json", parts())
    ids = rest.ids | {
        "key_id": rest.ids["key"],
        "filter_id": str(saved.id),
        "upload_id": str(upload.id),
        "number": "1",
    }
    undone = {"forgets": "forget_id", "moves": "move_id", "merges": "undo_id"}
    told: dict[str, Json] = {}
    tried = 0
    async with browsing(app, memory, mallory, f"/people/{mallory.id}/memories") as browser:
        await memory.reads.flush()
        for route in [route for route in _routes(routes.router) if "{user_id}" in route.path]:
            names = set(re.findall(r"{(\w+)}", route.path)) - {*KNOWN_TO_ALL, "number"}
            [method] = route.methods
            sent = {"data": {"token": browser.token}} if method == "POST" else {}
            undo_id = next((ids[name] for word, name in undone.items() if word in route.path), "")
            there = ids | {"undo_id": undo_id}
            for below in ({}, {"user_id": str(mallory.id)}):
                if not (secret := names - below.keys()):
                    continue
                unknown = {name: UNKNOWN.get(name, str(uuid4())) for name in secret}
                foreign, nowhere = [
                    await _observed(
                        browser.client,
                        memory,
                        [value for value in used.values() if len(value) > 6],
                        method,
                        route.path.format(**used),
                        **sent,
                    )
                    for used in (there | below, there | below | unknown)
                ]
                tried += bool(foreign["sql"])
                if foreign != nowhere:
                    told[f"{method} {route.path} {secret}"] = _difference(foreign, nowhere)
    assert told == {}
    assert tried > 60


def _difference(foreign: Json, nowhere: Json) -> Json:
    return {k: (v, nowhere[k]) for k, v in foreign.items() if v != nowhere[k]}
