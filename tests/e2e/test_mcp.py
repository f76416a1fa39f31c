"""MCP over HTTP, with the client of the official SDK: tools, resources, the prompt, and whose."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import gt
from typing import Any

import httpx2
import jsonschema
import pytest
from helpers import Api, audit_lines, rows
from mcp import Client, MCPError
from serving import mcp_client, served
from tool_walk import done, every_tool

from remembrancer import Agent, Remembrancer, User, as_actor
from remembrancer.mcp.resources import fixed
from remembrancer.mcp.server import create_server
from remembrancer.mcp.sources import MemoryTools, StoreSource
from remembrancer.settings import ToolSet
from remembrancer.tools.registry import plain_tool

Json = dict[str, Any]


@asynccontextmanager
async def connected(
    api: Api, user: User | None = None, *, url: str | None = None, **how: Any
) -> AsyncIterator[Client]:
    """A client with the user's key, or with a service's."""
    key = await api.key_of(user) if user is not None else api.service
    app = None if url is not None else api.client._transport.app
    async with mcp_client(url or "http://test", key, app=app, **how) as client:
        yield client


async def refused(client: Client, name: str, **arguments: Any) -> str:
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    assert answer.structured_content is None
    text = answer.content[0].text
    assert "Traceback" not in text
    return text


async def text_of(client: Client, uri: str) -> str:
    [contents] = (await client.read_resource(uri)).contents
    return contents.text


# What there is --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_sees_the_tools_of_the_registry(
    api: Api, ada: User, memory: Remembrancer, mode: str
) -> None:
    """Names, guidance and schemas are the registry's, with what a call may do; so it is in both
    generations of the protocol.
    """
    async with connected(api, ada, mode=mode, query="?tools=all") as client:
        listed = (await client.list_tools()).tools
    wanted = [plain_tool(tool) for tool in memory.tools.select()]
    assert [tool.name for tool in listed] == [one["name"] for one in wanted]
    for tool, one in zip(listed, wanted, strict=True):
        assert tool.description == one["description"]
        assert tool.input_schema == one["parameters"]
        assert tool.output_schema == one["returns"]
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.annotations.read_only_hint == one["effects"]["read_only"]
    hints = {tool.name: tool.annotations for tool in listed}
    assert [name for name, one in hints.items() if one.read_only_hint] == ["memory_recall"]
    removing = [name for name, one in hints.items() if one.destructive_hint]
    assert removing == ["forget_memory", "manage_user_memory"]


async def test_case_38_a_further_fact_over_mcp(api: Api, ada: User) -> None:
    """The refusal and the argument are the registry's."""
    about = {"category": "person", "subject": "Alec"}
    async with connected(api, ada) as client:
        await client.call_tool("add_to_memory", {"content": "Alec is the boss", **about})
        allergy = {"content": "Alec is allergic to shellfish", **about}
        assert "further_fact true" in await refused(client, "add_to_memory", **allergy)
        stored = await client.call_tool("add_to_memory", {**allergy, "further_fact": True})
        assert stored.structured_content["outcome"] == "created"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_answers_as_its_schema_says(
    api: Api, ada: User, memory: Remembrancer, mode: str
) -> None:
    """Each tool, and each operation of the one that has several, by the SDK's own check."""
    how = {"mode": mode, "query": "?tools=all"}
    async with served(memory) as url, connected(api, ada, url=url, **how) as client:
        await every_tool(client)


async def test_a_client_reads_every_resource(
    api: Api, ada: User, agent: Agent, memory: Remembrancer
) -> None:
    """The document, the context, a memory with its history, the context of a conversation."""
    kept = (await memory.remember("Ada plays the flute", user=ada)).memory
    async with connected(api, ada) as client:
        listed = (await client.list_resources()).resources
        assert [one.uri for one in listed] == [one.uri for one in fixed()]
        document = json.loads(await text_of(client, "remembrancer://document"))
        assert [fact["content"] for fact in document["facts"]] == ["Ada plays the flute"]
        stable = await text_of(client, "remembrancer://context")
        assert f"[id:{kept.id}] Ada plays the flute" in stable
        told = json.loads(await text_of(client, f"remembrancer://memories/{kept.id}"))
        assert [one["content"] for one in told["versions"]] == ["Ada plays the flute"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.name for one in templates] == [
            "memory-document-page",
            "memory",
            "facts-of-category",
            "place",
            "conversation-context",
        ]


