"""The pydantic-ai toolset and capability, with models that are functions."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from remembrancer import Actor, ConversationCreate, Remembrancer, User, as_actor
from remembrancer.adapters.pydantic_ai import MemoryCapability, MemoryToolset


@dataclass
class Told:
    """A model that does what it is given, and keeps what it was told."""

    replies: list[Any]

    def __post_init__(self) -> None:
        self.requests: list[tuple[list[ModelMessage], AgentInfo]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append((messages, info))
        part = self.replies[len(self.requests) - 1]
        return ModelResponse(parts=[TextPart(part) if isinstance(part, str) else part])


def returned(messages: list[ModelMessage]) -> list[str]:
    """What tools answered."""
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def test_the_toolset_is_the_registry(memory: Remembrancer, ada: User, bob: User) -> None:
    """Every tool with its schema; calls act for the actor; what went wrong is told in words."""
    model = Told(
        [
            ToolCallPart("add_to_memory", {"content": "Ada likes tea.", "category": "preference"}),
            ToolCallPart("add_to_memory", {"content": "", "category": "nonsense"}),
            "Done.",
        ]
    )
    toolset = MemoryToolset(memory, lambda ctx: ctx.deps)
    agent = Agent(FunctionModel(model), deps_type=Actor, toolsets=[toolset])
    assert (await agent.run("I like tea.", deps=as_actor(ada))).output == "Done."
    offered = model.requests[0][1].function_tools
    assert [tool.name for tool in offered] == [tool.name for tool in memory.tools.select()]
    stored, refused = returned(model.requests[-1][0])
    assert json.loads(stored)["outcome"] == "created"
    assert refused.startswith("Nothing was done.")
    assert [m.content for m in (await memory.memories.list(as_actor(ada))).items] == [
        "Ada likes tea."
    ]
    assert (await memory.memories.list(as_actor(bob))).items == []


@pytest.fixture
async def talk(memory: Remembrancer, ada: User) -> Any:
    return (await memory.conversations.open(as_actor(ada), ConversationCreate())).id


def texts(messages: list[ModelMessage]) -> list[str]:
    """What of a request is text, in order."""
    return [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart | TextPart)
    ]


async def test_the_context_is_of_the_request_alone(
    memory: Remembrancer, ada: User, talk: Any
) -> None:
    """It does not pile up in the run's history; a history that is passed on is not doubled."""
    await memory.remember("Ada is allergic to peanuts.", user=ada)
    model = Told(["No peanuts.", "Really."])
    agent = Agent(
        FunctionModel(model), capabilities=[MemoryCapability(memory, as_actor(ada), talk)]
    )
    first = await agent.run("What should I not eat?")
    instructions = model.requests[0][1].instructions
    assert instructions is not None
    assert "allergic to peanuts" in instructions
    assert texts(first.all_messages()) == ["What should I not eat?", "No peanuts."]
    await agent.run("Really?", message_history=first.all_messages())
    told = texts(model.requests[1][0])
    assert told[:2] == ["What should I not eat?", "No peanuts."]
    assert told[-1] == "Really?"
    assert len(told) == 4


async def test_tools_know_where_they_are_called(memory: Remembrancer, ada: User, talk: Any) -> None:
    """What a tool keeps cites the message that was answered."""
    call = ToolCallPart("add_to_memory", {"content": "Ada sails.", "category": "hobby"})
    model = Told([call, "Noted."])
    agent = Agent(
        FunctionModel(model), capabilities=[MemoryCapability(memory, as_actor(ada), talk)]
    )
    await agent.run("I sail.")
    [kept] = (await memory.memories.list(as_actor(ada))).items
    said = (await memory.conversations.messages(as_actor(ada), talk)).items
    assert (kept.conversation_id, kept.message_id) == (talk, said[0].id)
    assert await _offered(MemoryCapability(memory, as_actor(ada), talk, tools=False)) == []


async def _offered(capability: MemoryCapability) -> list[Any]:
    model = Told(["Hm."])
    await Agent(FunctionModel(model), capabilities=[capability]).run("Hello.")
    return list(model.requests[0][1].function_tools)


async def test_other_outputs_and_failures(memory: Remembrancer, ada: User, talk: Any) -> None:
    """Structured output is kept as JSON; of a run that fails, what the user said is kept."""

    class Answer(BaseModel):
        food: str

    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("no model")

    model = Told([ToolCallPart("final_result", {"food": "rice"})])
    remembering = MemoryCapability(memory, as_actor(ada), talk)
    agent = Agent(FunctionModel(model), output_type=Answer, capabilities=[remembering])
    assert (await agent.run("What then?")).output == Answer(food="rice")
    with pytest.raises(RuntimeError, match="no model"):
        await agent.run("And?", model=FunctionModel(fail))
    said = (await memory.conversations.messages(as_actor(ada), talk)).items
    assert [(one.role, one.content) for one in said] == [
        ("user", "What then?"),
        ("assistant", '{"food":"rice"}'),
        ("user", "And?"),
    ]
