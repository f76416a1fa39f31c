"""Workspaces: each a store of its own behind one server, of which nothing reaches another."""

import asyncio
import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from helpers import ADMIN, Api, Store, audit_lines, headers_of, person, rows
from pages import signed_in
from pydantic import SecretStr
from serving import mcp_client
from sqlalchemy import make_url, text
from test_bad_input import Rest, rest
from test_no_oracle import MADE, UNKNOWN

from remembrancer import Remembrancer, Role, periodic
from remembrancer.backup import back_up, restore
from remembrancer.client import AsyncClient
from remembrancer.db import migrate
from remembrancer.db.cap import Cap
from remembrancer.db.urls import libpq_url, liveness
from remembrancer.errors import (
    Conflict,
    DatabaseSetupError,
    DatabaseUnavailable,
    Forbidden,
    InvalidInput,
    NotFound,
    Unauthenticated,
    WorkspaceUnavailable,
)
from remembrancer.keys.schemas import KeyCreate
from remembrancer.search.reembed import Reembedding
from remembrancer.settings import WorkspaceServer
from remembrancer.workspaces import repository, turns
from remembrancer.workspaces import service as services
from remembrancer.workspaces.databases import _BLANK, Server, _connection, size
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import (
    MoveState,
    NewWorkspace,
    WorkspaceLimits,
    WorkspaceMove,
)

__all__ = ["rest"]  # a fixture


@pytest.fixture
async def host(memory: Remembrancer) -> AsyncIterator[Remembrancer]:
    """The host's own store, whose workspaces are dropped at the end."""
    await forget_host(memory)
    yield memory
    await forget_host(memory)
    for (name,) in rows("SELECT datname FROM pg_database WHERE datname LIKE 'remembrancer_t%'"):
        rows(f'DROP DATABASE "{name}" WITH (FORCE)')


async def forget_host(memory: Remembrancer) -> None:
    """Close the workspaces; the next use makes a new host, by the settings of then."""
    await memory.host.close()
    for name in ("host", "turns"):
        vars(memory).pop(name, None)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def test_a_workspace_is_created_used_limited_suspended_and_dropped(
    host: Remembrancer, api: Api
) -> None:
    """The whole life, over HTTP; other workspaces and the host's own never notice."""
    created = []
    for name in ("team-a", "team-b"):
        answer = await api.client.post("/api/workspaces", json={"name": name}, headers=api.admin)
        assert answer.status_code == 201, answer.text
        created.append(answer.json())
    ours, theirs = (bearer(workspace["secret"]) for workspace in created)
    again = await api.client.post("/api/workspaces", json={"name": "team-a"}, headers=api.admin)
    assert (again.status_code, again.json()["errors"][0]["field"]) == (409, "name")

    ada = {"platform": "discord", "platform_user_id": "1", "display_name": "Ada"}
    for headers, drink in ((ours, "tea"), (theirs, "milk"), (api.admin, "water")):
        user = (await api.client.post("/api/users/resolve", json=ada, headers=headers)).json()
        body = {"content": f"Ada drinks {drink}.", "user_id": user["id"]}
        assert (
            await api.client.post("/api/memory/", json=body, headers=headers)
        ).status_code == 201
    for headers, drink in ((ours, "tea"), (theirs, "milk"), (api.admin, "water")):
        body = {"query": "What does Ada drink?", "user_id": "discord:1"}
        answer = await api.client.post("/api/memory/recall", json=body, headers=headers)
        hits = [hit["content"] for hit in answer.json()["hits"]]
        assert hits == [f"Ada drinks {drink}."]

    limits = "/api/workspaces/team-a/limits"
    await api.client.put(limits, json={"requests_per_minute": 1}, headers=api.admin)
    statuses = [(await api.client.get("/api/users", headers=ours)).status_code for _ in range(3)]
    assert statuses[1:] == [429, 429] or statuses == [200, 200, 429]  # the minute may end between
    assert (await api.client.get("/api/users", headers=theirs)).status_code == 200
    await api.client.put(limits, json={}, headers=api.admin)

    path = "/api/workspaces/team-a"
    refused = await api.client.delete(f"{path}?dry_run=false", headers=api.admin)
    assert (refused.status_code, "suspend it first" in refused.text) == (409, True)
    await api.client.post(f"{path}/suspend", headers=api.admin)
    refused = await api.client.get("/api/users", headers=ours)
    assert (refused.status_code, "is suspended" in refused.text) == (403, True)
    unknown = await api.client.get("/api/users", headers=bearer(created[0]["secret"] + "x"))
    assert unknown.status_code == 401  # strangers do not learn that it is
    await api.client.post(f"{path}/resume", headers=api.admin)
    assert (await api.client.get("/api/users", headers=ours)).status_code == 200

    await api.client.post(f"{path}/suspend", headers=api.admin)
    counted = (await api.client.delete(path, headers=api.admin)).json()
    assert (counted["dry_run"], counted["users"], counted["memories"]) == (True, 1, 1)
    receipt = (await api.client.delete(f"{path}?dry_run=false", headers=api.admin)).json()
    assert (receipt["dry_run"], receipt["users"], receipt["bytes"] > 0) == (False, 1, True)
    assert (await api.client.get("/api/users", headers=ours)).status_code == 401
    listed = (await api.client.get("/api/workspaces", headers=api.admin)).json()["items"]
    assert [workspace["name"] for workspace in listed] == ["team-b"]
    assert databases() == [created[1]["database"]]
    actions = [line.action for line in audit_lines() if line.action.startswith("workspace.")]
    assert {line.target_ids[0] for line in audit_lines() if "workspace." in line.action} == {
        "team-a",
        "team-b",
    }
    assert actions == [
        *(f"workspace.{what}" for what in ("create", "create", "limit", "limit")),
        *(f"workspace.{what}" for what in ("suspend", "resume", "suspend", "drop")),
    ]


