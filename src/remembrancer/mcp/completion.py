"""Values for the arguments of resource templates and prompts. Pure."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from remembrancer.memories.schemas import Category, Memory

if TYPE_CHECKING:
    from remembrancer.agents.schemas import Agent
    from remembrancer.conversations.schemas import Conversation
    from remembrancer.places.schemas import Place

MOST_VALUES: Final = 100
"""The most that an answer of the protocol may have."""
Choice = tuple[str, str]
"""A value, and a text that a client may have typed instead."""
CATEGORIES: Final[Sequence[Choice]] = tuple((category.value, "") for category in Category)


def memories(found: Iterable[Memory]) -> Sequence[Choice]:
    return [(memory.id, memory.content) for memory in found]


def places(found: Iterable["Place"]) -> Sequence[Choice]:
    return [(place.place_id, place.place_name) for place in found]


def conversations(found: Iterable["Conversation"]) -> Sequence[Choice]:
    return [(str(conversation.id), "") for conversation in found]


def agents(found: Iterable["Agent"]) -> Sequence[Choice]:
    return [(str(agent.id), agent.name) for agent in found]


def matching(choices: Iterable[Choice], typed: str) -> list[str]:
    """Return the values that begin with what was typed, then those whose text has it."""
    sought = typed.casefold()
    begin, contain = [], []
    for value, text in choices:
        if value.casefold().startswith(sought):
            begin.append(value)
        elif sought in text.casefold():
            contain.append(value)
    return begin + contain
