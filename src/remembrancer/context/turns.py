"""Conversations with turns, contexts and summaries."""

from uuid import UUID

from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.context.schemas import Context, ContextQuery, Turn
from remembrancer.context.service import Contexts
from remembrancer.conversations import repository
from remembrancer.conversations.append import AfterAppend
from remembrancer.conversations.edits import EraseDerived
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import AppendResult, MessageCreate, MessageRole
from remembrancer.conversations.service import Conversations
from remembrancer.db.retries import retries_deadlock
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.extraction.service import OnProgress, Summaries
from remembrancer.paging import Page, PageMethod
from remembrancer.validation import validate


class ConversationTurns(Conversations):
    """Conversations, and what an agent does around each answer: store, look up, answer, store."""

    def __init__(
        self,
        backend: Backend,
        after_append: AfterAppend,
        erase_derived: EraseDerived,
        contexts: Contexts,
        summaries: Summaries,
    ) -> None:
        super().__init__(backend, after_append, erase_derived)
        self._contexts = contexts
        self._summaries = summaries

    async def begin_turn(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate | str,
        *,
        query: ContextQuery | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Store a user's message; return the context and the last messages to answer from.

        The context is the sender's, whichever way the sender is named. Raises ``InvalidInput``
        if actor and message name different users; then nothing is stored.

        ``query`` has the budgets and the number of last messages to return (``window``, 20 unless
        set); its conversation and message are those given here. Messages that left recall with a
        forgotten memory are not returned.
        Raises what :meth:`append` and :meth:`context` do.
        """
        if isinstance(message, str):
            message = validate(MessageCreate, content=message)
        if message.role is not MessageRole.USER:
            raise InvalidInput(
                "must be user: a turn begins with a user's message", field="message.role"
            )
        stored = await self._append_one(
            actor, conversation_id, message, "message.", idempotency_key, is_turn=True
        )
        query = query or ContextQuery()
        window = query.window if "window" in query.model_fields_set else WINDOW
        reader = await self._sender(actor, conversation_id, stored.messages[-1].position)
        messages = (await self.messages(reader, conversation_id, last=max(window, 1))).items
        context = await self.context(
            reader,
            query.model_copy(
                update={
                    "conversation_id": conversation_id,
                    "message": message.content if message.content.strip() else None,
                    "window": len(messages),
                }
            ),
        )
        shown = [message for message in messages if not message.withheld]
        return Turn(stored=stored, context=context, messages=shown)

    async def finish_turn(
        self,
        actor: Actor,
        conversation_id: UUID,
        content: str,
        *,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Store the agent's answer, and queue a summary if one is due. Raises as :meth:`append`.

        The answer belongs to the actor's user, or else to the last sender.
        """
        actor = await self._backend.database.identify(actor)
        answer = validate(
            MessageCreate, role=MessageRole.ASSISTANT, content=content, user_id=actor.user_id
        )
        return await self._append_one(actor, conversation_id, answer, "", idempotency_key)

    async def context(
        self, actor: Actor, query: ContextQuery | None = None, *, counts: bool = True
    ) -> Context:
        """Return the context of an agent's next answer. See :meth:`Contexts.context`."""
        return await self._contexts.context(actor, query or ContextQuery(), counts=counts)

    async def summarize(
        self, actor: Actor, conversation_id: UUID, *, progress: OnProgress | None = None
    ) -> SummaryResult:
        """Summarise all messages outside of the window. See :meth:`Summaries.summarize`."""
        return await self._summaries.summarize(actor, conversation_id, progress=progress)

    @PageMethod
    async def chunks(
        self, actor: Actor, conversation_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Chunk]:
        """Return a page of a conversation's summaries in order. Raises ``NotFound`` to others."""
        return await self._summaries.chunks(actor, conversation_id, limit=limit, cursor=cursor)

    async def _sender(self, actor: Actor, conversation_id: UUID, position: int) -> Actor:
        """Return the actor for the sender of a message: its user, or whoever sent it."""
        if actor.user_id is not None:
            return actor
        async with self._backend.database.system() as connection:
            sender = await repository.sender_of(connection, conversation_id, position)
        return actor.acting_for(sender)

    @retries_deadlock
    async def _append_one(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate,
        within: str,
        idempotency_key: str | None,
        *,
        is_turn: bool = False,
    ) -> AppendResult:
        try:
            return await self._appender.append(
                actor,
                conversation_id,
                [message],
                idempotency_key=idempotency_key,
                is_turn=is_turn,
            )
        except (Conflict, InvalidInput, NotFound) as error:
            field = error.field and error.field.replace("messages.0.", within)
            raise type(error)(error.reason, field=field, **error.extra) from error
