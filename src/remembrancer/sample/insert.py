"""Put the sample into a store."""

from uuid import UUID

from remembrancer.app import Remembrancer, as_actor
from remembrancer.sample.data import Person, Sample, Statement, Talk, load
from remembrancer.statistics import counts

STAFF = as_actor(entry_point="sample")


async def fill(memory: Remembrancer) -> bool:
    """Put the sample into an empty store, or finish doing so; return whether it was needed.

    Every step can be repeated, so a start that was interrupted here is made good by the
    next one. A store that knows anybody else is left alone.
    """
    sample = load()
    if not await _wanted(memory, sample):
        return False
    people = {person.key: await _meet(memory, person) for person in sample.people}
    agents = await _make_agents(memory, sample)
    for statement in sample.memories:
        await _remember(memory, statement, people, agents)
    for talk in sample.conversations:
        await _talk(memory, talk, people[talk.person], agents[talk.agent])
    return True


async def _wanted(memory: Remembrancer, sample: Sample) -> bool:
    held = await counts(memory.database)
    ours = [person.links[0] for person in sample.people]
    users = (await memory.users.list(STAFF, limit=len(ours) + 1)).items
    strangers = [user for user in users if not any(o in user.platform_links for o in ours)]
    # the conversations come last, and what was said does not go away
    return not strangers and held.messages < sum(len(t.messages) for t in sample.conversations)


async def _meet(memory: Remembrancer, person: Person) -> UUID:
    user = await memory.users.resolve(STAFF, person.first_met)
    for link in person.links[1:]:
        await memory.users.link(STAFF, user.id, link)
    return user.id


async def _make_agents(memory: Remembrancer, sample: Sample) -> dict[str, UUID]:
    made = {agent.name: agent for agent in (await memory.agents.list(STAFF)).items}
    for wanted in sample.agents:
        if wanted.agent.name not in made:
            made[wanted.agent.name] = await memory.agents.create(STAFF, wanted.agent)
    return {wanted.key: made[wanted.agent.name].id for wanted in sample.agents}


async def _talk(memory: Remembrancer, talk: Talk, user_id: UUID, agent_id: UUID) -> None:
    actor = STAFF.acting_for(user_id, agent_id)
    opened = await memory.conversations.open(actor, talk.conversation(agent_id))
    if not opened.message_count:
        await memory.conversations.append(actor, opened.id, talk.messages)


async def _remember(
    memory: Remembrancer, statement: Statement, people: dict[str, UUID], agents: dict[str, UUID]
) -> None:
    user_id = people[statement.person] if statement.person else None
    agent_id = agents[statement.agent] if statement.agent else None
    await memory.memories.remember(
        STAFF.acting_for(user_id, agent_id), statement.memory, source="sample"
    )
