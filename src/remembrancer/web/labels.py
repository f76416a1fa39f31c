"""Labels and sentences on pages, by value."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import Final
from uuid import UUID

from remembrancer.access import Role, Scope, ScopeSource, SpaceRole
from remembrancer.associations.schemas import Neighbourhood, Node
from remembrancer.importers.progress import ImportRow
from remembrancer.jobs.schemas import JobStatus
from remembrancer.lookup.schemas import Entry, Graph, GraphNode, Origin, Span
from remembrancer.memories.schemas import Category, ForgetResult, Kind, Relation, SortBy, Status
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.recall.schemas import Hit, Mode
from remembrancer.retention.schemas import What
from remembrancer.review.schemas import ReviewOutcome
from remembrancer.uploads.schemas import Upload, UploadCounts
from remembrancer.user_names import parse_user
from remembrancer.web.languages import (
    counted,
    date_of,
    gettext,
    lazy,
    marked,
    month,
    name_of_day,
    ngettext,
    number,
    percent,
)
from remembrancer.workspaces.schemas import MoveState, WorkspaceMove, WorkspaceState

SCOPES: Final = {Scope.AGENT: lazy("Private"), Scope.GLOBAL: lazy("Global")}
SCOPE_MEANINGS: Final = {
    Scope.AGENT: lazy("This agent keeps its own memories of you; no other agent reads them."),
    Scope.GLOBAL: lazy("This agent shares memories of you with all your other global agents."),
}
STATUSES: Final = {
    Status.ACTIVE: lazy("Active"),
    Status.INACTIVE: lazy("Inactive"),
    Status.EVICTED: lazy("Evicted"),
    Status.PENDING: lazy("Pending"),
    Status.FORGOTTEN: lazy("Forgotten"),
}
SORTS: Final = {
    SortBy.RECENT: lazy("Newest first"),
    SortBy.IMPORTANCE: lazy("Most important first"),
    SortBy.MOST_ACCESSED: lazy("Most recalled first"),
}
FORMATS: Final = {
    "calendar": lazy("Calendars"),
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "contacts": lazy("Contacts"),
    "discord": "Discord",
    "gemini": "Gemini",
    "hindsight": "Hindsight",
    "json": lazy("Conversations as JSON"),
    "jsonl": lazy("Messages as JSON lines"),
    "langmem": "LangMem",
    "letta": "Letta",
    "librechat": "LibreChat",
    "locomo": "LoCoMo",
    "mail": lazy("E-mail"),
    "matrix": "Matrix",
    "mcp-memory": lazy("The memory server of MCP"),
    "mem0": "mem0",
    "messenger": "Messenger",
    "notes": lazy("Notes in Markdown"),
    "open-webui": "Open WebUI",
    "remembrancer": "Remembrancer",
    "signal": "Signal",
    "sillytavern": "SillyTavern",
    "slack": "Slack",
    "telegram": "Telegram",
    "whatsapp": "WhatsApp",
    "zep": "Zep",
}
DATE_ORDERS: Final = {"dmy": "31/12/2026", "mdy": "12/31/2026", "ymd": "2026/12/31"}
EXPORTS: Final = {
    "chatgpt": lazy("Settings, Data controls, Export data"),
    "claude": lazy("Settings, Privacy, Export data"),
    "gemini": lazy("takeout.google.com: My Activity, Gemini Apps alone, as JSON"),
    "claude-code": lazy("The folder .claude/projects in your home, as a zip archive"),
    "codex": lazy("The folder .codex/sessions in your home, as a zip archive"),
    "open-webui": lazy("Settings, Data Controls, Export Chats"),
    "librechat": lazy("The menu of a conversation, Export, as JSON"),
    "sillytavern": lazy("The files in data, your name, chats"),
    "slack": lazy("Workspace settings, Import/Export data"),
    "discord": lazy("Settings, Data & Privacy, Request data; or DiscordChatExporter, as JSON"),
    "telegram": lazy("In Telegram Desktop: Settings, Advanced, Export, as JSON"),
    "whatsapp": lazy("The menu of a chat, Export chat, without media"),
    "messenger": lazy("Accounts Center, Download your information, as JSON"),
    "signal": lazy("In Signal Desktop: Settings, Chats, Export; the folder as a zip archive"),
    "matrix": lazy("In Element: Room info, Export chat, as JSON"),
    "mail": lazy("Google Takeout, Mail; or mailboxes and messages that your program saves"),
    "notes": lazy("The folder with your Markdown files, as a zip archive"),
    "calendar": lazy("Export your calendar, as .ics"),
    "contacts": lazy("Export your contacts, as vCard"),
    "mem0": lazy("What get_all returns, as a JSON file"),
    "zep": lazy("Its edges and nodes, as a JSON file"),
    "letta": lazy("An agent file, or its passages or blocks, as a JSON file"),
    "langmem": lazy("The items of its store, as a JSON file"),
    "hindsight": lazy("The memories of a bank, as a JSON file"),
    "mcp-memory": lazy("Its file, memory.jsonl"),
    "remembrancer": lazy("On another server: Profile, Export as notes or as JSON"),
}
"""Where people get an export, by format."""
EXPORT_FORMATS: Final = {
    "markdown": lazy("Export as notes"),
    "json": lazy("Export as JSON"),
    "json-ld": lazy("Export as JSON-LD"),
}
PRIVATE_CHATS: Final = "private"
"""The platform of the chats that a bot's memory opens for each user."""
OWN_PLATFORM: Final = "pages"
"""The platform of people who were added here, on none of their own. It is not shown."""
PARTS: Final = {
    "memories": lazy("Memories"),
    "memory_versions": lazy("Versions of memories"),
    "mentions": lazy("Mentions"),
    "associations": lazy("Associations"),
    "messages": lazy("Messages"),
    "chunks": lazy("Summaries"),
    "conversations": lazy("Conversations"),
    "participants": lazy("Conversations taken part in"),
    "uploads": lazy("Files to import"),
    "users": lazy("People"),
    "platform_links": lazy("Platform links"),
    "memory_preferences": lazy("Preferences"),
    "saved_filters": lazy("Saved filters"),
    "spaces": lazy("Spaces"),
    "space_members": lazy("Memberships"),
    "space_invitations": lazy("Invitations"),
    "space_refusals": lazy("Refusals"),
    "api_keys": lazy("Keys"),
    "sessions": lazy("Sessions"),
}
"""Names of what an erasure deletes, by its table. The rest is counted together."""
MERGED: Final = {
    "memories": lazy("Memories"),
    "duplicates": lazy("Memories known to both"),
    "messages": lazy("Messages"),
    "conversations": lazy("Conversations"),
    "chunks": lazy("Summaries"),
    "preferences": lazy("Preferences"),
    "preferences_dropped": lazy("Preferences dropped"),
    "spaces": lazy("Spaces"),
    "platform_links": lazy("Platform links"),
}
"""What a merge of two people moves, by the name of its number."""
READERS: Final = {Scope.GLOBAL: lazy("Every agent"), Scope.AGENT: lazy("One agent alone")}
ROLES: Final = {SpaceRole.OWNER: lazy("Owner"), SpaceRole.MEMBER: lazy("Member")}
RELATIONS: Final = {
    Relation.RELATED_TO: lazy("related to"),
    Relation.UPDATES: lazy("updates"),
    Relation.CONTRADICTS: lazy("contradicts"),
    Relation.CAUSED_BY: lazy("caused by"),
    Relation.RESULT_OF: lazy("result of"),
    Relation.PART_OF: lazy("part of"),
}
KINDS: Final = {
    Kind.IDENTITY: lazy("Identity"),
    Kind.FACT: lazy("Fact"),
    Kind.PREFERENCE: lazy("Preference"),
    Kind.DECISION: lazy("Decision"),
    Kind.GOAL: lazy("Goal"),
    Kind.TODO: lazy("To-do"),
    Kind.EVENT: lazy("Event"),
    Kind.OBSERVATION: lazy("Observation"),
    Kind.PLACE: lazy("Place"),
}
CATEGORIES: Final = {
    Category.PERSON: lazy("Person"),
    Category.PREFERENCE: lazy("Preference"),
    Category.CONTEXT: lazy("Context"),
    Category.PROJECT: lazy("Project"),
    Category.PERSONALITY: lazy("Personality"),
    Category.HOBBY: lazy("Hobby"),
    Category.RELATIONSHIP: lazy("Relationship"),
    Category.MILESTONE: lazy("Milestone"),
    Category.OCCUPATION: lazy("Occupation"),
    Category.HABIT: lazy("Habit"),
    Category.OTHER: lazy("Other"),
}
STANDS: Final = {
    Relation.RELATED_TO: lazy("is related to"),
    Relation.UPDATES: lazy("updates"),
    Relation.CONTRADICTS: lazy("contradicts"),
    Relation.CAUSED_BY: lazy("is caused by"),
    Relation.RESULT_OF: lazy("is a result of"),
    Relation.PART_OF: lazy("is part of"),
}
"""What a memory does with another."""
STANDS_TO: Final = {
    Relation.RELATED_TO: lazy("Related to it"),
    Relation.UPDATES: lazy("Updated by"),
    Relation.CONTRADICTS: lazy("Contradicted by"),
    Relation.CAUSED_BY: lazy("It causes"),
    Relation.RESULT_OF: lazy("It results in"),
    Relation.PART_OF: lazy("It contains"),
}
"""What another memory does with this one, before that one."""
SOURCES: Final = {
    ScopeSource.ADMIN_OVERRIDE: lazy("Admin policy"),
    ScopeSource.USER_PREFERENCE: lazy("Preference"),
    ScopeSource.USER_TOGGLE: lazy("Earlier setting"),
    ScopeSource.AGENT_DEFAULT: lazy("Agent default"),
}
MESSAGE_ROLES: Final = {
    "user": lazy("User"),
    "assistant": lazy("Assistant"),
    "system": lazy("System"),
    "tool": lazy("Tool"),
}
ARMS: Final = {
    "dense": lazy("meaning"),
    "keyword": lazy("words"),
    "bm25": lazy("words"),
    "graph": lazy("associations"),
}
MODES: Final = {
    Mode.HYBRID: lazy("Best matches"),
    Mode.RECENT: lazy("Newest"),
    Mode.IMPORTANT: lazy("Most important"),
    Mode.TYPED: lazy("Of a kind"),
}
UNITS: Final = {"day": lazy("Day"), "month": lazy("Month"), "year": lazy("Year")}
TIMELINES: Final = {
    "day": lazy("What came, changed and went, by day"),
    "month": lazy("What came, changed and went, by month"),
    "year": lazy("What came, changed and went, by year"),
}
HAPPENED: Final = {
    "learnt": lazy("Learnt"),
    "changed": lazy("Changed"),
    "forgotten": lazy("Forgotten"),
}
ACTORS: Final = {
    "admin": lazy("Admin"),
    "user": lazy("A person"),
    "service": lazy("A program"),
    "system": lazy("The server"),
}
KEY_ROLES: Final = {
    Role.ADMIN: lazy("admin"),
    Role.SERVICE: lazy("service"),
    Role.USER: lazy("user"),
}
WORKSPACE_STATES: Final = {
    WorkspaceState.CREATING: lazy("being created"),
    WorkspaceState.ACTIVE: lazy("in use"),
    WorkspaceState.SUSPENDED: lazy("suspended"),
    WorkspaceState.DROPPING: lazy("being dropped"),
}
MOVE_STATES: Final = {
    MoveState.COPYING: lazy("%(percent)s copied to %(new)s"),
    MoveState.SWITCHING: lazy("changes over to %(new)s"),
    MoveState.MOVED: lazy("moved from %(old)s; to be confirmed or undone"),
    MoveState.RETURNING: lazy("goes back to %(old)s"),
    MoveState.ENDING: lazy("the other copy is being dropped"),
}
JOB_STATUSES: Final = {
    JobStatus.QUEUED: lazy("Queued"),
    JobStatus.RUNNING: lazy("Running"),
    JobStatus.SUCCEEDED: lazy("Succeeded"),
    JobStatus.FAILED: lazy("Failed"),
    JobStatus.CANCELLED: lazy("Cancelled"),
}
NO_JOBS: Final = {
    JobStatus.QUEUED: lazy("No queued job"),
    JobStatus.RUNNING: lazy("No running job"),
    JobStatus.SUCCEEDED: lazy("No succeeded job"),
    JobStatus.FAILED: lazy("No failed job"),
    JobStatus.CANCELLED: lazy("No cancelled job"),
}
TASKS: Final = {
    "summarise": lazy("Summary of a conversation"),
    "import": lazy("Import of a file"),
}
ARGUMENTS: Final = {
    "conversation_id": lazy("conversation"),
    "upload_id": lazy("file"),
    "user_id": lazy("person"),
}
SCRIPT_TEXTS: Final = (
    "%(count)s added.",
    "%(count)s found in the picture. Enter looks in all.",
    "All its neighbours are in the picture.",
    "Copied",
    "It %(relation)s",
    "Looking…",
    "Selected: press Ctrl+C",
    "The picture is full.",
    "The server does not answer. Nothing was changed; try again.",
    "The server does not answer. Try again.",
)
"""Texts of the scripts, which the page gives them in its language."""
_BY: Final = {
    "manual": lazy("by hand"),
    "web": lazy("on these pages"),
    "api": lazy("by a program"),
    "review": lazy("in a review"),
    "extraction": lazy("from a conversation"),
    "tool": lazy("by an agent"),
    "chat": lazy("in a chat"),
    "cli": lazy("on the command line"),
    "import": lazy("by an import"),
    "sample": lazy("with the sample"),
}