async def test_the_context_of_a_conversation_stays_the_same(
    api: Api, ada: User, memory: Remembrancer
) -> None:
    """What is learnt meanwhile does not change a byte of it."""
    from remembrancer import ConversationCreate

    opened = await memory.conversations.open(as_actor(ada), ConversationCreate())
    await memory.remember("Ada plays the flute", user=ada)
    uri = f"remembrancer://context/{opened.id}"
    async with connected(api, ada) as client:
        before = await text_of(client, uri)
        await memory.remember("Ada has a cat", user=ada)
        assert await text_of(client, uri) == before
        assert "cat" in await text_of(client, "remembrancer://context")


async def test_the_prompt_begins_with_what_is_remembered(
    api: Api, ada: User, memory: Remembrancer
) -> None:
    """Then comes what fits the message, and the message itself, if there is one."""
    await memory.remember("Ada plays the flute", user=ada)
    async with connected(api, ada) as client:
        [prompt] = (await client.list_prompts()).prompts
        assert [one.name for one in prompt.arguments] == ["message"]
        [said] = (await client.get_prompt(prompt.name, {"message": "What shall I play?"})).messages
        assert said.role == "user"
        assert "Ada plays the flute" in said.content.text
        assert said.content.text.endswith("What shall I play?")
        [greeting] = (await client.get_prompt(prompt.name)).messages
        assert "Ada plays the flute" in greeting.content.text


async def test_long_answers_come_in_pages(api: Api, ada: User, memory: Remembrancer) -> None:
    """Each resource and the tool that has much to tell go to the page that is asked for."""
    one = (await memory.remember("Ada plays the flute", user=ada)).memory
    async with connected(api, ada, query="?tools=all") as client:
        for uri in ("remembrancer://document", f"remembrancer://memories/{one.id}"):
            first, second = [json.loads(await text_of(client, f"{uri}?page={n}")) for n in (1, 2)]
            kept = "facts" if "facts" in first else "versions"
            assert (len(first[kept]), first["next_page"]) == (1, None)
            assert (len(second[kept]), second["next_page"]) == (0, None)
        tool = await done(client, "manage_user_memory", operation="get_memory", page=2)
        assert tool["facts"] == []


# Whose it is: CASES 12 to 14 -------------------------------------------------


async def test_two_users_of_one_server_never_see_each_other(api: Api, ada: User, bob: User) -> None:
    """Whatever one of them names, asks for or reads: only their own is in it."""
    both = {"query": "?tools=all"}
    async with connected(api, ada, **both) as hers, connected(api, bob, **both) as his:
        await done(hers, "add_to_memory", content="I live in Lisbon", category="person")
        theirs = await done(his, "add_to_memory", content="I live in Oslo", category="person")
        found = await done(hers, "memory_recall", query="Where do I live?")
        assert [hit["content"] for hit in found["found"]] == ["I live in Lisbon"]
        told = await refused(hers, "memory_recall", query="Oslo", user_id=str(bob.id))
        assert "user_id: must be the current user" in told
        await refused(hers, "memory_save", content="Bob is bald", user_id=str(bob.id))
        read = [
            await text_of(hers, "remembrancer://document"),
            await text_of(hers, "remembrancer://context"),
            (await hers.get_prompt("start_conversation", {"message": "Oslo"}))
            .messages[0]
            .content.text,
        ]
        assert all("Lisbon" in text and "live in Oslo" not in text for text in read)
        with pytest.raises(MCPError, match="memory_id: no such memory"):
            await text_of(hers, f"remembrancer://memories/{theirs['memory_id']}")
        for uri in (f"?user_id={bob.id}", f"?page=1&user_id={bob.id}"):
            with pytest.raises(MCPError, match="user_id: is not a parameter"):
                await text_of(hers, f"remembrancer://document{uri}")


async def test_nobody_changes_what_is_somebody_elses(api: Api, ada: User, bob: User) -> None:
    """By its id a memory of another user does not exist; nothing changes, the audit log knows."""
    both = {"query": "?tools=all"}
    async with connected(api, ada, **both) as hers, connected(api, bob, **both) as his:
        kept = await done(hers, "add_to_memory", content="I live in Lisbon", category="person")
        memory_id = kept["memory_id"]
        calls = [
            ("update_memory", {"memory_id": memory_id, "content": "I live in Oslo"}),
            ("forget_memory", {"memory_id": memory_id}),
            ("manage_user_memory", {"operation": "deactivate_fact", "fact_id": memory_id}),
            (
                "memory_save",
                {
                    "content": "I know Ada",
                    "associations": [{"target_id": memory_id, "relation": "related_to"}],
                },
            ),
        ]
        for name, arguments in calls:
            told = await refused(his, name, **arguments)
            assert "Lisbon" not in told
        found = await done(hers, "memory_recall", query="Where do I live?")
        assert [hit["content"] for hit in found["found"]] == ["I live in Lisbon"]
    lines = [line for line in audit_lines() if line.outcome == "refused"]
    assert {line.actor_user_id for line in lines} == {bob.id}
    assert {line.entry_point for line in lines} == {"mcp"}
    assert all(memory_id in line.target_ids for line in lines)


