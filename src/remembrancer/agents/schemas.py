"""API models of agents."""

from datetime import datetime
from typing import Annotated, ClassVar, TypedDict
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Scope
from remembrancer.text import Label, Prose
from remembrancer.validation import Input, Update

Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]


class AgentCreate(Input):
    """A new agent."""

    name: Label = Field(examples=["Kitchen helper"])
    description: Prose = ""
    system_prompt: Prose = ""
    llm_provider: Label | None = Field(default=None, examples=["openai"])
    llm_model: Label | None = Field(default=None, examples=["gpt-5-mini"])
    temperature: Temperature | None = None
    tts_voice: Label | None = None
    memory_scope: Scope = Scope.AGENT


class AgentDetails(TypedDict, total=False):
    """The fields of a new agent besides its name."""

    description: str
    system_prompt: str
    llm_provider: str | None
    llm_model: str | None
    temperature: float | None
    tts_voice: str | None
    memory_scope: Scope


class AgentUpdate(Update):
    """Changes of an agent. Fields that are left out stay as they are."""

    nullable: ClassVar[frozenset[str]] = frozenset(
        {"llm_provider", "llm_model", "temperature", "tts_voice"}
    )

    name: Label | None = None
    description: Prose | None = None
    system_prompt: Prose | None = None
    llm_provider: Label | None = None
    llm_model: Label | None = None
    temperature: Temperature | None = None
    tts_voice: Label | None = None
    memory_scope: Scope | None = None


class Agent(BaseModel):
    """An assistant that reads and writes memory."""

    id: UUID
    name: str
    description: str
    system_prompt: str
    llm_provider: str | None
    llm_model: str | None
    temperature: float | None
    tts_voice: str | None
    memory_scope: Scope
    version: int
    created_at: datetime
    updated_at: datetime
