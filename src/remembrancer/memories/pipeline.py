"""The one way in for a statement: place it, see whether it is new, store it.

Everything that remembers, from an API call to an import, comes through here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, tokens
from remembrancer.access import Actor, EffectiveScope, Placement, Role
from remembrancer.agents import repository as agents
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import new_uuid
from remembrancer.memories import repository, rules, screening
from remembrancer.memories.budget import Budget
from remembrancer.memories.dedup import Candidate, Known, Verdict, judge
from remembrancer.memories.rules import Resolved, Said
from remembrancer.memories.schemas import MemoryCreate, Outcome, Review, Status
from remembrancer.preferences.scopes import scopes
from remembrancer.search.index import SearchDocument, SearchIndex, Source
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users

Ground = tuple[UUID | None, UUID | None]
"""Agent and space: what, beside the owner, says where a memory lies."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement on its way in: what search needs, and where it goes."""

    statement: MemoryCreate
    text: SearchDocument
    goes: Resolved
    address: Sequence[str] | None = None
    """Of a record: what it is known by."""

    @property
    def hash(self) -> bytes:
        """What makes it the same statement as another."""
        statement = self.statement
        return rules.statement_hash(
            statement.content,
            statement.valid_from,
            statement.valid_to,
            statement.place_id,
            self.address,
        )

    @property
    def subject_key(self) -> str | None:
        """Its subject, as compared with others."""
        return rules.subject_key(self.statement.subject)


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory that comes from elsewhere as it was there."""

    memory_id: str
    statement: MemoryCreate
    text: SearchDocument
    at: datetime
    status: Status
    mentions: Sequence[Said]
    address: Sequence[str] | None = None
    """Of a record: what it is known by."""


class WritePipeline:
    """Stores statements inside a transaction that the service opened."""

    def __init__(self, indexer: SearchIndex, near_duplicate: float, budget: Budget) -> None:
        self._indexer = indexer
        self.near_duplicate = near_duplicate
        self._budget = budget

    async def write(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        texts: Sequence[SearchDocument],
        source: str,
    ) -> list[tuple[Verdict, Resolved]]:
        """Store what is new and count what is not; return what became of each statement.

        What is over an owner's budget then is evicted.
        """
        effective = await _scope_in_effect(connection, actor)
        await _check_places(connection, actor, statements)
        drafts = []
        for statement, text in zip(statements, texts, strict=True):
            goes = rules.resolve(
                statement,
                user_id=actor.user_id,
                agent_id=actor.agent_id,
                effective=effective,
            )
            drafts.append(Draft(statement, text, goes))
        verdicts: dict[int, Verdict] = {}
        for owner_id in sorted({draft.goes.place.owner_id for draft in drafts}):
            mine = [n for n, d in enumerate(drafts) if d.goes.place.owner_id == owner_id]
            stored = await self._write_for(
                connection, actor, owner_id, [drafts[n] for n in mine], source
            )
            verdicts.update(zip(mine, stored, strict=True))
        return [(verdicts[n], draft.goes) for n, draft in enumerate(drafts)]

    async def begin(self, connection: AsyncConnection, actor: Actor) -> Resolved:
        """Hold the actor's user and their memory, and return where memories of theirs go.

        For writers that decide for themselves what is new, and then :meth:`bring` it.
        """
        effective = await _scope_in_effect(connection, actor)
        user_id = actor.require_user()
        await repository.lock_owner(connection, user_id)
        return rules.resolve(
            MemoryCreate(content="anything"),
            user_id=user_id,
            agent_id=actor.agent_id,
            effective=effective,
        )

    async def bring(
        self,
        connection: AsyncConnection,
        actor: Actor,
        goes: Resolved,
        brought: Sequence[ImportedMemory],
        source: str,
    ) -> list[str]:
        """Store memories under the ids, at the times and in the states they come with.

        Call after :meth:`begin`, for what is not there. Returns what was evicted for them.
        """
        if not brought:
            return []
        owner_id = goes.place.owner_id
        made = [
            (
                _memory_row(one.memory_id, draft, source, one.at)
                | {"status": one.status.value, "mention_count": len(one.mentions)},
                draft,
            )
            for one in brought
            for draft in [Draft(one.statement, one.text, goes, one.address)]
        ]
        await self._create(connection, made)
        said = [
            mention_row(actor, owner_id, one.memory_id, source, *mention)
            for one in brought
            for mention in one.mentions
        ]
        if said:
            await repository.add_mentions(connection, owner_id, said, [])
        for one in brought:
            if one.status is not Status.ACTIVE:
                await repository.mark_items(connection, owner_id, one.memory_id, one.status)
        ids = [one.memory_id for one in brought]
        await audit.note(connection, actor, "memory.remember", ids, owner_id=owner_id)
        return await self._budget.keep(connection, actor, owner_id, ids)

    async def _write_for(
        self,
        connection: AsyncConnection,
        actor: Actor,
        owner_id: UUID,
        drafts: Sequence[Draft],
        source: str,
    ) -> list[Verdict]:
        await repository.lock_owner(connection, owner_id)
        known = await self._known(connection, owner_id, drafts)
        ids = await repository.fresh_ids(connection, owner_id, len(drafts))
        verdicts = judge([_candidate(d) for d in drafts], known, ids, self.near_duplicate)
        judged = list(zip(verdicts, drafts, strict=True))
        new = [(v.memory_id, d) for v, d in judged if v.outcome is Outcome.CREATED]
        again = [(v.memory_id, d) for v, d in judged if v.outcome is Outcome.MENTIONED]
        now = datetime.now(UTC)
        if new:
            made = [(_memory_row(i, d, source, now), d) for i, d in new]
            await self._create(connection, made)
        if new or again:
            rows = [_mention_row(actor, i, d, source, now) for i, d in [*new, *again]]
            repeated = [memory_id for memory_id, _ in again]
            await repository.add_mentions(connection, owner_id, rows, repeated)
            await audit.note(
                connection,
                actor,
                "memory.remember",
                [row["memory_id"] for row in rows],
                owner_id=owner_id,
            )
        if new:
            # What it is associated with is still needed when the associations are made.
            targets = [a.target_id for _, d in new for a in d.statement.associations]
            written = [*(memory_id for memory_id, _ in new), *targets]
            await self._budget.keep(connection, actor, owner_id, written)
        return verdicts

    async def _known(
        self, connection: AsyncConnection, owner_id: UUID, drafts: Sequence[Draft]
    ) -> Known:
        hashes = [draft.hash for draft in drafts]
        subjects = [draft.subject_key for draft in drafts if draft.subject_key]
        places = {draft.goes.place for draft in drafts}
        by_ground = {(place.agent_id, place.space_id): place for place in places}
        known = Known()
        same = await repository.same_statements(connection, owner_id, hashes)
        for place, row in _on(by_ground, same):
            said = known.waiting if row.status == Status.PENDING else known.same
            said[place, row.content_hash] = row.id
        for row in await repository.nearest(
            connection, owner_id, self.near_duplicate, _vector_columns(drafts)
        ):
            known.near[row.n] = (row.memory_id, row.content)
        about = await repository.on_subjects(connection, owner_id, subjects)
        for place, row in _on(by_ground, about):
            known.subjects.setdefault((place, row.subject_key), row.id)
        if place_ids := [d.statement.place_id for d in drafts if d.statement.place_id]:
            there = await repository.places(connection, owner_id, place_ids)
            known.spots.update(
                ((place, row.place_id), row.id) for place, row in _on(by_ground, there)
            )
        return known

    async def _create(
        self,
        connection: AsyncConnection,
        new: Sequence[tuple[dict[str, Any], Draft]],
    ) -> None:
        rows = [row for row, _ in new]
        if await repository.add(connection, rows) < len(rows):
            raise Conflict("the same statement was stored at the same moment; try again")
        await repository.add_versions(
            connection, [version_row(row, row["created_at"]) for row in rows]
        )
        await self._indexer.store(
            connection,
            [
                (draft.goes.place, source_of(row, row["created_at"]), draft.text)
                for row, draft in new
            ],
        )


async def _scope_in_effect(connection: AsyncConnection, actor: Actor) -> EffectiveScope | None:
    """Return the pair's effective scope; raise ``NotFound`` for an unknown user or agent."""
    if actor.user_id is not None:
        held = (await users.hold(connection, [actor.user_id])).get(actor.user_id)
        if held is None:
            raise NotFound("no such user", field="user_id")
        if held != actor.user_id:
            raise Conflict("the user was merged into another at the same moment; try again")
    if actor.agent_id is None:
        return None
    if await agents.find(connection, actor.agent_id) is None:
        raise NotFound("no such agent", field="agent_id")
    if actor.user_id is None:
        return None
    return (await scopes(connection, actor.agent_id, [actor.user_id]))[actor.user_id]


