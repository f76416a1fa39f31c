"""Labels and sentences on pages, by value."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby, pairwise
from typing import Final
from uuid import UUID

from remembrancer.access import Scope, ScopeSource, SpaceRole
from remembrancer.associations.schemas import Neighbourhood, Node
from remembrancer.importers.progress import ImportRow
from remembrancer.lookup.schemas import Entry, Graph, GraphNode, Origin, Span
from remembrancer.memories.schemas import ForgetResult, Kind, Relation, SortBy, Status
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.recall.schemas import Hit
from remembrancer.review.schemas import ReviewOutcome
from remembrancer.text import plural
from remembrancer.uploads.schemas import Upload, UploadCounts
from remembrancer.user_names import parse_user
from remembrancer.web.times import EVERYWHERE, Custom, date_of, name_of_day

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
SORTS: Final = {
    SortBy.RECENT: "Newest first",
    SortBy.IMPORTANCE: "Most important first",
    SortBy.MOST_ACCESSED: "Most recalled first",
}
FORMATS: Final = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "discord": "Discord",
    "json": "Conversations as JSON",
    "jsonl": "Messages as JSON lines",
    "locomo": "LoCoMo",
    "mcp-memory": "The memory server of MCP",
    "mem0": "mem0",
    "slack": "Slack",
    "telegram": "Telegram",
    "whatsapp": "WhatsApp",
}
DATE_ORDERS: Final = {"dmy": "31/12/2026", "mdy": "12/31/2026", "ymd": "2026/12/31"}
EXPORTS: Final = {
    "ChatGPT": "Settings, Data controls, Export data",
    "Claude": "Settings, Privacy, Export data",
    "Slack": "Workspace settings, Import/Export data",
    "Discord": "Settings, Data & Privacy, Request data; or DiscordChatExporter, as JSON",
    "Telegram": "In Telegram Desktop: Settings, Advanced, Export, as JSON",
    "WhatsApp": "The menu of a chat, Export chat, without media",
    "mem0": "What get_all returns, as a JSON file",
}
"""Where people get an export, by system."""
OWN_PLATFORM: Final = "pages"
"""The platform of people who were added here, on none of their own. It is not shown."""
PARTS: Final = {
    "memories": "Memories",
    "memory_versions": "Versions of memories",
    "mentions": "Mentions",
    "associations": "Associations",
    "messages": "Messages",
    "chunks": "Summaries",
    "conversations": "Conversations",
    "participants": "Conversations taken part in",
    "uploads": "Files to import",
    "users": "People",
    "platform_links": "Platform links",
    "memory_preferences": "Preferences",
    "saved_filters": "Saved filters",
    "spaces": "Spaces",
    "space_members": "Memberships",
    "space_invitations": "Invitations",
    "space_refusals": "Refusals",
    "api_keys": "Keys",
    "sessions": "Sessions",
}
"""Names of what an erasure deletes, by its table. The rest is counted together."""
READERS: Final = {Scope.GLOBAL: "Every agent", Scope.AGENT: "One agent alone"}
ROLES: Final = {SpaceRole.OWNER: "Owner", SpaceRole.MEMBER: "Member"}
RELATIONS: Final = {relation: relation.replace("_", " ") for relation in Relation}
STANDS: Final = {
    Relation.RELATED_TO: "is related to",
    Relation.UPDATES: "updates",
    Relation.CONTRADICTS: "contradicts",
    Relation.CAUSED_BY: "is caused by",
    Relation.RESULT_OF: "is a result of",
    Relation.PART_OF: "is part of",
}
"""What a memory does with another."""
STANDS_TO: Final = {
    Relation.RELATED_TO: "Related to it",
    Relation.UPDATES: "Updated by",
    Relation.CONTRADICTS: "Contradicted by",
    Relation.CAUSED_BY: "It causes",
    Relation.RESULT_OF: "It results in",
    Relation.PART_OF: "It contains",
}
"""What another memory does with this one, before that one."""
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

WAYS: Final = {
    "rest": "A program",
    "mcp": "An assistant (MCP)",
    "python": "Python",
    "chat": "A chat",
    "web": "These pages",
    "cli": "The command line",
}
"""Entry points."""
SUBJECTS: Final = {
    "recall": "Recalls",
    "context": "Contexts of prompts",
    "memory": "Memories",
    "memory.evict": "Evictions",
    "message": "Messages",
    "conversation": "Conversations",
    "association": "Associations",
    "space": "Spaces",
    "preference": "Preferences",
    "user": "People",
    "session": "Sign-ins",
    "key": "Keys",
    "job": "Jobs",
    "erase": "Deletions for good",
    "audit": "This log",
}
"""First parts of actions in the audit log."""
_DONE: Final = {
    "activate": "used again",
    "append": "added",
    "budget": "counted for the budget",
    "confirm": "confirmed",
    "copy": "copied",
    "create": "made",
    "deactivate": "put aside",
    "decline": "declined",
    "delete": "deleted for good",
    "document": "read as a document",
    "edit": "changed",
    "end": "ended",
    "evict": "evicted",
    "expire": "expired",
    "export": "exported",
    "forget": "forgotten",
    "invite": "offered to somebody",
    "join": "joined",
    "leave": "left",
    "link": "linked",
    "list": "listed",
    "mention": "mentioned again",
    "merge": "merged",
    "migrate": "changed",
    "move": "moved",
    "pin": "pinned",
    "read": "read",
    "reject": "rejected",
    "remember": "remembered",
    "remove": "removed",
    "reopen": "waiting again",
    "reset": "taken back",
    "restore": "restored",
    "retry": "tried again",
    "revoke": "revoked",
    "role": "given a role",
    "rotate": "replaced",
    "set": "set",
    "share": "shared",
    "start": "started",
    "summarise": "summarised",
    "toggle": "changed",
    "unlink": "unlinked",
    "unmerge": "separated again",
    "unshare": "made private",
    "update": "changed",
    "withdraw": "not offered any more",
}
_THINGS: Final = {
    "memory": "memories",
    "user": "people",
    "policy": "policies",
    "audit": "the log",
    "statistic": "statistics",
}


_PLAIN: Final = {
    "Input should be a valid UUID": "is not an id",
    "Field required": "is needed",
    "does not name its exporter": "does not say who exported it",
}
"""Plain words for the library's messages, by their beginning."""
_FIELDS: Final = {
    "agent_id": "Agent",
    "content": "What to remember",
    "display_name": "Name",
    "place_id": "Id",
    "place_name": "Name",
    "platform_user_id": "Id there",
    "person": "Person",
    "query": "Question",
    "space_id": "Space",
    "subject": "About",
    "user_id": "Person",
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


def scope_change(vanish: int, appear: int) -> str:
    """Say how many memories another scope takes from an agent and gives to it."""
    words = [
        f"{vanish:,} {'vanishes' if vanish == 1 else 'vanish'}" if vanish else "",
        f"{appear:,} {'appears' if appear == 1 else 'appear'}" if appear else "",
    ]
    return " and ".join(filter(None, words)) or "nothing vanishes or appears"


def invitee_name(invitee: str, people: Mapping[UUID, str]) -> str:
    """Name who is invited, as far as the one who looks may know it."""
    named = parse_user(invitee)
    return people.get(named, "Somebody by id") if isinstance(named, UUID) else named


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


def forgotten(result: ForgetResult) -> str:
    """Say which messages went with a memory, and which may say it still."""
    words = ""
    if result.messages:
        words += f" {plural(result.messages, 'message')} that said it left recall too."
    if result.similar_messages:
        words += f" {plural(result.similar_messages, 'message')} may still say it."
    return words


def names(values: Sequence[str], most: int = 2) -> str:
    """Return names as a list of words; beyond ``most`` the number of the others."""
    rest = len(values) - most
    if rest > 0:
        return f"{', '.join(values[:most])} and {rest:,} more"
    return " and ".join([", ".join(values[:-1]), values[-1]]) if len(values) > 1 else values[0]


def who(hit: Hit, origin: Origin | None, user_id: UUID, is_own: bool) -> str:
    """Say who said what a hit says, and to whom."""
    if hit.type != "memory":
        agent = hit.role == "assistant"
        own = is_own and hit.user_id == user_id and not agent
        return "You" if own else hit.sender_name or ("An agent" if agent else "Somebody")
    return origin_line(origin, hit.author, is_own)


def origin_line(origin: Origin | None, author: str | None, is_own: bool) -> str:
    """Say where a memory comes from."""
    if origin is None or author:
        return f"{author or 'Somebody'} said so"
    if origin.agent is None:
        return "Added " + by(origin.source)
    return f"You told {origin.agent}" if is_own else f"Told to {origin.agent}"


def readers(names_of: Sequence[str], *, everyone: bool, most: int = 2) -> str:
    """Say which agents may read a memory."""
    if not names_of:
        return "No agent may read it"
    if len(names_of) == 1:
        return f"Only {names_of[0]} may read it"
    return f"{'Every agent' if everyone else names(names_of, most)} may read it"


def action(name: str, count: int = 0) -> str:
    """Say an action of the audit log on a number of ids in words; 0 is some number."""
    thing, _, verb = name.partition(".")
    if thing == "erase":
        thing, verb = verb, "delete"
    thing = thing.removesuffix("s")
    if thing == "recall":
        return f"{count:,} recalled" if count else "recalled"
    noun = thing if count == 1 else _THINGS.get(thing, f"{thing}s")
    number = f"{count:,} " if count else ""
    return f"{number}{noun} {_DONE.get(verb, verb.replace('_', ' '))}".strip()


def import_end(row: ImportRow) -> str:
    """Say how an import ended; empty while it runs."""
    if row.is_running:
        return ""
    if row.ended_at is None:
        return "interrupted; run it again to go on"
    return f"failed: {reason(row.reason)}" if row.reason else "done"


def reason(kind: str) -> str:
    """Say the kind of an error in words: InvalidInput is "Invalid input"."""
    letters = pairwise(f" {kind}")
    return "".join(f" {b.lower()}" if a.islower() and b.isupper() else b for a, b in letters)


def milliseconds(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f} ms" if value < 10_000 else "10 s or more"


def size(count: float) -> str:
    """Say a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def short_day(value: date) -> str:
    return f"{value.day} {value:%b}"


def span(value: Span, unit: str, custom: Custom = EVERYWHERE) -> str:
    """Name a day, month or year."""
    return {"day": date_of(value.start, custom), "month": f"{value.start:%b %Y}"}.get(
        unit, str(value.start.year)
    )


def span_counts(value: Span) -> str:
    """Say what happened in a span, in a few words."""
    counts = {"learnt": value.learnt, "changed": value.changed, "forgotten": value.forgotten}
    words = [f"{count:,} {name}" for name, count in counts.items() if count]
    return ", ".join(words) or "nothing"


def nodes(graph: Graph | Neighbourhood) -> dict[tuple[UUID | None, str], GraphNode | Node]:
    """Return the memories of a graph by owner and id."""
    return {(node.user_id, node.id): node for node in graph.nodes}


def by_day(
    entries: Sequence[Entry], now: datetime, zone: str, custom: Custom = EVERYWHERE
) -> list[tuple[str, list[Entry]]]:
    """Return entries in order, grouped by the day of their time."""
    days = groupby(entries, lambda entry: name_of_day(entry.at, now, zone, custom))
    return [(name, list(group)) for name, group in days]


def parts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of a receipt under names that people know. Pure."""
    named = {name: counts[table] for table, name in PARTS.items() if counts.get(table)}
    rest = sum(count for table, count in counts.items() if table not in PARTS)
    return named | ({"Entries of the search and the like": rest} if rest else {})


def failure(upload: Upload) -> str:
    """Say why a file cannot be imported, to somebody who reads its name beside it. Pure."""
    reason = (upload.reason or "it could not be read").removeprefix(upload.name).lstrip(":, ")
    reason = reason.replace(" that --as gives", " you gave")
    said, _, advice = reason.partition("; ")
    return sentence(said if "--" in advice else reason)


def contents(counts: UploadCounts) -> list[str]:
    """Say what an import stores, or would store, and what it leaves out. Pure."""
    said = [
        (counts.conversations, "conversation", "conversations"),
        (counts.messages_added, "new message", "new messages"),
        (counts.messages_edited, "edited message", "edited messages"),
        (counts.messages_skipped, "message known already", "messages known already"),
        (counts.memories_added, "new memory", "new memories"),
        (counts.memories_skipped, "memory known already", "memories known already"),
        (counts.memories_evicted, "memory over the budget", "memories over the budget"),
        (counts.memories_refused, "memory refused", "memories refused"),
    ]
    return [plural(count, one, many) for count, one, many in said if count]
