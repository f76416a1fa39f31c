"""Store transcripts, so that any part of it can be done again without doubling anything.

Messages go in by batches that are stored whole or not at all. What a conversation holds
already is known by the ids of its messages; two imports at the same time are kept apart by
an idempotency key made of what the batch says.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from remembrancer.importing.transcript import Transcript, digest
from remembrancer.spaces.schemas import SpaceCreate
from remembrancer.users.schemas import ResolveUser

BATCH = 100
"""Messages stored in one transaction."""
_WINDOW = 200


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    conversations: int = 0
    added: int = 0
    skipped: int = 0
    people: set[UUID] = field(default_factory=set)


class Importer:
    """Stores transcripts through the services, for one actor.

    Messages that name no sender belong to the actor's user; conversations are with the
    actor's agent. ``advanced`` is told of every message that is in the store.
    """

    def __init__(self, memory: Remembrancer, actor: Actor, advanced: Callable[[int], None]) -> None:
        self._memory = memory
        self._actor = actor
        self._advanced = advanced
        self.imported = Imported()

    def check(self, file: str, talks: Sequence[Transcript]) -> None:
        """Raise ``InvalidInput`` if one of the transcripts in ``file`` could not be stored."""
        longest = self._memory.settings.limits.message_characters
        for talk in talks:
            answers = MessageRole.USER if talk.people else None
            for at, turn in enumerate(talk.turns, 1):
                where = f"{file}, conversation {talk.conversation}, message {at}"
                if len(turn.content) > longest:
                    reason = f"must have at most {longest:,} characters"
                    raise InvalidInput(reason, field=f"{where}, content")
                unnamed = turn.platform_user_id is None and answers in {None, turn.role}
                if unnamed and self._actor.user_id is None:
                    reason = "is missing; say whose it is with --user"
                    raise InvalidInput(reason, field=f"{where}, sender")

    async def store(self, talk: Transcript) -> None:
        """Store what the conversation does not hold yet."""
        talk = self._guarded(talk)
        people = await self._people(talk)
        actor = self._actor if self._actor.user_id else self._actor.acting_for(people[0])
        conversation = await self._conversation(actor, talk, people)
        present = await self._present(actor, conversation)
        self.imported.conversations += 1
        self.imported.people.update(people)
        for batch in _batches(talk.messages()):
            missing = [m for m in batch if m.platform_message_id not in present]
            self.imported.added += len(missing)
            self.imported.skipped += len(batch) - len(missing)
            if missing:
                await self._memory.conversations.append(
                    actor, conversation.id, missing, idempotency_key=_key(missing)
                )
            self._advanced(len(batch))

    def _guarded(self, talk: Transcript) -> Transcript:
        # Here already, since ids and keys are hashes of what was said.
        guard = self._memory.guard
        turns = [replace(turn, content=guard.text(turn.content)) for turn in talk.turns]
        return replace(talk, title=guard.text(talk.title), turns=turns)

    async def _people(self, talk: Transcript) -> list[UUID]:
        found = []
        for platform_user_id, name in talk.people.items():
            who = ResolveUser(
                platform=talk.platform, platform_user_id=platform_user_id, display_name=name[:200]
            )
            found.append((await self._memory.users.resolve(self._actor, who)).id)
        return found or [self._actor.require_user()]

    async def _conversation(
        self, actor: Actor, talk: Transcript, people: Sequence[UUID]
    ) -> Conversation:
        wanted = ConversationCreate(
            agent_id=actor.agent_id,
            title=talk.title,
            platform=talk.platform,
            platform_conversation_id=talk.conversation,
        )
        if talk.together:
            if existing := await self._existing(actor, wanted):
                return existing
            shared = {"space_id": await self._space(actor, talk, people)}
            wanted = wanted.model_copy(update=shared | {"visibility": Visibility.SHARED})
        return await self._memory.conversations.create(actor, wanted)

    async def _existing(self, actor: Actor, wanted: ConversationCreate) -> Conversation | None:
        cursor = None
        while True:
            page = await self._memory.conversations.list(actor, limit=_WINDOW, cursor=cursor)
            for held in page.items:
                if _identity(held) == _identity(wanted):
                    return held
            if page.next_cursor is None:
                return None
            cursor = page.next_cursor

    async def _space(self, actor: Actor, talk: Transcript, people: Sequence[UUID]) -> UUID:
        space = SpaceCreate(name=talk.title or talk.conversation, member_ids=list(people))
        key = f"import-{digest((talk.platform, talk.conversation))[:32]}"
        return (await self._memory.spaces.create(actor, space, idempotency_key=key)).id

    async def _present(self, actor: Actor, conversation: Conversation) -> set[str | None]:
        """Return the platform's ids of the messages that are stored."""
        found: set[str | None] = set()
        before = conversation.message_count + 1
        while before > 1:
            window = await self._memory.conversations.window(
                actor, conversation.id, last=_WINDOW, before=before
            )
            if not window:
                break
            found.update(message.platform_message_id for message in window)
            before = window[0].position
        return found - {None}


def _batches(messages: Sequence[MessageCreate]) -> Iterator[Sequence[MessageCreate]]:
    return (messages[at : at + BATCH] for at in range(0, len(messages), BATCH))


def _identity(conversation: Conversation | ConversationCreate) -> tuple[object, ...]:
    return (
        conversation.platform,
        conversation.platform_conversation_id,
        conversation.agent_id,
    )


def _key(messages: Sequence[MessageCreate]) -> str:
    said = (part for m in messages for part in (m.platform_message_id or "", m.content))
    return f"import-{digest(said)[:40]}"
