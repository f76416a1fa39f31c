"""Memories with their versions, mentions and associations."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    Index,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table


def _source() -> base.Columns:
    """Return the source of a statement: the entry point, and the message behind it."""
    return [
        *required(Text, "source", default="manual"),
        *optional(Text, "platform"),
        *optional(Uuid, "conversation_id", "message_id"),
    ]


_placement = ("owner_id", "agent_id", "space_id")

memories = table(
    "memories",
    base.owner(),
    base.keys(Text, "id"),
    base.placement(),
    required(Text, "kind", "category"),
    optional(Text, "subject", "subject_key"),
    required(Text, "content"),
    required(LargeBinary, "content_hash"),
    # Counted at each write, so that a budget is a sum.
    required(Integer, "tokens"),
    required(Integer, "version", default="1"),
    required(Float, "importance"),
    required(Text, "status", default="active"),
    # Whether recall and prompts may have it while it is active.
    required(Boolean, "recalled", default="true"),
    # The twin of `memories.rules.is_in_use`: whether recall and prompts have it now.
    Column(
        "in_use",
        Boolean,
        Computed("status = 'active' AND recalled", persisted=True),
        nullable=False,
    ),
    required(Text, "review", default="none"),
    # The owner's memory of which a pending one becomes a version once it is confirmed.
    optional(Text, "revises"),
    required(Boolean, "pinned", default="false"),
    optional(Text, "place_id"),
    # The address of a record: a list, so that no two addresses look alike when joined.
    optional(ARRAY(Text), "address"),
    required(JSONB, "metadata", default="{}"),
    base.optional_instants("valid_from", "valid_to"),
    _source(),
    required(Integer, "mention_count", default="1"),
    required(Integer, "access_count", default="0"),
    base.optional_instants("last_accessed_at"),
    base.instants("created_at", "updated_at"),
    base.optional_instants("forgotten_at", "expires_at"),
    # The id that its writer gave it.
    optional(Text, "external_id"),
    # Whether it reads like an instruction, found when it was written.
    required(Boolean, "quoted", default="false"),
    base.one_of("visibility", "private", "shared"),
    base.one_of("status", "active", "inactive", "evicted", "forgotten", "pending"),
    base.one_of("review", "none", "pending", "confirmed", "rejected"),
    CheckConstraint("importance BETWEEN 0 AND 1", name="importance"),
    # The same statement with the same placement is one memory, also for simultaneous writers.
    base.unique_index(
        "uq_memories_statement", *_placement, "content_hash", where="status = 'active'"
    ),
    base.unique_index(
        "uq_memories_place",
        *_placement,
        "place_id",
        where="status = 'active' AND place_id IS NOT NULL",
    ),
    base.index("ix_memories_address", "owner_id", "address", where="address IS NOT NULL"),
    base.index(
        "ix_memories_external_id", "owner_id", "external_id", where="external_id IS NOT NULL"
    ),
    base.index("ix_memories_created", "owner_id", "created_at", "id"),
    base.index("ix_memories_subject", "owner_id", "subject_key"),
    base.index("ix_memories_shared_space", "space_id", where="visibility = 'shared'"),
    base.index(
        "ix_memories_expiry",
        "expires_at",
        where="expires_at IS NOT NULL AND status <> 'forgotten'",
    ),
    # Those that retention may erase, by their age.
    Index(
        "ix_memories_left",
        # As Postgres writes it, since the models are compared with the database.
        text("(\nCASE\n    WHEN forgotten_at IS NULL THEN updated_at\n    ELSE forgotten_at\nEND)"),
        postgresql_where=text("status IN ('evicted', 'forgotten')"),
    ),
)

# By message alone, since an erasure looks for the memories of all owners.
_of_messages = "message_id IS NOT NULL"

memory_versions = table(
    "memory_versions",
    base.owner(),
    base.keys(Text, "memory_id"),
    base.keys(Integer, "version"),
    required(Text, "content"),
    base.instants("recorded_at"),
    base.optional_instants("superseded_at", "valid_from", "valid_to"),
    _source(),
    base.part_of("memories", owner_id="owner_id", memory_id="id"),
    base.index("ix_memory_versions_superseded", "superseded_at", where="superseded_at IS NOT NULL"),
    base.index("ix_memory_versions_message", "message_id", where=_of_messages),
)

mentions = table(
    "mentions",
    base.owner(),
    base.keys(Text, "memory_id"),
    base.keys(Uuid, "id"),
    # The text, if a near duplicate had other words.
    optional(Text, "wording"),
    optional(Uuid, "agent_id"),
    _source(),
    base.instants("mentioned_at"),
    base.part_of("memories", owner_id="owner_id", memory_id="id"),
    base.index("ix_mentions_message", "message_id", where=_of_messages),
)

# Messages that left recall and prompts with a forgotten memory. A message is back once no row names
# it. No reference: a row stays with its message when the memory is erased.
withheld_messages = table(
    "withheld_messages",
    base.owner(),
    base.keys(Text, "memory_id"),
    base.keys(Uuid, "message_id"),
    base.index("ix_withheld_messages_message", "owner_id", "message_id"),
)

_edges_from = "owner_id", "memory_id", "weight", "target_owner_id", "target_id", "relation"
_edges_to = "target_owner_id", "target_id", "owner_id", "weight", "memory_id", "relation"
_shared_edges = "shared_space_id", "target_owner_id", "target_id", "weight", "owner_id"
_revises = "relation IN ('updates', 'contradicts')"

associations = table(
    "associations",
    base.owner(),
    base.keys(Text, "memory_id"),
    base.keys(Uuid, "target_owner_id"),
    base.keys(Text, "target_id", "relation"),
    required(Float, "weight", default="0.5"),
    # Set if its memory is shared in a space, so that row security and walks need no look-up,
    # which would be one for every association of a popular memory.
    optional(Uuid, "shared_space_id"),
    base.instants("created_at", "updated_at"),
    base.part_of("memories", owner_id="owner_id", memory_id="id"),
    CheckConstraint("weight BETWEEN 0 AND 1", name="weight"),
    base.one_of(
        "relation", "related_to", "updates", "contradicts", "caused_by", "result_of", "part_of"
    ),
    # The strongest edges of each node first, its own and those of other owners on a walk. Whole
    # edges, so that the choice between equal ones does not depend on the order of rows.
    base.index("ix_associations_strongest", *_edges_from),
    base.index("ix_associations_target", *_edges_to),
    base.index(
        "ix_associations_shared",
        *_shared_edges,
        "memory_id",
        "relation",
        where="shared_space_id IS NOT NULL",
    ),
    # The same for the associations of a hit, which may hide among thousands of other edges.
    base.index("ix_associations_revising", *_edges_from, where=_revises),
    base.index("ix_associations_revised", *_edges_to, where=_revises),
)
