"""Models of ``sample.json``, and the service requests made from them."""

from importlib.resources import files
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from remembrancer.agents.schemas import AgentCreate
from remembrancer.conversations.schemas import ConversationCreate, MessageCreate
from remembrancer.memories.schemas import MemoryCreate
from remembrancer.users.schemas import PlatformLink, ResolveUser


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
