"""Tokens of an identity provider act like keys of their users, on each way in."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from helpers import ADMIN, Api, audit_lines, rows
from issuer import Issuer, issuing, rsa_key
from serving import mcp_client, served
from test_workspaces import forget_host, host

from remembrancer import Remembrancer, ResolveUser, Role, User, as_actor
from remembrancer.access import Actor
from remembrancer.client import AsyncClient
from remembrancer.errors import Forbidden, Unauthenticated
from remembrancer.keys.schemas import KeyCreate
from remembrancer.keys.tokens import REFUSED, UNKNOWN_USER, UserTokens
from remembrancer.settings import OidcSettings

__all__ = ["host"]  # a fixture


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@pytest.fixture
async def accepting(
    memory: Remembrancer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    """Lets the store accept tokens of the issuer, with the settings that a test asks for."""
    opened: list[UserTokens] = []

    def accept(**settings: Any) -> UserTokens:
        chosen: OidcSettings = issuer.settings(refetch_seconds=0, **settings)
        opened.append(UserTokens(memory.database, chosen))
        monkeypatch.setattr(memory.keys, "tokens", opened[-1])
        return opened[-1]

    accept()
    yield accept
    for tokens in opened:
        await tokens.close()


@pytest.fixture
async def signed_in(memory: Remembrancer) -> User:
    """Ada, whom the issuer calls ada-1."""
    who = ResolveUser(platform="oidc", platform_user_id="ada-1", display_name="Ada")
    return await memory.users.resolve(as_actor(), who)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_acts_like_a_key_of_its_user(
    api: Api, memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User, bob: User
) -> None:
    """The same actor and answers as with a user key, at each endpoint that is asked."""
    key = await api.key_of(signed_in)
    token = bearer(issuer.token())
    by_key = await memory.keys.authenticate(key["Authorization"][7:], entry_point="rest")
    by_token = await memory.keys.authenticate(issuer.token(), entry_point="rest")
    assert by_token == Actor(Role.USER, user_id=signed_in.id, entry_point="rest")
    assert (by_key.role, by_key.user_id, by_key.merged_ids) == (
        by_token.role,
        by_token.user_id,
        by_token.merged_ids,
    )
    await memory.remember("Ada keeps bees.", user=signed_in)
    theirs = await memory.remember("Bob is afraid of geese.", user=bob)
    stored = await api.client.post("/api/memory/", json={"content": "Ada rows."}, headers=token)
    assert stored.status_code == 201
    line = [line for line in audit_lines() if line.action == "memory.remember"][-1]
    assert (line.actor_role, line.actor_user_id, line.actor_key_id) == ("user", signed_in.id, None)
    for method, path, body in (
        ("POST", "/api/memory/recall", {"query": "bees", "sources": ["memory"]}),
        ("POST", "/api/memory/recall", {"query": "geese", "user_id": str(bob.id)}),
        ("GET", "/api/memory/", None),
        ("GET", f"/api/memory/{theirs.memory.id}", None),
        ("GET", f"/api/users/{bob.id}", None),
        ("GET", "/api/users", None),
        ("GET", "/api/jobs", None),
        ("GET", "/metrics", None),
        ("GET", "/api/keys/own", None),
        ("POST", "/api/keys", {"name": "x", "role": "admin"}),
        ("POST", "/api/users/resolve", {"platform": "a", "platform_user_id": "b"}),
    ):
        answers = [
            await api.client.request(method, path, json=body, headers=headers)
            for headers in (key, token)
        ]
        statuses = [answer.status_code for answer in answers]
        assert statuses[0] == statuses[1], path
        if path == "/api/memory/":
            # Whole, they differ in when they were recalled.
            listed = [[each["id"] for each in a.json()["memories"]] for a in answers]
            assert listed[0] == listed[1]
        elif path != "/api/memory/recall":
            assert answers[0].json() == answers[1].json(), path
    assert [hit["content"] for hit in (await _recall(api, token))] == ["Ada keeps bees."]
    # Whoever has a token may make a key of their own, as with a key.
    own = {"name": "phone", "role": "user", "user_id": str(signed_in.id)}
    assert (await api.client.post("/api/keys", json=own, headers=token)).status_code == 201


async def _recall(api: Api, headers: dict[str, str]) -> list[dict[str, Any]]:
    body = {"query": "Who keeps bees?", "sources": ["memory"], "limit": 1}
    answer = await api.client.post("/api/memory/recall", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["hits"])


async def test_refused_tokens_are_answered_alike_on_each_way_in(
    api: Api, memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User
) -> None:
    """401 with one text on REST and MCP, before the body is read; none signs in to the pages."""
    bad = {
        "audience": issuer.token(aud="others"),
        "signature": issuer.token()[:-8] + "AAAAAAAA",
        "key": issuer.token("unknown", key=rsa_key("other")),
        "huge": issuer.token(headers={"x": "y" * 20_000}),
    }
    for name, token in bad.items():
        for path in ("/api/memory/recall", "/mcp", "/api/keys"):
            answer = await api.client.post(path, content=b"no JSON", headers=bearer(token))
            assert (answer.status_code, answer.json()["detail"]) == (401, REFUSED), (name, path)
            challenge = answer.headers["www-authenticate"]
            assert challenge.startswith("Bearer")
            # Clients of MCP are told where to get a token.
            assert ("resource_metadata=" in challenge) is (path == "/mcp")
    # What is no token is looked up as a key.
    answer = await api.client.get("/api/keys/own", headers=bearer("garbage"))
    assert "the API key is unknown" in answer.json()["detail"]
    # A session would outlive the token.
    for token in (issuer.token(), issuer.token(sub="nobody"), bad["signature"]):
        page = await api.client.post("/signin", data={"key": token})
        assert page.status_code in {401, 403}
        assert "set-cookie" not in page.headers
    assert rows("SELECT count(*) FROM sessions") == [(0,)]


async def test_unknown_users_are_refused_unless_they_may_be_created(
    memory: Remembrancer, issuer: Issuer, accepting: Any
) -> None:
    """Once, with the name that the token has for them; other ids than text or numbers never."""
    with pytest.raises(Unauthenticated, match=UNKNOWN_USER):
        await memory.keys.authenticate(issuer.token(), entry_point="rest")
    assert rows("SELECT count(*) FROM platform_links") == [(0,)]
    accepting(create_users=True, platform="google", user_claim="uid")
    for uid, name, shown in (
        ("u:1", "Ada Lovelace", "Ada Lovelace"),
        (1844, "", "1844"),
        ("ü" * 255, {"no": "text"}, "ü" * 200),
        (f"urn:uuid:{uuid4()}", "\x00", None),
    ):
        token = issuer.token(uid=uid, name=name)
        actors = [await memory.keys.authenticate(token, entry_point="rest") for _ in range(2)]
        assert actors[0] == actors[1]
        assert actors[0].user_id is not None
        user = await memory.users.get(as_actor(), actors[0].user_id)
        assert [link.platform_user_id for link in user.platform_links] == [str(uid)]
        assert user.platform_links[0].platform == "google"
        assert user.display_name == (shown or str(uid))
    for wrong in (None, "", " ", "a\x00", "\ud800", "x" * 256, True, 1.5, ["a"], {"a": 1}):
        with pytest.raises(Unauthenticated, match=REFUSED):
            await memory.keys.authenticate(issuer.token(uid=wrong), entry_point="rest")
    assert rows("SELECT count(*) FROM platform_links") == [(4,)]


async def test_a_role_is_asked_for_and_never_more_than_a_user(
    memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User
) -> None:
    """In a list, between spaces or alone; a token that says admin is a user's all the same."""
    accepting(role_claim="scope", role="memory.use")
    for scope in ("memory.use", "openid memory.use", ["admin", "memory.use"]):
        actor = await memory.keys.authenticate(issuer.token(scope=scope), entry_point="rest")
        assert actor.role is Role.USER
    for other in (None, "", "admin", "memory.used", ["admin", ["memory.use"]], {"memory.use": 1}):
        with pytest.raises(Forbidden):
            await memory.keys.authenticate(issuer.token(scope=other), entry_point="rest")
    accepting()
    token = issuer.token(role="admin", roles=["admin"], scope="admin", groups=["admin"])
    assert (await memory.keys.authenticate(token, entry_point="rest")).role is Role.USER


