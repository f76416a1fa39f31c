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
    from remembrancer.associations.schemas import (
        Association,
        AssociationPage,
        Neighbourhood,
        Suggestions,
    )
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
        AppendResult,
        Conversation,
        ConversationCreate,
        Message,
        MessageCreate,
        MessageRole,
    )
    from remembrancer.document.schemas import (
        DocumentImport,
        DocumentImportResult,
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
    from remembrancer.facts.schemas import Fact, FactCreate, VisibilityUpdate
    from remembrancer.guard.schemas import GuardFinding
    from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
    from remembrancer.memories.schemas import (
        AssociationCreate,
        BudgetPreview,
        Category,
        EvictionCandidate,
        Kind,
        Memory,
        MemoryCreate,
        MemoryFilter,
        MemoryHistory,
        MemoryUpdate,
        MemoryUpdateResult,
        Outcome,
        Relation,
        RememberRefusal,
        RememberResult,
        Review,
        Status,
        Suggestion,
    )
    from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
    from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult
    from remembrancer.preferences.schemas import (
        AgentMemoryConfig,
        Policy,
        PolicyUpdate,
        Preference,
        PreferenceEntry,
        PreferenceFile,
        PreferencesResult,
        PreferencesUpdate,
        PreferenceUpdate,
        ScopeStatistics,
        Toggle,
        ToggleUpdate,
    )
    from remembrancer.recall.schemas import Hit, Mode, RecallAnswer, RecallQuery, Sort
    from remembrancer.review.schemas import Decision, ReviewDecision, ReviewOutcome, ReviewResult
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
    "associations.schemas",
    "guard.schemas",
    "identity.schemas",
    "review.schemas",
    "moves.schemas",
    "facts.schemas",
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
    "AppendResult",
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
    "DocumentImportResult",
    "EffectiveScope",
    "EmbeddingModelMismatch",
    "EmbeddingUnavailable",
    "EvictionCandidate",
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
    "LinkResult",
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
    "MemoryUpdate",
    "MemoryUpdateResult",
    "Merge",
    "MergeCounts",
    "Message",
    "MessageCreate",
    "MessageRole",
    "Mode",
    "MoveRequest",
    "MoveResult",
    "MoveUndoResult",
    "Neighbourhood",
    "NotFound",
    "Outcome",
    "Place",
    "PlaceCreate",
    "PlaceMention",
    "PlacePoi",
    "PlaceResult",
    "PlatformLink",
    "PlatformLinkDetail",
    "Policy",
    "PolicyUpdate",
    "PreconditionFailed",
    "Preference",
    "PreferenceEntry",
    "PreferenceFile",
    "PreferenceUpdate",
    "PreferencesResult",
    "PreferencesUpdate",
    "RecallAnswer",
    "RecallQuery",
    "Receipt",
    "Registry",
    "Relation",
    "RememberRefusal",
    "RememberResult",
    "Remembrancer",
    "RemembrancerError",
    "ResolveUser",
    "Review",
    "ReviewDecision",
    "ReviewOutcome",
    "ReviewResult",
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
