"""Store the sample."""

from uuid import UUID

from remembrancer.app import Remembrancer, as_actor
from remembrancer.sample.data import Sample, SampleConversation, SampleMemory, SamplePerson, load
from remembrancer.statistics import counts

ACTOR = as_actor(entry_point="sample")


async def fill(app: Remembrancer) -> bool:
    """Store the sample unless there are other users; an interrupted call can be repeated."""
    sample = load()
    if not await _is_needed(app, sample):
        return False
    people = {person.key: await _create_user(app, person) for person in sample.people}
    agents = await _create_agents(app, sample)
    for sample_memory in sample.memories:
        await _remember(app, sample_memory, people, agents)
    for conversation in sample.conversations:
        await _store_conversation(
            app, conversation, people[conversation.person], agents[conversation.agent]
        )
    return True


async def _is_needed(app: Remembrancer, sample: Sample) -> bool:
    stored = await counts(app.database)
    links = [person.links[0] for person in sample.people]
    users = (await app.users.list(ACTOR, limit=len(links) + 1)).items
    others = [user for user in users if not any(link in user.platform_links for link in links)]
    # the conversations come last, and nothing deletes their messages
    return not others and stored.messages < sum(len(c.messages) for c in sample.conversations)


async def _create_user(app: Remembrancer, person: SamplePerson) -> UUID:
    user = await app.users.resolve(ACTOR, person.resolve_request)
    for link in person.links[1:]:
        await app.users.link(ACTOR, user.id, link)
    return user.id


async def _create_agents(app: Remembrancer, sample: Sample) -> dict[str, UUID]:
    agents = {agent.name: agent for agent in (await app.agents.list(ACTOR)).items}
    for sample_agent in sample.agents:
        if sample_agent.agent.name not in agents:
            agents[sample_agent.agent.name] = await app.agents.create(ACTOR, sample_agent.agent)
    return {s.key: agents[s.agent.name].id for s in sample.agents}


async def _store_conversation(
    app: Remembrancer, conversation: SampleConversation, user_id: UUID, agent_id: UUID
) -> None:
    actor = ACTOR.acting_for(user_id, agent_id)
    opened = await app.conversations.open(actor, conversation.conversation(agent_id))
    if not opened.message_count:
        await app.conversations.append(actor, opened.id, conversation.messages)


async def _remember(
    app: Remembrancer, sample_memory: SampleMemory, people: dict[str, UUID], agents: dict[str, UUID]
) -> None:
    user_id = people[sample_memory.person] if sample_memory.person else None
    agent_id = agents[sample_memory.agent] if sample_memory.agent else None
    await app.memories.remember(
        ACTOR.acting_for(user_id, agent_id), sample_memory.memory, source="sample"
    )
