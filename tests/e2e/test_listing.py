"""Lists of memories, filtered by where they lie; and what came up in a conversation."""

from entry_points import Door

from remembrancer import (
    Agent,
    AgentCreate,
    ConversationCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    Remembrancer,
    User,
    as_actor,
)


async def test_a_list_can_be_of_one_agent_or_of_what_every_agent_uses(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """`scope` tells the namespaces apart, `kept_for` names the one agent."""
    other = await memory.agents.create(as_actor(), AgentCreate(name="Other"))
    await door.remember("For all.", user=ada)
    await door.remember("For the helper.", user=ada, agent=agent)
    await door.remember("For the other.", user=ada, agent=other)

    async def found(**wanted: object) -> list[str]:
        page = await door.listed(user=ada, **wanted)
        assert page["total"] == len(page["memories"])
        return sorted(one["content"] for one in page["memories"])

    assert await found(scope="global") == ["For all."]
    assert await found(scope="agent") == ["For the helper.", "For the other."]
    assert await found(kept_for=str(agent.id)) == ["For the helper."]
    assert await found(kept_for=str(agent.id), scope="global") == []


async def test_what_came_up_in_a_conversation_is_known_after_an_edit(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Each time with its message, in order, whatever the memory says now; to who sees it alone."""
    actor = as_actor(ada)
    talk = (await memory.conversations.open(actor, ConversationCreate())).id
    said = await memory.conversations.append(
        actor, talk, [MessageCreate(content="Tea!"), MessageCreate(content="Tea again!")]
    )
    first, second = (one.id for one in said.messages)
    for message in (first, second):
        written = await memory.memories.remember(
            actor, MemoryCreate(content="Likes tea.", conversation_id=talk, message_id=message)
        )
    await memory.memories.update(actor, written.memory.id, MemoryUpdate(content="Loves tea."))
    await memory.remember("Something else.", user=ada)
    told = await memory.memories.in_conversation(actor, talk)
    assert [(one.memory.content, one.message_id) for one in told] == [
        ("Loves tea.", first),
        ("Loves tea.", second),
    ]
    assert await memory.memories.in_conversation(as_actor(bob), talk) == []
    await memory.memories.forget(actor, written.memory.id)
    assert await memory.memories.in_conversation(actor, talk) == []
