"""Models of answers, of the digest, and of where memories come from."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from remembrancer.memories.schemas import Memory
from remembrancer.recall.schemas import Hit


class Talk(BaseModel):
    """A conversation, as far as an answer names it."""

    id: UUID
    title: str
    platform: str | None


class Origin(BaseModel):
    """How a memory came up first: when, through which agent, and in which words of whom.

    The words are those of a message of the memory's owner; null if there is none, and if it left
    recall with a forgotten memory.
    """

    at: datetime
    source: str
    agent: str | None
    talk: Talk | None
    message_id: UUID | None
    words: str | None
    sender: str | None
    role: str | None


class Answer(BaseModel):
    """A recalled memory or message, with its origin and the agents that may read it."""

    hit: Hit
    origin: Origin | None
    talk: Talk | None
    readers: list[str]
    all_read: bool


class Answers(BaseModel):
    """The answers to a question, best first."""

    items: list[Answer]


class Access(BaseModel):
    """The last time that an agent read a memory, or a program without one."""

    agent: str | None
    at: datetime


class Story(BaseModel):
    """Why a memory is known, which agents may read it, and which did within a week."""

    origin: Origin | None
    readers: list[str]
    all_read: bool
    readings: Sequence[Access]


class Hub(BaseModel):
    """A memory with associations, and how many."""

    memory: Memory
    count: int


class Entry(BaseModel):
    """A memory in the digest, and when it came or goes."""

    memory: Memory
    at: datetime
    origin: Origin | None


class AgentCount(BaseModel):
    """How many memories came through an agent; null for those that came without one."""

    agent: str | None
    today: int
    week: int


class Digest(BaseModel):
    """What is new in a user's memory, and what leaves it, within a week."""

    counts: Sequence[AgentCount]
    new: Sequence[Entry]
    expiring: Sequence[Entry]
    forgotten: Sequence[Entry]