async def _check_places(
    connection: AsyncConnection, actor: Actor, statements: Sequence[MemoryCreate]
) -> None:
    if any(statement.shared for statement in statements):
        actor.require(Role.ADMIN, Role.SERVICE)
    wanted = {one.space_id for one in statements if one.space_id is not None}
    if wanted and wanted != await spaces.joined(connection, actor.require_user(), wanted):
        raise NotFound("no such space", field="space_id")


def _on(
    by_ground: Mapping[Ground, Placement], rows: repository.Rows
) -> Iterator[tuple[Placement, Row[Any]]]:
    """Yield the rows that lie where one of the statements goes, with the place."""
    for row in rows:
        if place := by_ground.get((row.agent_id, row.space_id)):
            yield place, row


def _candidate(draft: Draft) -> Candidate:
    statement = draft.statement
    return Candidate(
        content=statement.content,
        place=draft.goes.place,
        kind=statement.kind,
        interval=(statement.valid_from, statement.valid_to),
        hash=draft.hash,
        vector=draft.text.vector,
        subject_key=draft.subject_key,
        insists=statement.allow_similar,
        place_id=statement.place_id,
        waits=statement.pending,
    )


def _vector_columns(drafts: Sequence[Draft]) -> dict[str, list[Any]]:
    return {
        "vectors": [str(draft.text.vector.tolist()) for draft in drafts],
        "agent_ids": [draft.goes.place.agent_id for draft in drafts],
        "space_ids": [draft.goes.place.space_id for draft in drafts],
        "kinds": [draft.statement.kind.value for draft in drafts],
        "valid_froms": [draft.statement.valid_from for draft in drafts],
        "valid_tos": [draft.statement.valid_to for draft in drafts],
    }