WAYS: Final = {
    "rest": lazy("A program"),
    "mcp": lazy("An assistant (MCP)"),
    "python": lazy("Python"),
    "chat": lazy("A chat"),
    "web": lazy("These pages"),
    "cli": lazy("The command line"),
}
"""Entry points."""
SUBJECTS: Final = {
    "recall": lazy("Recalls"),
    "context": lazy("Contexts of prompts"),
    "memory": lazy("Memories"),
    "memory.evict": lazy("Evictions"),
    "message": lazy("Messages"),
    "conversation": lazy("Conversations"),
    "association": lazy("Associations"),
    "space": lazy("Spaces"),
    "preference": lazy("Preferences"),
    "user": lazy("People"),
    "session": lazy("Sign-ins"),
    "key": lazy("Keys"),
    "job": lazy("Jobs"),
    "retention": lazy("Removal of old rows"),
    "version": lazy("Versions of memories"),
    "erase": lazy("Deletions for good"),
    "audit": lazy("This log"),
    "workspace": lazy("Workspaces"),
}
"""First parts of actions in the audit log."""
_DONE: Final = {
    "activate": lazy("used again"),
    "append": lazy("added"),
    "budget": lazy("counted for the budget"),
    "confirm": lazy("confirmed"),
    "confirm_move": lazy("moved for good"),
    "copy": lazy("copied"),
    "create": lazy("made"),
    "deactivate": lazy("put aside"),
    "decline": lazy("declined"),
    "delete": lazy("deleted for good"),
    "drop": lazy("dropped for good"),
    "document": lazy("read as a document"),
    "edit": lazy("changed"),
    "end": lazy("ended"),
    "evict": lazy("evicted"),
    "expire": lazy("expired"),
    "export": lazy("exported"),
    "forget": lazy("forgotten"),
    "invite": lazy("offered to somebody"),
    "join": lazy("joined"),
    "leave": lazy("left"),
    "limit": lazy("given limits"),
    "link": lazy("linked"),
    "list": lazy("listed"),
    "mention": lazy("mentioned again"),
    "merge": lazy("merged"),
    "migrate": lazy("changed"),
    "move": lazy("moved"),
    "pin": lazy("pinned"),
    "read": lazy("read"),
    "reject": lazy("rejected"),
    "remember": lazy("remembered"),
    "remove": lazy("removed"),
    "reopen": lazy("waiting again"),
    "reset": lazy("taken back"),
    "restore": lazy("restored"),
    "resume": lazy("resumed"),
    "retry": lazy("tried again"),
    "revoke": lazy("revoked"),
    "role": lazy("given a role"),
    "rotate": lazy("replaced"),
    "set": lazy("set"),
    "share": lazy("shared"),
    "start": lazy("started"),
    "summarise": lazy("summarised"),
    "suspend": lazy("suspended"),
    "toggle": lazy("changed"),
    "undo_move": lazy("moved back"),
    "unlink": lazy("unlinked"),
    "unmerge": lazy("separated again"),
    "unshare": lazy("made private"),
    "update": lazy("changed"),
    "withdraw": lazy("not offered any more"),
}
_THINGS: Final = {
    "agent": marked("%(count)s agent", "%(count)s agents"),
    "association": marked("%(count)s association", "%(count)s associations"),
    "audit": marked("the log", "the log"),
    "context": marked("%(count)s context", "%(count)s contexts"),
    "conversation": marked("%(count)s conversation", "%(count)s conversations"),
    "job": marked("%(count)s job", "%(count)s jobs"),
    "key": marked("%(count)s key", "%(count)s keys"),
    "link": marked("%(count)s link", "%(count)s links"),
    "memory": marked("%(count)s memory", "%(count)s memories"),
    "message": marked("%(count)s message", "%(count)s messages"),
    "place": marked("%(count)s place", "%(count)s places"),
    "policy": marked("%(count)s policy", "%(count)s policies"),
    "preference": marked("%(count)s preference", "%(count)s preferences"),
    "retention": marked("old rows", "old rows"),
    "session": marked("%(count)s session", "%(count)s sessions"),
    "space": marked("%(count)s space", "%(count)s spaces"),
    "statistic": marked("statistics", "statistics"),
    "upload": marked("%(count)s file", "%(count)s files"),
    "user": marked("%(count)s person", "%(count)s people"),
    "version": marked("%(count)s version", "%(count)s versions"),
    "workspace": marked("%(count)s workspace", "%(count)s workspaces"),
}
RETENTION: Final[Mapping[What, str]] = {
    "messages": lazy("Messages"),
    "evicted": lazy("Evicted memories"),
    "forgotten": lazy("Forgotten memories"),
    "versions": lazy("Old versions of memories"),
    "undo": lazy("What undoing needs"),
    "audit": lazy("Audit log"),
    "usage": lazy("Usage"),
    "jobs": lazy("Ended jobs"),
    "failed_jobs": lazy("Failed jobs"),
    "sessions": lazy("Sign-ins of browsers"),
    "uploads": lazy("Files that were given to be imported"),
    "idempotency_keys": lazy("Keys of repeated requests"),
}