async def test_a_token_names_an_agent_for_requests_that_name_none(
    api: Api, memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User, agent: Any
) -> None:
    """An id that is none is refused."""
    accepting(agent_claim="agent")
    headers = bearer(issuer.token(agent=str(agent.id)))
    stored = await api.client.post("/api/memory/", json={"content": "Ada rows."}, headers=headers)
    assert stored.json()["memory"]["agent_id"] in {str(agent.id), None}
    line = [line for line in audit_lines() if line.action == "memory.remember"][-1]
    assert line.actor_agent_id == agent.id
    for wrong in ("helper", 7, ["a"]):
        with pytest.raises(Unauthenticated, match=REFUSED):
            await memory.keys.authenticate(issuer.token(agent=wrong), entry_point="rest")


async def test_a_token_follows_its_user(
    api: Api, memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User, bob: User
) -> None:
    """To the survivor of a merge and back, and to nobody after the erasure."""
    await memory.users.merge(as_actor(), bob.id, signed_in.id)
    actor = await memory.keys.authenticate(issuer.token(), entry_point="rest")
    assert (actor.user_id, actor.merged_ids) == (bob.id, {signed_in.id})
    path = f"/api/users/{signed_in.id}"
    answer = await api.client.get(path, headers=bearer(issuer.token()))
    assert UUID(answer.json()["id"]) == bob.id
    await memory.users.erase(as_actor(), bob.id, dry_run=False)
    with pytest.raises(Unauthenticated, match=UNKNOWN_USER):
        await memory.keys.authenticate(issuer.token(), entry_point="rest")


