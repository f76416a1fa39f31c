"""Rows of recall. Named tuples, because a recall reads hundreds of them."""

from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID


class AskerRow(NamedTuple):
    """The asker and the store. Without an agent, the facts of the scope are null."""

    model: str | None
    user_known: bool
    associated: bool
    """Whether there are associations that the asker may see."""
    many_shared: bool
    """Whether there is more shared knowledge than is compared."""
    agent_default: str | None
    preference: bool | None
    toggle: bool | None
    policy_allows: bool | None
    spaces: dict[str, str] | None
    """Names of the asker's spaces by id, null without any."""
    authors: dict[str, str] | None
    """Names of the authors of what is shared there, by id."""


class GraphPath(TypedDict):
    """The strongest path of the graph walk to a candidate."""

    seed: int
    """The candidate at its start."""
    standing: float
    """Standing of the seed in the arm that ranks it highest, 0-1."""
    strength: float
    """Product of the path's weights and decays, 0-1."""
    path: list[dict[str, Any]]
    """Each memory on the way, and the association that leads on from it."""


class CandidateRow(NamedTuple):
    """A candidate of the hybrid search: a result of an arm, or a neighbour of one.

    A hit that was ranked in memory has no distances, words and numbers of items here.
    """

    id: int
    owner_id: UUID
    distance: float | None
    """Cosine distance to the question, 0-2; null without a vector."""
    name_distances: list[float] | None
    """Cosine distance to each name in the question; null without names."""
    exact: bool
    """Whether the text equals the question."""
    content_hash: bytes
    words: list[int] | None
    """The question's words in the item, numbered from 0; again for each further term of a word."""
    scores: list[float] | None
    """BM25 share of each of ``words``."""
    items: float
    """Number of items that the asker sees."""
    source_type: Literal["memory", "message", "chunk"]
    source_id: UUID | None
    memory_id: str | None
    conversation_id: UUID | None
    position: int | None
    at: datetime
    importance: float | None
    path: GraphPath | None
    """Null if the walk did not reach it, or it ranks higher without the walk."""
    revisions: list[dict[str, Any]] | None
    traits: int
    """What its text shows by itself (search/traits.py)."""
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    content: str
    role: str | None
    sender_name: str | None
    kind: str | None
    category: str | None
    subject: str | None
    pinned: bool | None
    version: int | None
    access_count: int | None
    external_id: str | None
    weight: float | None
    """Importance of a memory after decay, 0-1."""
    valid_from: datetime | None
    valid_to: datetime | None
    message_id: UUID | None
    """The message that a memory is from."""
    range_start: int | None
    """Position of the first message of a chunk."""
    range_end: int | None
    """Position of its last message."""


class OrderedRow(NamedTuple):
    id: int
    traits: int
    source_type: Literal["memory", "message", "chunk"]
    owner_id: UUID
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    conversation_id: UUID | None
    position: int | None
    at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    memory_id: str | None
    source_id: UUID | None
    kind: str | None
    category: str | None
    importance: float | None
    subject: str | None
    pinned: bool | None
    access_count: int | None
    external_id: str | None
    version: int | None
    content: str
