"""Labels and sentences on pages, by value."""

from collections.abc import Mapping
from typing import Final

from remembrancer.access import Scope, ScopeSource, SpaceRole
from remembrancer.memories.schemas import Kind, Relation, Status
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.review.schemas import ReviewOutcome
from remembrancer.text import plural  # noqa: F401 - templates say it

SCOPES: Final = {Scope.AGENT: "Private", Scope.GLOBAL: "Global"}
SCOPE_MEANINGS: Final = {
    Scope.AGENT: "This agent keeps its own memories of you; no other agent reads them.",
    Scope.GLOBAL: "This agent shares memories of you with all your other global agents.",
}
STATUSES: Final = {
    Status.ACTIVE: "Active",
    Status.INACTIVE: "Inactive",
    Status.EVICTED: "Evicted",
    Status.PENDING: "Pending",
    Status.FORGOTTEN: "Forgotten",
}
ROLES: Final = {SpaceRole.OWNER: "Owner", SpaceRole.MEMBER: "Member"}
RELATIONS: Final = {relation: relation.replace("_", " ") for relation in Relation}
SOURCES: Final = {
    ScopeSource.ADMIN_OVERRIDE: "Admin policy",
    ScopeSource.USER_PREFERENCE: "Preference",
    ScopeSource.USER_TOGGLE: "Earlier setting",
    ScopeSource.AGENT_DEFAULT: "Agent default",
}
_BY: Final = {
    "manual": "by hand",
    "web": "on these pages",
    "api": "by a program",
    "review": "in a review",
    "extraction": "from a conversation",
}


_PLAIN: Final = {"Input should be a valid UUID": "is not an id", "Field required": "is needed"}
"""Plain words for the library's messages, by their beginning."""
_FIELDS: Final = {
    "agent_id": "Agent",
    "content": "What to remember",
    "display_name": "Name",
    "place_id": "Id",
    "place_name": "Name",
    "platform_user_id": "Id there",
    "query": "Question",
    "space_id": "Space",
    "subject": "About",
    "user_id": "Id of the person",
}


def by(source: str) -> str:
    return _BY.get(source, f"by {source}")


def source(config: AgentMemoryConfig) -> str:
    return {
        ScopeSource.ADMIN_OVERRIDE: "Admin has disabled agent-specific memory globally",
        ScopeSource.USER_PREFERENCE: "You customized memory scope for this agent",
        ScopeSource.USER_TOGGLE: "Your earlier setting for all agents makes this agent global",
        ScopeSource.AGENT_DEFAULT: f"Using agent default: {config.agent.memory_scope}",
    }[config.source]


def review_counts(counts: Mapping[ReviewOutcome, int]) -> str:
    words = {
        ReviewOutcome.CONFIRMED: "confirmed",
        ReviewOutcome.SHARED: "confirmed and shared",
        ReviewOutcome.UPDATED: "confirmed as a new version of another memory",
        ReviewOutcome.MENTIONED: "known already; its mentions went up by one",
        ReviewOutcome.REJECTED: "rejected",
        ReviewOutcome.REOPENED: "pending again",
        ReviewOutcome.REFUSED: "not changed",
        ReviewOutcome.NOT_FOUND: "no longer there",
    }
    parts = [f"{counts[outcome]:,} {text}" for outcome, text in words.items() if outcome in counts]
    return f"{', '.join(parts)}."


def kind(value: Kind) -> str:
    return "To-do" if value is Kind.TODO else value.capitalize()


def sentence(text: str, capital: bool = True) -> str:
    """Return an error's reason as a sentence."""
    text = text.strip()
    for technical, plain in _PLAIN.items():
        text = plain if text.startswith(technical) else text
    first = text[:1].upper() if capital else text[:1]
    return f"{first}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}" if text else ""


def field(name: str) -> str:
    return _FIELDS.get(name) or name.replace("_", " ").capitalize()


def shortened(text: str, length: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
