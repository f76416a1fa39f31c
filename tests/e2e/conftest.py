"""The pages, with people who look at them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pages import Browser, World, browsing, peopled

from remembrancer import Remembrancer


@pytest.fixture
async def world(memory: Remembrancer) -> World:
    return await peopled(memory)


@pytest.fixture
async def ada_there(app: Any, world: World) -> AsyncIterator[Browser]:
    page = f"/people/{world.ada.id}/memories"
    async with browsing(app, world.memory, world.ada, page) as browser:
        yield browser


@pytest.fixture
async def admin_there(app: Any, world: World) -> AsyncIterator[Browser]:
    async with browsing(app, world.memory, None, "/admin") as browser:
        yield browser
