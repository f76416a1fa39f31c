"""A small identity provider on loopback, with real keys that it rotates."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode

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
        self.clients: dict[str, list[str]] = {}
        """Registered clients, with the addresses that they may be sent back to."""
        self.codes: dict[str, dict[str, str]] = {}
        self.refreshes: dict[str, dict[str, str]] = {}
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
            return 200, {}, self.described()
        if sent["path"] == "/keys":
            listed = [{"kid": kid, "use": "sig", **public(key)} for kid, key in self.keys.items()]
            return 200, {}, {"keys": [*self.extra, *listed]}
        return self._authorized(sent)

    # As an authorization server for OAuth clients ------------------------------------------

    def described(self) -> dict[str, Any]:
        at = self.endpoint.url
        return {
            "issuer": self.url,
            "jwks_uri": f"{at}/keys",
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "registration_endpoint": f"{at}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }

    def _authorized(self, sent: dict[str, Any]) -> Answer:
        path, _, query = sent["path"].partition("?")
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        if path == "/register":
            client_id = f"client-{len(self.clients) + 1}"
            self.clients[client_id] = sent["redirect_uris"]
            return (
                201,
                {},
                {k: v for k, v in sent.items() if k != "path"} | {"client_id": client_id},
            )
        if path == "/authorize":
            assert asked["redirect_uri"] in self.clients[asked["client_id"]]
            assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
            code = f"code-{len(self.codes) + 1}"
            self.codes[code] = asked
            back = {"code": code, "state": asked["state"], "iss": self.url}
            return 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}, {}
        if path == "/token":
            return self._token(sent)
        return 404, {}, {}

    def _token(self, sent: dict[str, Any]) -> Answer:
        given = {"authorization_code": self.codes, "refresh_token": self.refreshes}
        asked = given[sent["grant_type"]].pop(sent.get("code") or sent.get("refresh_token"), None)
        if asked is None or asked["client_id"] != sent["client_id"]:
            return 400, {}, {"error": "invalid_grant"}
        if sent["grant_type"] == "authorization_code":
            digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert challenge == asked["code_challenge"]
            assert sent["resource"] == asked["resource"]
        refresh = f"refresh-{len(self.fetches)}"
        self.refreshes[refresh] = asked
        token = self.token(aud=asked["resource"], scope=asked.get("scope"))
        return (
            200,
            {},
            {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": 300,
                "refresh_token": refresh,
                "scope": asked.get("scope", ""),
            },
        )


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
