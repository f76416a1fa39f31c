"""Store memories of other systems, under ids made from their ids there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.document.rules import Item
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_memories import ExportedMemory
from remembrancer.importers.parse import invalid
from remembrancer.importers.users import People
from remembrancer.memories import screening
from remembrancer.memories.schemas import AssociationCreate, MemoryCreate, Status

_SAME = ("content", "kind", "category", "subject", "platform", "valid_from", "valid_to")
"""Fields that a memory and its statement have both."""


class MemoryImporter:
    """Stores memories under their users, each once: a used id stays used."""

    def __init__(self, app: Remembrancer, actor: Actor, people: People) -> None:
        self._app = app
        self._actor = actor
        self._people = people

    def check(self, file: str, exported: ExportedMemory) -> None:
        if exported.about is None and self._actor.user_id is None:
            raise invalid(file, "does not name the user of its memories; name one with --user")

    async def store(self, memories: Sequence[ExportedMemory], result: ImportResult) -> None:
        for about, exported in _by_person(memories).items():
            if about is None:
                user_id = self._actor.require_user()
            else:
                user_id = await self._people.find_or_create((exported[0].platform, about), about)
            items = self._items(exported, result)
            if not items:
                continue
            actor = replace(self._actor, user_id=user_id)
            restored = await self._app.documents.add(actor, items)
            result.memories_added += restored.facts_added
            result.memories_skipped += restored.facts_known
            result.memories_evicted += len(restored.evicted)
            result.people.add((exported[0].platform, about or str(user_id)))

    async def preview(self, memories: Sequence[ExportedMemory], result: ImportResult) -> None:
        for about, exported in _by_person(memories).items():
            person = (exported[0].platform, about) if about is not None else None
            user_id = await self._people.find(person) if person else self._actor.user_id
            items = self._items(exported, result)
            new = len(items)
            if user_id is not None:
                actor = replace(self._actor, user_id=user_id)
                new = await self._app.documents.count_new(actor, items)
            result.memories_added += new
            result.memories_skipped += len(items) - new
            result.people.add((exported[0].platform, about or str(user_id)))

    def _items(self, memories: Sequence[ExportedMemory], result: ImportResult) -> list[Item]:
        """Return the memories to store; count those that are refused or too long."""
        now = datetime.now(UTC)
        longest = self._app.settings.limits.memory_characters
        items = []
        for exported in memories:
            statement = _statement(exported)
            screened = screening.statement(self._app.guard, statement)
            if screened.refusal or len(statement.content) > longest:
                result.memories_refused += 1
                continue
            at = min(exported.at or now, now)
            items.append(
                Item(
                    path=f"memory {exported.key}",
                    id=exported.key,
                    statement=screened.model,
                    at=at,
                    status=Status.ACTIVE,
                    mentions=[(None, None, at)],
                )
            )
        return items


def _by_person(memories: Sequence[ExportedMemory]) -> dict[str | None, list[ExportedMemory]]:
    people: dict[str | None, list[ExportedMemory]] = {}
    for exported in memories:
        people.setdefault(exported.about, []).append(exported)
    return people


def _statement(exported: ExportedMemory) -> MemoryCreate:
    return MemoryCreate(
        **{name: getattr(exported, name) for name in _SAME},
        metadata=exported.metadata or {},
        associations=[
            AssociationCreate(target_id=key, relation=relation)
            for key, relation in exported.associations
        ],
    )
