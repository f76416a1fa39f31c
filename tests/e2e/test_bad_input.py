"""Everything wrong that a client can send: a 4xx problem that names the field, never a 500."""

import asyncio
import base64
import json
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi import FastAPI
from helpers import ADMIN, Api, person, rows
from serving import served

from remembrancer import (
    Agent,
    ConversationCreate,
    MemoryCreate,
    MessageCreate,
    MoveRequest,
    PlaceCreate,
    PreferenceUpdate,
    Remembrancer,
    Role,
    Scope,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate

Json = dict[str, Any]

DEEP = json.loads("[" * 300 + "]" * 300)
NAN = float("nan")
HUGE = 10**30

WRONG: dict[str, list[Any]] = {
    "string": [1, True, [], {}],
    "uuid": ["x", 1, [], "0190a1b2-0000-7000-8000", "", " "],
    "date-time": [
        "yesterday",
        "2026-01-01T00:00:00",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "2026-02-30T00:00:00Z",
        1e300,
        NAN,
        [],
    ],
    "integer": ["x", 1.5, -1, 0, HUGE, NAN, [], -HUGE],
    "number": ["x", -1, HUGE, NAN, float("inf"), [], {}],
    "boolean": ["maybe", 7, [], {}],
    "array": ["x", 1, {}, [None], [[]], [{}], [DEEP]],
    "object": [
        "x",
        1,
        [],
        {"k": NAN},
        {"k": "\x00"},
        {"\x00": 1},
        {"k": "\ud800"},
        {"k": DEEP},
        {"k": "x" * 9000},
    ],
    "enum": ["nonsense", 1, [], "", "\x00"],
}


@dataclass(frozen=True)
class Operation:
    """One endpoint: its method, path and what the OpenAPI document says of it."""

    method: str
    path: str
    spec: Json
    document: Json

    def resolved(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    @property
    def body(self) -> Json | None:
        """The schema of its JSON body, if it takes one."""
        content = self.spec.get("requestBody", {}).get("content", {})
        found = content.get("application/json", {}).get("schema")
        return self.resolved(found) if found else None

    def parameters(self, where: str) -> Iterator[tuple[str, Json]]:
        for parameter in self.spec.get("parameters", []):
            if parameter["in"] == where:
                yield parameter["name"], parameter["schema"]

    def kinds(self, schema: Json) -> set[str]:
        """What a schema takes, in the words of ``WRONG``."""
        schema = self.resolved(schema)
        if "anyOf" in schema:
            return set().union(*(self.kinds(one) for one in schema["anyOf"]))
        if "enum" in schema or "const" in schema:
            return {"enum"}
        if schema.get("format") in {"uuid", "date-time"}:
            return {schema["format"]}
        return {schema.get("type", "object")}


@dataclass(frozen=True)
class Rest:
    """The API with people, an agent, a memory and a conversation in it."""

    api: Api
    client: httpx2.AsyncClient
    operations: list[Operation]
    ids: dict[str, str]

    async def send(self, operation: Operation, **request: Any) -> httpx2.Response:
        """Send a request that is right but for what ``request`` replaces."""
        ids = {**self.ids, **request.pop("ids", {})}
        path = request.pop("path", operation.path)
        for name, value in ids.items():
            path = path.replace("{" + name + "}", str(value))
        headers = {**self.api.admin, **request.pop("headers", {})}
        content = request.pop("content", None)
        if "body" in request:
            content = json.dumps(request.pop("body")).encode()
        if content is not None:
            headers = {"Content-Type": "application/json", **headers}
        query = {**self._query(operation), **request.pop("query", {})}
        return await self.client.request(
            operation.method, path, headers=headers, content=content, params=query, **request
        )

    def _query(self, operation: Operation) -> Json:
        needed = {
            "q": "tea",
            "platform": "discord",
            "platform_user_id": "Ada-1",
            "platform_conversation_id": "tea-room-1",
            "user_id": self.ids["user_id"],
        }
        names = {name for name, _ in operation.parameters("query")}
        if self.good_body(operation).get("user_id") == self.ids["user_id"] and operation.body:
            names.discard("user_id")
        return {name: value for name, value in needed.items() if name in names}

    def good_body(self, operation: Operation) -> Json:
        """A body that the operation takes."""
        own = {"user_id": self.ids["user_id"]}
        return {
            "/api/memory": {"content": "A fact", **own},
            "/api/memory/bulk": {"memories": [{"content": "A fact"}], **own},
            "/api/memory/recall": {"query": "tea", **own},
            "/api/memory/forget": {"memory_ids": ["nothere1"], **own},
            "/api/memory/review": {
                "decisions": [{"memory_id": "nothere1", "decision": "confirm"}],
                **own,
            },
            "/api/users/{user_id}/recall": {"query": "tea"},
            "/api/memory/{memory_id}": {"content": f"Changed {uuid4()}"},
            "/api/memory/{memory_id}/associations": {"target_id": self.ids["target_id"]},
            "/api/users/resolve": {
                "platform": "x",
                "platform_user_id": "1",
                "display_name": "Ada",
            },
            "/api/users/{user_id}": {"display_name": "Ada"},
            "/api/users/{user_id}/links": {"platform": "x", "platform_user_id": str(uuid4())},
            "/api/users/{user_id}/merges": {"user_id": self.ids["other_user_id"]},
            "/api/users/{user_id}/merges/preview": {"user_id": self.ids["other_user_id"]},
            "/api/agents": {"name": "Helper"},
            "/api/agents/resolve": {"name": "Resolved helper"},
            "/api/agents/{agent_id}": {"name": "Helper"},
            "/api/chat/commands": {
                "text": "/memory list",
                "platform": "x",
                "platform_user_id": "1",
                "chat_id": "1",
                "display_name": "Ada",
                "agent_id": self.ids["agent_id"],
            },
            "/api/conversations": own,
            "/api/conversations/{conversation_id}/messages": {
                "messages": [{"content": "Hello"}],
                **own,
            },
            "/api/conversations/{conversation_id}/messages/{message_id}": {
                "content": "Hello again",
                **own,
            },
            "/api/conversations/{conversation_id}/turn": {"message": {"content": "Hello"}, **own},
            "/api/conversations/{conversation_id}/answer": {"content": "Hello", **own},
            "/api/memory/context": {"message": "tea", **own},
            "/api/keys": {"name": "key", "role": "service"},
            "/api/workspaces": {"name": "another"},
            "/api/workspaces/{workspace}/limits": {"requests_per_minute": 60},
            "/api/workspaces/{workspace}/move": {"server": "main"},
            "/api/spaces": {"name": "Gran"},
            "/api/spaces/{space_id}": {"name": "Granny"},
            "/api/spaces/{space_id}/members": {"user_id": self.ids["other_user_id"]},
            "/api/spaces/{space_id}/invitations": {"user_id": self.ids["invitee"]},
            "/api/spaces/{space_id}/members/{member_id}": {"role": "member"},
            "/api/spaces/{space_id}/memories": {"content": "A fact"},
            "/api/memory/{memory_id}/visibility": {"visibility": "private"},
            "/api/ai/legacies/{legacy_id}/facts": {"content": "A fact"},
            "/api/ai/facts/{fact_id}/visibility": {"visibility": "shared"},
            "/api/users/{user_id}/places": {"place_id": "home", "place_name": "Home"},
            "/api/users/{user_id}/memory-document": {
                "facts": [{"id": "a", "content": "A fact", "added_at": "2026-01-01T00:00:00Z"}]
            },
            "/api/tools/{name}": {
                "arguments": {"content": "Ada sings.", "category": "other"},
                **own,
            },
            **self._good_preferences(),
        }.get(operation.path, {})

    def _good_preferences(self) -> Json:
        allow = {"allow_agent_specific_memory": True}
        row = {"user_id": self.ids["user_id"], "agent_id": self.ids["agent_id"], **allow}
        settings = "/api/memory/users/{user_id}/agents/settings"
        one = "/api/memory/users/{user_id}/agents/{agent_id}"
        return {
            settings: {"all": True, **allow},
            f"{settings}/import": {"preferences": [row]},
            f"{one}/settings": allow,
            f"{one}/memories/move": {"to": "global"},
            "/api/memory/users/{user_id}/settings": allow,
            "/api/memory/policy": {"allow_agent_specific_memory_globally": True},
            "/api/memory/preferences/import": {"preferences": [row]},
        }


METHODS = ("get", "post", "put", "patch", "delete")


@cache
def _operations(application: FastAPI) -> list[Operation]:
    document = application.openapi()
    return [
        Operation(method.upper(), path, spec, document)
        for path, item in document["paths"].items()
        for method, spec in item.items()
        if method in METHODS and path.startswith("/api/")
    ]


@pytest.fixture
async def rest(api: Api, ada: User, agent: Agent, application: FastAPI) -> Rest:
    memory = await api.memory.remember("Ada likes tea.", user=ada)
    target = await api.memory.remember("Ada plays the cello.", user=ada)
    await api.memory.conversations.open(
        as_actor(ada), platform="discord", platform_conversation_id="tea-room-1"
    )
    opened = await api.memory.conversations.open(as_actor(ada), ConversationCreate())
    said = await api.memory.conversations.append(
        as_actor(ada), opened.id, [MessageCreate(content="Tea!")]
    )
    once_other = await person(api.memory, "Cleo")
    merge = await api.memory.users.merge(as_actor(), ada.id, once_other.id)
    await api.memory.remember("Ada likes cake.", user=ada, agent=agent)
    allow = PreferenceUpdate(allow_agent_specific_memory=True)
    await api.memory.preferences.set(as_actor(), ada.id, agent.id, allow)
    wanted = MoveRequest(to=Scope.GLOBAL, dry_run=False)
    move = await api.memory.moves.move(as_actor(), ada.id, agent.id, wanted)
    eve = await person(api.memory, "Eve")
    space = await api.memory.spaces.create(
        as_actor(ada), SpaceCreate(name="Gran", member_ids=[eve.id])
    )
    fact = await api.memory.remember("Gran likes tea.", user=ada, space_id=space.id)
    home = PlaceCreate(place_id="home", place_name="Home")
    await api.memory.places.add(as_actor(ada), home)
    kite = await api.memory.remember("Ada had a kite.", user=ada)
    batch = await api.memory.memories.forget_many(as_actor(ada), [kite.memory.id])
    spare = KeyCreate(name="spare", role=Role.SERVICE)
    rows(
        "INSERT INTO workspaces (id, name, server, database, state, revision)"
        " VALUES (gen_random_uuid(), 'customer', 'main', 'none', 'active', '')"
    )
    ids = {
        "workspace": "customer",
        "place_id": home.place_id,
        "name": "add_to_memory",
        "space_id": str(space.id),
        "legacy_id": str(space.id),
        "member_id": str(eve.id),
        "invitee": "discord:nobody",
        "fact_id": fact.memory.id,
        "user_id": str(ada.id),
        "agent_id": str(agent.id),
        "memory_id": memory.memory.id,
        "target_id": target.memory.id,
        "conversation_id": str(opened.id),
        "message_id": str(said.messages[0].id),
        "undo_id": str(merge.undo_id),
        "move_id": str(move.undo_id),
        "forget_id": str(batch.undo_id),
        "other_user_id": str((await person(api.memory, "Dan")).id),
        "key": str((await api.memory.keys.create(ADMIN, spare)).id),
        "job_id": str(rows("SELECT jobs.enqueue('none', 'none', 'none:1', '{}')")[0][0]),
    }
    return Rest(api, api.client, _operations(application), ids)


def refused(response: httpx2.Response, field: str | None = None, *statuses: int) -> Json:
    """Check that a response is a problem document that names ``field``, and return it."""
    assert response.status_code in (statuses or {400, 404, 409, 422}), response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"].startswith("urn:remembrancer:")
    assert document["detail"]
    if field is not None:
        named = [error["field"] for error in document["errors"]]
        assert any(n == field or n.startswith(field + ".") for n in named), (field, document)
        assert all(error["reason"] for error in document["errors"])
    return document


async def test_the_right_request_is_taken_everywhere(rest: Rest) -> None:
    """The requests that the other tests spoil are good ones."""
    for operation in rest.operations:
        body = {"body": rest.good_body(operation)} if operation.body else {}
        # A new workspace is a new database, and one that moves needs another server.
        if (
            operation.method == "DELETE"
            or "/move" in operation.path.partition("{workspace}")[2]
            or operation.path.endswith(
                ("/api/workspaces", "/restore", "/merges", "/leave", "/accept", "/decline")
            )
        ):
            continue
        response = await rest.send(operation, **body)
        assert response.is_success, (operation.method, operation.path, response.text)


def _wrong_values(operation: Operation, schema: Json) -> Iterator[Any]:
    kinds = operation.kinds(schema)
    optional = "null" in kinds
    good = kinds - {"null"}
    for kind in good:
        for value in WRONG[kind]:
            others = good - {kind}
            if not others:
                yield value
    if not optional:
        yield None


async def test_every_field_of_every_body_refuses_what_it_cannot_be(rest: Rest) -> None:
    """Wrong type, null, out of range, not storable: each names the field."""
    tried = 0
    for operation in rest.operations:
        if operation.body is None:
            continue
        for field, schema in operation.body["properties"].items():
            for value in _wrong_values(operation, schema):
                if _is_fine(schema, value):
                    continue
                body = {**rest.good_body(operation), field: value}
                response = await rest.send(operation, body=body)
                assert response.status_code == 422, (operation.path, field, value, response.text)
                refused(response, field, 422)
                tried += 1
    assert tried > 300


def _is_fine(schema: Json, value: Any) -> bool:
    """Say whether a value that is wrong for most fields of its type is right for this one."""
    least = [one.get("minimum") for one in (schema, *schema.get("anyOf", ()))]
    if value == "nonsense" and schema.get("items", {}).get("type") == "string":
        return "enum" not in schema["items"]
    return 0 in least and value in (0, "0") and value is not False


async def test_every_field_of_a_nested_item_is_named_by_its_path(rest: Rest) -> None:
    """In a batch, the problem says which item and which field."""
    for path, name, model in (
        ("/api/memory/bulk", "memories", "MemoryCreate"),
        ("/api/conversations/{conversation_id}/messages", "messages", "MessageCreate"),
    ):
        [operation] = [o for o in rest.operations if (o.method, o.path) == ("POST", path)]
        item = operation.document["components"]["schemas"][model]
        for field, schema in item["properties"].items():
            for value in _wrong_values(operation, schema):
                if _is_fine(schema, value):
                    continue
                good = {"content": "A fact"}
                body = rest.good_body(operation) | {name: [good, {**good, field: value}]}
                response = await rest.send(operation, body=body)
                assert response.status_code == 422, (path, field, value, response.text)
                refused(response, f"{name}.1.{field}", 422)
        body = rest.good_body(operation) | {name: [{"content": "x", "surprise": 1}]}
        refused(await rest.send(operation, body=body), f"{name}.0.surprise", 422)


async def test_a_rule_about_two_fields_names_the_one_to_change(rest: Rest) -> None:
    """Also inside a batch."""
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    rules: dict[str, list[tuple[str, Json]]] = {
        "/api/memory": [
            ("valid_to", {"valid_from": late, "valid_to": early}),
            ("visibility", {"visibility": "shared"}),
            ("shared", {"shared": True, "space_id": str(uuid4())}),
            ("agent_id", {"scope": "agent"}),
            ("user_id", {"user_id": None}),
        ],
        "/api/memory/bulk": [
            (
                "memories.0.valid_to",
                {"memories": [{"content": "x", "valid_from": late, "valid_to": early}]},
            ),
            ("memories", {"memories": []}),
            ("memories", {"memories": [{"content": "x"}] * 1001}),
        ],
        "/api/memory/recall": [
            ("query", {"query": None}),
            ("kinds", {"mode": "typed"}),
            ("until", {"since": late, "until": early}),
            ("sort", {"mode": "recent", "sort": "relevance"}),
            ("query", {"query": "x" * 40_000}),
            ("user_id", {"user_id": str(uuid4())}),
            ("agent_id", {"agent_id": str(uuid4())}),
        ],
        "/api/conversations": [
            ("visibility", {"visibility": "shared"}),
            ("platform", {"platform_conversation_id": "1"}),
            ("agent_id", {"agent_id": str(uuid4())}),
            ("space_id", {"space_id": str(uuid4())}),
        ],
        "/api/conversations/{conversation_id}/messages": [
            ("messages", {"messages": []}),
            ("platform_user_id", {"messages": [{"content": "x", "platform_user_id": "1"}]}),
            ("messages.0.user_id", {"user_id": None}),
            ("messages.0.content", {"messages": [{"content": "x" * 40_000}]}),
        ],
        "/api/keys": [
            ("user_id", {"role": "user"}),
            ("user_id", {"role": "admin", "user_id": str(uuid4())}),
            ("user_id", {"role": "user", "user_id": str(uuid4())}),
            ("expires_at", {"expires_at": "2020-01-01T00:00:00Z"}),
        ],
    }
    for path, cases in rules.items():
        [operation] = [o for o in rest.operations if (o.method, o.path) == ("POST", path)]
        for field, spoil in cases:
            body = rest.good_body(operation) | spoil
            body = {name: value for name, value in body.items() if value is not None}
            refused(await rest.send(operation, body=body), field, 404, 409, 422)


async def test_a_missing_or_unknown_field_is_named(rest: Rest) -> None:
    """What is needed must be there, and what nobody knows is not silently dropped."""
    for operation in rest.operations:
        if operation.body is None:
            continue
        good = rest.good_body(operation)
        for field in operation.body.get("required", []):
            body = {name: value for name, value in good.items() if name != field}
            refused(await rest.send(operation, body=body), field, 422)
        response = await rest.send(operation, body={**good, "surprise": 1})
        assert response.status_code == 422, (operation.path, response.text)
        refused(response, "surprise", 422)


async def test_a_body_that_is_no_object_is_refused(rest: Rest) -> None:
    """Wrong JSON, no JSON, not even text: always a problem that says `body`."""
    bodies = {
        "nothing": b"",
        "null": b"null",
        "a list": b"[]",
        "a string": b'"x"',
        "a number": b"1",
        "NaN": b"NaN",
        "cut off": b'{"content": ',
        "two values": b"{} {}",
        "invalid UTF-8": b'{"content": "\xff\xfe"}',
        "UTF-16": '{"content": "x"'.encode("utf-16"),
        "a number of 5,000 digits": b'{"content": ' + b"9" * 5000 + b"}",
        "a deep list": b"[" * 100_000 + b"]" * 100_000,
        "a deep object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "a form": b"content=x",
    }
    for operation in rest.operations:
        if operation.body is None:
            continue
        for what, content in bodies.items():
            if what == "nothing" and not operation.spec["requestBody"].get("required", False):
                continue
            response = await rest.send(operation, content=content)
            assert response.status_code in {400, 422}, (operation.path, what, response.text)
            refused(response, None, 400, 422)
            assert response.json()["errors"], (operation.path, what, response.text)


async def test_a_body_of_another_type_is_refused(rest: Rest) -> None:
    """Only JSON is read as JSON."""
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        for operation in rest.operations:
            if operation.body is None:
                continue
            body = json.dumps(rest.good_body(operation)).encode()
            response = await rest.send(
                operation, content=body, headers={"Content-Type": content_type}
            )
            refused(response, "body", 415, 422)


async def test_a_body_over_the_limit_is_refused_announced_or_not(rest: Rest) -> None:
    """413, whether the length is told or the body comes in pieces."""
    limit = rest.api.memory.settings.limits.body_bytes
    [operation] = [o for o in rest.operations if (o.method, o.path) == ("POST", "/api/memory")]
    refused(await rest.send(operation, content=b" " * (limit + 1)), None, 413)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(limit // 2**20 + 1):
            yield b" " * 2**20

    refused(await rest.send(operation, content=pieces()), None, 413)


async def test_every_query_parameter_refuses_what_it_cannot_be(rest: Rest) -> None:
    """Named by its own name."""
    wrong: dict[str, list[str]] = {
        "uuid": ["x", "", "1"],
        "integer": ["x", "", "1.5", "-1", "0", str(HUGE), "9" * 5000],
        "boolean": ["maybe", "", "7"],
        "date-time": ["yesterday", "2026-01-01T00:00:00", ""],
        "enum": ["nonsense", "", "\x00"],
        "array": ["nonsense", ""],
        "string": ["\x00", "x" * 2000],
    }
    for operation in rest.operations:
        body = {"body": rest.good_body(operation)} if operation.body else {}
        for name, schema in operation.parameters("query"):
            kinds = operation.kinds(schema) - {"null"}
            for value in wrong[kinds.pop()]:
                if (name == "q" and value != "\x00") or _is_fine(schema, value):
                    continue
                response = await rest.send(operation, query={name: value}, **body)
                assert response.status_code == 422, (operation.path, name, value, response.text)
                refused(response, name, 422)


async def test_every_path_refuses_ids_that_are_none(rest: Rest) -> None:
    """404 for what cannot be there, 422 for what cannot be an id."""
    for operation in rest.operations:
        names = [name for name, _ in operation.parameters("path")]
        body = {"body": rest.good_body(operation)} if operation.body else {}
        for name in names:
            for value in ("x", "%00", "%ff", "%ED%A0%80", "%2e%2e", "'--", "9" * 300, str(uuid4())):
                response = await rest.send(operation, ids={name: value}, **body)
                assert response.status_code in {404, 405, 422}, (operation.path, value)
                refused(response, name if response.status_code == 422 else None, 404, 405, 422)


BAD_HEADERS = {
    "If-Match": ["x", '"x"', "-1", '"1', "1.5", "9" * 30, "", '"1", "2"', "\u00b2"],
    "Idempotency-Key": ["", "x" * 256, "a\tb", "\x85"],
}


async def test_bad_headers_are_named(rest: Rest) -> None:
    """A precondition or idempotency key that cannot be one is not ignored."""
    tried = set()
    for operation in rest.operations:
        body = {"body": rest.good_body(operation)} if operation.body else {}
        for name, _ in operation.parameters("header"):
            for value in BAD_HEADERS[name]:
                headers = {name: value.encode("latin-1")}
                response = await rest.send(operation, headers=headers, **body)
                assert response.status_code == 422, (operation.path, name, value, response.text)
                refused(response, name, 422)
                tried.add(name)
    assert tried == set(BAD_HEADERS)


SORTS = ("recent", "importance", "most_accessed")


async def test_a_cursor_from_elsewhere_is_refused(rest: Rest) -> None:
    """Only the list's own cursor goes on with it."""
    memory = rest.api.memory
    actor = as_actor().acting_for(None)
    for n in range(3):
        await memory.memories.remember(actor, MemoryCreate(content=f"Shared {n}", shared=True))
    service = rest.api.service
    cursors = ["x", "", "bnVsbA", "W10", "WyJ4Il0", "e30", "=" * 9, "\u00e9"]
    for sort in SORTS:
        page = await rest.client.get(
            "/api/memory", params={"limit": 1, "sort": sort}, headers=service
        )
        cursors.append(page.json()["next_cursor"])
    cursors += [_cursor("importance", key) for key in ("nan", "inf", "x", "1e999")]
    cursors += [_cursor("most_accessed", key) for key in ("9" * 40, "-" + "9" * 40, "9" * 5000)]
    cursors += [_cursor("recent", key) for key in ("0001-01-01", "9999-12-31T23:59:59-23:59", "x")]
    cursors += [_cursor("importance", "0.5", id_="\ud800"), _cursor("recent", "\ud800")]
    cursors += [_cursor("importance", "0.5", owner="x")]
    whose = {"user_id": rest.ids["user_id"]}
    lists: list[tuple[str, Json]] = [
        *(("/api/memory", whose | {"sort": sort}) for sort in SORTS),
        ("/api/users", {}),
        ("/api/agents", {}),
        ("/api/conversations", whose),
    ]
    for path, query in lists:
        for cursor in cursors:
            asked = {**query, "cursor": cursor}
            response = await rest.client.get(path, params=asked, headers=service)
            assert response.status_code in {200, 422}, (path, cursor, response.text)
            if response.status_code == 422:
                refused(response, "cursor", 422)


def _cursor(sort: str, key: str, *, owner: str = str(uuid4()), id_: str = "x") -> str:
    position = json.dumps([f"memories {sort}", key, owner, id_]).encode()
    return base64.urlsafe_b64encode(position).decode().rstrip("=")


async def test_another_method_or_path_is_refused(rest: Rest) -> None:
    """405 says what is allowed; 404 is a problem document as well."""
    for operation in rest.operations:
        for method in ("TRACE", "PROPFIND"):
            path = operation.path
            for name, value in rest.ids.items():
                path = path.replace("{" + name + "}", value)
            response = await rest.client.request(method, path, headers=rest.api.admin)
            refused(response, None, 405)
            assert response.headers["allow"]
    refused(await rest.client.get("/api/nothing", headers=rest.api.admin), None, 404)


# Who asks ------------------------------------------------------------------------------


async def test_without_a_good_key_nothing_is_answered(rest: Rest, ada: User) -> None:
    """No key, garbage, expired or revoked: 401 at every endpoint, however lately it was good."""
    keys = rest.api.memory.keys
    made = await keys.create(ADMIN, KeyCreate(name="old", role=Role.ADMIN))
    expired = await keys.create(ADMIN, KeyCreate(name="older", role=Role.ADMIN))
    for key in (made, expired):
        await keys.authenticate(key.secret, entry_point="rest")
    known = dict(keys._holders)
    await keys.revoke(ADMIN, made.id)
    rows("UPDATE api_keys SET expires_at = now() - interval '1 s' WHERE id = %s", expired.id)
    bad: list[dict[str, Any]] = [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer garbage"},
        {"Authorization": b"Bearer \xff\xfe"},
        {"Authorization": "Bearer " + "x" * 5000},
        {"Authorization": "Basic YTpi"},
        {"Authorization": f"Bearer {made.secret}"},
        {"Authorization": f"Bearer {expired.secret}"},
    ]
    for operation in rest.operations:
        for headers in bad:
            path = operation.path
            for name, value in rest.ids.items():
                path = path.replace("{" + name + "}", value)
            keys._holders |= known  # as after a request of a moment ago
            response = await rest.client.request(
                operation.method, path, headers=headers, json=rest.good_body(operation)
            )
            refused(response, None, 401)
            assert response.headers["www-authenticate"] == "Bearer"


STAFF_ONLY = {
    ("POST", "/api/users/resolve"): "user",
    ("GET", "/api/users"): "user",
    ("GET", "/api/agents/users"): "user",
    ("POST", "/api/users/{user_id}/links"): "user",
    ("DELETE", "/api/users/{user_id}/links"): "user",
    ("POST", "/api/users/{user_id}/merges"): "user",
    ("POST", "/api/users/{user_id}/merges/preview"): "user",
    ("GET", "/api/users/{user_id}/merges"): "user",
    ("POST", "/api/users/{user_id}/merges/{undo_id}/undo"): "user",
    ("POST", "/api/agents"): "user",
    ("POST", "/api/agents/resolve"): "user",
    ("POST", "/api/chat/commands"): "user",
    ("PUT", "/api/agents/{agent_id}"): "user",
    ("DELETE", "/api/agents/{agent_id}"): "user",
    ("PUT", "/api/memory/policy"): "user service",
    ("GET", "/api/memory/statistics"): "user service",
    ("GET", "/api/memory/preferences/export"): "user service",
    ("POST", "/api/memory/preferences/import"): "user service",
    ("POST", "/api/jobs/{job_id}/retry"): "user service",
    ("POST", "/api/keys"): "user service",
    ("GET", "/api/keys"): "service",
    ("GET", "/api/usage"): "user service",
    ("POST", "/api/retention"): "user service",
    ("POST", "/api/workspaces"): "user service",
    ("GET", "/api/workspaces"): "user service",
    ("GET", "/api/workspaces/{workspace}"): "user service",
    ("PUT", "/api/workspaces/{workspace}/limits"): "user service",
    ("POST", "/api/workspaces/{workspace}/suspend"): "user service",
    ("POST", "/api/workspaces/{workspace}/resume"): "user service",
    ("POST", "/api/workspaces/{workspace}/move"): "user service",
    ("POST", "/api/workspaces/{workspace}/move/confirm"): "user service",
    ("POST", "/api/workspaces/{workspace}/move/undo"): "user service",
    ("DELETE", "/api/workspaces/{workspace}"): "user service",
    ("DELETE", "/api/keys/{key}"): "service",
    ("POST", "/api/keys/{key}/rotate"): "service",
}


async def test_endpoints_for_staff_refuse_others(rest: Rest, ada: User) -> None:
    """403 for a role that may not, and nothing done."""
    headers = {"user": await rest.api.key_of(ada), "service": rest.api.service}
    assert set(STAFF_ONLY) <= {(one.method, one.path) for one in rest.operations}
    for operation in rest.operations:
        refusing = STAFF_ONLY.get((operation.method, operation.path), "")
        for role in refusing.split():
            body = {"body": rest.good_body(operation)} if operation.body else {}
            refused(await rest.send(operation, headers=headers[role], **body), None, 403)


async def test_a_user_key_that_names_another_user_finds_nobody(
    rest: Rest, ada: User, bob: User
) -> None:
    """404 wherever a user can be named: in the path, the query or the body."""
    own = await rest.api.key_of(bob)
    tried = 0
    for operation in rest.operations:
        if (operation.method, operation.path) in STAFF_ONLY:
            continue
        places = {name for where in ("path", "query") for name, _ in operation.parameters(where)}
        in_body = operation.body is not None and "user_id" in operation.body["properties"]
        if "user_id" not in places and not in_body:
            continue
        body = {"body": rest.good_body(operation)} if operation.body else {}
        response = await rest.send(operation, headers=own, **body)
        assert response.status_code == 404, (operation.method, operation.path, response.text)
        refused(response, None, 404)
        tried += 1
    assert tried >= 12


async def test_a_browser_session_only_looks(rest: Rest) -> None:
    """A cookie travels with requests other sites cause, so it never changes anything."""
    app = create_app(rest.api.memory)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        link = f"/login?token={await rest.api.memory.sign_ins.link(ADMIN)}"
        assert (await browser.get(link)).status_code == 303
        refused(await browser.get(link), None, 401)
        refused(await browser.get("/login?token="), None, 401)
        refused(await browser.get("/login"), "token", 422)
        assert (await browser.get("/api/agents")).status_code == 200
        for operation in rest.operations:
            if operation.method == "GET":
                continue
            path = operation.path
            for name, value in rest.ids.items():
                path = path.replace("{" + name + "}", value)
            response = await browser.request(operation.method, path, json=rest.good_body(operation))
            refused(response, None, 401)


# Requests by the OpenAPI document ------------------------------------------------------

FEW = 1
MANY = pytest.param(50, marks=pytest.mark.soak)
"""Requests, right and wrong ones, for each operation and after each other one."""
FOR_STAFF = "|".join(f"^{re.escape(path)}$" for _, path in STAFF_ONLY)
LEFT_OUT = r"/erase$|^/api/keys/|^/api/memory/policy$|^/api/workspaces"
"""Paths of what would end the key, or the user, that the requests are sent with; a workspace is a
database."""
LEADS_TO = {
    "remember": {"memory_id": "/memory/id"},
    "open_conversation": {"conversation_id": "/id"},
    "append_messages": {"message_id": "/messages/0/id", "conversation_id": "/conversation_id"},
    "create_space": {"space_id": "/id"},
    "create_agent": {"agent_id": "/id"},
    "resolve_user": {"user_id": "/id"},
    "add_fact": {"fact_id": "/id"},
    "add_place": {"place_id": "/place/place_id"},
    "forget_memories": {"forget_id": "/undo_id"},
    "move_memories": {"move_id": "/undo_id"},
    "merge_users": {"undo_id": "/undo_id", "user_id": "/survivor_id"},
}
"""Where an answer has the id that the paths of other operations take."""


def _linked(document: Json) -> Json:
    """Return the OpenAPI document with links between operations, which sequences are made of."""
    linked: Json = json.loads(json.dumps(document))
    operations = [
        (path, operation)
        for path, methods in linked["paths"].items()
        for operation in methods.values()
    ]
    for _, operation in operations:
        ids = LEADS_TO.get(operation["operationId"], {})
        links = {
            other["operationId"]: {
                "operationId": other["operationId"],
                "parameters": {name: f"$response.body#{at}" for name, at in ids.items()},
            }
            for path, other in operations
            if ids and all(f"{{{name}}}" in path for name in ids)
        }
        for status, answer in operation["responses"].items():
            if status.startswith("2") and links:
                answer["links"] = links
    return linked


def _configured(ids: Json, examples: int, folder: Path) -> Path:
    """Return settings of Schemathesis: most ids of a name that is known are there."""
    lines = [
        f"generation.max-examples = {examples}",
        f"phases.stateful.generation.max-examples = {20 * examples}",  # sequences in all
        "phases.stateful.inference.algorithms = []",  # the links are in the document
    ]
    for name, value in ids.items():
        known = json.dumps(int(value) if value.isdigit() else value)
        lines.append(f"dictionaries.{name}.values = [{known}]")
        for place in ("path", "query", "body"):
            chosen = f'{{dictionary = "{name}", probability = 0.7}}'
            lines.append(f'parameters."{place}.{name}" = {chosen}')
    path = folder / "schemathesis.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


async def _schemathesis(document: Json, config: Path, *options: str) -> Json:
    """Run Schemathesis, and return its report."""
    report, schema = config.with_name("report.json"), config.with_name("openapi.json")
    schema.write_text(json.dumps(_linked(document)), "utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", f"--config-file={config}"),
        *("run", str(schema), *options, f"--exclude-path-regex={LEFT_OUT}"),
        *("--phases=fuzzing,stateful", "--exclude-checks=positive_data_acceptance"),
        *("--report=json", f"--report-json-path={report}"),
        stdout=PIPE,
        stderr=STDOUT,
        cwd=config.parent,  # it keeps a cache where it runs
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    found: Json = json.loads(report.read_text("utf-8"))
    return found


def _rows_of(user: User) -> list[Any]:
    tables = ("memories", "memory_versions", "messages")
    owned = [f"SELECT * FROM {table} AS t WHERE owner_id = %s ORDER BY t" for table in tables]
    links = "SELECT * FROM platform_links AS t WHERE user_id = %s ORDER BY t"
    return [rows(statement, user.id) for statement in (*owned, links)]


@pytest.mark.parametrize("examples", [FEW, MANY])
@pytest.mark.parametrize("role", list(Role))
async def test_requests_by_the_document_get_the_answers_it_promises(
    rest: Rest, ada: User, bob: User, role: Role, examples: int, tmp_path: Path
) -> None:
    """Alone and one after the other. Bob's key, with ids of Ada's things, changes none of them.

    The short run has what is for staff alone with keys of staff, and the rest with Bob's.
    """
    keys = {Role.ADMIN: rest.api.admin, Role.SERVICE: rest.api.service}
    headers = keys.get(role) or await rest.api.key_of(bob)
    before = _rows_of(ada)
    async with served(rest.api.memory) as url:
        report = await _schemathesis(
            rest.operations[0].document,
            _configured(rest.ids, examples, tmp_path),
            f"--url={url}",
            *(("--generation-deterministic",) if examples == FEW else ()),
            *((f"--include-path-regex={FOR_STAFF}",) if examples == FEW and role in keys else ()),
            *(f"--header={name}:{value}" for name, value in headers.items()),
        )
    print(role, report["test_cases"]["generated"])
    assert report["operations"]["tested"] > 0.9 * report["operations"]["selected"] > 10
    if role is Role.USER:
        assert _rows_of(ada) == before


async def test_headers_of_every_answer_are_careful(rest: Rest) -> None:
    """Answers hold what people said: not cached, not sniffed, not framed."""
    for path in ("/api/agents", "/api/nothing", "/healthz"):
        response = await rest.client.get(path, headers=rest.api.admin)
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]


async def test_an_unexpected_error_says_nothing_of_what_was_sent(
    rest: Rest, memory: Remembrancer, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """A fault of ours is a problem document, and neither it nor the log quotes anybody."""

    said = "my secret is " + str(4000 + 711)

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(memory.agents, "list", broken)
    response = await rest.client.get("/api/agents", headers=rest.api.admin)
    assert response.status_code == 500
    assert "4711" not in response.text + caplog.text
    assert "unexpected RuntimeError" in caplog.text
