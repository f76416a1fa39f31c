"""A chat platform in memory."""

from collections.abc import Collection
from dataclasses import dataclass, field

from remembrancer.chat.dispatch import ChatCommands, NotReachableError, Typed
from remembrancer.chat.replies import File, Piece


@dataclass
class FakePlatform:
    """A platform whose markup is ``*bold*`` and ``_code_``, with a short limit.

    ``private`` has what each person was sent alone, by platform user id; ``public`` what was said
    in each chat. ``unreachable`` are people who cannot be written to.
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
        """Let somebody type something; return what they are sent alone.

        In ``chat``, a group, or privately.
        """
        before = len(self.private.get(user, []))
        typed = Typed(user, name or user, chat or f"private-{user}", chat is None, text)
        await self.commands.serve(self, typed)
        return self.private.get(user, [])[before:]

    def write(self, piece: Piece) -> str:
        """Return a piece in this platform's markup."""
        text = piece.text.replace("*", "\\*").replace("_", "\\_")
        mark = {"plain": "", "bold": "*", "code": "_"}[piece.style]
        return f"{mark}{text}{mark}"

    def length(self, text: str) -> int:
        """Return how long a message is."""
        return len(text)

    async def to_person(self, typed: Typed, text: str) -> None:
        """Keep a message to one person."""
        if typed.platform_user_id in self.unreachable:
            raise NotReachableError
        self.private.setdefault(typed.platform_user_id, []).append(text)

    async def file_to_person(self, typed: Typed, file: File) -> None:
        """Keep a file to one person."""
        self.files.setdefault(typed.platform_user_id, []).append(file)

    async def to_chat(self, typed: Typed, text: str) -> None:
        """Keep a message to a chat."""
        self.public.setdefault(typed.chat_id, []).append(text)
