"""The examples, run against a scripted model: each agent remembers across two conversations."""

import json
from typing import Any

import pytest
from helpers import example, rows
from langgraph.store.memory import InMemoryStore
from openai import AsyncOpenAI
from scripted import Reply, Scripted

from remembrancer import (
    Actor,
    Agent,
    AsyncMemory,
    ConversationCreate,
    Memory,
    Remembrancer,
    User,
    as_actor,
)
from remembrancer.settings import JobSettings

FACT = "Ada is allergic to peanuts."


@pytest.fixture(autouse=True)
def endpoint(model: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only address that any framework knows, on this machine."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.base_url.removesuffix("/v1"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")


def calls(name: str, **arguments: Any) -> Reply:
    """A completion that calls a tool."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return Reply(raw=_completion(message, "tool_calls"))


def _completion(message: dict[str, Any], finish: str) -> bytes:
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    ).encode()


def claude(*blocks: dict[str, Any]) -> Reply:
    """A message as Anthropic's API answers."""
    uses = any(block["type"] == "tool_use" for block in blocks)
    return Reply(
        raw=json.dumps(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": blocks,
                "stop_reason": "tool_use" if uses else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        ).encode()
    )


def remembers(body: dict[str, Any]) -> Reply:
    """A model that knows what it is told, and no more."""
    known = "peanuts" in json.dumps(body["messages"])
    return Reply("No peanuts." if known else "I do not know.")


async def opened(memory: Remembrancer, actor: Actor) -> Any:
    """A new conversation."""
    wanted = ConversationCreate(agent_id=actor.agent_id)
    return (await memory.conversations.open(actor, wanted)).id


async def test_a_langgraph_agent_remembers(
    memory: Remembrancer, ada: User, bob: User, model: Scripted
) -> None:
    """What was said in one run is known in another, without a checkpointer, to its user alone."""
    module = example("langgraph_agent")
    graph = module.build(memory)
    model.said = remembers

    async def said(user: User, text: str) -> str:
        end = await graph.ainvoke({"said": text}, context=module.Talk(as_actor(user)))
        return str(end["answer"])

    await said(ada, FACT)
    assert await said(ada, "What should I not eat?") == "No peanuts."
    assert await said(bob, "What should I not eat?") == "I do not know."
    assert (await memory.recall("allergic", user=ada)).hits[0].content == FACT


