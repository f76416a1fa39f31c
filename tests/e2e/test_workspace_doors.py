"""The doors of a workspace: what those are told who are not let in, and what it counts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import httpx2
import pytest
from fastapi import FastAPI
from helpers import ADMIN, Api, headers_of, person, rows
from mcp import MCPError
from pages import visitor
from serving import mcp_client, served
from test_workspaces import age, bearer, host, in_database

from remembrancer import Remembrancer, Role
from remembrancer.api.limits import RateLimit
from remembrancer.keys.schemas import KeyCreate
from remembrancer.mcp import http
from remembrancer.workspaces.schemas import WorkspaceLimits

__all__ = ["host"]  # a fixture

DOCUMENT = "remembrancer://document"
SUSPENDED = "The workspace is suspended"
KEPT = '{"path": "/admin/shared/new", "fields": [["content", "Ada rows."]]}'


@pytest.fixture
async def browser(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that nobody has signed in with."""
    async with await visitor(app) as client:
        yield client


@pytest.fixture
def counts(app: FastAPI) -> Iterator[RateLimit]:
    """The counts of a minute that does not end."""
    before = app.state.rate_limit
    app.state.rate_limit = RateLimit(0, clock=lambda: 0.0)
    yield app.state.rate_limit
    app.state.rate_limit = before


async def enter(host: Remembrancer, browser: httpx2.AsyncClient) -> None:
    """Give a browser the session of an admin of the workspace ``tenant``."""
    async with host.host.use("tenant") as tenant:
        secret = await tenant.sign_ins.redeem(await tenant.sign_ins.link(ADMIN), entry_point="web")
    browser.cookies.set("remembrancer_session", secret, domain="localhost.local")


async def test_pages_say_that_their_workspace_is_suspended(
    host: Remembrancer, api: Api, browser: httpx2.AsyncClient
) -> None:
    """Each page, a form too; what is no page says that, and the sign-in page stays open."""
    await host.workspaces.create(ADMIN, "tenant")
    await enter(host, browser)
    assert (await browser.get("/admin/people")).status_code == 200
    await host.workspaces.suspend(ADMIN, "tenant")
    for path in ("/", "/admin", "/admin/people"):
        page = await browser.get(path)
        assert (page.status_code, SUSPENDED in page.text) == (403, True), path
    page = await browser.post("/theme", data={"theme": "dark"})
    assert (page.status_code, SUSPENDED in page.text) == (403, True)
    part = await browser.get("/admin/people", headers={"HX-Request": "true"})
    assert (part.status_code, SUSPENDED in part.text) == (403, True)
    for path, status in (("/nowhere", 404), ("/signin", 200)):
        assert (await browser.get(path)).status_code == status
    await host.workspaces.resume(ADMIN, "tenant")
    assert (await browser.get("/admin/people")).status_code == 200


async def test_pages_say_that_their_workspace_asks_too_often(
    host: Remembrancer, counts: RateLimit, browser: httpx2.AsyncClient
) -> None:
    """Each page counts once, and so does a page that is none."""
    limits = WorkspaceLimits(requests_per_minute=3)
    created = await host.workspaces.create(ADMIN, "tenant", limits=limits)
    await enter(host, browser)
    for path, status in (("/admin/people", 200), ("/nowhere", 404), ("/admin", 200)):
        assert (await browser.get(path)).status_code == status
    for path in ("/admin/people", "/"):
        page = await browser.get(path)
        assert (page.status_code, "More than 3 requests" in page.text) == (429, True), path
    page = await browser.post("/signin", data={"key": created.secret, "kept": KEPT})
    assert (page.status_code, "Ada rows." in page.text) == (429, True)
    assert counted(counts) == 6


def counted(counts: RateLimit) -> int:
    [[count]] = counts._counts.execute("SELECT count FROM counts WHERE key LIKE 'workspace %'")
    return int(count)


