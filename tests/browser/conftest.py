"""A real browser before a real server, both shared by the tests of a module."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import psutil
import pytest
import uvicorn
from axe import serve_axe
from browsing import Site, Watch, chromium
from helpers import Store, empty
from pages import World, peopled
from playwright.async_api import Browser, async_playwright

from remembrancer import Remembrancer
from remembrancer.api import create_app

ENOUGH: Final = 30.0
"""Seconds in which a browser and a server end."""


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
    async with _launched(path) as browser:
        yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}", opened, browser, Watch())
    server.should_exit = True
    done, _ = await asyncio.wait([serving], timeout=ENOUGH)
    server.force_exit = not done
    await serving


@asynccontextmanager
async def _launched(path: str) -> AsyncIterator[Browser]:
    """A browser. One that does not end in time is killed: the tests are not of browsers."""
    # Chromium keeps no sandbox for root.
    arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    before = set(psutil.Process().children())
    playwright = await async_playwright().start()
    own = set(psutil.Process().children()) - before
    yield await playwright.chromium.launch(executable_path=path, args=arguments, timeout=180_000)
    try:
        async with asyncio.timeout(ENOUGH):
            await playwright.stop()  # ends its browsers
    except TimeoutError:
        for driver in own:
            for process in [*driver.children(recursive=True), driver]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()


@pytest.fixture(scope="module")
async def world(site: Site) -> World:
    """Two people with something to look at."""
    return await peopled(site.memory)
