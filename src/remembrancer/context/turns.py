"""Conversations with turns, contexts and summaries."""

from uuid import UUID

from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.context.schemas import Context, ContextQuery, Turn
from remembrancer.context.service import Contexts
from remembrancer.conversations.append import AfterAppend
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import AppendResult, MessageCreate, MessageRole
from remembrancer.conversations.service import Conversations
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.extraction.schemas import Chunk, SummaryResult
from remembrancer.extraction.service import OnProgress, Summaries
from remembrancer.paging import Page


class ConversationTurns(Conversations):
    """Conversations, and what an agent does around each answer: store, look up, answer, store."""

    def __init__(
        self,
        backend: Backend,
        after_append: AfterAppend,
        contexts: Contexts,
        summaries: Summaries,
    ) -> None:
        super().__init__(backend, after_append)
        self._contexts = contexts
        self._summaries = summaries

    async def begin_turn(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate,
        *,
        query: ContextQuery | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Store a user's message; return the context and the last messages to answer from.

        The context is the sender's. ``query`` has the budgets and the number of last messages to
        return (``window``, 20 unless set); its conversation and message are those given here.
        Raises what :meth:`append` and :meth:`context` do.
        """
        if message.role is not MessageRole.USER:
            raise InvalidInput(
                "must be user: a turn begins with a user's message", field="message.role"
            )
        stored = await self._append_one(
            actor, conversation_id, message, "message.", idempotency_key
        )
        query = query or ContextQuery()
        window = query.window if "window" in query.model_fields_set else WINDOW
        reader = actor.acting_for(message.user_id)
        last = await self.messages(reader, conversation_id, last=max(window, 1))
        messages = last.items
        if reader.user_id is None:
            # Named by platform id: the sender is known once the message is stored.
            message_id = stored.messages[-1].id
            reader = reader.acting_for(
                next((row.user_id for row in messages if row.id == message_id), None)
            )
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
        return Turn(stored=stored, context=context, messages=messages)

    async def finish_turn(
        self,
        actor: Actor,
        conversation_id: UUID,
        content: str,
        *,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Store the agent's answer, and queue a summary if one is due. Raises as :meth:`append`."""
        answer = MessageCreate(role=MessageRole.ASSISTANT, content=content)
        return await self._append_one(actor, conversation_id, answer, "", idempotency_key)

    async def context(self, actor: Actor, query: ContextQuery | None = None) -> Context:
        """Return the context of an agent's next answer. See :meth:`Contexts.context`."""
        return await self._contexts.context(actor, query or ContextQuery())

    async def summarize(
        self, actor: Actor, conversation_id: UUID, *, progress: OnProgress | None = None
    ) -> SummaryResult:
        """Summarise all messages outside of the window. See :meth:`Summaries.summarize`."""
        return await self._summaries.summarize(actor, conversation_id, progress=progress)

    async def chunks(
        self, actor: Actor, conversation_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Chunk]:
        """Return a page of a conversation's summaries in order. Raises ``NotFound`` to others."""
        return await self._summaries.chunks(actor, conversation_id, limit=limit, cursor=cursor)

    async def _append_one(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate,
        within: str,
        idempotency_key: str | None,
    ) -> AppendResult:
        try:
            return await self.append(
                actor, conversation_id, [message], idempotency_key=idempotency_key
            )
        except (InvalidInput, NotFound) as error:
            field = error.field and error.field.replace("messages.0.", within)
            raise type(error)(error.reason, field=field, **error.extra) from error
