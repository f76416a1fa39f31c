"""What an agent is told: contexts, turns and bulletins."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from remembrancer.api.dependencies import App, Authenticated, IdempotencyKey, narrowed
from remembrancer.context.schemas import (
    MOST_TOKENS,
    Bulletin,
    Context,
    ContextQuery,
    Tokens,
    Turn,
)
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import AppendResult, MessageCreate
from remembrancer.text import Text
from remembrancer.validation import Input

router = APIRouter(prefix="/api/memory", tags=["context"])
of_conversation = APIRouter(prefix="/api/conversations/{conversation_id}", tags=["context"])
of_agent = APIRouter(prefix="/api/agents/{agent_id}", tags=["context"])


class ContextRequest(ContextQuery):
    """What to put into the next prompt, and for whom."""

    user_id: UUID | None = Field(None, description="The user to act for: who speaks.")
    agent_id: UUID | None = Field(
        None, description="The agent to act through; that of the conversation unless given."
    )


class TurnRequest(Input):
    """What a user said, and what the answer is to be written from."""

    message: MessageCreate
    user_id: UUID | None = Field(None, description="Who says it, unless the message says so.")
    window: int = Field(WINDOW, ge=1, le=200, description="Last messages to return.")
    stable_tokens: Tokens | None = None
    dynamic_tokens: Tokens | None = None


class AnswerRequest(Input):
    """What the agent answered."""

    content: Text = Field(examples=["I have written to Alec."])
    user_id: UUID | None = Field(None, description="Whom it answers; the last sender if null.")


@router.post("/context")
async def get_context(app: App, actor: Authenticated, request: ContextRequest) -> Context:
    """Return what an agent is told before it answers.

    The stable block is frozen by the first context of a conversation; put it first in the
    prompt, so that a provider can cache it, and the dynamic block last.
    """
    actor = actor.acting_for(request.user_id, request.agent_id)
    return await app.conversations.context(actor, narrowed(request, ContextQuery))


@of_conversation.post("/turn", status_code=201)
async def begin_turn(
    app: App,
    actor: Authenticated,
    conversation_id: UUID,
    request: TurnRequest,
    idempotency_key: IdempotencyKey = None,
) -> Turn:
    """Store what a user said; return the context and the last messages to answer from."""
    query = ContextQuery(
        window=request.window,
        stable_tokens=request.stable_tokens,
        dynamic_tokens=request.dynamic_tokens,
    )
    return await app.conversations.begin_turn(
        actor.acting_for(request.user_id),
        conversation_id,
        request.message,
        query=query,
        idempotency_key=idempotency_key,
    )


@of_conversation.post("/answer", status_code=201)
async def finish_turn(
    app: App,
    actor: Authenticated,
    conversation_id: UUID,
    request: AnswerRequest,
    idempotency_key: IdempotencyKey = None,
) -> AppendResult:
    """Store what the agent answered; what is due to be summarised is queued with it."""
    return await app.conversations.finish_turn(
        actor.acting_for(request.user_id),
        conversation_id,
        request.content,
        idempotency_key=idempotency_key,
    )


@of_agent.get("/bulletin")
async def get_bulletin(
    app: App,
    actor: Authenticated,
    agent_id: UUID,
    tokens: Annotated[
        int | None, Query(ge=0, le=MOST_TOKENS, description="Budget; from the settings if null.")
    ] = None,
) -> Bulletin:
    """Return a digest of shared knowledge for an agent, by kind."""
    return await app.agents.bulletin(actor, agent_id, tokens=tokens)
