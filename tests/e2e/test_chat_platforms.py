"""The adapters, with the libraries they are for and no network."""

import re

import pytest

from remembrancer import Agent, ConversationCreate, MemoryCreate, Remembrancer, User, as_actor
from remembrancer.chat.discord import DiscordMessenger
from remembrancer.chat.discord import add_memory_command as add_to_discord
from remembrancer.chat.replies import Reply, Span, split_messages
from remembrancer.chat.telegram import TelegramMessenger
from remembrancer.chat.telegram import add_memory_command as add_to_telegram

MARKUP = {
    "telegram": re.compile(r"<(?!/?code>)|&(?!amp;|lt;|gt;)"),
    "discord": re.compile(r"(?<!\\)[*_~|>\[<]|@everyone"),
}
"""What a platform would act on, and no messenger writes."""
HOSTILE = "<b>&amp; *bold* _x_ `code` ||spoiler|| @everyone <@123> [a](http://b) > q"


class Bot:
    """What a Telegram bot sends; nobody is reachable while ``closed``."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.documents: list[tuple[str, str]] = []
        self.closed: set[str] = set()

    async def send_message(self, chat_id: str, text: str, parse_mode: str) -> None:
        from telegram.error import Forbidden

        assert parse_mode == "HTML"
        if chat_id in self.closed:
            raise Forbidden("bot can't initiate conversation with a user")
        self.sent.append((chat_id, text))

    async def send_document(self, chat_id: str, document: bytes, filename: str) -> None:
        assert document
        self.documents.append((chat_id, filename))


def telegram_update(text: str, *, group: bool) -> object:
    """An update as Telegram sends it, read by the library."""
    from telegram import Update

    chat = {"id": -5, "type": "group", "title": "g"} if group else {"id": 7, "type": "private"}
    end = len(text.split(maxsplit=1)[0])
    return Update.de_json(
        {
            "update_id": 1,
            "message": {
                "message_id": 1,
                "date": 1_800_000_000,
                "chat": chat,
                "from": {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L"},
                "text": text,
                "entities": [{"type": "bot_command", "offset": 0, "length": end}],
            },
        },
        None,
    )


async def telegram_typed(
    memory: Remembrancer, agent: Agent, bot: Bot, text: str, *, group: bool = False
) -> None:
    """Let an application of the library deal with an update."""
    from types import SimpleNamespace

    from telegram.ext import ApplicationBuilder

    application = ApplicationBuilder().token("1:x").updater(None).build()
    add_to_telegram(application, memory, agent.id)
    [[handler]] = application.handlers.values()
    await handler.callback(telegram_update(text, group=group), SimpleNamespace(bot=bot))


async def test_telegram_answers_privately_and_finds_the_same_person_again(
    memory: Remembrancer, agent: Agent
) -> None:
    """By their id, in the chat with them, wherever they typed."""
    bot = Bot()
    await telegram_typed(memory, agent, bot, "/memory add I like tea & <scones>")
    await telegram_typed(memory, agent, bot, "/memory@OurBot list", group=True)
    assert [chat for chat, _ in bot.sent] == ["7", "7", "-5"]
    assert "tea &amp; &lt;scones&gt;" in bot.sent[1][1]
    assert "tea" not in bot.sent[2][1]
    await telegram_typed(memory, agent, bot, "/memory export")
    assert bot.documents == [("7", "memory.jsonl")]
    user = await memory.users.find(as_actor(), "telegram", "7")
    assert user.display_name == "Ada L"


async def test_telegram_shows_no_memory_in_a_group_to_who_cannot_be_reached(
    memory: Remembrancer, agent: Agent
) -> None:
    """They are told to write first."""
    bot = Bot()
    await telegram_typed(memory, agent, bot, "/memory add I like tea")
    bot.closed = {"7"}
    await telegram_typed(memory, agent, bot, "/memory list", group=True)
    assert bot.sent[-1][0] == "-5"
    assert "privately first" in bot.sent[-1][1]


class Interaction:
    """A Discord interaction, as far as an answer needs one."""

    def __init__(self, *, guild: int | None) -> None:
        from types import SimpleNamespace

        self.user = SimpleNamespace(id=1844, display_name="Ada")
        self.channel_id, self.guild_id = 99, guild
        self.sent: list[str] = []
        self.files: list[str] = []
        self.response = SimpleNamespace(defer=self._defer)
        self.followup = SimpleNamespace(send=self._send)

    async def _defer(self, *, ephemeral: bool, thinking: bool) -> None:
        assert ephemeral

    async def _send(self, text: str = "", *, ephemeral: bool, **rest: object) -> None:
        assert ephemeral
        if file := rest.get("file"):
            self.files.append(file.filename)  # type: ignore[attr-defined]
        else:
            assert rest["allowed_mentions"].to_dict() == {"parse": []}  # type: ignore[attr-defined]
            self.sent.append(text)


async def test_discord_answers_so_that_nobody_else_sees_it(
    memory: Remembrancer, agent: Agent
) -> None:
    """As a slash command of the library's tree; mentions in a memory reach nobody."""
    import discord
    from discord import app_commands

    tree = app_commands.CommandTree(discord.Client(intents=discord.Intents.none()))
    add_to_discord(tree, memory, agent.id)
    command = tree.get_command("memory")
    assert isinstance(command, app_commands.Command)
    assert [parameter.name for parameter in command.parameters] == ["command"]

    async def typed(what: str) -> Interaction:
        interaction = Interaction(guild=5)
        await command.callback(interaction, what)  # type: ignore[call-arg,arg-type]
        return interaction

    assert "Remembered" in (await typed("add I like *tea* @everyone")).sent[0]
    [listed] = (await typed("list")).sent
    assert "\\*tea\\*" in listed
    assert "@everyone" not in listed
    assert (await typed("export")).files == ["memory.jsonl"]
    talk = await memory.conversations.open(
        as_actor((await memory.users.find(as_actor(), "discord", "1844")).id),
        ConversationCreate(agent_id=agent.id, platform="discord", platform_conversation_id="99"),
    )
    await typed("pause")
    paused = await memory.conversations.get(
        as_actor((await memory.users.find(as_actor(), "discord", "1844")).id), talk.id
    )
    assert paused.paused_at is not None


@pytest.mark.parametrize(
    "messenger", [TelegramMessenger(None), DiscordMessenger(None)], ids=["telegram", "discord"]
)
async def test_no_platform_gets_markup_from_a_memory_or_a_message_over_its_limit(
    memory: Remembrancer, ada: User, messenger: TelegramMessenger | DiscordMessenger
) -> None:
    """Whatever was remembered, and however much."""
    statements = [MemoryCreate(content=f"{n} {HOSTILE} 😀" * 8) for n in range(40)]
    await memory.memories.remember_many(as_actor(ada), statements)
    page = await memory.memories.list(as_actor(ada), limit=40)
    reply = Reply([[Span(one.id, "code"), Span(one.content)] for one in page.items])
    sent = split_messages(reply, messenger.markup, messenger.limit, messenger.length)
    assert len(sent) > 1
    for text in sent:
        assert messenger.length(text) <= messenger.limit
        assert not MARKUP[messenger.platform].search(text)
