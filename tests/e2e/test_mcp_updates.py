"""Resources over MCP that tell when they change, and completion of what names them."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest
from helpers import Api, rows
from mcp import Client, MCPError
from mcp.client.subscriptions import Subscription, SubscriptionLost
from mcp_types import PromptReference, ResourceTemplateReference, ResourceUpdatedNotification
from serving import mcp_client, served

from remembrancer import (
    Agent,
    ConversationCreate,
    PlaceCreate,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.access import Actor
from remembrancer.mcp import http, sources, updates
from remembrancer.mcp.resources import templates
from remembrancer.mcp.server import create_server
from remembrancer.mcp.sources import StoreSource
from remembrancer.mcp.updates import Subscriptions

DOCUMENT, CONTEXT = "remembrancer://document", "remembrancer://context"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "POLL_SECONDS", 0.02)


async def told(stream: Subscription, *uris: str) -> None:
    """The stream names these resources next, in any order, and no others before."""
    seen: set[str] = set()
    async with asyncio.timeout(60):
        while seen < set(uris):
            seen.add((await anext(stream)).uri)
    assert seen == set(uris)


async def test_a_client_is_told_what_changed_of_what_it_sees(
    api: Api, ada: User, bob: User, memory: Remembrancer
) -> None:
    """Whoever wrote it, and only of its own: by each resource that it asked for."""
    flute = (await memory.remember("Ada plays the flute", user=ada)).memory.id
    drum = (await memory.remember("Bob plays the drum", user=bob)).memory.id
    home = PlaceCreate(place_id="home/1", place_name="Home")
    await memory.places.add(as_actor(ada), home)
    one, theirs = f"remembrancer://memories/{flute}", f"remembrancer://memories/{drum}"
    place, hobbies = "remembrancer://places/home%2F1", "remembrancer://facts/hobby"
    everything = [DOCUMENT, CONTEXT, one, theirs, place, hobbies]
    async with served(memory) as url, mcp_client(url, await api.key_of(ada)) as client:
        async with client.listen(
            resource_subscriptions=everything, tools_list_changed=True
        ) as stream:
            assert stream.honored.resource_subscriptions == everything
            assert stream.honored.tools_list_changed is None
            await memory.memories.update(as_actor(ada), flute, content="Ada plays the oboe")
            await told(stream, DOCUMENT, CONTEXT, one)
            # Nothing of Bob's is told, not even that it is there.
            await memory.memories.update(as_actor(bob), drum, content="Bob plays the horn")
            await memory.remember("Bob keeps bees", user=bob, category="hobby")
            await memory.remember("Ada rows", user=ada, category="hobby")
            await told(stream, DOCUMENT, CONTEXT, hobbies)
            await memory.places.add(as_actor(ada), home)
            await told(stream, DOCUMENT, CONTEXT, place)
            # Another process, which shares nothing but the database.
            rows("UPDATE memories SET mention_count = mention_count + 1 WHERE id = %s", flute)
            await told(stream, DOCUMENT, CONTEXT, one)
            await memory.memories.forget(as_actor(ada), flute)
            await told(stream, DOCUMENT, CONTEXT, one)
        read = (await client.read_resource(place)).contents[0].text
        assert '"place_id":"home/1"' in read
        assert "Ada rows" in (await client.read_resource(hobbies)).contents[0].text
        for uri, reason in (
            ("remembrancer://nowhere", "no such resource"),
            ("remembrancer://facts/zzz", "category: must be one of"),
            (f"{DOCUMENT}?user_id={bob.id}", "user_id: is not a parameter"),
        ):
            with pytest.raises(MCPError, match=reason):
                async with client.listen(resource_subscriptions=[uri]):
                    pass
        many = [f"remembrancer://memories/a{n}" for n in range(updates.MOST_RESOURCES + 1)]
        with pytest.raises(MCPError, match="too many"):
            async with client.listen(resource_subscriptions=many):
                pass


async def test_a_stream_ends_with_its_key_and_with_its_server(
    api: Api, ada: User, memory: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds no place among the requests in work, and there are only so many."""
    monkeypatch.setattr(http, "MOST_STREAMS", 1)
    limits = memory.settings.limits.model_copy(update={"requests_at_once": 1})
    settings = memory.settings.model_copy(update={"limits": limits})
    monkeypatch.setattr(memory, "settings", settings)
    key, other = await api.key_of(ada), await api.key_of(ada)
    running = served(memory)
    url = await running.__aenter__()
    async with mcp_client(url, key) as client, mcp_client(url, other) as second:
        async with client.listen(resource_subscriptions=[DOCUMENT]) as stream:
            with pytest.raises(MCPError, match="too many"):
                async with second.listen(resource_subscriptions=[DOCUMENT]):
                    pass
            assert (await second.list_tools()).tools
            [key_id] = rows("SELECT id FROM api_keys WHERE user_id = %s ORDER BY id", ada.id)[0]
            await memory.keys.revoke(Actor(Role.ADMIN), key_id)
            with pytest.raises(SubscriptionLost) as lost:
                await told(stream, DOCUMENT)
            assert "API key" in str(lost.value.__cause__)
        async with second.listen(resource_subscriptions=[DOCUMENT]) as stream:
            await running.__aexit__(None, None, None)
            with pytest.raises(StopAsyncIteration):
                await told(stream, DOCUMENT)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_older_clients_subscribe_on_a_connection(
    ada: User, bob: User, memory: Remembrancer
) -> None:
    """With resources/subscribe, until they unsubscribe; a faulty address is refused."""
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.put_nowait(message.params.uri)

    source, subscriptions = StoreSource(memory, as_actor(ada)), Subscriptions()
    server = create_server(lambda _, request: request(source), subscriptions=subscriptions)
    async with Client(server, mode="legacy", message_handler=hear) as client:
        assert client.server_capabilities.resources.subscribe
        for uri in (DOCUMENT, CONTEXT, DOCUMENT):
            await client.session.subscribe_resource(uri)
        with pytest.raises(MCPError, match="no such resource"):
            await client.session.subscribe_resource("remembrancer://nowhere")
        await memory.remember("Bob plays the drum", user=bob)
        await memory.remember("Ada plays the flute", user=ada)
        async with asyncio.timeout(60):
            assert {await heard.get(), await heard.get()} == {DOCUMENT, CONTEXT}
            await client.session.unsubscribe_resource(CONTEXT)
            await memory.remember("Ada rows", user=ada)
            assert await heard.get() == DOCUMENT
    await subscriptions.close()
    assert heard.empty()


