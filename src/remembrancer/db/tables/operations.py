"""Keys, the audit log, and answers kept for repeated requests."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from remembrancer.db.tables.base import instant, metadata, owner

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE")),
    Column("hash", LargeBinary, nullable=False, unique=True),
    instant("created_at", default="now"),
    instant("expires_at", null=True),
    instant("revoked_at", null=True),
    CheckConstraint("role IN ('admin', 'service', 'user')", name="role"),
    CheckConstraint("(role = 'user') = (user_id IS NOT NULL)", name="user"),
)

# Ids and outcomes, never content.
audit_log = Table(
    "audit_log",
    metadata,
    owner(),
    Column("id", Uuid, primary_key=True),
    instant("at", default="now"),
    Column("actor_role", Text, nullable=False),
    Column("actor_user_id", Uuid),
    Column("actor_agent_id", Uuid),
    Column("actor_key_id", Uuid),
    Column("entry_point", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target_ids", ARRAY(Text), nullable=False),
    Column("outcome", Text, nullable=False, server_default="done"),
    Index("ix_audit_log_at", "owner_id", "at"),
    Index("ix_audit_log_everybody", "at"),
)

# What it takes to take back a merge or a move: ids and settings, never content.
undo_records = Table(
    "undo_records",
    metadata,
    owner(),
    Column("id", Uuid, primary_key=True),
    Column("action", Text, nullable=False),
    Column("record", JSONB, nullable=False),
    instant("created_at", default="now"),
    instant("undone_at", null=True),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    owner(),
    Column("action", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("answer", JSONB),
    instant("created_at", default="now"),
    Index("ix_idempotency_keys_created", "created_at"),
)
