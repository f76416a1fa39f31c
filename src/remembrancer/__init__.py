"""Memory for AI agents: who said what, recalled only for whom it may be."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from remembrancer.version import __version__

if TYPE_CHECKING:
    from remembrancer.access import (
        Actor,
        EffectiveScope,
        Role,
        Scope,
        ScopeSource,
        SpaceRole,
        Visibility,
    )
    from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
    from remembrancer.app import Remembrancer, as_actor
    from remembrancer.audit.schemas import AuditFilter, AuditLine
    from remembrancer.context.schemas import (
        Block,
        Bulletin,
        Context,
        ContextQuery,
        StableBlock,
        Turn,
    )
    from remembrancer.conversations.schemas import (
        Appended,
        Conversation,
        ConversationCreate,
        Message,
        MessageCreate,
        MessageRole,
    )
    from remembrancer.document.schemas import (
        DocumentImport,
        DocumentImported,
        MemoryDocument,
        MemoryFact,
        MemoryMetadata,
        PlacePoi,
    )
    from remembrancer.erasure.schemas import Receipt
    from remembrancer.errors import (
        ConfigurationError,
        Conflict,
        DatabaseSetupError,
        DatabaseUnavailable,
        EmbeddingModelMismatch,
        EmbeddingUnavailable,
        Forbidden,
        IdempotencyMismatch,
        InvalidInput,
        LanguageModelUnavailable,
        NotFound,
        PreconditionFailed,
        RemembrancerError,
        SimilarMemoryExists,
        Unauthenticated,
        Unavailable,
        VersionConflict,
    )
    from remembrancer.graph.schemas import Association, AssociationPage, Neighbourhood, Suggestions
    from remembrancer.guard.schemas import GuardFinding
    from remembrancer.identity.schemas import Linked, LinkedSince, Merge, MergeCounts
    from remembrancer.memories.decisions import (
        Decision,
        ReviewDecision,
        Reviewed,
        ReviewOutcome,
    )
    from remembrancer.memories.requests import (
        BudgetPreview,
        Evictable,
        Fact,
        FactCreate,
        Moved,
        MoveRequest,
        MoveUndone,
        VisibilityUpdate,
    )
    from remembrancer.memories.schemas import (
        AssociationCreate,
        Category,
        Kind,
        Memory,
        MemoryCreate,
        MemoryFilter,
        MemoryHistory,
        MemoryRefused,
        MemoryUpdate,
        MemoryUpdated,
        MemoryWritten,
        Outcome,
        Relation,
        Review,
        Status,
        Suggestion,
    )
    from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceWritten
    from remembrancer.preferences.schemas import (
        AgentMemoryConfig,
        Policy,
        PolicyUpdate,
        Preference,
        PreferenceFile,
        PreferenceRow,
        PreferencesUpdate,
        PreferencesWritten,
        PreferenceUpdate,
        ScopeStatistics,
        Toggle,
        ToggleUpdate,
    )
    from remembrancer.recall.schemas import Hit, Mode, RecallAnswer, RecallQuery, Sort
    from remembrancer.settings import Settings
    from remembrancer.spaces.schemas import (
        Member,
        MemberAdd,
        MemberUpdate,
        Space,
        SpaceCreate,
        SpaceUpdate,
    )
    from remembrancer.tools.registry import (
        Registry,
        Tool,
        ToolAnswer,
        ToolContext,
        ToolError,
        anthropic_tool,
        openai_tool,
    )
    from remembrancer.users.schemas import (
        KnownUser,
        KnownUsers,
        PlatformLink,
        ResolveUser,
        User,
        UserUpdate,
    )

_HOMES: Final = (
    "access",
    "agents.schemas",
    "context.schemas",
    "conversations.schemas",
    "document.schemas",
    "erasure.schemas",
    "errors",
    "graph.schemas",
    "guard.schemas",
    "identity.schemas",
    "memories.decisions",
    "memories.requests",
    "memories.schemas",
    "places.schemas",
    "preferences.schemas",
    "recall.schemas",
    "settings",
    "spaces.schemas",
    "users.schemas",
    "audit.schemas",
    "tools.registry",
    "app",
)
"""Modules that have the public names, those that need a database driver last.

Each is imported when a name is first looked for: a client of a server, or a command that starts
often, shall not wait for what it does not use.
"""


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Actor",
    "Agent",
    "AgentCreate",
    "AgentMemoryConfig",
    "AgentUpdate",
    "Appended",
    "Association",
    "AssociationCreate",
    "AssociationPage",
    "AuditFilter",
    "AuditLine",
    "Block",
    "BudgetPreview",
    "Bulletin",
    "Category",
    "ConfigurationError",
    "Conflict",
    "Context",
    "ContextQuery",
    "Conversation",
    "ConversationCreate",
    "DatabaseSetupError",
    "DatabaseUnavailable",
    "Decision",
    "DocumentImport",
    "DocumentImported",
    "EffectiveScope",
    "EmbeddingModelMismatch",
    "EmbeddingUnavailable",
    "Evictable",
    "Fact",
    "FactCreate",
    "Forbidden",
    "GuardFinding",
    "Hit",
    "IdempotencyMismatch",
    "InvalidInput",
    "Kind",
    "KnownUser",
    "KnownUsers",
    "LanguageModelUnavailable",
    "Linked",
    "LinkedSince",
    "Member",
    "MemberAdd",
    "MemberUpdate",
    "Memory",
    "MemoryCreate",
    "MemoryDocument",
    "MemoryFact",
    "MemoryFilter",
    "MemoryHistory",
    "MemoryMetadata",
    "MemoryRefused",
    "MemoryUpdate",
    "MemoryUpdated",
    "MemoryWritten",
    "Merge",
    "MergeCounts",
    "Message",
    "MessageCreate",
    "MessageRole",
    "Mode",
    "MoveRequest",
    "MoveUndone",
    "Moved",
    "Neighbourhood",
    "NotFound",
    "Outcome",
    "Place",
    "PlaceCreate",
    "PlaceMention",
    "PlacePoi",
    "PlaceWritten",
    "PlatformLink",
    "Policy",
    "PolicyUpdate",
    "PreconditionFailed",
    "Preference",
    "PreferenceFile",
    "PreferenceRow",
    "PreferenceUpdate",
    "PreferencesUpdate",
    "PreferencesWritten",
    "RecallAnswer",
    "RecallQuery",
    "Receipt",
    "Registry",
    "Relation",
    "Remembrancer",
    "RemembrancerError",
    "ResolveUser",
    "Review",
    "ReviewDecision",
    "ReviewOutcome",
    "Reviewed",
    "Role",
    "Scope",
    "ScopeSource",
    "ScopeStatistics",
    "Settings",
    "SimilarMemoryExists",
    "Sort",
    "Space",
    "SpaceCreate",
    "SpaceRole",
    "SpaceUpdate",
    "StableBlock",
    "Status",
    "Suggestion",
    "Suggestions",
    "Toggle",
    "ToggleUpdate",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "ToolError",
    "Turn",
    "Unauthenticated",
    "Unavailable",
    "User",
    "UserUpdate",
    "VersionConflict",
    "Visibility",
    "VisibilityUpdate",
    "__version__",
    "anthropic_tool",
    "as_actor",
    "openai_tool",
]