async def test_nobody_signs_in_to_a_suspended_workspace(
    host: Remembrancer, api: Api, browser: httpx2.AsyncClient
) -> None:
    """A key is told so, and what was written is kept; a link is not used up."""
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as tenant:
        ada = await person(tenant, "Ada")
        links = [
            ("GET", "/login", {"params": {"token": await tenant.sign_ins.link(ADMIN)}}),
            ("POST", "/welcome", {"data": {"token": await tenant.sign_ins.link(ADMIN, ada.id)}}),
        ]
    await host.workspaces.suspend(ADMIN, "tenant")
    for fields in ({}, {"kept": KEPT}):
        page = await browser.post("/signin", data={"key": created.secret, **fields})
        assert (page.status_code, SUSPENDED in page.text) == (403, True)
        assert ("Ada rows." in page.text) == bool(fields)
    for method, path, sent in links:
        page = await browser.request(method, path, **sent)
        assert (page.status_code, SUSPENDED in page.text) == (403, True), path
        unknown = {kind: {"token": f"{values['token']}x"} for kind, values in sent.items()}
        page = await browser.request(method, path, **unknown)
        assert (page.status_code, SUSPENDED in page.text) == (401, False)  # a stranger learns less
    assert not browser.cookies
    await host.workspaces.resume(ADMIN, "tenant")
    for method, path, sent in links:
        assert (await browser.request(method, path, **sent)).status_code == 303, path
    page = await browser.post("/signin", data={"key": created.secret, "kept": KEPT})
    assert (page.status_code, "Ada rows." in page.text) == (200, True)


async def test_a_refused_request_counts_once(
    host: Remembrancer, api: Api, counts: RateLimit
) -> None:
    """Also one that is asked again with a key that is checked first."""
    limits = WorkspaceLimits(requests_per_minute=100)
    created = await host.workspaces.create(ADMIN, "tenant", limits=limits)
    for query in ("tea", "tea", 1, 2, 3):
        body = {"query": query, "user_id": "discord:1"}
        await api.client.post("/api/memory/recall", json=body, headers=bearer(created.secret))
    assert counted(counts) == 5


async def test_who_is_not_known_yet_is_not_told_why_a_workspace_cannot_be_used(
    host: Remembrancer,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Keys are in its database. The log has the reason; unknown workspaces have no such answer."""
    created = await host.workspaces.create(ADMIN, "tenant")
    ours, stranger = bearer(created.secret), bearer("rmb_tenant.stranger")

    async def told(why: str) -> None:
        await host.host.close()
        caplog.clear()
        answers = [await api.client.get("/api/users", headers=each) for each in (ours, stranger)]
        for answer in answers:
            problem = answer.json()
            assert answer.status_code == 503, problem
            assert problem["type"] == "urn:remembrancer:workspace-unavailable"
            assert problem["detail"].startswith("the workspace cannot be used now")
            assert problem["errors"] == []
        assert caplog.text.count("the workspace tenant cannot be used: ") == 2
        assert why in caplog.text
        nobody = await api.client.get("/api/users", headers=bearer("rmb_nobody.stranger"))
        assert nobody.status_code == 401

    rows("UPDATE workspaces SET server = 'gone'")
    await told("is no server of the setting workspaces.servers")
    rows("UPDATE workspaces SET server = 'main', state = 'creating'")
    await told("is being created")
    rows("UPDATE workspaces SET state = 'active'")
    in_database(created, "UPDATE embedding_model SET name = name || ' of old'")
    await told("this store has vectors of")
    in_database(created, "UPDATE embedding_model SET name = left(name, -7)")
    await host.host.close()
    age(created)
    monkeypatch.setattr(host.host, "_migrates", False)
    await told("run `remembrancer workspaces migrate`")
    monkeypatch.setattr(host.host, "_migrates", True)
    in_database(created, "CREATE TABLE workspaces ()")  # in the way of a migration
    await told("cannot be migrated to")
    in_database(created, "DROP TABLE workspaces")
    for headers, status in ((ours, 200), (stranger, 401)):
        assert (await api.client.get("/api/users", headers=headers)).status_code == status


async def test_no_workspace_takes_all_streams(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has half of them at most; the rest is for others, and the host may have all."""
    monkeypatch.setattr(http, "MOST_STREAMS", 3)
    keys = {"default": await key_of_ada(host)}
    for name in ("tenant-a", "tenant-b"):
        await host.workspaces.create(ADMIN, name)
        async with host.host.use(name) as tenant:
            keys[name] = await key_of_ada(tenant)
    async with served(host) as url, AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(mcp_client(url, key))
            for name, key in keys.items()
        }

        def stream(name: str) -> AbstractAsyncContextManager[object]:
            return clients[name].listen(resource_subscriptions=[DOCUMENT])

        async with stream("tenant-a"), AsyncExitStack() as others:
            with pytest.raises(MCPError, match="too many clients wait"):
                await others.enter_async_context(stream("tenant-a"))
            for name in ("tenant-b", "default"):
                await others.enter_async_context(stream(name))
            with pytest.raises(MCPError, match="too many clients wait"):
                await others.enter_async_context(stream("default"))


async def key_of_ada(store: Remembrancer) -> dict[str, str]:
    ada = await person(store, "Ada")
    return await headers_of(store, KeyCreate(name="Ada", role=Role.USER, user_id=ada.id))
