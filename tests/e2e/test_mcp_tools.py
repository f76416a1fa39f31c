"""Tools over MCP: sets of them, what is wrong with a call, and what their hints promise."""

from collections.abc import Sequence
from typing import Any

import pytest
from helpers import Api, rows
from mcp import MCPError
from serving import mcp_client
from tool_walk import done

from remembrancer import Remembrancer, User, UserUpdate, as_actor
from remembrancer.db.tables import metadata
from remembrancer.settings import McpSettings, ToolSet
from remembrancer.tools.definitions import MEMORY_TOOLS
from remembrancer.tools.schema import parameters

Json = dict[str, Any]
SETS = {
    "small": ["add_to_memory", "memory_recall"],
    "default": ["add_to_memory", "update_memory", "forget_memory", "memory_recall"],
    "all": [tool.name for tool in MEMORY_TOOLS],
}
ALL_TOOLS = "?tools=all"


def named(tools: Sequence[Any]) -> list[str]:
    return [tool.name for tool in tools]


async def test_a_client_has_the_tools_of_its_set(
    api: Api, ada: User, memory: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the setting, or as the address says; others cannot be called, and no set is guessed."""
    key, app = await api.key_of(ada), api.client._transport.app
    for query, names in (("", SETS["default"]), *((f"?tools={n}", SETS[n]) for n in SETS)):
        async with mcp_client("http://test", key, query=query, app=app) as client:
            listed = (await client.list_tools()).tools
            assert named(listed) == names
            stored = await done(client, "add_to_memory", content=f"x {query}", category="other")
            assert stored["stored"]
            left = [name for name in SETS["all"] if name not in names]
            for name in left:
                with pytest.raises(MCPError, match=f"no such tool; there are {', '.join(names)}$"):
                    await client.call_tool(name, {"content": "y", "memory_id": stored["memory_id"]})
            if query == "?tools=small":
                shown = {tool.name: list(tool.input_schema["properties"]) for tool in listed}
                assert shown["memory_recall"] == ["query"]
                # An argument that is not shown is no mistake.
                await done(client, "memory_recall", query="x", max_results=1)
    assert rows("SELECT count(*) FROM memories WHERE content = 'y'") == [(0,)]
    own = McpSettings(tools=ToolSet.SMALL)
    monkeypatch.setattr(memory, "settings", memory.settings.model_copy(update={"mcp": own}))
    async with mcp_client("http://test", key, app=app) as client:
        assert named((await client.list_tools()).tools) == SETS["small"]
    for query, field in (("?tools=large", "tools"), ("?tools=", "tools"), ("?tool=all", "tool")):
        answer = await api.client.post(f"/mcp{query}", headers=key, content=b"{}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


LONG = "x" * 30_000
ID = "a1B2c3D4"
SAVE: Json = {"content": "Ada rows"}
PLACE: Json = {"operation": "add_poi", "place_id": "home", "place_name": "Home"}
FUTURE = "2100-01-01T00:00:00"
# A tool, what is wrong, the argument that is named, and words that say what it should be.
WRONG: list[tuple[str, Json, str, str]] = [
    *(
        (tool, {**rest, argument: value}, argument, told)
        for tool, argument, rest in (
            ("add_to_memory", "content", {"category": "other"}),
            ("update_memory", "content", {"memory_id": ID}),
            ("memory_save", "content", {}),
            ("manage_user_memory", "content", {"operation": "add_fact"}),
        )
        for value, told in (
            (None, "equired"),
            (3, "valid string"),
            (" ", "must not be empty"),
            ("a\0b", "remove it"),
        )
    ),
    ("add_to_memory", {"content": LONG, "category": "other"}, "content", "at most 2,000"),
    ("memory_save", {"content": LONG}, "content", "at most 2,000"),
    ("manage_user_memory", {"operation": "add_fact", "content": LONG}, "content", "at most 2,000"),
    ("add_to_memory", {"content": "x"}, "category", "required"),
    ("add_to_memory", {"content": "x", "category": "zz"}, "category", "'hobby'"),
    ("add_to_memory", {"content": "x", "category": "other", "subject": "y" * 201}, "subject", "at"),
    ("add_to_memory", {"content": "x", "category": "other", "subject": "a\nb"}, "subject", "no"),
    (
        "add_to_memory",
        {"content": "x", "category": "other", "confirmed": "so"},
        "confirmed",
        "bool",
    ),
    (
        "add_to_memory",
        {"content": "x", "category": "other", "further_fact": [1]},
        "further_fact",
        "boolean",
    ),
    (
        "add_to_memory",
        {"content": "my card is 4111 1111 1111 1111", "category": "other"},
        "content",
        "remove it",
    ),
    *(
        (tool, {**rest, argument: value}, argument, told)
        for tool, argument, rest in (
            ("update_memory", "memory_id", {"content": "x"}),
            ("forget_memory", "memory_id", {}),
            ("manage_user_memory", "fact_id", {"operation": "deactivate_fact"}),
        )
        for value, told in (
            (None, "equired"),
            (3, "valid string"),
            ("", "8 letters and digits"),
            (ID, "no memory has this id"),
            ("%%%", "8 letters and digits"),
            ("y" * 65, "8 letters and digits"),
        )
    ),
    *(
        ("memory_save", {**SAVE, "associations": [{"target_id": value}]}, "associations.0.", told)
        for value, told in (
            (None, "string"),
            ("", "8 letters and digits"),
            (ID, "no memory has this id"),
            ("%%%", "8 letters and digits"),
            ("y" * 65, "8 letters and digits"),
        )
    ),
    ("memory_save", {**SAVE, "associations": "x"}, "associations", "list"),
    ("memory_save", {**SAVE, "associations": [{"target_id": ID}] * 51}, "associations", "50"),
    (
        "memory_save",
        {**SAVE, "associations": [{"target_id": ID, "relation": "likes"}]},
        "associations.0.relation",
        "'updates'",
    ),
    (
        "memory_save",
        {**SAVE, "associations": [{"target_id": ID, "weight": 2}]},
        "associations.0.weight",
        "equal to 1",
    ),
    ("memory_save", {**SAVE, "memory_type": "place"}, "memory_type", "'todo'"),
    ("memory_save", {**SAVE, "confirmed": "so"}, "confirmed", "boolean"),
    ("memory_save", {**SAVE, "importance": 2}, "importance", "equal to 1"),
    ("memory_save", {**SAVE, "source": "s" * 201}, "source", "at most 200"),
    ("memory_save", {**SAVE, "channel_id": "c" * 256}, "channel_id", "at most 255"),
    ("memory_save", {**SAVE, "user_id": "nobody"}, "user_id", "leave it out"),
    ("memory_save", {**SAVE, "shared": True}, "shared", "leave shared out"),
    ("memory_save", {**SAVE, "shared": True, "user_id": "x"}, "shared", "leave one of them out"),
    ("memory_save", {**SAVE, "expires_at": "2001-01-01T00:00:00Z"}, "expires_at", "the future"),
    ("memory_save", {**SAVE, "expires_at": FUTURE}, "expires_at", "its zone"),
    ("memory_save", {**SAVE, "expires_at": "soon"}, "expires_at", "its zone"),
    ("memory_recall", {"query": 3}, "query", "string"),
    ("memory_recall", {"query": " "}, "query", "empty"),
    ("memory_recall", {"mode": "hybrid"}, "query", "needs a query"),
    ("memory_recall", {"mode": "typed"}, "memory_type", "needs it"),
    ("memory_recall", {"mode": "x"}, "mode", "'recent'"),
    ("memory_recall", {"sort_by": "x"}, "sort_by", "'importance'"),
    ("memory_recall", {"sort_by": "relevance"}, "sort_by", "mode hybrid"),
    ("memory_recall", {"query": "x", "max_results": 0}, "max_results", "equal to 1"),
    ("memory_recall", {"query": "x", "max_results": 51}, "max_results", "equal to 50"),
    ("memory_recall", {"query": "x", "memory_type": "zz"}, "memory_type", "'place'"),
    ("memory_recall", {"query": "x", "min_relevance": 2}, "min_relevance", "equal to 1"),
    ("memory_recall", {"query": "x", "space": "Nowhere"}, "space", "no space of this name"),
    ("memory_recall", {"query": "x", "user_id": "nobody"}, "user_id", "leave it out"),
    ("manage_user_memory", {}, "operation", "required"),
    ("manage_user_memory", {"operation": "explode"}, "operation", "'add_poi'"),
    ("manage_user_memory", {**PLACE, "place_id": None}, "place_id", "required for add_poi"),
    ("manage_user_memory", {**PLACE, "place_name": None}, "place_name", "required for add_poi"),
    ("manage_user_memory", {**PLACE, "place_id": "h" * 256}, "place_id", "at most 255"),
    ("manage_user_memory", {**PLACE, "place_name": "h" * 201}, "place_name", "at most 200"),
    ("manage_user_memory", {**PLACE, "notes": LONG}, "notes", "at most 20000"),
    ("manage_user_memory", {"operation": "add_poi_mention"}, "place_id", "required for"),
    (
        "manage_user_memory",
        {"operation": "add_poi_mention", "place_id": "x"},
        "place_id",
        "add it with add_poi",
    ),
    ("manage_user_memory", {"operation": "get_memory", "page": 0}, "page", "equal to 1"),
    ("manage_user_memory", {"operation": "get_memory", "confirmed": "x"}, "confirmed", "boolean"),
    # Names of services, which no tool has.
    *(
        (tool, {**good, name: "x"}, name, "is not an argument of this tool; leave it out")
        for tool, good, names in (
            ("add_to_memory", {"content": "x", "category": "other"}, ("kind", "allow_similar")),
            ("update_memory", {"memory_id": ID, "content": "x"}, ("subject",)),
            ("forget_memory", {"memory_id": ID}, ("ids",)),
            ("memory_save", SAVE, ("kind", "metadata", "space_id")),
            ("memory_recall", {"query": "x"}, ("limit", "kinds", "sort", "space_id")),
            ("manage_user_memory", {"operation": "get_memory"}, ("memory_id", "name")),
        )
        for name in names
    ),
]


async def test_each_wrong_argument_is_told_in_the_words_of_the_tool(
    api: Api, ada: User, bob: User, memory: Remembrancer
) -> None:
    """The argument by its name in the tool, what is wrong with it, and what it should be."""
    arguments = {tool.name: parameters(tool.arguments)["properties"] for tool in MEMORY_TOOLS}
    theirs = (await memory.remember("Bob plays the drum", user=bob)).memory.id
    tried = {(tool, argument.split(".")[0]) for tool, _, argument, _ in WRONG}
    assert {(tool, name) for tool in arguments for name in arguments[tool]} <= tried
    app = api.client._transport.app
    async with mcp_client("http://test", await api.key_of(ada), query=ALL_TOOLS, app=app) as client:
        for tool, given, argument, told in WRONG:
            answer = await client.call_tool(tool, given)
            text = answer.content[0].text
            assert answer.is_error, (tool, given)
            assert text.startswith(f"Nothing was done. {argument}"), text
            assert told in text, text
            assert "Value should" not in text
            assert "pattern" not in text
        for tool, argument in (("update_memory", "memory_id"), ("manage_user_memory", "fact_id")):
            given = {argument: theirs, "content": "x"}
            if argument == "fact_id":
                given["operation"] = "deactivate_fact"
            answers = [await client.call_tool(tool, {**given, argument: i}) for i in (theirs, ID)]
            assert answers[0].content == answers[1].content
    assert rows("SELECT count(*) FROM memories") == [(1,)]


async def test_what_a_service_says_is_told_in_the_words_of_the_tool(
    api: Api, ada: User, memory: Remembrancer
) -> None:
    """A field of a service that is no argument of the tool is not named."""
    app = api.client._transport.app
    async with mcp_client("http://test", await api.key_of(ada), query=ALL_TOOLS, app=app) as client:
        await memory.users.update(as_actor(ada), ada.id, UserUpdate(paused=True))
        answer = await client.call_tool("add_to_memory", {**SAVE, "category": "hobby"})
    assert answer.is_error
    assert answer.content[0].text.startswith("Nothing was done. remembering is paused")


# Notes about use, which no answer shows.
_UNCOUNTED = {"audit_log", "daily_usage", "api_keys", "item_changes"}
_OF_USE = "'access_count' - 'last_accessed_at'"


def store() -> dict[str, Any]:
    """What lies in each table, without the notes about use."""
    return {
        name: rows(f"SELECT to_jsonb(t) - {_OF_USE} FROM {name} AS t ORDER BY t::text")
        for name in metadata.tables
        if name not in _UNCOUNTED
    }


async def test_hints_say_what_calls_do(api: Api, ada: User, memory: Remembrancer) -> None:
    """What only reads changes nothing; what is idempotent changes nothing the second time, and
    what is not does; what does not destroy leaves all that was there.
    """
    kept = (await memory.remember("Ada keeps bees", user=ada)).memory.id
    gone = (await memory.remember("Ada keeps hens", user=ada)).memory.id
    calls: dict[str, Json] = {
        "add_to_memory": {"content": "The bakery opens at six", "category": "other"},
        "update_memory": {"memory_id": kept, "content": "Ada keeps many bees"},
        "forget_memory": {"memory_id": gone},
        "memory_save": {"content": "Ada wants to see Rome", "memory_type": "goal"},
        "memory_recall": {"query": "Who keeps bees?"},
        "manage_user_memory": PLACE,
    }
    app = api.client._transport.app
    async with mcp_client("http://test", await api.key_of(ada), query=ALL_TOOLS, app=app) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert calls.keys() == listed.keys()
        for name, given in calls.items():
            hints = listed[name].annotations
            states = [store()]
            for _ in range(2):
                await client.call_tool(name, given)
                states.append(store())
            assert (states[0] == states[1]) is hints.read_only_hint, name
            assert (states[1] == states[2]) is hints.idempotent_hint, name
            if not hints.destructive_hint:
                contents = [
                    {version["content"] for (version,) in state["memory_versions"]}
                    for state in (states[0], states[2])
                ]
                assert contents[0] <= contents[1], name
            assert hints.open_world_hint is False