_PLAIN: Final = {
    "must be an id": lazy("is not an id"),
    "is required": lazy("is needed"),
    "hybrid mode needs a query": lazy("is needed"),
    "does not name its exporter": lazy("does not say who exported it"),
}
"""Plain words for the library's messages, by their beginning."""
_FIELDS: Final = {
    "agent_id": lazy("Agent"),
    "content": lazy("What to remember"),
    "display_name": lazy("Name"),
    "place_id": lazy("Id"),
    "place_name": lazy("Name"),
    "platform_user_id": lazy("Id there"),
    "person": lazy("Person"),
    "query": lazy("Question"),
    "space_id": lazy("Space"),
    "subject": lazy("About"),
    "user_id": lazy("Person"),
}


def script_texts() -> dict[str, str]:
    return {text: gettext(text) for text in SCRIPT_TEXTS}


def by(source: str) -> str:
    return str(_BY.get(source)) if source in _BY else gettext("by %(source)s", source=source)


def on(platform: str) -> str:
    """Say where a conversation was; a private one of a bot is on no platform."""
    return (
        gettext("in private")
        if platform == PRIVATE_CHATS
        else gettext("on %(platform)s", platform=platform)
    )


def source(config: AgentMemoryConfig) -> str:
    return {
        ScopeSource.ADMIN_OVERRIDE: gettext("Admin has disabled agent-specific memory globally"),
        ScopeSource.USER_PREFERENCE: gettext("You customized memory scope for this agent"),
        ScopeSource.USER_TOGGLE: gettext(
            "Your earlier setting for all agents makes this agent global"
        ),
        ScopeSource.AGENT_DEFAULT: gettext(
            "Using agent default: %(scope)s", scope=config.agent.memory_scope
        ),
    }[config.source]


