"""``/memory`` and changes of messages for a bot, over the library and over a server."""

from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from helpers import Api, rows
from test_bot import bot

from remembrancer import (
    AsyncClient,
    AsyncMemory,
    Forbidden,
    Remembrancer,
    Unavailable,
    User,
    as_actor,
)
from remembrancer.bot.server import ServerLibrary
from remembrancer.chat.changes import MessageChanges
from remembrancer.chat.dispatch import ANSWERED_PRIVATELY, NO_ANSWER, ChatCommands
from remembrancer.testing import FakePlatform

__all__ = ["bot"]  # a fixture

CHAT = {"user": "discord:7", "agent": "Helper", "chat": "discord:99"}


async def test_commands_are_for_the_agent_and_the_chat_of_the_turns(bot: AsyncMemory) -> None:
    """The agent by its name, as in a turn; each reply in the platform's own markup and limit."""
    platform = FakePlatform(ChatCommands(bot, "Helper"), platform="discord")
    async with bot.turn("Hello", name="Ada", **CHAT) as turn:
        turn.answer("Hello Ada.")
    [added] = await platform.type("/memory add I like *tea*.", user="7", name="Ada", chat="99")
    assert "Remembered" in added
    assert "\\*tea\\*" in added
    assert platform.public["99"] == [ANSWERED_PRIVATELY]
    hits = (await bot.recall("tea", user="discord:7", agent="Helper")).hits
    assert hits[0].content == "I like *tea*."
    for number in range(9):
        await platform.type(f"/memory add Room {number} has {number + 3} chairs.", user="7")
    listed = await platform.type("/memory", user="7", name="Ada")
    assert len(listed) > 1
    assert max(map(len, listed)) <= platform.limit
    assert "Room 8" in "".join(listed)
    await platform.type("/memory export", user="7", name="Ada")
    assert b"Room 8" in platform.files["7"][0].content
    assert (await platform.type("/memory lits", user="7"))[0].endswith("list [category] [page]")
    [refused] = await platform.type("/memory show nothing", user="7")
    assert refused == "That did not work: no such memory."
    assert await platform.type("Do you remember tea?", user="7") == []
    await platform.type("/memory pause", user="7", name="Ada", chat="99")
    paused = "SELECT count(*) FROM conversations WHERE paused_at IS NOT NULL"
    assert rows(f"{paused} AND platform_conversation_id = '99'") == [(1,)]


async def test_changes_of_messages_find_those_of_the_turns(bot: AsyncMemory) -> None:
    """By the ids of the platform, as it has them; what is not stored stays so."""
    for number, said in (("11", "My boat is magenta."), ("12", "Bye.")):
        async with bot.turn(said, name="Ada", message_id=number, **CHAT):
            pass
    changes = MessageChanges(bot, "discord", "Helper")
    await changes.edit(99, 11, "My boat is viridian.")
    for chat, message in ((98, 11), (99, 13)):
        await changes.edit(chat, message, "Not there.")
        await changes.delete(chat, [message])
    contents = "SELECT content FROM messages ORDER BY position"
    assert rows(contents) == [("My boat is viridian.",), ("Bye.",)]
    await changes.delete(99, [13, 12])
    assert rows(contents) == [("My boat is viridian.",)]
    assert rows("SELECT platform_conversation_id FROM conversations") == [("99",)]


async def test_a_person_finds_the_chats_they_take_part_in(bot: AsyncMemory, api: Api) -> None:
    """By the platform's id, with a key of their own; a service finds those of its agent."""
    async with bot.turn("Hello", name="Ada", **CHAT) as turn:
        assert turn.agent is not None
        where = {"platform": "discord", "platform_conversation_id": "99"}
        where["agent_id"] = str(turn.agent.id)
    for who, status in (("7", 200), ("8", 404)):
        user = await api.memory.users.resolve(
            as_actor(), platform="discord", platform_user_id=who, display_name="Somebody"
        )
        for headers in (await api.key_of(user), api.service):
            found = await api.client.get(
                "/api/conversations/by-platform", params=where, headers=headers
            )
            assert found.status_code == (200 if headers is api.service else status)
    del where["agent_id"]
    found = await api.client.get(
        "/api/conversations/by-platform", params=where, headers=api.service
    )
    assert found.status_code == 404


async def test_bots_of_discord_take_the_memory_of_a_bot(bot: AsyncMemory) -> None:
    """As docs/chat.md shows it."""
    import discord as library
    from discord.ext import commands

    from remembrancer.chat import discord

    async with bot.turn("My boat is magenta.", name="Ada", message_id="11", **CHAT):
        pass
    client = commands.Bot("!", intents=library.Intents.none())
    discord.add_memory_command(client.tree, bot, "Helper")
    discord.add_message_changes(client, bot, "Helper")
    assert client.tree.get_command("memory") is not None
    [listener] = client.extra_events["on_raw_message_edit"]
    event: Any = SimpleNamespace(channel_id=99, message_id=11, data={"content": "It is viridian."})
    await listener(event)
    assert rows("SELECT content FROM messages") == [("It is viridian.",)]


async def test_a_memory_is_opened_before_the_first_command(memory: Remembrancer) -> None:
    """A bot is set up before its loop runs."""
    platform = FakePlatform(ChatCommands(AsyncMemory("./nowhere"), "Helper"))
    with pytest.raises(Unavailable, match="not open"):
        await platform.type("/memory", user="7")


async def test_the_key_of_a_person_is_the_mistake_of_the_bot(api: Api, ada: User) -> None:
    """The bot's log has it; a server that does not answer is told to the person."""
    key = (await api.key_of(ada))["Authorization"].removeprefix("Bearer ")
    transport = httpx2.ASGITransport(app=api.client._transport.app)  # type: ignore[attr-defined]
    async with AsyncClient("http://test", key, transport=transport) as client:
        platform = FakePlatform(ChatCommands(AsyncMemory.over(client)))
        with pytest.raises(Forbidden):
            await platform.type("/memory", user="7")
    async with AsyncClient("http://127.0.0.1:1", key) as client:
        platform = FakePlatform(ChatCommands(AsyncMemory.over(client)))
        [said] = await platform.type("/memory", user="7")
        assert said == NO_ANSWER


async def test_what_a_server_lacks_is_named(api: Api) -> None:
    """Its library has the nouns and verbs of the client alone."""
    library = ServerLibrary(AsyncClient("http://test"))
    with pytest.raises(AttributeError, match=r"a server has no tools\.select"):
        library.tools.select()
    assert not hasattr(library, "records")
