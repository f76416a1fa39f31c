"""Store the sample."""

from uuid import UUID

from remembrancer.app import Remembrancer, as_actor
from remembrancer.sample.data import Sample, load
from remembrancer.statistics import counts

ACTOR = as_actor(entry_point="sample")


async def fill(app: Remembrancer) -> bool:
    """Store the sample unless there are other users; an interrupted call can be repeated."""
    sample = load()
    if not await _is_needed(app, sample):
        return False
    people: dict[str | None, UUID] = {}
    for person in sample.people:
        user = await app.users.resolve(ACTOR, person.resolve_request)
        for link in person.links[1:]:
            await app.users.link(ACTOR, user.id, link)
        people[person.key] = user.id
    stored = {agent.name: agent.id for agent in (await app.agents.list(ACTOR)).items}
    agents: dict[str | None, UUID] = {}
    for key, agent in ((assistant.key, assistant.agent) for assistant in sample.agents):
        agents[key] = stored.get(agent.name) or (await app.agents.create(ACTOR, agent)).id
    for statement in sample.memories:
        actor = ACTOR.acting_for(people.get(statement.person), agents.get(statement.agent))
        await app.memories.remember(actor, statement.memory, source="sample")
    for talk in sample.conversations:
        actor = ACTOR.acting_for(people[talk.person], agents[talk.agent])
        opened = await app.conversations.open(actor, talk.conversation(agents[talk.agent]))
        if not opened.message_count:
            await app.conversations.append(actor, opened.id, talk.messages)
    return True


async def _is_needed(app: Remembrancer, sample: Sample) -> bool:
    stored = await counts(app.database)
    links = [person.links[0] for person in sample.people]
    users = (await app.users.list(ACTOR, limit=len(links) + 1)).items
    others = [user for user in users if not any(link in user.platform_links for link in links)]
    # the conversations come last, and nothing deletes their messages
    return not others and stored.messages < sum(len(c.messages) for c in sample.conversations)
