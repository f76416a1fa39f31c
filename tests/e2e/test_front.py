"""What stands before the routes: keys before bodies, limits of bodies, and of requests at once."""

import asyncio
import json
import logging
import socket
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from helpers import ADMIN, audit_lines, headers_of
from serving import served
from starlette.requests import Request
from wire import wire

from remembrancer import ConversationCreate, Remembrancer, Role, User, as_actor
from remembrancer.api.limits import RateLimit
from remembrancer.api.server import openapi_document
from remembrancer.cli import http_server
from remembrancer.cli.serve import bind
from remembrancer.db.urls import libpq_url
from remembrancer.errors import TooManyRequests
from remembrancer.keys.schemas import KeyCreate
from remembrancer.web.sessions import network

Serve = Callable[..., Awaitable[str]]
JSON = {"Content-Type": "application/json"}
MEGABYTE = b" " * 2**20
ENDLESS = {**JSON, "Transfer-Encoding": "chunked"}
RECALL = "/api/memory/recall"


@pytest.fixture
async def serve(memory: Remembrancer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serve]:
    """Serves the store with other limits; returns the address."""
    async with AsyncExitStack() as stack:

        async def start(**limits: float) -> str:
            changed = memory.settings.limits.model_copy(update=limits)
            monkeypatch.setattr(memory.settings, "limits", changed)
            return await stack.enter_async_context(served(memory))

        yield start


@pytest.fixture
async def key(memory: Remembrancer) -> dict[str, str]:
    """The headers of a service key."""
    return await headers_of(memory, KeyCreate(name="service", role=Role.SERVICE))


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no minute end, in which requests are counted."""
    assert RateLimit.__init__.__kwdefaults__
    monkeypatch.setitem(RateLimit.__init__.__kwdefaults__, "clock", lambda: 90.0)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def post(url: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, Any, Any]:
    """Post JSON on a connection of its own."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with wire(url) as connection:
        await connection.head("POST", path, {**JSON, **headers, "Content-Length": len(content)})
        await connection.send(content)
        return await connection.answer()


# The key first ---------------------------------------------------------------------------


async def test_case_48_no_key_no_body(serve: Serve) -> None:
    """Every route with a body answers 401 to the head alone, and so does MCP."""
    url = await serve()
    document = openapi_document()
    routes = [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, operations in document["paths"].items()  # type: ignore[attr-defined]
        for method, operation in operations.items()
        if "requestBody" in operation
    ]
    assert len(routes) > 40
    for method, path in [*routes, ("POST", "/mcp")]:
        for headers in ({}, {"Authorization": "Bearer rmb_unknown"}):
            async with wire(url) as connection:
                await connection.head(method, path, {**ENDLESS, **headers})
                status, _, answer = await connection.answer()
                assert status == 401, (method, path, answer)


async def test_case_48_a_large_body_without_a_key_costs_no_memory(serve: Serve) -> None:
    """16 MB that come anyhow are thrown away as they come."""
    url = await serve()
    async with wire(url) as connection:
        await connection.head("POST", "/api/memory/bulk", {**JSON, "Content-Length": 16 * 2**20})
        assert (await connection.answer())[0] == 401
        tracemalloc.start()
        try:
            for _ in range(16):
                await connection.send(MEGABYTE)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * 2**20
        # The connection is good for another request.
        await connection.head("GET", "/healthz", {})
        assert (await connection.answer())[0] == 200


@pytest.mark.usefixtures("one_minute")
async def test_the_rate_of_a_key_is_checked_before_the_body(
    serve: Serve, key: dict[str, str]
) -> None:
    """429 with the seconds to wait, to a head alone."""
    url = await serve(requests_per_minute=1)
    assert (await post(url, RECALL, key, {"query": "tea"}))[0] != 429
    async with wire(url) as connection:
        await connection.head("POST", RECALL, {**ENDLESS, **key})
        status, headers, _ = await connection.answer()
        assert status == 429
        assert 1 <= int(headers["retry-after"]) <= 60


async def test_a_revoked_key_that_was_known_is_refused(
    serve: Serve, memory: Remembrancer, ada: User
) -> None:
    """The check that travels with the request decides, after the body too."""
    created = await memory.keys.create(ADMIN, KeyCreate(name="other", role=Role.SERVICE))
    headers = {"Authorization": f"Bearer {created.secret}"}
    url = await serve()
    query = {"query": "tea", "user_id": str(ada.id)}
    assert (await post(url, RECALL, headers, query))[0] == 200
    await memory.keys.revoke(ADMIN, created.id)
    assert (await post(url, RECALL, headers, query))[0] == 401
    assert (await post(url, RECALL, headers, {"query": 7}))[0] == 401


# Bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "limit"),
    [(RECALL, 1_048_576), ("/api/memory/", 1_048_576), ("/mcp", 1_048_576),
     ("/api/memory/bulk", 16_777_216), ("/api/memory/preferences/import", 16_777_216)],
)  # fmt: skip
async def test_bodies_have_a_limit_by_route(
    serve: Serve, key: dict[str, str], path: str, limit: int
) -> None:
    """413 names it: to a length that is announced, and to a body without one as it comes."""
    url = await serve()
    named = f"{limit:,} bytes"
    async with wire(url) as connection:
        await connection.head("POST", path, {**JSON, **key, "Content-Length": limit + 1})
        status, _, body = await connection.answer()
        assert (status, json.loads(body)["status"]) == (413, 413)
        assert named in json.loads(body)["detail"]
    async with wire(url) as connection:
        await connection.head("POST", path, {**ENDLESS, **key})
        for _ in range(limit // 2**20):
            await connection.send(chunk(MEGABYTE))
        await connection.send(chunk(b" "))
        status, _, body = await connection.answer()
        assert (status, named in json.loads(body)["detail"]) == (413, True)


async def test_case_48_a_million_objects_are_not_parsed(serve: Serve, key: dict[str, str]) -> None:
    """They would take thirty times the memory of their bytes."""
    url = await serve()
    body = b'{"memories": [' + b"{}," * 900_000 + b"{}]}"
    tracemalloc.start()
    try:
        status, _, answer = await post(url, "/api/memory/bulk", key, body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (status, "200,000 objects" in answer.decode()) == (413, True)
    assert peak < 8 * len(body)


async def test_lists_are_refused_before_their_items_are_looked_at(
    serve: Serve, key: dict[str, str], ada: User
) -> None:
    """The field is named."""
    url = await serve()
    for path, field in (("bulk", "memories"), ("forget", "memory_ids")):
        body = {field: [{} if path == "bulk" else "x"] * 10_001, "user_id": str(ada.id)}
        status, _, answer = await post(url, f"/api/memory/{path}", key, body)
        problem = json.loads(answer)
        assert (status, [e["field"] for e in problem["errors"]][-1:]) == (422, [field])


# Seconds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [RECALL, "/api/memory/bulk", "/mcp", "/signin"])
async def test_a_body_that_dribbles_is_cut_off(
    serve: Serve, key: dict[str, str], path: str
) -> None:
    """408 after the time for it, however long it goes on byte by byte, and then the end."""
    url = await serve(body_seconds=0.2, body_rate=1000)
    async with wire(url) as connection:
        await connection.head("POST", path, {**ENDLESS, **key})
        answering = asyncio.create_task(connection.answer())
        while not answering.done():
            await connection.send(chunk(b" "))
            await asyncio.wait([answering], timeout=0.01)
        status, headers, _ = await answering
        assert (status, headers["connection"]) == (408, "close")
        assert await connection.is_closed()


async def test_a_slow_body_at_the_lowest_rate_is_taken(
    serve: Serve, key: dict[str, str], ada: User
) -> None:
    """What has come buys time for what is to come."""
    url = await serve(body_seconds=2, body_rate=10)
    body = json.dumps({"query": "tea", "user_id": str(ada.id)}).encode()
    async with wire(url) as connection:
        await connection.head("POST", RECALL, {**JSON, **key, "Content-Length": len(body)})
        for start in range(0, len(body), 10):
            await connection.send(body[start : start + 10])
            await asyncio.sleep(0.35)
        assert (await connection.answer())[0] == 200


async def test_nobody_holds_a_connection_without_a_request(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in silence, not with half a head, not with a body that was answered long ago."""
    url = await serve()
    async with AsyncExitStack() as stack:
        halting, late = [await stack.enter_async_context(wire(url)) for _ in range(2)]
        for each in (halting, late):
            await each.head("GET", "/healthz", {})
            assert (await each.answer())[0] == 200
        # A connection that is known has time to begin, however slow this machine is.
        monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.2)
        silent = await stack.enter_async_context(wire(url))
        await halting.send(b"GET /healthz HTTP/1.1\r\nHost: ")
        await late.head("POST", RECALL, ENDLESS)
        assert (await late.answer())[0] == 401
        assert await silent.is_closed()
        assert (await halting.answer())[0] == 408
        assert await halting.is_closed()
        assert await late.is_closed()


async def test_a_connection_is_kept_between_requests(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than for a head, unless there are many: proxies send on what they have open."""
    url = await serve()
    async with wire(url) as connection:
        for _ in range(2):
            await connection.head("GET", "/healthz", {})
            assert (await connection.answer())[0] == 200
            monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.2)
            await asyncio.sleep(0.4)
        monkeypatch.setattr(http_server, "most_connections", lambda: 1)
        await connection.head("GET", "/healthz", {})
        assert (await connection.answer())[0] == 200
        assert await connection.is_closed()


async def test_a_head_has_an_end(serve: Serve) -> None:
    """431 to one that goes on and on."""
    url = await serve()
    async with wire(url) as connection:
        await connection.send(b"GET /healthz HTTP/1.1\r\n")
        answering = asyncio.create_task(connection.answer())
        while not answering.done():
            await connection.send(b"X: " + b"y" * 8192 + b"\r\n")
            await asyncio.wait([answering], timeout=0.05)
        assert (await answering)[0] == 431


async def test_connections_are_bounded(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many is told to come back; the others are served."""
    monkeypatch.setattr(http_server, "most_connections", lambda: 2)
    url = await serve()
    async with wire(url) as one, wire(url) as two:
        for each in (one, two):
            await each.head("GET", "/healthz", {})
            assert (await each.answer())[0] == 200
        async with wire(url) as third:
            status, headers, _ = await third.answer()
            assert (status, headers["retry-after"]) == (503, "2")
        await one.head("GET", "/healthz", {})
        assert (await one.answer())[0] == 200


# Hanging up ------------------------------------------------------------------------------


async def test_hanging_up_is_no_error(
    serve: Serve, memory: Remembrancer, key: dict[str, str], ada: User, caplog: Any
) -> None:
    """In a head, in a body, before the answer, and without HTTP at all: nothing in the log."""
    url = await serve()
    caplog.set_level(logging.WARNING)
    body = json.dumps({"query": "tea", "user_id": str(ada.id)}).encode()
    for path in (RECALL, "/mcp", "/signin", f"/api/memory/nothere1/restore?user_id={ada.id}"):
        for sent in (body[:10], body):
            async with wire(url) as connection:
                await connection.head("POST", path, {**JSON, **key, "Content-Length": len(body)})
                await connection.send(sent)
    for sent in (b"", b"GET /hea", b"\x16\x03\x01\x02", b"SSH-2.0-OpenSSH_9.6\r\n"):
        async with wire(url) as connection:
            await connection.send(sent)
    async with wire(url) as connection:
        await connection.head("GET", "/metrics", await headers_of(
            memory, KeyCreate(name="admin", role=Role.ADMIN)
        ))  # fmt: skip
        status, _, figures = await connection.answer()
        assert status == 200
        assert b'status="499"' in figures
        assert b'status="500"' not in figures
    assert [record.getMessage() for record in caplog.records] == []


# Sign-ins --------------------------------------------------------------------------------


def refusals() -> int:
    return sum(line.outcome == "refused" for line in audit_lines())


@pytest.mark.usefixtures("one_minute")
async def test_sign_ins_are_limited_by_address(serve: Serve) -> None:
    """By key and by link: 429 before the form is read, and no line in the log."""
    url = await serve(sign_ins_per_minute=2)
    for _ in range(2):
        async with wire(url) as connection:
            await connection.head("GET", "/login?token=x", {})
            assert (await connection.answer())[0] == 401
    for method, path in (("GET", "/login?token=x"), ("POST", "/signin")):
        async with wire(url) as connection:
            await connection.head(method, path, ENDLESS if method == "POST" else {})
            status, headers, _ = await connection.answer()
            assert status == 429
            assert 1 <= int(headers["retry-after"]) <= 60
    assert refusals() == 2


async def test_failed_sign_ins_of_a_user_do_not_fill_the_log(
    memory: Remembrancer, monkeypatch: pytest.MonkeyPatch, ada: User, bob: User
) -> None:
    """From wherever they come; those of others, and right keys, are as before."""
    monkeypatch.setattr(memory.sign_ins, "_most_refusals", 3)
    secrets = {}
    for user in (ada, bob):
        made = await memory.keys.create(
            ADMIN, KeyCreate(name="own", role=Role.USER, user_id=user.id)
        )
        await memory.keys.revoke(ADMIN, made.id)
        secrets[user.id] = made.secret
    for secret in (secrets[ada.id], "unknown"):
        for _ in range(3):
            await memory.sign_ins.refuse(secret, entry_point="web")
        for _ in range(20):
            with pytest.raises(TooManyRequests) as refused:
                await memory.sign_ins.refuse(secret, entry_point="web")
            assert refused.value.extra["retry_after"] == 60
    assert refusals() == 6
    await memory.sign_ins.refuse(secrets[bob.id], entry_point="web")
    assert refusals() == 7


def test_a_network_of_ipv6_is_one_address() -> None:
    """Whoever has one address of 64 bits has them all; addresses of IPv4 are one each."""

    def of(host: str) -> str:
        return network(Request({"type": "http", "headers": [], "client": (host, 1)}))

    assert of("2001:db8::1") == of("2001:db8::ffff:1") != of("2001:db8:0:1::1")
    assert of("::ffff:10.0.0.1") == of("10.0.0.1") != of("::ffff:10.0.0.2")


# Many at once ----------------------------------------------------------------------------


async def test_requests_at_once_are_bounded(
    serve: Serve, memory: Remembrancer, key: dict[str, str], ada: User
) -> None:
    """503 with Retry-After, before anything is done; the others are answered, and then again.

    So is one whose body comes when others have taken its place.
    """
    url = await serve(requests_at_once=2)
    query = {"query": "tea", "user_id": str(ada.id)}
    blocker = await psycopg.AsyncConnection.connect(libpq_url(memory.database.url))
    async with blocker, wire(url) as late:
        await late.head("POST", RECALL, {**ENDLESS, **key, "Expect": "100-continue"})
        assert b"100 Continue" in await late.reader.readuntil(b"\r\n\r\n")
        await blocker.execute("RESET ROLE")
        await blocker.execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
        busy = [asyncio.create_task(post(url, RECALL, key, query)) for _ in range(2)]
        while True:
            status, headers, _ = await post(url, "/api/unknown", {}, {})
            if status == 503:
                break
        assert headers["retry-after"] == "2"
        assert headers["content-type"] == "application/problem+json"
        await late.send(chunk(json.dumps(query).encode()) + b"0\r\n\r\n")
        status, headers, _ = await late.answer()
        assert (status, headers["retry-after"]) == (503, "2")
        async with wire(url) as connection:
            await connection.head("GET", "/healthz", {})
            assert (await connection.answer())[0] == 200
    assert [status for status, *_ in await asyncio.gather(*busy)] == [200, 200]
    assert (await post(url, RECALL, key, query))[0] == 200


async def test_who_sends_slowly_takes_nobody_elses_turn(
    serve: Serve, key: dict[str, str], ada: User
) -> None:
    """A request that waits for its client is not in work."""
    url = await serve(requests_at_once=1)
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(wire(url)) for _ in range(5)]
        for each in slow:
            await each.head("POST", RECALL, {**ENDLESS, **key, "Expect": "100-continue"})
            # The server reads the body now.
            assert b"100 Continue" in await each.reader.readuntil(b"\r\n\r\n")
        query = {"query": "tea", "user_id": str(ada.id)}
        assert (await post(url, RECALL, key, query))[0] == 200


def test_a_crowd_of_connections_is_taken_at_once() -> None:
    """uvloop takes one in each turn of its loop, which is long when there is much to do."""
    uvloop = pytest.importorskip("uvloop")

    async def turns() -> int:
        listener = bind("127.0.0.1", 0)
        server = http_server.QuietServer(FastAPI())
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await server.answers.wait()
        crowd = [socket.create_connection(listener.getsockname()) for _ in range(64)]
        count = 0
        while len(server.server_state.connections) < len(crowd):
            await asyncio.sleep(0)
            count += 1
        for each in crowd:
            each.close()
        server.should_exit = True
        await running
        return count

    assert uvloop.run(turns()) < 16


async def test_a_thousand_first_messages_at_once(
    serve: Serve,
    memory: Remembrancer,
    key: dict[str, str],
    ada: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of a stranger in one group: stored, or refused with Retry-After and not stored."""
    # Clients and server share a loop here: none of them is to be late.
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 600)
    group = await memory.conversations.open(
        as_actor(ada), ConversationCreate(platform="telegram", platform_conversation_id="group")
    )
    url = await serve(requests_at_once=100, body_seconds=600)
    path = f"/api/conversations/{group.id}/messages"
    assert http_server.most_connections() > 1000

    async def first_message(number: int) -> tuple[int, dict[str, str]]:
        message = {"content": f"Hello, I am number {number}", "platform_user_id": str(number)}
        status, headers, _ = await post(url, path, key, {"messages": [message]})
        return status, headers

    answers = await asyncio.gather(*map(first_message, range(1000)))
    refused = [headers for status, headers in answers if status == 503]
    assert {status for status, _ in answers} == {201, 503}
    assert all("retry-after" in headers for headers in refused)
    stored = await memory.conversations.get(as_actor(ada), group.id)
    assert stored.message_count == 1000 - len(refused) >= 100
    assert (await first_message(1001))[0] == 201
