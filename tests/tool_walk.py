"""One walk through all tools over MCP, whatever the transport."""

import json
from typing import Any

from mcp import Client

Json = dict[str, Any]


async def done(client: Client, name: str, **arguments: Any) -> Json:
    """What a call comes to: the SDK holds it against the tool's schema."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content[0].text
    assert json.loads(answer.content[0].text) == answer.structured_content
    structured: Json = answer.structured_content
    return structured


async def every_tool(client: Client) -> None:
    """Call each tool that is listed, and each operation of the one that has several."""
    called = set()

    async def call(name: str, **arguments: Any) -> Json:
        called.add(name)
        return await done(client, name, **arguments)

    first = await call("add_to_memory", content="The bakery opens at six", category="other")
    assert first["stored"]
    again = await call("add_to_memory", content="The bakery opens at six", category="other")
    assert not again["stored"]
    changed = await call(
        "update_memory", memory_id=first["memory_id"], content="The bakery opens at seven"
    )
    assert (changed["version"], changed["old_content"]) == (2, "The bakery opens at six")
    await call("memory_save", content="Ada wants to see Rome", memory_type="goal")
    found = await call("memory_recall", query="When does the bakery open?")
    assert found["found"][0]["content"] == "The bakery opens at seven"
    gone = await call("forget_memory", memory_id=first["memory_id"])
    assert gone["forgotten"]
    fact = await call("manage_user_memory", operation="add_fact", content="Ada has a cat")
    await call("manage_user_memory", operation="deactivate_fact", fact_id=fact["fact_id"])
    where = {"place_id": "home", "place_name": "Home", "notes": "By the river"}
    await call("manage_user_memory", operation="add_poi", **where)
    await call("manage_user_memory", operation="add_poi_mention", place_id="home")
    everything = await call("manage_user_memory", operation="get_memory")
    assert everything["placer_user_datapoints"][0]["place_name"] == "Home"
    assert called == {tool.name for tool in (await client.list_tools()).tools}
