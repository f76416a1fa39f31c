"""Keys and cookies of one workspace, tried on what another has: pages, MCP, and named ids."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Iterable
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from helpers import ADMIN, headers_of, person, rows
from mcp import Client, MCPError
from mcp_types import ResourceTemplateReference
from pages import Browser, browsing
from serving import mcp_client
from test_bad_input import Rest, rest
from test_no_oracle import MADE, NAMED, UNKNOWN
from test_web import _routes
from test_workspaces import host

from remembrancer import Remembrancer, Role, User, as_actor
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.web import routes
from remembrancer.web.sessions import COOKIE

__all__ = ["host", "rest"]  # fixtures

Ids = dict[str, str]

SAID = ("likes tea", "plays the cello", "had a kite", "Cleo", "Gran likes")
"""Words of the first workspace that nobody of the other sends."""
OF_THE_MOMENT = re.compile(r"answers in [\d.]+ ms|(?<=/jobs/)[\d?]+")
"""What differs from page to page, or is too short to be found as an id."""
UNDONE = {"/forgets/": "forget_id", "/moves/": "move_id"}
SIGN_INS = {"/login", "/signin", "/welcome"}
"""What is refused there is in the log of the workspace that is asked."""
FOR_ONESELF = re.compile(
    r"/(erase|sign-out|sign-in-link|signout|everywhere|pause|resume|profile|keys|start|people)$"
)
"""Forms that end or change something of one's own, and name nothing else."""


@pytest.fixture
async def tenant(rest: Rest, host: Remembrancer) -> AsyncIterator[Remembrancer]:
    """Another workspace than the one that the ids of ``rest`` are of."""
    await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        yield store


@pytest.fixture
async def mallory(tenant: Remembrancer) -> User:
    """Somebody there."""
    return await person(tenant, "Mallory")


@pytest.fixture
async def ids(rest: Rest, memory: Remembrancer, ada: User) -> Ids:
    """Ids of everything in the first workspace."""
    saved = await memory.saved_filters.save(as_actor(ada), "Tea", MemoryFilter())

    async def parts() -> AsyncIterator[bytes]:
        yield b"[]"

    upload = await memory.uploads.create(as_actor(ada), "chat.json", parts())
    more = {"key_id": rest.ids["key"], "filter_id": str(saved.id), "upload_id": str(upload.id)}
    return rest.ids | more


def unknown(ids: Ids, names: Iterable[str]) -> Ids:
    return ids | {name: UNKNOWN.get(name, str(uuid4())) for name in names}


def masked(told: str, *used: Ids) -> str:
    """What is told, without the ids that were asked for and those that an answer makes."""
    for value in {value for ids in used for value in ids.values() if len(value) > 6}:
        told = told.replace(value, "?")
    return OF_THE_MOMENT.sub("new", MADE.sub("new", told))


def untouched() -> tuple[Any, ...]:
    """What the first workspace has."""
    tables = ("memories", "messages", "users", "spaces", "conversations", "api_keys", "audit_log")
    return tuple(rows(f"SELECT count(*), max(t::text) FROM {table} AS t") for table in tables)


# Pages -----------------------------------------------------------------------


def named(ids: Ids) -> dict[str, str]:
    """Fields of a form, or of an address, that name something."""
    return {
        "agent": ids["agent_id"], "agent_id": ids["agent_id"], "left": ids["agent_id"],
        "right": ids["agent_id"], "space": ids["space_id"], "space_id": ids["space_id"],
        "memory": ids["memory_id"], "memory_id": ids["memory_id"], "other": ids["other_user_id"],
        "person": ids["user_id"], "user_id": ids["user_id"], "invitee": ids["member_id"],
        "content": "Changed", "name": "Changed", "query": "tea", "to": "global", "role": "member",
        "decision": "confirm",
    }  # fmt: skip


async def pages_that_differ(
    browser: Browser, ids: Ids, own: Ids, secret: set[str]
) -> tuple[dict[str, Any], int]:
    """Pages and forms that answer differently to ids that exist elsewhere; and how many were tried.

    ``own`` ids are in the addresses of some.
    """
    found: dict[str, Any] = {}
    tried = 0
    token = {"token": browser.token}
    by_method = sorted(_routes(routes.router), key=lambda route: sorted(route.methods))
    for route, below in product(by_method, ({}, own)):
        names = set(re.findall(r"{(\w+)}", route.path)) - {"number"}
        [method] = route.methods
        if route.path in SIGN_INS or "name" in names or (below and "user_id" not in names):
            continue
        if method == "POST" and not names - below.keys() and FOR_ONESELF.search(route.path):
            continue
        undo_id = next((name for word, name in UNDONE.items() if word in route.path), "undo_id")
        answers = []
        for asked in (ids, unknown(ids, secret)):
            filled = {"number": "1"} | asked | below | {"undo_id": asked[undo_id]}
            address = route.path.format(**filled)
            sent = {"params": named(asked)} if method == "GET" else {"data": named(asked) | token}
            answer = await browser.client.request(method, address, **sent)
            told = f"{answer.status_code} {answer.headers.get('location')} {answer.text}"
            assert not [word for word in SAID if word in told], (method, address)
            answers.append(masked(told, asked, below))
            if answer.status_code == 303:
                await browser.client.get(f"/people/{own['user_id']}/filters")  # takes the notice
        tried += 1
        if answers[0] != answers[1]:
            one, other = (answer.splitlines() for answer in answers)
            lines = zip(one, other, strict=False)
            differing = [pair for pair in lines if pair[0] != pair[1]]
            found[f"{method} {route.path} {below}"] = differing[:1] or (len(one), len(other))
    return found, tried


