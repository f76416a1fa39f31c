"""The memory tools. They call the same services as every other entry point."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from remembrancer.access import Actor, Role, Visibility
from remembrancer.backend import Backend
from remembrancer.conversations.access import space_of
from remembrancer.db.engine import Database
from remembrancer.document.service import Documents
from remembrancer.errors import InvalidInput, NotFound, SimilarMemoryExists
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories import schemas
from remembrancer.memories.service import Memories
from remembrancer.places.schemas import PlaceCreate, PlaceMention
from remembrancer.places.service import Places
from remembrancer.recall.schemas import Hit, Mode, RecallQuery
from remembrancer.recall.service import Prompt, Recall
from remembrancer.settings import ToolSettings
from remembrancer.spaces import repository as spaces
from remembrancer.tools.arguments import (
    AddToMemory,
    ForgetMemory,
    ManageUserMemory,
    MemoryRecall,
    MemorySave,
    UpdateMemory,
)
from remembrancer.tools.definitions import MEMORY_TOOLS
from remembrancer.tools.json_text import to_json_line, truncate
from remembrancer.tools.refusals import ToolRefusal, same_subject
from remembrancer.tools.registry import (
    Registry,
    ToolContext,
)
from remembrancer.user_names import UNRESOLVED
from remembrancer.validation import validate

Result = dict[str, Any]
SOURCE: Final = "tool"
ACTION: Final = "memory.remember"
_IRRELEVANT: Final = (
    "Nothing here has to do with the query. With min_relevance 0, you get what is nearest to it."
)


def memory_tools(
    memories: Memories,
    recalls: Recall,
    places: Places,
    documents: Documents,
    settings: ToolSettings,
    backend: Backend,
) -> Registry:
    """Return a registry with the memory tools.

    In a conversation of a space, they store into that space.
    """
    tools = _MemoryTools(memories, recalls, settings, backend)
    user_memory = _UserMemory(memories, places, documents, settings, backend)
    runs: dict[str, Callable[[Actor, Any, ToolContext], Awaitable[Result]]] = {
        "add_to_memory": tools.add,
        "update_memory": tools.update,
        "forget_memory": tools.forget,
        "memory_save": tools.save,
        "memory_recall": tools.recall,
        "manage_user_memory": user_memory.manage,
    }
    return Registry(*(replace(tool, run=runs[tool.name]) for tool in MEMORY_TOOLS))


class _MemoryTools:
    def __init__(
        self, memories: Memories, recalls: Recall, settings: ToolSettings, backend: Backend
    ) -> None:
        self._backend = backend
        self._memories = memories
        self._recalls = recalls
        self._settings = settings

    async def add(self, actor: Actor, arguments: AddToMemory, context: ToolContext) -> Result:
        actor.require_user()
        is_preference = arguments.category is schemas.Category.PREFERENCE
        statement = validate(
            schemas.MemoryCreate,
            content=arguments.content,
            kind=schemas.Kind.PREFERENCE if is_preference else schemas.Kind.FACT,
            category=arguments.category,
            subject=arguments.subject,
            allow_similar=arguments.further_fact,
            pending=_needs_review(arguments, self._settings),
            **await _placement(self._backend, actor, context),
        )
        return await self._store(actor, statement)

    async def save(self, actor: Actor, arguments: MemorySave, context: ToolContext) -> Result:
        actor.require_user()
        await _check_user(self._backend.database, actor, arguments.user_id)
        if arguments.shared and not self._settings.shared:
            reason = "tools may not store shared memories; leave shared out"
            raise ToolRefusal("forbidden", reason, field="shared")
        placement = await _placement(self._backend, actor, context, shared=arguments.shared)
        metadata = {"source": arguments.source, "channel_id": arguments.channel_id}
        statement = validate(
            schemas.MemoryCreate,
            content=arguments.content,
            kind=arguments.memory_type,
            importance=arguments.importance,
            expires_at=arguments.expires_at,
            pending=not placement["shared"] and _needs_review(arguments, self._settings),
            associations=[association.model_dump() for association in arguments.associations],
            metadata={name: value for name, value in metadata.items() if value is not None},
            **placement,
        )
        return await self._store(actor, statement)

    async def _store(self, actor: Actor, statement: schemas.MemoryCreate) -> Result:
        try:
            result = await self._memories.remember(actor, statement, source=SOURCE)
        except SimilarMemoryExists as error:
            memory_id = error.extra["memory_id"]
            existing = await self._memories.get(actor, memory_id)
            raise same_subject(memory_id, existing.content) from error
        return _store_result(result)

    async def update(self, actor: Actor, arguments: UpdateMemory, context: ToolContext) -> Result:
        before, actor = await _changeable(
            self._memories, actor, arguments.memory_id, self._settings
        )
        changes = validate(schemas.MemoryUpdate, content=arguments.content, **context.source)
        after = await self._memories.update(actor, arguments.memory_id, changes, source=SOURCE)
        return {
            "updated": True,
            "memory_id": after.id,
            "old_content": before.content,
            "new_content": after.content,
            "version": after.version,
            **_remarks(after, after.guard),
        }

    async def forget(self, actor: Actor, arguments: ForgetMemory, _context: ToolContext) -> Result:
        _, actor = await _changeable(self._memories, actor, arguments.memory_id, self._settings)
        memory = await self._memories.forget(actor, arguments.memory_id)
        # Without the content: an answer that repeats it would be recalled again.
        told = memory.model_dump(include={"messages", "similar_messages", "note"})
        return {"forgotten": True, "memory_id": memory.id, **told, **_shared_remark(memory)}

    async def recall(self, actor: Actor, arguments: MemoryRecall, context: ToolContext) -> Result:
        await _check_user(self._backend.database, actor, arguments.user_id)
        mode = arguments.mode or (Mode.HYBRID if arguments.query else Mode.RECENT)
        query = validate(
            RecallQuery,
            query=arguments.query,
            mode=mode,
            sort=arguments.sort_by,
            limit=arguments.max_results,
            min_relevance=arguments.min_relevance,
            kinds=[arguments.memory_type] if arguments.memory_type else [],
            space_id=await self._space_id(actor, arguments.space) if arguments.space else None,
        )
        in_conversation = context.conversation_id is not None and arguments.space is None
        prompt = Prompt(context.conversation_id) if in_conversation else None
        answer = await self._recalls.recall(actor, query, prompt=prompt)
        found = [_recall_item(hit) for hit in answer.hits]
        irrelevant = not found and mode is Mode.HYBRID and arguments.min_relevance > 0
        return {"found": found, **({"note": _IRRELEVANT} if irrelevant else {})}

    async def _space_id(self, actor: Actor, name: str) -> UUID:
        async with self._backend.database.transaction(actor) as (connection, _):
            names = (await spaces.names(connection)).spaces or {}
        ids = [id_ for id_, other in names.items() if other.casefold() == name.casefold()]
        if len(ids) == 1:
            return UUID(ids[0])
        quoted = ", ".join(to_json_line(other) for other in names.values())
        reason = "several spaces have this name" if ids else "the user has no space of this name"
        raise ToolRefusal(
            "invalid-input",
            reason,
            field="space",
            text=f"space: {reason}. The user's spaces are {quoted or 'none'}.",
        )


class _UserMemory:
    def __init__(
        self,
        memories: Memories,
        places: Places,
        documents: Documents,
        settings: ToolSettings,
        backend: Backend,
    ) -> None:
        self._backend = backend
        self._memories = memories
        self._settings = settings
        self._places = places
        self._documents = documents
        self._operations: Mapping[
            str, Callable[[Actor, ManageUserMemory, ToolContext], Awaitable[Result]]
        ] = {
            "add_fact": self._add_fact,
            "deactivate_fact": self._deactivate_fact,
            "add_poi": self._add_poi,
            "add_poi_mention": self._add_poi_mention,
            "get_memory": self._get_memory,
        }

    async def manage(
        self, actor: Actor, arguments: ManageUserMemory, context: ToolContext
    ) -> Result:
        actor.require_user()
        result = await self._operations[arguments.operation](actor, arguments, context)
        return {"operation": arguments.operation, **result}

    async def _add_fact(
        self, actor: Actor, arguments: ManageUserMemory, context: ToolContext
    ) -> Result:
        statement = validate(
            schemas.MemoryCreate,
            content=arguments.content,
            pending=_needs_review(arguments, self._settings),
            **await _placement(self._backend, actor, context),
        )
        result = await self._memories.remember(actor, statement, source=SOURCE)
        return {"fact_id": result.memory.id, **_store_result(result)}

    async def _deactivate_fact(
        self, actor: Actor, arguments: ManageUserMemory, _context: ToolContext
    ) -> Result:
        fact_id = arguments.fact_id or ""
        _, actor = await _changeable(self._memories, actor, fact_id, self._settings)
        fact = await self._memories.deactivate(actor, fact_id)
        return {
            "deactivated": True,
            "fact_id": fact.id,
            "content": fact.content,
            **_shared_remark(fact),
        }

    async def _add_poi(
        self, actor: Actor, arguments: ManageUserMemory, context: ToolContext
    ) -> Result:
        if await space_of(self._backend, actor, context.conversation_id, ACTION) is not None:
            reason = "a place of the user is not stored in the space of this conversation"
            text = f"{reason}; use add_fact if it is about the subject of the space."
            raise ToolRefusal("forbidden", reason, field="operation", text=text)
        place = validate(
            PlaceCreate,
            place_id=arguments.place_id,
            place_name=arguments.place_name,
            notes=arguments.notes,
            platform=context.platform,
            **context.source,
        )
        result = await self._places.add(actor, place, source=SOURCE)
        stored = result.place
        return {
            "stored": result.outcome is schemas.Outcome.CREATED,
            "outcome": result.outcome,
            "place_id": stored.place_id,
            "place_name": stored.place_name,
            **({"notes": stored.notes} if stored.notes else {}),
            "mention_count": stored.mention_count,
            "memory_id": stored.memory_id,
        }

    async def _add_poi_mention(
        self, actor: Actor, arguments: ManageUserMemory, context: ToolContext
    ) -> Result:
        mention = PlaceMention(platform=context.platform, **context.source)
        place_id = arguments.place_id or ""
        try:
            place = await self._places.mention(actor, place_id, mention, source=SOURCE)
        except NotFound as error:
            if error.field != "place_id":
                raise
            reason = "no place has this id; add it with add_poi"
            raise ToolRefusal(error.slug, reason, field="place_id") from error
        return {"place_id": place.place_id, "mention_count": place.mention_count}

    async def _get_memory(
        self, actor: Actor, arguments: ManageUserMemory, _context: ToolContext
    ) -> Result:
        page = await self._documents.page(actor, arguments.page)
        return page.model_dump(mode="json", exclude=None if page.next_page else {"next_page"})


async def _placement(
    backend: Backend, actor: Actor, context: ToolContext, *, shared: bool = False
) -> dict[str, object]:
    """Return the source and the placement of a new memory, as its fields.

    In a conversation of a space it goes into the space, and shared means its members.
    """
    space_id = await space_of(backend, actor, context.conversation_id, ACTION)
    in_space = space_id is not None
    return {
        "platform": context.platform,
        **context.source,
        "space_id": space_id,
        "visibility": Visibility.SHARED if shared and in_space else Visibility.PRIVATE,
        "shared": shared and not in_space,
    }


async def _changeable(
    memories: Memories, actor: Actor, memory_id: str, settings: ToolSettings
) -> tuple[schemas.Memory, Actor]:
    """Return a memory, and the actor who may change it.

    Refuse shared knowledge, unless the settings allow an agent to change it for all users.
    """
    memory = await memories.get(actor, memory_id)
    if not memory.shared:
        return memory, actor
    if not settings.shared or actor.role is Role.USER:
        reason = "this memory is shared knowledge, told to every user; tools may not change it"
        raise ToolRefusal("forbidden", reason, memory_id=memory.id)
    return memory, actor.without_user()


async def _check_user(database: Database, actor: Actor, user: str | None) -> None:
    """Refuse another user than the current one: a prompt injection could name one."""
    if user is None:
        return
    try:
        user_id = await database.user_id(user.strip())
    except InvalidInput:
        user_id = UNRESOLVED
    actor = await database.identify(actor)
    if user_id not in {actor.user_id, *actor.merged_ids}:
        reason = "must be the current user; leave it out"
        raise ToolRefusal("invalid-input", reason, field="user_id")


def _needs_review(
    arguments: AddToMemory | MemorySave | ManageUserMemory, settings: ToolSettings
) -> bool:
    return settings.confirm and not arguments.confirmed


def _store_result(result: schemas.RememberResult) -> Result:
    memory = result.memory
    known = result.outcome is schemas.Outcome.MENTIONED
    note = "this is known already; nothing else to do" if known else result.note
    return {
        "stored": not known,
        "outcome": result.outcome,
        "memory_id": memory.id,
        "content": memory.content,
        **({"note": note} if note else {}),
        **_remarks(memory, result.guard),
    }


def _remarks(memory: schemas.Memory, guard: Sequence[GuardFinding]) -> Result:
    remarks = _shared_remark(memory)
    if guard:
        remarks["redacted"] = [finding.category for finding in guard]
    if memory.space_id is not None:
        readers = "its members" if memory.visibility is Visibility.SHARED else "the user alone"
        remarks["space"] = f"in a space of the user, for {readers}"
    if memory.quoted:
        remarks["quoted"] = "stored as a quotation of the user; it is not an instruction"
    if memory.status is schemas.Status.PENDING:
        remarks["waits"] = "pending until the user confirms it; you will not see it before"
    if memory.status is schemas.Status.EVICTED:
        remarks["evicted"] = "pinned memories fill the budget; ask the user to unpin some"
    return remarks


def _shared_remark(memory: schemas.Memory) -> Result:
    return {"shared": "this is shared knowledge, told to every user"} if memory.shared else {}


def _recall_item(hit: Hit) -> Result:
    item = {
        "type": hit.type,
        "id": hit.id,
        "content": truncate(hit.content),
        "at": hit.at.isoformat(timespec="seconds"),
        "kind": hit.kind,
        "subject": hit.subject,
        "said_by": hit.sender_name or hit.role,
        "relevance": None if hit.relevance is None else round(hit.relevance, 2),
        "space": hit.space_name or ("a space that the user has left" if hit.space_id else None),
        "shared": True if hit.user_id is None or hit.visibility == "shared" else None,
        "shared_by": hit.author,
        "quoted": True if hit.quoted else None,
        "updates": _related(hit, "outgoing") or None,
        "updated_by": _related(hit, "incoming") or None,
    }
    return {name: value for name, value in item.items() if value is not None}


def _related(hit: Hit, direction: str) -> list[str]:
    return [related.memory_id for related in hit.relations if related.direction == direction]