async def test_sibling_names_are_different_people(api: Api, memory: Remembrancer) -> None:
    """Users ``john-doe`` and ``john_doe`` share nothing."""
    from helpers import person

    dash, line = await person(memory, "john-doe"), await person(memory, "john_doe")
    async with connected(api, dash) as one, connected(api, line) as other:
        await done(one, "add_to_memory", content="I keep bees", category="hobby")
        assert (await done(other, "memory_recall", query="Who keeps bees?"))["found"] == []


async def test_a_service_says_for_whom_and_a_pinned_one_does_not(
    api: Api, ada: User, bob: User, agent: Agent
) -> None:
    """Only a service key without a user has tools, resources and a prompt that take one."""
    async with connected(api) as service:
        properties = (await service.list_tools()).tools[0].input_schema["properties"]
        assert {"user_id", "agent_id"} <= set(properties)
        for user in (ada, bob):
            await done(
                service,
                "add_to_memory",
                content=f"I am {user.display_name}",
                category="person",
                user_id=str(user.id),
            )
        found = await done(service, "memory_recall", query="Who am I?", user_id=str(ada.id))
        assert [hit["content"] for hit in found["found"]] == ["I am Ada"]
        assert (await done(service, "memory_recall", query="Who am I?"))["found"] == []
        assert "I am Bob" in await text_of(service, f"remembrancer://context?user_id={bob.id}")
        given = {"user_id": str(bob.id)}
        [said] = (await service.get_prompt("start_conversation", given)).messages
        assert "I am Bob" in said.content.text
        # This agent has a scope of its own with Bob, and nothing in it.
        given["agent_id"] = str(agent.id)
        [said] = (await service.get_prompt("start_conversation", given)).messages
        assert "I am Bob" not in said.content.text
        assert "user_id: must be an id" in await refused(
            service, "memory_recall", query="x", user_id="bob"
        )
        named = await done(service, "memory_recall", query="Who am I?", user_id="discord:Ada-1")
        assert [hit["content"] for hit in named["found"]] == ["I am Ada"]
        assert "I am Bob" in await text_of(service, "remembrancer://context?user_id=discord:Bob-1")
        for unknown in ("discord:nobody", "web:Ada-1"):
            refusal = await refused(service, "memory_recall", query="x", user_id=unknown)
            assert "no such user" in refusal
    async with connected(api, query="?user_id=discord:Ada-1") as by_name:
        found = await done(by_name, "memory_recall", query="Who am I?")
        assert [hit["content"] for hit in found["found"]] == ["I am Ada"]
    async with connected(api, query=f"?user_id={ada.id}") as pinned:
        properties = (await pinned.list_tools()).tools[0].input_schema["properties"]
        assert not {"user_id", "agent_id"} & set(properties)
        await refused(pinned, "memory_recall", query="x", user_id=str(bob.id))
        found = await done(pinned, "memory_recall", query="Who am I?")
        assert [hit["content"] for hit in found["found"]] == ["I am Ada"]
    async with connected(api, query=f"?agent_id={agent.id}") as of_agent:
        properties = (await of_agent.list_tools()).tools[0].input_schema["properties"]
        assert "user_id" in properties
        assert "agent_id" not in properties


# What is wrong ---------------------------------------------------------------


