"""What users want of their agents, moving what is there, and what the admin decides."""

from uuid import UUID

from remembrancer.client.calls import Call, Many, call, part
from remembrancer.client.operations import By, Group, listing, operation
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.paging import Page
from remembrancer.preferences.schemas import (
    AgentMemoryConfig,
    Policy,
    PolicyUpdate,
    Preference,
    PreferenceFile,
    PreferencesResult,
    PreferencesUpdate,
    PreferenceUpdate,
    ScopeStatistics,
    Toggle,
    ToggleUpdate,
)


def _of(user_id: UUID, *parts: object) -> str:
    return "/".join(["/api/memory/users", part(user_id), *map(str, parts)])


class Preferences(Group[By]):
    """Preferences of users for agents, and the scopes they make."""

    @operation
    def list(self, user_id: UUID) -> Call[Many[Preference]]:
        """List all preferences a user has set."""
        return call("GET", _of(user_id, "agents/settings"), Many[Preference])

    @operation
    def set_many(self, user_id: UUID, wanted: PreferencesUpdate) -> Call[PreferencesResult]:
        """Set a user's preference for many agents, or for all there are now, alike."""
        return call("PUT", _of(user_id, "agents/settings"), PreferencesResult, body=wanted)

    @operation
    def reset_all(self, user_id: UUID) -> Call[int]:
        """Delete all preferences of a user; return how many there were."""
        return call("DELETE", _of(user_id, "agents/settings"), int, inside="reset")

    @operation
    def export(self, user_id: UUID) -> Call[PreferenceFile]:
        """Return a user's preferences as a file that can be imported again."""
        return call("GET", _of(user_id, "agents/settings/export"), PreferenceFile)

    @operation
    def import_(self, user_id: UUID, file: PreferenceFile) -> Call[PreferencesResult]:
        """Set the preferences of a file, all or none. Again, it changes nothing."""
        path = _of(user_id, "agents/settings/import")
        return call("POST", path, PreferencesResult, body=file, safe=True)

    @listing
    def scopes(
        self, user_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Call[Page[AgentMemoryConfig]]:
        """List the scope in effect for a user with each agent, and what decided it."""
        path, query = _of(user_id, "agents/scopes"), {"limit": limit, "cursor": cursor}
        return call("GET", path, Page[AgentMemoryConfig], query=query)

    @operation
    def get(self, user_id: UUID, agent_id: UUID) -> Call[Preference]:
        """Return a user's preference for an agent; ``NotFound`` if none is set."""
        return call("GET", _of(user_id, "agents", part(agent_id), "settings"), Preference)

    @operation
    def set(self, user_id: UUID, agent_id: UUID, wanted: PreferenceUpdate) -> Call[Preference]:
        """Set a user's preference for an agent."""
        path = _of(user_id, "agents", part(agent_id), "settings")
        return call("PUT", path, Preference, body=wanted)

    @operation
    def reset(self, user_id: UUID, agent_id: UUID) -> Call[None]:
        """Delete a user's preference for an agent, so that the agent's default counts."""
        return call("DELETE", _of(user_id, "agents", part(agent_id), "settings"))

    @operation
    def scope(self, user_id: UUID, agent_id: UUID) -> Call[AgentMemoryConfig]:
        """Return the scope in effect for a user with an agent, and what decided it."""
        return call("GET", _of(user_id, "agents", part(agent_id), "scope"), AgentMemoryConfig)

    @operation
    def move(
        self,
        user_id: UUID,
        agent_id: UUID,
        wanted: MoveRequest,
        *,
        idempotency_key: str | None = None,
    ) -> Call[MoveResult]:
        """Move or copy an agent's memories of a user to the other scope; at first, only count."""
        path = _of(user_id, "agents", part(agent_id), "memories/move")
        return call("POST", path, MoveResult, body=wanted, key=idempotency_key, keyed=True)

    @operation
    def undo_move(self, user_id: UUID, move_id: UUID) -> Call[MoveUndoResult]:
        """Take a move or copy of memories back, by its ``undo_id``."""
        return call("POST", _of(user_id, "moves", part(move_id), "undo"), MoveUndoResult)

    @operation
    def toggle(self, user_id: UUID) -> Call[Toggle]:
        """Return the deprecated toggle for all agents at once."""
        return call("GET", _of(user_id, "settings"), Toggle)

    @operation
    def set_toggle(self, user_id: UUID, wanted: ToggleUpdate) -> Call[Toggle]:
        """Set the deprecated toggle for all agents at once."""
        return call("PUT", _of(user_id, "settings"), Toggle, body=wanted)


class Policies(Group[By]):
    """What stands above every preference. For admins."""

    @operation
    def get(self) -> Call[Policy]:
        """Return the policy."""
        return call("GET", "/api/memory/policy", Policy)

    @operation
    def set(self, wanted: PolicyUpdate) -> Call[Policy]:
        """Set the policy. What is stored stays where it is."""
        return call("PUT", "/api/memory/policy", Policy, body=wanted)

    @operation
    def statistics(self) -> Call[ScopeStatistics]:
        """Count agents, users, pairs and memories by scope."""
        return call("GET", "/api/memory/statistics", ScopeStatistics)

    @operation
    def export_preferences(self) -> Call[PreferenceFile]:
        """Return everybody's preferences as a file that can be imported again."""
        return call("GET", "/api/memory/preferences/export", PreferenceFile)

    @operation
    def import_preferences(self, file: PreferenceFile) -> Call[PreferencesResult]:
        """Set the preferences of a file of many users, all or none; others stay."""
        path = "/api/memory/preferences/import"
        return call("POST", path, PreferencesResult, body=file, safe=True)