async def test_requests_are_counted_by_user(
    api: Api, app: Any, memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User
) -> None:
    """One person's tokens together, and apart from those of others."""
    counted: list[str] = []

    class Counts:
        def count(self, key: str) -> None:
            counted.append(key)

    app.state.rate_limit, before = Counts(), app.state.rate_limit
    try:
        for sub in ("ada-1", "ada-1"):
            await api.client.get("/api/keys/own", headers=bearer(issuer.token(sub=sub)))
            await api.client.post("/mcp", headers=bearer(issuer.token("ec-1", sub=sub)))
    finally:
        app.state.rate_limit = before
    assert counted == [str(signed_in.id)] * 4


async def test_clients_and_mcp_take_tokens_while_keys_rotate(
    memory: Remembrancer, issuer: Issuer, accepting: Any, signed_in: User
) -> None:
    """Over a socket: a client with one token, one with a fresh one each time, and MCP."""
    await memory.remember("Ada keeps bees.", user=signed_in)
    kid = "rsa-1"

    def fresh(request: httpx2.Request) -> httpx2.Request:
        request.headers["Authorization"] = f"Bearer {issuer.token(kid)}"
        return request

    async with served(memory) as url, AsyncClient(url, auth=fresh) as renewing:
        assert (await renewing.keys.own()).user_id == signed_in.id
        issuer.keys = {"rsa-2": rsa_key("second"), "ec-1": issuer.keys["ec-1"]}
        kid = "rsa-2"
        assert (await renewing.keys.own()).role is Role.USER
        async with AsyncClient(url, issuer.token("ec-1")) as client:
            assert (await client.recall("bees")).hits[0].content == "Ada keeps bees."
        async with AsyncClient(url, issuer.token("ec-1", aud="others")) as other:
            with pytest.raises(Unauthenticated, match=REFUSED):
                await other.recall("bees")
        async with mcp_client(url, bearer(issuer.token("rsa-2"))) as assistant:
            found = await assistant.call_tool("memory_recall", {"query": "bees"})
            assert "Ada keeps bees." in str(found)
    issuer.keys["rsa-1"] = rsa_key("first")


