"""The models of ``sample.json``, and the requests that store it."""

from importlib.resources import files
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from remembrancer.access import as_actor
from remembrancer.agents.schemas import AgentCreate
from remembrancer.app import Remembrancer
from remembrancer.conversations.schemas import ConversationCreate, MessageCreate
from remembrancer.memories.schemas import MemoryCreate
from remembrancer.statistics import counts
from remembrancer.users.schemas import PlatformLink, ResolveUser

ACTOR = as_actor(entry_point="sample")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    def _fields_except(self, *names: str) -> dict[str, object]:
        return self.model_dump(exclude=set(names), exclude_unset=True)


class SamplePerson(_Entry):
    """A person with platform links; the first link creates the user."""

    key: str
    display_name: str
    time_zone: str
    links: list[PlatformLink]

    @property
    def resolve_request(self) -> ResolveUser:
        return ResolveUser(
            **self.links[0].model_dump(), display_name=self.display_name, time_zone=self.time_zone
        )


class SampleAgent(_Entry):
    key: str

    @property
    def agent(self) -> AgentCreate:
        return AgentCreate.model_validate(self._fields_except("key"))


class SampleConversation(_Entry):
    key: str
    agent: str
    person: str
    platform: str
    title: str
    messages: list[MessageCreate]

    def conversation(self, agent_id: UUID) -> ConversationCreate:
        return ConversationCreate(
            agent_id=agent_id,
            title=self.title,
            platform=self.platform,
            platform_conversation_id=f"sample-{self.key}",
        )


class SampleMemory(_Entry):
    """A memory; shared if it names no person."""

    person: str | None
    agent: str | None

    @property
    def memory(self) -> MemoryCreate:
        return MemoryCreate.model_validate(
            {**self._fields_except("person", "agent"), "shared": self.person is None}
        )


class SampleQuestion(_Entry):
    """A query, with expected and forbidden texts of its hits."""

    person: str
    agent: str
    query: str
    finds: str | None = None
    """A text that one of the first three hits must contain."""
    never: list[str] = []
    """Texts that no hit may contain, at any limit."""
    because: str


class Sample(BaseModel):
    people: list[SamplePerson]
    agents: list[SampleAgent]
    conversations: list[SampleConversation]
    memories: list[SampleMemory]
    questions: list[SampleQuestion]


def load() -> Sample:
    content = (files("remembrancer.sample") / "sample.json").read_text(encoding="utf-8")
    return Sample.model_validate_json(content)


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
    agents: dict[str | None, UUID] = {}
    for assistant in sample.agents:
        agent = await app.agents.resolve(ACTOR, **assistant.agent.model_dump())
        agents[assistant.key] = agent.id
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
