"""Store exports so that any part can be imported again without duplicates.

Messages are stored in batches, each whole or not at all. A message is the same by its platform's
id: with other words in a newer export it is edited. One that an export lacks stays.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TypeVar
from uuid import UUID

from remembrancer.access import Actor, SpaceRole, Visibility
from remembrancer.app import Remembrancer
from remembrancer.conversations import schemas
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.importers.address_book import scoped
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_conversations import Transcript, changed, digest
from remembrancer.importers.exports import PERSONAL, Export, Format
from remembrancer.importers.formats.telegram import UNKNOWN
from remembrancer.importers.memory_import import MemoryImporter
from remembrancer.importers.parse import invalid
from remembrancer.importers.person_import import PersonImporter
from remembrancer.importers.users import People, PlatformId, person_named
from remembrancer.spaces.schemas import SpaceCreate

BATCH = 100
"""Messages or memories stored in one transaction."""
_PAGE = 200
_CHECKED = 1_000
_OUTCOMES = {None: "appended", False: "edited", True: "repeated"}
"""What an append of a message does, by whether it is stored with the same words."""

T = TypeVar("T")


class Importer:
    """Stores exports through the services, for one actor.

    Messages without a sender belong to the actor's user; conversations belong to the actor's
    agent. ``on_progress`` receives the number of stored messages and memories after each batch.
    With ``together``, all participants of a conversation recall all of its messages.
    """

    def __init__(
        self,
        app: Remembrancer,
        actor: Actor,
        on_progress: Callable[[int], None],
        *,
        together: bool = False,
    ) -> None:
        self._app = app
        self._actor = actor
        self._staff = replace(actor, user_id=None)
        self._on_progress = on_progress
        self._together = together
        self._people = People(app, actor)
        self._owners: dict[int, PlatformId] = {}
        self._memories = MemoryImporter(app, actor, self._people)
        self._person = PersonImporter(app, actor, on_progress)
        self.result = ImportResult()

    async def check(self, export: Export) -> ImportResult:
        """Read an export to its end and count its content; write nothing.

        Raises ``InvalidInput`` if any part of it cannot be stored.
        """
        result = ImportResult()
        people: dict[PlatformId, str] = {}
        async for transcript in _transcripts(export):
            await self._check_transcript(export, transcript, result)
            result.conversations += 1
            result.messages_added += len(transcript.turns)
            people |= {(transcript.platform, key): name for key, name in transcript.people.items()}
        for exported in export.memories():
            self._memories.check(export.name, exported)
            result.memories_added += 1
            if exported.about is not None:
                people[exported.platform, exported.about] = exported.about
        if export.format is Format.REMEMBRANCER:
            await self._person.check(export, result)
        elif not result.total:
            raise InvalidInput("has no messages", field=export.name, items=0)
        result.people = set(people)
        await self._check_owner(export, people)
        return result

    async def _check_owner(self, export: Export, people: dict[PlatformId, str]) -> None:
        if self._actor.user_id is None:
            if export.options.me is not None:
                raise InvalidInput("needs --user, the user with this name in the file", field="as")
            return
        owner = owner_of(export, people)
        if owner is not None:
            await self._people.check_owner(owner)
            self._owners[id(export)] = owner

    async def _check_transcript(
        self, export: Export, transcript: Transcript, result: ImportResult
    ) -> None:
        longest = self._app.settings.limits.message_characters
        unnamed_role = schemas.MessageRole.USER if transcript.people else None
        if transcript.personal and self._actor.user_id is None:
            raise invalid(export.name, "does not say whose it is; name its user with --user")
        for number, turn in enumerate(transcript.turns, 1):
            where = f"{export.name}, conversation {transcript.conversation}, message {number}"
            if len(turn.content) > longest:
                raise invalid(f"{where}, content", f"must have at most {longest:,} characters")
            unnamed = turn.platform_user_id is None and unnamed_role in {None, turn.role}
            if unnamed and self._actor.user_id is None:
                raise invalid(f"{where}, sender", "is missing; name the sender with --user")
            result.add_time(turn.sent_at)
            if number % _CHECKED == 0:
                await asyncio.sleep(0)  # others have their turn

    async def store(self, export: Export) -> None:
        if owner := self._owners.get(id(export)):
            await self._people.link_owner(owner)
        async for transcript in _transcripts(export):
            await self.store_transcript(transcript)
        for batch in _batches(export.memories()):
            await self._memories.store(batch, self.result)
            self._on_progress(len(batch))
        if export.format is Format.REMEMBRANCER:
            await self._person.store(export, self.result)

    async def store_transcript(self, transcript: Transcript) -> None:
        transcript = self._prepared(transcript)
        conversation = await self._conversation(transcript)
        self._count_people(transcript)
        is_together = transcript.together or self._together
        speaker: Actor | None = None
        for batch in _batches(transcript.messages()):
            same = await self._same(conversation, batch)
            new = [message for message, is_same in zip(batch, same, strict=True) if not is_same]
            outcomes = Counter(repeated=len(batch) - len(new))
            if new:
                speaker = speaker or await self._speaker(transcript)
                if conversation is None:
                    conversation = await self._open(speaker, transcript)
                elif is_together and conversation.space_id is not None:
                    await self._admit(transcript, conversation.id, conversation.space_id)
                is_together = False
                result = await self._app.conversations.append(
                    speaker, conversation.id, new, source="import"
                )
                outcomes.update(message.outcome for message in result.messages)
            self._count(outcomes)
            self._on_progress(len(batch))

    async def preview(self, export: Export) -> None:
        async for read in _transcripts(export):
            transcript = self._prepared(read)
            conversation = await self._conversation(transcript)
            self._count_people(transcript)
            for batch in _batches(transcript.messages()):
                same = await self._same(conversation, batch)
                self._count(Counter(_OUTCOMES[is_same] for is_same in same))
                self._on_progress(len(batch))
        for memories in _batches(export.memories()):
            await self._memories.preview(memories, self.result)
            self._on_progress(len(memories))
        if export.format is Format.REMEMBRANCER:
            await self._person.preview(export, self.result)

    async def _same(
        self, conversation: schemas.Conversation | None, messages: Sequence[schemas.MessageCreate]
    ) -> list[bool | None]:
        """Return whether each message is stored with the same words; null for a new one."""
        if conversation is None:
            return [None] * len(messages)
        stored = await self._app.conversations.compare(self._staff, conversation.id, messages)
        found = {message.platform_message_id: message.is_same for message in stored}
        return [found.get(message.platform_message_id or "") for message in messages]

    def _count(self, outcomes: Counter[str]) -> None:
        self.result.messages_added += outcomes["appended"]
        self.result.messages_edited += outcomes["edited"]
        self.result.messages_skipped += outcomes["repeated"]

    def _count_people(self, transcript: Transcript) -> None:
        self.result.conversations += 1
        self.result.people.update((transcript.platform, key) for key in transcript.people)
        if _has_unnamed_user(transcript):
            self.result.people.add(("", str(self._actor.user_id)))

    def _prepared(self, transcript: Transcript) -> Transcript:
        # Redact first, since ids and keys are hashes of the text.
        guard = self._app.guard
        turns = changed(
            transcript.turns, lambda turn: replace(turn, content=guard.redact(turn.content))
        )
        together = transcript.together or (self._together and len(transcript.people) > 1)
        title = guard.redact(transcript.title)
        prepared = replace(transcript, title=title, turns=turns, together=together)
        return scoped(prepared, self._actor.require_user()) if transcript.personal else prepared

    async def _speaker(self, transcript: Transcript) -> Actor:
        """Return an actor who takes part: the user of the import only if they do."""
        if _has_unnamed_user(transcript) or not transcript.people:
            self._actor.require_user()
            return self._actor
        key, name = next(iter(transcript.people.items()))
        user_id = await self._people.find_or_create((transcript.platform, key), name)
        return replace(self._actor, user_id=user_id)

    async def _open(self, actor: Actor, transcript: Transcript) -> schemas.Conversation:
        request = schemas.ConversationCreate(
            agent_id=actor.agent_id,
            title=transcript.title,
            platform=transcript.platform,
            platform_conversation_id=transcript.conversation,
        )
        if transcript.together:
            space_id = await self._space(actor, transcript)
            request = request.model_copy(
                update={"space_id": space_id, "visibility": Visibility.SHARED}
            )
        return await self._app.conversations.open(actor, request)

    async def _space(self, actor: Actor, transcript: Transcript) -> UUID:
        members = [
            await self._people.find_or_create((transcript.platform, key), name)
            for key, name in transcript.people.items()
        ]
        if _has_unnamed_user(transcript):
            members.append(actor.require_user())
        name = transcript.title or transcript.conversation
        space = SpaceCreate(name=name[:200], member_ids=list(dict.fromkeys(members)))
        key = f"import-{digest((transcript.platform, transcript.conversation))[:32]}"
        return (await self._app.spaces.create(actor, space, idempotency_key=key)).id

    async def _admit(self, transcript: Transcript, conversation_id: UUID, space_id: UUID) -> None:
        """Add people who first appear in this export to the space of their conversation.

        Who left the space or declined to join it stays out.
        """
        speakers = await self._app.conversations.participants(self._staff, conversation_id)
        people = [
            await self._people.find_or_create((transcript.platform, key), name)
            for key, name in transcript.people.items()
        ]
        newcomers = [user_id for user_id in people if user_id not in speakers]
        owner = await self._owner(space_id, [*people, *speakers]) if newcomers else None
        if owner is not None:
            for user_id in newcomers:
                with suppress(Conflict):
                    await self._app.spaces.add_member(owner, space_id, user_id=user_id)

    async def _owner(self, space_id: UUID, candidates: Iterable[UUID]) -> Actor | None:
        """Return an owner of a space, asked of the first of the candidates who is a member."""
        for user_id in candidates:
            actor, cursor = replace(self._actor, user_id=user_id), None
            with suppress(NotFound):
                while True:
                    page = await self._app.spaces.members(actor, space_id, cursor=cursor)
                    for member in page.items:
                        if member.role is SpaceRole.OWNER:
                            return replace(actor, user_id=member.user_id)
                    if (cursor := page.next_cursor) is None:
                        return None
        return None

    async def _conversation(self, transcript: Transcript) -> schemas.Conversation | None:
        conversation = None
        with suppress(NotFound):
            conversation = await self._app.conversations.find(
                self._staff, transcript.platform, transcript.conversation
            )
        one_sided = transcript.conversation == f"{UNKNOWN}-{transcript.partner}"
        if transcript.partner is not None and (conversation is None or one_sided):
            async for other in self._chats_with(transcript.platform, transcript.partner):
                for batch in _batches(transcript.messages()):
                    if await self._has_any(other, batch):
                        return other
            if conversation is not None:
                reason = (
                    "shows one side alone, and no message of the chat that is stored; "
                    "export the chat from its beginning"
                )
                raise invalid(f"{transcript.platform} chat {transcript.partner}", reason)
        return conversation

    async def _has_any(
        self, chat: schemas.Conversation, messages: Sequence[schemas.MessageCreate]
    ) -> bool:
        """Return whether a chat has one of the messages, with its id and its time."""
        times = {message.platform_message_id: message.sent_at for message in messages}
        stored = await self._app.conversations.compare(self._staff, chat.id, messages)
        return any(times[message.platform_message_id] == message.sent_at for message in stored)

    async def _chats_with(self, platform: str, partner: str) -> AsyncIterator[schemas.Conversation]:
        """Yield the stored private chats of a person, whoever the other side is."""
        user_id = await self._people.find((platform, partner))
        if user_id is None:
            return
        actor, cursor = replace(self._actor, user_id=user_id), None
        while True:
            page = await self._app.conversations.list(actor, limit=_PAGE, cursor=cursor)
            for chat in page.items:
                side, _, last = (chat.platform_conversation_id or "").rpartition("-")
                same = (chat.platform, chat.agent_id, last) == (platform, actor.agent_id, partner)
                if side and same:
                    yield chat
            if (cursor := page.next_cursor) is None:
                return


def _has_unnamed_user(transcript: Transcript) -> bool:
    return any(
        turn.platform_user_id is None and turn.role is schemas.MessageRole.USER
        for turn in transcript.turns
    )


def owner_of(export: Export, people: Mapping[PlatformId, str]) -> PlatformId | None:
    """Return the platform id that the user of the import has in the export; null if unknown.

    In this order: the person that ``--as`` names, the account of the export, the only user of
    its memories.
    """
    if export.format in PERSONAL:
        return None  # its reader resolves the owner
    if export.options.me is not None:
        return person_named(export.options.me, people, export.name)
    if (account := export.account()) is not None:
        return (account.platform, account.platform_user_id)
    if export.format not in {Format.MEM0, Format.LANGMEM} or not people:
        return None
    if len(people) > 1:
        reason = f"has memories of {len(people)} users; name the one of --user with --as"
        raise invalid(export.name, reason)
    return next(iter(people))


async def _transcripts(export: Export) -> AsyncIterator[Transcript]:
    """Yield the conversations, each read in a thread, so that others have their turn."""
    transcripts = export.transcripts()
    try:
        while (transcript := await asyncio.to_thread(next, transcripts, None)) is not None:
            yield transcript
    except asyncio.CancelledError:
        export.bundle.is_stopped = True  # nobody waits for the thread
        raise


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch
