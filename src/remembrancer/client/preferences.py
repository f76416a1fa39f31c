"""Preferences of users, policies of the admin, and moves between scopes."""

from typing import Unpack
from uuid import UUID

from remembrancer.client.operations import By, Group, Once, Paging, listing, operation
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.paging import Items, Page
from remembrancer.preferences import schemas
from remembrancer.user_names import AnyUser


class Preferences(Group[By]):
    """Preferences of users for agents, and the scopes in effect."""

    @operation("GET /api/memory/users/{user_id}/agents/settings")
    def list(self, user_id: AnyUser) -> Items[schemas.Preference]:
        """List all preferences of a user."""

    @operation("PUT /api/memory/users/{user_id}/agents/settings")
    def set_many(
        self, user_id: AnyUser, preferences: schemas.PreferencesUpdate
    ) -> schemas.PreferencesResult:
        """Set the same preference for many agents, or for all existing agents."""

    @operation("DELETE /api/memory/users/{user_id}/agents/settings", inside="reset")
    def reset_all(self, user_id: AnyUser) -> int:
        """Delete all preferences of a user; return how many there were."""

    @operation("GET /api/memory/users/{user_id}/agents/settings/export")
    def export(self, user_id: AnyUser) -> schemas.PreferenceFile:
        """Return a user's preferences as a file that can be imported."""

    @operation("POST /api/memory/users/{user_id}/agents/settings/import", safe=True)
    def import_(self, user_id: AnyUser, file: schemas.PreferenceFile) -> schemas.PreferencesResult:
        """Set the preferences of a file, all or none. Safe to repeat."""

    @listing("GET /api/memory/users/{user_id}/agents/scopes")
    def scopes(self, user_id: AnyUser, **paging: Unpack[Paging]) -> Page[schemas.AgentMemoryConfig]:
        """List the scope in effect for a user with each agent, and what decided it."""

    @operation("GET /api/memory/users/{user_id}/agents/{agent_id}/settings")
    def get(self, user_id: AnyUser, agent_id: UUID) -> schemas.Preference:
        """Return a user's preference for an agent; ``NotFound`` if none is set."""

    @operation("PUT /api/memory/users/{user_id}/agents/{agent_id}/settings")
    def set(
        self, user_id: AnyUser, agent_id: UUID, preference: schemas.PreferenceUpdate
    ) -> schemas.Preference:
        """Set a user's preference for an agent."""

    @operation("DELETE /api/memory/users/{user_id}/agents/{agent_id}/settings")
    def reset(self, user_id: AnyUser, agent_id: UUID) -> None:
        """Delete a user's preference for an agent, so that the agent's default counts."""

    @operation("GET /api/memory/users/{user_id}/agents/{agent_id}/scope")
    def scope(self, user_id: AnyUser, agent_id: UUID) -> schemas.AgentMemoryConfig:
        """Return the scope in effect for a user with an agent, and what decided it."""

    @operation("GET /api/memory/preferences/export")
    def export_all(self) -> schemas.PreferenceFile:
        """Return the preferences of all users as a file that can be imported. For admins."""

    @operation("POST /api/memory/preferences/import", safe=True)
    def import_all(self, file: schemas.PreferenceFile) -> schemas.PreferencesResult:
        """Set the preferences of a file of many users, all or none. For admins."""

    @operation("GET /api/memory/users/{user_id}/settings")
    def toggle(self, user_id: AnyUser) -> schemas.Toggle:
        """Return the deprecated toggle for all agents at once."""

    @operation("PUT /api/memory/users/{user_id}/settings")
    def set_toggle(self, user_id: AnyUser, toggle: schemas.ToggleUpdate) -> schemas.Toggle:
        """Set the deprecated toggle for all agents at once."""


class Policies(Group[By]):
    """The policy that stands above all preferences. For admins."""

    @operation("GET /api/memory/policy")
    def get(self) -> schemas.Policy:
        """Return the policy."""

    @operation("PUT /api/memory/policy")
    def set(self, policy: schemas.PolicyUpdate) -> schemas.Policy:
        """Set the policy. Stored memories stay where they are."""

    @operation("GET /api/memory/statistics")
    def statistics(self) -> schemas.ScopeStatistics:
        """Count agents, users, pairs and memories by scope."""


class Moves(Group[By]):
    """Moves of an agent's memories of a user between scopes."""

    @operation("POST /api/memory/users/{user_id}/agents/{agent_id}/memories/move")
    def move(
        self, user_id: AnyUser, agent_id: UUID, request: MoveRequest, **key: Unpack[Once]
    ) -> MoveResult:
        """Move or copy an agent's memories of a user to the other scope, or only count them."""

    @operation("POST /api/memory/users/{user_id}/moves/{undo_id}/undo")
    def undo(self, user_id: AnyUser, undo_id: UUID) -> MoveUndoResult:
        """Undo a move or copy."""
