"""Conversations, who takes part, what was said, and summaries of it."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
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
    # Set while nothing that is said here is to be remembered.
    instant("paused_at", null=True),
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
    # Said while remembering was paused: read with the conversation, and neither recalled,
    # summarised nor learnt from.
    Column("off_record", Boolean, nullable=False, server_default="false"),
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

# Which memories a conversation was told of at its start, in which version. `agent_id` is that
# of shared knowledge's owner where there is no agent.
frozen_contexts = Table(
    "frozen_contexts",
    metadata,
    owner(),
    Column("conversation_id", Uuid, primary_key=True),
    Column("agent_id", Uuid, primary_key=True),
    Column("time_zone", Text, nullable=False),
    Column("budget", Integer, nullable=False),
    # Of the text as it was: as long as it is that, its tokens need not be counted again.
    Column("tokens", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("left_out", Integer, nullable=False),
    instant("frozen_at"),
)

_frozen = ("owner_id", "conversation_id", "agent_id")

frozen_lines = Table(
    "frozen_lines",
    metadata,
    owner(),
    Column("conversation_id", Uuid, primary_key=True),
    Column("agent_id", Uuid, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("memory_owner_id", Uuid, nullable=False),
    Column("memory_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("subject", Text),
    Column("shared", Boolean, nullable=False),
    Column("quoted", Boolean, nullable=False),
    Column("mentions", Integer, nullable=False),
    Column("mentioned_in", Integer, nullable=False),
    instant("created_at"),
    ForeignKeyConstraint(
        _frozen, [f"frozen_contexts.{name}" for name in _frozen], ondelete="CASCADE"
    ),
    Index("ix_frozen_lines_memory", "memory_owner_id", "memory_id"),
)
