"""Which messages are summarised next. Pure."""

from collections.abc import Collection, Sequence
from uuid import UUID

from remembrancer.conversations.rules import WINDOW

MOST_READERS = 10
"""Participants up to whom each gets a copy of a summary, whether or not they spoke in it."""


BYTES_A_TOKEN = 4
"""How size is estimated: exact for no model, near enough for all, and the same in SQL."""


def tokens_in(words: str) -> int:
    """Return about how many tokens a text is."""
    return len(words.encode()) // BYTES_A_TOKEN + 1


def batch_size(sizes: Sequence[int], *, messages: int, tokens: int) -> int:
    """Return how many of the oldest messages go into the next summary; at least one.

    ``sizes`` are the tokens of those that have left the window, oldest first.
    """
    total = 0
    for count, size in enumerate(sizes[:messages]):
        total += size
        if count and total > tokens:
            return count
    return min(len(sizes), messages)


def beyond_window(message_count: int, summarised_to: int) -> int:
    """Return how many messages have left the window and have no summary."""
    return max(message_count - WINDOW - summarised_to, 0)


def readers(
    participants: Collection[UUID], speakers: Sequence[UUID], *, shared: bool
) -> Sequence[UUID]:
    """Return who gets a copy of a summary; ``speakers`` are the owners of its messages.

    In a conversation that is shared in a space one copy is there for all its members: that
    of whoever spoke first. Else those who take part; of a crowd, those who spoke.
    """
    spoke = list(dict.fromkeys(speakers))
    if shared:
        return spoke[:1]
    if len(participants) > MOST_READERS:
        return sorted(spoke)
    return sorted({*participants, *spoke})
