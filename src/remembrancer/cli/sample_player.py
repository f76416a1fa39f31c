"""Plays the sample on a server over HTTP, as the backends of its agents would."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from remembrancer.access import Role
from remembrancer.cli.temporary_server import Server
from remembrancer.client import Client
from remembrancer.keys.schemas import KeyCreate
from remembrancer.recall.schemas import Hit, RecallQuery
from remembrancer.sample import Sample, SampleQuestion
from remembrancer.sample.data import SamplePerson


class SamplePlayer:
    """Acts for the users and agents of the sample, with a service key."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._user_ids: dict[str, UUID] = {}
        self._agent_ids: dict[str, UUID] = {}

    def play(self, sample: Sample) -> None:
        client = self._client
        self._user_ids = {person.key: self._create_user(person) for person in sample.people}
        self._agent_ids = {
            assistant.key: client.agents.create(assistant.agent).id for assistant in sample.agents
        }
        for talk in sample.conversations:
            user_id = self._user_ids[talk.person]
            conversation = client.conversations.open(
                talk.conversation(self._agent_ids[talk.agent]), user=user_id
            )
            client.conversations.append(conversation.id, talk.messages, user=user_id)
        for statement in sample.memories:
            client.memories.remember(
                statement.memory,
                user=self._user_ids[statement.person] if statement.person else None,
                agent=self._agent_ids[statement.agent] if statement.agent else None,
            )

    def recall(self, question: SampleQuestion, limit: int) -> list[Hit]:
        answer = self._client.memories.recall(
            RecallQuery(query=question.query, limit=limit),
            user=self._user_ids[question.person],
            agent=self._agent_ids[question.agent],
        )
        return answer.hits

    def _create_user(self, person: SamplePerson) -> UUID:
        user = self._client.users.resolve(person.resolve_request)
        for link in person.links[1:]:
            self._client.users.link(user.id, link)
        return user.id


@contextmanager
def sample_player(server: Server) -> Iterator[SamplePlayer]:
    """Yield a player with its own key; close its connections at the end."""
    with Client(server.address, server.admin_key, trust_env=False) as admin:
        key = admin.keys.create(KeyCreate(name="demo", role=Role.SERVICE))
    with Client(server.address, key.secret, trust_env=False) as client:
        yield SamplePlayer(client)
