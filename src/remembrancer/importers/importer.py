"""Store what exports hold, so that any part of it can be done again without doubling anything.

Messages go in by batches that are stored whole or not at all. What a conversation holds
already is known by the ids of its messages; two imports at the same time are kept apart by
an idempotency key made of what the batch says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar
from uuid import UUID

from remembrancer.access import Actor, Visibility
from remembrancer.app import Remembrancer
from remembrancer.conversations.schemas import (
    Conversation,
    ConversationCreate,
    MessageCreate,
    MessageRole,
)
from remembrancer.errors import InvalidInput
from remembrancer.importers.address_book import scoped
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_conversations import Transcript, digest, wrong
from remembrancer.importers.memory_import import Memories
from remembrancer.importers.read import Format, Reading
from remembrancer.importers.users import Known, People, named
from remembrancer.spaces.schemas import SpaceCreate

BATCH = 100
"""Messages or memories stored in one transaction."""
_WINDOW = 200

T = TypeVar("T")


class Importer:
    """Stores exports through the services, for one actor.

    Messages that name no sender belong to the actor's user; conversations are with the
    actor's agent. ``advanced`` is told of everything that is in the store. ``together`` says
    that all who take part in a conversation recall what anybody said in it.
    """

    def __init__(
        self,
        memory: Remembrancer,
        actor: Actor,
        advanced: Callable[[int], None],
        *,
        together: bool = False,
    ) -> None:
        self._memory = memory
        self._actor = actor
        self._staff = replace(actor, user_id=None)
        self._advanced = advanced
        self._together = together
        self._people = People(memory, actor)
        self._mine: dict[int, Known] = {}
        self._memories = Memories(memory, actor, self._people)
        self.imported = ImportResult()

    async def check(self, reading: Reading) -> ImportResult:
        """Read an export to its end and return what is in it.

        Raises ``InvalidInput`` if anything of it could not be stored. Writes nothing.
        """
        found = ImportResult()
        people: dict[Known, str] = {}
        for talk in reading.transcripts():
            self._check_talk(reading, talk)
            found.conversations += 1
            found.added += len(talk.turns)
            found.saw(turn.sent_at for turn in talk.turns)
            people |= {(talk.platform, key): name for key, name in talk.people.items()}
        for statement in reading.statements():
            self._memories.check(reading.name, statement)
            found.remembered += 1
            if statement.about is not None:
                people[statement.platform, statement.about] = statement.about
        if not found.added and not found.remembered:
            raise wrong(reading.name, "holds no messages")
        found.people = set(people)
        await self._check_owner(reading, people)
        return found

    async def _check_owner(self, reading: Reading, people: dict[Known, str]) -> None:
        if self._actor.user_id is None:
            if reading.options.me is not None:
                raise InvalidInput("needs --user, whom it names in the file", field="as")
            return
        mine = owner_of(reading, people)
        if mine is not None:
            await self._people.check_mine(mine)
            self._mine[id(reading)] = mine

    def _check_talk(self, reading: Reading, talk: Transcript) -> None:
        longest = self._memory.settings.limits.message_characters
        unnamed_role = MessageRole.USER if talk.people else None
        if talk.personal and self._actor.user_id is None:
            raise wrong(reading.name, "has names of one address book; say whose with --user")
        for at, turn in enumerate(talk.turns, 1):
            where = f"{reading.name}, conversation {talk.conversation}, message {at}"
            if len(turn.content) > longest:
                raise wrong(f"{where}, content", f"must have at most {longest:,} characters")
            unnamed = turn.platform_user_id is None and unnamed_role in {None, turn.role}
            if unnamed and self._actor.user_id is None:
                raise wrong(f"{where}, sender", "is missing; say whose it is with --user")

    async def import_(self, reading: Reading) -> None:
        """Store what of a checked export is not there yet."""
        if mine := self._mine.get(id(reading)):
            await self._people.make_mine(mine)
        for talk in reading.transcripts():
            await self.store(talk)
        for batch in _batches(reading.statements()):
            await self._memories.store(batch, self.imported)
            self._advanced(len(batch))

    async def store(self, talk: Transcript) -> None:
        """Store what the conversation does not hold yet."""
        talk = self._ready(talk)
        conversation = await self._existing(talk)
        present = await self._present(conversation) if conversation else set()
        self._count_people(talk)
        for batch in _batches(talk.messages()):
            missing = [m for m in batch if m.platform_message_id not in present]
            self.imported.added += len(missing)
            self.imported.skipped += len(batch) - len(missing)
            if missing:
                actor = await self._speaker(talk)
                conversation = conversation or await self._open(actor, talk)
                await self._memory.conversations.append(
                    actor, conversation.id, missing, idempotency_key=_key(conversation, missing)
                )
            self._advanced(len(batch))

    async def survey(self, reading: Reading) -> None:
        """Count what storing a checked export would add, without doing it."""
        for talk in reading.transcripts():
            ready = self._ready(talk)
            conversation = await self._existing(ready)
            present = await self._present(conversation) if conversation else set()
            there = sum(m.platform_message_id in present for m in ready.messages())
            self._count_people(ready)
            self.imported.skipped += there
            self.imported.added += len(ready.turns) - there
            self._advanced(len(ready.turns))
        for batch in _batches(reading.statements()):
            await self._memories.survey(batch, self.imported)
            self._advanced(len(batch))

    def _count_people(self, talk: Transcript) -> None:
        self.imported.conversations += 1
        self.imported.people.update((talk.platform, key) for key in talk.people)
        if self._is_mine(talk):
            self.imported.people.add(("", str(self._actor.user_id)))

    def _is_mine(self, talk: Transcript) -> bool:
        return any(
            turn.platform_user_id is None and turn.role is MessageRole.USER for turn in talk.turns
        )

    def _ready(self, talk: Transcript) -> Transcript:
        # Guarded here already, since ids and keys are hashes of what was said.
        guard = self._memory.guard
        turns = [replace(turn, content=guard.redact(turn.content)) for turn in talk.turns]
        together = talk.together or (self._together and len(talk.people) > 1)
        ready = replace(talk, title=guard.redact(talk.title), turns=turns, together=together)
        return scoped(ready, self._actor.require_user()) if talk.personal else ready

    async def _speaker(self, talk: Transcript) -> Actor:
        """Return the actor for one who takes part: the user the import is for only if they do."""
        if self._is_mine(talk) or not talk.people:
            self._actor.require_user()
            return self._actor
        key, name = next(iter(talk.people.items()))
        return replace(self._actor, user_id=await self._people.known((talk.platform, key), name))

    async def _open(self, actor: Actor, talk: Transcript) -> Conversation:
        wanted = ConversationCreate(
            agent_id=actor.agent_id,
            title=talk.title,
            platform=talk.platform,
            platform_conversation_id=talk.conversation,
        )
        if talk.together:
            shared = {"space_id": await self._space(actor, talk)}
            wanted = wanted.model_copy(update=shared | {"visibility": Visibility.SHARED})
        return await self._memory.conversations.open(actor, wanted)

    async def _existing(self, talk: Transcript) -> Conversation | None:
        return await self._memory.conversations.on_platform(
            self._staff, talk.platform, talk.conversation
        )

    async def _space(self, actor: Actor, talk: Transcript) -> UUID:
        members = [
            await self._people.known((talk.platform, key), name)
            for key, name in talk.people.items()
        ]
        if self._is_mine(talk):
            members.append(actor.require_user())
        name = talk.title or talk.conversation
        space = SpaceCreate(name=name[:200], member_ids=list(dict.fromkeys(members)))
        key = f"import-{digest((talk.platform, talk.conversation))[:32]}"
        return (await self._memory.spaces.create(actor, space, idempotency_key=key)).id

    async def _present(self, conversation: Conversation) -> set[str | None]:
        """Return the platform's ids of the messages that are stored."""
        found: set[str | None] = set()
        before = conversation.message_count + 1
        while before > 1:
            window = await self._memory.conversations.messages(
                self._staff, conversation.id, last=_WINDOW, before=before
            )
            if not window:
                break
            found.update(message.platform_message_id for message in window)
            before = window[0].position
        return found - {None}


def owner_of(reading: Reading, people: Mapping[Known, str]) -> Known | None:
    """Return who in an export the user is whom it is for; null where that leaves it open.

    It is who ``--as`` names, else whose account it is, else the only one it has memories of.
    """
    if reading.format is Format.WHATSAPP:
        return None  # whoever reads the file has asked it
    if reading.options.me is not None:
        return named(reading.options.me, people, reading.name)
    if (account := reading.account()) is not None:
        return (account.platform, account.platform_user_id)
    if reading.format is not Format.MEM0 or not people:
        return None
    if len(people) > 1:
        reason = f"holds memories of {len(people)} users; say with --as which of them is --user"
        raise wrong(reading.name, reason)
    return next(iter(people))


def _batches(things: Iterable[T]) -> Iterator[list[T]]:
    left = iter(things)
    while batch := list(islice(left, BATCH)):
        yield batch


def _key(conversation: Conversation, messages: Sequence[MessageCreate]) -> str:
    said = (part for m in messages for part in (m.platform_message_id or "", m.content))
    return f"import-{digest((str(conversation.id), *said))[:40]}"