def databases() -> list[str]:
    found = rows("SELECT datname FROM pg_database WHERE datname LIKE 'remembrancer_t%' ORDER BY 1")
    return [name for (name,) in found]


async def test_only_admins_of_the_host_manage_workspaces(host: Remembrancer, api: Api) -> None:
    """Not a service, not a user, and not the admin of a workspace."""
    created = await host.workspaces.create(ADMIN, "tenant")
    theirs = bearer(created.secret)
    requests = [
        ("POST", "/api/workspaces", {"name": "more"}),
        ("GET", "/api/workspaces", None),
        ("GET", "/api/workspaces/tenant", None),
        ("PUT", "/api/workspaces/tenant/limits", {}),
        ("POST", "/api/workspaces/tenant/suspend", None),
        ("POST", "/api/workspaces/tenant/resume", None),
        ("POST", "/api/workspaces/tenant/move", {"server": "main"}),
        ("POST", "/api/workspaces/tenant/move/confirm", None),
        ("POST", "/api/workspaces/tenant/move/undo", None),
        ("DELETE", "/api/workspaces/tenant?dry_run=false", None),
        ("GET", "/metrics", None),  # they are of all workspaces
    ]
    for headers, (method, path, body) in product((api.service, theirs), requests):
        answer = await api.client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 403, (method, path, answer.text)
    for name, field in (("default", "name"), ("Acme", "name"), ("a" * 41, "name"), ("", "name")):
        answer = await api.client.post("/api/workspaces", json={"name": name}, headers=api.admin)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    elsewhere = {"name": "more", "server": "nowhere"}
    answer = await api.client.post("/api/workspaces", json=elsewhere, headers=api.admin)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "server")
    for method, path in (("GET", "/api/workspaces/no"), ("POST", "/api/workspaces/no/suspend")):
        assert (await api.client.request(method, path, headers=api.admin)).status_code == 404


async def test_a_key_opens_no_other_workspace(host: Remembrancer, api: Api) -> None:
    """Whatever name stands before the secret: the answer is that of an unknown key."""
    one, two = [await host.workspaces.create(ADMIN, name) for name in ("tenant-1", "tenant-2")]
    of_host = api.admin["Authorization"].removeprefix("Bearer rmb_")
    mine = one.secret.partition(".")[2]
    expected = (await api.client.get("/api/users", headers=bearer("rmb_unknown"))).json()
    for forged in (
        f"rmb_tenant-2.{mine}",
        f"rmb_{mine}",
        f"rmb_default.{mine}",
        f"rmb_default.{of_host}",
        f"rmb_tenant-1.{of_host}",
        f"rmb_nobody.{mine}",
        f"rmb_.{mine}",
        f"rmb_tenant-1.{mine}.",
        f"rmb_tenant-1..{mine}",
        f"rmb_%00.{mine}",
        f"rmb_tenant-1' OR 'x'='x.{mine}",
    ):
        for headers in (bearer(forged), {"Cookie": f"remembrancer_session={forged[4:]}"}):
            answer = await api.client.get("/api/users", headers=headers)
            assert answer.status_code == 401, forged
            if "Authorization" in headers:
                assert answer.json() == expected, forged
        with pytest.raises(Unauthenticated):
            await host.keys.authenticate(forged, entry_point="rest")
    assert (await api.client.get("/api/users", headers=bearer(two.secret))).status_code == 200
    assert two.secret not in host.guard.redact(f"The key is {two.secret}, keep it.")


async def test_invented_names_disturb_nobody(host: Remembrancer, api: Api) -> None:
    """A name that no workspace can have never reaches the look at the registry."""
    await host.workspaces.create(ADMIN, "team-a")
    async with host.host.use("team-a") as store:
        for name in ("team-z", "team\0a", "\N{SNOWMAN}", "x" * 10_000):
            answer = await api.client.post("/signin", data={"key": f"rmb_{name}.secret"})
            assert answer.status_code == 401, name
        rows("UPDATE workspaces SET state = 'suspended'")
        await host.host._follow()
        with pytest.raises(Forbidden):
            host.host.check(store)
    assert rows("SELECT used_at > created_at FROM workspaces") == [(True,)]


