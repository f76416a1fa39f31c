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
    """A request for the context of the next prompt."""

    conversation_id: UUID | None = Field(
        default=None, description="The conversation. Its first context freezes the stable block."
    )
    message: Statement | None = Field(
        default=None,
        description="The latest message, to recall by; null at the start.",
        examples=["Could you write to Alec about Friday?"],
    )
    joined: bool = Field(
        default=False, description="The user has just joined a group: add what helps to greet them."
    )
    window: int = Field(
        default=0,
        ge=0,
        le=200,
        description="Number of last messages that the prompt has anyway: not recalled.",
    )
    refresh: bool = Field(
        default=False,
        description="Freeze the stable block of the conversation anew, as at a new start.",
    )
    stable_tokens: Tokens | None = Field(
        default=None, description="Budget; from the settings if null."
    )
    dynamic_tokens: Tokens | None = Field(
        default=None, description="Budget; from the settings if null."
    )
    as_of: Instant | None = Field(
        default=None,
        description="A past time, for the context of then; without a conversation only.",
    )

    @model_validator(mode="after")
    def _has_no_past_in_a_conversation(self) -> "ContextQuery":
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
    left_out: int = Field(0, description="Memories that did not fit.")


class StableBlock(Block):
    """The part that stays the same for a conversation, byte by byte."""

    frozen_at: datetime | None = Field(
        None, description="When it was frozen; null without a conversation."
    )


class Context(BaseModel):
    """The context of a prompt: the stable block goes first, the dynamic one last."""

    stable: StableBlock
    dynamic: Block
    group: bool = Field(False, description="Whether the conversation has several participants.")
    scope: Scope | None = Field(
        description="Effective scope of the user with the agent; null without an agent."
    )
    scope_source: ScopeSource | None


class Bulletin(Block):
    """A digest of shared knowledge for one agent, by kind."""

    agent_id: UUID


class Turn(BaseModel):
    """An appended message, and the context of its answer."""

    stored: AppendResult
    context: Context
    messages: list[Message] = Field(description="The window: the last messages, with this one.")
