"""Sessions of the OpenAI Agents SDK: items come back as they went in, from a conversation."""

import asyncio
from typing import Any

import pytest
from agents import Agent, Runner, Session
from agents.testing import ScriptedModel
from helpers import rows
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from remembrancer import (
    ConversationCreate,
    InvalidInput,
    MessageCreate,
    MessageRole,
    NotFound,
    Remembrancer,
    User,
    as_actor,
)
from remembrancer.adapters.openai_agents import RemembrancerSession

ITEMS: list[Any] = [
    {"role": "user", "content": "Where does Ada live?"},
    {"role": "user", "content": [{"type": "input_text", "text": "And since when?"}]},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Look it up."}],
        "encrypted_content": "x" * 9000,
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "look_up",
        "arguments": '{"who": "Ada"}',
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "Oslo" * 3000},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "In Oslo.", "annotations": [], "logprobs": []}],
    },
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
        ],
    },
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": ""},
]


def said_by_the_agent(text: str) -> Any:
    """An item as a model of the SDK answers."""
    part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", content=[part], status="completed"
    )


@pytest.fixture
async def session(memory: Remembrancer, ada: User) -> RemembrancerSession:
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate())
    return RemembrancerSession(memory, as_actor(ada), talk.id)


async def test_items_come_back_as_they_went_in(
    memory: Remembrancer, ada: User, session: RemembrancerSession
) -> None:
    """Of every kind, in order, the latest of them with a limit; what was said is recalled."""
    assert isinstance(session, Session)
    await session.add_items([])
    assert await session.get_items() == []
    await session.add_items(ITEMS[:4])
    await session.add_items(ITEMS[4:])
    assert await session.get_items() == ITEMS
    assert await session.get_items(limit=2) == ITEMS[-2:]
    assert await session.get_items(limit=0) == []
    assert await session.get_items(limit=99) == ITEMS
    hits = (await memory.recall("Where does Ada live?", user=ada)).hits
    assert {hit.content for hit in hits} >= {"Where does Ada live?", "In Oslo."}
    assert not any("look_up" in hit.content or "xxx" in hit.content for hit in hits)


async def test_a_session_has_a_limit_of_its_own(
    memory: Remembrancer, session: RemembrancerSession
) -> None:
    """For runs that name none; long histories are read in pages."""
    many: list[Any] = [{"role": "user", "content": f"number {n}"} for n in range(230)]
    tools: list[Any] = [{"type": "item_reference", "id": one["content"]} for one in many]
    await session.add_items(tools)
    assert await session.get_items() == tools
    assert await session.get_items(limit=205) == tools[-205:]
    short = RemembrancerSession(memory, session._actor, session._conversation_id, limit=3)
    assert await short.get_items() == tools[-3:]


async def test_the_last_item_is_popped(session: RemembrancerSession) -> None:
    """It is returned, and gone from the conversation and from recall; then the one before."""
    await session.add_items(ITEMS[:2])
    assert await session.pop_item() == ITEMS[1]
    assert rows("SELECT count(*) FROM messages") == [(1,)]
    assert rows("SELECT count(*) FROM recall_items") == [(1,)]
    assert await session.pop_item() == ITEMS[0]
    assert await session.pop_item() is None
    await session.add_items(ITEMS[:1])
    assert await session.get_items() == ITEMS[:1]


async def test_what_is_no_item_is_neither_told_nor_popped(
    memory: Remembrancer, session: RemembrancerSession
) -> None:
    """A note of another program stays where it is, and the limit counts items alone."""
    await session.add_items(ITEMS[:2])
    note = MessageCreate(role=MessageRole.SYSTEM, content="moved to another server")
    await memory.conversations.append(session._actor, session._conversation_id, [note])
    assert await session.get_items(limit=2) == ITEMS[:2]
    assert await session.get_items(limit=0) == []
    assert await session.pop_item() == ITEMS[1]
    assert await session.pop_item() == ITEMS[0]
    assert await session.pop_item() is None
    assert rows("SELECT role FROM messages") == [("system",)]


