"""Bring an export back: what its user lacks is stored, and nothing that is there is changed.

Conversations, messages and summaries get ids made of the user's and the exported ones, unless the
user has the exported ones: a file says what its writer likes, and must not claim the rows of
others. Memories keep their ids, which are unique for the user alone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, tokens
from remembrancer.access import Actor, Placement, SpaceRole, Visibility
from remembrancer.associations import repository as associations
from remembrancer.backend import Backend
from remembrancer.conversations import repository as conversations
from remembrancer.conversations.rules import RECALLED
from remembrancer.db import tables
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.sql import among
from remembrancer.errors import Conflict
from remembrancer.extraction import remake
from remembrancer.extraction import repository as summaries
from remembrancer.memories import repository as memories
from remembrancer.memories import rules as memory_rules
from remembrancer.memories import screening, source_messages
from remembrancer.memories.budget import Budget
from remembrancer.memories.schemas import Review
from remembrancer.portability import rules
from remembrancer.portability.records import (
    ConversationRecord,
    MemoryRecord,
    MessageRecord,
    PlacementFields,
    SourceFields,
    UserRecord,
)
from remembrancer.search import repository as search
from remembrancer.search.index import SearchDocument, Source
from remembrancer.spaces import invitations
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users

ACTION: Final = "user.restore"
_SCREENED: Final = ("content", "subject", "metadata")
_PLACEMENT: Final = {"agent_id", "space_id", "visibility"}


async def check_remembered(connection: AsyncConnection, owner_id: UUID) -> None:
    """Raise ``Conflict`` where remembering is paused."""
    if not await users.remembered(connection, [owner_id]):
        raise Conflict("remembering is paused for this user; resume it first", field="user_id")


@retries_deadlocks
@dataclass(slots=True)
class Restoration:
    """Brings back conversations, messages and memories of one export, in batches.

    Each batch is whole or not at all. Again after an interruption: what is there is skipped.
    """

    _backend: Backend
    _budget: Budget
    _actor: Actor
    user: UserRecord
    agents: Mapping[UUID, UUID]
    """Agents here by their exported ids."""
    is_own: bool
    _spaces: dict[UUID, UUID] = field(default_factory=dict)
    _renamed: dict[str, str] = field(default_factory=dict)
    """Ids of memories that are other memories' here, by exported id."""

    @property
    def _owner_id(self) -> UUID:
        return self._actor.require_user()

    def _derived(self, exported: UUID) -> UUID:
        return rules.derived(self._owner_id, exported)

    # Spaces and placements ------------------------------------------------------------------

    async def add_spaces(self, connection: AsyncConnection) -> None:
        """Find the user's spaces; make those that they are no member of anew, for them alone."""
        ids = {one.id: self._derived(one.id) for one in self.user.spaces}
        column = tables.space_members.c
        query = select(column.space_id).where(
            column.user_id == self._owner_id, among(column.space_id, [*ids, *ids.values()])
        )
        joined = set((await connection.scalars(query)).all())
        for one in self.user.spaces:
            space_id = one.id if one.id in joined else ids[one.id]
            if space_id not in joined and await spaces.find(connection, space_id) is None:
                row = one.model_dump(exclude={"joined_at"})
                row |= {"id": space_id, "created_by": self._owner_id}
                member = {
                    "user_id": self._owner_id,
                    "role": SpaceRole.OWNER.value,
                    "joined_at": one.joined_at,
                }
                await spaces.restore(connection, row, [member])
                joined.add(space_id)
            if space_id in joined:
                self._spaces[one.id] = space_id
        for refusal in self.user.space_refusals:
            if refusal.space_id not in joined:
                await invitations.refuse(
                    connection, refusal.space_id, self._owner_id, declined=refusal.declined
                )

    def _has_agent(self, record: PlacementFields) -> bool:
        return record.agent_id is None or record.agent_id in self.agents

    def _placement(self, record: PlacementFields) -> dict[str, object]:
        """Return the columns of a placement. Without its space, a record is private."""
        space_id = self._spaces.get(record.space_id or rules.NOBODY)
        shared = space_id is not None and record.visibility is Visibility.SHARED
        return {
            "agent_id": self.agents.get(record.agent_id or rules.NOBODY),
            "space_id": space_id,
            "visibility": (Visibility.SHARED if shared else Visibility.PRIVATE).value,
        }

    # Conversations --------------------------------------------------------------------------

    async def _own_talks(
        self, connection: AsyncConnection, ids: Collection[UUID]
    ) -> dict[UUID, UUID]:
        column = tables.participants.c
        query = select(column.conversation_id).where(column.user_id == self._owner_id)
        made = {exported: self._derived(exported) for exported in ids}
        query = query.where(among(column.conversation_id, [*made, *made.values()]))
        return rules.own(made, (await connection.scalars(query)).all())

    async def _own_messages(
        self, connection: AsyncConnection, ids: Collection[UUID]
    ) -> dict[UUID, UUID]:
        column = tables.messages.c
        query = select(column.id).where(column.owner_id == self._owner_id)
        made = {exported: self._derived(exported) for exported in ids}
        query = query.where(among(column.id, [*made, *made.values()]))
        return rules.own(made, (await connection.scalars(query)).all())

    async def conversation(self, record: ConversationRecord) -> rules.BatchCounts:
        """Bring back a conversation with its summaries, unless the user takes part in it."""
        if not self._has_agent(record):
            return rules.BatchCounts(refused=1)
        guard = self._backend.guard
        texts = [guard.redact(summary.content) for summary in record.summaries]
        documents = await self._documents({text for text in texts if text})
        async with self._backend.database.system_for(self._actor) as (connection, actor):
            await users.hold_current(connection, self._owner_id)
            if await self._own_talks(connection, [record.id]):
                return rules.BatchCounts(known=1)
            talk_id = self._derived(record.id)
            row = record.model_dump(exclude={"summaries", *_PLACEMENT}) | self._placement(record)
            row |= {"id": talk_id, "title": guard.redact(record.title)}
            if self.is_own:
                row["platform_conversation_id"] = None
            await conversations.restore(connection, row, self._owner_id)
            entries = []
            chunks = []
            for summary, text in zip(record.summaries, texts, strict=True):
                placed, id_ = self._placement(summary), rules.derived(talk_id, summary.id)
                chunk = summary.model_dump(exclude=_PLACEMENT) | placed
                keys = {"owner_id": self._owner_id, "id": id_, "conversation_id": talk_id}
                chunks.append(chunk | keys | {"content": text})
                if text:
                    at = summary.created_at
                    source = Source("chunk", at, at, source_id=id_, conversation_id=talk_id)
                    entries.append((self._place(placed), source, documents[text]))
            await summaries.add_chunks(connection, chunks)
            await self._backend.search.store(connection, entries)
            if any(summary.stale for summary in record.summaries):
                await remake.enqueue(connection, [talk_id])
            await audit.note(connection, actor, "conversation.open", [str(talk_id)])
        return rules.BatchCounts(added=1)

    async def new_messages(self, records: Sequence[MessageRecord]) -> int:
        """Return how many messages the user has not."""
        async with self._backend.database.system_for(self._actor) as (connection, _):
            own = await self._own_messages(connection, {record.id for record in records})
        return len({record.id for record in records} - own.keys())

    async def messages(self, records: Sequence[MessageRecord]) -> rules.BatchCounts:
        """Bring back messages of conversations that are there.

        At their positions; where another message has it meanwhile, after the last one.
        """
        database, guard = self._backend.database, self._backend.guard
        longest = self._backend.limits.message_characters
        async with database.system_for(self._actor) as (connection, _):
            own = await self._own_messages(connection, {record.id for record in records})
            talks = await self._own_talks(connection, {r.conversation_id for r in records})
        result = rules.BatchCounts(known=sum(record.id in own for record in records))
        new = {
            record.id: guard.screen(
                record, ("content", "sender_name", "metadata"), redact_only=True
            ).model
            for record in records
            if record.id not in own
            and record.conversation_id in talks
            and self._has_agent(record)
            and len(record.content) <= longest
        }
        result.refused = len(records) - result.known - len(new)
        searched = [
            record
            for record in new.values()
            if record.role in RECALLED and record.content.strip() and not record.off_record
        ]
        prepared = await self._backend.search.prepare(
            [record.content for record in searched], [record.sender_name for record in searched]
        )
        async with database.system_for(self._actor) as (connection, actor):
            await users.hold_current(connection, self._owner_id)
            rows = [
                record.model_dump(exclude={"withheld_by", *_PLACEMENT})
                | self._placement(record)
                | {
                    "owner_id": self._owner_id,
                    "id": self._derived(record.id),
                    "role": record.role.value,
                    "conversation_id": talks[record.conversation_id],
                }
                for record in new.values()
            ]
            added = await conversations.restore_messages(connection, rows)
            withheld = [
                (memory_id, message_id)
                for record in new.values()
                if (message_id := self._derived(record.id)) in added
                for memory_id in record.withheld_by
            ]
            await source_messages.restore(connection, self._owner_id, withheld)
            entries = [
                (
                    Placement(self._owner_id),
                    Source(
                        "message",
                        record.sent_at,
                        record.created_at,
                        source_id=self._derived(record.id),
                        conversation_id=talks[record.conversation_id],
                        active=not record.withheld_by,
                    ),
                    document,
                )
                for record, document in zip(searched, prepared, strict=True)
                if self._derived(record.id) in added
            ]
            await self._backend.search.store(connection, entries)
            ids = [str(message_id) for message_id in added]
            await audit.note(connection, actor, "message.append", ids, owner_id=self._owner_id)
        result.added = len(added)
        result.known += len(new) - len(added)
        return result

    # Memories -------------------------------------------------------------------------------

    async def new_memories(self, records: Sequence[MemoryRecord]) -> int:
        """Return how many memories the user has not, and may have."""
        async with self._backend.database.system_for(self._actor) as (connection, _):
            return len(await self._unknown(connection, self._accepted(records)))

    async def memories(self, records: Sequence[MemoryRecord]) -> rules.BatchCounts:
        """Bring back memories with their versions and mentions, each with its status."""
        database = self._backend.database
        accepted = self._accepted(records)
        async with database.system_for(self._actor) as (connection, _):
            new = await self._unknown(connection, accepted)
        runs = {memory_id: rules.runs(record) for memory_id, record in new.items()}
        documents = await self._documents({v.content for run in runs.values() for v, _ in run})
        async with database.system_for(self._actor) as (connection, actor):
            await users.hold_current(connection, self._owner_id)
            await check_remembered(connection, self._owner_id)
            await memories.lock_owner(connection, self._owner_id)
            sources = await self._sources(connection, new.values())
            rows = {
                memory_id: self._row(memory_id, record, sources)
                for memory_id, record in new.items()
            }
            versions, mentions = [], []
            for memory_id, record in new.items():
                key = {"owner_id": self._owner_id, "memory_id": memory_id}
                for version in rules.versions(record):
                    values = version.model_dump(exclude=set(SourceFields.model_fields))
                    versions.append(key | values | sources.of(version))
                for mention in rules.mentions(record):
                    values = mention.model_dump(exclude=set(SourceFields.model_fields))
                    values["agent_id"] = self.agents.get(mention.agent_id or rules.NOBODY)
                    mentions.append(key | values | sources.of(mention))
            added = await memories.restore(connection, list(rows.values()), versions, mentions)
            entries = [
                (self._place(row), rules.item(row, *run), documents[run[0].content])
                for memory_id, row in rows.items()
                if memory_id in added
                for run in runs[memory_id]
            ]
            await self._backend.search.store(connection, entries)
            await search.refresh(connection, [(self._owner_id, memory_id) for memory_id in added])
            await audit.note(
                connection, actor, "memory.remember", sorted(added), owner_id=self._owner_id
            )
            evicted = await self._budget.enforce(connection, actor, self._owner_id, added)
        return rules.BatchCounts(
            added=len(added),
            known=len(accepted) - len(added),
            refused=len(records) - len(accepted),
            evicted=len(evicted),
        )

    def _accepted(self, records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
        """Return records as they may be stored, without those that may not."""
        now, longest = datetime.now(UTC), self._backend.limits.memory_characters
        guard, accepted = self._backend.guard, []
        for record in records:
            expired = record.expires_at is not None and record.expires_at <= now
            screened = guard.screen(record, (*_SCREENED, "place_id"))
            unsafe = screened.refusal or screened.model.place_id != record.place_id
            shared = self._placement(record)["visibility"] == Visibility.SHARED.value
            unreviewed = record.review is not Review.CONFIRMED and screening.is_quoted(record)
            texts = [record.content, *(version.content for version in record.versions)]
            too_long = max(map(len, texts)) > longest
            if expired or unsafe or too_long or not self._has_agent(record):
                continue
            if not (shared and unreviewed):
                children = {
                    "versions": [
                        version.model_copy(update={"content": guard.redact(version.content)})
                        for version in record.versions
                    ],
                    "mentions": [
                        guard.screen(mention, ("wording",), redact_only=True).model
                        for mention in record.mentions
                    ],
                }
                accepted.append(screened.model.model_copy(update=children))
        return accepted

    async def _unknown(
        self, connection: AsyncConnection, records: Sequence[MemoryRecord]
    ) -> dict[str, MemoryRecord]:
        """Return the records that the user lacks, by the id that each gets."""
        others = {record.id: rules.other_id(record) for record in records}
        column = tables.memory_versions.c
        query = select(column.memory_id, column.content).where(
            column.owner_id == self._owner_id, among(column.memory_id, [*others, *others.values()])
        )
        contents: dict[str, set[str]] = {}
        for row in await connection.execute(query):
            contents.setdefault(row.memory_id, set()).add(row.content)
        active = [record for record in records if record.status == "active"]
        hashes = [rules.statement_hash(record) for record in active]
        same: dict[tuple[object, ...], str] = {
            (row.agent_id, row.space_id, row.content_hash): row.id
            for row in await memories.same_statements(connection, self._owner_id, hashes)
            if row.status == "active"
        }
        same |= {
            (row.agent_id, row.space_id, row.place_id): row.id
            for row in await memories.active_places(
                connection, self._owner_id, [r.place_id for r in active if r.place_id is not None]
            )
        }
        new: dict[str, MemoryRecord] = {}
        for record in records:
            memory_id = record.id
            if memory_id in contents and record.content not in contents[memory_id]:
                memory_id = others[record.id]
            placed = self._placement(record)
            names = [rules.statement_hash(record), record.place_id]
            where = (placed["agent_id"], placed["space_id"])
            keys = [(*where, name) for name in names if name and record.status == "active"]
            twin = next((same[key] for key in keys if key in same), None)
            if memory_id not in contents and twin is None:
                new[memory_id], contents[memory_id] = record, {record.content}
                same |= dict.fromkeys(keys, memory_id)
            elif memory_id not in contents:
                memory_id = twin or memory_id
            if memory_id != record.id:
                self._renamed[record.id] = memory_id
        return new

    def _row(
        self, memory_id: str, record: MemoryRecord, sources: rules.Sources
    ) -> dict[str, object]:
        children = {"versions", "mentions", "associations", "address"}
        row = record.model_dump(mode="python", exclude={*children, *_PLACEMENT})
        quoted = screening.is_quoted(record)
        unreviewed = quoted and record.review is Review.NONE
        return {
            **row,
            **self._placement(record),
            **sources.of(record),
            "owner_id": self._owner_id,
            "id": memory_id,
            "kind": record.kind.value,
            "category": record.category.value,
            "review": (Review.PENDING if unreviewed else record.review).value,
            "address": record.address,
            "subject_key": memory_rules.subject_key(record.subject),
            "content_hash": rules.statement_hash(record),
            "tokens": tokens.count(record.content),
            "revises": self._renamed.get(record.revises or "", record.revises),
            "quoted": quoted,
            "mention_count": len(rules.mentions(record)),
        }

    async def _sources(
        self, connection: AsyncConnection, records: Iterable[MemoryRecord]
    ) -> rules.Sources:
        cited: list[SourceFields] = []
        for record in records:
            cited += [record, *record.versions, *record.mentions]
        talks = {one.conversation_id for one in cited if one.conversation_id is not None}
        messages = {one.message_id for one in cited if one.message_id is not None}
        return rules.Sources(
            await self._own_talks(connection, talks), await self._own_messages(connection, messages)
        )

    async def associations(self, records: Sequence[MemoryRecord]) -> None:
        """Bring back associations, once all memories are there; existing ones stay as they are.

        To memories of others, only where the user sees them.
        """
        edges = [(record.id, edge) for record in records for edge in record.associations]
        if not edges:
            return
        ids = {
            self._renamed.get(i, i)
            for i in (*(m for m, _ in edges), *(e.target_id for _, e in edges))
        }
        foreign = {e.target_id for _, e in edges if e.target_owner_id is not None}
        async with self._backend.database.system_for(self._actor) as (connection, actor):
            await users.hold_current(connection, self._owner_id)
            await memories.lock_owner(connection, self._owner_id)
            own = (await memories.by_ids(connection, self._owner_id, ids)).keys()
            seen = await associations.owners(connection, actor, foreign) if foreign else {}
            rows = []
            for memory_id, edge in edges:
                source = self._renamed.get(memory_id, memory_id)
                target, owner_id = edge.target_id, edge.target_owner_id
                if owner_id is None:
                    target, owner_id = self._renamed.get(target, target), self._owner_id
                is_own = owner_id == self._owner_id
                is_there = target in own if is_own else seen.get(target) == owner_id
                if source in own and is_there and (owner_id, target) != (self._owner_id, source):
                    row = edge.model_dump(exclude={"target_id", "target_owner_id"})
                    row |= {"owner_id": self._owner_id, "memory_id": source}
                    row |= {"target_owner_id": owner_id, "target_id": target}
                    rows.append(row | {"relation": edge.relation.value})
            await associations.restore(connection, self._owner_id, rows)

    async def end(self) -> None:
        """Give a user who has never changed theirs the name, time zone and pause of the export."""
        async with self._backend.database.system_for(self._actor) as (connection, _):
            user = await users.get(connection, self._owner_id, lock=True)
            if user.version > 1:
                return
            record = self.user
            await users.refresh(connection, user.id, record.display_name, record.time_zone)
            if record.paused_at is not None:
                await users.set_paused(connection, user.id, paused=True)

    async def _documents(self, texts: Collection[str]) -> dict[str, SearchDocument]:
        ordered = sorted(texts)
        prepared = await self._backend.search.prepare(ordered) if ordered else []
        return dict(zip(ordered, prepared, strict=True))

    def _place(self, row: Mapping[str, object]) -> Placement:
        values = {name: row[name] for name in _PLACEMENT}
        return Placement(self._owner_id, **values)  # type: ignore[arg-type]
