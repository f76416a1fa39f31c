"""Conversations, their participants and messages, summaries, and frozen contexts."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Index,
    Integer,
    LargeBinary,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table

# A conversation belongs to its participants, so it is keyed by its own id.
conversations = table(
    "conversations",
    base.keys(Uuid, "id"),
    base.placement(),
    required(Text, "title", default=""),
    optional(Text, "platform", "platform_conversation_id"),
    required(Uuid, "opened_by"),
    # An append changes the count under a row lock, so positions have no gaps. Messages up to
    # `summarised_to` are summarised, or have nothing to summarise.
    required(Integer, "message_count", "summarised_to", default="0"),
    # More messages than a window without a summary. A column of its own, so that the index of it
    # is not written with each message.
    Column(
        "is_behind",
        Boolean,
        Computed("message_count - summarised_to > 20", persisted=True),
        nullable=False,
    ),
    # Set while the conversation is not remembered.
    base.optional_instants("paused_at"),
    required(JSONB, "metadata", default="{}"),
    base.instants("created_at", "updated_at"),
    base.one_of("visibility", "private", "shared"),
    base.unique_index(
        "uq_conversations_platform",
        "platform",
        "platform_conversation_id",
        "agent_id",
        where="platform_conversation_id IS NOT NULL",
    ),
    base.index("ix_conversations_behind", "id", where="is_behind"),
)

participants = table(
    "participants",
    base.owner("user_id"),
    base.keys(Uuid, "conversation_id"),
    base.instants("joined_at"),
    base.index(None, "conversation_id"),
)

messages = table(
    "messages",
    base.owner(),
    base.keys(Uuid, "id"),
    required(Uuid, "conversation_id"),
    required(Integer, "position"),
    base.placement(),
    required(Text, "role"),
    required(Text, "sender_name", default=""),
    required(Text, "content"),
    optional(Text, "platform", "platform_message_id"),
    # Sent during a pause: read with the conversation, but not recalled, summarised or extracted.
    required(Boolean, "off_record", default="false"),
    required(JSONB, "metadata", default="{}"),
    base.given_instants("sent_at"),
    base.instants("created_at"),
    base.optional_instants("edited_at"),
    base.part_of("participants", owner_id="user_id", conversation_id="conversation_id"),
    base.one_of("role", "user", "assistant", "system", "tool"),
    base.one_of("visibility", "private", "shared"),
    # Few pages, since messages lie in the order in which they were stored.
    Index("ix_messages_created", "created_at", postgresql_using="brin"),
    base.index("ix_messages_position", "conversation_id", "position"),
    base.index("ix_messages_owner_position", "owner_id", "conversation_id", "position"),
    # Appends hold their conversation, so that the id is unique in it for all owners together.
    base.unique_index(
        "uq_messages_platform",
        "conversation_id",
        "platform_message_id",
        "owner_id",
        where="platform_message_id IS NOT NULL",
    ),
)

_range = ("owner_id", "conversation_id", "range_start", "range_end")
chunks = table(
    "chunks",
    base.owner(),
    base.keys(Uuid, "id"),
    required(Uuid, "conversation_id"),
    required(Integer, "range_start", "range_end"),
    base.placement(),
    required(Text, "content"),
    # Set while a job makes the summary anew. Its content is empty meanwhile.
    required(Boolean, "stale", default="false"),
    base.instants("created_at"),
    base.part_of("participants", owner_id="user_id", conversation_id="conversation_id"),
    CheckConstraint("range_start <= range_end", name="range"),
    base.one_of("visibility", "private", "shared"),
    Index("uq_chunks_range", *_range, unique=True),
    base.index("ix_chunks_stale", "conversation_id", where="stale"),
)

# The memories, with versions, that a conversation received at its start. Without an agent,
# `agent_id` is the owner of shared knowledge.
frozen_contexts = table(
    "frozen_contexts",
    base.owner(),
    base.keys(Uuid, "conversation_id", "agent_id"),
    required(Text, "time_zone"),
    # The tokens are those of the text with this digest.
    required(Integer, "budget", "tokens", "left_out"),
    required(LargeBinary, "digest"),
    base.given_instants("frozen_at"),
    base.index(None, "conversation_id"),
)

_frozen = {name: name for name in ("owner_id", "conversation_id", "agent_id")}
frozen_lines = table(
    "frozen_lines",
    base.owner(),
    base.keys(Uuid, "conversation_id", "agent_id"),
    base.keys(Integer, "position"),
    required(Uuid, "memory_owner_id"),
    required(Text, "memory_id", "kind", "category"),
    optional(Text, "subject"),
    required(Integer, "version", "mentions", "mentioned_in"),
    required(Boolean, "shared", "quoted"),
    base.given_instants("created_at"),
    base.part_of("frozen_contexts", **_frozen),
    base.index("ix_frozen_lines_memory", "memory_owner_id", "memory_id"),
)
