"""A real browser before a real server, both shared by the tests of a module."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from axe import serve_axe
from browsing import Site, Watch, chromium
from helpers import Store, empty
from pages import World, peopled
from playwright.async_api import async_playwright

from remembrancer import Remembrancer
from remembrancer.api import create_app


@pytest.fixture(scope="module")
async def site(opened: Remembrancer, database_url: str) -> AsyncIterator[Site]:
    """A server with an empty store, and a browser."""
    path = chromium()
    Store.url = database_url
    await asyncio.to_thread(empty, database_url)
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(opened)
    serve_axe(app)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    # Chromium keeps no sandbox for root.
    arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}", opened, browser, Watch())
        await browser.close()
    server.should_exit = True
    await serving


@pytest.fixture(scope="module")
async def world(site: Site) -> World:
    """Two people with something to look at."""
    return await peopled(site.memory)