@pytest.mark.parametrize("who", ["user", "admin"])
async def test_no_page_shows_anything_of_another_workspace(
    who: str, host: Remembrancer, tenant: Remembrancer, mallory: User, ids: Ids, app: FastAPI
) -> None:
    """With its ids in the address, the query or the form, as with ids that nobody has."""
    before = untouched()
    own = {"user_id": str(mallory.id)}
    user, page = (mallory, f"/people/{mallory.id}/memories") if who == "user" else (None, "/admin")
    async with browsing(app, tenant, user, page) as browser:
        found, tried = await pages_that_differ(browser, ids, own, set(ids))
    assert found == {}
    assert tried > 150
    assert untouched() == before


# MCP -------------------------------------------------------------------------

ACCEPT = {"Accept": "application/json, text/event-stream"}
RECALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "memory_recall", "arguments": {"query": "tea"}},
}  # fmt: skip


async def _read(answer: Awaitable[Any]) -> str:
    try:
        return str(await answer)
    except MCPError as error:
        return f"refused {error}"


async def _told(client: Client, ids: Ids, *, names_users: bool) -> list[str]:
    """What each tool, resource, prompt and completion tells who names these ids."""
    memory_id = {"memory_id": ids["memory_id"]}
    linked = [{"target_id": ids["target_id"]}]
    calls = [
        ("update_memory", {**memory_id, "content": "Changed"}),
        ("forget_memory", memory_id),
        ("memory_save", {"content": "Mallory rows", "associations": linked}),
        ("manage_user_memory", {"operation": "deactivate_fact", "fact_id": ids["fact_id"]}),
        ("manage_user_memory", {"operation": "add_poi_mention", "place_id": ids["place_id"]}),
    ]
    uris = [f"memories/{ids['memory_id']}", f"places/{ids['place_id']}"]
    uris.append(f"context/{ids['conversation_id']}")
    prompts: list[dict[str, str]] = []
    if names_users:
        whose = {"user_id": ids["user_id"]}, {"user_id": ids["ada"]}, {"agent_id": ids["agent_id"]}
        calls += [("memory_recall", {"query": "tea", **who}) for who in whose]
        calls += [("manage_user_memory", {"operation": "get_memory", **who}) for who in whose]
        asked = [f"{name}={value}" for who in whose for name, value in who.items()]
        uris += [
            f"{kind}?{who}" for kind in ("document", "context", "facts/other") for who in asked
        ]
        prompts += whose
    told = []
    for name, arguments in calls:
        answer = await client.call_tool(name, arguments)
        told.append(f"{answer.is_error} {answer.content[0].text}")
    reads: list[Awaitable[Any]] = [client.read_resource(f"remembrancer://{uri}") for uri in uris]
    reads += [client.get_prompt("start_conversation", {**who, "message": "tea"}) for who in prompts]
    told += [await _read(answer) for answer in reads]
    return told


async def test_no_tool_or_resource_tells_anything_of_another_workspace(
    rest: Rest, tenant: Remembrancer, mallory: User, app: FastAPI
) -> None:
    """With keys of each role: ids of the first are answered as those that nobody has."""
    before = untouched()
    ids = rest.ids | {"ada": "discord:Ada-1"}
    nobody = unknown(ids, set(ids))
    user = KeyCreate(name="m", role=Role.USER, user_id=mallory.id)
    for key in (user, KeyCreate(name="s", role=Role.SERVICE), KeyCreate(name="a", role=Role.ADMIN)):
        headers = await headers_of(tenant, key)
        how: dict[str, Any] = {"query": "?tools=all", "app": app}
        async with mcp_client("http://test", headers, **how) as client:
            names_users = key.role is not Role.USER
            foreign, nowhere = [
                await _told(client, asked, names_users=names_users) for asked in (ids, nobody)
            ]
            assert not [told for told in foreign for word in SAID if word in told], key.role
            pairs = [
                tuple(masked(told, ids, nobody) for told in pair)
                for pair in zip(foreign, nowhere, strict=True)
            ]
            assert [pair for pair in pairs if pair[0] != pair[1]] == [], key.role
            template = "remembrancer://memories/{memory_id}{?page}"
            if not names_users:
                reference = ResourceTemplateReference(uri=template)
                typed = {"name": "memory_id", "value": ids["memory_id"][:2]}
                assert (await client.complete(reference, typed)).completion.values == []
        answers = []
        for asked, name in product((ids, nobody), ("user_id", "agent_id", "ada")):
            address = f"/mcp?{name.replace('ada', 'user_id')}={asked[name]}"
            answer = await rest.client.post(address, headers=headers | ACCEPT, json=RECALL)
            assert not [word for word in SAID if word in answer.text]
            answers.append(masked(f"{answer.status_code} {answer.text}", ids, nobody))
        assert answers[:3] == answers[3:], key.role
    assert untouched() == before


