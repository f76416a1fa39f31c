"""API models of contexts."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from remembrancer.access import Scope, ScopeSource
from remembrancer.conversations.schemas import AppendResult, Message
from remembrancer.text import Instant, Statement
from remembrancer.validation import Input

MOST_TOKENS = 100_000
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class ContextQuery(Input):
    """What to put into the next prompt."""

    conversation_id: UUID | None = Field(
        None, description="Where it is said. Its first context freezes the stable block."
    )
    message: Statement | None = Field(
        None,
        description="What was just said, to recall by; null at the start.",
        examples=["Could you write to Alec about Friday?"],
    )
    joined: bool = Field(
        False, description="The user has just joined a group: tell what to greet them with."
    )
    window: int = Field(
        0,
        ge=0,
        le=200,
        description="Last messages of the conversation that the prompt has anyway: not recalled.",
    )
    stable_tokens: Tokens | None = Field(None, description="Budget; from the settings if null.")
    dynamic_tokens: Tokens | None = Field(None, description="Budget; from the settings if null.")
    as_of: Instant | None = Field(
        None, description="What would have been told then; outside of conversations alone."
    )

    @model_validator(mode="after")
    def _looks_back_outside_of_conversations(self) -> "ContextQuery":
        if self.as_of is not None and (self.conversation_id is not None or self.joined):
            raise ValueError(
                "as_of: must be null with a conversation_id; the context of a conversation is fixed"
            )
        return self


class Block(BaseModel):
    """A part of a prompt."""

    text: str
    tokens: int = Field(description="Tokens of the text, in cl100k_base.")
    ids: list[str] = Field(description="Memories, messages and chunks in it, in order.")
    left_out: int = Field(0, description="Memories that are known and did not fit.")


class StableBlock(Block):
    """The part that stays the same for a conversation, byte by byte."""

    frozen_at: datetime | None = Field(
        None, description="When it was frozen; null without a conversation."
    )


class Context(BaseModel):
    """What an agent is told before it answers: the stable block first, the dynamic one last."""

    stable: StableBlock
    dynamic: Block
    group: bool = Field(False, description="Others take part in the conversation as well.")
    scope: Scope | None = Field(description="In effect for user and agent; null without an agent.")
    scope_source: ScopeSource | None


class Bulletin(Block):
    """A digest of shared knowledge for one agent, by kind."""

    agent_id: UUID


class Turn(BaseModel):
    """A message that was stored, and what the agent is told before it answers."""

    stored: AppendResult
    context: Context
    messages: list[Message] = Field(description="The window: the last messages, this one included.")