def _memory_row(memory_id: str, draft: Draft, source: str, now: datetime) -> dict[str, Any]:
    statement, place = draft.statement, draft.goes.place
    importance = statement.importance
    if importance is None:
        importance = rules.DEFAULT_IMPORTANCE[statement.kind]
    return {
        "id": memory_id,
        **_place_columns(place),
        "kind": statement.kind.value,
        "category": statement.category.value,
        "subject": statement.subject,
        "subject_key": draft.subject_key,
        "content": statement.content,
        "content_hash": draft.hash,
        "tokens": tokens.count(statement.content),
        "place_id": statement.place_id,
        "address": None if draft.address is None else list(draft.address),
        "status": (Status.PENDING if statement.pending else Status.ACTIVE).value,
        "review": (
            Review.PENDING if statement.pending or screening.is_quoted(statement) else Review.NONE
        ).value,
        "revises": statement.revises,
        "version": 1,
        "importance": importance,
        "pinned": statement.pinned,
        "metadata": statement.metadata,
        "valid_from": statement.valid_from,
        "valid_to": statement.valid_to,
        "source": source,
        "platform": statement.platform,
        "conversation_id": statement.conversation_id,
        "message_id": statement.message_id,
        "created_at": now,
        "updated_at": now,
    }


def version_row(memory: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the version row of a memory's current content."""
    same = "owner_id version content valid_from valid_to source platform conversation_id message_id"
    row = {name: memory[name] for name in same.split()}
    return row | {"memory_id": memory["id"], "recorded_at": now}


def source_of(memory: dict[str, Any], now: datetime) -> Source:
    """Return what recall is told about a memory's current version."""
    return Source(
        source_type="memory",
        at=now,
        memory_id=memory["id"],
        memory_version=memory["version"],
        conversation_id=memory["conversation_id"],
        recorded_at=now,
        valid_from=memory["valid_from"],
        valid_to=memory["valid_to"],
        kind=memory["kind"],
        category=memory["category"],
        importance=memory["importance"],
        active=memory["status"] == Status.ACTIVE,
    )


def _mention_row(
    actor: Actor, memory_id: str, draft: Draft, source: str, now: datetime
) -> dict[str, Any]:
    statement = draft.statement
    return {
        "owner_id": draft.goes.place.owner_id,
        "memory_id": memory_id,
        "id": new_uuid(),
        "wording": statement.content,
        "agent_id": actor.agent_id,
        "source": source,
        "platform": statement.platform,
        "conversation_id": statement.conversation_id,
        "message_id": statement.message_id,
        "mentioned_at": now,
    }


def mention_row(
    actor: Actor,
    owner_id: UUID,
    memory_id: str,
    source: str,
    conversation_id: UUID | None,
    message_id: UUID | None,
    at: datetime,
) -> dict[str, Any]:
    """Return the row of a mention in the memory's own words."""
    return {
        "owner_id": owner_id,
        "memory_id": memory_id,
        "id": new_uuid(),
        "wording": None,
        "agent_id": actor.agent_id,
        "source": source,
        "platform": None,
        "conversation_id": conversation_id,
        "message_id": message_id,
        "mentioned_at": at,
    }


def _place_columns(place: Placement) -> dict[str, Any]:
    return {
        "owner_id": place.owner_id,
        "agent_id": place.agent_id,
        "space_id": place.space_id,
        "visibility": place.visibility.value,
    }
