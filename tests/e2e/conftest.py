"""The pages, with people who look at them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pages import Browser, World, peopled, secret_of, signed_in

from remembrancer import Remembrancer


@pytest.fixture
async def world(memory: Remembrancer) -> World:
    return await peopled(memory)


@pytest.fixture
async def ada_there(app: Any, world: World) -> AsyncIterator[Browser]:
    browser = await signed_in(app, await secret_of(world.memory, world.ada))
    await browser.get(f"/people/{world.ada.id}/memories")
    yield browser
    await browser.client.aclose()


@pytest.fixture
async def admin_there(app: Any, world: World) -> AsyncIterator[Browser]:
    browser = await signed_in(app, await secret_of(world.memory))
    await browser.get("/admin")
    yield browser
    await browser.client.aclose()
