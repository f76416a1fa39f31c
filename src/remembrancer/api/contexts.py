"""Contexts of prompts, turns of conversations and bulletins of agents."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from remembrancer.api.dependencies import App, Caller, IdempotencyKey, RequestActor
from remembrancer.api.endpoints import Router, checks_key
from remembrancer.context.schemas import MOST_TOKENS, Bulletin, Context, ContextQuery, Tokens, Turn
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import AppendResult, MessageCreate
from remembrancer.text import Text
from remembrancer.validation import Input

router = Router(prefix="/api/memory", tags=["context"])
of_conversation = Router(prefix="/api/conversations/{conversation_id}", tags=["context"])
of_agent = Router(prefix="/api/agents/{agent_id}", tags=["context"])


class TurnRequest(Input):
    """A user's message, and the sizes of the context for the answer."""

    message: MessageCreate
    window: int = Field(
        default=WINDOW, ge=1, le=200, description="Number of last messages to return."
    )
    stable_tokens: Tokens | None = None
    dynamic_tokens: Tokens | None = None


class AnswerRequest(Input):
    """The answer of the agent."""

    content: Text = Field(examples=["I have written to Alec."])


@router.post("/context")
@checks_key
async def get_context(app: App, actor: RequestActor, query: ContextQuery) -> Context:
    """Return the context of an agent's next answer.

    The first context of a conversation fixes the stable block. Put it first in the prompt, so
    that the provider can cache it, and put the dynamic block last.
    """
    return await app.conversations.context(actor, query)


@of_conversation.post("/turn", status_code=201)
@checks_key
async def begin_turn(
    app: App,
    actor: RequestActor,
    conversation_id: UUID,
    request: TurnRequest,
    idempotency_key: IdempotencyKey = None,
) -> Turn:
    """Store a user's message; return the context and the last messages for the answer."""
    query = ContextQuery(**request.model_dump(exclude={"message"}))
    return await app.conversations.begin_turn(
        actor, conversation_id, request.message, query=query, idempotency_key=idempotency_key
    )


@of_conversation.post("/answer", status_code=201)
@checks_key
async def finish_turn(
    app: App,
    actor: RequestActor,
    conversation_id: UUID,
    request: AnswerRequest,
    idempotency_key: IdempotencyKey = None,
) -> AppendResult:
    """Store the agent's answer, and queue a summary if one is due."""
    return await app.conversations.finish_turn(
        actor, conversation_id, request.content, idempotency_key=idempotency_key
    )


@of_agent.get("/bulletin")
async def get_bulletin(
    app: App,
    actor: Caller,
    agent_id: UUID,
    tokens: Annotated[
        int | None,
        Query(ge=0, le=MOST_TOKENS, description="Budget; by default from the settings."),
    ] = None,
) -> Bulletin:
    """Return a digest of shared knowledge for an agent, grouped by kind."""
    return await app.agents.bulletin(actor, agent_id, tokens=tokens)
