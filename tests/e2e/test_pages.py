"""Lists in pages, item by item, on the library and both clients."""

import pytest
from helpers import Api
from test_client import client_of

from remembrancer import InvalidInput, MemoryCreate, MemoryFilter, Remembrancer, User, as_actor

WORDS = ["tea", "coffee", "milk", "juice", "water"]


@pytest.fixture
async def drinks(memory: Remembrancer, ada: User) -> list[str]:
    contents = [f"Ada drinks {word}." for word in WORDS]
    statements = [MemoryCreate(content=content) for content in contents]
    await memory.memories.remember_many(as_actor(ada), statements)
    return contents


async def test_each_item_of_all_pages_comes_once(
    api: Api, memory: Remembrancer, ada: User, drinks: list[str]
) -> None:
    """Two at a time, with the filters of the list; a page is still a page."""
    actor, mine = as_actor(ada), MemoryFilter(shared=False)
    own = [item.content async for item in memory.memories.list.each(actor, mine, limit=2)]
    assert sorted(own) == sorted(drinks)
    page = await memory.memories.list(actor, mine, limit=2)
    assert (len(page.items), page.total) == (2, 5)
    users = [user.id async for user in memory.users.list.each(as_actor(), limit=1)]
    assert users == [ada.id]
    async with client_of(api, api.service) as client:
        theirs = [item.content async for item in client.memories.list.each(mine, user=ada, limit=2)]
    assert theirs == own
    with pytest.raises(InvalidInput):
        _ = [item async for item in memory.memories.list.each(actor, limit=0)]
