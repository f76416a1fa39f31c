"""Memories, review, recall, tools, places, associations and the document."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from entry_points.base import Json, decisions_of
from entry_points.python.base import PythonCalls, parsed
from remembrancer import (
    AssociationCreate,
    DocumentImport,
    MemoryCreate,
    MemoryFilter,
    MemoryUpdate,
    PlaceCreate,
    PlaceMention,
    RecallQuery,
    Relation,
    ReviewDecision,
    ToolContext,
)
from remembrancer.tools.schema import parameters


class PythonMemories(PythonCalls):
    """Memories, review, recall, tools, places, associations and the document."""

    async def remember(
        self, content: Any, *, user: Any = None, agent: Any = None, key: Any = None, **fields: Any
    ) -> Json:
        statement = parsed(MemoryCreate, {"content": content, **fields})
        return await self._tried(
            lambda: self.memory.memories.remember(
                self._for(user, agent), statement, idempotency_key=key
            )
        )

    async def remember_many(
        self, memories: Sequence[Json], *, user: Any = None, agent: Any = None, key: Any = None
    ) -> list[Json]:
        statements = parsed(list[MemoryCreate], memories, within="memories.")
        results = await self._tried(
            lambda: self.memory.memories.remember_many(
                self._for(user, agent), statements, idempotency_key=key
            )
        )
        return results["items"]

    async def read(self, memory_id: str, *, user: Any = None, agent: Any = None) -> Json:
        return await self._tried(
            lambda: self.memory.memories.get(self._for(user, agent), memory_id)
        )

    async def update(
        self, memory_id: str, *, user: Any = None, if_version: int | None = None, **changes: Any
    ) -> Json:
        wanted = parsed(MemoryUpdate, changes)
        return await self._tried(
            lambda: self.memory.memories.update(
                self._for(user), memory_id, wanted, if_version=if_version
            )
        )

    async def forget(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._tried(lambda: self.memory.memories.forget(self._for(user), memory_id))

    async def forget_many(
        self,
        memory_ids: Any = (),
        *,
        user: Any = None,
        agent: Any = None,
        key: Any = None,
        dry_run: bool = False,
        **filters: Any,
    ) -> Json:
        wanted = parsed(MemoryFilter, filters, within="filters.") if filters else None
        return await self._tried(
            lambda: self.memory.memories.forget_many(
                self._for(user, agent), memory_ids, wanted, dry_run=dry_run, idempotency_key=key
            )
        )

    async def undo_forget(self, undo_id: Any, *, user: Any = None) -> Json:
        which = parsed(UUID, undo_id)
        return await self._tried(lambda: self.memory.memories.undo_forget(self._for(user), which))

    async def restore(self, memory_id: str, *, user: Any = None) -> Json:
        return await self._tried(lambda: self.memory.memories.restore(self._for(user), memory_id))

    async def pin(self, memory_id: str, *, user: Any = None, pinned: bool = True) -> Json:
        switch = self.memory.memories.pin if pinned else self.memory.memories.unpin
        return await self._tried(lambda: switch(self._for(user), memory_id))

    async def activate(self, memory_id: str, *, user: Any = None, active: bool = True) -> Json:
        switch = self.memory.memories.activate if active else self.memory.memories.deactivate
        return await self._tried(lambda: switch(self._for(user), memory_id))

    async def budget(self, user: Any, **wanted: Any) -> Json:
        return await self._tried(lambda: self.memory.memories.budget(self._for(user), **wanted))

    async def tools(self) -> list[Json]:
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters(tool.arguments),
                "system": tool.is_system,
            }
            for tool in self.memory.tools.select()
        ]

    async def call(
        self, name: str, arguments: Any = None, *, user: Any = None, agent: Any = None, **at: Any
    ) -> Json:
        where = parsed(ToolContext, at)
        given = {} if arguments is None else arguments
        return await self._tried(
            lambda: self.memory.tools.call(self._for(user, agent), name, given, where)
        )

    async def document(self, user: Any, *, agent: Any = None) -> Json:
        return await self._tried(lambda: self.memory.documents.get(self._for(user, agent)))

    async def import_document(self, user: Any, document: Json, *, agent: Any = None) -> Json:
        sent = parsed(DocumentImport, document)
        return await self._tried(
            lambda: self.memory.documents.import_(self._for(user, agent), sent)
        )

    async def add_place(
        self, user: Any, *, agent: Any = None, key: Any = None, **place: Any
    ) -> Json:
        wanted = parsed(PlaceCreate, place)
        return await self._tried(
            lambda: self.memory.places.add(self._for(user, agent), wanted, idempotency_key=key)
        )

    async def mention_place(
        self, user: Any, place_id: str, *, agent: Any = None, key: Any = None, **where: Any
    ) -> Json:
        said = parsed(PlaceMention, where)
        return await self._tried(
            lambda: self.memory.places.mention(
                self._for(user, agent), place_id, said, idempotency_key=key
            )
        )

    async def place(self, user: Any, place_id: str, *, agent: Any = None) -> Json:
        return await self._tried(lambda: self.memory.places.get(self._for(user, agent), place_id))

    async def places(self, user: Any, *, agent: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.places.list(self._for(user, agent), **page))

    async def associate(
        self, memory_id: Any, target_id: Any, *, user: Any = None, agent: Any = None, **edge: Any
    ) -> Json:
        wanted = parsed(AssociationCreate, {"target_id": target_id, **edge})
        return await self._tried(
            lambda: self.memory.associations.add(self._for(user, agent), memory_id, wanted)
        )

    async def dissociate(
        self, memory_id: Any, target_id: Any, relation: Any = None, *, user: Any = None
    ) -> None:
        which = parsed(Relation | None, relation)
        await self._tried(
            lambda: self.memory.associations.remove(self._for(user), memory_id, target_id, which)
        )

    async def associations(
        self,
        memory_id: Any,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json:
        return await self._tried(
            lambda: self.memory.associations.list(
                self._for(user, agent), memory_id, limit=limit, cursor=cursor
            )
        )

    async def neighbours(
        self, memory_id: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        return await self._tried(
            lambda: self.memory.associations.neighbours(self._for(user, agent), memory_id, **wanted)
        )

    async def suggestions(self, memory_id: Any, *, user: Any = None, agent: Any = None) -> Json:
        return await self._tried(
            lambda: self.memory.associations.suggestions(self._for(user, agent), memory_id)
        )

    async def listed(
        self,
        *,
        user: Any = None,
        agent: Any = None,
        limit: int = 50,
        cursor: str | None = None,
        **wanted: Any,
    ) -> Json:
        asked = parsed(MemoryFilter, wanted)
        return await self._tried(
            lambda: self.memory.memories.list(
                self._for(user, agent), asked, limit=limit, cursor=cursor
            )
        )

    async def waiting(self, *, user: Any = None, agent: Any = None, **page: Any) -> Json:
        return await self._tried(lambda: self.memory.review.list(self._for(user, agent), **page))

    async def review(self, decisions: Any, *, user: Any = None, agent: Any = None) -> list[Json]:
        said = decisions_of(decisions)
        asked = parsed(list[ReviewDecision], said, within="decisions.")
        actor = self._for(user, agent)
        return (await self._tried(lambda: self.memory.review.decide(actor, asked)))["items"]

    async def recall(
        self, query: Any, *, user: Any = None, agent: Any = None, **wanted: Any
    ) -> Json:
        asked = parsed(RecallQuery, {"query": query, **wanted})
        return await self._tried(lambda: self.memory.memories.recall(self._for(user, agent), asked))