async def test_an_openai_agents_run_remembers(
    memory: Remembrancer, ada: User, bob: User, model: Scripted
) -> None:
    """A tool keeps a fact in one session; another session of the same user begins with it."""
    reply = example("openai_agents_agent").reply
    model.said = [
        calls("add_to_memory", content=FACT, category="person", subject="Ada"),
        Reply("I will remember."),
    ]
    actor = as_actor(ada)
    talk = await opened(memory, actor)
    assert await reply(memory, actor, talk, "I am allergic to peanuts.") == "I will remember."
    told = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert json.loads(told[0])["outcome"] == "created"
    model.said = remembers
    again = await opened(memory, actor)
    assert await reply(memory, actor, again, "What should I not eat?") == "No peanuts."
    assert await reply(memory, actor, again, "May I eat peanuts?") == "No peanuts."
    assert [m["role"] for m in model.requests[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    other = as_actor(bob)
    talk = await opened(memory, other)
    assert await reply(memory, other, talk, "What should I not eat?") == "I do not know."
    [(conversation,)] = rows("SELECT conversation_id FROM memories WHERE content = %s", FACT)
    assert conversation is not None


async def test_a_pydantic_ai_agent_remembers(
    memory: Remembrancer, ada: User, bob: User, agent: Agent, model: Scripted
) -> None:
    """What was said in one conversation is told before the next answer, and every turn is kept."""
    module = example("pydantic_ai_agent")
    model.said = remembers
    ada_, bob_ = as_actor(ada, agent), as_actor(bob, agent)
    async with AsyncOpenAI() as client:
        helper = module.build(memory, client)

        async def said(actor: Actor, talk: Any, text: str) -> str:
            return str((await helper.run(text, deps=module.Talk(actor, talk))).output)

        await said(ada_, await opened(memory, ada_), FACT)
        talk = await opened(memory, ada_)
        assert await said(ada_, talk, "What should I not eat?") == "No peanuts."
        assert await said(ada_, talk, "May I eat peanuts?") == "No peanuts."
        stranger = await said(bob_, await opened(memory, bob_), "What should I not eat?")
    assert stranger == "I do not know."
    kept = (await memory.conversations.messages(ada_, talk)).items
    assert [(one.role, one.content) for one in kept] == [
        ("user", "What should I not eat?"),
        ("assistant", "No peanuts."),
        ("user", "May I eat peanuts?"),
        ("assistant", "No peanuts."),
    ]
    # The last messages, the context, and what was said.
    sent = [(one["role"], one["content"]) for one in model.requests[2]["messages"]]
    sent = [one for one in sent if one[0] != "system"]
    assert sent[:2] == [("user", "What should I not eat?"), ("assistant", "No peanuts.")]
    assert FACT in sent[2][1]
    assert sent[3:] == [("user", "May I eat peanuts?")]


async def test_claude_remembers_in_its_files(
    memory: Remembrancer, ada: User, bob: User, model: Scripted
) -> None:
    """Anthropic's own tool runner writes a file in one conversation and reads it in the next."""
    reply = example("anthropic_memory_tool").reply

    def use(**given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": given}

    def script(body: dict[str, Any]) -> Reply:
        sent = json.dumps(body["messages"])
        if "does not exist" in sent:
            return claude({"type": "text", "text": "I do not know."})
        if "peanuts" not in sent:
            return claude(use(command="view", path="/memories/ada.md"))
        if "I am allergic" in sent and "created successfully" not in sent:
            return claude(use(command="create", path="/memories/ada.md", file_text=FACT))
        return claude({"type": "text", "text": "No peanuts."})

    model.said = script
    assert await reply(memory, as_actor(ada), "I am allergic to peanuts.") == "No peanuts."
    assert model.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert await reply(memory, as_actor(ada), "What should I not eat?") == "No peanuts."
    assert await reply(memory, as_actor(bob), "What should I not eat?") == "I do not know."
    result = model.requests[-1]["messages"][-1]["content"][0]
    assert result["is_error"] is True


async def test_a_bot_with_openais_client_remembers(memory: Remembrancer, model: Scripted) -> None:
    """A tool stores a fact in the user's own chat; a group knows it from its user alone."""
    reply = example("openai_bot").reply
    bot = AsyncMemory.over(memory)
    model.said = [
        calls("add_to_memory", content=FACT, category="person", subject="Ada"),
        Reply("I will remember."),
    ]
    assert await reply(bot, "ada", "I am allergic to peanuts.") == "I will remember."
    model.said = remembers
    assert await reply(bot, "ada", "What should I not eat?", "lunch") == "No peanuts."
    assert await reply(bot, "bob", "What should I not eat?") == "I do not know."


async def test_a_bot_with_claude_remembers(
    memory: Remembrancer, database_url: str, model: Scripted
) -> None:
    """What was said in a chat is known in its next turn, and the system part stays the same."""
    reply = example("claude_bot").reply

    def script(body: dict[str, Any]) -> Reply:
        known = "peanuts" in json.dumps(body["messages"])
        return claude({"type": "text", "text": "No peanuts." if known else "I do not know."})

    model.said = script
    with Memory(database_url, settings=memory.settings) as bot:
        assert reply(bot, "bob", "What should I not eat?") == "I do not know."
        reply(bot, "ada", "I am allergic to peanuts.")
        assert reply(bot, "ada", "What should I not eat?") == "No peanuts."
    first, second = (request["system"] for request in model.requests[1:])
    assert first == second


async def test_a_langgraph_store_is_copied_once(memory: Remembrancer, database_url: str) -> None:
    """Items of LangMem's tools and of its manager, each to its user; again is nothing."""
    store = InMemoryStore()
    store.put(("memories", "ada"), "1", {"content": "Ada drinks tea."})
    value: dict[str, Any] = {"kind": "Memory", "content": {"content": "Bob has a dog."}}
    store.put(("memories", "bob"), "2", value)
    copy = example("from_langmem").copy
    changes = {"jobs": JobSettings(in_server=False)}
    with Memory(database_url, settings=memory.settings.model_copy(update=changes)) as target:
        assert [copy(store, target) for _ in range(2)] == [2, 0]
        own = target.recall("tea and dogs", user="ada", agent="Assistant")
        assert [hit.content for hit in own.hits] == ["Ada drinks tea."]
