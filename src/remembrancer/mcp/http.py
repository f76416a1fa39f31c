"""Streamable HTTP at ``/mcp``: authenticated by API key, without sessions."""

from functools import cached_property
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import Forbidden, Unauthenticated
from remembrancer.validation import as_id, check_names

_SOURCE = "remembrancer.mcp.source"


class McpEndpoint:
    """An ASGI application that speaks MCP for every API key.

    A user key acts for its user. A service key can be bound to a user with ``?user_id=``; otherwise
    each request names one. Any key can be bound to an agent with ``?agent_id=``.
    """

    def __init__(self, app: Remembrancer) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        # A server without sessions has no streams to send.
        if request.method != "POST":
            raise HTTPException(405, "use POST for MCP", {"Allow": "POST"})
        _check_origin(request, self._app.settings.server.public_url)
        check_names(
            (name for name, _ in request.query_params.multi_items()), {"user_id", "agent_id"}
        )
        actor = await self._actor(request)
        body = await request.body()
        from remembrancer.mcp.sources import StoreSource  # noqa: PLC0415 - as below

        scope[_SOURCE] = StoreSource(self._app, actor)
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

    async def _actor(self, request: Request) -> Actor:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise Unauthenticated("send an API key: Authorization: Bearer …")
        caller = await self._app.keys.authenticate(secret.strip(), entry_point="mcp")
        request.app.state.rate_limit.count(str(caller.key_id or caller.user_id))
        agent_id = request.query_params.get("agent_id")
        return caller.acting_for(
            request.query_params.get("user_id"),
            None if agent_id is None else as_id(agent_id, field="agent_id"),
        )


def _check_origin(request: Request, public_url: str | None) -> None:
    """Refuse requests from pages of other sites; programs send no origin."""
    origin = request.headers.get("origin")
    ours = {request.headers.get("host"), _host(public_url) if public_url else None}
    if origin is not None and _host(origin) not in ours:
        raise Forbidden("requests from pages of other sites are not allowed")


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0]
