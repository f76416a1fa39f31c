"""Every table, one module per part of the domain."""

from remembrancer.db.tables.agents import agents, memory_policy, memory_preferences
from remembrancer.db.tables.base import metadata
from remembrancer.db.tables.conversations import (
    chunks,
    conversations,
    frozen_contexts,
    frozen_lines,
    messages,
    participants,
)
from remembrancer.db.tables.memories import (
    associations,
    memories,
    memory_versions,
    mentions,
    withheld_messages,
)
from remembrancer.db.tables.operations import (
    api_keys,
    audit_log,
    daily_usage,
    idempotency_keys,
    imports,
    sessions,
    sign_in_links,
    undo_records,
    upload_parts,
    uploads,
    workspaces,
)
from remembrancer.db.tables.recall import (
    embedding_model,
    item_changes,
    postings,
    recall_items,
    reembeddings,
)
from remembrancer.db.tables.users import (
    platform_links,
    saved_filters,
    space_invitations,
    space_members,
    space_refusals,
    spaces,
    users,
)

__all__ = [
    "agents",
    "api_keys",
    "associations",
    "audit_log",
    "chunks",
    "conversations",
    "daily_usage",
    "embedding_model",
    "frozen_contexts",
    "frozen_lines",
    "idempotency_keys",
    "imports",
    "item_changes",
    "memories",
    "memory_policy",
    "memory_preferences",
    "memory_versions",
    "mentions",
    "messages",
    "metadata",
    "participants",
    "platform_links",
    "postings",
    "recall_items",
    "reembeddings",
    "saved_filters",
    "sessions",
    "sign_in_links",
    "space_invitations",
    "space_members",
    "space_refusals",
    "spaces",
    "undo_records",
    "upload_parts",
    "uploads",
    "users",
    "withheld_messages",
    "workspaces",
]
