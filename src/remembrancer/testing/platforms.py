"""A fake chat platform in memory."""

from collections.abc import Collection
from dataclasses import dataclass, field

from remembrancer.chat.dispatch import ChatCommands, IncomingMessage, NotReachableError
from remembrancer.chat.replies import File, Span


@dataclass
class FakePlatform:
    """A platform with the markup ``*bold*`` and ``_code_`` and a short limit.

    ``private`` has the private messages by platform user id, ``public`` the messages by chat, and
    ``files`` the files by platform user id. ``unreachable`` people cannot get private messages.
    """

    commands: ChatCommands
    platform: str = "fake"
    limit: int = 200
    unreachable: Collection[str] = ()
    private: dict[str, list[str]] = field(default_factory=dict)
    public: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, list[File]] = field(default_factory=dict)

    async def type(
        self, text: str, *, user: str, name: str = "", chat: str | None = None
    ) -> list[str]:
        """Send a command as ``user``; return the private answers.

        ``chat`` is the id of a group; without one, the chat is private.
        """
        before = len(self.private.get(user, []))
        incoming = IncomingMessage(
            user, name or user, chat or f"private-{user}", chat is None, text
        )
        await self.commands.serve(self, incoming)
        return self.private.get(user, [])[before:]

    def markup(self, span: Span) -> str:
        """Return a span in this platform's markup."""
        text = span.text.replace("*", "\\*").replace("_", "\\_")
        mark = {"plain": "", "bold": "*", "code": "_"}[span.style]
        return f"{mark}{text}{mark}"

    def length(self, text: str) -> int:
        """Return the length of a message."""
        return len(text)

    async def send_private(self, message: IncomingMessage, text: str) -> None:
        """Record a private message."""
        if message.platform_user_id in self.unreachable:
            raise NotReachableError
        self.private.setdefault(message.platform_user_id, []).append(text)

    async def send_file(self, message: IncomingMessage, file: File) -> None:
        """Record a private file."""
        self.files.setdefault(message.platform_user_id, []).append(file)

    async def send_to_chat(self, message: IncomingMessage, text: str) -> None:
        """Record a message in a chat."""
        self.public.setdefault(message.chat_id, []).append(text)