async def test_nothing_crosses_workspaces_on_any_route(
    rest: Rest, host: Remembrancer, api: Api
) -> None:
    """With a key of each role of another workspace, foreign ids are answered like unknown ones."""
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as tenant:
        mallory = await person(tenant, "Mallory")
        keys = [
            bearer(created.secret),
            await headers_of(tenant, KeyCreate(name="service", role=Role.SERVICE)),
            await headers_of(tenant, KeyCreate(name="m", role=Role.USER, user_id=mallory.id)),
        ]
    before = rows("SELECT count(*), max(id::text) FROM memories"), len(audit_lines())
    differing: dict[str, Any] = {}
    tried = 0
    for operation, headers in product(rest.operations, keys):
        body = rest.good_body(operation) if operation.body else None
        named = {*re.findall(r"{(\w+)}", operation.path), *((body or {}).keys() & rest.ids.keys())}
        named -= {"name", "invitee"}
        if not named or operation.path.startswith("/api/workspaces"):
            continue
        unknown = {name: UNKNOWN.get(name, str(uuid4())) for name in named}
        answers = []
        for ids in (rest.ids, rest.ids | unknown):
            query = {k: v for k, v in rest._query(operation).items() if k not in named}
            sent = {k: ids.get(k, v) for k, v in body.items()} if body is not None else None
            answer = await api.client.request(
                operation.method,
                operation.path.format(**ids),
                params=query | {k: ids[k] for k in rest._query(operation) if k in named},
                headers=headers,
                json=sent,
            )
            told = answer.text
            for value in {*ids.values(), *rest.ids.values()}:
                told = told.replace(value, "?") if len(value) > 6 else told
            answers.append((answer.status_code, MADE.sub("new", told)))
        tried += 1
        if answers[0] != answers[1]:
            differing[f"{operation.method} {operation.path}"] = answers
        assert "Ada likes tea" not in answers[0][1]
    assert differing == {}
    assert tried > 200
    assert before == (rows("SELECT count(*), max(id::text) FROM memories"), len(audit_lines()))


async def test_pages_mcp_and_the_client_are_in_the_workspace_of_their_key(
    host: Remembrancer, api: Api, app: FastAPI
) -> None:
    """A browser signs in by key and by link, an assistant and a program by key."""
    await person(host, "Hostess")
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as tenant:
        ada = await person(tenant, "Ada")
        await tenant.remember("Ada plays the cello.", user=ada)
        link = await tenant.sign_ins.link(ADMIN, ada.id)
        service = await tenant.keys.create(ADMIN, KeyCreate(name="s", role=Role.SERVICE))
    browser = await signed_in(app, created.secret)
    people = await browser.get("/admin/people")
    assert ("Ada" in people, "Hostess" in people) == (True, False)
    await browser.client.aclose()
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://localhost"
    ) as client:
        welcome = await client.post("/welcome", data={"token": link})
        assert welcome.status_code == 303
        page = await client.get(f"/people/{ada.id}/memories")
        assert "Ada plays the cello." in page.text
        gone = await client.post("/welcome", data={"token": link.replace("tenant.", "")})
        assert gone.status_code == 401
    async with mcp_client(
        "http://test", bearer(service.secret), query=f"?user_id={ada.id}", app=app
    ) as assistant:
        found = await assistant.call_tool("memory_recall", {"query": "cello"})
        assert "Ada plays the cello." in json.dumps(found.structured_content)
    transport = httpx2.ASGITransport(app=app)
    async with AsyncClient("http://test", service.secret, transport=transport) as program:
        assert [user.display_name for user in (await program.users.list()).items] == ["Ada"]


