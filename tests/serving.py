"""A server on a socket, in the loop of the test, and MCP clients of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from remembrancer import Remembrancer
from remembrancer.api import create_app
from remembrancer.cli.http_server import QuietServer


@asynccontextmanager
async def served(memory: Remembrancer) -> AsyncIterator[str]:
    """The address of a server of ``memory``."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = QuietServer(create_app(memory))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    await server.answers.wait()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def mcp_client(
    url: str, headers: dict[str, str], mode: Any = "auto", query: str = "", app: Any = None
) -> AsyncIterator[Client]:
    """The SDK's client, connected with a key; to ``app`` in this process if it is given."""
    inside = httpx2.ASGITransport(app=app) if app is not None else None
    async with httpx2.AsyncClient(headers=headers, transport=inside, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp{query}", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client
