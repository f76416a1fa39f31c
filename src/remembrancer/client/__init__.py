"""Clients of a server's REST API: the models and the errors of the library, without a database.

Every endpoint is a method, grouped by noun. A call that cannot be done twice by accident is sent
again when no answer comes or the server is busy; a POST gets an idempotency key for that.
"""

from types import TracebackType
from typing import Any, Generic, Self

import httpx2

from remembrancer.client.admin import Audit, Jobs, Keys
from remembrancer.client.agents import Agents, Tools
from remembrancer.client.calls import Call
from remembrancer.client.conversations import Conversations
from remembrancer.client.memories import Graph, Memories
from remembrancer.client.operations import AsyncSender, By, Sender
from remembrancer.client.preferences import Policies, Preferences
from remembrancer.client.spaces import Facts, Spaces
from remembrancer.client.transport import AsyncHttp, Http, Retries, options
from remembrancer.client.users import Places, Users

__all__ = ["AsyncClient", "Client", "Retries"]

TIMEOUT = 30.0
"""Seconds to wait for one answer, unless told otherwise."""
_HEALTH: Call[str] = Call("GET", "/health", str, inside="version", repeatable=True)


class _Nouns(Generic[By]):
    """What both clients have, one attribute for each noun."""

    def __init__(self, sender: By) -> None:
        self.users = Users(sender)
        self.places = Places(sender)
        self.memories = Memories(sender)
        self.graph = Graph(sender)
        self.conversations = Conversations(sender)
        self.agents = Agents(sender)
        self.tools = Tools(sender)
        self.spaces = Spaces(sender)
        self.facts = Facts(sender)
        self.preferences = Preferences(sender)
        self.policy = Policies(sender)
        self.keys = Keys(sender)
        self.jobs = Jobs(sender)
        self.audit = Audit(sender)


class AsyncClient(_Nouns[AsyncSender]):
    """A client for code that awaits.

    ``url`` is that of ``remembrancer serve`` and ``key`` an API key. ``timeout`` is in seconds,
    for one answer. Further ``settings`` go to the HTTP client: proxies, certificates, transports.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        **settings: Any,
    ) -> None:
        http = httpx2.AsyncClient(**options(url, key, timeout), **settings)
        self._http = AsyncHttp(http, retries or Retries())
        super().__init__(self._http)

    async def health(self) -> str:
        """Return the version of the server, once it and its database answer. Needs no key."""
        return await self._http.send(_HEALTH)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.client.aclose()

    async def __aenter__(self) -> Self:
        """Return this client, to be closed at the end."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self.close()


class Client(_Nouns[Sender]):
    """A client for code that does not await; else like :class:`AsyncClient`."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        **settings: Any,
    ) -> None:
        http = httpx2.Client(**options(url, key, timeout), **settings)
        self._http = Http(http, retries or Retries())
        super().__init__(self._http)

    def health(self) -> str:
        """Return the version of the server, once it and its database answer. Needs no key."""
        return self._http.send(_HEALTH)

    def close(self) -> None:
        """Close all connections."""
        self._http.client.close()

    def __enter__(self) -> Self:
        """Return this client, to be closed at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        self.close()
