"""Commands on any platform: find the user, run the command, send the reply."""

from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from remembrancer.access import STAFF, Actor, as_actor
from remembrancer.app import Remembrancer
from remembrancer.chat.handler import CommandHandler, Location
from remembrancer.chat.parser import Command, parse
from remembrancer.chat.replies import File, Span, plain_text, split_messages
from remembrancer.conversations.schemas import ChatCommand, ChatReply, ConversationCreate
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import validate

ANSWERED_PRIVATELY = "I have answered you privately."
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
        self, app: Remembrancer, agent_id: UUID | None = None, service: Actor | None = None
    ) -> None:
        self._app = app
        self._agent_id = agent_id
        self._service = service or as_actor()
        self._commands = CommandHandler(app)

    async def serve(self, messenger: Messenger, message: IncomingMessage) -> bool:
        """Answer a command privately; return false if the message is not a command.

        A group sees only that there is an answer.
        """
        command = parse(message.text)
        if command is None:
            return False
        location = await self._location(messenger.platform, message, command)
        reply = await self._commands.answer(location, message.text)
        assert reply is not None
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

    async def _location(self, platform: str, message: IncomingMessage, command: object) -> Location:
        service = replace(self._service, entry_point=platform)
        identity = validate(
            ResolveUser,
            platform=platform,
            platform_user_id=message.platform_user_id,
            display_name=message.display_name.strip()[:200] or message.platform_user_id,
        )
        user = await self._app.users.resolve(service, identity)
        actor = service.acting_for(user.id, self._agent_id)
        if not isinstance(command, Command) or command.name not in {"add", "pause", "resume"}:
            return Location(actor)
        conversations = self._app.conversations
        if command.name == "add":
            found = await conversations.on_platform(actor, platform, message.chat_id)
            return Location(actor, found.id if found else None)
        conversation = await conversations.open(
            actor,
            validate(
                ConversationCreate,
                agent_id=self._agent_id,
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
