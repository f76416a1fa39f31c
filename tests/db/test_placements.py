"""Where messages lie: the statement that inserts them decides as the rule in Python does."""

from itertools import product

from helpers import rows

from remembrancer import (
    AgentCreate,
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    Scope,
    SpaceCreate,
    User,
    Visibility,
    as_actor,
)
from remembrancer.conversations import repository
from remembrancer.conversations.placements import placements


async def test_messages_lie_where_summaries_of_them_do(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """In any conversation, for members of its space and others, in either scope; items too."""
    space = await memory.spaces.create(as_actor(ada), SpaceCreate(name="Home"))
    agents = [
        (await memory.agents.create(as_actor(), AgentCreate(name=scope, memory_scope=scope))).id
        for scope in Scope
    ]
    for agent_id, space_id, visibility in product([None, *agents], [None, space.id], Visibility):
        if space_id is None and visibility is Visibility.SHARED:
            continue
        talk = await memory.conversations.open(
            as_actor(ada),
            ConversationCreate(agent_id=agent_id, space_id=space_id, visibility=visibility),
        )
        said = [MessageCreate(content="Hello.", user_id=user.id) for user in (ada, bob)]
        await memory.conversations.append(as_actor(), talk.id, said)
        async with memory.database.system() as connection:
            conversation = await repository.find(connection, talk.id)
            assert conversation is not None
            expected = await placements(connection, conversation, [ada.id, bob.id])
        for table in ("messages", "recall_items"):
            lying = rows(
                f"SELECT owner_id, agent_id, space_id, visibility FROM {table}"
                " WHERE conversation_id = %s",
                talk.id,
            )
            assert {tuple(row) for row in lying} == {
                (p.owner_id, p.agent_id, p.space_id, p.visibility) for p in expected.values()
            }
