"""Store memories out of other systems, under the ids that their own ids make."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.document.rules import Item
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_conversations import wrong
from remembrancer.importers.exported_memories import Statement
from remembrancer.importers.users import People
from remembrancer.memories import screening
from remembrancer.memories.schemas import AssociationCreate, MemoryCreate, Status


class Memories:
    """Brings memories to whom they are about, each once: an id that was ever used stays used."""

    def __init__(self, memory: Remembrancer, actor: Actor, people: People) -> None:
        self._memory = memory
        self._actor = actor
        self._people = people

    def check(self, file: str, statement: Statement) -> None:
        """Raise ``InvalidInput`` if nobody is named whose the statement could be."""
        if statement.about is None and self._actor.user_id is None:
            raise wrong(file, "says not whose its memories are; say with --user")

    async def store(self, statements: Sequence[Statement], tally: ImportResult) -> None:
        """Store what is new of each person's statements, with their associations."""
        for about, mine in _by_person(statements).items():
            user_id = await self._owner(about, mine[0])
            items = self._items(mine, tally)
            if not items:
                continue
            actor = replace(self._actor, user_id=user_id)
            done = await self._memory.documents.bring(actor, items)
            tally.remembered += done.facts_added
            tally.known += done.facts_known
            tally.evicted += len(done.evicted)
            tally.people.add((mine[0].platform, about or str(user_id)))

    async def survey(self, statements: Sequence[Statement], tally: ImportResult) -> None:
        """Count what is new of each person's statements; store nothing."""
        for about, mine in _by_person(statements).items():
            who = (mine[0].platform, about) if about is not None else None
            user_id = await self._people.find(who) if who else self._actor.user_id
            items = self._items(mine, tally)
            new = len(items)
            if user_id is not None:
                actor = replace(self._actor, user_id=user_id)
                new = await self._memory.documents.count_new(actor, items)
            tally.remembered += new
            tally.known += len(items) - new
            tally.people.add((mine[0].platform, about or str(user_id)))

    async def _owner(self, about: str | None, one: Statement) -> UUID:
        if about is None:
            return self._actor.require_user()
        return await self._people.known((one.platform, about), about)

    def _items(self, statements: Sequence[Statement], tally: ImportResult) -> list[Item]:
        """Return what may be stored; what the guard refuses or is too long is counted."""
        now = datetime.now(UTC)
        longest = self._memory.settings.limits.memory_characters
        found = []
        for statement in statements:
            wanted = _wanted(statement)
            screened = screening.statement(self._memory.guard, wanted)
            if screened.refusal or len(wanted.content) > longest:
                tally.refused += 1
                continue
            at = min(statement.at or now, now)
            found.append(
                Item(
                    path=f"memory {statement.key}",
                    id=statement.key,
                    statement=screened.model,
                    at=at,
                    status=Status.ACTIVE,
                    mentions=[(None, None, at)],
                )
            )
        return found


def _by_person(statements: Sequence[Statement]) -> dict[str | None, list[Statement]]:
    found: dict[str | None, list[Statement]] = {}
    for statement in statements:
        found.setdefault(statement.about, []).append(statement)
    return found


def _wanted(statement: Statement) -> MemoryCreate:
    return MemoryCreate(
        content=statement.content,
        kind=statement.kind,
        category=statement.category,
        subject=statement.subject,
        platform=statement.platform,
        metadata=statement.metadata or {},
        associations=[
            AssociationCreate(target_id=key, relation=relation) for key, relation in statement.links
        ],
    )
