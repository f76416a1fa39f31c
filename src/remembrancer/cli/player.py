"""Plays the sample over HTTP, as the backends of its agents would."""

from types import TracebackType
from typing import Any, Self

import httpx2
from pydantic import BaseModel

from remembrancer.cli.temporary_server import Server
from remembrancer.errors import Unavailable
from remembrancer.recall.schemas import Hit, RecallAnswer
from remembrancer.sample import Sample, SampleQuestion
from remembrancer.sample.data import SampleConversation, SampleMemory, SamplePerson


class Player:
    """A client with a service key of its own."""

    def __init__(self, server: Server) -> None:
        self._client = httpx2.Client(base_url=server.address, timeout=30, trust_env=False)
        self._people: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._use(server.admin_key)
        key = self._post("/api/keys", {"name": "demo", "role": "service"})
        self._use(key["secret"])

    def __enter__(self) -> Self:
        """Do nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._client.close()

    def play(self, sample: Sample) -> None:
        """Let the people of the sample say everything they say."""
        for person in sample.people:
            self._people[person.key] = self._meet(person)
        for assistant in sample.agents:
            made = self._post("/api/agents", _body(assistant.agent))
            self._agents[assistant.key] = made["id"]
        for talk in sample.conversations:
            self._talk(talk)
        for statement in sample.memories:
            self._remember(statement)

    def recall(self, question: SampleQuestion, limit: int) -> list[Hit]:
        """Ask a question as its person, through its agent."""
        body = {
            "user_id": self._people[question.person],
            "agent_id": self._agents[question.agent],
            "query": question.query,
            "limit": limit,
        }
        return RecallAnswer.model_validate(self._post("/api/memory/recall", body)).hits

    def _meet(self, person: SamplePerson) -> str:
        user = self._post("/api/users/resolve", _body(person.resolve_request))
        for link in person.links[1:]:
            self._post(f"/api/users/{user['id']}/links", _body(link))
        return str(user["id"])

    def _talk(self, talk: SampleConversation) -> None:
        opened = self._post(
            "/api/conversations",
            {
                "user_id": self._people[talk.person],
                "agent_id": self._agents[talk.agent],
                "title": talk.title,
                "platform": talk.platform,
                "platform_conversation_id": talk.key,
            },
        )
        messages = [_body(message) for message in talk.messages]
        body = {"user_id": self._people[talk.person], "messages": messages}
        self._post(f"/api/conversations/{opened['id']}/messages", body)

    def _remember(self, statement: SampleMemory) -> None:
        whom = {
            "user_id": self._people[statement.person] if statement.person else None,
            "agent_id": self._agents[statement.agent] if statement.agent else None,
        }
        self._post("/api/memory/", _body(statement.memory) | whom)

    def _use(self, key: str) -> None:
        self._client.headers["Authorization"] = f"Bearer {key}"

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        try:
            answer = self._client.post(path, json=body)
        except httpx2.HTTPError as error:
            raise Unavailable(
                f"the demo's server does not answer ({type(error).__name__})"
            ) from error
        if answer.is_error:
            detail = answer.json().get("detail", answer.reason_phrase)
            raise Unavailable(f"the demo's server refused {path}: {detail}")
        return answer.json()


def _body(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_unset=True)