BAD_ARGUMENTS: list[tuple[str, Json, str, str]] = [
    ("add_to_memory", {"content": "x"}, "category", "required"),
    ("add_to_memory", {"content": " ", "category": "other"}, "content", "must not be empty"),
    ("add_to_memory", {"content": "x" * 30_000, "category": "other"}, "content", "at most"),
    ("add_to_memory", {"content": "x", "category": "zzz"}, "category", "must be"),
    ("add_to_memory", {"content": 3, "category": "other"}, "content", "string"),
    ("add_to_memory", {"content": "x\ud800", "category": "other"}, "content", ""),
    ("add_to_memory", {"content": "a\x00b", "category": "other"}, "content", ""),
    ("memory_recall", {"query": "x", "max_results": 51}, "max_results", "less than or equal"),
    ("memory_recall", {"query": "x", "secret": "hush"}, "secret", "not an argument"),
    ("memory_recall", {"mode": "hybrid"}, "query", "needs a query"),
    ("update_memory", {"memory_id": "nope", "content": "x"}, "memory_id", "8 letters"),
    ("manage_user_memory", {"operation": "explode"}, "operation", "must be"),
    ("manage_user_memory", {"operation": "add_fact"}, "content", "required for"),
    ("manage_user_memory", {"operation": "get_memory", "page": 0}, "page", "greater than"),
]


async def test_a_bad_argument_is_told_by_name_and_reason(api: Api, ada: User) -> None:
    """As an answer the model can act on, without what was given and without a trace."""
    headers = {
        **(await api.key_of(ada)),
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    for name, arguments, field, reason in BAD_ARGUMENTS:
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        # As bytes, since the SDK's client refuses to send some of it.
        answer = await api.client.post(
            "/mcp?tools=all", content=json.dumps(body).encode(), headers=headers
        )
        assert "Traceback" not in answer.text
        if "\ud800" in str(arguments.get("content")):
            assert answer.status_code == 400
            continue
        assert answer.status_code == 200
        result = answer.json()["result"]
        assert result["isError"], result
        text = result["content"][0]["text"]
        assert f"{field}: " in text, text
        assert reason in text, text
    assert rows("SELECT count(*) FROM memories") == [(0,)]


BAD_ADDRESSES = [
    ("remembrancer://nowhere", "no such resource"),
    ("remembrancer://document/x", "no such resource"),
    ("file:///etc/passwd", "no such resource"),
    ("remembrancer://memories/", "no such resource"),
    ("remembrancer://memories/zzzzzzzz", "no such memory"),
    ("remembrancer://memories/../../etc/passwd", "no such memory"),
    ("remembrancer://memories/%00", "no such memory"),
    ("remembrancer://context/nope", "conversation_id: must be an id"),
    ("remembrancer://places/", "no such resource"),
    ("remembrancer://places/%00", "no such resource"),
    ("remembrancer://places/\0", "no such resource"),
    ("remembrancer://places/nowhere", "no such place"),
    ("remembrancer://facts/nothing", "category: must be one of person"),
    ("remembrancer://context/0199f7a2-0000-7000-8000-000000000000", "no such conversation"),
    ("remembrancer://document?page=0", "page: must be a number"),
    ("remembrancer://document?page=x", "page: must be a number"),
    ("remembrancer://document?page=99999999999", "page: must be a number"),
    ("remembrancer://document?pages=1", "pages: is not a parameter"),
    ("remembrancer://[", "no such resource"),
]


async def test_a_bad_address_is_told(api: Api, ada: User) -> None:
    """With the part that is wrong, as an error of the protocol."""
    async with connected(api, ada) as client:
        for uri, told in BAD_ADDRESSES:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert told in str(caught.value), uri
            assert caught.value.code == -32602


async def test_names_that_are_not_there_are_told(api: Api, ada: User) -> None:
    """A tool, a prompt, an argument of a prompt, a cursor."""
    async with connected(api, ada) as client:
        with pytest.raises(MCPError, match="no such tool; there are add_to_memory"):
            await client.call_tool("explode", {})
        with pytest.raises(MCPError, match="no such prompt; there is start_conversation"):
            await client.get_prompt("explode")
        with pytest.raises(MCPError, match="topic: is not an argument of this prompt"):
            await client.get_prompt("start_conversation", {"topic": "x"})
        with pytest.raises(MCPError, match="cursor: is not a cursor"):
            await client.list_tools(cursor="x")


async def test_a_request_that_is_no_mcp_is_refused_in_order(api: Api, ada: User, bob: User) -> None:
    """No key, a wrong one, a stranger's id, another site, another method, no JSON, too much."""
    key = await api.key_of(ada)
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

    async def post(content: Any = b"{}", query: str = "", **headers: str) -> httpx2.Response:
        sent = {**accept, **key, **headers}
        return await api.client.post(f"/mcp{query}", content=content, headers=sent)

    nobody = await api.client.post("/mcp", content=b"{}", headers=accept)
    assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")
    assert nobody.json()["type"] == "urn:remembrancer:unauthenticated"
    assert (await post(Authorization="Bearer rmb_wrong")).status_code == 401
    assert (await post(Authorization="Basic eA==")).status_code == 401
    assert (await post(query=f"?user_id={bob.id}")).status_code == 404
    wrong = await post(query="?user_id=bob")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "user_id")
    assert (await post(Origin="https://evil.example")).status_code == 403
    assert (await post(Origin="http://[")).status_code == 403
    assert (await post(Origin="http://test")).status_code == 400
    for method in ("GET", "DELETE", "PUT"):
        answer = await api.client.request(method, "/mcp", headers={**accept, **key})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    for content in (b"", b"nonsense", b"[" * 100_000, b'{"jsonrpc": "2.0"}', b"\xff"):
        assert (await post(content)).status_code == 400
    assert (await post(b"x" * (16 * 1024 * 1024 + 1))).status_code == 413

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b"x" * 1024 * 1024

    assert (await post(endless())).status_code == 413


