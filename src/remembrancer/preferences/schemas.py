"""API models of preferences, policies and scopes."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from remembrancer.access import Scope, ScopeSource
from remembrancer.agents.schemas import Agent
from remembrancer.user_names import UserRef
from remembrancer.validation import Input

MOST_ROWS: Final = 50_000
"""Most preferences in one import; all are written by one statement."""

Allow = Annotated[
    bool,
    Field(
        description="True: only this agent sees its memories of the user. False: all of the user's "
        "global agents do."
    ),
]


class PreferenceUpdate(Input):
    """A preference for one agent."""

    allow_agent_specific_memory: Allow


class Preference(BaseModel):
    """A user's preference for one agent. Without one, the agent's default counts."""

    id: UUID
    user_id: UUID
    agent_id: UUID
    allow_agent_specific_memory: Allow
    created_at: datetime
    updated_at: datetime


class AgentMemoryConfig(BaseModel):
    """The scope in effect for a user with an agent, and what decided it."""

    user_id: UUID
    agent: Agent
    user_preference: Preference | None
    effective_scope: Scope
    source: ScopeSource


class PreferencesUpdate(Input):
    """The same preference for many agents, or for all current ones."""

    allow_agent_specific_memory: Allow
    agent_ids: list[UUID] = Field(default=[], max_length=1000)
    all: bool = False

    @model_validator(mode="after")
    def _names_agents(self) -> "PreferencesUpdate":
        if self.all and self.agent_ids:
            raise ValueError("agent_ids: leave them out with all")
        if not self.all and not self.agent_ids:
            raise ValueError("agent_ids: name at least one agent, or set all")
        return self


class PreferencesResult(BaseModel):
    """Numbers of preferences that were created, changed and left as they were."""

    created: int
    changed: int
    unchanged: int


class PreferenceEntry(BaseModel):
    """One preference in a file."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    user_id: UserRef | None = Field(
        None,
        description="Its user, an id or platform:id; may be left out in the file of one user.",
    )
    agent_id: UUID
    allow_agent_specific_memory: bool


class PreferenceFile(Input):
    """A file of preferences."""

    preferences: list[PreferenceEntry] = Field(max_length=MOST_ROWS)


class ToggleUpdate(Input):
    """The deprecated toggle for all agents; null removes it."""

    allow_agent_specific_memory: bool | None


class Toggle(BaseModel):
    """The deprecated toggle. If off, agents without a preference are global."""

    user_id: UUID
    allow_agent_specific_memory: bool | None
    migrated_at: datetime | None = Field(description="When the toggle was migrated to preferences.")


class PolicyUpdate(Input):
    """The admin's policy for everybody."""

    allow_agent_specific_memory_globally: bool = Field(
        description="False makes every scope global; preferences and defaults have no effect."
    )


class Policy(PolicyUpdate):
    """The admin's policy for everybody, with the time of its last change."""

    updated_at: datetime


class ScopeCounts(BaseModel):
    """Numbers by scope."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    global_: int = Field(0, alias="global")
    agent: int = 0


class SourceCounts(BaseModel):
    """Numbers by what decided the scope."""

    admin_override: int = 0
    user_preference: int = 0
    user_toggle: int = 0
    agent_default: int = 0


class MemoryCounts(ScopeCounts):
    """Active memories: of users by namespace, in spaces, and shared knowledge."""

    space: int = 0
    shared: int = 0


class ScopeStatistics(BaseModel):
    """How scopes are used. A pair is a user with an agent; retired agents do not count."""

    users: int
    agents: int
    pairs: int
    agents_by_default_scope: ScopeCounts
    pairs_by_effective_scope: ScopeCounts
    pairs_by_source: SourceCounts
    users_by_effective_scope: ScopeCounts = Field(
        description="Users with at least one agent in that scope; a user may count in both."
    )
    users_by_source: SourceCounts = Field(
        description="Users with at least one agent decided that way; a user may count in several."
    )
    memories_by_scope: MemoryCounts


class MigrationCounts(BaseModel):
    """Numbers of a migration from the deprecated toggle, planned or done."""

    users: int = Field(description="Users whose toggle is off.")
    preferences: int = Field(description="Preferences that are missing, or that were added.")