def scope_change(vanish: int, appear: int) -> str:
    """Say how many memories another scope takes from an agent and gives to it."""
    words = [
        counted("%(count)s vanishes", "%(count)s vanish", vanish) if vanish else "",
        counted("%(count)s appears", "%(count)s appear", appear) if appear else "",
    ]
    return listed(list(filter(None, words))) or gettext("nothing vanishes or appears")


def invitee_name(invitee: str, people: Mapping[UUID, str]) -> str:
    """Name who is invited, as far as the one who looks may know it."""
    named = parse_user(invitee)
    return people.get(named, gettext("Somebody by id")) if isinstance(named, UUID) else named


def review_counts(counts: Mapping[ReviewOutcome, int]) -> str:
    words = {
        ReviewOutcome.CONFIRMED: gettext("confirmed"),
        ReviewOutcome.SHARED: gettext("confirmed and shared"),
        ReviewOutcome.UPDATED: gettext("confirmed as a new version of another memory"),
        ReviewOutcome.MENTIONED: gettext("known already; its mentions went up by one"),
        ReviewOutcome.REJECTED: gettext("rejected"),
        ReviewOutcome.REOPENED: gettext("pending again"),
        ReviewOutcome.REFUSED: gettext("not changed"),
        ReviewOutcome.NOT_FOUND: gettext("no longer there"),
    }
    parts = [f"{number(counts[key])} {text}" for key, text in words.items() if key in counts]
    return f"{', '.join(parts)}."


