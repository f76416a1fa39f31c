"""Memories before they are stored: drafts and imports, and their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remembrancer import tokens
from remembrancer.access import Actor
from remembrancer.ids import new_uuid
from remembrancer.memories import rules, screening
from remembrancer.memories.rules import Destination, MentionSource
from remembrancer.memories.schemas import MemoryCreate, Outcome, Review, Status
from remembrancer.search.index import SearchDocument, Source


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement ready to be stored, with its destination."""

    statement: MemoryCreate
    text: SearchDocument
    destination: Destination
    address: Sequence[str] | None = None
    """Address of a record."""
    recalled: bool = True
    """Whether recall and prompts may have it."""

    @property
    def hash(self) -> bytes:
        return statement_hash(self.statement, self.address)

    @property
    def subject_key(self) -> str | None:
        return rules.subject_key(self.statement.subject)


def statement_hash(statement: MemoryCreate, address: Sequence[str] | None = None) -> bytes:
    return rules.statement_hash(
        statement.content,
        statement.valid_from,
        statement.valid_to,
        statement.place_id,
        address,
        statement.external_id,
    )


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory from elsewhere, with its id, time, status and mentions there."""

    memory_id: str
    statement: MemoryCreate
    text: SearchDocument
    at: datetime
    status: Status
    mentions: Sequence[MentionSource]
    address: Sequence[str] | None = None
    """Address of a record."""
    recalled: bool = True
    """Whether recall and prompts may have it."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of one statement. ``memory_id`` is the new, mentioned or similar memory."""

    outcome: Outcome
    memory_id: str
    destination: Destination

    @property
    def owner_id(self) -> UUID:
        return self.destination.placement.owner_id


def memory_row(
    memory_id: str,
    draft: Draft,
    source: str,
    at: datetime,
    *,
    status: Status | None = None,
    mention_count: int = 1,
) -> dict[str, Any]:
    statement, placement = draft.statement, draft.destination.placement
    importance = statement.importance
    if importance is None:
        importance = rules.DEFAULT_IMPORTANCE[statement.kind]
    quoted = screening.is_quoted(statement)
    default_status = Status.PENDING if statement.pending else Status.ACTIVE
    return {
        "owner_id": placement.owner_id,
        "id": memory_id,
        "agent_id": placement.agent_id,
        "space_id": placement.space_id,
        "visibility": placement.visibility.value,
        "kind": statement.kind.value,
        "category": statement.category.value,
        "subject": statement.subject,
        "subject_key": draft.subject_key,
        "content": statement.content,
        "content_hash": draft.hash,
        "tokens": tokens.count(statement.content),
        "place_id": statement.place_id,
        "address": None if draft.address is None else list(draft.address),
        "status": (status or default_status).value,
        "recalled": draft.recalled,
        "review": (Review.PENDING if quoted or statement.pending else Review.NONE).value,
        "revises": statement.revises,
        "version": 1,
        "importance": importance,
        "pinned": statement.pinned,
        "metadata": statement.metadata,
        "valid_from": statement.valid_from,
        "valid_to": statement.valid_to,
        "expires_at": statement.expires_at,
        "external_id": statement.external_id,
        "quoted": quoted,
        "source": source,
        "platform": statement.platform,
        "conversation_id": statement.conversation_id,
        "message_id": statement.message_id,
        "mention_count": mention_count,
        "access_count": 0,
        "created_at": at,
        "updated_at": at,
    }


def item_source(row: Mapping[str, Any]) -> Source:
    """Return the source of the item of a memory, whose version is of ``created_at``."""
    names = ("conversation_id", "valid_from", "valid_to", "kind", "category", "importance")
    return Source(
        source_type="memory",
        at=row["created_at"],
        recorded_at=row["created_at"],
        memory_id=row["id"],
        memory_version=row["version"],
        active=rules.is_in_use(row["status"], row["recalled"]),
        **{name: row[name] for name in names},
    )


def mention_row(
    actor: Actor,
    owner_id: UUID,
    memory_id: str,
    source: str,
    mention: MentionSource,
    *,
    wording: str | None = None,
    platform: str | None = None,
) -> dict[str, Any]:
    """Without ``wording``, the mention has the words of the memory."""
    conversation_id, message_id, at = mention
    return {
        "owner_id": owner_id,
        "memory_id": memory_id,
        "id": new_uuid(),
        "wording": wording,
        "agent_id": actor.agent_id,
        "source": source,
        "platform": platform,
        "conversation_id": conversation_id,
        "message_id": message_id,
        "mentioned_at": at,
    }
