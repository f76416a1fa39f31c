"""Microsoft's Agent Framework: agents with the provider, and a client that is a function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from remembrancer import Remembrancer, User, as_actor
from remembrancer.adapters.agent_framework import RemembrancerProvider

FACT = "I am allergic to peanuts."


class Told(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """A client that answers by a function of what it is told, and keeps that."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        super().__init__()
        self.answer = answer
        self.requests: list[tuple[str, list[Message], Any]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **rest: Any
    ) -> Any:
        async def response() -> ChatResponse:
            instructions = options.get("instructions") or ""
            said = "\n".join([instructions, *(str(m.to_dict()) for m in messages)])
            self.requests.append((instructions, list(messages), options.get("tools")))
            return ChatResponse(messages=[Message("assistant", [self.answer(said)])])

        return response()


def remembers(said: str) -> str:
    return "No peanuts." if "peanuts" in said else "I do not know."


async def test_an_agent_remembers_for_its_user_alone(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """One agent for all; a session of the same name is another user's own conversation."""
    provider = RemembrancerProvider(memory, lambda session: as_actor(session.state["user"]))
    client = Told(remembers)
    agent = Agent(client, instructions="You are helpful.", context_providers=[provider])

    async def answer(user: User, name: str, text: str) -> str:
        session = AgentSession(session_id=name)
        session.state["user"] = str(user.id)
        return str((await agent.run(text, session=session)).text)

    await answer(ada, "1", FACT)
    assert await answer(ada, "1", "What may I not eat?") == "No peanuts."
    told = [message.text for message in client.requests[1][1]]
    assert told[:2] == [FACT, "No peanuts."]
    assert told[-1] == "What may I not eat?"
    assert await answer(ada, "2", "What may I not eat?") == "No peanuts."
    assert await answer(bob, "1", "What may I not eat?") == "I do not know."
    with pytest.raises(RuntimeError, match="names no user"):
        await provider.get_messages("1")
    talks = (await memory.conversations.list(as_actor(ada))).items
    assert len(talks) == 2
    assert len((await memory.conversations.list(as_actor(bob))).items) == 1


async def test_tools_run_and_come_back_whole(memory: Remembrancer, ada: User) -> None:
    """The call of a tool and its result are told to the next run, and recalled by nobody."""
    await memory.remember("Ada sails.", user=ada)
    arguments = {"content": "Ada likes tea.", "category": "preference"}
    secret = {"content": "My card is 4111 1111 1111 1111.", "category": "other"}
    calls = [
        Content.from_function_call("c1", "add_to_memory", arguments=arguments),
        Content.from_function_call("c2", "add_to_memory", arguments=secret),
        "Noted.",
        "Yes.",
    ]
    client = Told(lambda _: calls.pop(0))
    agent = Agent(client, context_providers=[RemembrancerProvider(memory, as_actor(ada))])
    session = AgentSession()
    assert (await agent.run("I like tea.", session=session)).text == "Noted."
    assert "Ada sails." in client.requests[0][0]
    kept = (await memory.memories.list(as_actor(ada))).items
    assert {m.content for m in kept} == {"Ada sails.", "Ada likes tea."}
    assert (await agent.run("Really?", session=session)).text == "Yes."
    parts = [part for message in client.requests[-1][1] for part in message.contents]
    types = [part.type for part in parts]
    assert types.count("function_call") == types.count("function_result") == 2
    assert "Nothing was done." in str([part.to_dict() for part in parts])
    hits = (await memory.recall("tea", user=ada)).hits
    assert {hit.role for hit in hits if hit.type == "message"} == {"user", "assistant"}
    bare = Told(remembers)
    provider = RemembrancerProvider(memory, as_actor(ada), tools=False, window=1)
    await Agent(bare, context_providers=[provider]).run("Hello.", session=session)
    assert not bare.requests[0][2]


async def test_a_picture_is_left_out_and_the_rest_is_kept(memory: Remembrancer, ada: User) -> None:
    """What is too large for metadata is not told again; a history begins with no result."""
    client = Told(lambda _: "Nice.")
    provider = RemembrancerProvider(memory, as_actor(ada), window=2)
    agent = Agent(client, context_providers=[provider])
    session = AgentSession()
    picture = Content.from_data(b"x" * 20_000, media_type="image/png")
    await agent.run(Message("user", ["Look at my boat.", picture]), session=session)
    small = Content.from_data(b"x", media_type="image/png")
    await agent.run(Message("user", ["And this.", small]), session=session)
    assert [m.text for m in client.requests[1][1]][:1] == ["Look at my boat."]
    await agent.run("Bye.", session=session)
    assert [part.type for part in client.requests[2][1][0].contents] == ["text", "data"]
    await agent.run(Message("user", [picture]), session=session)
    await agent.run("Well?", session=session)
    assert client.requests[4][1][0].text == "(something without text)"
    # With one actor, the id of a session is enough.
    await provider.save_messages(session.session_id, [Message("user", ["And a last word."])])
    stored = await provider.get_messages(session.session_id)
    assert [message.text for message in stored] == ["Nice.", "And a last word."]
    assert await provider.get_messages(None) == []