async def test_a_cookie_changes_nothing_of_what_a_key_is_for(
    rest: Rest, tenant: Remembrancer, mallory: User, app: FastAPI
) -> None:
    """A session of one workspace beside a key of another, and alone where keys are wanted."""
    async with browsing(app, tenant, mallory, f"/people/{mallory.id}/memories") as browser:
        cookie = {"Cookie": f"{COOKIE}={browser.client.cookies[COOKIE]}"}
    client = rest.api.client
    names = [
        [
            user["display_name"]
            for user in (await client.get("/api/users", headers=sent)).json()["items"]
        ]
        for sent in (rest.api.service, rest.api.service | cookie)
    ]
    assert names[0] == names[1]
    assert "Mallory" not in names[0]
    path = f"/people/{mallory.id}/memories"
    page = await client.get(path, headers=cookie | {"Accept": "text/html"})
    assert page.status_code == 200
    path = f"/api/memory/{rest.ids['memory_id']}"
    for user_id in (str(mallory.id), rest.ids["user_id"], str(uuid4())):
        answer = await client.get(path, params={"user_id": user_id}, headers=cookie)
        assert answer.status_code == 404, answer.text
    forged = cookie | {"Authorization": "Bearer rmb_unknown"}
    assert (await client.get(path, headers=forged)).status_code == 401
    for sent in (cookie, forged):
        answer = await client.post("/mcp", json=RECALL, headers=sent | ACCEPT)
        assert answer.status_code == 401
    async with mcp_client("http://test", rest.api.service | cookie, app=app) as assistant:
        named_here = {"query": "tea", "user_id": rest.ids["user_id"]}
        answer = await assistant.call_tool("memory_recall", named_here)
        assert "likes tea" in answer.content[0].text
        unknown_here = {"query": "tea", "user_id": str(mallory.id)}
        assert (await assistant.call_tool("memory_recall", unknown_here)).is_error


# Ids that a request about oneself names --------------------------------------


@pytest.mark.parametrize("role", [Role.USER, Role.SERVICE])
async def test_what_is_named_of_another_workspace_is_answered_like_what_is_not_there(
    role: Role, rest: Rest, tenant: Remembrancer, mallory: User
) -> None:
    """The source, the space, the target or the person of a request about oneself."""
    user_id = mallory.id if role is Role.USER else None
    headers = await headers_of(tenant, KeyCreate(name="k", role=role, user_id=user_id))
    rows("UPDATE messages SET platform_message_id = 'tea-1' RETURNING id")
    before = untouched()
    own = {
        "me": str(mallory.id),
        "talk": rest.ids["conversation_id"],
        "mine": (await tenant.remember("Mallory sings.", user=mallory)).memory.id,
        "ours": str((await tenant.spaces.create(as_actor(mallory), name="Ours")).id),
    }
    ids = rest.ids | {
        "platform_message": "platform:tea-1",
        "platform_chat": "tea-room-1",
        "ada": "discord:Ada-1",
    }
    differing: dict[str, Any] = {}
    for method, path, body in NAMED:
        [name] = re.findall(r"<(\w+)>", f"{path} {body}")
        answers = []
        for asked in (ids, unknown(ids, [name])):
            address, content = (
                text.replace(f"<{name}>", asked[name]) % own for text in (path, json.dumps(body))
            )
            sent = {"json": json.loads(content)} if body else {}
            if role is Role.SERVICE and body and "user_id" not in body:
                sent["json"] |= {"user_id": own["me"]}
            answer = await rest.client.request(method, address, headers=headers, **sent)
            assert not [word for word in SAID if word in answer.text], (method, path)
            short = {"message": asked[name].removeprefix("platform:")}
            answers.append((answer.status_code, masked(answer.text, asked, own, short)))
        if answers[0] != answers[1]:
            differing[f"{method} {path} {body}"] = answers
    assert differing == {}
    assert untouched() == before
