"""Agents, and the memory preferences of users and the admin."""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, Text, UniqueConstraint, Uuid

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table

agents = table(
    "agents",
    base.keys(Uuid, "id"),
    required(Text, "name"),
    required(Text, "description", "system_prompt", default=""),
    optional(Text, "llm_provider", "llm_model", "tts_voice"),
    optional(Float, "temperature"),
    required(Text, "memory_scope", default="agent"),
    required(Integer, "version", default="1"),
    base.instants("created_at", "updated_at"),
    base.optional_instants("deleted_at"),
    base.one_of("memory_scope", "global", "agent"),
)

memory_preferences = table(
    "memory_preferences",
    base.owner("user_id"),
    Column("agent_id", Uuid, ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    required(Uuid, "id"),
    required(Boolean, "allow_agent_specific_memory"),
    base.instants("created_at", "updated_at"),
    UniqueConstraint("user_id", "id"),
)

# The admin's policy for everybody.
memory_policy = table(
    "memory_policy",
    base.singleton(),
    required(Boolean, "allow_agent_specific_memory", default="true"),
    base.instants("updated_at"),
)
