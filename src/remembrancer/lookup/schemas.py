"""Models of answers, the digest, origins, the graph, the timeline, and what agents read."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, StringConstraints

from remembrancer.access import Scope
from remembrancer.associations.schemas import Association
from remembrancer.memories.schemas import Category, Memory, MemoryFilter
from remembrancer.moves.schemas import MoveResult
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.recall.schemas import Hit
from remembrancer.text import not_blank, one_line
from remembrancer.validation import Input


class Talk(BaseModel):
    """A conversation, as far as an answer names it."""

    id: UUID
    title: str
    platform: str | None


class Origin(BaseModel):
    """How a memory came up first: when, through which agent, and in which words of whom.

    The words are those of a message of the memory's owner; null if there is none, if it left recall
    with a forgotten memory, and if it was removed because it is old.
    """

    at: datetime
    source: str
    agent: str | None
    talk: Talk | None
    message_id: UUID | None
    words: str | None
    sender: str | None
    role: str | None
    message_removed: bool


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


class AgentCard(BaseModel):
    """An agent of a user, with how much it may read of them.

    ``vanish`` and ``appear`` are what it could no longer read, and what it could read then, if the
    user chose the other scope.
    """

    config: AgentMemoryConfig
    known: int
    private: int
    vanish: int
    appear: int
    used_at: datetime | None


class Part(BaseModel):
    """The number of some memories, and the newest of them."""

    count: int
    items: list[Memory]


class Comparison(BaseModel):
    """What two agents may read of a user: one alone, the other alone, both."""

    left: AgentMemoryConfig
    right: AgentMemoryConfig
    only_left: Part
    only_right: Part
    both: Part


class ScopeChange(BaseModel):
    """What a scope that a user may choose would change in what an agent reads.

    ``copies`` of the agent's own memories would be readable still if they were copied.
    """

    config: AgentMemoryConfig
    to: Scope
    vanish: Part
    appear: Part
    stay: int
    copies: int


class ScopeResult(BaseModel):
    """What an agent read before a change of its scope, and the copy that was made, if any."""

    earlier: AgentMemoryConfig
    copied: MoveResult | None


class IdName(BaseModel):
    """What an id is the id of, and its name."""

    kind: str
    name: str


class Person(BaseModel):
    """A person to choose. ``links`` are platform ids, for those who may see them."""

    id: UUID
    display_name: str
    links: Sequence[str]


class GraphNode(BaseModel):
    """A memory in the graph."""

    id: str
    user_id: UUID | None
    category: Category
    content: str
    importance: float


class Graph(BaseModel):
    """Memories with associations between them, the strongest first, and how many there are."""

    nodes: Sequence[GraphNode]
    edges: Sequence[Association]
    total: int


class TimelineEntry(BaseModel):
    """A memory: its content, that of then if it was known, and whether it is known now."""

    id: str
    content: str
    content_then: str | None
    known_now: bool
    at: datetime


class TimelinePart(BaseModel):
    """The newest memories of a part of the timeline, and how many there are."""

    items: Sequence[TimelineEntry]
    total: int


class Span(BaseModel):
    """A day, month or year, and how many memories were learnt, changed and forgotten in it."""

    start: date
    end: date
    learnt: int
    changed: int
    forgotten: int


class Timeline(BaseModel):
    """What was known at the end of a day, and what was learnt, changed and forgotten since.

    ``known.total + learnt.total - forgotten.total`` is what is known now. ``unit`` is the length of
    a span: ``day``, ``month`` or ``year``. Without memories there are no spans.
    """

    as_of: date
    first: date
    today: date
    unit: str
    spans: Sequence[Span]
    known: TimelinePart
    learnt: TimelinePart
    changed: TimelinePart
    forgotten: TimelinePart


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


class FilterName(Input):
    """The name of a saved filter, 1 to 60 characters."""

    name: Annotated[
        str, StringConstraints(max_length=60), AfterValidator(one_line), AfterValidator(not_blank)
    ]


class SavedFilter(BaseModel):
    """Filters of a user's memories under a name."""

    id: UUID
    name: str
    filters: MemoryFilter
