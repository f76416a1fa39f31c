"""A small identity provider on loopback, with real keys that it rotates."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from endpoint import Answer, Endpoint, listening
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from remembrancer.settings import OidcSettings

AUDIENCE = "memory"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key that is made once for all tests, which takes a tenth of a second."""
    return rsa.generate_private_key(65537, bits)


class Issuer:
    """Publishes keys and signs tokens."""

    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {
            "rsa-1": rsa_key("first"),
            "ec-1": ec.generate_private_key(ec.SECP256R1()),
        }
        self.extra: list[Any] = []
        """Further entries of the list of keys."""
        self.endpoint: Endpoint

    @property
    def url(self) -> str:
        return f"{self.endpoint.url}/realm"

    @property
    def fetches(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [body["path"] for body in self.endpoint.bodies]

    def settings(self, **others: Any) -> OidcSettings:
        return OidcSettings.model_validate({"issuer": self.url, "audience": AUDIENCE, **others})

    def token(
        self,
        kid: str | None = "rsa-1",
        *,
        key: Any = None,
        algorithm: str = "",
        headers: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """A token of Ada's; a claim of None is left out."""
        now = int(time.time())
        own = {"iss": self.url, "aud": AUDIENCE, "sub": "ada-1", "iat": now, "exp": now + 300}
        payload = {name: value for name, value in {**own, **claims}.items() if value is not None}
        signer = key if key is not None else self.keys[kid or "rsa-1"]
        own_headers = {} if kid is None else {"kid": kid}
        return jwt.encode(
            payload,
            signer,
            algorithm or _algorithm(signer),
            headers={**own_headers, **(headers or {})},
        )

    def answer(self, sent: dict[str, Any]) -> Answer:
        if sent["path"] == "/realm/.well-known/openid-configuration":
            return 200, {}, {"issuer": self.url, "jwks_uri": f"{self.endpoint.url}/keys"}
        if sent["path"] == "/keys":
            listed = [{"kid": kid, "use": "sig", **public(key)} for kid, key in self.keys.items()]
            return 200, {}, {"keys": [*self.extra, *listed]}
        return 404, {}, {}


def public(key: PrivateKey) -> dict[str, Any]:
    kind: Any = RSAAlgorithm
    if isinstance(key, ec.EllipticCurvePrivateKey):
        kind = ECAlgorithm
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        kind = OKPAlgorithm
    return dict(json.loads(kind.to_jwk(key.public_key())))


def _algorithm(key: Any) -> str:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    return "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer that listens until the end."""
    issuer = Issuer()
    with listening(issuer.answer) as issuer.endpoint:
        yield issuer