def kind(value: Kind) -> str:
    return str(KINDS[value])


def sentence(text: str, capital: bool = True) -> str:
    """Return an error's reason as a sentence."""
    text = text.strip()
    for technical, plain in _PLAIN.items():
        text = str(plain) if text.startswith(technical) else text
    first = text[:1].upper() if capital else text[:1]
    return f"{first}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}" if text else ""


def field(name: str) -> str:
    return str(_FIELDS[name]) if name in _FIELDS else name.replace("_", " ").capitalize()


def shortened(text: str, length: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def forgotten(result: ForgetResult) -> str:
    """Say which messages went with a memory, and which may say it still."""
    words = ""
    if result.messages:
        words += " " + counted(
            "%(count)s message that said it left recall too.",
            "%(count)s messages that said it left recall too.",
            result.messages,
        )
    if result.similar_messages:
        words += " " + counted(
            "%(count)s message may still say it.",
            "%(count)s messages may still say it.",
            result.similar_messages,
        )
    return words


def names(values: Sequence[str], most: int = 2) -> str:
    """Return names as a list of words; beyond ``most`` the number of the others."""
    rest = len(values) - most
    if rest <= 0:
        return listed(values)
    count = {"names": ", ".join(values[:most]), "count": number(rest)}
    return gettext("%(names)s and %(count)s more") % count


def listed(values: Sequence[str]) -> str:
    """Return words as a list, with "and" before the last."""
    if len(values) < 2:
        return "".join(values)
    return gettext("%(first)s and %(last)s", first=", ".join(values[:-1]), last=values[-1])


def who(hit: Hit, origin: Origin | None, user_id: UUID, is_own: bool) -> str:
    """Say who said what a hit says, and to whom."""
    if hit.type != "memory":
        agent = hit.role == "assistant"
        if is_own and hit.user_id == user_id and not agent:
            return gettext("You")
        return hit.sender_name or (gettext("An agent") if agent else gettext("Somebody"))
    return origin_line(origin, hit.author, is_own)


def origin_line(origin: Origin | None, author: str | None, is_own: bool) -> str:
    """Say where a memory comes from."""
    if origin is None or author:
        return gettext("%(name)s said so", name=author or gettext("Somebody"))
    if origin.agent is None:
        return gettext("Added %(way)s", way=by(origin.source))
    told = gettext("You told %(agent)s") if is_own else gettext("Told to %(agent)s")
    return told % {"agent": origin.agent}


def readers(names_of: Sequence[str], *, everyone: bool, most: int = 2) -> str:
    """Say which agents may read a memory."""
    if not names_of:
        return gettext("No agent may read it")
    if len(names_of) == 1:
        return gettext("Only %(agent)s may read it", agent=names_of[0])
    if everyone:
        return gettext("Every agent may read it")
    return gettext("%(agents)s may read it", agents=names(names_of, most))


def action(name: str, count: int = 0) -> str:
    """Say an action of the audit log on a number of ids in words; 0 is some number."""
    thing, _, verb = name.partition(".")
    if thing == "erase":
        thing, verb = verb, "delete"
    thing = thing.removesuffix("s")
    if thing == "recall":
        return gettext("%(count)s recalled", count=number(count)) if count else gettext("recalled")
    forms = _THINGS.get(thing) or (f"%(count)s {thing}", f"%(count)s {thing}s")
    noun = counted(*forms, count) if count else ngettext(*forms, 2) % {"count": ""}
    return f"{noun} {_DONE.get(verb, verb.replace('_', ' '))}".strip()


def import_end(row: ImportRow) -> str:
    """Say how an import ended; empty while it runs."""
    if row.is_running:
        return ""
    if row.ended_at is None:
        return gettext("interrupted; run it again to go on")
    if row.reason:
        return gettext("failed: %(reason)s", reason=reason(row.reason))
    return gettext("done")


def import_state(row: ImportRow) -> str:
    """Return how the end of an import looks: good, bad, or waiting for somebody."""
    if row.ended_at is None:
        return "wait"
    return "bad" if row.reason else "good"


def reason(kind: str) -> str:
    """Say the kind of an error in words: InvalidInput is "Invalid input"."""
    letters = pairwise(f" {kind}")
    return "".join(f" {b.lower()}" if a.islower() and b.isupper() else b for a, b in letters)


def way(move: WorkspaceMove) -> str:
    """Say how far a workspace is on its way to another server."""
    share = min(move.done_bytes / move.total_bytes, 1) if move.total_bytes else 0
    values = {"percent": percent(share), "old": move.from_server, "new": move.to_server}
    return MOVE_STATES[move.state] % values


def milliseconds(value: float | None) -> str:
    if value is None:
        return gettext("none")
    if value < 10_000:
        return gettext("%(count)s ms", count=number(round(value)))
    return gettext("10 s or more")


def size(count: float) -> str:
    """Say a number of bytes."""
    for unit in (gettext("bytes"), "kB", "MB"):
        if count < 1000:
            return f"{number(round(count))} {unit}"
        count /= 1000
    return f"{number(round(count, 1))} GB"


def span(value: Span, unit: str) -> str:
    """Name a day, month or year."""
    if unit == "day":
        return date_of(value.start)
    return month(value.start) if unit == "month" else str(value.start.year)


def span_counts(value: Span) -> str:
    """Say what happened in a span, in a few words."""
    words = [
        gettext("%(count)s learnt", count=number(value.learnt)) if value.learnt else "",
        gettext("%(count)s changed", count=number(value.changed)) if value.changed else "",
        gettext("%(count)s forgotten", count=number(value.forgotten)) if value.forgotten else "",
    ]
    return ", ".join(filter(None, words)) or gettext("nothing")


def nodes(graph: Graph | Neighbourhood) -> dict[tuple[UUID | None, str], GraphNode | Node]:
    """Return the memories of a graph by owner and id."""
    return {(node.user_id, node.id): node for node in graph.nodes}


def by_day(entries: Sequence[Entry], now: datetime, zone: str) -> list[tuple[str, list[Entry]]]:
    """Return entries in order, grouped by the day of their time."""
    days = groupby(entries, lambda entry: name_of_day(entry.at, now, zone))
    return [(name, list(group)) for name, group in days]


def parts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of a receipt under names that people know. Pure."""
    named = {str(name): counts[table] for table, name in PARTS.items() if counts.get(table)}
    rest = sum(count for table, count in counts.items() if table not in PARTS)
    return named | ({gettext("Entries of the search and the like"): rest} if rest else {})


def failure(upload: Upload) -> str:
    """Say why a file cannot be imported, to somebody who reads its name beside it. Pure."""
    reason = (
        (upload.reason or gettext("it could not be read")).removeprefix(upload.name).lstrip(":, ")
    )
    reason = reason.replace(" that --as gives", " you gave")
    said, _, advice = reason.partition("; ")
    return sentence(said if "--" in advice else reason)


def contents(counts: UploadCounts) -> list[str]:
    """Say what an import stores, or would store, and what it leaves out. Pure."""
    said = [
        (counts.conversations, marked("%(count)s conversation", "%(count)s conversations")),
        (counts.messages_added, marked("%(count)s new message", "%(count)s new messages")),
        (counts.messages_edited, marked("%(count)s edited message", "%(count)s edited messages")),
        (
            counts.messages_skipped,
            marked("%(count)s message known already", "%(count)s messages known already"),
        ),
        (counts.memories_added, marked("%(count)s new memory", "%(count)s new memories")),
        (
            counts.memories_skipped,
            marked("%(count)s memory known already", "%(count)s memories known already"),
        ),
        (
            counts.memories_evicted,
            marked("%(count)s memory over the budget", "%(count)s memories over the budget"),
        ),
        (counts.memories_refused, marked("%(count)s memory refused", "%(count)s memories refused")),
    ]
    return [counted(*forms, count) for count, forms in said if count]
