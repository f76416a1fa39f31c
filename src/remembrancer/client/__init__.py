"""Clients of the REST API: the nouns, models and errors of the library, without a database.

A request that is safe to repeat is retried when the server does not answer or is busy: reads, and
requests with an idempotency key. The client adds a key wherever the endpoint accepts one.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self, Unpack
from uuid import UUID

from pydantic import BaseModel

from remembrancer.agents.schemas import Agent
from remembrancer.client.admin import Audit, Jobs, Keys, Retention, Usage, Workspaces
from remembrancer.client.calls import json_of
from remembrancer.client.conversations import Chat, Conversations
from remembrancer.client.memories import Associations, Documents, Memories, Places, Review
from remembrancer.client.operations import By, Group, Shape, operation
from remembrancer.client.spaces import Facts, Spaces
from remembrancer.client.transport import AsyncHttp, Http, Retries, options
from remembrancer.client.users import Agents, Moves, Policies, Preferences, Tools, Users
from remembrancer.memories.keywords import MemoryDetails
from remembrancer.memories.schemas import MemoryCreate, RememberResult
from remembrancer.recall.schemas import RecallAnswer, RecallDetails, RecallQuery
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import User
from remembrancer.validation import validate

__all__ = ["AsyncClient", "Client", "Retries"]


def _as(model: type[BaseModel]) -> Shape:
    return lambda given: json_of(
        validate(model, **{name: value for name, value in given.items() if value is not None})
    )


class _Nouns(Group[By]):
    _sender: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries | None = None,
        **settings: Any,
    ) -> None:
        retries = retries or Retries()
        sender: By = self._sender(retries, **options(url, key, timeout), **settings)
        super().__init__(sender)
        self.memories = Memories(sender)
        self.review = Review(sender)
        self.associations = Associations(sender)
        self.places = Places(sender)
        self.documents = Documents(sender)
        self.conversations = Conversations(sender)
        self.chat = Chat(sender)
        self.users = Users(sender)
        self.agents = Agents(sender)
        self.tools = Tools(sender)
        self.preferences = Preferences(sender)
        self.policies = Policies(sender)
        self.moves = Moves(sender)
        self.spaces = Spaces(sender)
        self.facts = Facts(sender)
        self.keys = Keys(sender)
        self.jobs = Jobs(sender)
        self.audit = Audit(sender)
        self.usage = Usage(sender)
        self.retention = Retention(sender)
        self.workspaces = Workspaces(sender)

    @operation("POST /api/memory", ids="body", body=_as(MemoryCreate))
    def remember(
        self,
        /,
        content: str,
        *,
        user: User | AnyUser | None = None,
        agent: Agent | UUID | None = None,
        idempotency_key: str | None = None,
        **details: Unpack[MemoryDetails],
    ) -> RememberResult:
        """Remember a statement for ``user``, through ``agent`` if one is given.

        ``details`` are the other fields of :class:`MemoryCreate`: kind, category, subject,
        importance, shared and so on. Raises ``SimilarMemoryExists`` if a memory on its subject
        exists, and ``InvalidInput`` for an invalid field.
        """

    @operation("POST /api/memory/recall", ids="body", body=_as(RecallQuery), safe=True)
    def recall(
        self,
        /,
        query: str | None = None,
        *,
        user: User | AnyUser | None = None,
        agent: Agent | UUID | None = None,
        **details: Unpack[RecallDetails],
    ) -> RecallAnswer:
        """Recall what is relevant to ``query`` and visible to ``user`` through ``agent``.

        ``details`` are the other fields of :class:`RecallQuery`: limit, mode, sort, filters.
        Without a user, only shared knowledge is recalled.
        """

    @operation("GET /healthz", inside="version")
    def health(self) -> str:
        """Return the version of the server if its process answers. Needs no key."""

    @operation("GET /readyz", inside="version")
    def ready(self) -> str:
        """Return the version of the server if it can do its work. Needs no key.

        Raises ``Unavailable`` with the reasons: the database, the model, or the server stops.
        """


class AsyncClient(_Nouns[AsyncHttp]):
    """An asynchronous client: a method for each endpoint. ``AsyncMemory(url, key)`` has turns.

    ``url`` is the address of the server, ``key`` an API key. ``timeout`` is in seconds per
    response. Further ``settings`` go to the HTTP client: proxies, certificates, transports.
    """

    _sender = AsyncHttp

    async def close(self) -> None:
        """Close all connections."""
        await self.sender.client.aclose()

    async def __aenter__(self) -> Self:
        """Return this client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self.close()


class Client(_Nouns[Http]):
    """A blocking client; otherwise like :class:`AsyncClient`. ``Memory(url, key)`` has turns."""

    _sender = Http

    def close(self) -> None:
        """Close all connections."""
        self.sender.client.close()

    def __enter__(self) -> Self:
        """Return this client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self.close()
