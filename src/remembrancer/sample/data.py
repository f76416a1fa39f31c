"""The sample as written in ``sample.json``, in the words of the services."""

from importlib.resources import files
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from remembrancer.agents.schemas import AgentCreate
from remembrancer.conversations.schemas import ConversationCreate, MessageCreate
from remembrancer.memories.schemas import MemoryCreate
from remembrancer.users.schemas import PlatformLink, ResolveUser


class _Entry(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    def _rest(self, *names: str) -> dict[str, object]:
        return self.model_dump(exclude=set(names), exclude_unset=True)


class Person(_Entry):
    """Somebody, and where they speak from; the first link is how they are first met."""

    key: str
    display_name: str
    time_zone: str
    links: list[PlatformLink]

    @property
    def first_met(self) -> ResolveUser:
        """Return them as their first platform names them."""
        return ResolveUser(
            **self.links[0].model_dump(), display_name=self.display_name, time_zone=self.time_zone
        )


class Assistant(_Entry):
    """An agent, under the key that the rest of the sample uses."""

    key: str

    @property
    def agent(self) -> AgentCreate:
        """Return the agent to create."""
        return AgentCreate.model_validate(self._rest("key"))


class Talk(_Entry):
    """A conversation of one person with one agent."""

    key: str
    agent: str
    person: str
    platform: str
    title: str
    messages: list[MessageCreate]

    def conversation(self, agent_id: UUID) -> ConversationCreate:
        """Return the conversation to open with its agent."""
        return ConversationCreate(
            agent_id=agent_id,
            title=self.title,
            platform=self.platform,
            platform_conversation_id=f"sample-{self.key}",
        )


class Statement(_Entry):
    """A memory; of nobody in particular where no person is named."""

    person: str | None
    agent: str | None

    @property
    def memory(self) -> MemoryCreate:
        """Return the statement to remember."""
        return MemoryCreate.model_validate(
            {**self._rest("person", "agent"), "shared": self.person is None}
        )


class Question(_Entry):
    """A question, and what its answer must or must never hold."""

    person: str
    agent: str
    query: str
    finds: str | None = None
    """A part of what must be among the first three hits."""
    never: list[str] = []
    """What no hit may hold, however many are asked for."""
    because: str


class Sample(BaseModel):
    """Everything in the sample."""

    people: list[Person]
    agents: list[Assistant]
    conversations: list[Talk]
    memories: list[Statement]
    questions: list[Question]


def load() -> Sample:
    """Return the sample."""
    written = (files("remembrancer.sample") / "sample.json").read_text(encoding="utf-8")
    return Sample.model_validate_json(written)
