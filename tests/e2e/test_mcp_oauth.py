"""OAuth for MCP: the SDK's client, from a refusal to a memory, with a real authorization server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from helpers import Api, rows
from issuer import Issuer, issuing, rsa_key
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from serving import served
from tool_walk import done

from remembrancer import Remembrancer
from remembrancer.errors import ConfigurationError
from remembrancer.keys.tokens import REFUSED, UserTokens

METADATA = "/.well-known/oauth-protected-resource"
CALLBACK = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@asynccontextmanager
async def protected(
    memory: Remembrancer, issuer: Issuer, patch: pytest.MonkeyPatch, **settings: Any
) -> AsyncIterator[str]:
    """The address of a server that takes tokens of the issuer for itself."""
    chosen = issuer.settings(audience="", create_users=True, refetch_seconds=0, **settings)
    async with served(memory) as url:
        tokens = UserTokens(memory.database, chosen, url)
        patch.setattr(memory.keys, "tokens", tokens)
        try:
            yield url
        finally:
            await tokens.close()


class Storage:
    """What an OAuth client remembers between its starts."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def signed_in(url: str, storage: Storage, query: str = "") -> AsyncIterator[Client]:
    """The SDK's client, whose person agrees to everything at the authorization server."""
    came_back: dict[str, str] = {}

    async def open_browser(address: str) -> None:
        async with httpx2.AsyncClient(timeout=60) as browser:
            answer = await browser.get(address)
        assert answer.status_code == 302
        back = parse_qs(urlsplit(answer.headers["location"]).query)
        came_back.update({name: values[0] for name, values in back.items()})

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**came_back)

    asked = OAuthClientMetadata(
        redirect_uris=[CALLBACK],
        client_name="a client of MCP",
        token_endpoint_auth_method="none",  # noqa: S106 - there is no secret
        grant_types=["authorization_code", "refresh_token"],
    )
    address = f"{url}/mcp{query}"
    auth = OAuthClientProvider(address, asked, storage, open_browser, callback)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def test_a_client_finds_its_way_from_a_refusal_to_a_memory(
    memory: Remembrancer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discovery, registration, consent with PKCE, a token for this server alone, tools; later a
    fresh token without the person, and one with the scope that was asked for.
    """
    scoped = {"role_claim": "scope", "role": "memory.use"}
    async with protected(memory, issuer, monkeypatch, **scoped) as url:
        storage = Storage()
        async with signed_in(url, storage, "?tools=small") as client:
            assert len((await client.list_tools()).tools) == 2
            await done(client, "add_to_memory", content="I keep bees", category="hobby")
            found = await done(client, "memory_recall", query="What do I keep?")
            assert [hit["content"] for hit in found["found"]] == ["I keep bees"]
        paths = [path.partition("?")[0] for path in issuer.fetches]
        steps = ["/register", "/authorize", "/token"]
        assert [path for path in paths if path in steps] == steps
        assert storage.tokens is not None
        claims = jwt.decode(storage.tokens.access_token, options={"verify_signature": False})
        assert (claims["aud"], claims["scope"]) == (f"{url}/mcp", "memory.use")
        assert rows("SELECT platform_user_id FROM platform_links") == [("ada-1",)]
        # With what is stored, nobody is asked again.
        seen = len(issuer.fetches)
        async with signed_in(url, storage) as client:
            assert len((await client.list_tools()).tools) == 4
        assert issuer.fetches[seen:] == []
        # A token without the scope: the server names it, and the client asks for it.
        weak = issuer.token(aud=f"{url}/mcp", scope="openid")
        storage.tokens = OAuthToken(access_token=weak, scope="openid")
        async with signed_in(url, storage) as client:
            assert (await done(client, "memory_recall", query="bees"))["found"]
        assert "memory.use" in (storage.tokens.scope or "")


async def test_the_metadata_name_the_resource_and_who_makes_tokens(
    api: Api, memory: Remembrancer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At both addresses that clients try, for browsers too; nothing without an issuer."""
    for path in (METADATA, f"{METADATA}/mcp"):
        assert (await api.client.get(path)).status_code == 404
    nobody = await api.client.post("/mcp")
    assert nobody.headers["www-authenticate"] == "Bearer"
    scoped = {"role_claim": "scope", "role": "memory.use"}
    async with (
        protected(memory, issuer, monkeypatch, **scoped) as url,
        httpx2.AsyncClient(base_url=url, timeout=60) as http,
    ):
        for path in (METADATA, f"{METADATA}/mcp"):
            answer = await http.get(path)
            assert answer.json() == {
                "resource": f"{url}/mcp",
                "authorization_servers": [issuer.url],
                "bearer_methods_supported": ["header"],
                "resource_name": "Remembrancer",
                "scopes_supported": ["memory.use"],
            }
            assert answer.headers["access-control-allow-origin"] == "*"
            assert (await http.post(path)).status_code == 405
        assert (await http.get(f"{METADATA}/api")).status_code == 404
        # The address is the public one, whatever a request calls the server.
        nobody = await http.post("/mcp", headers={"Host": "evil.example"})
        assert nobody.headers["www-authenticate"] == (
            f'Bearer scope="memory.use", resource_metadata="{url}{METADATA}/mcp"'
        )
        evil = await http.get(METADATA, headers={"Host": "evil.example"})
        assert evil.json()["resource"] == f"{url}/mcp"


async def test_tokens_that_are_not_for_this_server_are_refused(
    memory: Remembrancer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is wrong in words for clients, and nothing stored or made."""
    async with protected(memory, issuer, monkeypatch) as url:
        aud = f"{url}/mcp"
        refused = {
            "no audience": issuer.token(aud=None),
            "another server": issuer.token(aud="https://other.example/mcp"),
            "the server's root": issuer.token(aud=url),
            "a longer path": issuer.token(aud=f"{aud}/x"),
            "among others only": issuer.token(aud=["https://other.example", f"{url}/api"]),
            "expired": issuer.token(aud=aud, exp=1_000_000_000),
            "not yet": issuer.token(aud=aud, nbf=4_000_000_000),
            "another issuer": issuer.token(aud=aud, iss="https://other.example"),
            "another key": issuer.token(aud=aud, key=rsa_key("other")),
            "no signature": f"{issuer.token(aud=aud).rpartition('.')[0]}.",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
            for name, token in refused.items():
                headers = {**accept, "Authorization": f"Bearer {token}"}
                answer = await http.post("/mcp", json=body, headers=headers)
                assert (answer.status_code, answer.json()["detail"]) == (401, REFUSED), name
                assert answer.headers["www-authenticate"].startswith(
                    'Bearer error="invalid_token", resource_metadata="'
                )
            assert rows("SELECT count(*) FROM users") == [(0,)]
            for good in (aud, [aud, "https://other.example"]):
                headers = {**accept, "Authorization": f"Bearer {issuer.token(aud=good)}"}
                assert (await http.post("/mcp", json=body, headers=headers)).status_code == 200
    with pytest.raises(ConfigurationError, match=r"unless server\.public_url"):
        UserTokens(memory.database, issuer.settings(audience=""))
