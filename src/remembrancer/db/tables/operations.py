"""API keys, sessions, the audit log, usage, undo records, and answers to repeated requests."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table

api_keys = table(
    "api_keys",
    base.keys(Uuid, "id"),
    required(Text, "name", "role"),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE")),
    Column("hash", LargeBinary, nullable=False, unique=True),
    base.instants("created_at"),
    base.optional_instants("expires_at", "revoked_at", "last_used_at"),
    base.one_of("role", "admin", "service", "user"),
    CheckConstraint("(role = 'user') = (user_id IS NOT NULL)", name="user"),
    base.index(None, "user_id"),
)

# Of browsers, by the hash of their cookie. Without a key and a user it is an admin's, by a link.
sessions = table(
    "sessions",
    base.keys(LargeBinary, "hash"),
    Column("key_id", Uuid, ForeignKey("api_keys.id", ondelete="CASCADE")),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE")),
    required(Text, "theme", default="auto"),
    # What the next page says, as JSON.
    required(ARRAY(Text), "notices", default="{}"),
    base.instants("created_at"),
    base.given_instants("expires_at"),
    base.index(None, "key_id"),
    base.index(None, "user_id"),
)

# Each signs in once: a user, or without one an admin.
sign_in_links = table(
    "sign_in_links",
    base.keys(LargeBinary, "hash"),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE")),
    base.given_instants("expires_at"),
    base.index(None, "user_id"),
)

# Exports that people give the pages. The parts of their files are deleted after the import.
uploads = table(
    "uploads",
    base.owner(),
    base.keys(Uuid, "id"),
    required(Text, "name"),
    optional(Text, "format"),
    required(Boolean, "is_own"),
    required(JSONB, "options", default="{}"),
    required(Text, "status", default="checking"),
    required(Integer, "total", "stored", default="0"),
    required(JSONB, "counts", default="{}"),
    optional(Text, "reason"),
    base.instants("created_at"),
    base.one_of("status", "checking", "ready", "storing", "done", "failed"),
)

upload_parts = table(
    "upload_parts",
    base.owner(),
    base.keys(Uuid, "upload_id"),
    base.keys(Integer, "number"),
    required(LargeBinary, "content"),
    base.part_of("uploads", owner_id="owner_id", upload_id="id"),
)

# Ids and outcomes, never content. Each month is a partition, which retention drops as a whole.
audit_log = table(
    "audit_log",
    base.owner(),
    Column("at", DateTime(timezone=True), primary_key=True, server_default=func.now()),
    base.keys(Uuid, "id"),
    required(Text, "actor_role"),
    optional(Uuid, "actor_user_id", "actor_agent_id", "actor_key_id"),
    required(Text, "entry_point", "action"),
    required(ARRAY(Text), "target_ids"),
    required(Text, "outcome", default="done"),
    base.index("ix_audit_log_everybody", "at"),
)

# Numbers of requests by agent, of nobody in particular.
daily_usage = table(
    "daily_usage",
    base.keys(Date, "day"),
    base.keys(Uuid, "agent_id"),
    base.keys(Text, "kind"),
    required(BigInteger, "amount"),
    required(ARRAY(BigInteger), "durations"),
)

# How far imports are: numbers of nobody in particular.
imports = table(
    "imports",
    base.keys(Uuid, "id"),
    base.instants("started_at", "updated_at"),
    base.optional_instants("ended_at"),
    required(BigInteger, "total"),
    required(BigInteger, "done", default="0"),
    optional(Text, "reason"),
)

# Tenants of this host, each in a database of its own. Only the host's own store has any.
workspaces = table(
    "workspaces",
    base.keys(Uuid, "id"),
    Column("name", Text, nullable=False, unique=True),
    required(Text, "server", "database"),
    required(Text, "state", default="creating"),
    required(Text, "revision"),
    required(JSONB, "limits", default="{}"),
    base.instants("created_at", "changed_at"),
    base.optional_instants("used_at"),
    optional(JSONB, "move"),
    # Whoever creates, migrates, moves or drops it holds it until then.
    optional(Uuid, "holder"),
    base.optional_instants("held_until"),
    base.one_of("state", "creating", "active", "suspended", "dropping"),
)

# For undoing a merge or a move: ids and settings, never content.
undo_records = table(
    "undo_records",
    base.owner(),
    base.keys(Uuid, "id"),
    required(Text, "action"),
    required(JSONB, "record"),
    base.instants("created_at"),
    base.optional_instants("undone_at"),
)

idempotency_keys = table(
    "idempotency_keys",
    base.owner(),
    base.keys(Text, "action", "key"),
    required(LargeBinary, "fingerprint"),
    optional(JSONB, "answer"),
    base.instants("created_at"),
    base.index("ix_idempotency_keys_created", "created_at"),
)
