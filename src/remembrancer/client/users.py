"""Users, agents and tools; preferences, policies of the admin, and moves between scopes."""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID

from remembrancer.agents.schemas import Agent, AgentCreate, AgentDetails, AgentUpdate
from remembrancer.client.calls import json_of
from remembrancer.client.operations import (
    By,
    ForAgent,
    Group,
    IfVersion,
    Once,
    Paging,
    listing,
    operation,
    stream,
)
from remembrancer.context.schemas import Bulletin
from remembrancer.erasure.schemas import Receipt
from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.paging import Items, Page
from remembrancer.preferences import schemas
from remembrancer.tools.registry import ToolAnswer, ToolContext
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import (
    PlatformLink,
    ResolveDetails,
    ResolveUser,
    User,
    UserOverviewPage,
    UserUpdate,
)


def _other(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"user_id": str(arguments["other_id"])}


def _confirmed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    confirm = {} if arguments["dry_run"] else {"confirm": arguments["user_id"]}
    return {**{name: arguments[name] for name in ("dry_run", "memories_only")}, **confirm}


def _tool_call(arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = arguments["arguments"]
    # As they are: a null in them is the model's.
    given = dict(given) if isinstance(given, Mapping) else given or {}
    return {**(json_of(arguments["context"]) or {}), "arguments": given}


class Users(Group[By]):
    """Users and their platform ids."""

    @operation("POST /api/users/resolve", safe=True, model=("request", ResolveUser))
    def resolve(self, request: ResolveUser | None = None, **fields: Unpack[ResolveDetails]) -> User:
        """Return the user of a platform id; create the user the first time."""

    @listing("GET /api/users")
    def list(self, **paging: Unpack[Paging]) -> Page[User]:
        """List users, the first known first. For admins."""

    @operation("GET /api/agents/users")
    def overview(
        self, agent_id: UUID | None = None, *, limit: int = 50, offset: int = 0
    ) -> UserOverviewPage:
        """List users with their platforms and how many memories an agent may use."""

    @operation("GET /api/users/by-platform")
    def find(self, platform: str, platform_user_id: str) -> User:
        """Return the user of a platform id, or raise ``NotFound``."""

    @operation("GET /api/users/{user_id}")
    def get(self, user_id: AnyUser) -> User:
        """Return a user."""

    @operation("PATCH /api/users/{user_id}")
    def update(self, user_id: AnyUser, changes: UserUpdate, **version: Unpack[IfVersion]) -> User:
        """Change a user's name or time zone, or pause remembering of them."""

    @operation("GET /api/users/{user_id}/links")
    def links(self, user_id: AnyUser) -> Items[PlatformLinkDetail]:
        """List the platform links of a user."""

    @operation("POST /api/users/{user_id}/links")
    def link(self, user_id: AnyUser, link: PlatformLink) -> LinkResult:
        """Link a platform id to a user; another user who has it is merged into this one."""

    @operation("DELETE /api/users/{user_id}/links")
    def unlink(self, user_id: AnyUser, link: PlatformLink) -> None:
        """Remove a platform link from a user."""

    @operation("POST /api/users/{user_id}/merges", body=_other)
    def merge(self, user_id: AnyUser, other_id: AnyUser) -> Merge:
        """Merge another user into this one."""

    @operation("POST /api/users/{user_id}/merges/preview", body=_other, safe=True)
    def preview_merge(self, user_id: AnyUser, other_id: AnyUser) -> MergeCounts:
        """Count what a merge of another user into this one would move."""

    @operation("GET /api/users/{user_id}/merges")
    def merges(self, user_id: AnyUser) -> Items[Merge]:
        """List the merges into a user, the latest first."""

    @operation("POST /api/users/{user_id}/merges/{undo_id}/undo")
    def undo_merge(self, user_id: AnyUser, undo_id: UUID) -> Merge:
        """Undo a merge."""

    @operation("POST /api/users/{user_id}/erase", query=_confirmed)
    def erase(
        self, user_id: AnyUser, *, dry_run: bool = True, memories_only: bool = False
    ) -> Receipt:
        """Delete everything of a user for good; with ``dry_run``, only count."""

    @stream("GET /api/users/{user_id}/export")
    def export(self, user_id: AnyUser, *, format: str = "json") -> bytes:  # noqa: A002
        """Return everything of a user as a file, in parts: json, markdown or json-ld."""


class Agents(Group[By]):
    """Assistants that read and write memory."""

    @operation("POST /api/agents")
    def create(self, agent: AgentCreate, **key: Unpack[Once]) -> Agent:
        """Create an agent."""

    @operation("POST /api/agents/resolve", body=json_of, safe=True)
    def resolve(self, name: str, **details: Unpack[AgentDetails]) -> Agent:
        """Return the agent with a name; create it, with ``details``, at the first request."""

    @listing("GET /api/agents")
    def list(self, **paging: Unpack[Paging]) -> Page[Agent]:
        """List agents, the oldest first."""

    @operation("GET /api/agents/{agent_id}")
    def get(self, agent_id: UUID) -> Agent:
        """Return an agent."""

    @operation("PUT /api/agents/{agent_id}")
    def update(self, agent_id: UUID, changes: AgentUpdate, **version: Unpack[IfVersion]) -> Agent:
        """Change the fields that are set."""

    @operation("DELETE /api/agents/{agent_id}")
    def delete(self, agent_id: UUID) -> None:
        """Delete an agent; its memories stay with their users."""

    @operation("GET /api/agents/{agent_id}/bulletin")
    def bulletin(self, agent_id: UUID, *, tokens: int | None = None) -> Bulletin:
        """Return a digest of shared knowledge for an agent, by kind, within ``tokens``."""


class Tools(Group[By]):
    """Tools for language models."""

    @operation("GET /api/tools")
    def list(self, format: str = "plain") -> Items[dict[str, Any]]:  # noqa: A002
        """List the tools: ``plain``, or in the format of ``openai`` or ``anthropic``."""

    @operation("POST /api/tools/{name}", ids="body", body=_tool_call)
    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        context: ToolContext | None = None,
        **ids: Unpack[ForAgent],
    ) -> ToolAnswer:
        """Call a tool. A mistake that the model can correct is an answer with ``ok`` false."""


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
