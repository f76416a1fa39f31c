"""Conversations, who takes part, what was said, and summaries of it."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from remembrancer.db.tables.base import instant, metadata, owner, placement

# A conversation belongs to its participants, so it is keyed by its own id.
conversations = Table(
    "conversations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("agent_id", Uuid),
    Column("space_id", Uuid),
    Column("visibility", Text, nullable=False, server_default="private"),
    Column("title", Text, nullable=False, server_default=""),
    Column("platform", Text),
    Column("platform_conversation_id", Text),
    Column("opened_by", Uuid, nullable=False),
    # Taken under a row lock by each append: the reason positions have no gaps.
    Column("message_count", Integer, nullable=False, server_default="0"),
    # Every message up to this position has been summarised, or holds nothing to summarise.
    Column("summarised_to", Integer, nullable=False, server_default="0"),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
    CheckConstraint("visibility IN ('private', 'shared')", name="visibility"),
    Index(
        "uq_conversations_platform",
        "platform",
        "platform_conversation_id",
        "agent_id",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=text("platform_conversation_id IS NOT NULL"),
    ),
)

participants = Table(
    "participants",
    metadata,
    owner("user_id"),
    Column("conversation_id", Uuid, primary_key=True),
    instant("joined_at", default="now"),
    Index(None, "conversation_id"),
)

_taking_part = (
    ("owner_id", "conversation_id"),
    ("participants.user_id", "participants.conversation_id"),
)

messages = Table(
    "messages",
    metadata,
    owner(),
    Column("id", Uuid, primary_key=True),
    Column("conversation_id", Uuid, nullable=False),
    Column("position", Integer, nullable=False),
    *placement(),
    Column("role", Text, nullable=False),
    Column("sender_name", Text, nullable=False, server_default=""),
    Column("content", Text, nullable=False),
    Column("platform", Text),
    Column("platform_message_id", Text),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    instant("sent_at"),
    instant("created_at", default="now"),
    ForeignKeyConstraint(*_taking_part, ondelete="CASCADE"),
    CheckConstraint("role IN ('user', 'assistant', 'system', 'tool')", name="role"),
    CheckConstraint("visibility IN ('private', 'shared')", name="visibility"),
    Index("ix_messages_position", "conversation_id", "position"),
    Index("ix_messages_owner_position", "owner_id", "conversation_id", "position"),
)

chunks = Table(
    "chunks",
    metadata,
    owner(),
    Column("id", Uuid, primary_key=True),
    Column("conversation_id", Uuid, nullable=False),
    Column("range_start", Integer, nullable=False),
    Column("range_end", Integer, nullable=False),
    *placement(),
    Column("content", Text, nullable=False),
    instant("created_at", default="now"),
    ForeignKeyConstraint(*_taking_part, ondelete="CASCADE"),
    CheckConstraint("range_start <= range_end", name="range"),
    CheckConstraint("visibility IN ('private', 'shared')", name="visibility"),
    Index(
        "uq_chunks_range", "owner_id", "conversation_id", "range_start", "range_end", unique=True
    ),
)
