"""Commands on any platform: find the user, run the command, send the reply."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol
from uuid import UUID

from remembrancer.access import STAFF, Actor, as_actor
from remembrancer.app import Remembrancer
from remembrancer.bot.memory import AsyncMemory
from remembrancer.bot.names import BotAgent
from remembrancer.bot.server import ServerLibrary
from remembrancer.chat.handler import CommandHandler, Location, refusal
from remembrancer.chat.memories import ChatMemory
from remembrancer.chat.parser import Command, ParseError, parse
from remembrancer.chat.replies import File, Reply, Span, plain_reply, plain_text, split_messages
from remembrancer.client import AsyncClient
from remembrancer.conversations.schemas import ChatCommand, ChatReply, ConversationCreate
from remembrancer.errors import Forbidden, NotFound, RemembrancerError, Unauthenticated, Unavailable
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import validate

log = logging.getLogger(__name__)

ANSWERED_PRIVATELY = "I have answered you privately."
LONGEST: Final = 100_000
"""Characters of one answer of a server, which are split here: only here is the markup known."""
NO_ANSWER: Final = "The memory does not answer just now. Try again later."
UNREACHABLE = "Please write to me privately first. I do not show memories in a group."


class NotReachableError(Exception):
    """The platform cannot send this person a private message."""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message from a user of a platform."""

    platform_user_id: str
    display_name: str
    chat_id: str
    """The platform's id of the channel or chat."""
    private: bool
    """Whether only this user and the bot can read the chat."""
    text: str


class Messenger(Protocol):
    """Sends replies on one platform."""

    platform: str
    limit: int
    """The longest message, as ``length`` counts."""

    def markup(self, span: Span) -> str:
        """Return a span in the platform's markup, with special characters escaped."""

    def length(self, text: str) -> int:
        """Return the length of a message, as the platform counts."""

    async def send_private(self, message: IncomingMessage, text: str) -> None:
        """Send a private reply; raise ``NotReachableError`` if the platform cannot."""

    async def send_file(self, message: IncomingMessage, file: File) -> None:
        """Send a file privately."""

    async def send_to_chat(self, message: IncomingMessage, text: str) -> None:
        """Send a reply to the chat of a message."""


class ChatCommands:
    """Answers ``/memory`` on any platform, for one agent."""

    def __init__(
        self,
        memory: Remembrancer | AsyncMemory,
        agent: BotAgent | None = None,
        service: Actor | None = None,
    ) -> None:
        self._memory = ChatMemory(memory, agent)
        self._service = service or as_actor()

    async def serve(self, messenger: Messenger, message: IncomingMessage) -> bool:
        """Answer a command privately; return false if the message is not a command.

        A group sees only that there is an answer. Raises ``Unavailable`` if the memory is not
        open, and what a server answers to a key that is none of a service.
        """
        command = parse(message.text)
        if command is None:
            return False
        name = message.display_name.strip()[:200] or message.platform_user_id
        reply = await self._reply(messenger.platform, replace(message, display_name=name), command)
        try:
            for text in split_messages(reply, messenger.markup, messenger.limit, messenger.length):
                await messenger.send_private(message, text)
            if reply.file is not None:
                await messenger.send_file(message, reply.file)
        except NotReachableError:
            await messenger.send_to_chat(message, messenger.markup(Span(UNREACHABLE)))
        else:
            if not message.private:
                await messenger.send_to_chat(message, messenger.markup(Span(ANSWERED_PRIVATELY)))
        return True

    async def _reply(
        self, platform: str, message: IncomingMessage, command: Command | ParseError
    ) -> Reply:
        library, service = self._memory.library, replace(self._service, entry_point=platform)
        if isinstance(library, ServerLibrary):
            try:
                agent_id = await self._memory.agent_id(service)
                return await _ask(library.client, platform, message, agent_id)
            except (Forbidden, Unauthenticated):
                raise  # the key of the bot: nothing that a person could mend
            except Unavailable as error:
                log.warning("a command was not answered: %s", error)
                return plain_reply(NO_ANSWER)
            except RemembrancerError as error:
                return refusal(error)
        location = await _location(
            library, service, platform, message, command, await self._memory.agent_id(service)
        )
        reply = await CommandHandler(library).answer(location, message.text)
        assert reply is not None
        return reply


async def _ask(
    client: AsyncClient, platform: str, message: IncomingMessage, agent_id: UUID | None
) -> Reply:
    """Return what a server replies; its ``chat`` is what ``serve`` says too."""
    command = validate(
        ChatCommand,
        platform=platform,
        platform_user_id=message.platform_user_id,
        display_name=message.display_name,
        chat_id=message.chat_id,
        text=message.text,
        private=message.private,
        agent_id=agent_id,
        longest=LONGEST,
    )
    answer = await client.chat.command(command)
    file = None
    if answer.file is not None:
        file = File(answer.file_name or "memory.jsonl", answer.file.encode())
    lines = [line for text in answer.private for line in text.split("\n")]
    return Reply([[Span(line)] for line in lines], file)


async def _location(
    app: Remembrancer,
    service: Actor,
    platform: str,
    message: IncomingMessage,
    command: Command | ParseError,
    agent_id: UUID | None,
) -> Location:
    identity = validate(
        ResolveUser,
        platform=platform,
        platform_user_id=message.platform_user_id,
        display_name=message.display_name,
    )
    actor = service.acting_for((await app.users.resolve(service, identity)).id, agent_id)
    if not isinstance(command, Command) or command.name not in {"add", "pause", "resume"}:
        return Location(actor)
    if command.name == "add":
        with suppress(NotFound):
            found = await app.conversations.find(actor, platform, message.chat_id)
            return Location(actor, found.id)
        return Location(actor)
    conversation = await app.conversations.open(
        actor,
        validate(
            ConversationCreate,
            agent_id=agent_id,
            platform=platform,
            platform_conversation_id=message.chat_id,
        ),
    )
    return Location(actor, conversation.id)


class _Collected:
    """Puts replies into one answer, for a bot that sends them itself."""

    def __init__(self, command: ChatCommand) -> None:
        self.platform = command.platform
        self.limit = command.longest
        self.reply = ChatReply(is_command=True)

    def markup(self, span: Span) -> str:
        return plain_text(span)

    def length(self, text: str) -> int:
        return len(text)

    async def send_private(self, message: IncomingMessage, text: str) -> None:  # noqa: ARG002
        self.reply.private.append(text)

    async def send_file(self, message: IncomingMessage, file: File) -> None:  # noqa: ARG002
        self.reply.file_name, self.reply.file = file.name, file.content.decode()

    async def send_to_chat(self, message: IncomingMessage, text: str) -> None:  # noqa: ARG002
        self.reply.chat = text


async def reply_to(app: Remembrancer, actor: Actor, command: ChatCommand) -> ChatReply:
    """Return what a bot sends for a message, as plain text. For services and admins."""
    actor.require(*STAFF)
    collected = _Collected(command)
    message = IncomingMessage(
        command.platform_user_id,
        command.display_name,
        command.chat_id,
        private=command.private,
        text=command.text,
    )
    commands = ChatCommands(app, command.agent_id, actor)
    return (
        collected.reply if await commands.serve(collected, message) else ChatReply(is_command=False)
    )
