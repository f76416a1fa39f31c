"""Sending requests: over HTTP, again where that is safe, with errors as the library has them."""

import json
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

import anyio
import httpx2

from remembrancer.client.calls import Call
from remembrancer.client.errors import refusal
from remembrancer.errors import InvalidInput, Unavailable
from remembrancer.validation import server_address
from remembrancer.version import __version__

T = TypeVar("T")
LONGEST_WAIT: Final = 60.0
"""Seconds; a server that wants longer gets its refusal passed on."""


@dataclass(frozen=True, slots=True)
class Retries:
    """When a request is sent again, and how long to wait before."""

    most: int = 3
    """Times it is sent again."""
    first_wait: float = 0.2
    """Seconds before the first, if the server does not say; doubled for each one after it."""

    def wait(self, call: Call[Any], tried: int, response: httpx2.Response | None) -> float | None:
        """Return the seconds to wait before sending ``call`` again; null if it is not sent again.

        What changes something is sent again only if it cannot be done twice, or if the server
        says that it did nothing: it was busy, and names a time.
        """
        if tried >= self.most:
            return None
        backed_off = self.first_wait * 2**tried * random.uniform(0.5, 1.0)  # noqa: S311
        if response is None:
            return backed_off if call.repeatable else None
        if response.status_code not in {429, 503}:
            return None
        named = response.headers.get("retry-after", "")
        if named.isdigit():
            return float(named) if float(named) <= LONGEST_WAIT else None
        return backed_off if call.repeatable else None


class _Http:
    """What both senders know."""

    is_async: ClassVar[bool]

    def __init__(self, url: str, retries: Retries) -> None:
        self._url = url
        self._retries = retries

    def _request(self, client: httpx2.Client | httpx2.AsyncClient, call: Call[Any]) -> Any:
        # Escapes what is not ASCII, so that any text can travel.
        content = None if call.body is None else json.dumps(call.body).encode()
        headers = {**call.headers, **({"Content-Type": "application/json"} if content else {})}
        try:
            query = httpx2.QueryParams({name: _text(value) for name, value in call.query.items()})
            return client.build_request(
                call.method, call.path, params=query, content=content, headers=headers
            )
        except (httpx2.InvalidURL, UnicodeError):
            # Not chained: it quotes the value.
            raise InvalidInput("cannot be part of an address", field="query") from None

    def _unreached(self, error: httpx2.HTTPError) -> Unavailable:
        return Unavailable(f"the server at {self._url} does not answer ({type(error).__name__})")

    @staticmethod
    def _read(call: Call[T], response: httpx2.Response) -> T:
        if not response.is_success:
            raise _refused(response)
        try:
            return call.read(response.content)
        except (ValueError, KeyError, TypeError):
            # Not chained: it would quote what people said.
            raise Unavailable("the answer is not one of a Remembrancer of this version") from None


class AsyncHttp(_Http):
    """Sends on an event loop."""

    is_async = True

    def __init__(self, client: httpx2.AsyncClient, retries: Retries) -> None:
        super().__init__(str(client.base_url), retries)
        self.client = client

    async def send(self, call: Call[T]) -> T:
        """Return the answer to a request."""
        request = self._request(self.client, call)
        for tried in range(self._retries.most + 1):
            response, failed = None, None
            try:
                response = await self.client.send(request)
            except httpx2.HTTPError as error:
                failed = self._unreached(error)
            wait = self._retries.wait(call, tried, response)
            if wait is None:
                break
            await anyio.sleep(wait)
        if response is None:
            assert failed is not None
            raise failed
        return self._read(call, response)

    async def lines(self, call: Call[T]) -> AsyncIterator[T]:
        """Yield what the lines of an answer say."""
        try:
            request = self._request(self.client, call)
            response = await self.client.send(request, stream=True)
            async with aclosing(response):
                if not response.is_success:
                    await response.aread()
                    raise _refused(response)
                async for line in response.aiter_lines():
                    yield call.read(line.encode())
        except httpx2.HTTPError as error:
            raise self._unreached(error) from None


class Http(_Http):
    """Sends and waits."""

    is_async = False

    def __init__(self, client: httpx2.Client, retries: Retries) -> None:
        super().__init__(str(client.base_url), retries)
        self.client = client

    def send(self, call: Call[T]) -> T:
        """Return the answer to a request."""
        request = self._request(self.client, call)
        for tried in range(self._retries.most + 1):
            response, failed = None, None
            try:
                response = self.client.send(request)
            except httpx2.HTTPError as error:
                failed = self._unreached(error)
            wait = self._retries.wait(call, tried, response)
            if wait is None:
                break
            time.sleep(wait)
        if response is None:
            assert failed is not None
            raise failed
        return self._read(call, response)

    def lines(self, call: Call[T]) -> Iterator[T]:
        """Yield what the lines of an answer say."""
        try:
            request = self._request(self.client, call)
            with closing(self.client.send(request, stream=True)) as response:
                if not response.is_success:
                    response.read()
                    raise _refused(response)
                for line in response.iter_lines():
                    yield call.read(line.encode())
        except httpx2.HTTPError as error:
            raise self._unreached(error) from None


def options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    """Return what an HTTP client of a server is made with; ``InvalidInput`` for what cannot be."""
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InvalidInput("has characters that no key has", field="key")
    headers = {"User-Agent": f"remembrancer/{__version__}"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": server_address(url), "headers": headers, "timeout": timeout}


def _refused(response: httpx2.Response) -> Exception:
    try:
        document = response.json()
    except ValueError:
        document = None
    return refusal(response.status_code, document, response.headers.get("retry-after"))


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return [_text(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
