"""Users, their platform links, and the spaces they share."""

from sqlalchemy import Boolean, Column, ForeignKey, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table

users = table(
    "users",
    base.owner("id"),
    required(Text, "display_name"),
    required(Text, "time_zone", default="UTC"),
    # The deprecated toggle for all agents; null after its migration to a preference per agent.
    optional(Boolean, "allow_agent_specific_memory"),
    base.optional_instants("toggle_migrated_at", "paused_at"),
    optional(Uuid, "merged_into"),
    required(Integer, "version", default="1"),
    base.instants("created_at", "updated_at"),
    base.index("ix_users_merged_into", "merged_into", where="merged_into IS NOT NULL"),
)

# Read before an owner is known.
platform_links = table(
    "platform_links",
    base.keys(Text, "platform", "platform_user_id"),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    base.instants("created_at"),
    base.index(None, "user_id"),
)

# Filters of the memories list.
saved_filters = table(
    "saved_filters",
    base.owner("user_id"),
    base.keys(Uuid, "id"),
    required(Text, "name"),
    required(JSONB, "filters"),
    base.instants("created_at"),
)

spaces = table(
    "spaces",
    base.keys(Uuid, "id"),
    required(Text, "name"),
    required(Text, "description", default=""),
    required(Uuid, "created_by"),
    base.instants("created_at", "updated_at"),
)

space_members = table(
    "space_members",
    base.owner("user_id"),
    base.keys(Uuid, "space_id"),
    required(Text, "role", default="member"),
    base.instants("joined_at"),
    base.one_of("role", "owner", "member"),
    base.index(None, "space_id"),
)

# Invitations name a user as the owner of the space did, by id or platform:id: nobody may have it.
space_invitations = table(
    "space_invitations",
    base.keys(Uuid, "space_id"),
    base.keys(Text, "invitee"),
    required(Uuid, "invited_by"),
    required(Text, "role", default="member"),
    base.instants("created_at"),
    base.one_of("role", "owner", "member"),
    base.part_of("spaces", space_id="id"),
    base.index(None, "invitee"),
)

# They stay when a space is deleted, because it may be restored.
space_refusals = table(
    "space_refusals",
    base.owner("user_id"),
    base.keys(Uuid, "space_id"),
    required(Boolean, "declined"),
    base.instants("created_at"),
)
