"""The public keys of an identity provider, fetched when they are needed and kept for a while."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx2
from jwt import PyJWK, PyJWTError

from remembrancer.errors import ConfigurationError, Unavailable
from remembrancer.settings import OidcSettings

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 256 * 1024
_MOST_KEYS: Final = 100
_SECONDS: Final = 5.0
"""Seconds that one answer of the provider may take."""
_LONGEST_USE: Final = 86_400.0
"""Seconds that keys are used while the provider does not answer."""
_PUBLIC: Final = {"RSA", "EC", "OKP"}
_LOCAL: Final = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signs tokens, and the only algorithm that it is for, if it says so."""

    jwk: PyJWK
    algorithm: str | None


class IssuerKeys:
    """The keys of one provider, by their id (``kid``).

    Only addresses of the settings and of the provider's discovery document are asked, never one
    that is in a token. However many tokens come, there is one fetch at a time, and none before
    ``refetch_seconds`` are over.
    """

    def __init__(
        self, settings: OidcSettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: Mapping[str, PublicKey] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._fetch: asyncio.Task[None] | None = None
        if settings.jwks_url is None and not _is_safe(settings.issuer, settings.issuer):
            raise ConfigurationError(
                "oidc.issuer: must begin with https://; otherwise set oidc.jwks_url"
            )
        # Redirects are not followed: they would lead to an address that nobody has checked.
        self._client = httpx2.AsyncClient(
            timeout=_SECONDS, headers={"Accept": "application/json", "Accept-Encoding": "identity"}
        )

    async def find(self, key_id: str | None) -> PublicKey | None:
        """Return a key; without an id, the only one. Null for an unknown key.

        Raises ``Unavailable`` while there are no keys, because the provider does not answer.
        """
        now = self._clock()
        is_known = self._get(key_id) is not None
        is_due = not is_known or now - self._fetched_at > self._settings.keys_seconds
        if is_due and self._fetch is None and now - self._tried_at > self._settings.refetch_seconds:
            self._tried_at = now
            self._fetch = asyncio.create_task(self._load())
        if self._fetch is not None and not is_known:
            # A request that ends early must not end the fetch of all others.
            await asyncio.shield(self._fetch)
        if self._clock() - self._fetched_at > max(_LONGEST_USE, self._settings.keys_seconds):
            raise Unavailable(
                "the keys of the identity provider cannot be fetched; try again later"
            )
        return self._get(key_id)

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._fetch is not None:
            self._fetch.cancel()
        await self._client.aclose()

    def _get(self, key_id: str | None) -> PublicKey | None:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id or "")

    async def _load(self) -> None:
        try:
            # The client's own timeout is for each read, not for the whole answer.
            async with asyncio.timeout(2 * _SECONDS):
                self._keys = _usable(await self._read(await self._address()))
            self._fetched_at = self._clock()
        except Exception as error:
            # Whatever the provider sends, the keys that are known stay.
            kind = type(error).__name__
            if isinstance(error, httpx2.HTTPStatusError):
                kind = f"HTTP {error.response.status_code}"
            log.warning("the keys of the identity provider cannot be fetched (%s)", kind)
        finally:
            self._fetch = None

    async def _address(self) -> str:
        if self._settings.jwks_url is not None:
            return str(self._settings.jwks_url)
        issuer = self._settings.issuer
        found = await self._read(issuer.rstrip("/") + "/.well-known/openid-configuration")
        return address_of_keys(found, issuer)

    async def _read(self, address: str) -> Mapping[str, object]:
        content = b""
        async with self._client.stream("GET", address) as response:
            response.raise_for_status()
            async for part in response.aiter_raw():
                content += part
                if len(content) > _MOST_BYTES:
                    raise ValueError("is too large")
        document = json.loads(content)
        if not isinstance(document, dict):
            raise ValueError("is no object")
        return document


def address_of_keys(document: Mapping[str, object], issuer: str) -> str:
    """Return the address of the keys in a discovery document.

    Raises ``ValueError`` for the document of another issuer, and for an address without https.
    """
    address = document.get("jwks_uri")
    if document.get("issuer") != issuer or not isinstance(address, str):
        raise ValueError("is the document of another issuer")
    if not _is_safe(address, issuer):
        raise ValueError("names an address without https")
    return address


def _is_safe(address: str, issuer: str) -> bool:
    """Return whether nobody on the way can change an answer; loopback is for tests and trials."""
    is_local = urlsplit(issuer).hostname in _LOCAL
    return urlsplit(address).scheme in ({"http", "https"} if is_local else {"https"})


def _usable(document: Mapping[str, object]) -> dict[str, PublicKey]:
    """Return the keys of a JWKS document that can check signatures."""
    listed = document["keys"]
    found = {}
    for each in listed[:_MOST_KEYS] if isinstance(listed, list) else ():
        # One that is of an unknown kind, or broken, spoils no other.
        with suppress(PyJWTError, ValueError, TypeError, LookupError, AttributeError):
            if each["kty"] in _PUBLIC and "d" not in each and each.get("use", "sig") == "sig":
                found[str(each.get("kid", ""))] = PublicKey(PyJWK(each), each.get("alg"))
    if not found:
        raise ValueError("has no usable key")
    return found
