"""HTTP transport: retries where they are safe, and errors of the library."""

import json
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Final, TypeVar

import anyio
import httpx2

from remembrancer.client.calls import Call, refusal
from remembrancer.errors import InvalidInput, Unavailable
from remembrancer.validation import server_address
from remembrancer.version import __version__

T = TypeVar("T")
LONGEST_WAIT: Final = 60.0
"""Seconds; for a longer Retry-After the error is raised at once."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Number of retries, and the wait before each."""

    most: int = 3
    """Number of retries."""
    first_wait: float = 0.2
    """Seconds before the first retry without Retry-After; doubled for each further retry."""

    def wait(
        self, call: Call[Any], attempt: int, answer: httpx2.Response | httpx2.HTTPError
    ) -> float | None:
        """Return the seconds to wait before a retry; None for no retry.

        A change is retried only if it is safe to repeat, or if the server was busy, did nothing
        and sent Retry-After.
        """
        if attempt >= self.most:
            return None
        backed_off = self.first_wait * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        if isinstance(answer, httpx2.HTTPError):
            return backed_off if call.repeatable else None
        if answer.status_code not in {429, 503}:
            return None
        retry_after = answer.headers.get("retry-after", "")
        if retry_after.isdigit():
            return float(retry_after) if float(retry_after) <= LONGEST_WAIT else None
        return backed_off if call.repeatable else None


class _Http:
    """Common parts of both senders."""

    is_async: ClassVar[bool]

    def __init__(self, url: str, retries: Retries) -> None:
        self._url = url
        self._retries = retries

    def _request(self, client: httpx2.Client | httpx2.AsyncClient, call: Call[Any]) -> Any:
        if client.is_closed:
            raise Unavailable("this client is closed; make a new one")
        # ASCII only: any text can be sent.
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
        return Unavailable(
            f"the server at {self._url} does not answer ({type(error).__name__}); check the "
            "address, or start it with `remembrancer serve`"
        )

    def _read(self, call: Call[T], answer: httpx2.Response | httpx2.HTTPError) -> T:
        if isinstance(answer, httpx2.HTTPError):
            raise self._unreached(answer)
        if not answer.is_success:
            raise _refused(answer)
        try:
            return call.read(answer.content)
        except (ValueError, KeyError, TypeError):
            # Not chained: it would quote content of memories.
            message = "the response cannot be read; client and server need the same version"
            raise Unavailable(message) from None


class AsyncHttp(_Http):
    """Sends on an event loop."""

    is_async = True

    def __init__(self, retries: Retries, **settings: Any) -> None:
        self.client = httpx2.AsyncClient(**settings)
        super().__init__(str(self.client.base_url), retries)

    async def send(self, call: Call[T]) -> T:
        """Send a request and return its result."""
        request = self._request(self.client, call)
        for attempt in count():
            answer: httpx2.Response | httpx2.HTTPError
            try:
                answer = await self.client.send(request)
            except httpx2.HTTPError as error:
                answer = error
            if (wait := self._retries.wait(call, attempt, answer)) is None:
                break
            await anyio.sleep(wait)
        return self._read(call, answer)

    async def parts(self, call: Call[T]) -> AsyncIterator[bytes]:
        """Yield the body of a response as it arrives."""
        try:
            request = self._request(self.client, call)
            response = await self.client.send(request, stream=True)
            async with aclosing(response):
                if not response.is_success:
                    await response.aread()
                    raise _refused(response)
                async for part in response.aiter_bytes():
                    yield part
        except httpx2.HTTPError as error:
            raise self._unreached(error) from None


class Http(_Http):
    """Sends and waits."""

    is_async = False

    def __init__(self, retries: Retries, **settings: Any) -> None:
        self.client = httpx2.Client(**settings)
        super().__init__(str(self.client.base_url), retries)

    def send(self, call: Call[T]) -> T:
        """Send a request and return its result."""
        request = self._request(self.client, call)
        for attempt in count():
            answer: httpx2.Response | httpx2.HTTPError
            try:
                answer = self.client.send(request)
            except httpx2.HTTPError as error:
                answer = error
            if (wait := self._retries.wait(call, attempt, answer)) is None:
                break
            time.sleep(wait)
        return self._read(call, answer)

    def parts(self, call: Call[T]) -> Iterator[bytes]:
        """Yield the body of a response as it arrives."""
        try:
            request = self._request(self.client, call)
            with closing(self.client.send(request, stream=True)) as response:
                if not response.is_success:
                    response.read()
                    raise _refused(response)
                yield from response.iter_bytes()
        except httpx2.HTTPError as error:
            raise self._unreached(error) from None


def options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    """Return the arguments of an HTTP client; raise ``InvalidInput`` for a bad url or key."""
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InvalidInput("has characters that no key has; copy the key again", field="key")
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
        return [_text(item) for item in value]
    if isinstance(value, dict):
        return json.dumps(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