async def test_unused_workspaces_are_closed_and_opened_again(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few are open at once; what is in use stays, and what was noted is written."""
    names = [f"tenant-{number}" for number in range(4)]
    for name in names:
        await host.workspaces.create(ADMIN, name)
    monkeypatch.setattr(host.host, "_most", 2)
    async with host.host.use(names[0]) as kept:
        for name in names[1:] * 2:
            async with host.host.use(name) as store:
                assert store.workspace == name
                await person(store, f"Of {name}")
        assert len(host.host._opened) <= 2
        await person(kept, "Kept")  # in use all the time
        assert [user.display_name for user in (await kept.users.list(ADMIN)).items] == ["Kept"]
    for name in names[1:]:
        async with host.host.use(name) as store:
            assert [u.display_name for u in (await store.users.list(ADMIN)).items] == [f"Of {name}"]
    await asyncio.gather(*(_use(host, name) for name in names * 5))
    # More were in use at once, maybe up to the last; the next use closes what is too much.
    await _use(host, names[0])
    await asyncio.gather(*host.host._closing)
    own = make_url(Store.url).database
    query = (
        "SELECT count(DISTINCT datname) FROM pg_stat_activity"
        " WHERE datname LIKE 'remembrancer_t%%' AND datname <> %s"
    )
    async with asyncio.timeout(60):  # the server takes a moment to end what was closed
        while rows(query, own) != [(2,)]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _use(host: Remembrancer, name: str) -> None:
    async with host.host.use(name) as store:
        await store.users.list(ADMIN)


async def test_another_process_follows_what_was_changed(
    host: Remembrancer, database_url: str
) -> None:
    """Suspended, limited and dropped by one server, and so for the other."""
    settings = host.settings.model_copy()
    async with Remembrancer.open(settings=settings) as other:
        await host.workspaces.create(ADMIN, "tenant", limits=WorkspaceLimits(requests_per_minute=9))
        async with other.host.use("tenant") as store:
            await person(store, "Ada")
            assert other.host.limits(store) == {"requests_per_minute": 9}
        await host.workspaces.suspend(ADMIN, "tenant")
        await other.host._follow()
        with pytest.raises(Forbidden, match="suspended"):
            await _use(other, "tenant")
        receipt = await host.workspaces.drop(ADMIN, "tenant", dry_run=False)
        assert receipt.users == 1
        await other.host._follow()
        with pytest.raises(NotFound):
            await _use(other, "tenant")
        # The name is free for another, which has nothing of the first.
        await other.workspaces.create(ADMIN, "tenant")
        async with host.host.use("tenant") as store:
            assert (await store.users.list(ADMIN)).items == []


def _connections() -> int:
    [(found,)] = rows(
        "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'remembrancer_t%%'"
        " AND usename = %s", "remembrancer_app",
    )  # fmt: skip
    return int(found)


async def test_connections_of_all_workspaces_are_capped(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three connections serve four workspaces that are used at once; nobody waits for ever."""
    caps = defaultdict(lambda: Cap(3, wait_seconds=240))
    monkeypatch.setattr(host, "_caps", caps, raising=False)
    names = [f"tenant-{number}" for number in range(4)]
    for name in names:
        await host.workspaces.create(ADMIN, name)
    most = 0

    async def use(name: str) -> None:
        nonlocal most
        async with host.host.use(name) as store, store.database.system():
            # The server takes a moment to end what was closed. Meanwhile nothing moves here.
            for _ in range(3000):
                if (now := _connections()) <= 3:
                    break
                time.sleep(0.02)  # noqa: ASYNC251
            most = max(most, now)
        async with host.host.use(name) as store:
            await person(store, "Ada")

    await asyncio.gather(*(use(name) for name in names * 6))
    assert most <= 3
    for name in names:
        async with host.host.use(name) as store:
            assert len((await store.users.list(ADMIN)).items) == 1
    caps = defaultdict(lambda: Cap(1, wait_seconds=0.1))
    monkeypatch.setattr(host, "_caps", caps, raising=False)
    await host.host.close()
    async with host.host.use(names[0]) as one, one.database.system():
        with pytest.raises(DatabaseUnavailable, match=r"workspaces\.connections"):
            await _use(host, names[1])


@pytest.mark.parametrize("is_end", [False, True])
async def test_a_workspace_that_is_closed_waits_to_write_what_it_has(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch, is_end: bool
) -> None:
    """All connections are busy then. The end of the process does not wait."""
    monkeypatch.setattr(host, "_cap", Cap(1, wait_seconds=240), raising=False)
    monkeypatch.setattr(host, "_hurry", hurry := asyncio.Event(), raising=False)
    monkeypatch.setattr(periodic, "LAST_SECONDS", 0.01)
    for name in ("tenant-1", "tenant-2"):
        await host.workspaces.create(ADMIN, name)
    async with host.host.use("tenant-1") as store:
        ada = await person(store, "Ada")
        await store.remember("Ada rows.", user=ada)
        await store.reads.flush()
        await store.recall("rows", user=ada)
    async with host.host.use("tenant-2") as other, other.database.system():
        host.host.forget("tenant-1")
        closing = asyncio.gather(*host.host._closing)
        if is_end:
            hurry.set()
            await closing
        else:
            await asyncio.wait([closing], timeout=0.2)
    await closing
    async with host.host.use("tenant-1") as store:
        actions = [line.action for line in (await store.audit.list(ADMIN)).items]
    assert is_end or "recall" in actions


@pytest.mark.parametrize("moment", ["create_database", "_first_key"])
async def test_a_creation_that_fails_leaves_nothing(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Neither a row nor a database; the name can be used at once."""

    async def fail(*_: object) -> None:
        raise Conflict("no")

    if moment == "create_database":
        monkeypatch.setattr(services, "create_database", lambda *_: 1 / 0)
    else:
        monkeypatch.setattr(host.workspaces, "_first_key", fail)
    with pytest.raises((Conflict, ZeroDivisionError)):
        await host.workspaces.create(ADMIN, "tenant")
    assert (rows("SELECT name FROM workspaces"), databases()) == ([], [])
    monkeypatch.undo()
    assert (await host.workspaces.create(ADMIN, "tenant")).name == "tenant"


class Gate:
    """A function that does not begin its work before it is let through."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.called = threading.Event()
        self.open = threading.Event()
        self.left = threading.Event()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.called.set()
        self.open.wait(60)  # beside a test that fails, too
        try:
            self.function(*args, **kwargs)
        finally:
            self.left.set()


async def test_a_creation_that_is_cancelled_leaves_nothing(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread cannot be cancelled: what it makes is dropped when it has ended."""
    gate = Gate(services.create_database)
    monkeypatch.setattr(services, "create_database", gate)
    creating = asyncio.create_task(host.workspaces.create(ADMIN, "tenant"))
    await asyncio.to_thread(gate.called.wait)
    for _ in range(2):
        creating.cancel()
        await asyncio.wait([creating], timeout=0.1)
    gate.open.set()
    await asyncio.wait([creating])
    await asyncio.to_thread(gate.left.wait)
    assert creating.cancelled()
    assert (rows("SELECT name FROM workspaces"), databases()) == ([], [])


async def test_a_server_that_cannot_hold_workspaces_is_told(
    host: Remembrancer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it lacks, to whoever creates one there."""

    def lacks(_: object) -> None:
        raise DatabaseSetupError("this Postgres server lacks the pgvector extension; install it")

    forget_blank()
    monkeypatch.setattr(migrate, "check_server", lacks)
    answer = await api.client.post("/api/workspaces", json={"name": "tenant"}, headers=api.admin)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (409, "server")
    assert "lacks the pgvector extension" in answer.text
    assert (rows("SELECT name FROM workspaces"), databases()) == ([], [])


async def test_no_workspace_has_the_name_of_a_blank_database(host: Remembrancer) -> None:
    """A newer schema drops the old blank ones, whatever customers are called."""
    for name in ("blank", "blank-0030"):
        created = await host.workspaces.create(ADMIN, name)
        blank, old = f"{_BLANK}{migrate.newest()}", f"{_BLANK}0000"
        rows(f'ALTER DATABASE "{blank}" RENAME TO "{old}"')
        await host.workspaces.create(ADMIN, f"tenant-{name}")
        assert rows(f"SELECT 1 FROM pg_database WHERE datname = '{old}'") == []
        assert rows(f"SELECT 1 FROM pg_database WHERE datname = '{created.database}'") == [(1,)]
        await host.workspaces.suspend(ADMIN, name)
        await host.workspaces.drop(ADMIN, name, dry_run=False)


def forget_blank() -> None:
    """Drop what the next creation copies, so that it is made again."""
    for (name,) in rows("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", _BLANK):
        rows(f'DROP DATABASE "{name}" WITH (FORCE)')


async def test_what_a_server_refuses_is_told(host: Remembrancer, api: Api) -> None:
    """A server that does not answer is one thing, a database in use another."""
    created = await host.workspaces.create(ADMIN, "tenant")
    await host.workspaces.suspend(ADMIN, "tenant")
    in_database(
        created,
        "CREATE SUBSCRIPTION other CONNECTION 'dbname=other' PUBLICATION other"
        " WITH (connect = false, slot_name = NONE)",
    )
    answer = await api.client.delete("/api/workspaces/tenant?dry_run=false", headers=api.admin)
    in_database(created, "DROP SUBSCRIPTION other")
    told = "the server main refuses: database"
    assert (answer.status_code, answer.json()["detail"][: len(told)]) == (503, told)
    await host.workspaces.drop(ADMIN, "tenant", dry_run=False)


async def test_a_hold_that_is_not_given_back_hides_no_answer(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends by itself; nobody else would know the secret of the first key."""

    async def lose(*_: object) -> None:
        raise DatabaseUnavailable("the database does not answer; try again later")

    monkeypatch.setattr(repository, "release", lose)
    created = await host.workspaces.create(ADMIN, "tenant")
    assert created.secret.startswith("rmb_tenant.")
    rows("UPDATE workspaces SET held_until = now() - interval '1 second'")
    with pytest.raises(Conflict, match="suspend it first"):
        await host.workspaces.drop(ADMIN, "tenant", dry_run=False)


async def test_migrations_that_are_cancelled_hold_up_no_request(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs in another process ends there, while this one answers."""
    for number in range(2):
        await host.workspaces.create(ADMIN, f"tenant-{number}")
    rows("UPDATE workspaces SET revision = '0030'")
    begun = asyncio.Event()

    async def migrate(row: WorkspaceRow, executor: Executor | None = None) -> WorkspaceRow:
        if executor is not None:
            executor.submit(time.sleep, 3)
            begun.set()
            await asyncio.Event().wait()
        return row

    monkeypatch.setattr(host.host, "migrate", migrate)
    migrating = asyncio.create_task(host.workspaces.migrate(ADMIN))
    await begun.wait()
    await asyncio.sleep(1)  # until the process is there
    migrating.cancel()
    began = time.monotonic()
    await asyncio.wait([migrating], timeout=0.05)
    assert time.monotonic() - began < 0.5
    await asyncio.wait([migrating])
    assert migrating.cancelled()


def test_a_connection_that_fails_is_told(database_url: str) -> None:
    """Whether a server is away, or answers and refuses; without its address."""
    lost = make_url(database_url).set(database="nowhere").render_as_string(False)
    for url, told in (
        ("postgresql://owner:secret@127.0.0.1:9/postgres", "does not answer"),
        (lost, 'refuses the connection: database "nowhere" does not exist'),
    ):
        with pytest.raises(DatabaseUnavailable) as error:
            size(Server("main", url, url), "remembrancer_tenant")
        assert str(error.value) == f"the server main {told}"


async def test_what_a_dead_process_began_is_ended_by_another(host: Remembrancer) -> None:
    """A creation is undone, a drop is done; whoever is at it is left alone."""
    for name in ("tenant-1", "tenant-2", "tenant-3"):
        await host.workspaces.create(ADMIN, name)
    rows(
        "UPDATE workspaces SET state = s.state, holder = gen_random_uuid(),"
        " held_until = now() + s.left * interval '1 minute'"
        " FROM (VALUES ('tenant-1', 'creating', -1), ('tenant-2', 'dropping', -1),"
        " ('tenant-3', 'creating', 1)) AS s (name, state, \"left\") WHERE s.name = workspaces.name"
    )
    with pytest.raises(Conflict, match="somebody else"):
        await host.workspaces.suspend(ADMIN, "tenant-3")
    assert await host.workspaces.recover() == 2
    assert rows("SELECT name FROM workspaces") == [("tenant-3",)]
    assert len(databases()) == 1


async def test_a_server_that_is_away_stops_no_other_recovery(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does one that the settings do not have any more; the log knows once of each workspace."""
    servers = host.settings.workspaces.servers
    away = WorkspaceServer(url=SecretStr("postgresql://nobody:no@127.0.0.1:9/postgres"))
    monkeypatch.setitem(servers, "two", away)
    await forget_host(host)
    for name in ("tenant-b", "tenant-y", "tenant-z"):
        await host.workspaces.create(ADMIN, name)
    # The server went away amid its creation.
    rows(
        "INSERT INTO workspaces (id, name, server, database, revision, limits, state, held_until)"
        " VALUES (gen_random_uuid(), 'tenant-a', 'two', 'gone', '0001', '{}', 'creating', now())"
    )
    rows("UPDATE workspaces SET state = 'dropping' WHERE name = 'tenant-b'")
    for name, server in (("tenant-y", "three"), ("tenant-z", "main")):
        move = WorkspaceMove(
            from_server=server,
            from_database="gone",
            to_server="main",
            to_database=(await host.workspaces.get(ADMIN, name)).database,
            state=MoveState.ENDING,
            started_at=datetime.now(UTC),
        )
        rows("UPDATE workspaces SET move = %s WHERE name = %s", move.model_dump_json(), name)
    assert await host.workspaces.recover() == 2
    monkeypatch.delitem(servers, "two")
    await forget_host(host)
    assert await host.workspaces.recover() == 0
    assert rows("SELECT name, state, move IS NULL FROM workspaces ORDER BY name") == [
        ("tenant-a", "creating", True),
        ("tenant-y", "active", False),
        ("tenant-z", "active", True),
    ]
    assert [line.getMessage() for line in caplog.records if "help" in line.msg] == [
        "the creation or drop of tenant-a waits for help (DatabaseUnavailable)",
        "the move of tenant-y waits for help (InvalidInput)",
    ]
    # Its name can be used again, even if nobody recovers it.
    monkeypatch.setitem(servers, "two", WorkspaceServer(url=SecretStr(Store.url)))
    await forget_host(host)
    receipt = await host.workspaces.drop(ADMIN, "tenant-a", dry_run=False)
    assert (receipt.name, receipt.bytes) == ("tenant-a", 0)
    await host.workspaces.create(ADMIN, "tenant-a")


@pytest.mark.parametrize("limit", [-5, 0, 201, 2**63])
async def test_a_page_of_workspaces_has_1_to_200(host: Remembrancer, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit: must be from 1 to 200"):
        await host.workspaces.list(ADMIN, limit=limit)


async def test_the_library_opens_a_workspace(host: Remembrancer, database_url: str) -> None:
    """By argument or setting; an unknown one is told."""
    await host.workspaces.create(ADMIN, "tenant")
    settings = host.settings.model_copy()
    async with Remembrancer.open(settings=settings, workspace="tenant") as store:
        await person(store, "Ada")
        with pytest.raises(Forbidden, match="workspace default"):
            await store.workspaces.list(ADMIN)
    async with Remembrancer.open(
        settings=settings.model_copy(update={"workspace": "tenant"})
    ) as store:
        assert (await store.users.list(ADMIN)).items[0].display_name == "Ada"
    for name in ("nobody", ""):
        with pytest.raises(NotFound, match="no such workspace"):
            async with Remembrancer.open(settings=settings, workspace=name):
                pass


async def test_background_work_takes_turns(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace with much to do lets others go first, and what is due anywhere is done."""
    done: list[str] = []
    started = asyncio.Event()

    def prepare(store: Remembrancer) -> None:
        async def work(number: int) -> dict[str, int]:
            done.append(store.workspace)
            started.set()
            return {"number": number}

        store.tasks["work"] = work

    host.host.prepare = prepare
    for name in ("tenant-busy", "tenant-calm"):
        await host.workspaces.create(ADMIN, name)
    await queue(host, "tenant-busy", 6)
    await queue(host, "tenant-calm", 1)
    # A turn ends with the job that runs when its time is over.
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.0)
    while len(done) < 7:
        before = len(done)
        await host.turns.look()
        await asyncio.gather(*host.turns._running.values())
        assert len(done) > before
        host.turns._round_at = float("-inf")
    assert "tenant-calm" in done[:3]
    await queue(host, "tenant-calm", 3)
    await host.turns.once()
    assert done.count("tenant-calm") == 4
    await host.workspaces.suspend(ADMIN, "tenant-busy")
    await host.turns.once()  # one that may not be used stops nobody


def in_database(workspace: NewWorkspace, statement: str) -> list[Any]:
    url = make_url(Store.url).set(database=workspace.database).render_as_string(False)
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def age(workspace: NewWorkspace) -> None:
    """Bring a workspace back to an earlier schema."""
    url = make_url(Store.url).set(database=workspace.database).render_as_string(False)
    migrate.downgrade(url, "0028")
    rows("UPDATE workspaces SET revision = '0028' WHERE name = %s", workspace.name)


async def test_a_workspace_that_cannot_be_migrated_is_refused(
    host: Remembrancer,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log says why, without the address of its owner."""
    created = await host.workspaces.create(ADMIN, "tenant")
    await host.host.close()
    age(created)
    away = "postgresql+psycopg://owner:secret@127.0.0.1:9/postgres"
    with monkeypatch.context() as context:
        context.setattr(Server, "owner_url_of", lambda *_: away)
        for secret in (created.secret, "rmb_tenant.stranger"):
            answer = await api.client.get("/api/users", headers=bearer(secret))
            assert answer.status_code == 503
            assert "workspaces migrate` says why" in caplog.text
            assert "127.0.0.1" not in answer.text + caplog.text
            caplog.clear()
    assert (await api.client.get("/api/users", headers=bearer(created.secret))).status_code == 200


async def test_a_workspace_of_another_model_is_refused_until_it_is_embedded_again(
    host: Remembrancer, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Others are served; it opens for `reembed`, and can be dropped."""
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        await person(store, "Ada")
    await host.host.close()
    in_database(created, "UPDATE embedding_model SET name = 'another'")
    for secret in (created.secret, "rmb_tenant.stranger"):
        answer = await api.client.get("/api/users", headers=bearer(secret))
        assert (answer.status_code, "--workspace tenant reembed" in caplog.text) == (503, True)
        caplog.clear()
    assert (await api.client.get("/api/users", headers=api.admin)).status_code == 200

    at_once = Remembrancer.open(settings=host.settings, workspace="tenant", check_model=False)
    async with at_once as store:
        embedded = Reembedding(store.database, store.embedder)
        await embedded.begin()
        await embedded.gather(lambda _: None)
        await embedded.finish()
    assert (await api.client.get("/api/users", headers=bearer(created.secret))).status_code == 200

    await host.host.close()
    in_database(created, "UPDATE embedding_model SET name = 'another'")
    await host.workspaces.suspend(ADMIN, "tenant")
    counted = await host.workspaces.drop(ADMIN, "tenant")
    receipt = await host.workspaces.drop(ADMIN, "tenant", dry_run=False)
    assert (counted.users, receipt.users, databases()) == (1, 1, [])


async def test_all_workspaces_are_migrated_the_canary_first(host: Remembrancer) -> None:
    """A canary that fails stops the rest, another does not; a repeated call goes on."""
    created = [await host.workspaces.create(ADMIN, f"tenant-{number}") for number in range(4)]
    for workspace in created:
        async with host.host.use(workspace.name) as store:
            await person(store, f"Of {workspace.name}")
    await host.host.close()
    for workspace in created:
        age(workspace)
    in_the_way, out_of_it = "CREATE TABLE workspaces ()", "DROP TABLE workspaces"
    in_database(created[2], in_the_way)
    report = await host.workspaces.migrate(ADMIN, canary="tenant-2")
    assert [(each.name, bool(each.reason)) for each in report.items] == [("tenant-2", True)]
    assert not report.is_complete
    assert rows("SELECT DISTINCT revision FROM workspaces") == [("0028",)]

    seen: list[tuple[int, int]] = []
    report = await host.workspaces.migrate(
        ADMIN, on_progress=lambda done, total: seen.append((done, total))
    )
    failed = {each.name: each.reason for each in report.items if each.reason is not None}
    assert list(failed) == ["tenant-2"], failed
    assert (report.is_complete, seen) == (False, [(1, 4), (2, 4), (3, 4), (4, 4)])
    in_database(created[2], out_of_it)
    report = await host.workspaces.migrate(ADMIN)
    assert ([each.name for each in report.items], report.is_complete) == (["tenant-2"], True)
    report = await host.workspaces.migrate(ADMIN)
    assert (report.items, report.is_complete) == ([], True)
    for workspace in created:
        async with host.host.use(workspace.name) as store:
            people = (await store.users.list(ADMIN)).items
            assert [user.display_name for user in people] == [f"Of {workspace.name}"]
    with pytest.raises(NotFound):
        await host.workspaces.migrate(ADMIN, canary="nobody")


async def test_a_workspace_of_another_version_is_refused_and_others_are_served(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one is migrated when it is used; a newer one works if its schema says so."""
    older, newer = [await host.workspaces.create(ADMIN, name) for name in ("tenant-1", "tenant-2")]
    await host.host.close()
    age(older)
    monkeypatch.setattr(host.host, "_migrates", False)
    with pytest.raises(WorkspaceUnavailable, match="workspaces migrate"):
        await _use(host, "tenant-1")
    await _use(host, "tenant-2")
    monkeypatch.setattr(host.host, "_migrates", True)
    await _use(host, "tenant-1")
    assert rows("SELECT revision FROM workspaces WHERE name = 'tenant-1'") == [(migrate.newest(),)]

    await host.host.close()
    [(note,)] = in_database(newer, migrate.NOTE)
    assert note == f"usable from {migrate.USABLE_FROM}"
    in_database(newer, "UPDATE alembic_version SET version_num = '9999'")
    rows("UPDATE workspaces SET revision = '9999' WHERE name = 'tenant-2'")
    await _use(host, "tenant-2")  # the later revision only added
    for unusable in ("'usable from 9999'", "NULL", "'something else'"):
        await host.host.close()
        in_database(newer, f"COMMENT ON TABLE alembic_version IS {unusable}")
        with pytest.raises(WorkspaceUnavailable, match="newer version"):
            await _use(host, "tenant-2")
        await _use(host, "tenant-1")


async def queue(host: Remembrancer, name: str, count: int) -> None:
    async with host.host.use(name) as store, store.database.system() as connection:
        for number in range(count):
            await connection.execute(
                text(
                    "SELECT jobs.enqueue('work', 'work', CAST(:key AS text),"
                    " CAST(:arguments AS jsonb))"
                ),
                {"key": f"work:{number}", "arguments": json.dumps({"number": number})},
            )


async def test_a_broken_workspace_can_be_dropped(
    host: Remembrancer, app: FastAPI, api: Api
) -> None:
    """The receipt and the page say that nobody can count what was in it."""
    created = await host.workspaces.create(ADMIN, "tenant")
    await host.workspaces.suspend(ADMIN, "tenant")
    url = host.host.servers["main"].owner_url_of(created.database)

    def break_it() -> None:
        with psycopg.connect(libpq_url(url), autocommit=True) as owner:
            owner.execute("DROP TABLE memories CASCADE")

    # Beside the event loop: what the store still does may hold the table.
    await asyncio.to_thread(break_it)
    browser = await signed_in(app, api.admin["Authorization"].removeprefix("Bearer "))
    await browser.get("/admin/workspaces")
    page = await browser.post("/admin/workspaces/tenant/drop")
    assert "What is in it cannot be counted." in page
    await browser.client.aclose()
    receipt = await host.workspaces.drop(ADMIN, "tenant", dry_run=False)
    assert (receipt.memories, receipt.users, receipt.bytes > 0) == (None, None, True)
    assert databases() == []


async def test_limits_of_a_newer_version_are_left_out(host: Remembrancer) -> None:
    """Servers of two versions run side by side."""
    await host.workspaces.create(ADMIN, "tenant")
    newer = """UPDATE workspaces SET limits = '{"requests_per_minute": 5, "of_tomorrow": 1}'"""
    await asyncio.to_thread(rows, newer)
    found = await host.workspaces.get(ADMIN, "tenant")
    assert found.limits == WorkspaceLimits(requests_per_minute=5)


async def test_a_creation_on_a_server_that_is_away_leaves_the_name_free(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before it is noted, so there is nothing that only that server could end."""
    away = WorkspaceServer(url=SecretStr("postgresql://owner:secret@127.0.0.1:1/postgres"))
    monkeypatch.setitem(host.settings.workspaces.servers, "away", away)
    vars(host).pop("host", None)
    with pytest.raises(DatabaseUnavailable, match="the server away does not answer"):
        await host.workspaces.create(ADMIN, "tenant", server="away")
    assert rows("SELECT count(*) FROM workspaces") == [(0,)]
    assert (await host.workspaces.create(ADMIN, "tenant")).server == "main"


async def test_an_admin_of_the_host_manages_workspaces_in_the_pages(
    host: Remembrancer, app: FastAPI, api: Api
) -> None:
    """Created with a secret, suspended with an undo, dropped once its name is typed."""
    browser = await signed_in(app, api.admin["Authorization"].removeprefix("Bearer "))
    at = "/admin/workspaces"
    assert "only this one" in await browser.get(at)
    created = await browser.post(at, name="tenant", requests_per_minute="60")
    [secret] = re.findall(r"rmb_tenant\.[\w-]+", created)
    assert "choose another" in await browser.post(at, 409, name="tenant")
    assert "choose another" in await browser.post(at, 422, name="default")
    assert "<td>60</td>" in await browser.get(at)
    assert 'value="60"' in await browser.post(f"{at}/tenant/limits")
    refused = await browser.post(f"{at}/tenant/limits", 422, set="yes", requests_per_minute="many")
    assert ('value="many"' in refused, 'aria-invalid="true"' in refused) == (True, True)
    await browser.post(f"{at}/nobody/limits", 404, set="yes")
    assert "<td>60</td>" in await browser.get(at)
    limited = await browser.post(f"{at}/tenant/limits", set="yes", requests_per_minute="1200")
    assert ("The limits of tenant are set." in limited, "<td>1,200</td>" in limited) == (True, True)
    assert "<td>no limit</td>" in await browser.post(f"{at}/tenant/limits", set="yes")
    await browser.post(f"{at}/tenant/suspend")
    assert (await api.client.get("/api/users", headers=bearer(secret))).status_code == 403
    assert "Drop tenant for good?" in await browser.post(f"{at}/tenant/drop")
    assert "is not the name" in await browser.post(f"{at}/tenant/drop", 422, typed="tenants")
    assert databases() != []
    dropped = await browser.post(f"{at}/tenant/drop", typed="tenant")
    assert (databases(), "dropped for good" in dropped) == ([], True)
    await browser.client.aclose()

    theirs = await host.workspaces.create(ADMIN, "tenant")
    browser = await signed_in(app, theirs.secret)
    assert at not in await browser.get("/admin/keys")
    await browser.get(at, 403)
    await browser.client.aclose()


def test_a_silent_server_does_not_hold_up_a_creation_for_ever(database_url: str) -> None:
    """It is given up as it is elsewhere."""
    with _connection(database_url) as connection:
        seen = connection.info.get_parameters()
    expected = {name: str(value) for name, value in liveness(database_url).items()}
    assert expected.items() <= seen.items()


async def test_a_suspended_workspace_is_restored_while_its_clients_ask_on(
    host: Remembrancer, api: Api, tmp_path: Path
) -> None:
    """Each request opens it for a moment, to tell whoever has a key that it is suspended."""
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        await person(store, "Ada")
    url = host.host.servers["main"].owner_url_of(created.database)
    await host.workspaces.suspend(ADMIN, "tenant")
    file = tmp_path / "tenant.backup"
    await asyncio.to_thread(back_up, url, file, workspace="tenant")
    statuses = set()

    async def ask() -> None:
        while True:
            answer = await api.client.get("/api/users", headers=bearer(created.secret))
            statuses.add(answer.status_code)
            await asyncio.sleep(0.3)

    asking = asyncio.create_task(ask())
    try:
        with psycopg.connect(libpq_url(url)):
            with pytest.raises(Conflict, match="other processes use the database"):
                await asyncio.to_thread(restore, url, file, replace=True)
            restoring = asyncio.create_task(
                asyncio.to_thread(restore, url, file, replace=True, wait_seconds=60)
            )
            await asyncio.sleep(1)
        await restoring
        await asyncio.sleep(1)
    finally:
        asking.cancel()
    await host.workspaces.resume(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        assert len((await store.users.list(ADMIN)).items) == 1
    assert 403 in statuses
    assert statuses <= {403, 503}