async def test_a_claim_names_the_workspace_of_a_token(
    host: Remembrancer, api: Api, issuer: Issuer, accepting: Any, signed_in: User
) -> None:
    """On REST and MCP; a token for one workspace is worth nothing in another."""
    names = ("team-a", "team-b")
    for name in names:
        await host.workspaces.create(ADMIN, name)
    # Without the setting no claim is read.
    token = bearer(issuer.token(org="team-a"))
    own = (await api.client.get("/api/keys/own", headers=token)).json()
    assert own["user_id"] == str(signed_in.id)
    await forget_host(host)
    accepting(workspace_claim="org", create_users=True)
    people = set()
    for claim in ("default", "team-a", ["team-b"]):
        token = bearer(issuer.token(org=claim))
        body = {"content": f"I work in {claim}."}
        stored = await api.client.post("/api/memory/", json=body, headers=token)
        assert stored.status_code == 201, stored.text
        people.add((await api.client.get("/api/keys/own", headers=token)).json()["user_id"])
        page = (await api.client.get("/api/memory/", headers=token)).json()
        assert [each["content"] for each in page["memories"]] == [body["content"]]
    assert len(people) == 3
    assert str(signed_in.id) in people
    refused = {
        "none": issuer.token(),
        "unknown": issuer.token(org="nobody"),
        "empty": issuer.token(org=""),
        "two": issuer.token(org=list(names)),
        "odd": issuer.token(org="team-a\0"),
        "number": issuer.token(org=7),
        "forged": issuer.token(org="team-a", key=rsa_key("other")),
    }
    for name, secret in refused.items():
        for path in ("/api/memory/", "/mcp"):
            answer = await api.client.post(path, content=b"no JSON", headers=bearer(secret))
            assert (answer.status_code, answer.json()["detail"]) == (401, REFUSED), (name, path)
    for name in names:
        async with host.host.use(name) as store:
            claim = [name] if name == "team-b" else name
            actor = await store.keys.authenticate(issuer.token(org=claim), entry_point="rest")
            assert str(actor.user_id) in people
            for other in ("default", *names):
                if other != name:
                    with pytest.raises(Unauthenticated, match="not valid here"):
                        await store.keys.authenticate(issuer.token(org=other), entry_point="rest")
    await host.workspaces.suspend(ADMIN, "team-a")
    answer = await api.client.get("/api/keys/own", headers=bearer(issuer.token(org="team-a")))
    assert answer.status_code == 403, answer.text


async def test_mcp_serves_the_workspace_of_a_token(
    host: Remembrancer, issuer: Issuer, accepting: Any
) -> None:
    """Over a socket."""
    await host.workspaces.create(ADMIN, "team-a")
    accepting(workspace_claim="org", create_users=True)
    async with served(host) as url:
        for claim in ("default", "team-a"):
            async with mcp_client(url, bearer(issuer.token(org=claim))) as assistant:
                fact = {"content": f"I work in {claim}.", "category": "other"}
                await assistant.call_tool("add_to_memory", fact)
                found = str(await assistant.call_tool("memory_recall", {"query": "work"}))
                assert [f"work in {each}." in found for each in ("default", "team-a")] == [
                    each == claim for each in ("default", "team-a")
                ]


async def test_a_store_accepts_tokens_by_its_settings_alone(
    memory: Remembrancer, issuer: Issuer
) -> None:
    """Without an issuer, a token is an unknown key."""
    assert memory.keys.tokens is None
    with pytest.raises(Unauthenticated, match="the API key is unknown"):
        await memory.keys.authenticate(issuer.token(), entry_point="rest")
    settings = memory.settings.model_copy(update={"oidc": issuer.settings(create_users=True)})
    other = Remembrancer(settings, memory.database, memory.embedder)
    assert other.keys.tokens is not None
    actor = await other.keys.authenticate(issuer.token(), entry_point="rest")
    made = KeyCreate(name="phone", role=Role.USER, user_id=actor.user_id)
    assert (await other.keys.create(actor, made)).user_id == actor.user_id
    await other.keys.tokens.close()
