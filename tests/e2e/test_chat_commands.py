"""``/memory`` over REST, for bots that send the answers themselves."""

import json
from typing import Any

from helpers import Api, audit_lines
from test_client import client_of

from remembrancer import Agent, User
from remembrancer.chat.dispatch import ANSWERED_PRIVATELY
from remembrancer.conversations.schemas import ChatCommand

WHERE = {"platform": "matrix", "display_name": "Ada", "chat_id": "!room"}


async def _typed(api: Api, text: str, *, who: str = "@ada", **fields: Any) -> Any:
    body = {**WHERE, "platform_user_id": who, "text": text, **fields}
    response = await api.client.post("/api/chat/commands", json=body, headers=api.service)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_command_is_answered_for_its_author_alone(api: Api, agent: Agent) -> None:
    """In a group the chat gets a sentence; what is no command is left to the agent."""
    own = {"agent_id": str(agent.id)}
    added = await _typed(api, "/memory add Ada <b>likes</b> tea.", **own)
    assert (added["is_command"], added["chat"]) == (True, ANSWERED_PRIVATELY)
    listed = await _typed(api, "/memory", private=True, **own)
    assert "Ada <b>likes</b> tea." in listed["private"][0]
    assert listed["chat"] is None
    other = await _typed(api, "/memory", who="@bob", private=True, **own)
    assert "tea" not in json.dumps(other)
    assert await _typed(api, "Do you remember tea?", **own) == {
        "is_command": False,
        "private": [],
        "file_name": None,
        "file": None,
        "chat": None,
    }
    [line] = [line for line in audit_lines() if line.action == "memory.remember"]
    assert (line.entry_point, line.actor_key_id is None) == ("matrix", False)


async def test_an_export_is_a_file_and_long_answers_are_several_messages(
    api: Api, agent: Agent
) -> None:
    """As long as the platform takes."""
    for number in range(5):
        await _typed(api, f"/memory add Room {number} has {number} chairs.", agent_id=str(agent.id))
    exported = await _typed(api, "/memory export", private=True)
    assert exported["file_name"].endswith(".jsonl")
    assert "Room 4 has 4 chairs." in exported["file"]
    listed = await _typed(api, "/memory", private=True, longest=100, agent_id=str(agent.id))
    assert len(listed["private"]) > 1
    assert max(map(len, listed["private"])) <= 100


async def test_a_pause_is_of_the_chat_and_only_services_ask(
    api: Api, ada: User, agent: Agent
) -> None:
    """A second person resumes it; a user's own key is refused, and so is an unknown field."""
    own = {"agent_id": str(agent.id)}
    await _typed(api, "/memory pause", **own)
    await _typed(api, "/memory resume", who="@bob", **own)
    talk = (
        await api.client.get("/api/conversations?user_id=matrix:@bob", headers=api.service)
    ).json()
    assert talk["items"] == []
    body = {**WHERE, "platform_user_id": "@ada", "text": "/memory"}
    key = await api.key_of(ada)
    refused = await api.client.post("/api/chat/commands", json=body, headers=key)
    assert refused.status_code == 403
    for wrong in ({"longest": 3}, {"text": "\x00"}, {"color": "red"}, {"platform": ""}):
        response = await api.client.post(
            "/api/chat/commands", json=body | wrong, headers=api.service
        )
        assert response.status_code == 422, wrong


async def test_the_client_answers_commands(api: Api) -> None:
    """With the models of the endpoint."""
    async with client_of(api, api.service) as client:
        command = ChatCommand(
            platform="matrix",
            platform_user_id="@ada",
            display_name="Ada",
            chat_id="!room",
            text="/memory help",
            private=True,
        )
        reply = await client.chat.command(command)
    assert reply.is_command
    assert "/memory" in reply.private[0]
