"""Agents, and what people and the admin decided about their memory."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.schema import UniqueConstraint

from remembrancer.db.tables.base import instant, metadata, owner

agents = Table(
    "agents",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("system_prompt", Text, nullable=False, server_default=""),
    Column("provider", Text),
    Column("model", Text),
    Column("temperature", Float),
    Column("voice", Text),
    Column("memory_scope", Text, nullable=False, server_default="agent"),
    Column("version", Integer, nullable=False, server_default="1"),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
    instant("deleted_at", null=True),
    CheckConstraint("memory_scope IN ('global', 'agent')", name="memory_scope"),
)

memory_preferences = Table(
    "memory_preferences",
    metadata,
    owner("user_id"),
    Column("agent_id", Uuid, ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Uuid, nullable=False),
    Column("allow_agent_specific_memory", Boolean, nullable=False),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
    UniqueConstraint("user_id", "id"),
)

# One row: the admin's word for everybody.
memory_policy = Table(
    "memory_policy",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default="true"),
    Column("allow_agent_specific_memory", Boolean, nullable=False, server_default="true"),
    instant("updated_at", default="now"),
    CheckConstraint("singleton", name="one_row"),
)
