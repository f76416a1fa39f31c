"""LlamaIndex's memory: agents and chat engines with it, and a model that is a function.

`make adapters-check`.
"""

import asyncio
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("llama_index.core", reason="llama-index has an environment of its own")

from helpers import example
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

from remembrancer import ConversationCreate, Remembrancer, User, as_actor
from remembrancer.adapters.llama_index import RemembrancerMemory

# Its workflows look at every attribute of a pydantic model.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

FACT = "I am allergic to peanuts."


def model(told: list[list[ChatMessage]]) -> Any:
    """A model that knows what it is told, and no more; it keeps that."""

    def answer(messages: Any) -> Any:
        told.append(list(messages))
        known = "peanuts" in str([message.content for message in messages])
        return ChatMessage(role="assistant", content="No peanuts." if known else "I do not know.")

    return answer


@pytest.fixture
async def talk(memory: Remembrancer, ada: User) -> UUID:
    return (await memory.conversations.open(as_actor(ada), ConversationCreate())).id


def texts(messages: Any) -> list[str]:
    return [str(message.content) for message in messages]


async def test_an_agent_remembers_for_its_user_alone(
    memory: Remembrancer, ada: User, bob: User, talk: UUID
) -> None:
    """Calls of tools and their results come back; in another conversation the fact is known."""
    told: list[list[ChatMessage]] = []
    answers = model(told)
    call = ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"place": "Bath"})

    def first_calls(messages: Any, **_: Any) -> Any:
        answer = answers(messages)
        return answer if len(told) > 1 else ChatMessage(role="assistant", blocks=[call])

    def weather(place: str) -> str:
        """Tell the weather."""
        return f"Rain in {place}."

    async def agent(generator: Any, user: User, text: str, where: UUID) -> str:
        helper = FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=generator), tools=[weather]
        )
        own = RemembrancerMemory(memory, as_actor(user), where)
        return str(await helper.run(text, memory=own))

    assert await agent(first_calls, ada, FACT, talk) == "No peanuts."
    stored = await RemembrancerMemory(memory, as_actor(ada), talk).aget_all()
    assert [message.role.value for message in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[1].blocks == [call]
    assert "Rain in Bath." in texts(stored)[2]
    assert await agent(lambda m, **_: answers(m), ada, "And?", talk) == "No peanuts."
    assert [m.role.value for m in told[-1] if m.role.value == "tool"] == ["tool"]
    for user, wanted in ((ada, "No peanuts."), (bob, "I do not know.")):
        other = await memory.conversations.open(as_actor(user), ConversationCreate())
        question = "What may I not eat?"
        assert await agent(lambda m, **_: answers(m), user, question, other.id) == wanted
    hits = (await memory.recall("weather rain", user=ada)).hits
    assert {hit.role for hit in hits} <= {"user", "assistant"}


async def test_messages_come_back_as_they_went_in(
    memory: Remembrancer, ada: User, talk: UUID
) -> None:
    """Set keeps what is the same, so that nothing is erased which is said again; reset erases."""
    own = RemembrancerMemory(memory, as_actor(ada), talk, window=2)
    picture = ImageBlock(image=b"x", image_mimetype="image/png")
    messages = [
        ChatMessage(role="system", content="You are helpful."),
        ChatMessage(role="user", content=FACT),
        ChatMessage(role="assistant", content="Noted.", additional_kwargs={"mood": "calm"}),
        ChatMessage(role="user", blocks=[TextBlock(text="This?"), picture]),
        ChatMessage(role="tool", content="Rain.", additional_kwargs={"tool_call_id": "c1"}),
    ]
    await own.aput_messages(messages)
    assert [m.model_dump() for m in await own.aget_all()] == [m.model_dump() for m in messages]
    kept = (await memory.conversations.messages(as_actor(ada), talk)).items
    await own.aset([*messages[:3], ChatMessage(role="user", content="Bye.")])
    now = (await memory.conversations.messages(as_actor(ada), talk)).items
    assert [m.id for m in now[:3]] == [m.id for m in kept[:3]]
    assert texts(await own.aget_all())[3:] == ["Bye."]
    await own.areset()
    assert await own.aget_all() == []
    await own.aset(messages[4:])
    assert texts(m for m in await own.aget() if m.role.value == "tool") == []


async def test_a_chat_engine_uses_it_in_a_thread(
    memory: Remembrancer, ada: User, talk: UUID
) -> None:
    """The synchronous methods work beside the event loop, and refuse on it."""
    await memory.remember("Ada sails.", user=ada)
    told: list[list[ChatMessage]] = []
    own = RemembrancerMemory.from_defaults(memory=memory, actor=as_actor(ada), conversation_id=talk)
    answers = model(told)
    engine = SimpleChatEngine.from_defaults(
        llm=MockFunctionCallingLLM(response_generator=lambda m, **_: answers(m)), memory=own
    )
    assert str(await asyncio.to_thread(engine.chat, FACT)) == "No peanuts."
    assert "Ada sails." in texts(told[0])[0]
    assert texts(await asyncio.to_thread(own.get_all)) == [FACT, "No peanuts."]
    await asyncio.to_thread(own.set, [ChatMessage(role="user", content=FACT)])
    await asyncio.to_thread(own.put, ChatMessage(role="user", content="Hm."))
    assert texts(await own.aget_all()) == [FACT, "Hm."]
    await asyncio.to_thread(engine.reset)
    assert await own.aget_all() == []
    with pytest.raises(RuntimeError, match="async method"):
        own.get()


async def test_the_example_remembers(memory: Remembrancer, ada: User, bob: User) -> None:
    """What a conversation said is known in the next one, to its user alone."""
    module = example("frameworks/llama_index_agent")
    answers = model([])
    llm = MockFunctionCallingLLM(response_generator=lambda m, **_: answers(m))
    assert await module.answer(memory, as_actor(ada), llm, FACT) == "No peanuts."
    for user, wanted in ((ada, "No peanuts."), (bob, "I do not know.")):
        assert await module.answer(memory, as_actor(user), llm, "What may I not eat?") == wanted