@asynccontextmanager
async def both(
    api: Api, ada: User, bob: User, query: str = ""
) -> AsyncIterator[tuple[Client, Client]]:
    app = api.client._transport.app
    async with (
        mcp_client("http://test", await api.key_of(ada), query=query, app=app) as hers,
        mcp_client("http://test", await api.key_of(bob), query=query, app=app) as his,
    ):
        yield hers, his


async def test_arguments_are_completed_with_what_the_client_sees(
    api: Api, ada: User, bob: User, agent: Agent, memory: Remembrancer
) -> None:
    """Ids of memories, places and conversations of its own user, categories, agents by name."""
    theirs: dict[str, list[str]] = {}
    for user, word in ((ada, "flute"), (bob, "drum")):
        kept = (await memory.remember(f"I play the {word}", user=user)).memory.id
        await memory.places.add(
            as_actor(user), PlaceCreate(place_id=f"{word}-shop", place_name=f"The {word} shop")
        )
        talk = await memory.conversations.open(as_actor(user), ConversationCreate())
        theirs[word] = [kept, f"{word}-shop", str(talk.id)]
    by_argument = {
        "memory_id": "remembrancer://memories/{memory_id}{?page}",
        "place_id": "remembrancer://places/{place_id}",
        "conversation_id": "remembrancer://context/{conversation_id}",
        "category": "remembrancer://facts/{category}",
    }

    async def values(client: Client, name: str, typed: str = "") -> Collection[str]:
        ref = ResourceTemplateReference(uri=by_argument[name])
        return (await client.complete(ref, {"name": name, "value": typed})).completion.values

    async with both(api, ada, bob) as (hers, his):
        listed = (await hers.list_resource_templates()).resource_templates
        assert set(by_argument.values()) <= {one.uri_template for one in listed}
        for client, word, others in ((hers, "flute", "drum"), (his, "drum", "flute")):
            for n, name in enumerate(("memory_id", "place_id", "conversation_id")):
                own, foreign = theirs[word][n], theirs[others][n]
                found = await values(client, name)
                assert own in found, name
                assert foreign not in found, name
                assert own in list(await values(client, name, own[:4]))
                assert list(await values(client, name, foreign)) == []
            assert list(await values(client, "memory_id", f"PLAY THE {word}")) == [theirs[word][0]]
            assert list(await values(client, "place_id", f"the {word} s")) == [theirs[word][1]]
        assert list(await values(hers, "category", "p")) == [
            "person",
            "preference",
            "project",
            "personality",
        ]
        for ref, name, reason in (
            (ResourceTemplateReference(uri="remembrancer://nowhere/{x}"), "x", "no such template"),
            (ResourceTemplateReference(uri=by_argument["category"]), "place_id", "place_id: is"),
            (PromptReference(name="explode"), "message", "no such prompt"),
            (PromptReference(name="start_conversation"), "agent_id", "agent_id: is not"),
        ):
            with pytest.raises(MCPError, match=reason):
                await hers.complete(ref, {"name": name, "value": ""})
    app = api.client._transport.app
    async with mcp_client("http://test", api.service, app=app) as service:
        prompt = PromptReference(name="start_conversation")
        for typed in (agent.name[:3].upper(), str(agent.id)[:8]):
            answer = await service.complete(prompt, {"name": "agent_id", "value": typed})
            assert answer.completion.values == [str(agent.id)]
        # A service names the user, and gets theirs.
        [memory_template] = [
            one.uri for one in templates(("user_id", "agent_id")) if one.name == "memory"
        ]
        ref = ResourceTemplateReference(uri=memory_template)
        asked = {"name": "memory_id", "value": ""}
        for user, word in ((ada, "flute"), (bob, "drum")):
            answer = await service.complete(ref, asked, {"user_id": str(user.id)})
            assert theirs[word][0] in answer.completion.values
            assert not {theirs[w][0] for w in theirs if w != word} & set(answer.completion.values)
        assert (await service.complete(ref, asked)).completion.values == []
