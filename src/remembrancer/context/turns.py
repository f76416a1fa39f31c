"""A turn of a conversation in two calls: what was said comes in, the answer goes out."""

from uuid import UUID

from remembrancer.access import Actor
from remembrancer.context.schemas import ContextQuery, Turn
from remembrancer.context.service import Contexts
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import AppendResult, MessageCreate, MessageRole
from remembrancer.conversations.service import Conversations
from remembrancer.errors import InvalidInput, NotFound


class Turns:
    """What an agent does around each answer: store, look up, answer, store."""

    def __init__(self, conversations: Conversations, contexts: Contexts) -> None:
        self._conversations = conversations
        self._contexts = contexts

    async def begin(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate,
        *,
        wanted: ContextQuery | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Store what a user said; return the context and the window to answer from.

        The context is the sender's. ``wanted`` has budgets and how many last messages to
        return (``window``, 20 unless set); its conversation and message are those given here.
        Raises what ``Conversations.append`` and ``Contexts.context`` do.
        """
        if message.role is not MessageRole.USER:
            raise InvalidInput("must be what a user said", field="message.role")
        stored = await self._append(actor, conversation_id, message, "message.", idempotency_key)
        asked = wanted or ContextQuery()
        window = asked.window if "window" in asked.model_fields_set else WINDOW
        reader = actor.acting_for(message.user_id)
        messages = list(
            await self._conversations.window(reader, conversation_id, last=max(window, 1))
        )
        mine = next((one for one in messages if one.id == stored.messages[-1].id), None)
        if reader.user_id is None and mine is not None:
            # Named by platform id: the sender is known once the message is stored.
            reader = reader.acting_for(mine.user_id)
        context = await self._contexts.context(
            reader,
            asked.model_copy(
                update={
                    "conversation_id": conversation_id,
                    "message": message.content if message.content.strip() else None,
                    "window": len(messages),
                }
            ),
        )
        return Turn(stored=stored, context=context, messages=messages)

    async def finish(
        self,
        actor: Actor,
        conversation_id: UUID,
        answer: str,
        *,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Store what the agent answered. What is due to be summarised is queued with it."""
        said = MessageCreate(role=MessageRole.ASSISTANT, content=answer)
        return await self._append(actor, conversation_id, said, "", idempotency_key)

    async def _append(
        self,
        actor: Actor,
        conversation_id: UUID,
        message: MessageCreate,
        within: str,
        idempotency_key: str | None,
    ) -> AppendResult:
        try:
            return await self._conversations.append(
                actor, conversation_id, [message], idempotency_key=idempotency_key
            )
        except (InvalidInput, NotFound) as error:
            field = error.field and error.field.replace("messages.0.", within)
            raise type(error)(error.reason, field=field, **error.extra) from error
