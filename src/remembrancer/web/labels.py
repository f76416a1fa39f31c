"""The words of pages that depend on what is shown."""

from collections.abc import Mapping
from typing import Final

from remembrancer.access import Scope, ScopeSource, SpaceRole
from remembrancer.memories.schemas import Kind, Relation, Status
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.review.schemas import ReviewOutcome

SCOPES: Final = {Scope.AGENT: "Private", Scope.GLOBAL: "Global"}
SCOPE_MEANINGS: Final = {
    Scope.AGENT: "This agent keeps its own memories of you; no other agent reads them.",
    Scope.GLOBAL: "This agent shares memories of you with all your other global agents.",
}
STATUSES: Final = {
    Status.ACTIVE: "Active",
    Status.INACTIVE: "Inactive",
    Status.EVICTED: "Evicted",
    Status.PENDING: "Waiting",
    Status.FORGOTTEN: "Forgotten",
}
ROLES: Final = {SpaceRole.OWNER: "Owner", SpaceRole.MEMBER: "Member"}
RELATIONS: Final = {relation: relation.replace("_", " ") for relation in Relation}
SOURCES: Final = {
    ScopeSource.ADMIN_OVERRIDE: "Admin policy",
    ScopeSource.USER_PREFERENCE: "Preference",
    ScopeSource.USER_TOGGLE: "Former setting",
    ScopeSource.AGENT_DEFAULT: "Agent default",
}
_BY: Final = {
    "manual": "by hand",
    "web": "on these pages",
    "api": "by a program",
    "review": "in a review",
    "extraction": "from what was said",
}


_PLAIN: Final = {"Input should be a valid UUID": "is not an id", "Field required": "is needed"}
"""Beginnings of what a library says is wrong, and what a person is told."""
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
    """Say how something came to be remembered."""
    return _BY.get(source, f"by {source}")


def source(config: AgentMemoryConfig) -> str:
    """Say what decided the scope in effect."""
    return {
        ScopeSource.ADMIN_OVERRIDE: "Admin has disabled agent-specific memory globally",
        ScopeSource.USER_PREFERENCE: "You customized memory scope for this agent",
        ScopeSource.USER_TOGGLE: "Your former setting for all agents makes this agent global",
        ScopeSource.AGENT_DEFAULT: f"Using agent default: {config.agent.memory_scope}",
    }[config.source]


def reviewed(counts: Mapping[ReviewOutcome, int]) -> str:
    """Say what became of what was reviewed."""
    words = {
        ReviewOutcome.CONFIRMED: "confirmed",
        ReviewOutcome.SHARED: "confirmed and shared",
        ReviewOutcome.UPDATED: "confirmed as a change of another memory",
        ReviewOutcome.MENTIONED: "known already, and mentioned once more",
        ReviewOutcome.REJECTED: "rejected",
        ReviewOutcome.REOPENED: "waiting again",
        ReviewOutcome.REFUSED: "left as it was",
        ReviewOutcome.NOT_FOUND: "not there any more",
    }
    said = [f"{counts[what]:,} {text}" for what, text in words.items() if what in counts]
    return f"{', '.join(said)}."


def kind(value: Kind) -> str:
    """Return a kind as a label."""
    return "To-do" if value is Kind.TODO else value.capitalize()


def sentence(text: str, capital: bool = True) -> str:
    """Return an error's words as a sentence."""
    text = text.strip()
    for technical, plain in _PLAIN.items():
        text = plain if text.startswith(technical) else text
    first = text[:1].upper() if capital else text[:1]
    return f"{first}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}" if text else ""


def field(name: str) -> str:
    """Return what a field is called on the pages."""
    return _FIELDS.get(name) or name.replace("_", " ").capitalize()


def shortened(text: str, length: int = 80) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def plural(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
