"""The guard on conversations: what of them may be stored."""

from collections.abc import Sequence

from remembrancer.conversations.schemas import ConversationCreate, MessageCreate
from remembrancer.guard.guard import Guard, ScreenResult


def messages(guard: Guard, sent: Sequence[MessageCreate]) -> list[ScreenResult[MessageCreate]]:
    """Return messages as they may be stored: all of them, with marks for what may not be."""
    texts = ("content", "sender_name", "metadata")
    return [
        guard.screen(message, texts, redact_only=True, prefix=f"messages.{index}.")
        for index, message in enumerate(sent)
    ]


def conversation(guard: Guard, sent: ConversationCreate) -> ConversationCreate:
    """Return a new conversation as it may be stored."""
    return guard.screen(sent, ("title", "metadata"), redact_only=True).model