async def test_what_is_said_never_gets_into_the_log(
    api: Api, ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither what a tool is given, nor what is wrong with it."""
    caplog.set_level(logging.DEBUG)
    async with connected(api, ada) as client:
        await done(client, "add_to_memory", content="hush-hush-1", category="other")
        await refused(client, "add_to_memory", content="hush-hush-2", category="hush-hush-3")
        await done(client, "memory_recall", query="hush-hush-4")
        await client.get_prompt("start_conversation", {"message": "hush-hush-5"})
    ours = [one for one in caplog.records if one.name.startswith(("remembrancer", "uvicorn"))]
    assert not any("hush" in record.getMessage() for record in ours)
    # The libraries', at the level that servers run at.
    loud = [one for one in caplog.records if one.levelno >= logging.INFO]
    assert not any("hush" in record.getMessage() for record in loud)


SAID = "hush: Ada lives in Lisbon"


class Faulty:
    """A source with a fault in it."""

    id_arguments = ()
    tool_set = ToolSet.ALL

    async def tools(self) -> Any:
        raise RuntimeError(SAID)

    async def call(self, *_: Any) -> Any:
        raise RuntimeError(SAID)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_fault_is_told_without_its_words(
    caplog: pytest.LogCaptureFixture, mode: Any
) -> None:
    """The client hears that there is one, the log where it lies; neither what was said."""

    async def ask(_context: Any, request: Any) -> Any:
        return await request(Faulty())

    async with Client(create_server(ask), mode=mode) as client:
        for call in (client.list_tools(), client.call_tool("memory_recall", {"query": "x"})):
            with pytest.raises(
                MCPError, match=r"^internal error; the server's log has the details$"
            ):
                await call
    assert "test_mcp.py" in caplog.text
    assert not re.search("hush|Lisbon", caplog.text)


async def test_lists_need_no_open_store(memory: Remembrancer, ada: User) -> None:
    """A store for one user lists the same before it is open."""
    catalogue, store = MemoryTools(), StoreSource(memory, as_actor(ada))
    assert await catalogue.tools() == await store.tools()
    assert catalogue.id_arguments == store.id_arguments

    async def ask(_context: Any, _request: Any) -> Any:
        raise AssertionError("the store is not open")

    server = create_server(ask, lambda _context, request: request(catalogue))
    async with Client(server) as client:
        assert len((await client.list_tools()).tools) == 6
        assert (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates
        assert (await client.list_prompts()).prompts


# What stays behind -----------------------------------------------------------


async def test_calls_leave_nothing_open(api: Api, ada: User, memory: Remembrancer) -> None:
    """After 40 calls by 4 clients there are no more connections, sessions or tasks than before."""

    async def some(client: Client, count: int) -> None:
        for n in range(count):
            await done(client, "memory_recall", query=f"number {n}")
            await refused(client, "memory_recall", max_results=0)

    async def held() -> tuple[int, int, int]:
        [(sessions,)] = rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()"
        )
        free = memory.database._location.pool._free._value
        return (
            sessions,
            len(asyncio.all_tasks()),
            memory.settings.database.pool_size - free,
        )

    async with served(memory) as url:
        async with connected(api, ada, url=url) as client:
            await some(client, 5)
        before = await held()
        for _ in range(4):
            async with connected(api, ada, url=url) as client:
                await some(client, 5)
        # What a client has closed ends a moment later, and the background may be at work.
        async with asyncio.timeout(60):
            while any(map(gt, await held(), (*before[:2], 0))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
