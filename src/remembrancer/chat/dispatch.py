"""What every platform does with a command: who typed it, where, and how the answer gets back."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from remembrancer.app import Remembrancer, as_actor
from remembrancer.chat.handler import Commands, Place
from remembrancer.chat.parser import Command, parse
from remembrancer.chat.replies import File, Piece, messages
from remembrancer.conversations.schemas import ConversationCreate
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import made

PRIVATELY = "I have answered you privately."
CANNOT = "Please write to me privately first; I do not show memory in a group."


class NotReachableError(Exception):
    """A person who cannot be written to privately."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Something that somebody typed on a platform."""

    platform_user_id: str
    display_name: str
    chat_id: str
    """The channel or chat, as the platform names it."""
    private: bool
    """Whether nobody else reads along."""
    text: str


class Messenger(Protocol):
    """How answers get to people on one platform."""

    platform: str
    limit: int
    """Longest message."""

    def write(self, piece: Piece) -> str:
        """Return a piece in the platform's markup, its own characters escaped."""

    def length(self, text: str) -> int:
        """Return how long a message is, as the platform counts."""

    async def to_person(self, typed: Typed, text: str) -> None:
        """Send a message that this person alone reads; raise ``NotReachableError`` if it cannot."""

    async def file_to_person(self, typed: Typed, file: File) -> None:
        """Send a file that this person alone gets."""

    async def to_chat(self, typed: Typed, text: str) -> None:
        """Send a message to where it was typed."""


class ChatCommands:
    """Serves ``/memory`` on any platform, for one agent of one store."""

    def __init__(self, app: Remembrancer, agent_id: UUID | None = None) -> None:
        self._app = app
        self._agent_id = agent_id
        self._commands = Commands(app)

    async def serve(self, messenger: Messenger, typed: Typed) -> bool:
        """Answer a command, to its author alone; return false for what is none.

        In a group nothing of the answer is shown but that there is one.
        """
        command = parse(typed.text)
        if command is None:
            return False
        place = await self._place(messenger.platform, typed, command)
        reply = await self._commands.answer(place, typed.text)
        assert reply is not None
        try:
            for text in messages(reply, messenger.write, messenger.limit, messenger.length):
                await messenger.to_person(typed, text)
            if reply.file is not None:
                await messenger.file_to_person(typed, reply.file)
        except NotReachableError:
            await messenger.to_chat(typed, messenger.write(Piece(CANNOT)))
        else:
            if not typed.private:
                await messenger.to_chat(typed, messenger.write(Piece(PRIVATELY)))
        return True

    async def _place(self, platform: str, typed: Typed, command: object) -> Place:
        service = as_actor(entry_point=platform)
        who = made(
            ResolveUser,
            platform=platform,
            platform_user_id=typed.platform_user_id,
            display_name=typed.display_name.strip()[:200] or typed.platform_user_id,
        )
        user = await self._app.users.resolve(service, who)
        actor = as_actor(user, self._agent_id, entry_point=platform)
        if not isinstance(command, Command) or command.name not in {"pause", "resume"}:
            return Place(actor)
        opened = await self._app.conversations.open(
            actor,
            made(
                ConversationCreate,
                agent_id=self._agent_id,
                platform=platform,
                platform_conversation_id=typed.chat_id,
            ),
        )
        return Place(actor, opened.id)
