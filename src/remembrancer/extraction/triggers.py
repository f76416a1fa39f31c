"""When to summarise, which messages, and for which readers. Pure."""

from collections.abc import Collection, Sequence
from uuid import UUID

from remembrancer.conversations.rules import WINDOW

MOST_READERS = 10
"""Up to so many participants, each gets a copy of a summary; else only those who spoke."""
BYTES_A_TOKEN = 4
"""Estimate of a token's size: the same in SQL."""


def estimated_tokens(text: str) -> int:
    return len(text.encode()) // BYTES_A_TOKEN + 1


def batch_size(sizes: Sequence[int], *, messages: int, tokens: int) -> int:
    """Return how many of the oldest messages go into the next summary; at least one.

    ``sizes`` are the tokens of the messages outside of the window, oldest first.
    """
    total = 0
    for count, size in enumerate(sizes[:messages]):
        total += size
        if count and total > tokens:
            return count
    return min(len(sizes), messages)


def unsummarised(message_count: int, summarised_to: int) -> int:
    """Return the number of unsummarised messages outside the window."""
    return max(message_count - WINDOW - summarised_to, 0)


def readers(
    participants: Collection[UUID], speakers: Sequence[UUID], *, shared: bool
) -> Sequence[UUID]:
    """Return who gets a copy of a summary; ``speakers`` are the owners of its messages.

    A conversation that is shared in a space needs one copy, that of the first speaker. Else each
    participant gets one; in a large group, each speaker.
    """
    unique = list(dict.fromkeys(speakers))
    if shared:
        return unique[:1]
    if len(participants) > MOST_READERS:
        return sorted(unique)
    return sorted({*participants, *unique})