async def test_runs_on_another_event_loop(session: RemembrancerSession) -> None:
    """`Runner.run_sync` in a thread has a loop of its own; ways of all three runs are told."""
    model = ScriptedModel()
    agent: Agent[Any] = Agent(name="helper", model=model)
    for text in ("In Oslo.", "Since May.", "Yes."):
        model.enqueue([said_by_the_agent(text)])
    first = await Runner.run(agent, "Where does Ada live?", session=session)

    def in_a_thread() -> Any:
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            return Runner.run_sync(agent, "Since when?", session=session)
        finally:
            loop.close()

    second = await asyncio.wait_for(asyncio.to_thread(in_a_thread), 60)
    third = Runner.run_streamed(agent, "Sure?", session=session)
    assert [event async for event in third.stream_events()]
    assert [run.final_output for run in (first, second, third)] == [
        "In Oslo.",
        "Since May.",
        "Yes.",
    ]
    assert len(model.calls[-1].input) == 5
    assert len(await session.get_items()) == 6


async def test_a_session_is_cleared(session: RemembrancerSession) -> None:
    """Nothing is left of what was said in it; it can go on."""
    await session.add_items(ITEMS)
    await session.clear_session()
    await session.clear_session()
    assert await session.get_items() == []
    for table in ("messages", "recall_items", "postings"):
        assert rows(f"SELECT count(*) FROM {table}") == [(0,)]
    await session.add_items(ITEMS[:1])
    assert await session.get_items() == ITEMS[:1]


async def test_a_session_goes_on_when_its_user_is_merged(
    memory: Remembrancer, ada: User, bob: User, session: RemembrancerSession
) -> None:
    """Under the id it was made with: read, added to, popped and cleared."""
    await session.add_items(ITEMS[:2])
    await memory.users.merge(as_actor(), bob.id, ada.id)
    await session.add_items(ITEMS[2:4])
    assert await session.get_items() == ITEMS[:4]
    assert await session.pop_item() == ITEMS[3]
    await session.clear_session()
    assert await session.get_items() == []


async def test_what_others_said_in_the_conversation_is_there(
    memory: Remembrancer, session: RemembrancerSession
) -> None:
    """Messages that came another way are items; tool output that is none of the SDK's is not."""
    said = [MessageCreate(content="Hello."), MessageCreate(role="assistant", content="Hi.")]
    said.append(MessageCreate(role="tool", content='{"no": "item"}'))
    await memory.conversations.append(session._actor, session._conversation_id, said)
    assert await session.get_items() == [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
    ]


async def test_nobody_uses_another_users_session(
    memory: Remembrancer, bob: User, session: RemembrancerSession
) -> None:
    """For somebody who takes no part in it, it does not exist."""
    from remembrancer import Actor, Role

    await session.add_items(ITEMS[:1])
    theirs = RemembrancerSession(memory, Actor(Role.USER, user_id=bob.id), session._conversation_id)
    for attempt in (
        theirs.get_items,
        theirs.pop_item,
        theirs.clear_session,
        lambda: theirs.add_items(ITEMS[:1]),
    ):
        with pytest.raises(NotFound):
            await attempt()
    assert await session.get_items() == ITEMS[:1]
    with pytest.raises(NotFound):
        await RemembrancerSession(memory, as_actor(bob), session._conversation_id).get_items()


async def test_what_is_too_long_is_refused_whole(session: RemembrancerSession) -> None:
    """An item that no message can hold: the reason is named, and nothing of the batch is kept."""
    with pytest.raises(InvalidInput, match="32,000 characters"):
        await session.add_items(
            [ITEMS[0], {"type": "function_call_output", "call_id": "c", "output": "x" * 40_000}]
        )
    assert await session.get_items() == []


async def test_secrets_are_redacted_and_the_rest_stays_an_item(
    session: RemembrancerSession,
) -> None:
    """In what people said and in what tools answered."""
    await session.add_items(
        [
            {"role": "user", "content": "My card is 4111 1111 1111 1111."},
            {"type": "function_call_output", "call_id": "c", "output": "4111 1111 1111 1111"},
        ]
    )
    said, output = await session.get_items()
    assert "4111" not in str(said)
    assert "redacted" in str(said["content"])  # type: ignore[typeddict-item]
    assert "4111" not in str(output)
    assert output["call_id"] == "c"  # type: ignore[typeddict-item]
