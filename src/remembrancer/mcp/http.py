"""Streamable HTTP at ``/mcp``: authenticated by API key, without sessions."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, InvalidInput, Unauthenticated, Unavailable
from remembrancer.request_store import check_workspace, store_of, take_store_of_bearer
from remembrancer.settings import ToolSet
from remembrancer.validation import as_id, check_names

if TYPE_CHECKING:
    from remembrancer.keys.tokens import UserTokens

MOST_STREAMS: Final = 200
"""Clients of a process that wait for changes at once; half of them in one workspace.

In the default workspace, whose keys are the host's, all of them may.
"""
_SOURCE = "remembrancer.mcp.source"


class McpEndpoint:
    """An ASGI application that speaks MCP for every API key.

    A user key acts for its user. A service key can be bound to a user with ``?user_id=``; otherwise
    each request names one. Any key can be bound to an agent with ``?agent_id=``. ``?tools=``
    chooses the tools.
    """

    def __init__(
        self,
        app: Remembrancer,
        waiting: Callable[[Scope], AbstractContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        self._app = app
        self._waiting = waiting
        """Entered by a request while it is not in work."""
        self._streams: Counter[str] = Counter()
        """Clients that wait for changes, by workspace."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        # Streams are answers to requests; a server without sessions has no others.
        if request.method != "POST":
            raise HTTPException(405, "use POST for MCP", {"Allow": "POST"})
        _check_origin(request, self._app.settings.server.public_url)
        check_names(
            (name for name, _ in request.query_params.multi_items()),
            {"user_id", "agent_id", "tools"},
        )
        tool_set = _tool_set(request.query_params.get("tools"), self._app.settings.mcp.tools)
        actor = await self._actor(request)
        body = await request.body()
        from remembrancer.mcp.sources import StoreSource  # noqa: PLC0415 - as below

        source = StoreSource(store_of(scope), actor, tool_set, partial(self._ticks, request))
        scope[_SOURCE] = source
        read = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive_again() -> Message:
            return next(read, None) or await receive()

        await self._answer(scope, receive_again, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The library takes a second to import; a server without MCP clients never needs it.
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415
            StreamableHTTPSessionManager,
        )

        manager = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            max_request_body_size=self._app.settings.limits.body_bytes,
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    @cached_property
    def _server(self) -> Any:
        from remembrancer.mcp.server import create_server  # noqa: PLC0415

        return create_server(lambda context, request: request(context.request.scope[_SOURCE]))

    async def _ticks(self, request: Request) -> AsyncGenerator[Actor]:
        """Yield who asks, for as long as they may and the server runs."""
        from remembrancer.mcp.sources import ticks  # noqa: PLC0415 - as above

        store = store_of(request.scope)
        share = MOST_STREAMS if store.is_default else MOST_STREAMS // 2
        if self._streams.total() >= MOST_STREAMS or self._streams[store.workspace] >= share:
            raise Unavailable("too many clients wait for changes; try again later")
        server = getattr(request.app.state, "server", None)
        self._streams[store.workspace] += 1
        try:
            with self._waiting(request.scope):
                async with aclosing(ticks(partial(self._again, request))) as actors:
                    async for actor in actors:
                        if server is not None and server.should_exit:
                            return
                        yield actor
        finally:
            self._streams[store.workspace] -= 1
            self._streams = +self._streams  # without those that nobody waits in

    async def _actor(self, request: Request) -> Actor:
        caller = await self._caller(request)
        request.app.state.rate_limit.count(str(caller.key_id or caller.user_id))
        return _acting(request, caller)

    async def _again(self, request: Request) -> Actor:
        """Return who asks, if they still may: a request may last longer than its key."""
        caller = await store_of(request.scope).keys.authenticate(
            _secret(request) or "", entry_point="mcp"
        )
        check_workspace(request.scope, is_new=False)
        return _acting(request, caller)

    async def _caller(self, request: Request) -> Actor:
        secret = _secret(request)
        try:
            if secret is None:
                raise Unauthenticated("send an API key: Authorization: Bearer …")
            store = await take_store_of_bearer(request.scope, secret)
            caller = await store.keys.authenticate(secret, entry_point="mcp")
            check_workspace(request.scope)
        except (Unauthenticated, Forbidden) as error:
            if (tokens := self._app.keys.tokens) is not None:
                kind = "insufficient_scope" if isinstance(error, Forbidden) else "invalid_token"
                error.challenge = _challenge(tokens, request, kind if secret else None)
            raise
        return caller


def _secret(request: Request) -> str | None:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return (secret.strip() or None) if kind.lower() == "bearer" else None


def _acting(request: Request, caller: Actor) -> Actor:
    agent_id = request.query_params.get("agent_id")
    return caller.acting_for(
        request.query_params.get("user_id"),
        None if agent_id is None else as_id(agent_id, field="agent_id"),
    )


class ResourceMetadata:
    """An ASGI application that tells OAuth clients who makes tokens for ``/mcp`` (RFC 9728)."""

    PATH: Final = "/.well-known/oauth-protected-resource"

    def __init__(self, app: Remembrancer) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        tokens = self._app.keys.tokens
        if request.method not in {"GET", "HEAD"}:
            raise HTTPException(405, "use GET", {"Allow": "GET"})
        if tokens is None:
            raise HTTPException(404, "this server takes no tokens: oidc.issuer is not set")
        document = {
            "resource": tokens.resource_at(str(request.base_url)),
            "authorization_servers": [tokens.settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Remembrancer",
            **({"scopes_supported": [tokens.scope]} if tokens.scope else {}),
        }
        # For clients in a browser: there is nothing secret in it.
        await JSONResponse(document, headers={"Access-Control-Allow-Origin": "*"})(
            scope, receive, send
        )


def _challenge(tokens: "UserTokens", request: Request, error: str | None) -> str:
    """Return where a client learns how to get a token, and what is wrong with the one it sent."""
    resource = urlsplit(tokens.resource_at(str(request.base_url)))
    # As RFC 9728 has it: between the host and the path of the resource.
    address = resource._replace(path=ResourceMetadata.PATH + resource.path).geturl()
    parts = {
        "error": error,
        "scope": tokens.scope,
        "resource_metadata": quote(address, safe=":/[]%"),
    }
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)


def _tool_set(name: str | None, default: ToolSet) -> ToolSet:
    try:
        return default if name is None else ToolSet(name)
    except ValueError:
        raise InvalidInput(f"must be one of {', '.join(ToolSet)}", field="tools") from None


def _check_origin(request: Request, public_url: str | None) -> None:
    """Refuse requests from pages of other sites; programs send no origin."""
    origin = request.headers.get("origin")
    ours = {request.headers.get("host"), _host(public_url) if public_url else None}
    if origin is not None and _host(origin) not in ours:
        raise Forbidden("requests from pages of other sites are not allowed")


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0]
