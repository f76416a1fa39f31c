"""Memories with their versions, mentions and associations."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from remembrancer.db.tables.base import instant, metadata, owner, placement


def _source_columns() -> list[Column[object]]:
    return [
        Column("source", Text, nullable=False, server_default="manual"),
        Column("platform", Text),
        Column("conversation_id", Uuid),
        Column("message_id", Uuid),
    ]


memories = Table(
    "memories",
    metadata,
    owner(),
    Column("id", Text, primary_key=True),
    *placement(),
    Column("kind", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("subject", Text),
    Column("subject_key", Text),
    Column("content", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    # Counted when it is written: a budget is then a sum.
    Column("tokens", Integer, nullable=False),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("importance", Float, nullable=False),
    Column("status", Text, nullable=False, server_default="active"),
    # Whether recall and prompts may have it while it is active.
    Column("recalled", Boolean, nullable=False, server_default="true"),
    # The twin of `memories.rules.is_in_use`: whether recall and prompts have it now.
    Column(
        "in_use",
        Boolean,
        Computed("status = 'active' AND recalled", persisted=True),
        nullable=False,
    ),
    Column("review", Text, nullable=False, server_default="none"),
    # The owner's memory of which a pending one becomes a version once it is confirmed.
    Column("revises", Text),
    Column("pinned", Boolean, nullable=False, server_default="false"),
    Column("place_id", Text),
    # What a program knows it by: a list, so that no two addresses can look alike when joined.
    Column("address", ARRAY(Text)),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    instant("valid_from", null=True),
    instant("valid_to", null=True),
    *_source_columns(),
    Column("mention_count", Integer, nullable=False, server_default="1"),
    Column("access_count", Integer, nullable=False, server_default="0"),
    instant("last_accessed_at", null=True),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
    instant("forgotten_at", null=True),
    CheckConstraint("visibility IN ('private', 'shared')", name="visibility"),
    CheckConstraint(
        "status IN ('active', 'inactive', 'evicted', 'forgotten', 'pending')", name="status"
    ),
    CheckConstraint("review IN ('none', 'pending', 'confirmed', 'rejected')", name="review"),
    CheckConstraint("importance BETWEEN 0 AND 1", name="importance"),
    # The same statement in the same place is one memory, whoever writes it at the same time.
    Index(
        "uq_memories_statement",
        "owner_id",
        "agent_id",
        "space_id",
        "content_hash",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=text("status = 'active'"),
    ),
    Index(
        "uq_memories_place",
        "owner_id",
        "agent_id",
        "space_id",
        "place_id",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=text("status = 'active' AND place_id IS NOT NULL"),
    ),
    Index(
        "ix_memories_address",
        "owner_id",
        "address",
        postgresql_where=text("address IS NOT NULL"),
    ),
    Index("ix_memories_created", "owner_id", "created_at", "id"),
    Index("ix_memories_subject", "owner_id", "subject_key"),
    Index(
        "ix_memories_shared_space",
        "space_id",
        postgresql_where=text("visibility = 'shared'"),
    ),
)

_memory_key = ("owner_id", "memory_id"), ("memories.owner_id", "memories.id")
# By message alone: whoever erases one looks for what rests on it, whosever that is.
_of_messages = text("message_id IS NOT NULL")

memory_versions = Table(
    "memory_versions",
    metadata,
    owner(),
    Column("memory_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("content", Text, nullable=False),
    instant("recorded_at", default="now"),
    instant("superseded_at", null=True),
    instant("valid_from", null=True),
    instant("valid_to", null=True),
    *_source_columns(),
    ForeignKeyConstraint(*_memory_key, ondelete="CASCADE"),
    Index("ix_memory_versions_message", "message_id", postgresql_where=_of_messages),
)

mentions = Table(
    "mentions",
    metadata,
    owner(),
    Column("memory_id", Text, primary_key=True),
    Column("id", Uuid, primary_key=True),
    # What was said, where a near duplicate was worded differently.
    Column("wording", Text),
    Column("agent_id", Uuid),
    *_source_columns(),
    instant("mentioned_at", default="now"),
    ForeignKeyConstraint(*_memory_key, ondelete="CASCADE"),
    Index("ix_mentions_message", "message_id", postgresql_where=_of_messages),
)

_edges_from = "owner_id", "memory_id", "weight", "target_owner_id", "target_id", "relation"
_edges_to = "target_owner_id", "target_id", "owner_id", "weight", "memory_id", "relation"
_revises = text("relation IN ('updates', 'contradicts')")

associations = Table(
    "associations",
    metadata,
    owner(),
    Column("memory_id", Text, primary_key=True),
    Column("target_owner_id", Uuid, primary_key=True),
    Column("target_id", Text, primary_key=True),
    Column("relation", Text, primary_key=True),
    Column("weight", Float, nullable=False, server_default="0.5"),
    # Set where the memory it leads from is shared in a space, so that row security and walks
    # need no look-up, which would be one for every association of a popular memory.
    Column("shared_space_id", Uuid),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
    ForeignKeyConstraint(*_memory_key, ondelete="CASCADE"),
    CheckConstraint("weight BETWEEN 0 AND 1", name="weight"),
    CheckConstraint(
        "relation IN ('related_to', 'updates', 'contradicts', 'caused_by', 'result_of', 'part_of')",
        name="relation",
    ),
    # Each node's strongest edges first, its own and those of the owners a walk may look at.
    # Whole edges, so that which of equals a walk takes does not depend on the order of rows.
    Index("ix_associations_strongest", *_edges_from),
    Index("ix_associations_target", *_edges_to),
    Index(
        "ix_associations_shared",
        "shared_space_id",
        "target_owner_id",
        "target_id",
        "weight",
        "owner_id",
        "memory_id",
        "relation",
        postgresql_where=text("shared_space_id IS NOT NULL"),
    ),
    # The same for what a hit is shown with, which may hide among thousands of other edges.
    Index("ix_associations_revising", *_edges_from, postgresql_where=_revises),
    Index("ix_associations_revised", *_edges_to, postgresql_where=_revises),
)
