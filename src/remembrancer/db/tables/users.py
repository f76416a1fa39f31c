"""People, the platforms they speak from, and the spaces they share."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
)

from remembrancer.db.tables.base import instant, metadata, owner

users = Table(
    "users",
    metadata,
    owner("id"),
    Column("display_name", Text, nullable=False),
    Column("time_zone", Text, nullable=False, server_default="UTC"),
    # The deprecated toggle of all agents at once; null once a user has left it behind.
    Column("allow_agent_specific_memory", Boolean),
    # Since when the toggle's word stands in preferences, one an agent.
    instant("toggle_migrated_at", null=True),
    Column("merged_into", Uuid),
    Column("version", Integer, nullable=False, server_default="1"),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
)

# The directory from platform ids to people: looked up before an owner is known.
platform_links = Table(
    "platform_links",
    metadata,
    Column("platform", Text, primary_key=True),
    Column("platform_user_id", Text, primary_key=True),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    instant("created_at", default="now"),
    Index(None, "user_id"),
)

spaces = Table(
    "spaces",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("created_by", Uuid, nullable=False),
    instant("created_at", default="now"),
    instant("updated_at", default="now"),
)

space_members = Table(
    "space_members",
    metadata,
    owner("user_id"),
    Column("space_id", Uuid, primary_key=True),
    Column("role", Text, nullable=False, server_default="member"),
    instant("joined_at", default="now"),
    CheckConstraint("role IN ('owner', 'member')", name="role"),
    Index(None, "space_id"),
)
